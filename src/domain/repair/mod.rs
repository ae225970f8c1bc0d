//! Repair: what an expression or an editor makes of the arguments of jobs, and how that is told.

mod change;
mod document;
mod editor_text;
mod expression;
mod preview;

pub use change::{ArgumentChange, RepairedArguments, ShownValue, repaired};
pub use document::{ArgumentsDocument, ArgumentsEdit};
pub use editor_text::{EditError, EditableArguments, EditedArguments};
pub use expression::{Evaluation, Expression, ExpressionError};
pub use preview::{ChangeShape, RepairGroup, RepairPreview};
