//! Ids of runs: typed by humans, sorted by time.

use crate::domain::time::Timestamp;

/// Digits in the order of their bytes, without those that are taken for one another.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Ids that one second has room for: three digits.
const SLOTS: i64 = 32 * 32 * 32;

/// The `nth` candidate for a run frozen at `at`: `r-20261120-031209-7kq`. The last part is the fraction of the second,
/// so that ids sort by time and two operators who keep ledgers of their own hardly ever meet.
pub(in crate::ledger) fn candidate(at: Timestamp, nth: i64) -> String {
    let slot = (at.0.rem_euclid(1_000_000) * SLOTS / 1_000_000 + nth).rem_euclid(SLOTS);
    let digit = |shift: u32| char::from(DIGITS[((slot >> shift) & 31) as usize]);
    let second = match at.calendar() {
        Some(calendar) => calendar.format("%Y%m%d-%H%M%S").to_string(),
        None => at.0.div_euclid(1_000_000).to_string(),
    };
    format!("r-{second}-{}{}{}", digit(10), digit(5), digit(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_within_a_second_too() {
        let at = |micros: i64| candidate(Timestamp(1_795_144_329_000_000 + micros), 0);
        assert_eq!(at(0), "r-20261120-031209-000");
        let ids = [at(0), at(40), at(1_000), at(500_000), at(999_999), at(1_000_000)];
        assert!(ids.windows(2).all(|w| w[0] < w[1]), "{ids:?}");
    }

    #[test]
    fn any_instant_has_an_id() {
        for micros in [i64::MIN, -1, 0, i64::MAX] {
            assert!(candidate(Timestamp(micros), i64::MAX / 2).starts_with("r-"));
        }
    }
}
