//! What the operator configured: sources by name, the console's appearance, thresholds, and where our files live.
//!
//! Two files are layered, the operator's over `/etc`: a key of the upper one wins, key by key. An unknown key is an
//! error that names the line and the nearest known key, because a misspelt `production` must not go unnoticed.

mod error;
mod file;
mod keys;
mod merged;
mod paths;
mod source;
mod toml_words;

use std::collections::BTreeMap;
use std::time::Duration;

pub use error::{ConfigError, mask_secrets, nearest};
pub use file::FILE_NAME;
pub use merged::Setting;
pub use paths::Paths;
pub use source::{ReplayTo, Source, SourceAddress};
pub use toml_words::plain;

use self::keys::RawKeys;
use crate::domain::load_share::LoadShare;
use crate::domain::time::zone::Zone;

/// Jobs above which an action asks for the number to be typed, unless the config says otherwise.
pub const CONFIRM_COUNT: u64 = 100;
/// Replays from which on a job is left out of further ones, unless the config or the command line says otherwise.
pub const MAX_REPLAYS: u64 = 3;

/// Everything that was configured, merged and checked.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Sources by name.
    pub sources: BTreeMap<String, Source>,
    /// The source that opens when none is named.
    pub default_source: Option<String>,
    /// Looks and manners of the console.
    pub ui: Ui,
    /// What is masked on screens and in tables.
    pub redaction: Redaction,
    /// From where on an action is a big one.
    pub thresholds: Thresholds,
    /// What the watch may cost.
    pub watch: Watch,
    /// How long a database may take.
    pub timeouts: Timeouts,
    /// Keys of the console, as they are written: only the console knows what can be bound to what.
    pub keys: Vec<KeyBindings>,
    /// What the operator should know of the files themselves, in sentences.
    pub warnings: Vec<String>,
}

/// The palette of the console.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ThemeChoice {
    /// True colour on a dark ground.
    #[default]
    Dark,
    /// True colour on a light ground.
    Light,
    /// The terminal's own 16 colours.
    #[serde(rename = "16")]
    #[value(name = "16")]
    Sixteen,
    /// No colour: bold, dim and reverse only.
    None,
}

impl ThemeChoice {
    /// The word for it in the config and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            ThemeChoice::Dark => "dark",
            ThemeChoice::Light => "light",
            ThemeChoice::Sixteen => "16",
            ThemeChoice::None => "none",
        }
    }
}

/// Looks and manners of the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ui {
    /// The palette; `None` leaves the choice to what the terminal can do.
    pub theme: Option<ThemeChoice>,
    /// Glyphs from ASCII only.
    pub ascii: bool,
    /// Whether the mouse is captured at the start.
    pub mouse: bool,
    /// Time between two polls of the source while it is live.
    pub refresh: Duration,
    /// The zone of the times that the console shows.
    pub timezone: Zone,
}

impl Default for Ui {
    fn default() -> Self {
        Self { theme: None, ascii: false, mouse: false, refresh: Duration::from_secs(1), timezone: Zone::UTC }
    }
}

/// What is masked on screens and in tables, beyond the keys that are always taken for secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redaction {
    /// Argument keys or dotted paths to mask as well.
    pub extra: Vec<String>,
    /// Argument keys or dotted paths to show although they look secret.
    pub allow: Vec<String>,
    /// Masks nothing.
    pub off: bool,
}

/// What the watch over a source may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The share of the database's time.
    pub budget: LoadShare,
}

impl Default for Watch {
    fn default() -> Self {
        Self { budget: LoadShare::DEFAULT }
    }
}

/// From where on an action is a big one, or one too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Jobs above which the number must be typed.
    pub confirm_count: u64,
    /// Replays that a job may have behind it: one that came back so often is left out of a replay.
    pub max_replays: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { confirm_count: CONFIRM_COUNT, max_replays: MAX_REPLAYS }
    }
}

/// Keys for a command of the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBindings {
    /// Name of the command.
    pub command: String,
    /// The keys.
    pub chords: Vec<String>,
    /// The file that says so.
    pub path: String,
    /// Its line, from 1.
    pub line: usize,
}

/// How long a database may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To accept a connection.
    pub connect: Duration,
    /// To answer one statement, where the source has no limit of its own.
    pub statement: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), statement: Duration::from_secs(2) }
    }
}

impl Config {
    /// Reads and merges the files that exist.
    ///
    /// # Errors
    /// When a file cannot be read, is no TOML, has a key that nobody knows, or says two things at once.
    pub fn load(paths: &Paths) -> Result<Config, ConfigError> {
        let mut merged = RawKeys::default();
        let mut warnings = Vec::new();
        for path in paths.config_files() {
            if let Some(file) = file::read(path, paths.config_is_named(), &mut warnings)? {
                merged = file.over(merged);
            }
        }
        let mut config = merged.check()?;
        config.warnings = warnings;
        Ok(config)
    }

    /// Reads one text as if it were the only file, without a place to look for others.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn parse(text: &str) -> Result<Config, ConfigError> {
        file::parse("config.toml", text)?.check()
    }

    /// The source of that name.
    ///
    /// # Errors
    /// When there is none; names the nearest one.
    pub fn source(&self, name: &str) -> Result<&Source, ConfigError> {
        self.sources.get(name).ok_or_else(|| ConfigError::NoSuchSource {
            name: name.to_owned(),
            known: self.sources.keys().cloned().collect(),
        })
    }

    /// The source that opens when none is named: the default, or the only one.
    ///
    /// # Errors
    /// When the default is not among the sources.
    pub fn only_source(&self) -> Result<Option<&Source>, ConfigError> {
        match &self.default_source {
            Some(name) => self.source(name).map(Some),
            None if self.sources.len() == 1 => Ok(self.sources.values().next()),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
