//! Errands: the terminal is another program's for a while. It was given back before, and is taken again after.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::process::ExitStatus;
use std::time::Duration;
use std::{env, fs};

use tempfile::TempDir;
use tokio::process::Command;
use tokio::signal::unix::signal;
use tokio::time::sleep;

use crate::tui::app::Msg;
use crate::tui::runtime::terminal::signals::sigcont;

/// How long a stop may take to arrive. Where nobody could continue us (no shell with job control) it never does.
const STOP: Duration = Duration::from_millis(300);

/// Stops the whole job, as the terminal's own key would, until the shell continues it.
pub async fn suspend() -> Msg {
    let Ok(mut woken) = signal(sigcont()) else { return Msg::Continued };
    // The whole group: a script that started us must stop too, or the shell would not get its turn.
    if rustix::process::kill_current_process_group(rustix::process::Signal::TSTP).is_ok() {
        tokio::select! {
            _ = woken.recv() => {}
            () = sleep(STOP) => {}
        }
    }
    Msg::Continued
}

/// Opens text in the operator's editor, to be read.
pub async fn view(name: &str, text: &str) -> Msg {
    let editors = ["VISUAL", "EDITOR", "PAGER"].map(|name| env::var(name).ok());
    Msg::Said(match chosen(&editors, "less") {
        Ok(words) => run(words, name, text).await,
        Err(sentence) => Err(sentence),
    })
}

/// Opens arguments in the operator's editor, and returns them as it leaves them.
///
/// # Errors
/// Says why there is nothing to take: the editor did not start, failed, or left no text. The file is gone in any case.
pub async fn edit(text: &str) -> Result<String, String> {
    let editors = ["VISUAL", "EDITOR"].map(|name| env::var(name).ok());
    edit_with(chosen(&editors, "vi")?, text).await
}

async fn edit_with(words: Vec<String>, text: &str) -> Result<String, String> {
    let Some((program, arguments)) = words.split_first() else { return Err("no editor is named".to_owned()) };
    let unusable = |e: io::Error| format!("no temporary file for the editor: {e}");
    // A folder of its own: what an editor writes beside the file is as private, and goes with it.
    let folder = private_folder().map_err(unusable)?;
    let path = folder.path().join("arguments.json");
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(unusable)?;
    file.write_all(text.as_bytes()).map_err(unusable)?;
    drop(file);
    let ended = Command::new(program).args(arguments).arg(&path).status().await;
    match ended {
        Err(e) => Err(format!("`{program}` did not start: {e}. Set VISUAL or EDITOR to your editor")),
        Ok(status) if !status.success() => Err(format!("{program} ended with {status}: what it left was not taken")),
        Ok(_) => fs::read_to_string(&path).map_err(|e| format!("{program} left no text: {e}")),
    }
}

fn private_folder() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("dlq-tui-").permissions(Permissions::from_mode(0o700)).tempdir()
}

/// The first editor that is named, as words of a command line.
fn chosen(editors: &[Option<String>], otherwise: &str) -> Result<Vec<String>, String> {
    let named = editors.iter().flatten().find(|value| !value.trim().is_empty());
    let line = named.map_or(otherwise, String::as_str);
    match shell_words::split(line) {
        Ok(words) if !words.is_empty() => Ok(words),
        Ok(_) => Err(format!("`{line}` is no command: set VISUAL or EDITOR")),
        Err(e) => Err(format!("`{line}` cannot be read as a command: {e}")),
    }
}

async fn run(words: Vec<String>, name: &str, text: &str) -> Result<String, String> {
    let Some((program, arguments)) = words.split_first() else { return Ok(String::new()) };
    let file = file(name, text).map_err(|e| format!("no temporary file for the editor: {e}"))?;
    // Interrupts from the keyboard reach us too and are noticed elsewhere, but do not end us.
    let ended = Command::new(program).args(arguments).arg(file.path()).status().await;
    ended.map(|status| sentence(program, status)).unwrap_or_else(|e| Err(format!("`{program}` did not start: {e}")))
}

fn sentence(program: &str, status: ExitStatus) -> Result<String, String> {
    if status.success() {
        Ok(format!("{program} closed; nothing was changed"))
    } else {
        Err(format!("{program} ended with {status}"))
    }
}

/// A file that only the operator can read and that is gone when it is dropped.
fn file(name: &str, text: &str) -> std::io::Result<tempfile::NamedTempFile> {
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c)).collect();
    let mut file = tempfile::Builder::new().prefix("dlq-tui-").suffix(&format!("-{plain}")).tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_editor_that_is_named_is_taken_with_its_options() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            chosen(&[None, some("code --wait 'a b'"), some("less")], "vi"),
            Ok(vec!["code".into(), "--wait".into(), "a b".into()])
        );
        assert_eq!(chosen(&[some("  "), None, None], "less"), Ok(vec!["less".into()]));
        assert!(chosen(&[some("vi 'open")], "less").is_err());
    }

    #[test]
    fn the_editors_file_is_the_operators_alone_and_named_after_the_job() {
        let file = file("../arguments.json", "secret").expect("file");
        let name = file.path().file_name().and_then(|name| name.to_str()).expect("name").to_owned();
        assert!(name.ends_with("arguments.json") && !name.contains('/'), "{name}");
        let mode = file.path().metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[tokio::test]
    async fn an_editor_gets_a_private_file_which_is_gone_afterwards() {
        let script = |body: &str| vec!["sh".to_owned(), "-c".to_owned(), body.to_owned(), "editor".to_owned()];
        let seen = edit_with(script("d=$(dirname $1); stat -c %a $1 $d >> $1; echo $d >> $1"), "secret\n").await;
        let seen = seen.expect("an editor that works");
        let lines: Vec<&str> = seen.lines().collect();
        assert_eq!(lines[..3], ["secret", "600", "700"]);
        let folder = std::path::Path::new(lines[3]);
        assert!(folder.is_absolute() && !folder.exists(), "{folder:?}");
        // As editors do that write another file in its place.
        let replaced = edit_with(script("echo new > $1.tmp && mv $1.tmp $1"), "old").await;
        assert_eq!(replaced.as_deref(), Ok("new\n"));
    }

    #[tokio::test]
    async fn an_editor_that_fails_gives_nothing_and_leaves_nothing() {
        let script = |body: &str| vec!["sh".to_owned(), "-c".to_owned(), body.to_owned(), "editor".to_owned()];
        let kept = tempfile::NamedTempFile::new().expect("a file");
        let path = kept.path().display();
        let failed = edit_with(script(&format!("dirname $1 > {path}; exit 3")), "secret").await.expect_err("it failed");
        assert!(failed.contains("exit status: 3") && failed.contains("not taken"), "{failed}");
        let folder = fs::read_to_string(kept.path()).expect("its folder");
        assert!(folder.starts_with('/') && !std::path::Path::new(folder.trim()).exists(), "{folder}");
        let missing = edit_with(vec!["/no/such/editor".to_owned()], "x").await.expect_err("it is missing");
        assert!(missing.contains("`/no/such/editor` did not start") && missing.contains("EDITOR"), "{missing}");
        let removed = edit_with(script("rm $1"), "x").await.expect_err("nothing is left");
        assert!(removed.starts_with("sh left no text"), "{removed}");
        assert!(edit_with(script("printf '\\377' > $1"), "x").await.is_err(), "no UTF-8");
    }

    #[tokio::test]
    async fn an_editor_that_fails_is_said_and_the_text_reaches_one_that_works() {
        let words = |line: &str| shell_words::split(line).expect("words");
        assert!(run(words("false"), "a.txt", "x").await.is_err());
        assert!(run(words("/no/such/editor"), "a.txt", "x").await.is_err());
        assert!(run(words("grep -q payload"), "a.txt", "the payload").await.is_ok());
    }
}
