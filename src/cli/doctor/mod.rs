//! `dlq-tui doctor`: what is well with a source and what is not, and what to do about it. It reads, and never writes.
//!
//! `record` is what is found and how it is printed; each section is a file of its own that returns findings, and comes
//! whatever became of the others. `bundle` makes one document of it that can be shown to others.

mod bloat;
mod bundle;
mod config_sources;
mod connection;
mod finding;
mod foreign_keys;
mod indexes;
mod ledger;
mod privileges;
mod pseudonyms;
mod retention;
mod stores;
mod terminal;
mod terminal_query;

use anyhow::Result;

use super::args::{Cli, DoctorArgs};
use super::exit::Code;
use super::{output, signal};
use crate::adapter::Library;
use crate::cli::source::open::{Surveyed, survey};
use crate::cli::source::source_choice::SourceChoice;
use crate::config::mask_secrets;
use crate::domain::text::Clean;
use crate::store::{Budget, SourceError};
use finding::{Finding, Level};

/// Looks at the source from every side, and prints what is found.
///
/// # Errors
/// When the answer cannot be printed, or somebody interrupts. Whatever is wrong with source, config, ledger or terminal is a finding.
pub async fn run(cli: &Cli, args: &DoctorArgs, word: &str) -> Result<Code> {
    let (session, broken) = match SourceChoice::read(cli.connect.clone(), word) {
        Ok(session) => (session, None),
        Err(error) => (SourceChoice::without_config(cli.connect.clone(), word), Some(error)),
    };
    let interrupted = signal::stop_requested();
    let inspected = tokio::select! {
        // First: what was cut short by it must not be told as what was found.
        biased;
        () = interrupted => return Err(SourceError::Cancelled.into()),
        inspected = Inspection::at(&session, broken.as_ref()) => inspected,
    };
    let failed = inspected.findings.iter().any(|finding| finding.level == Level::Fail);
    if let Some(asked) = &args.bundle {
        bundle::write(&session, &inspected, cli.log_file.as_deref(), asked.as_deref(), args.output.output).await?;
    }
    output::unless_gone(finding::print(&inspected.name, &inspected.findings, args.output.output))?;
    Ok(if failed { Code::Failed } else { Code::Done })
}

/// Everything that was looked at.
struct Inspection {
    /// The source's name, or its address without a secret.
    name: String,
    findings: Vec<Finding>,
    surveyed: Option<Surveyed>,
    /// The adapters, where no survey has them.
    library: Option<Library>,
    is_config_broken: bool,
}

impl Inspection {
    async fn at(session: &SourceChoice, broken: Option<&anyhow::Error>) -> Self {
        let mut findings = Vec::new();
        let (mut name, mut surveyed, mut budget) =
            (String::new(), None, Budget::new(session.config.timeouts.statement));
        match session.origin() {
            Err(error) => findings.push(unnamed(&error, broken.is_some())),
            Ok(origin) => {
                name.clone_from(&origin.name);
                budget = session.budget(&origin);
                match survey(session, origin, &budget).await {
                    Ok(reached) => {
                        findings.extend(of_source(&reached, &budget).await);
                        surveyed = Some(reached);
                    }
                    Err(error) => findings.push(unreached(&error)),
                }
            }
        }
        let source = surveyed.as_ref().map(|surveyed| surveyed.survey.source());
        findings.extend(ledger::findings(&session.paths.ledger(), source, &budget).await);
        let ui = &session.config.ui;
        findings.extend(terminal::here(ui.theme.map_or("auto", |theme| theme.word()), ui.ascii));
        let library = surveyed.is_none().then(|| Library::load(Some(session.paths.adapters())));
        let mut inspected = Self { name, findings, surveyed, library, is_config_broken: broken.is_some() };
        let origins = config_sources::findings(session, broken, inspected.library());
        inspected.findings.extend(origins);
        inspected
    }

    fn library(&self) -> &Library {
        static NONE: Library = Library { adapters: Vec::new(), faults: Vec::new() };
        self.surveyed.as_ref().map(|surveyed| &surveyed.survey.library).or(self.library.as_ref()).unwrap_or(&NONE)
    }
}

/// What is found of a source that can be reached.
async fn of_source(surveyed: &Surveyed, budget: &Budget) -> Vec<Finding> {
    let mut findings = connection::findings(surveyed, budget).await;
    findings.extend(stores::findings(surveyed, budget).await);
    findings
}

/// Why nothing says which database.
fn unnamed(error: &anyhow::Error, is_broken: bool) -> Finding {
    let told = mask_secrets(&format!("{error:#}"));
    let fact = told.lines().next().unwrap_or_default().trim_end_matches(". Any of these opens one:");
    let finding = Finding::new(connection::SECTION, "database", Level::Fail, Clean::line(fact).to_string())
        .publicly("nothing names a database, or what does is wrong");
    match is_broken {
        true => finding.advising("the config is not used until it is fixed (below); use --url or DATABASE_URL meanwhile"),
        false => finding.advising(
            "name one with --url postgres://user@host/database, DATABASE_URL, PGHOST and PGDATABASE, or as [sources.NAME] \
             in the config; `dlq-tui demo` works without any",
        ),
    }
}

fn unreached(error: &anyhow::Error) -> Finding {
    let fact = mask_secrets(&format!("{error:#}"));
    // A server's words may hold names that nobody told us.
    let kind = error.downcast_ref::<SourceError>().map_or("it cannot be reached", SourceError::kind);
    Finding::new(connection::SECTION, "reach", Level::Fail, Clean::line(&fact).to_string())
        .publicly(kind)
        .advising("try the same with psql, mysql or sqlite3 from this machine: host, port, user, password, firewall")
}
