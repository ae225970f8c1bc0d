//! Which columns of the list say more than one thing: those that say the same of every row leave their room to the message.

use crate::domain::text::Untrusted;
use crate::store::Entry;

/// What the rows have in common that were read since the list was begun. A column that has said two things stays, so that
/// nothing comes and goes while one scrolls.
#[derive(Debug, Default)]
pub struct Varied {
    first: Option<ColumnValues>,
    differ: [bool; 4],
}

#[derive(Debug, Clone, PartialEq)]
struct ColumnValues {
    error: Option<Untrusted>,
    class: Option<Untrusted>,
    queue: Option<Untrusted>,
    attempts: (Option<i64>, Option<i64>),
}

/// A column that may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionalColumn {
    /// The error class.
    Error,
    /// The job class.
    Class,
    /// The queue.
    Queue,
    /// Attempts made, of how many.
    Attempts,
}

impl Varied {
    /// Takes in rows that were read.
    pub fn learn<'e>(&mut self, entries: impl IntoIterator<Item = &'e Entry>) {
        for Entry { row, .. } in entries {
            let Some(first) = &self.first else {
                self.first = Some(ColumnValues {
                    error: row.error_class.clone(),
                    class: row.job_class.clone(),
                    queue: row.queue.clone(),
                    attempts: (row.attempts, row.max_attempts),
                });
                continue;
            };
            self.differ[OptionalColumn::Error as usize] |= first.error != row.error_class;
            self.differ[OptionalColumn::Class as usize] |= first.class != row.job_class;
            self.differ[OptionalColumn::Queue as usize] |= first.queue != row.queue;
            self.differ[OptionalColumn::Attempts as usize] |= first.attempts != (row.attempts, row.max_attempts);
        }
    }

    /// Whether a column has said the same of every row.
    pub fn is_same(&self, column: OptionalColumn) -> bool {
        !self.differ[column as usize]
    }
}
