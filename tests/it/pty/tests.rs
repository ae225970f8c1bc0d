//! The driver tested against programs that every machine has.

use std::time::{Duration, Instant};

use super::Pty;

fn shell(script: &str) -> Pty {
    Pty::program("/bin/sh", &["-c", script]).start()
}

#[test]
fn keys_reach_the_program_and_its_answer_reaches_the_screen() {
    let mut pty = Pty::program("cat", &[]).start();
    pty.send("job 4 died<Enter>");
    pty.wait("the echo and cat's own line", |screen| screen.rows()[..2] == ["job 4 died", "job 4 died"]);
    pty.send("<C-d>");
    assert!(pty.wait_for_exit().success());
    pty.assert_terminal_left_clean();
}

#[test]
fn far_away_keys_and_answers_come_later_and_in_order() {
    let round_trip = Duration::from_millis(100);
    let mut pty = Pty::program("cat", &[]).away(round_trip).start();
    let began = Instant::now();
    for key in ["job", " 4", " died", "<Enter>"] {
        pty.send(key);
    }
    pty.wait("the echo and cat's own line", |screen| screen.rows()[..2] == ["job 4 died", "job 4 died"]);
    assert!(began.elapsed() >= round_trip, "{:?}", began.elapsed());
    pty.send("<C-d>");
    assert!(pty.wait_for_exit().success());
    pty.assert_terminal_left_clean();
}

#[test]
fn a_program_that_ended_early_fails_the_wait_at_once_and_shows_the_screen() {
    let pty = shell("echo the last words; exit 3");
    let failure = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pty.wait_for_text("never there")));
    let message = *failure.expect_err("the wait succeeded").downcast::<String>().expect("a message");
    assert!(message.contains("never there") && message.contains("the last words"), "{message}");
    assert!(message.contains("the program has ended"), "{message}");
}

#[test]
fn the_program_starts_with_its_own_home_and_nothing_of_our_environment() {
    let mut pty =
        Pty::program("/bin/sh", &["-c", "echo \"home=$HOME cargo=[$CARGO] extra=$EXTRA\"; cat .config/a.toml"])
            .size(140, 10)
            .env("EXTRA", "here")
            .file(".config/a.toml", "key = 'value'\n")
            .start();
    pty.wait_for_exit();
    let expected = format!("home={} cargo=[] extra=here", pty.home().display());
    assert!(pty.text().contains(&expected), "{}", pty.text());
    assert!(pty.text().contains("key = 'value'"), "{}", pty.text());
    assert!(pty.path(".config/a.toml").is_file());
}

#[test]
fn the_program_is_told_of_a_new_size() {
    let mut pty = shell("trap 'stty size; exit' WINCH; stty size; while :; do read -r _; done");
    pty.wait_for_text("24 80");
    pty.resize(100, 30);
    pty.wait_for_text("30 100");
    pty.wait_for_exit();
}

#[test]
fn a_signal_ends_the_program() {
    let mut pty = shell("echo ready; exec cat");
    pty.wait_for_text("ready");
    pty.signal("TERM");
    assert!(!pty.wait_for_exit().success());
}

#[test]
fn a_terminal_left_on_the_alternate_screen_without_cursor_or_echo_is_noticed() {
    for (script, complaint) in [
        (r"printf '\033[?1049h'", "alternate screen"),
        (r"printf '\033[?25l'", "hidden cursor"),
        (r"printf '\033[?2004h'", "bracketed paste"),
        (r"printf '\033[?1000h'", "mouse"),
        (r"printf '\033[31m'", "colour"),
        ("stty raw -echo", "raw mode"),
    ] {
        let mut pty = shell(script);
        pty.wait_for_exit();
        let failure = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pty.assert_terminal_left_clean()));
        let message = *failure.expect_err(script).downcast::<String>().expect("a message");
        assert!(message.contains(complaint), "{script}: {message}");
    }
    let mut pty =
        shell(r#"s=$(stty -g); stty raw -echo; printf '\033[?1049h\033[?25l\033[?25h\033[?1049l'; stty "$s""#);
    pty.wait_for_exit();
    assert!(!pty.text().contains('?'));
    pty.assert_terminal_left_clean();
}

#[test]
fn what_a_program_does_to_the_terminal_beside_drawing_is_on_record() {
    let mut pty = shell(r"printf 'a\007\033]52;c;aGk=\007\033]8;;http://x\007b\033]0;title\007'");
    pty.wait_for_exit();
    let seen = pty.side_effects().join("\n");
    for expected in ["bell", "clipboard aGk=", "osc 8;;http://x", "title title"] {
        assert!(seen.contains(expected), "{expected} is not in:\n{seen}");
    }
    assert!(pty.raw().windows(4).any(|bytes| bytes == b"\x1b]52"), "the raw bytes are kept");
    assert_eq!(pty.text().trim_end(), "ab");
}

#[test]
fn a_paste_arrives_in_brackets_and_the_cursor_and_rows_can_be_found() {
    let mut pty = shell("stty -icanon -echo; echo ready; head -c 14 | od -An -c");
    pty.wait("ready", |screen| screen.row_of("ready") == Some(0) && screen.cursor() == Some((1, 0)));
    pty.paste("qq");
    pty.wait("the brackets", |screen| screen.contains("2   0   0   ~   q   q 033"));
    pty.wait("text in its cell", |screen| screen.cell(0, 0).is_some_and(|cell| cell.contents() == "r"));
    pty.wait_for_exit();
}

#[test]
fn the_shipped_binary_can_be_started() {
    let mut pty = Pty::console(&["--version"]).start();
    pty.wait_for_exit();
    pty.assert_terminal_left_clean();
}
