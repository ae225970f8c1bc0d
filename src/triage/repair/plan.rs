//! What is written of each job of a plan: computed from the arguments as they are kept, before anything is confirmed.

use std::collections::HashMap;
use std::mem::take;

use super::preview::{EXAMPLE_CHANGES, RepairReport};
use super::{Evaluator, EvaluatorError, EvaluatorOptions};
use crate::domain::job::JobId;
use crate::domain::repair::{
    ArgumentChange, ArgumentsDocument, ArgumentsEdit, EditedArguments, Evaluation, RepairPreview, RepairedArguments,
    repaired,
};
use crate::store::{Budget, EditArguments, FoundArguments, Frozen, SourceError};
use crate::triage::StoreContext;
use crate::triage::argument_pages::next_step;

/// Jobs that are read first: nobody knows yet how large their arguments are.
const FIRST_STEP: usize = 50;

/// What the record says of arguments that were edited rather than computed, in place of the expression.
pub const EDITED: &str = "edited in an editor";

/// Why arguments that were edited are not written.
const EDITED_MEANWHILE: &str = "the arguments have changed since they were opened in the editor";

/// How arguments are changed.
#[derive(Clone, Debug)]
pub struct EditRequest {
    /// Where the new arguments come from.
    pub source: EditSource,
    /// Jobs whose changes are told one by one.
    pub examples: usize,
}

impl EditRequest {
    /// Asks for what an editor has made of the arguments of one job.
    pub fn edited(edited: EditedArguments) -> Self {
        Self { source: EditSource::Edited(edited), examples: 0 }
    }
}

/// Where new arguments come from.
#[derive(Clone, Debug)]
pub enum EditSource {
    /// An expression computes them, for any number of jobs.
    Expression {
        /// The expression.
        expression: String,
        /// How it is evaluated.
        evaluator: EvaluatorOptions,
    },
    /// An operator has edited those of one job.
    Edited(EditedArguments),
}

impl EditSource {
    /// What the record says of it.
    pub(in crate::triage) fn words(&self) -> &str {
        match self {
            EditSource::Expression { expression, .. } => expression,
            EditSource::Edited(_) => EDITED,
        }
    }
}

/// What gives the new arguments.
enum Editor {
    Expression(Box<Evaluator>),
    Edited(EditedArguments),
}

impl Editor {
    /// What becomes of each text.
    async fn evaluate(&mut self, texts: &[&str]) -> Result<Vec<Evaluation>, EvaluatorError> {
        match self {
            Editor::Expression(evaluator) => evaluator.evaluate(texts).await,
            Editor::Edited(edited) => Ok(texts.iter().map(|text| evaluation(edited, text)).collect()),
        }
    }
}

/// What an edit makes of arguments as they are now: only those that were edited become what was written.
fn evaluation(edited: &EditedArguments, now: &str) -> Evaluation {
    match now == edited.original {
        true => Evaluation::Changed { before: now.to_owned(), after: edited.text.clone() },
        false => Evaluation::Failed(EDITED_MEANWHILE.to_owned()),
    }
}

/// Computes what is written, a few jobs at a time.
pub(in crate::triage) struct EditPlanner {
    editor: Editor,
    examples: usize,
    preview: RepairPreview,
    told: Vec<(JobId, Vec<ArgumentChange>)>,
    told_changes: usize,
    jobs: u64,
    step: usize,
}

/// What came of one job.
enum Outcome {
    Unchanged,
    Changed(ArgumentsEdit, Vec<ArgumentChange>),
    Failed(String),
}

impl EditPlanner {
    /// Starts the process that evaluates, where something is to be evaluated.
    ///
    /// # Errors
    /// When it does not start, or the expression is none.
    pub(in crate::triage) async fn start(request: &EditRequest) -> Result<Self, EvaluatorError> {
        let editor = match &request.source {
            EditSource::Expression { expression, evaluator } => {
                Editor::Expression(Box::new(Evaluator::start(expression, evaluator.clone()).await?))
            }
            EditSource::Edited(edited) => Editor::Edited(edited.clone()),
        };
        Ok(Self {
            editor,
            examples: request.examples,
            preview: RepairPreview::default(),
            told: Vec::new(),
            told_changes: 0,
            jobs: 0,
            step: FIRST_STEP,
        })
    }

    /// Those of these jobs whose arguments change, at most `most`, each with what is written.
    ///
    /// # Errors
    /// When the source fails, or nothing can be evaluated any more.
    pub(in crate::triage) async fn plan(
        &mut self,
        desk: &StoreContext,
        jobs: Vec<Frozen>,
        most: u64,
        budget: &Budget,
    ) -> Result<Vec<(Frozen, ArgumentsEdit)>, PlanEditError> {
        let none = || SourceError::Input("this store cannot change arguments".to_owned());
        let editor = desk.store.arguments().ok_or_else(none)?;
        let (mut planned, mut rest) = (Vec::new(), jobs);
        while !rest.is_empty() && (planned.len() as u64) < most {
            let later = rest.split_off(self.step.min(rest.len()));
            let step = std::mem::replace(&mut rest, later);
            let ids: Vec<JobId> = step.iter().map(|job| job.id.clone()).collect();
            let mut outcomes = self.evaluate(desk, editor, &ids, budget).await?;
            for job in step {
                if planned.len() as u64 == most {
                    break;
                }
                self.jobs += 1;
                if let Some(edit) = self.count(&job.id, outcomes.remove(&job.id)) {
                    planned.push((job, edit));
                }
            }
        }
        Ok(planned)
    }

    async fn evaluate(
        &mut self,
        desk: &StoreContext,
        editor: &dyn EditArguments,
        ids: &[JobId],
        budget: &Budget,
    ) -> Result<HashMap<JobId, Outcome>, PlanEditError> {
        let found: Vec<(JobId, FoundArguments)> = editor.documents(ids, budget).await?;
        let bytes = found.iter().filter_map(|(_, found)| Some(found.as_ref().ok()?.text().len())).sum();
        self.step = next_step(bytes, found.len());
        let texts: Vec<&str> = found.iter().filter_map(|(_, f)| Some(f.as_ref().ok()?.arguments())).collect();
        let mut evaluations = self.editor.evaluate(&texts).await?.into_iter();
        let (mut outcomes, mut changed) = (HashMap::new(), Vec::new());
        for (id, found) in found {
            let document = match found {
                Ok(document) => document,
                Err(why) => {
                    outcomes.insert(id, Outcome::Failed(why));
                    continue;
                }
            };
            let evaluation = evaluations.next().unwrap_or_else(|| Evaluation::Failed("not evaluated".to_owned()));
            match repaired(document.arguments(), evaluation, &desk.redactor) {
                RepairedArguments::Unchanged => drop(outcomes.insert(id, Outcome::Unchanged)),
                RepairedArguments::Failed(why) => drop(outcomes.insert(id, Outcome::Failed(why.into_exact()))),
                RepairedArguments::Changed { text, changes } => changed.push((id, document, text, changes)),
            }
        }
        self.store_forms(editor, changed, budget, &mut outcomes).await?;
        Ok(outcomes)
    }

    /// Asks how the changed arguments will be kept: what was written is known by that later.
    async fn store_forms(
        &mut self,
        editor: &dyn EditArguments,
        mut changed: Vec<(JobId, ArgumentsDocument, String, Vec<ArgumentChange>)>,
        budget: &Budget,
        outcomes: &mut HashMap<JobId, Outcome>,
    ) -> Result<(), PlanEditError> {
        let texts: Vec<String> =
            changed.iter_mut().map(|(_, document, text, _)| document.with_arguments(&take(text))).collect();
        let forms = editor.stored_forms(&texts, budget).await?;
        for ((id, document, _, changes), form) in changed.into_iter().zip(forms) {
            let outcome = match form {
                // The server's words may quote what it was given.
                Err(_) => Outcome::Failed("the column cannot hold the result".to_owned()),
                Ok(form) if form == document.text() => Outcome::Unchanged,
                Ok(edited) => Outcome::Changed(document.edit(&id, edited), changes),
            };
            outcomes.insert(id, outcome);
        }
        Ok(())
    }

    /// Counts a job, and returns what is written of it.
    fn count(&mut self, id: &JobId, outcome: Option<Outcome>) -> Option<ArgumentsEdit> {
        let gone = || Outcome::Failed("the job is gone".to_owned());
        match outcome.unwrap_or_else(gone) {
            Outcome::Unchanged => self.preview.add(id, &RepairedArguments::Unchanged),
            Outcome::Failed(why) => self.preview.add(id, &RepairedArguments::Failed(why.as_str().into())),
            Outcome::Changed(edit, changes) => {
                let arguments = RepairedArguments::Changed { text: String::new(), changes };
                self.preview.add(id, &arguments);
                if let RepairedArguments::Changed { changes, .. } = arguments
                    && self.told.len() < self.examples
                    && self.told_changes < EXAMPLE_CHANGES
                {
                    self.told_changes += changes.len();
                    self.told.push((id.clone(), changes));
                }
                return Some(edit);
            }
        }
        None
    }

    /// What came of all jobs.
    pub(in crate::triage) fn report(self) -> RepairReport {
        RepairReport {
            jobs: self.jobs,
            changed: self.preview.changed(),
            groups: self.preview.groups(),
            examples: self.told,
        }
    }
}

/// Why nothing can be computed.
#[derive(Debug, thiserror::Error)]
pub(in crate::triage) enum PlanEditError {
    /// The source failed.
    #[error(transparent)]
    Store(#[from] SourceError),
    /// The expression cannot be evaluated.
    #[error(transparent)]
    Evaluator(#[from] EvaluatorError),
}
