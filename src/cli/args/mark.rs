//! What `mark` takes.

use clap::Args;

use super::OutputArg;
use crate::domain::mark::{MarkName, MarkNameError, SIGN};

/// `mark`.
#[derive(Args, Debug)]
pub struct MarkArgs {
    /// The name, such as v2.3.1: letters, digits, `.`, `-`, `_` and `/`. Without one the marks are listed.
    #[arg(value_parser = MarkName::parse)]
    pub name: Option<MarkName>,
    /// The moment: `2026-11-20T03:12:09Z`, or `10m` for ten minutes ago; now without it, by the clock of the source.
    #[arg(long, value_name = "TIME", requires = "name", conflicts_with = "remove")]
    pub at: Option<String>,
    /// Moves a mark of that name that is there already.
    #[arg(long, requires = "name", conflicts_with = "remove")]
    pub force: bool,
    /// Removes the mark.
    #[arg(long, requires = "name")]
    pub remove: bool,
    /// The form of the answer.
    #[command(flatten)]
    pub output: OutputArg,
}

/// The name of a mark, as filters or as `mark` write it.
pub(super) fn mark_name(text: &str) -> Result<MarkName, MarkNameError> {
    MarkName::parse(text.strip_prefix(SIGN).unwrap_or(text))
}
