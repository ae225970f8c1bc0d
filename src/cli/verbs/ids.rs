//! Ids of jobs that come through standard input, for `-` in their place.

use std::io::{self, IsTerminal, Read};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::cli::exit::CliError;
use crate::cli::{output, signal};
use crate::domain::job::JobId;

/// The jobs that a command line names; `-` stands for those that standard input names. Answers then come from the terminal.
///
/// # Errors
/// When `-` is not alone, standard input cannot be read or names no job, and at an interrupt.
pub async fn named(words: &[String]) -> Result<Vec<JobId>> {
    if !words.iter().any(|word| word == "-") {
        return Ok(words.iter().cloned().map(JobId::new).collect());
    }
    if words.len() > 1 {
        return Err(CliError::usage("`-` reads the ids from standard input: give no other ids with it").into());
    }
    if io::stdin().is_terminal() {
        output::say("one id a line; Ctrl-D ends");
    }
    let interrupted = signal::stop_requested();
    let reading = tokio::task::spawn_blocking(|| {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    });
    let text = tokio::select! {
        text = reading => text?.context("standard input cannot be read")?,
        () = interrupted => return Err(CliError::refused("interrupted: nothing was written").into()),
    };
    output::answer_on_the_terminal();
    let ids = read(&text).map_err(CliError::usage)?;
    if ids.is_empty() {
        return Err(CliError::usage("standard input names no job").into());
    }
    Ok(ids)
}

/// What of a line of `list -o jsonl` says which job it is.
#[derive(Deserialize)]
struct JobIdLine {
    id: Id,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Text(String),
    Number(u64),
}

/// Ids one a line, as texts, as JSON texts, or in JSON objects that have an `id`.
fn read(text: &str) -> Result<Vec<JobId>, String> {
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
    let ids = lines.map(|(at, line)| {
        let wrong = || {
            format!(
                "line {} of standard input names no job: write one id a line, or a JSON object with its `id` a line, as \
                 `dlq-tui list -o jsonl` prints them",
                at + 1
            )
        };
        let id = match line.as_bytes()[0] {
            b'{' => serde_json::from_str(line).map(|line: JobIdLine| line.id),
            b'"' => serde_json::from_str(line),
            // A document over several lines, as `-o json` prints it.
            b'[' | b']' | b'}' => return Err(wrong()),
            _ => Ok(Id::Text(line.to_owned())),
        };
        match id.map_err(|_| wrong())? {
            Id::Text(id) => Ok(JobId::new(id)),
            Id::Number(id) => Ok(JobId::new(id.to_string())),
        }
    });
    ids.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_lines_json_texts_and_objects() {
        let ids = |text: &str| read(text).map(|ids| ids.iter().map(|id| id.as_str().to_owned()).collect::<Vec<_>>());
        let text = "7\n\n  8 \r\n\"9\"\n{\"version\":1,\"id\":\"10\",\"queue\":null}\n{\"id\":18446744073709551615}\n";
        assert_eq!(ids(text).expect("ids"), ["7", "8", "9", "10", "18446744073709551615"]);
        assert_eq!(ids("a b:c\n").expect("ids"), ["a b:c"]);
        assert_eq!(ids("").expect("none"), Vec::<String>::new());
        for (wrong, line) in
            [("7\n{\n", "line 2"), ("{\"ids\":1}", "line 1"), ("[1,2]", "line 1"), ("{\"id\":1.5}", "line 1")]
        {
            assert!(ids(wrong).expect_err(wrong).starts_with(line), "{wrong}");
        }
    }
}
