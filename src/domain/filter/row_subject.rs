//! A listed job as filters read it, for every store that tests filters in memory.

use std::borrow::Cow;

use super::{Key, Subject};
use crate::domain::job::{JobRow, State};
use crate::domain::json::{self, NodeKind};
use crate::domain::time::Timestamp;

/// A listed job, with what a list does not carry of it.
#[derive(Clone, Copy, Debug)]
pub struct RowSubject<'a> {
    /// The job.
    pub row: &'a JobRow,
    /// The whole message, where it was read; else the row has its head.
    pub message: Option<&'a str>,
    /// The arguments, where they were read.
    pub arguments: Option<&'a str>,
}

impl Subject for RowSubject<'_> {
    fn text(&self, key: &Key) -> Option<Cow<'_, str>> {
        match (key, self.message) {
            (Key::Message, Some(whole)) => Some(Cow::Borrowed(whole)),
            (Key::Message, None) => self.row.message.as_ref().map(|head| Cow::Borrowed(head.exact())),
            (Key::Native, _) => Some(Cow::Borrowed(self.row.native_state.exact())),
            (Key::Id, _) => Some(Cow::Borrowed(self.row.id.as_str())),
            // These are no texts.
            (Key::State | Key::At, _) => None,
            // What jobs can be counted by, they can be found by.
            (key, _) => {
                let value = key.facet().and_then(|facet| facet.value_of(self.row))?;
                Some(Cow::Owned(value.exact().to_owned()))
            }
        }
    }

    fn number(&self, key: &Key) -> Option<i64> {
        if *key == Key::Attempts { self.row.attempts } else { None }
    }

    fn time(&self, _key: &Key) -> Option<Timestamp> {
        self.row.at
    }

    fn state(&self) -> State {
        self.row.state
    }

    fn arguments(&self) -> Option<Cow<'_, str>> {
        self.arguments.map(Cow::Borrowed)
    }

    fn argument_values(&self, path: &[String]) -> Vec<Cow<'_, str>> {
        let scalars = json::lookup(self.arguments.unwrap_or_default(), path).into_iter();
        scalars.filter(|scalar| scalar.kind != NodeKind::Null).map(|scalar| Cow::Owned(scalar.text)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::facet::Facet;
    use crate::domain::filter::Filter;
    use crate::domain::job::JobId;

    #[test]
    fn a_job_is_found_by_every_value_that_it_is_counted_by() {
        let row = JobRow {
            id: JobId::new("7"),
            at: Some(Timestamp(1_795_144_329_000_000)),
            state: State::Dead,
            native_state: "failed".into(),
            error_class: Some("Net::ReadTimeout".into()),
            message: Some("no answer".into()),
            job_class: Some("MailJob".into()),
            queue: Some("low".into()),
            worker: Some("web-1".into()),
            reason: Some("timeout".into()),
            attempts: Some(5),
            max_attempts: None,
        };
        let other = JobRow {
            at: Some(Timestamp(0)),
            state: State::Ignored,
            native_state: row.native_state.clone(),
            attempts: row.attempts,
            ..JobRow::bare("7")
        };
        for facet in Facet::ALL {
            let value = facet.value_of(&row).expect("a value");
            let filter = Filter::all().with(&Key::of_facet(facet), Some(value.exact()), false);
            let filter = filter.or_else(|_| Filter::parse(&format!("{facet}:{}", value.exact()))).expect("a filter");
            let compiled = filter.compile(Timestamp(0));
            let passes = |row| compiled.matches(&RowSubject { row, message: None, arguments: None });
            assert_eq!((passes(&row), passes(&other)), (true, false), "{filter}");
        }
    }
}
