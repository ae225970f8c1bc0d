//! Where a count stands, and the histogram that it makes.

use std::collections::HashMap;

use crate::domain::facet::Facet;
use crate::domain::histogram::{Bar, Count, Exactness, Histogram, TREND_SLOT};
use crate::domain::time::Timestamp;
use crate::store::sql::count::chunked::Walk;
use crate::store::sql::count::table_sample::filled_up;
use crate::store::sql::query::group_by::{Counted, Tally, untrusted};
use crate::store::{Cell, Cursor, HistogramStep, Token};

/// Values that are told apart.
pub(crate) const MOST_VALUES: usize = 10_000;
/// Slots of the trend, and their length in microseconds.
pub(crate) const SLOTS: usize = 12;
pub(crate) const SLOT: i64 = TREND_SLOT.as_micros() as i64;

/// Where a count by windows stands.
#[derive(Clone, Debug)]
pub(crate) struct CountState {
    pub(crate) bars: HashMap<Option<String>, Tally>,
    pub(crate) side: Side,
    pub(crate) at: At,
    /// Whether the first window was only something to be seen, and one statement over all is tried now.
    pub(crate) then_whole: bool,
}

/// What windows were read so far.
#[derive(Clone, Debug)]
pub(crate) enum At {
    /// Rows in order, up to a place.
    Order(Cursor),
    /// Blocks from one on.
    Block(Walk),
}

/// What is read beside the counts, in one snapshot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    pub(crate) clock: Timestamp,
    pub(crate) mark: Option<Token>,
    pub(crate) recent: Vec<Cell>,
    /// From this bucket on `recent` holds all there is.
    pub(crate) from: Option<i64>,
    pub(crate) trend: HashMap<Option<String>, Vec<u32>>,
    /// What chance says of all of the counts, until they are there.
    pub(crate) sample: HashMap<Option<String>, Tally>,
    /// Jobs of values that came when there were more than are told apart.
    pub(crate) rest: u64,
}

impl CountState {
    /// From which bucket of looks on the rows are counted already, and not by windows.
    pub(crate) fn before(&self) -> Option<i64> {
        self.side.from
    }

    /// Adds what was counted.
    pub(crate) fn take(&mut self, counted: Vec<Counted>) {
        for one in counted {
            self.add(one.value, &one.tally);
        }
    }

    /// Adds what was counted of a value. Of too many values the later ones are known in the total only, so that memory is
    /// bounded whatever jobs say.
    pub(crate) fn add(&mut self, value: Option<String>, tally: &Tally) {
        match self.bars.len() < MOST_VALUES || self.bars.contains_key(&value) {
            true => self.bars.entry(value).or_default().add(tally),
            false => self.side.rest = self.side.rest.saturating_add(tally.n),
        }
    }
}

pub(crate) fn trend(counts: &[Counted], from: Timestamp) -> HashMap<Option<String>, Vec<u32>> {
    let first = from.0.div_euclid(SLOT);
    let mut trends: HashMap<Option<String>, Vec<u32>> = HashMap::new();
    for counted in counts {
        let Some(slot) = counted.slot else { continue };
        // What is dated ahead of the clock is shown in the last slot.
        let slot = slot.saturating_sub(first).clamp(0, SLOTS as i64 - 1);
        let slots = trends.entry(counted.value.clone()).or_insert_with(|| vec![0; SLOTS]);
        if let Some(n) = usize::try_from(slot).ok().and_then(|i| slots.get_mut(i)) {
            *n = n.saturating_add(u32::try_from(counted.tally.n).unwrap_or(u32::MAX));
        }
    }
    trends
}

pub(crate) fn unfinished(facet: Facet, state: CountState, share: f32) -> HistogramStep {
    let mut histogram = histogram(facet, &state.bars, &state.side, Exactness::AtLeast);
    histogram = filled_up(histogram, &state.side.sample);
    histogram.progress = Some(share);
    HistogramStep { resume: Some(Token::new(state)), ..HistogramStep::of(histogram) }
}

pub(crate) fn finished(facet: Facet, bars: HashMap<Option<String>, Tally>, side: Side) -> HistogramStep {
    let histogram = histogram(facet, &bars, &side, Exactness::Exact);
    let recent_from = side.mark.as_ref().and(side.from);
    HistogramStep { token: side.mark, recent: side.recent, recent_from, ..HistogramStep::of(histogram) }
}

pub(crate) fn histogram(
    facet: Facet,
    tallies: &HashMap<Option<String>, Tally>,
    side: &Side,
    exactness: Exactness,
) -> Histogram {
    let mut bars: Vec<Bar> = tallies
        .iter()
        .map(|(value, t)| Bar {
            value: untrusted(value),
            count: Count { n: t.n, exactness },
            first_seen: t.first,
            last_seen: t.last,
            trend: match (side.trend.get(value), side.trend.is_empty()) {
                (Some(slots), _) => slots.clone(),
                (None, false) => vec![0; SLOTS],
                (None, true) => Vec::new(),
            },
            example: t.example.clone(),
        })
        .collect();
    facet.sort(&mut bars);
    let n = bars.iter().fold(side.rest, |sum, bar| sum.saturating_add(bar.count.n));
    Histogram { facet, bars, total: Count { n, exactness }, as_of: side.clock, progress: None }
}
