//! Errands: the terminal is another program's for a while. It was given back before, and is taken again after.

use std::env;
use std::io::Write;
use std::process::ExitStatus;
use std::time::Duration;

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

/// Opens text in the operator's editor.
pub async fn edit(name: &str, text: &str) -> Msg {
    let editors = ["VISUAL", "EDITOR", "PAGER"].map(|name| env::var(name).ok());
    Msg::Said(match chosen(&editors) {
        Ok(words) => run(words, name, text).await,
        Err(sentence) => Err(sentence),
    })
}

/// The first editor that is named, as words of a command line.
fn chosen(editors: &[Option<String>]) -> Result<Vec<String>, String> {
    let named = editors.iter().flatten().find(|value| !value.trim().is_empty());
    let line = named.map_or("less", String::as_str);
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
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_first_editor_that_is_named_is_taken_with_its_options() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            chosen(&[None, some("code --wait 'a b'"), some("less")]),
            Ok(vec!["code".into(), "--wait".into(), "a b".into()])
        );
        assert_eq!(chosen(&[some("  "), None, None]), Ok(vec!["less".into()]));
        assert!(chosen(&[some("vi 'open")]).is_err());
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
    async fn an_editor_that_fails_is_said_and_the_text_reaches_one_that_works() {
        let words = |line: &str| shell_words::split(line).expect("words");
        assert!(run(words("false"), "a.txt", "x").await.is_err());
        assert!(run(words("/no/such/editor"), "a.txt", "x").await.is_err());
        assert!(run(words("grep -q payload"), "a.txt", "the payload").await.is_ok());
    }
}
