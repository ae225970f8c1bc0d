//! Where a password comes from, and where it never goes: the shipped binary against a server that wants one (SCRAM).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::{Ended, User};
use crate::pty::Pty;
use crate::tls::{Guarded, SECRET};

const WRONG: &str = "not-the-passw0rd";

/// Of all that is said: neither the password nor what was tried for it.
fn assert_unsaid(ended: &Ended) {
    let said = format!("{}{}", ended.out, ended.err);
    assert!(!said.contains(SECRET) && !said.contains(WRONG), "{said}");
}

fn file(path: PathBuf, text: &str, mode: u32) -> PathBuf {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, text).expect("a file");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("its mode");
    path
}

fn config(user: &User, text: &str, mode: u32) -> PathBuf {
    file(user.home().join("config/dlq-tui/config.toml"), text, mode)
}

fn run(user: &User, args: &[&str], env: &[(&str, &Path)]) -> Ended {
    let mut command = user.command(args);
    command.envs(env.iter().copied());
    let ended = Ended::from(command.output().expect("the binary starts"));
    assert_unsaid(&ended);
    ended
}

#[tokio::test]
async fn a_password_is_found_in_the_environment_a_password_file_or_what_a_command_prints() {
    let Some(server) = Guarded::start().await else { return };
    let url = server.url("ops", "localhost", "sslmode=require");
    let stats = ["stats", "--url", &url];
    let good = |ended: Ended| assert_eq!(ended.with(0), "");
    good(run(&User::new(), &stats, &[("PGPASSWORD", Path::new(SECRET))]));

    let line = format!("localhost:*:*:ops:{SECRET}\n");
    let user = User::new();
    file(user.home().join(".pgpass"), &line, 0o600);
    good(run(&user, &stats, &[]));
    let ended = run(&user, &stats, &[("PGPASSWORD", Path::new(WRONG))]);
    assert!(ended.with(1).contains("password authentication failed for user \"ops\""), "{}", ended.err);

    let user = User::new();
    let elsewhere = file(user.home().join("elsewhere"), &line, 0o600);
    good(run(&user, &stats, &[("PGPASSFILE", &elsewhere)]));
    let ended = run(&user, &stats, &[]);
    assert!(ended.with(1).contains("password authentication failed"), "{}", ended.err);

    let whole = url.replacen("ops@", &format!("ops:{SECRET}@"), 1);
    let user = User::new();
    let vault = file(user.home().join("vault"), &whole, 0o600);
    config(&user, &format!("[sources.a]\nurl_command = \"cat {}\"\n", vault.display()), 0o644);
    good(run(&user, &["stats"], &[]));
}

#[tokio::test]
async fn a_password_for_a_mariadb_is_found_in_its_own_variable_or_in_what_a_command_prints() {
    let Some(server) = Guarded::mariadb().await else { return };
    let url = server.url("ops", "localhost", "sslmode=require");
    let stats = ["stats", "--url", &url];
    assert_eq!(run(&User::new(), &stats, &[("MYSQL_PWD", Path::new(SECRET))]).with(0), "");
    for env in [vec![], vec![("MYSQL_PWD", Path::new(WRONG))], vec![("PGPASSWORD", Path::new(SECRET))]] {
        let ended = run(&User::new(), &stats, &env);
        assert!(ended.with(1).contains("Access denied for user 'ops'"), "{}", ended.err);
    }
    // What the address says counts before the variable.
    let user = User::new();
    let vault = file(user.home().join("vault"), &url.replacen("ops@", &format!("ops:{SECRET}@"), 1), 0o600);
    config(&user, &format!("[sources.a]\nurl_command = \"cat {}\"\n", vault.display()), 0o644);
    assert_eq!(run(&user, &["stats"], &[("MYSQL_PWD", Path::new(WRONG))]).with(0), "");
}

#[tokio::test]
async fn a_password_file_that_others_can_read_is_ignored_and_that_is_said_once() {
    let Some(server) = Guarded::start().await else { return };
    let url = server.url("ops", "localhost", "sslmode=require");
    let user = User::new();
    let loose = file(user.home().join(".pgpass"), &format!("*:*:*:*:{SECRET}\n"), 0o640);
    let told = format!("warning: {0} is ignored because others can read it: chmod 600 {0}", loose.display());
    let ended = run(&user, &["stats", "--url", &url], &[]);
    let err = ended.with(1);
    assert!(err.matches(&told).count() == 1 && err.contains("password authentication failed"), "{err}");
    config(&user, &format!("[sources.a]\nurl = \"{url}\"\n[sources.b]\nurl = \"{url}\"\n"), 0o644);
    assert_eq!(run(&user, &["sources"], &[]).with(1).matches(&told).count(), 1);
    // Nobody misses it where the password comes from elsewhere.
    let ended = run(&user, &["stats", "--url", &url], &[("PGPASSWORD", Path::new(SECRET))]);
    assert_eq!(ended.with(0), "");
}

#[tokio::test]
async fn a_config_with_a_password_that_others_can_read_is_told_of_once() {
    let Some(server) = Guarded::start().await else { return };
    let url = server.url(&format!("ops:{SECRET}"), "localhost", "sslmode=require");
    let as_setting = server.url("ops", "localhost", &format!("sslmode=require&password={SECRET}"));
    for (mode, url) in [(0o600, &url), (0o640, &url), (0o604, &as_setting)] {
        let user = User::new();
        let path = config(&user, &format!("[sources.a]\nurl = \"{url}\"\n"), mode);
        let warning =
            format!("dlq-tui: warning: {0} holds a password and others can read it: chmod 600 {0}\n", path.display());
        let expected = if mode == 0o600 { String::new() } else { warning };
        assert_eq!(run(&user, &["stats"], &[]).with(0), expected, "{mode:o}");
    }
}

#[tokio::test]
async fn a_password_that_nobody_told_is_asked_for_without_being_shown() {
    if let Some(server) = Guarded::start().await {
        asks(&server, "password authentication failed");
    }
    if let Some(server) = Guarded::mariadb().await {
        asks(&server, "Access denied");
        // Who may come by the socket without one instead is refused with another number.
        let either = format!(
            "create user either identified via mysql_native_password using password('{SECRET}') or unix_socket"
        );
        server.db.execute(&format!("{either}; grant select on *.* to either")).await;
        let url = server.url("either", "localhost", "sslmode=require");
        let mut command = Pty::console(&["stats", "--url", &url]).size(120, 24).start();
        command.wait_for_text("password for either@localhost");
        command.send(&format!("{SECRET}<Enter>"));
        command.wait_for_text("total ");
        assert!(command.wait_for_exit().success());
    }
}

/// Asks for a password and goes on with it, in a command and in the console; `refusal` is what the server says to a wrong one.
fn asks(server: &Guarded, refusal: &str) {
    let url = server.url("ops", "localhost", "sslmode=require");
    let mut command = Pty::console(&["stats", "--url", &url]).size(120, 24).start();
    command.wait_for_text("password for ops@localhost");
    command.send(&format!("{SECRET}<Enter>"));
    command.wait_for_text("total ");
    assert!(command.wait_for_exit().success());
    assert!(!String::from_utf8_lossy(&command.raw()).contains(SECRET));
    command.assert_terminal_left_clean();

    let mut wrong = Pty::console(&["stats", "--url", &url]).size(120, 24).start();
    wrong.wait_for_text("password for ops@localhost");
    wrong.send(&format!("{WRONG}<Enter>"));
    wrong.wait_for_text(refusal);
    assert!(!wrong.wait_for_exit().success());
    assert!(!String::from_utf8_lossy(&wrong.raw()).contains(WRONG));
    wrong.assert_terminal_left_clean();

    let mut console = Pty::console(&["--url", &url]).start();
    console.wait_for_text("password for ops@localhost");
    // Longer than a source is waited for before the console comes up.
    std::thread::sleep(Duration::from_millis(2_500));
    console.send(&format!("{SECRET}<Enter>"));
    console.wait_for_text("error class");
    let line = std::fs::read(format!("/proc/{}/cmdline", console.pid())).expect("its command line");
    assert!(!String::from_utf8_lossy(&line).contains(SECRET));
    console.send("q");
    assert!(console.wait_for_exit().success());
    assert!(!String::from_utf8_lossy(&console.raw()).contains(SECRET));
    console.assert_terminal_left_clean();
}

#[tokio::test]
async fn an_interrupt_at_the_question_gives_the_terminal_back() {
    let Some(server) = Guarded::start().await else { return };
    let url = server.url("ops", "localhost", "sslmode=require");
    let mut command = Pty::console(&["stats", "--url", &url]).size(120, 24).start();
    command.wait_for_text("password for ops@localhost");
    command.send("<C-c>");
    assert!(!command.wait_for_exit().success());
    command.assert_terminal_left_clean();
}
