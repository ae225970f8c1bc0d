//! `:note`: a note on the last run, or on what the filter selects.

use super::CommandEffects;
use crate::domain::time::Timestamp;
use crate::tui::app::effect::{Effect, Request, Slot};
use crate::tui::app::model::Model;
use crate::tui::{Note, NoteRequest};

/// Asks for the note.
pub fn make(model: &mut Model, rest: &str, now: Timestamp) -> CommandEffects {
    if model.source.opened.is_none() {
        return Err("no store is open".into());
    }
    let run = model.runner.last.as_ref().map(|(run, _)| run.clone());
    let about = run.as_ref().map_or("what the filter selects".to_owned(), |run| format!("run {run}"));
    let to = (!rest.is_empty()).then(|| rest.into());
    let asked = NoteRequest { run, filter: model.filter.resolved.clone(), to };
    let effect = model.requests.ask(Slot::Note, Request::Note(asked));
    model.say(format!("making a note on {about}"), now);
    Ok(vec![effect])
}

/// The note is there, or why not.
pub fn on_note(model: &mut Model, result: Result<Note, String>, now: Timestamp) -> Vec<Effect> {
    match result {
        Ok(Note::Text(text)) => vec![Effect::Edit { name: "note.md".into(), text }],
        Ok(Note::Written(path)) => {
            model.say(format!("the note is in {}, which only you can read", path.display()), now);
            Vec::new()
        }
        Err(sentence) => {
            model.complain(format!("no note: {sentence}"), now);
            Vec::new()
        }
    }
}
