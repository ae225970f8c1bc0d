//! The console, from the command line: what it opens, and whether there is a terminal for it.

use std::io::IsTerminal;
use std::sync::Arc;

use anyhow::Result;
use futures_util::FutureExt;

use super::args::ConsoleArgs;
use super::exit::{Code, Fault};
use super::open::{self, Surveyed};
use super::source::{Origin, Session};
use crate::ledger::Ledger;
use crate::store::sql::Found;
use crate::tui::{self, Choice, Launch};

/// Opens the console on the database that the command line names.
///
/// # Errors
/// When there is no terminal, nothing says which database, it cannot be reached, or the console fails.
pub async fn run(session: Session, args: &ConsoleArgs) -> Result<Code> {
    let origin = session.origin()?;
    on(session, origin, args).await
}

/// Opens the console on a database.
///
/// # Errors
/// As [`run`].
pub async fn on(session: Session, origin: Origin, args: &ConsoleArgs) -> Result<Code> {
    terminal()?;
    let filter = open::filter(args.filter.as_deref())?;
    let budget = session.budget(&origin);
    let surveyed = open::survey(&session, origin, &budget).await?;
    let matching: Vec<Found> = surveyed.matching().into_iter().cloned().collect();
    if matching.is_empty() {
        // The same sentence as headless: which stores there are, or what to do when there is none.
        surveyed.only()?;
    }
    let ledger = Ledger::open(&session.paths.ledger()).await?;
    let launch = launch(&session, surveyed, matching, ledger, filter, args);
    tui::run(launch).await?;
    Ok(Code::Done)
}

fn launch(
    session: &Session,
    surveyed: Surveyed,
    matching: Vec<Found>,
    ledger: Ledger,
    filter: crate::domain::filter::Filter,
    args: &ConsoleArgs,
) -> Launch {
    let mut ui = session.config.ui.clone();
    ui.theme = args.theme.or(ui.theme);
    ui.ascii |= args.ascii;
    ui.mouse |= args.mouse;
    if let Some(refresh) = surveyed.origin.source.as_ref().and_then(|s| s.refresh) {
        ui.refresh = refresh;
    }
    let choices = matching
        .iter()
        .map(|f| Choice { adapter: f.adapter.clone(), title: f.title.clone(), store: f.label() })
        .collect();
    let statement = session.statement_timeout(&surveyed.origin);
    let deliver = open::deliver(&surveyed.origin);
    let source = surveyed.origin.name.clone();
    let (surveyed, matching) = (Arc::new(surveyed), Arc::new(matching));
    Launch {
        source,
        choices,
        open: Arc::new(move |choice| {
            let (surveyed, matching) = (Arc::clone(&surveyed), Arc::clone(&matching));
            async move {
                let Some(found) = matching.get(choice) else { anyhow::bail!("there is no such store") };
                let budget = crate::store::Budget::new(statement);
                surveyed.open(found, &budget).await
            }
            .boxed()
        }),
        ledger,
        deliver,
        filter,
        ui,
        redactor: session.redactor(),
        confirm_count: session.config.thresholds.confirm_count,
        statement,
        state: session.paths.state().to_owned(),
    }
}

/// Whether the console can be shown here.
///
/// # Errors
/// Names the commands that work without a terminal.
pub fn terminal() -> Result<()> {
    let why = if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        "standard input or output is not one"
    } else if std::env::var_os("TERM").is_none_or(|t| t.is_empty() || t == "dumb") {
        "TERM says that this one cannot place text"
    } else {
        return Ok(());
    };
    Err(Fault::usage(format!(
        "the console needs a terminal, and {why}; `dlq-tui stats`, `list`, `show` and `replay` work without (see --help)"
    ))
    .into())
}
