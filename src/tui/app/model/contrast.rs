//! What jobs have in common that others have not, as a page with a cursor.

use crate::domain::filter::Filter;
use crate::triage::contrast::{Comparison, DifferenceLine};

/// A comparison of the jobs of a filter with others.
#[derive(Debug, Default)]
pub struct ContrastPage {
    /// The jobs that are compared, as the filter is written.
    pub chosen: Filter,
    /// Jobs read so far, while some are being read.
    pub reading: Option<u64>,
    /// What came of it: of a sample first, of all jobs where that was asked for.
    pub found: Option<Comparison>,
    /// Whether all jobs are counted.
    pub counts_all: bool,
    /// Index of the cursor.
    pub at: usize,
}

impl ContrastPage {
    /// The line at the cursor.
    pub fn current(&self) -> Option<&DifferenceLine> {
        self.found.as_ref()?.lines.get(self.at)
    }

    /// Takes in what was found; the cursor stays on what it says.
    pub fn take(&mut self, found: Comparison) {
        let here = self.current().map(|line| line.attributes.clone());
        let same = |line: &DifferenceLine| Some(&line.attributes) == here.as_ref();
        self.at = found.lines.iter().position(same).unwrap_or(0);
        (self.found, self.reading) = (Some(found), None);
    }
}
