//! `dlq-tui repair ID --edit`: the arguments of one job in the operator's editor.

use std::sync::Arc;

use anyhow::Result;

use crate::cli::args::RepairArgs;
use crate::cli::exit::{CliError, Code};
use crate::cli::output;
use crate::cli::source::open::OpenedStore;
use crate::cli::verbs;
use crate::domain::action::Action;
use crate::domain::job::JobId;
use crate::domain::repair::{EditableArguments, EditedArguments};
use crate::domain::run_options::Options;
use crate::triage::freeze::Ask;
use crate::triage::plan::ActionScope;
use crate::triage::repair::{EditRequest, stored_arguments};
use crate::tui::edit_text;

/// Opens the editor, then plans what was made of the arguments.
///
/// # Errors
/// When more than one job is named, its arguments cannot be edited, the editor fails, or its text is none that can be written;
/// and as every verb.
pub async fn run(opened: &OpenedStore, args: &RepairArgs) -> Result<Code> {
    // The one word before any id.
    let job = JobId::new(args.expression.as_str());
    if !args.ids.is_empty() {
        return Err(CliError::usage("--edit takes one job, and no expression: dlq-tui repair ID --edit").into());
    }
    let arguments = stored_arguments(&opened.desk, &job, &opened.budget).await?.map_err(anyhow::Error::msg)?;
    let editable = EditableArguments::new(arguments.arguments(), Arc::clone(&opened.desk.redactor));
    let edited = edit(&editable.map_err(anyhow::Error::msg)?).await?;
    if edited.changes.is_empty() {
        output::say("the arguments are as they were: nothing to write");
        return Ok(Code::Done);
    }
    let action = if args.replay { Action::Replay } else { Action::Repair };
    let options = Options { validate: opened.validate.clone(), ..Options::default() };
    let ask = verbs::ask(opened, ActionScope::Jobs(vec![job]), action, options, &args.plan);
    verbs::carry_out(opened, Ask { edit: Some(EditRequest::edited(edited)), ..ask }, &args.plan).await
}

/// The editor, again until its text can be written or the operator has had enough.
async fn edit(editable: &EditableArguments) -> Result<EditedArguments> {
    let mut text = editable.text().to_owned();
    loop {
        text = edit_text(&text).await.map_err(anyhow::Error::msg)?;
        let error = match editable.edited(&text) {
            Ok(edited) => return Ok(edited),
            Err(error) => error,
        };
        output::say(&error.to_string());
        if !output::somebody_is_there() || !output::confirm("Edit again?").await? {
            return Err(CliError::refused("nothing was written").into());
        }
    }
}
