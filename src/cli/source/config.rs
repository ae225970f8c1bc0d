//! `dlq-tui config`: the merged config, and where each value comes from.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::cli::args::{Format, OutputArg};
use crate::cli::exit::Code;
use crate::cli::output;
use crate::cli::source::source_choice::SourceChoice;
use crate::config::{Config, Setting};
use crate::domain::text::Clean;
use crate::tui::keys::Keymap;

#[derive(Serialize)]
struct ConfigRecord<'a> {
    key: &'a str,
    value: &'a str,
    origin: &'a str,
}

#[derive(Serialize)]
struct ConfigOutput<'a> {
    files: Vec<String>,
    settings: Vec<ConfigRecord<'a>>,
}

/// Prints every key that is set or has a default; what is printed can be read as a config again.
///
/// # Errors
/// When the output cannot be written.
pub fn run(session: &SourceChoice, args: &OutputArg) -> Result<Code> {
    let mut settings = Config::settings(&session.paths);
    let default = |(name, keys): (String, Vec<String>)| Setting {
        key: format!("keys.{name}"),
        value: toml::Value::from(keys).to_string(),
        origin: "default".to_owned(),
    };
    let keys = Keymap::default().named().into_iter().map(default);
    settings.extend(keys.filter(|key| !session.config.keys.iter().any(|k| key.key == format!("keys.{}", k.command))));
    let records = settings.iter().map(|Setting { key, value, origin }| ConfigRecord { key, value, origin });
    let mut out = output::stdout();
    match args.output {
        Format::Table => {
            for file in session.paths.config_files() {
                let state = if file.exists() { "" } else { " (not there)" };
                writeln!(out, "# {}{state}", file.display())?;
            }
            for ConfigRecord { key, value, origin } in records {
                writeln!(out, "{} = {}  # {}", Clean::line(key), Clean::line(value), Clean::line(origin))?;
            }
        }
        Format::Json => {
            let files = session.paths.config_files().iter().map(|f| f.display().to_string()).collect();
            output::json(&mut out, &output::Versioned::new(ConfigOutput { files, settings: records.collect() }))?;
        }
        Format::Jsonl => {
            for record in records {
                output::json_line(&mut out, &output::Versioned::new(record))?;
            }
        }
        Format::Csv => {
            output::csv(&mut out, ["key", "value", "origin"])?;
            for record in records {
                output::csv(&mut out, [record.key, record.value, record.origin])?;
            }
        }
    }
    out.flush()?;
    Ok(Code::Done)
}
