//! The jobs of the bar under the cursor, shown in the list while the keys go to the bars.

use std::time::Duration;

use super::histogram::BarValue;
use crate::domain::filter::Filter;
use crate::domain::time::Timestamp;

/// How long the cursor rests on a bar before its jobs are read: who passes by asks for nothing.
pub const REST: Duration = Duration::from_millis(150);

/// What the list shows instead of the jobs of the filter in force.
#[derive(Debug, Default)]
pub struct Preview {
    /// When the jobs of the bar under the cursor are read, where it has moved.
    pub due: Option<Timestamp>,
    /// What is shown.
    pub shown: Option<ShownBar>,
    /// When they were asked for again because something has changed.
    pub asked: Option<Timestamp>,
    /// What that cost.
    pub cost: Duration,
}

/// A bar whose jobs are shown.
#[derive(Debug)]
pub struct ShownBar {
    /// What the bar stands for.
    pub value: BarValue,
    /// The filter in force, narrowed to the bar, as written.
    pub written: Filter,
    /// The same with its times resolved.
    pub resolved: Filter,
}
