//! `dlq-tui init`: creates the tables of a layout.

use std::io::Write;

use anyhow::Result;

use super::args::InitArgs;
use super::exit::{Code, Fault};
use super::out;
use super::source::Session;
use crate::store::install::Preset;

/// Looks what is missing, asks, and creates it.
///
/// # Errors
/// When the preset is not known, it is not confirmed, or the database fails.
pub async fn run(session: &Session, args: &InitArgs) -> Result<Code> {
    let preset = Preset::named(&args.preset)?;
    let origin = session.origin()?;
    let budget = session.budget(&origin);
    let engine = origin.connect(session, &budget).await?;
    let plan = preset.plan(&engine, &budget).await?;
    for table in &plan.kept {
        out::say(&format!("{table} is there already and stays as it is"));
    }
    if plan.created.is_empty() {
        out::say("nothing is missing");
        return Ok(Code::Done);
    }
    let mut out = out::stdout();
    write!(out, "{}", plan.ddl)?;
    out.flush()?;
    drop(out);
    if args.dry_run {
        return Ok(Code::Done);
    }
    let tables = plan.created.join(", ");
    if !args.yes {
        if !out::somebody_is_there() {
            return Err(Fault::refused("nothing was created: without a terminal to confirm on, --yes is needed").into());
        }
        if !out::confirm(&format!("create {tables} in {}?", origin.name)).await? {
            return Err(Fault::refused("not confirmed: nothing was created").into());
        }
    }
    preset.install(&engine, &budget).await?;
    out::say(&format!("created {tables} in {}", origin.name));
    Ok(Code::Done)
}
