//! The filter in force, as written and as resolved, and those before it.

use crate::domain::filter::Filter;
use crate::domain::time::Timestamp;

/// Filters that are remembered.
const REMEMBERED: usize = 100;

/// The filter in force.
#[derive(Debug, Default)]
pub struct FilterState {
    /// As written.
    pub written: Filter,
    /// With its times resolved when it came into force.
    pub resolved: Filter,
    /// Earlier filters as written, latest last.
    pub history: Vec<String>,
    /// Filters that Esc goes back to, latest last.
    pub wider: Vec<Filter>,
}

impl FilterState {
    /// Puts a filter in force at `now`, by the database's clock.
    pub fn set(&mut self, filter: Filter, now: Timestamp) {
        if filter == self.written && !self.resolved.is_all() {
            self.resolved = filter.resolve(now);
            return;
        }
        let text = filter.to_string();
        self.history.retain(|h| *h != text);
        if !text.is_empty() {
            self.history.push(text);
        }
        if self.history.len() > REMEMBERED {
            self.history.remove(0);
        }
        self.resolved = filter.resolve(now);
        self.written = filter;
    }

    /// Puts a narrower filter in force; Esc goes back.
    pub fn narrow(&mut self, filter: Filter, now: Timestamp) {
        let before = self.written.clone();
        self.set(filter, now);
        if self.written != before {
            self.wider.push(before);
        }
    }

    /// The filter that Esc goes back to.
    pub fn widen(&mut self) -> Option<Filter> {
        match self.wider.pop() {
            Some(filter) => Some(filter),
            None if self.written.is_all() => None,
            None => Some(Filter::all()),
        }
    }
}
