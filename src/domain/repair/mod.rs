//! Repair: what an expression makes of the arguments of jobs.

mod expression;

pub use expression::{Evaluation, Expression, ExpressionError};
