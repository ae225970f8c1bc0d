//! Repair: evaluating an expression over the arguments of jobs, in a child process of this program.

mod evaluator;
mod preview;
mod protocol;
mod worker;

pub use evaluator::{Evaluator, EvaluatorError, EvaluatorOptions};
pub use preview::{RepairError, RepairQuery, RepairReport, preview};
pub use protocol::EvaluationLimits;
pub use worker::{WORKER_ARGUMENT, work};
