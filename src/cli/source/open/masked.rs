//! What an open store shows, with what looks like a secret masked.

use super::OpenedStore;
use crate::domain::histogram::Histogram;
use crate::domain::job::{JobDetail, JobRow};
use crate::domain::text::Untrusted;

impl OpenedStore {
    /// The row with what looks like a secret masked.
    pub fn masked(&self, row: JobRow) -> JobRow {
        self.masker.row(row)
    }

    /// The job with what looks like a secret masked.
    pub fn masked_detail(&self, detail: JobDetail) -> JobDetail {
        // Where a secret stands in what the arguments were read from, only their readable form tells.
        let hides = self.masker.redactor().hides_arguments(&detail);
        let arguments = self.masker.redactor().arguments(&detail).map(|text| Untrusted::new(text.into_owned()));
        let sealed_lineage = detail.undecodable && !self.masker.redactor().reveals();
        let sealed: Vec<String> = if hides { detail.decoded_from.clone() } else { Vec::new() };
        let metadata = |(name, value): (String, Option<Untrusted>)| {
            let secret = self.masker.redactor().is_secret_name(&name) && !self.masker.redactor().reveals();
            let value = match value {
                Some(_) if secret || sealed.contains(&name) => Some(Untrusted::from(crate::domain::redact::REDACTED)),
                value => value.map(|v| self.payload(v)),
            };
            (name, value)
        };
        JobDetail {
            message: detail.message.map(|m| self.prose(m)),
            arguments,
            undecodable: detail.undecodable,
            backtrace: detail.backtrace.map(|b| self.payload(b)),
            // Of a layout without ids of its own it is the payload.
            lineage: detail.lineage.filter(|_| !sealed_lineage).map(|l| self.payload(l)),
            metadata: detail.metadata.into_iter().map(metadata).collect(),
            decoded_from: detail.decoded_from,
            row: self.masked(detail.row),
        }
    }

    /// The histogram with what looks like a secret masked in its values: reasons are prose.
    pub fn masked_histogram(&self, histogram: Histogram) -> Histogram {
        self.masker.histogram(histogram)
    }

    /// A text with what looks like a secret masked.
    pub fn prose(&self, text: Untrusted) -> Untrusted {
        self.masker.text(text)
    }

    fn payload(&self, text: Untrusted) -> Untrusted {
        Untrusted::new(self.masker.redactor().text(text.exact()))
    }
}
