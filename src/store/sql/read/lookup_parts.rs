//! Jobs of one lookup, cut so that what is sent for each part fits what the database takes at once.

use futures_util::future::BoxFuture;

use crate::domain::job::JobId;
use crate::store::Result;
use crate::store::sql::SqlStore;

impl SqlStore {
    /// Looks jobs up by their ids alone, a part at a time.
    pub(crate) async fn in_parts<'a, T>(
        &self,
        ids: &'a [JobId],
        look_up: impl Fn(&'a [JobId]) -> BoxFuture<'a, Result<Vec<T>>>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        for part in self.parts(ids, |id| json_bytes(id.as_str())) {
            found.extend(look_up(part).await?);
        }
        Ok(found)
    }

    /// Cuts jobs into parts, each with as many as fit by what `weigh` says of them; at least one, which may be too large alone.
    pub(crate) fn parts<'a, T>(&self, jobs: &'a [T], weigh: impl Fn(&T) -> usize) -> Vec<&'a [T]> {
        cut(jobs, self.engine.room(), weigh)
    }
}

fn cut<T>(jobs: &[T], room: usize, weigh: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut parts = Vec::new();
    let (mut from, mut bytes) = (0, 0_usize);
    for (to, job) in jobs.iter().enumerate() {
        let weight = weigh(job);
        if to > from && bytes.saturating_add(weight) > room {
            parts.push(&jobs[from..to]);
            (from, bytes) = (to, 0);
        }
        bytes = bytes.saturating_add(weight);
    }
    if from < jobs.len() {
        parts.push(&jobs[from..]);
    }
    parts
}

/// Bytes of a text written as a JSON string, and what stands around it in a list.
pub(crate) fn json_bytes(text: &str) -> usize {
    let of = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\t' | b'\r' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(of).sum::<usize>() + 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_what_fits_and_at_least_one() {
        let cut = |weights: &[usize], room| -> Vec<Vec<usize>> {
            cut(weights, room, |weight| *weight).into_iter().map(<[usize]>::to_vec).collect()
        };
        assert_eq!(cut(&[3, 3, 3], 6), [vec![3, 3], vec![3]]);
        assert_eq!(cut(&[1, 9, 1, 1], 4), [vec![1], vec![9], vec![1, 1]]);
        assert_eq!(cut(&[9], 0), [vec![9]]);
        assert!(cut(&[], 4).is_empty());
    }

    #[test]
    fn json_bytes_of_a_text_is_what_serde_writes() {
        for text in ["", "plain é", r#"{"a":"\\"}"#, "line\n\u{1}"] {
            let written = serde_json::to_string(text).expect("a text").len();
            assert_eq!(json_bytes(text), written - 2 + 8, "{text}");
        }
    }
}
