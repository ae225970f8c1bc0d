//! Which database a command is for: from the command line, the environment, or the config.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::cli::args::Connect;
use crate::cli::exit::CliError;
use crate::config::{Config, ConfigError, Paths, Source, SourceAddress, mask_secrets};
use crate::domain::redact::{RedactConfig, Redactor};
use crate::domain::run_options::validator::Validator;
use crate::domain::secret::ExposeSecret;
use crate::domain::text::Clean;
use crate::domain::time::Timestamp;
use crate::ledger::{Ledger, Reveal};
use crate::store::survey::{ConnectedSource, EngineOptions, NAMING, Target};
use crate::store::{Budget, SourceError};
use crate::tui::keys::{Keymap, Misbound};

/// What to print when nothing says which database.
const NOWHERE: &str = "\
no database is configured. Any of these opens one:
  dlq-tui --url postgres://user@host/database    the password from ~/.pgpass or PGPASSWORD
  dlq-tui --url redis://host:6379/0              the password from REDISCLI_AUTH
  DATABASE_URL=…, PGHOST=…, or REDIS_URL=…       the environment, as other tools read it
  dlq-tui --source NAME                          after [sources.NAME] url = \"…\" in the config";

/// The end of [`NOWHERE`]: where the config is, and what works without any.
const DEMO: &str = "  dlq-tui demo                                   a shop with failing jobs, to try it all";

/// Everything that a command knows before it reaches a database.
#[derive(Clone, Debug)]
pub struct SourceChoice {
    /// What is configured.
    pub config: Config,
    /// Where our files are.
    pub paths: Paths,
    /// What the command line says of the database.
    pub connect: Connect,
    /// Which keys of the console ask for what.
    pub keys: Keymap,
    /// What the server's list of sessions calls us: the program and its command.
    pub program: String,
}

/// Says once what is to be known of where passwords are kept.
fn warn_about_passwords(target: &Target) {
    static SAID: std::sync::Once = std::sync::Once::new();
    if let Some(remark) = target.password_warning() {
        SAID.call_once(|| crate::cli::output::say(&format!("dlq-tui: warning: {}", Clean::line(remark))));
    }
}

fn keymap(config: &Config) -> Result<Keymap, ConfigError> {
    let wishes = config.keys.iter().map(|keys| (keys.command.as_str(), keys.chords.as_slice()));
    Keymap::configured(wishes).map_err(|Misbound { name, reason }| {
        let keys = config.keys.iter().find(|keys| keys.command == name);
        let (path, line) = keys.map(|keys| (keys.path.clone(), keys.line)).unwrap_or_default();
        ConfigError::Wrong { path, line, reason: format!("keys.{name}: {reason}") }
    })
}

/// A database that a command is for.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The source's name, or the address without its secret.
    pub name: String,
    /// Where it is.
    pub target: Target,
    /// The source of the config, where it is one.
    pub source: Option<Source>,
    /// Nothing is written.
    pub read_only: bool,
    /// The store to open, where there are several.
    pub store: Option<String>,
    /// The options by which another command line reaches it; none where the environment does.
    pub reach: Vec<String>,
    /// What named it, for errors: an option, a variable, a section of the config.
    pub named_by: String,
}

impl SourceChoice {
    /// Reads the config, and says what is doubtful about its files.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn load(connect: Connect, command: &str) -> Result<SourceChoice> {
        let session = Self::read(connect, command)?;
        for warning in &session.config.warnings {
            crate::cli::output::say(&format!("dlq-tui: warning: {warning}"));
        }
        Ok(session)
    }

    /// The same, and nothing is said.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn read(connect: Connect, command: &str) -> Result<SourceChoice> {
        let paths = Paths::from_environment();
        let config = Config::load(&paths)?;
        let keys = keymap(&config)?;
        Ok(SourceChoice { config, paths, connect, keys, program: format!("dlq-tui {command}") })
    }

    /// As with a config that says nothing: for whoever looks what is wrong with the one that there is.
    pub fn without_config(connect: Connect, command: &str) -> SourceChoice {
        let (config, paths, keys) = (Config::default(), Paths::from_environment(), Keymap::default());
        SourceChoice { config, paths, connect, keys, program: format!("dlq-tui {command}") }
    }

    /// Which database: `--url`, `--source`, `DATABASE_URL`, the `PG*` variables, `REDIS_URL`, the config's default or only source.
    ///
    /// # Errors
    /// When nothing says which, or what says so is wrong.
    pub fn origin(&self) -> Result<Origin> {
        if let Some(url) = &self.connect.url {
            let target = Target::from_url(url).context("--url")?;
            if target.has_password() {
                return Err(CliError::usage(
                    "a password on the command line can be read by every user of this machine: leave it out of --url \
                     and put it into ~/.pgpass or PGPASSWORD, for MySQL into MYSQL_PWD, for Redis into REDISCLI_AUTH, or the \
                     whole URL into DATABASE_URL, or name the source in the config",
                )
                .into());
            }
            return Ok(self.unnamed(target, "--url", vec!["--url".into(), url.clone()]));
        }
        if let Some(name) = &self.connect.source {
            return self.named(self.config.source(name)?);
        }
        if let Some(origin) = self.in_environment()? {
            return Ok(origin);
        }
        match self.config.only_source()? {
            Some(source) => self.named(source),
            None if self.config.sources.is_empty() => Err(CliError::usage(format!("{NOWHERE}\n{DEMO}")).into()),
            None => {
                let names: Vec<&str> = self.config.sources.keys().map(String::as_str).collect();
                Err(CliError::usage(format!(
                    "the config has several sources: choose one with --source ({}), or set default_source",
                    names.join(", ")
                ))
                .into())
            }
        }
    }

    /// The database that the environment names, where it does.
    ///
    /// # Errors
    /// When what it says is wrong.
    pub fn in_environment(&self) -> Result<Option<Origin>> {
        let [url, parts @ .., redis] = NAMING;
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let named_by = if is_set(&url) {
            url.to_owned()
        } else if !parts.iter().any(is_set) {
            redis.to_owned()
        } else {
            parts.iter().copied().filter(|n| is_set(n)).collect::<Vec<_>>().join(", ")
        };
        Ok(Target::from_env()?.map(|target| self.unnamed(target, &named_by, Vec::new())))
    }

    /// A source of the config.
    ///
    /// # Errors
    /// When its address cannot be had or is none.
    pub fn named(&self, source: &Source) -> Result<Origin> {
        let url = source.url()?;
        let target = Target::from_url(url.expose_secret()).with_context(|| format!("source `{}`", source.name))?;
        warn_about_passwords(&target);
        Ok(Origin {
            name: source.name.clone(),
            target,
            read_only: self.connect.read_only || source.read_only,
            store: self.connect.store.clone().or_else(|| source.store.clone()),
            source: Some(source.clone()),
            reach: vec!["--source".into(), source.name.clone()],
            named_by: match &source.address {
                SourceAddress::Url(_) => format!("[sources.{}] of the config", source.name),
                SourceAddress::Env(variable) => format!("{variable}, url_env of [sources.{}]", source.name),
                SourceAddress::Command(_) => format!("url_command of [sources.{}]", source.name),
            },
        })
    }

    fn unnamed(&self, target: Target, named_by: &str, reach: Vec<String>) -> Origin {
        warn_about_passwords(&target);
        Origin {
            name: target.label(),
            target,
            source: None,
            read_only: self.connect.read_only,
            store: self.connect.store.clone(),
            reach,
            named_by: named_by.to_owned(),
        }
    }

    /// What screens and tables mask, as the config says.
    pub fn redactor(&self) -> Redactor {
        let redaction = &self.config.redaction;
        let rules = RedactConfig { well_known: true, extra: redaction.extra.clone(), allow: redaction.allow.clone() };
        Redactor::new(&rules).revealing(redaction.off || self.connect.reveal)
    }

    /// Writes down that secrets are about to be shown, where that is asked for.
    ///
    /// # Errors
    /// When it cannot be written down: then nothing is shown.
    pub async fn record_reveal(&self, source: &str) -> Result<()> {
        if !self.connect.reveal {
            return Ok(());
        }
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        let reveal = Reveal {
            at: Timestamp::now(),
            operator: crate::cli::operator::current(""),
            source: source.to_owned(),
            command: mask_secrets(&shell_words::join(words.collect::<Vec<_>>())),
        };
        let written = async { Ledger::open(&self.paths.ledger()).await?.reveals().add(&reveal).await };
        written.await.context("nothing is revealed, because that cannot be kept in the ledger")
    }

    /// How long one statement may take on a source.
    pub fn statement_timeout(&self, origin: &Origin) -> Duration {
        let own = origin.source.as_ref().and_then(|s| s.statement_timeout);
        own.unwrap_or(self.config.timeouts.statement)
    }

    /// A budget for a source, which an interrupt cancels.
    pub fn budget(&self, origin: &Origin) -> Budget {
        let budget = Budget::new(self.statement_timeout(origin));
        let cancel = budget.cancel.clone();
        let stop = crate::cli::signal::stop_requested();
        tokio::spawn(async move {
            stop.await;
            cancel.cancel();
        });
        budget
    }
}

impl Origin {
    /// What the config names to judge jobs before they are replayed.
    pub fn validate(&self) -> Option<Validator> {
        self.source.as_ref()?.validate.clone()
    }

    /// Whether the source is marked as production.
    pub fn production(&self) -> bool {
        self.source.as_ref().is_some_and(|s| s.production)
    }

    /// How it is connected to.
    pub fn engine_options(&self, session: &SourceChoice) -> EngineOptions {
        let usual = EngineOptions::default();
        EngineOptions {
            read_only: self.read_only,
            connect_timeout: session.config.timeouts.connect,
            max_connections: self.source.as_ref().and_then(|s| s.connections).unwrap_or(usual.max_connections),
            application_name: session.program.clone(),
            named_by: self.named_by.clone(),
            ..usual
        }
    }

    /// Connects, unless the budget is cancelled first.
    ///
    /// # Errors
    /// When the database cannot be reached or refuses us.
    pub async fn connect(&self, session: &SourceChoice, budget: &Budget) -> Result<ConnectedSource> {
        match self.try_connect(session, budget).await {
            Err(error) => match self.with_asked_password(&error).await? {
                Some(origin) => origin.try_connect(session, budget).await,
                None => Err(error),
            },
            connected => connected,
        }
    }

    async fn try_connect(&self, session: &SourceChoice, budget: &Budget) -> Result<ConnectedSource> {
        let options = self.engine_options(session);
        Ok(ConnectedSource::connect(&self.target, &options, budget).await?)
    }

    /// The same with the password that somebody types, where the server wants one, none is known and somebody is there.
    ///
    /// # Errors
    /// When the terminal cannot be used.
    pub async fn with_asked_password(&self, error: &anyhow::Error) -> Result<Option<Origin>> {
        let wanted = match error.downcast_ref::<SourceError>() {
            Some(SourceError::Refused { code: Some(code), .. } | SourceError::ShutOut { code, .. }) => {
                matches!(code.as_str(), "28P01" | "1045" | "1698" | "NOAUTH")
            }
            _ => false,
        };
        if !wanted || !self.target.lacks_password() || !crate::cli::output::somebody_is_there() {
            return Ok(None);
        }
        let question = format!("password for {}:", Clean::line(&self.target.label()));
        let typed = crate::cli::source::password::ask(&question).await?;
        Ok(typed.map(|password| Origin { target: self.target.clone().with_password(password), ..self.clone() }))
    }
}
