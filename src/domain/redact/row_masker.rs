//! Rows and counts with their secrets replaced: the one place that says which of their texts may hold any.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::Redactor;
use crate::domain::histogram::Histogram;
use crate::domain::job::JobRow;
use crate::domain::text::Untrusted;

/// Values that are remembered at a time, and the longest of them in bytes.
const KNOWN: usize = 2_000;
const SHORT: usize = 400;

impl Redactor {
    /// A text of a job's with what looks like a secret replaced.
    pub fn untrusted(&self, text: Untrusted) -> Untrusted {
        match self.prose(text.exact()) {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => Untrusted::new(masked),
        }
    }

    /// A row with what looks like a secret replaced in each of its texts.
    ///
    /// In all of them: where a layout keeps no class of its own, the class is the message, and what a queue or a worker
    /// is called is nobody's promise. The id stays, by which the job is found.
    pub fn row(&self, row: JobRow) -> JobRow {
        texts(row, |text| self.untrusted(text))
    }
}

/// The row with all its texts but the id as `masked` says.
fn texts(row: JobRow, mut masked: impl FnMut(Untrusted) -> Untrusted) -> JobRow {
    // By name, each: a column that is new has to be thought of here.
    let JobRow {
        id,
        at,
        state,
        native_state,
        error_class,
        message,
        job_class,
        queue,
        worker,
        reason,
        attempts,
        max_attempts,
    } = row;
    JobRow {
        id,
        at,
        state,
        native_state: masked(native_state),
        error_class: error_class.map(&mut masked),
        message: message.map(&mut masked),
        job_class: job_class.map(&mut masked),
        queue: queue.map(&mut masked),
        worker: worker.map(&mut masked),
        reason: reason.map(&mut masked),
        attempts,
        max_attempts,
    }
}

/// Replaces secrets in many rows. Most of their texts come again and again, and are searched once.
#[derive(Debug)]
pub struct Masker {
    redactor: Arc<Redactor>,
    /// Short texts that were met, with what they are where that is something else.
    known: Mutex<HashMap<Untrusted, Option<Untrusted>>>,
}

impl Masker {
    /// One that goes by `redactor`.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, known: Mutex::default() }
    }

    /// What it goes by.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// As [`Redactor::row`].
    pub fn row(&self, row: JobRow) -> JobRow {
        if self.redactor.reveals() { row } else { texts(row, |text| self.text(text)) }
    }

    /// The counts with what looks like a secret replaced in their values.
    pub fn histogram(&self, mut histogram: Histogram) -> Histogram {
        for bar in &mut histogram.bars {
            bar.value = bar.value.take().map(|value| self.text(value));
            bar.example = bar.example.take().map(|example| self.text(example));
        }
        histogram
    }

    /// A text with what looks like a secret replaced.
    pub fn text(&self, text: Untrusted) -> Untrusted {
        if text.exact().len() > SHORT {
            return self.redactor.untrusted(text);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(&text) {
            Some(None) => return text,
            Some(Some(masked)) => return masked.clone(),
            None => {}
        }
        if known.len() >= KNOWN {
            known.clear();
        }
        let masked = match self.redactor.prose(text.exact()) {
            Cow::Borrowed(_) => None,
            Cow::Owned(masked) => Some(Untrusted::new(masked)),
        };
        known.insert(text.clone(), masked.clone());
        masked.unwrap_or(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::job::{JobId, State};

    fn row() -> JobRow {
        let text = |name: &str| Some(Untrusted::new(format!("{name} password=hunter2")));
        JobRow {
            id: JobId::new("password=kept"),
            at: None,
            state: State::Dead,
            native_state: "failed password=hunter2".into(),
            error_class: text("class"),
            message: text("message"),
            job_class: text("job"),
            queue: text("queue"),
            worker: text("worker"),
            reason: text("reason"),
            attempts: Some(1),
            max_attempts: None,
        }
    }

    #[test]
    fn no_text_of_a_row_shows_a_secret_and_its_id_finds_it() {
        let masker = Masker::new(Arc::default());
        for masked in [Redactor::default().row(row()), masker.row(row()), masker.row(row())] {
            assert!(!format!("{masked:?}").contains("hunter2"), "{masked:?}");
            assert_eq!(masked.id.as_str(), "password=kept");
            assert_eq!(masked.error_class, Some("class password=[redacted]".into()));
        }
        let revealing = Masker::new(Arc::new(Redactor::default().revealing(true)));
        assert_eq!(revealing.row(row()), row());
    }

    #[test]
    fn what_is_remembered_is_bounded_and_long_texts_are_masked_too() {
        let masker = Masker::new(Arc::default());
        for n in 0..KNOWN * 2 + 1 {
            masker.text(Untrusted::new(format!("Error {n}")));
        }
        assert!(masker.known.lock().expect("free").len() <= KNOWN);
        let long = Untrusted::new(format!("{} token=hunter2", "x".repeat(SHORT)));
        assert!(!masker.text(long).exact().contains("hunter2"));
    }
}
