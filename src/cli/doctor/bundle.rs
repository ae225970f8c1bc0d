//! `--bundle`: what was found, as one document for a bug report. It is put together from what may be told, a piece at a
//! time, and names are replaced in all of it: bug trackers are public.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use super::Inspection;
use super::finding::{Finding, print_to};
use super::pseudonyms::{PseudonymKind, Pseudonyms};
use crate::cli::args::Format;
use crate::cli::exit::CliError;
use crate::cli::output;
use crate::cli::source::source_choice::SourceChoice;
use crate::config::{Config, Setting, SourceAddress};
use crate::domain::secret::ExposeSecret;
use crate::domain::text::Clean;
use crate::domain::time::Timestamp;
use crate::ledger::Ledger;
use crate::store::survey::Target;

/// What stands at its head.
const HEAD: [&str; 6] = [
    "This is what `dlq-tui doctor` found, for a bug report. Read it before you send it.",
    "In it: the findings; version and system; the config without addresses and commands; names of adapters; columns, types and \
     indexes of the dead-letter tables that were found; how many runs the ledger has; the end of the log that --log-file names.",
    "Not in it: rows, payloads, messages, error classes, names of jobs and queues, passwords, commands, anybody's notes.",
    "Hosts, users, databases and sources have other names here (host-1, user-1), each the same one throughout.",
    "Names of schemas, tables, columns, indexes and adapters are not replaced.",
    "Nothing of it was sent to anybody.",
];

/// Lines of a log that go along, and how much of its end is read for them.
const LOG_LINES: usize = 200;
const LOG_BYTES: u64 = 100_000;

/// The document.
#[derive(Serialize)]
struct BundleOutput {
    about: Vec<String>,
    findings: Vec<Finding>,
    parts: Vec<BundleSection>,
}

#[derive(Serialize)]
struct BundleSection {
    title: &'static str,
    lines: Vec<String>,
}

/// Writes the document into a new file that only its owner can read, and says where it is.
///
/// # Errors
/// When there is a file of that name, or it cannot be written.
pub async fn write(
    session: &SourceChoice,
    inspected: &Inspection,
    log: Option<&Path>,
    asked: Option<&Path>,
    format: Format,
) -> Result<()> {
    let ending = if format == Format::Json { "json" } else { "txt" };
    let day = Timestamp::now().to_second();
    let usual = || PathBuf::from(format!("dlq-tui-doctor-{}.{ending}", day.split(' ').next().unwrap_or_default()));
    let path = asked.map_or_else(usual, Path::to_owned);
    let document = document(session, inspected, log).await;
    let mut text = Vec::new();
    match format {
        Format::Json => output::json(&mut text, &output::Versioned::new(&document))?,
        _ => plain(&mut text, &document)?,
    }
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let mut file = match opened {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            let why = format!("--bundle {}: the file exists; name another", path.display());
            return Err(CliError::usage(why).into());
        }
        opened => opened.with_context(|| format!("--bundle {}", path.display()))?,
    };
    if let Err(error) = file.write_all(&text).and_then(|()| file.sync_all()) {
        // Half a document is worse than none.
        let _ = std::fs::remove_file(&path);
        return Err(error).with_context(|| format!("--bundle {}", path.display()));
    }
    output::say(&format!("dlq-tui: written to {}: read it before you send it", path.display()));
    Ok(())
}

fn plain(out: &mut impl Write, document: &BundleOutput) -> Result<()> {
    for line in &document.about {
        writeln!(out, "# {}", Clean::line(line))?;
    }
    writeln!(out, "\n## findings\n")?;
    print_to(out, &document.findings)?;
    for part in &document.parts {
        writeln!(out, "\n## {}\n", part.title)?;
        for line in &part.lines {
            writeln!(out, "{}", Clean::line(line))?;
        }
    }
    Ok(())
}

async fn document(session: &SourceChoice, inspected: &Inspection, log: Option<&Path>) -> BundleOutput {
    let mut names = known(session, inspected);
    let mut parts = vec![
        BundleSection { title: "system", lines: system() },
        BundleSection { title: "config", lines: config(session, inspected.is_config_broken) },
        BundleSection { title: "adapters", lines: adapters(inspected) },
        BundleSection { title: "stores", lines: stores(inspected) },
        BundleSection { title: "ledger", lines: ledger(&session.paths.ledger()).await },
    ];
    if let Some(log) = log {
        parts.push(BundleSection { title: "log", lines: log_end(log) });
    }
    for line in parts.iter_mut().flat_map(|part| &mut part.lines) {
        *line = names.scrub(line);
    }
    let findings = inspected.findings.iter().map(|finding| finding.in_public(&mut |text| names.scrub(text))).collect();
    BundleOutput { about: HEAD.map(str::to_owned).into(), findings, parts }
}

/// Every name that is known to be somebody's own.
fn known(session: &SourceChoice, inspected: &Inspection) -> Pseudonyms {
    let mut names = Pseudonyms::new(session.redactor().revealing(false));
    for source in session.config.sources.values() {
        names.know(PseudonymKind::Source, &source.name);
        if let SourceAddress::Url(url) = &source.address
            && let Ok(target) = Target::from_url(url.expose_secret())
        {
            names.know_target(&target);
        }
    }
    names.know(PseudonymKind::Source, session.connect.source.as_deref().unwrap_or_default());
    if let Ok(Some(target)) = Target::from_env() {
        names.know_target(&target);
    }
    if let Some(target) = session.connect.url.as_deref().and_then(|url| Target::from_url(url).ok()) {
        names.know_target(&target);
    }
    if let Some(surveyed) = &inspected.surveyed {
        let source = surveyed.survey.source();
        names.know_target(&surveyed.origin.target);
        names.know(PseudonymKind::Database, source.database());
        names.know_path(source.database());
        let (user, host) = source.user().split_once('@').unwrap_or((source.user(), ""));
        names.know(PseudonymKind::User, user);
        names.know(PseudonymKind::Host, host);
    }
    let operator = crate::cli::operator::current("");
    names.know(PseudonymKind::Host, &operator.host);
    names.know(PseudonymKind::Host, operator.host.split('.').next().unwrap_or_default());
    names.know(PseudonymKind::User, &operator.user);
    for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        names.know(PseudonymKind::Folder, std::env::var(variable).unwrap_or_default().trim_end_matches('/'));
    }
    names
}

fn system() -> Vec<String> {
    let mut lines = vec![
        format!("dlq-tui {} ({})", env!("CARGO_PKG_VERSION"), if cfg!(debug_assertions) { "debug" } else { "release" }),
        format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH),
    ];
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    lines.extend(
        release
            .lines()
            .find_map(|line| line.strip_prefix("PRETTY_NAME="))
            .map(|name| name.trim_matches('"').to_owned()),
    );
    lines.extend(
        std::fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|kernel| format!("kernel {}", kernel.trim())),
    );
    lines
}

/// Settings whose values say nothing of anybody, with these; of the others only that they are set.
fn config(session: &SourceChoice, is_broken: bool) -> Vec<String> {
    if is_broken {
        return vec!["it cannot be read".to_owned()];
    }
    let told = Config::settings(&session.paths).into_iter().map(|Setting { key, value, origin }| {
        let ours = ["ui.", "timeouts.", "thresholds.", "watch.", "keys.", "redaction.off", "default_source"];
        let last = key.rsplit('.').next().unwrap_or_default();
        let plain = ["production", "read_only", "refresh", "statement_timeout", "connections"];
        let is_default = origin == "default";
        let value = match is_default || ours.iter().any(|start| key.starts_with(start)) || plain.contains(&last) {
            true => value,
            false => "(set)".to_owned(),
        };
        let origin = if is_default { "default" } else { "a file" };
        format!("{key} = {value}  # {origin}")
    });
    told.collect()
}

fn adapters(inspected: &Inspection) -> Vec<String> {
    let version = env!("CARGO_PKG_VERSION");
    let told = inspected.library().adapters.iter().map(|adapter| match &adapter.origin {
        None => format!("{} {version}", adapter.name),
        Some(_) => format!("{} (a file of the operator's, {} bytes)", adapter.name, adapter.text.len()),
    });
    told.collect()
}

/// How the tables look that were found: never what stands in them.
fn stores(inspected: &Inspection) -> Vec<String> {
    let mut lines = Vec::new();
    for found in inspected.surveyed.iter().flat_map(|surveyed| surveyed.survey.found()) {
        lines.push(format!("{} by {}", found.label(), found.adapter));
        for column in &found.shape().columns {
            let null = if column.nullable { "" } else { " not null" };
            lines.push(format!("  {} {}{null}", column.name, column.data_type));
        }
        let indexes = found.shape().indexes.iter();
        lines.extend(indexes.map(|(name, columns)| format!("  index {name} ({})", columns.join(", "))));
    }
    lines
}

async fn ledger(path: &Path) -> Vec<String> {
    if !path.is_file() {
        return vec!["not there".to_owned()];
    }
    let Ok(ledger) = Ledger::peek(path).await else { return vec!["it cannot be read".to_owned()] };
    let told = match (ledger.health().version().await, ledger.health().numbers().await) {
        (Ok(version), Ok((states, jobs))) => {
            let states = states.iter().map(|(state, n)| format!("runs {}: {n}", state.word()));
            [format!("version {version}"), format!("jobs of runs: {jobs}")].into_iter().chain(states).collect()
        }
        _ => vec!["it cannot be read".to_owned()],
    };
    ledger.close().await;
    told
}

/// The last lines of a log, as far as they are such as we write: another file may have been named by mistake.
fn log_end(path: &Path) -> Vec<String> {
    let mut text = Vec::new();
    let read = std::fs::File::open(path).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG_BYTES)))?;
        file.take(LOG_BYTES).read_to_end(&mut text)
    });
    if read.is_err() {
        return vec!["it cannot be read".to_owned()];
    }
    let text = String::from_utf8_lossy(&text);
    let ours: Vec<&str> = text.lines().filter(|line| is_ours(line)).collect();
    ours[ours.len().saturating_sub(LOG_LINES)..].iter().map(|line| (*line).to_owned()).collect()
}

/// Whether a line is one of an event of ours: numbers, and words without anything in them that a name or a value has.
fn is_ours(line: &str) -> bool {
    let Ok(Value::Object(fields)) = serde_json::from_str(line) else { return false };
    let plain = |text: &str| {
        text.len() <= 80
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '.' | ':' | '-' | '\'' | '_'))
    };
    let first = ["time", "level", "message"];
    fields.keys().take(first.len()).eq(first)
        && fields.iter().all(|(key, value)| {
            plain(key) && matches!(value, Value::Number(_)) || matches!(value, Value::String(text) if plain(text))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_ours_are_taken_from_a_log() {
        let ours =
            r#"{"time":"2026-11-22T18:00:00.000Z","level":"info","message":"call","call":"page","rows":9,"ms":1.5}"#;
        assert!(is_ours(ours));
        for other in [
            "GET /login?token=hunter2",
            r#"{"level":"info","message":"x","time":"y"}"#,
            r#"{"time":"x","level":"info","message":"login of ann@acme.example"}"#,
            r#"{"time":"x","level":"info","message":"y","user":{"name":"ann"}}"#,
        ] {
            assert!(!is_ours(other), "{other}");
        }
    }
}
