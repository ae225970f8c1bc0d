//! Jobs of one lookup, cut so that what is sent for each part fits what the database takes at once.

/// Cuts jobs into parts, each of `room` bytes at the most by what `weigh` says of them; at least one job, which may be too
/// large alone.
pub(crate) fn cut<T>(jobs: &[T], room: usize, weigh: impl Fn(&T) -> usize) -> Vec<&[T]> {
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
