//! One config file: reading it, and saying what is wrong in which line.

use std::path::Path;

use super::error::suggestion;
use super::keys::RawKeys;
use super::{ConfigError, mask_secrets};

/// Name of the config file in its folder.
pub const FILE_NAME: &str = "config.toml";

/// Reads a file; `None` when there is none and none was asked for by name.
pub(super) fn read(path: &Path, must_exist: bool, warnings: &mut Vec<String>) -> Result<Option<RawKeys>, ConfigError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && !must_exist => return Ok(None),
        Err(e) => {
            let reason = match e.kind() {
                std::io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
                _ => e.to_string(),
            };
            return Err(ConfigError::Unreadable { path: path.display().to_string(), reason });
        }
    };
    let raw = parse(&path.display().to_string(), &text)?;
    if raw.holds_password() && open_to_others(path) {
        warnings.push(format!("{0} holds a password and others can read it: chmod 600 {0}", path.display()));
    }
    Ok(Some(raw))
}

pub(super) fn parse(path: &str, text: &str) -> Result<RawKeys, ConfigError> {
    let line = |at: usize| 1 + text.as_bytes()[..at.min(text.len())].iter().filter(|b| **b == b'\n').count();
    let raw: RawKeys = toml::from_str(text).map_err(|e| {
        let line = e.span().map_or(1, |span| line(span.start));
        ConfigError::Wrong { path: path.to_owned(), line, reason: explain(e.message()) }
    })?;
    Ok(raw.place(path, line))
}

/// The parser's message without quoted secrets, and with the known key that is nearest to an unknown one.
fn explain(message: &str) -> String {
    let message = mask_secrets(message.lines().next().unwrap_or(message));
    let Some(rest) = message.strip_prefix("unknown field `") else { return super::plain(&message) };
    // What serde lists behind "expected" are the keys of the struct themselves, so they cannot go stale.
    let mut words = rest.split('`').step_by(2).map(str::to_owned);
    let unknown = words.next().unwrap_or_default();
    let known: Vec<String> = words.collect();
    format!("unknown key `{unknown}`{}", suggestion(&unknown, &known))
}

#[cfg(unix)]
fn open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn open_to_others(_: &Path) -> bool {
    false
}
