//! Repair: new arguments of jobs, from an editor or from an expression that a child process of this program evaluates.

mod evaluator;
mod plan;
mod preview;
mod protocol;
mod run_edits;
mod stored_arguments;
mod worker;

pub use evaluator::{Evaluator, EvaluatorError, EvaluatorOptions};
pub use plan::{EDITED, EditRequest, EditSource};
pub(in crate::triage) use plan::{EditPlanner, PlanEditError};
pub use preview::{RepairError, RepairQuery, RepairReport, preview};
pub use protocol::EvaluationLimits;
pub(in crate::triage) use run_edits::RunEdits;
pub use stored_arguments::stored_arguments;
pub use worker::{WORKER_ARGUMENT, work};
