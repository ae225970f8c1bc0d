//! Repair: evaluating an expression over the arguments of jobs, in a child process of this program.

mod evaluator;
mod plan;
mod preview;
mod protocol;
mod run_edits;
mod worker;

pub use evaluator::{Evaluator, EvaluatorError, EvaluatorOptions};
pub use plan::EditRequest;
pub(in crate::triage) use plan::{EditPlanner, PlanEditError};
pub use preview::{RepairError, RepairQuery, RepairReport, preview};
pub use protocol::EvaluationLimits;
pub(in crate::triage) use run_edits::RunEdits;
pub use worker::{WORKER_ARGUMENT, work};
