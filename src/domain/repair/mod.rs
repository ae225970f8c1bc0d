//! Repair: what an expression makes of the arguments of jobs, and how that is told.

mod change;
mod document;
mod expression;
mod preview;

pub use change::{ArgumentChange, RepairedArguments, ShownValue, repaired};
pub use document::{ArgumentsDocument, ArgumentsEdit};
pub use expression::{Evaluation, Expression, ExpressionError};
pub use preview::{ChangeShape, RepairGroup, RepairPreview};
