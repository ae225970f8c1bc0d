//! Exact comparison of decimal texts of any length, without floating point.

use std::cmp::Ordering;

/// A decimal number: ±0.d₁d₂d₃… × 10^exponent, without zeros at either end of the digits; zero has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i128,
}

impl Decimal {
    /// Reads `-12`, `0.50` or `1e-7`, as JSON writes numbers, and forgives leading zeros; anything else is no number.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, power) = match rest.find(['e', 'E']) {
            Some(at) => (&rest[..at], power(&rest[at + 1..])?),
            None => (rest, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (mantissa, ""),
        };
        let digits = || whole.bytes().chain(fraction.bytes());
        if whole.is_empty() || !digits().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let leading = digits().take_while(|digit| *digit == b'0').count();
        let mut digits: Vec<u8> = digits().skip(leading).collect();
        digits.truncate(digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1));
        if digits.is_empty() {
            return Some(Decimal { negative: false, digits, exponent: 0 });
        }
        // Lengths of texts in memory fit; only the power may be so large that its exact value no longer matters.
        let point = whole.len() as i128 - leading as i128;
        Some(Decimal { negative, digits, exponent: power.saturating_add(point) })
    }

    fn magnitude(&self, other: &Decimal) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude(other),
            (true, true) => other.magnitude(self),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The power of ten, held at the ends of a range that no text reaches honestly.
fn power(text: &str) -> Option<i128> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse::<i128>().unwrap_or(i128::MAX / 2).min(i128::MAX / 2);
    Some(if negative { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn order(a: &str, b: &str) -> Option<Ordering> {
        Some(Decimal::parse(a)?.cmp(&Decimal::parse(b)?))
    }

    #[test]
    fn numbers_compare_by_value_and_not_by_spelling() {
        for (a, b) in
            [("1", "1.0"), ("0", "-0.00e9"), ("1e3", "1000"), ("0.001", "1E-3"), ("007", "7"), ("120e-1", "12")]
        {
            assert_eq!(order(a, b), Some(Ordering::Equal), "{a} {b}");
        }
        for (less, more) in [
            ("9007199254740992", "9007199254740993"),
            ("0.1", "0.10000000000000000000000000000000000001"),
            ("-2", "-1"),
            ("-1e400", "1e-400"),
            ("0", "1e-999999999999999999999999999999999999999999"),
            ("9", "1e99999999999999999999999999999999999999999999"),
            ("1e20", "1e99999999999999999999999999999999999999999999"),
            ("99", "100"),
        ] {
            assert_eq!(order(less, more), Some(Ordering::Less), "{less} {more}");
            assert_eq!(order(more, less), Some(Ordering::Greater), "{less} {more}");
        }
    }

    #[test]
    fn what_json_does_not_write_is_no_number() {
        for text in
            ["", "-", "+1", ".5", "1.", "1e", "1e+", "1,5", "0x1", "NaN", " 1", "1 ", "١", "--1", "1.2.3", "1.-2"]
        {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn whole_numbers_order_as_they_do(a: i128, b: i128) {
            prop_assert_eq!(order(&a.to_string(), &b.to_string()), Some(a.cmp(&b)));
        }

        #[test]
        fn fractions_order_as_their_scaled_numbers(a in -99_999_i64..99_999, b in -99_999_i64..99_999) {
            let scaled = |n: i64| format!("{}{}.{:03}", if n < 0 { "-" } else { "" }, n.abs() / 1000, n.abs() % 1000);
            prop_assert_eq!(order(&scaled(a), &scaled(b)), Some(a.cmp(&b)));
            prop_assert_eq!(order(&format!("{a}e-3"), &scaled(b)), Some(a.cmp(&b)));
        }
    }
}
