//! What is expected of rows that may lie far apart in the order of time, and how they are read then.

use crate::domain::time::Timestamp;

/// So few rows are read at once, wherever they lie.
const FEW: u64 = 150;
/// Rows that are read in order for a page at which somebody looks: some 150 blocks.
const IN_ORDER: u64 = 900;
/// Blocks of indexes that are gone through for one, and entries in each, more or less.
const BLOCKS: u64 = 110;
const ENTRIES: u64 = 1_000;
/// Rows that one statement looks at where nobody looks at the page: they are through in a moment.
pub(crate) const MOST: u64 = 1_000_000;
/// How many entries of an index are gone through for the cost of one row that is read in order.
const CHEAPER: u64 = 10;
/// Spans are longer than what is wanted takes by a quarter: one that falls short costs a statement.
const AMPLE: f64 = 1.25;
/// By how much a span is longer than the one before that held nothing, and shorter than one that held far too much.
const LONGER: f64 = 2.0;
const SHORTER: f64 = 8.0;
const LONGEST: f64 = 1e6;

/// What is expected of a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RangeEstimate {
    /// Rows that pass.
    passing: u64,
    /// Rows of the time that is asked for, of whatever value.
    among: u64,
    /// Microseconds from one that passes to the next.
    apart: f64,
    /// By how much spans are longer than that makes them, behind some that held nothing.
    pub(crate) gap: f64,
    /// Whether it is known that more lies behind the gap than is read at once.
    pub(crate) is_much: bool,
    /// The newest and the oldest place on the axis.
    pub(crate) ends: (i64, i64),
    /// Whether the last span held too much: where the axis ends says nothing then.
    is_crowded: bool,
}

/// How rows are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RangeMethod {
    /// Along the order, so many at a time.
    InOrder(usize),
    /// By spans, of so many rows at the most.
    Spans(u64),
}

impl RangeEstimate {
    /// By the planner alone.
    pub(crate) fn planned(passing: u64, among: u64, ends: (i64, i64)) -> Self {
        let apart = ends.0.saturating_sub(ends.1).max(1) as f64 / passing.max(1) as f64;
        Self { passing, among, apart, gap: 1.0, is_much: false, ends, is_crowded: false }
    }

    /// The way to `wanted` rows; nobody looks at them where it `is_whole`.
    pub(crate) fn range_method(&self, wanted: usize, is_whole: bool) -> RangeMethod {
        let between = self.among.saturating_mul(wanted as u64) / self.passing.max(1);
        // Where the planner would read along the time, it would read all of the span.
        let is_cheaper = between.saturating_mul(CHEAPER) > self.passing;
        let room = BLOCKS.saturating_sub(self.passing / ENTRIES).saturating_mul(ENTRIES);
        let most = if is_whole { MOST } else { room };
        // A span of half a row would be no better.
        let is_room = is_whole || room.saturating_mul(self.passing) >= self.among;
        match self.passing <= FEW || (is_cheaper && most > 0 && is_room) {
            true => RangeMethod::Spans(most),
            false if is_whole => RangeMethod::InOrder(wanted),
            false => {
                let rows = IN_ORDER.saturating_mul(self.passing) / self.among.max(1);
                RangeMethod::InOrder(usize::try_from(rows).unwrap_or(wanted).clamp(1, wanted.max(1)))
            }
        }
    }

    /// The same, once a span of time (microseconds) held so many rows. What was found behind a gap tells little of how far apart
    /// they are there.
    pub(crate) fn after(self, span: f64, held: u64) -> Self {
        let (apart, gap) = match held {
            0 => (self.apart, (self.gap * LONGER).min(LONGEST)),
            held => ((span / held as f64).min(self.apart * LONGER), 1.0),
        };
        Self { apart: apart.max(1.0), gap, is_much: self.is_much && held == 0, is_crowded: false, ..self }
    }

    /// The same, once a span (microseconds) for so many rows held far more.
    pub(crate) fn denser(self, span: f64, wanted: usize) -> Self {
        let apart = (span / (wanted.max(1) as f64 * AMPLE) / SHORTER).max(1.0);
        // They are not so few that they are all read at once.
        Self { passing: self.passing.max(FEW + 1), apart, gap: 1.0, is_crowded: true, ..self }
    }
}

/// A stretch of the time axis from a place on.
pub(crate) struct Span {
    /// Where it ends; nowhere where it takes in the rest.
    pub(crate) until: Option<Timestamp>,
    pub(crate) micros: f64,
}

impl Span {
    /// The one that is expected to hold so many rows that pass, of `most` rows at the most, from a place on the axis.
    pub(crate) fn holding(wanted: usize, most: u64, outlook: &RangeEstimate, here: i64, descending: bool) -> Self {
        let (newest, oldest) = outlook.ends;
        let a_row = newest.saturating_sub(oldest).max(1) as f64 / outlook.among.max(1) as f64;
        let micros = (outlook.apart * outlook.gap * wanted as f64 * AMPLE).min(a_row * most as f64);
        // Truncation is fine: the figure is a guess.
        let length = micros as i64;
        let until = if descending { here.saturating_sub(length) } else { here.saturating_add(length) };
        let is_last = if descending { until <= oldest } else { until >= newest };
        let is_rest = (outlook.passing <= FEW || is_last) && !outlook.is_crowded;
        Self { until: (!is_rest).then_some(Timestamp(until)), micros }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;

    fn of_ten_million(passing: u64) -> RangeEstimate {
        RangeEstimate::planned(passing, 10_000_000, (100 * HOUR, 0))
    }

    fn span_of(outlook: &RangeEstimate) -> f64 {
        Span::holding(25, 140_000, outlook, 50 * HOUR, true).micros
    }

    #[test]
    fn a_page_touches_few_blocks_whichever_way_it_is_read() {
        let way = |passing| of_ten_million(passing).range_method(25, false);
        assert_eq!(way(150_000), RangeMethod::InOrder(13), "one in 67: some 150 blocks of the table");
        assert_eq!(way(109_000), RangeMethod::InOrder(9));
        assert_eq!(way(37_000), RangeMethod::Spans(73_000), "37 blocks of one index, up to 73 of the other");
        assert_eq!(way(2_000), RangeMethod::Spans(108_000));
        assert_eq!(way(37), RangeMethod::Spans(110_000));
        // Ten times as many rows, and entries that are no longer gone through for a page.
        let large = RangeEstimate { among: 1_000_000_000, ..of_ten_million(5_000_000) };
        assert_eq!(large.range_method(25, false), RangeMethod::InOrder(4));
        // Whoever wants them all is given as many as he asks for.
        assert_eq!(of_ten_million(109_000).range_method(2_000, true), RangeMethod::Spans(MOST));
        assert_eq!(of_ten_million(160_000).range_method(25, true), RangeMethod::InOrder(25));
    }

    #[test]
    fn a_span_is_as_long_as_what_is_wanted_takes_and_learns_from_what_it_held() {
        let outlook = of_ten_million(10_000);
        let span = Span::holding(25, 140_000, &outlook, 100 * HOUR, true);
        assert_eq!(span.until, Some(Timestamp(100 * HOUR - HOUR * 25 / 80)), "a quarter more than a fourth of an hour");
        let span = Span::holding(25, 10_000, &outlook, 50 * HOUR, false);
        assert_eq!(span.until, Some(Timestamp(50 * HOUR + HOUR / 10)), "no more rows than that");
        assert_eq!(Span::holding(25, 140_000, &outlook, HOUR / 5, true).until, None, "the rest");
        assert_eq!(Span::holding(25, 140_000, &of_ten_million(100), 100 * HOUR, true).until, None, "all of them");
        assert_eq!(outlook.after(HOUR as f64, 400).apart, (HOUR / 400) as f64);
        assert_eq!(outlook.after(HOUR as f64, 4).apart, outlook.apart * LONGER, "no more than twice as far");
        let behind = outlook.after(HOUR as f64, 0).after(HOUR as f64, 0);
        assert_eq!((behind.apart, behind.gap), (outlook.apart, LONGER * LONGER));
        assert_eq!(Span::holding(25, 140_000, &behind, 50 * HOUR, true).micros, 4.0 * span_of(&outlook));
        assert_eq!(behind.after(HOUR as f64, 100), outlook, "as before the gap");
        let crowded = of_ten_million(9).denser(HOUR as f64, 25);
        assert_eq!(
            outlook.denser(HOUR as f64, 25).passing,
            outlook.passing,
            "what is crowded here is as seldom as ever"
        );
        assert_ne!(Span::holding(25, 140_000, &crowded, HOUR / 5, true).until, None, "too many to be the rest");
    }
}
