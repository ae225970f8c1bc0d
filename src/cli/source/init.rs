//! `dlq-tui init`: creates the tables of a layout.

use std::io::Write;

use anyhow::Result;

use crate::cli::args::InitArgs;
use crate::cli::exit::{CliError, Code};
use crate::cli::output;
use crate::cli::source::source_choice::SourceChoice;
use crate::ledger::LedgerInstallation;
use crate::store::SourceError;
use crate::store::survey::Preset;

/// Looks what is missing, asks, and creates it.
///
/// # Errors
/// When the preset is not known, it is not confirmed, or the database fails.
pub async fn run(session: &SourceChoice, args: &InitArgs) -> Result<Code> {
    if args.ledger {
        return ledger(session, args).await;
    }
    let preset = Preset::named(&args.preset)?;
    let origin = session.origin()?;
    let budget = session.budget(&origin);
    let source = origin.connect(session, &budget).await?;
    let plan = source.plan_preset(preset, args.schema.as_deref(), &budget).await?;
    for table in &plan.kept {
        output::say(&format!("{table} is there already and stays as it is"));
    }
    if !plan.misfits.is_empty() {
        return Err(CliError::refused(format!(
            "what is there is no part of {}: {}; nothing was created: give the preset a schema or a database of its own",
            preset.name,
            plan.misfits.join("; ")
        ))
        .into());
    }
    if plan.created.is_empty() {
        output::say("nothing is missing");
        return Ok(Code::Done);
    }
    print(&plan.ddl)?;
    if args.dry_run {
        return Ok(Code::Done);
    }
    let mut tables = plan.created.join(", ");
    if let Some(schema) = &plan.schema {
        tables = format!("the schema {schema} with {tables}");
    }
    confirmed(args, &format!("create {tables} in {}?", origin.name)).await?;
    source.install(&plan, &budget).await.map_err(|error| denied(error, &origin.name))?;
    output::say(&format!("created {tables} in {}", origin.name));
    let open = ["dlq-tui"].into_iter().chain(origin.reach.iter().map(String::as_str));
    output::say("next: let dead jobs come in (`dlq-tui docs capture` has recipes), and open the console with");
    output::say(&format!("  {}", shell_words::join(open.chain(["--store", preset.name]))));
    Ok(Code::Done)
}

/// What to do where the role lacks the right.
fn denied(error: SourceError, origin: &str) -> anyhow::Error {
    match error {
        SourceError::Denied(why) => CliError::refused(format!(
            "this role may not create tables in {origin}: {why}; a role with that right can run the statements above"
        ))
        .into(),
        other => other.into(),
    }
}

/// Installs the ledger that operators of a source share, or brings it up to date.
async fn ledger(session: &SourceChoice, args: &InitArgs) -> Result<Code> {
    let origin = session.origin()?;
    let budget = session.budget(&origin);
    let source = origin.connect(session, &budget).await?;
    let plan = LedgerInstallation::plan(&source, &budget).await?;
    if plan.ddl.is_empty() {
        output::say(&format!("{} has a ledger already; nothing is missing", origin.name));
        say_grants(&plan);
        return Ok(Code::Done);
    }
    print(&plan.ddl)?;
    if args.dry_run {
        say_grants(&plan);
        return Ok(Code::Done);
    }
    let verb = if plan.update { "bring the ledger up to date" } else { "create a ledger" };
    confirmed(args, &format!("{verb} in {}?", origin.name)).await?;
    plan.install(&source, &budget).await.map_err(|error| denied(error, &origin.name))?;
    output::say(&format!(
        "{} has a ledger now: runs on it are recorded there, and every operator sees them",
        origin.name
    ));
    say_grants(&plan);
    Ok(Code::Done)
}

/// Prints the statements that are missing, as they can be given to the database's own client.
fn print(ddl: &str) -> Result<()> {
    let mut out = output::stdout();
    write!(out, "{ddl}")?;
    Ok(out.flush()?)
}

/// What other operators need.
fn say_grants(plan: &LedgerInstallation) {
    if !plan.grants.is_empty() {
        output::say("each operator's role needs, in addition to its rights on the jobs:");
        plan.grants.iter().for_each(|grant| output::say(&format!("  {grant}")));
    }
}

/// Asks, unless the answer is on the command line.
///
/// # Errors
/// When it is not confirmed, or there is nobody to confirm.
async fn confirmed(args: &InitArgs, question: &str) -> Result<()> {
    if args.yes {
        return Ok(());
    }
    if !output::somebody_is_there() {
        return Err(CliError::refused("nothing was created: without a terminal to confirm on, --yes is needed").into());
    }
    match output::confirm(question).await? {
        true => Ok(()),
        false => Err(CliError::refused("not confirmed: nothing was created").into()),
    }
}
