//! The keys of a config file as they stand in TOML, how one file lies over another, and what is checked at the end.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::{
    Config, ConfigError, KeyBindings, Redaction, ReplayTo, Source, SourceAddress, ThemeChoice, Thresholds, Timeouts,
    Ui, Watch, mask_secrets,
};
use crate::domain::load_share::LoadShare;
use crate::domain::run_options::validator::Validator;
use crate::domain::secret::{ExposeSecret, SecretString};
use crate::domain::time::parse_wait;
use crate::domain::time::zone::Zone;

/// How long a replay command may take for a batch, unless the config says otherwise.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// A file's keys.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawKeys {
    default_source: Option<String>,
    sources: BTreeMap<String, RawSource>,
    ui: RawUi,
    redaction: RawRedaction,
    thresholds: RawThresholds,
    watch: RawWatch,
    timeouts: RawTimeouts,
    keys: BTreeMap<String, toml::Spanned<Chords>>,
    /// [`RawKeys::keys`] with where they stand.
    #[serde(skip)]
    bound: BTreeMap<String, KeyBindings>,
}

/// Keys of a command of the console: one, or a list.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Chords {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawSource {
    url: Option<SecretString>,
    url_env: Option<String>,
    url_command: Option<CommandWords>,
    store: Option<String>,
    production: Option<bool>,
    read_only: Option<bool>,
    edit: Option<bool>,
    refresh: Option<DurationText>,
    statement_timeout: Option<DurationText>,
    connections: Option<Connections>,
    replay: Option<RawReplay>,
    validate: Option<RawValidate>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReplay {
    table: Option<String>,
    command: Option<CommandWords>,
    timeout: Option<DurationText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawValidate {
    command: CommandWords,
    timeout: Option<DurationText>,
}

impl From<RawValidate> for Validator {
    fn from(raw: RawValidate) -> Self {
        Self::new(raw.command.0, raw.timeout.map_or(Validator::TIMEOUT, |s| s.0))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawUi {
    theme: Option<ThemeChoice>,
    ascii: Option<bool>,
    mouse: Option<bool>,
    refresh: Option<DurationText>,
    timezone: Option<Zone>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawRedaction {
    extra: Option<Vec<String>>,
    allow: Option<Vec<String>>,
    off: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawThresholds {
    confirm_count: Option<u64>,
    max_replays: Option<Replays>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawWatch {
    budget: Option<Percent>,
}

/// A share, written as `2%`.
#[derive(Debug, Clone, Copy)]
struct Percent(LoadShare);

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        LoadShare::parse(&text).map(Percent).map_err(serde::de::Error::custom)
    }
}

/// Replays that a job may have behind it: none would leave every job out, and is not what anybody means.
#[derive(Debug, Clone, Copy)]
struct Replays(u64);

impl<'de> Deserialize<'de> for Replays {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::deserialize(deserializer)? {
            0 => Err(serde::de::Error::custom("max_replays is a number from 1")),
            n => Ok(Replays(n)),
        }
    }
}

/// Connections to a source at the most.
#[derive(Debug, Clone, Copy)]
struct Connections(usize);

impl<'de> Deserialize<'de> for Connections {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match usize::deserialize(deserializer)? {
            n @ 1..=16 => Ok(Connections(n)),
            _ => Err(serde::de::Error::custom("connections is a number from 1 to 16")),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawTimeouts {
    connect: Option<DurationText>,
    statement: Option<DurationText>,
}

/// A span of time, written as `2s`.
#[derive(Debug, Clone, Copy)]
struct DurationText(Duration);

impl<'de> Deserialize<'de> for DurationText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_wait(&text).map(DurationText).map_err(serde::de::Error::custom)
    }
}

/// A command: a list of words, or one text that is split as a shell would, without running one.
#[derive(Debug, Clone)]
struct CommandWords(Vec<String>);

impl<'de> Deserialize<'de> for CommandWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = CommandWords;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a command as a list of words, or as one text")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<CommandWords, E> {
                shell_words::split(text).map(CommandWords).map_err(|_| E::custom("the command has an open quote"))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<CommandWords, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = list.next_element()? {
                    words.push(word);
                }
                Ok(CommandWords(words))
            }
        }
        let words = deserializer.deserialize_any(Visitor)?;
        if words.0.is_empty() { Err(serde::de::Error::custom("the command is empty")) } else { Ok(words) }
    }
}

impl RawKeys {
    /// Whether an address holds a password in clear text.
    pub(super) fn holds_password(&self) -> bool {
        self.sources
            .values()
            .filter_map(|s| s.url.as_ref())
            .any(|url| mask_secrets(url.expose_secret()) != url.expose_secret())
    }

    /// Notes in which line of which file keys are bound.
    pub(super) fn place(mut self, path: &str, line: impl Fn(usize) -> usize) -> Self {
        for (command, chords) in std::mem::take(&mut self.keys) {
            let line = line(chords.span().start);
            let chords = match chords.into_inner() {
                Chords::One(chord) => vec![chord],
                Chords::Many(chords) => chords,
            };
            self.bound.insert(command.clone(), KeyBindings { command, chords, path: path.to_owned(), line });
        }
        self
    }

    /// This file laid over a lower one: its keys win, one by one.
    pub(super) fn over(self, lower: RawKeys) -> RawKeys {
        let mut sources = lower.sources;
        for (name, upper) in self.sources {
            let below = sources.remove(&name).unwrap_or_default();
            sources.insert(name, upper.over(below));
        }
        let mut bound = lower.bound;
        bound.extend(self.bound);
        RawKeys {
            keys: BTreeMap::new(),
            bound,
            default_source: self.default_source.or(lower.default_source),
            sources,
            ui: RawUi {
                theme: self.ui.theme.or(lower.ui.theme),
                ascii: self.ui.ascii.or(lower.ui.ascii),
                mouse: self.ui.mouse.or(lower.ui.mouse),
                refresh: self.ui.refresh.or(lower.ui.refresh),
                timezone: self.ui.timezone.or(lower.ui.timezone),
            },
            redaction: RawRedaction {
                extra: self.redaction.extra.or(lower.redaction.extra),
                allow: self.redaction.allow.or(lower.redaction.allow),
                off: self.redaction.off.or(lower.redaction.off),
            },
            thresholds: RawThresholds {
                confirm_count: self.thresholds.confirm_count.or(lower.thresholds.confirm_count),
                max_replays: self.thresholds.max_replays.or(lower.thresholds.max_replays),
            },
            watch: RawWatch { budget: self.watch.budget.or(lower.watch.budget) },
            timeouts: RawTimeouts {
                connect: self.timeouts.connect.or(lower.timeouts.connect),
                statement: self.timeouts.statement.or(lower.timeouts.statement),
            },
        }
    }

    /// The config that the merged keys mean.
    pub(super) fn check(self) -> Result<Config, ConfigError> {
        let mut sources = BTreeMap::new();
        for (name, raw) in self.sources {
            let source = raw.check(&name)?;
            sources.insert(name, source);
        }
        let (ui, timeouts) = (Ui::default(), Timeouts::default());
        let config = Config {
            sources,
            default_source: self.default_source,
            ui: Ui {
                theme: self.ui.theme,
                ascii: self.ui.ascii.unwrap_or(ui.ascii),
                mouse: self.ui.mouse.unwrap_or(ui.mouse),
                refresh: self.ui.refresh.map_or(ui.refresh, |s| s.0),
                timezone: self.ui.timezone.unwrap_or(ui.timezone),
            },
            redaction: Redaction {
                extra: self.redaction.extra.unwrap_or_default(),
                allow: self.redaction.allow.unwrap_or_default(),
                off: self.redaction.off.unwrap_or_default(),
            },
            thresholds: Thresholds {
                confirm_count: self.thresholds.confirm_count.unwrap_or(super::CONFIRM_COUNT),
                max_replays: self.thresholds.max_replays.map_or(super::MAX_REPLAYS, |n| n.0),
            },
            watch: Watch { budget: self.watch.budget.map_or(LoadShare::DEFAULT, |p| p.0) },
            timeouts: Timeouts {
                connect: self.timeouts.connect.map_or(timeouts.connect, |s| s.0),
                statement: self.timeouts.statement.map_or(timeouts.statement, |s| s.0),
            },
            keys: self.bound.into_values().collect(),
            warnings: Vec::new(),
        };
        config.only_source()?;
        Ok(config)
    }
}

impl RawSource {
    fn over(self, lower: RawSource) -> RawSource {
        // An address is one thing however it is written: the upper file's kind of address replaces the lower one's.
        let (url, url_env, url_command) = if self.url.is_some() || self.url_env.is_some() || self.url_command.is_some()
        {
            (self.url, self.url_env, self.url_command)
        } else {
            (lower.url, lower.url_env, lower.url_command)
        };
        RawSource {
            url,
            url_env,
            url_command,
            store: self.store.or(lower.store),
            production: self.production.or(lower.production),
            read_only: self.read_only.or(lower.read_only),
            edit: self.edit.or(lower.edit),
            refresh: self.refresh.or(lower.refresh),
            statement_timeout: self.statement_timeout.or(lower.statement_timeout),
            connections: self.connections.or(lower.connections),
            replay: self.replay.or(lower.replay),
            validate: self.validate.or(lower.validate),
        }
    }

    fn check(self, name: &str) -> Result<Source, ConfigError> {
        let wrong = |key: &str, reason: &str| ConfigError::Contradiction {
            place: format!("sources.{name}{key}"),
            reason: reason.to_owned(),
        };
        let address = match (self.url, self.url_env, self.url_command) {
            (Some(url), None, None) => SourceAddress::Url(url),
            (None, Some(variable), None) => SourceAddress::Env(variable),
            (None, None, Some(words)) => SourceAddress::Command(words.0),
            (None, None, None) => return Err(wrong("", "one of url, url_env and url_command is needed")),
            _ => return Err(wrong("", "only one of url, url_env and url_command can be given")),
        };
        let replay = match self.replay {
            None => None,
            Some(RawReplay { table: Some(table), command: None, timeout: None }) => Some(ReplayTo::Table(table)),
            Some(RawReplay { table: None, command: Some(words), timeout }) => {
                Some(ReplayTo::Command { command: words.0, timeout: timeout.map_or(COMMAND_TIMEOUT, |s| s.0) })
            }
            Some(RawReplay { table: Some(_), command: None, .. }) => {
                return Err(wrong(".replay", "timeout is for a command; a table has none"));
            }
            Some(_) => return Err(wrong(".replay", "give either table or command")),
        };
        Ok(Source {
            name: name.to_owned(),
            address,
            store: self.store,
            production: self.production.unwrap_or_default(),
            read_only: self.read_only.unwrap_or_default(),
            edit: self.edit.unwrap_or(true),
            refresh: self.refresh.map(|s| s.0),
            statement_timeout: self.statement_timeout.map(|s| s.0),
            connections: self.connections.map(|n| n.0),
            replay,
            validate: self.validate.map(Validator::from),
        })
    }
}
