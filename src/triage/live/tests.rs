//! The counting model against a small table that it cannot see.

use proptest::prelude::*;

use super::*;
use crate::domain::facet::Facet;

const SECOND: i64 = 1_000_000;

/// A table of deaths; buckets are ten seconds.
#[derive(Clone, Debug, Default)]
struct Table(Vec<(i64, &'static str)>);

impl Table {
    fn count(&self, now: i64) -> Histogram {
        let mut bars: Vec<Bar> = Vec::new();
        for (at, value) in &self.0 {
            let value: FacetValue = Some((*value).into());
            let at = Some(Timestamp(at * SECOND));
            match bars.iter_mut().find(|bar| bar.value == value) {
                Some(bar) => {
                    bar.count.n += 1;
                    bar.first_seen = earliest(bar.first_seen, at);
                    bar.last_seen = bar.last_seen.max(at);
                }
                None => bars.push(Bar { first_seen: at, last_seen: at, ..Bar::new(value, Count::exact(1)) }),
            }
        }
        let total = Count::exact(self.0.len() as u64);
        Histogram { facet: Facet::Error, bars, total, as_of: Timestamp(now * SECOND), progress: None }
    }

    fn cells(&self, from: i64) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        for (at, value) in self.0.iter().filter(|(at, _)| at.div_euclid(10) >= from.div_euclid(10)) {
            let (bucket, value, seen) = (at.div_euclid(10), Some((*value).into()), Some(Timestamp(at * SECOND)));
            match cells.iter_mut().find(|cell| cell.bucket == bucket && cell.value == value) {
                Some(cell) => {
                    cell.n += 1;
                    cell.first_seen = earliest(cell.first_seen, seen);
                    cell.last_seen = cell.last_seen.max(seen);
                }
                None => cells.push(Cell { bucket, value, n: 1, first_seen: seen, last_seen: seen, example: None }),
            }
        }
        cells
    }

    /// Counts from a full count that knows the recent past from `from` on.
    fn live(&self, from: i64, now: i64) -> LiveCounts {
        LiveCounts::from_count(self.count(now), &self.cells(from), Some(from.div_euclid(10)))
    }

    /// Looks at what happened from `from` on.
    fn look(&self, live: &mut LiveCounts, from: i64, now: i64) {
        live.take_in(Some((from.div_euclid(10), &self.cells(from))), Timestamp(now * SECOND));
    }
}

fn n(live: &LiveCounts, value: &str) -> u64 {
    let value = Some(value.into());
    live.histogram().bars.iter().find(|bar| bar.value == value).map_or(0, |bar| bar.count.n)
}

#[test]
fn deaths_after_a_quiet_time_are_counted_by_the_first_look_that_sees_them() {
    let mut table = Table(vec![(5, "A"), (96, "A")]);
    let mut live = table.live(70, 100);
    live.take_in(None, Timestamp(101 * SECOND));
    assert_eq!(live.histogram().total, Count::exact(2));
    table.0.extend([(130, "A"), (131, "B")]);
    table.look(&mut live, 100, 132);
    assert_eq!((n(&live, "A"), n(&live, "B"), live.histogram().total.n), (3, 1, 4));
    assert_eq!(live.histogram().total.exactness, Exactness::Estimate);
    assert_eq!(live.deaths(), 2);
}

#[test]
fn a_row_that_is_seen_again_and_one_that_is_committed_late_count_once() {
    let mut table = Table(vec![(96, "A")]);
    let mut live = table.live(70, 100);
    table.look(&mut live, 90, 101);
    for now in 102..110 {
        table.look(&mut live, 90, now);
    }
    assert_eq!(n(&live, "A"), 1);
    table.0.push((99, "A"));
    table.look(&mut live, 90, 111);
    table.look(&mut live, 90, 112);
    assert_eq!(n(&live, "A"), 2);
}

#[test]
fn rows_that_leave_the_recent_past_are_taken_off_and_older_ones_by_a_count() {
    let mut table = Table(vec![(5, "A"), (96, "A"), (97, "A")]);
    let mut live = table.live(70, 100);
    table.look(&mut live, 90, 101);
    table.0.retain(|(at, _)| *at != 97 && *at != 5);
    table.look(&mut live, 90, 102);
    let told = live.histogram().total;
    assert_eq!((told.n, told.exactness), (2, Exactness::Estimate), "one of the two is older than the look");
    live.count_again(table.count(103), &table.cells(73), None);
    assert_eq!(live.histogram().total, Count::exact(1));
}

#[test]
fn a_row_whose_value_changes_where_it_stands_did_not_die() {
    let mut table = Table(vec![(5, "A"), (91, "A"), (92, "A"), (96, "A")]);
    let mut live = table.live(70, 100);
    table.0[1].1 = "B";
    table.0[2].1 = "C";
    table.look(&mut live, 90, 101);
    assert_eq!((n(&live, "A"), n(&live, "B"), live.deaths()), (2, 1, 0));
    assert_eq!(live.growth(Timestamp(101 * SECOND)).n, 0);
    // Late in its commit, it came while nothing went.
    table.0.push((93, "B"));
    table.look(&mut live, 90, 102);
    assert_eq!(live.deaths(), 1);
    // It died again, with another error; and another died where somebody took one away.
    table.0[3] = (103, "B");
    table.look(&mut live, 90, 104);
    assert_eq!(live.deaths(), 2);
    table.0.retain(|(at, _)| *at != 103);
    table.0.push((105, "C"));
    table.look(&mut live, 90, 106);
    assert_eq!(live.deaths(), 3);
}

#[test]
fn growth_names_the_time_that_it_was_watched_for() {
    let mut table = Table(vec![]);
    let mut live = table.live(0, 0);
    table.look(&mut live, 0, 1);
    let since_begun = |n| Growth { n, since: Some(Timestamp(0)) };
    assert_eq!(live.growth(Timestamp(15 * SECOND)), since_begun(0));
    assert_eq!(live.growth(Timestamp(600 * SECOND)), since_begun(0), "none ever came");
    table.0.push((20, "A"));
    table.look(&mut live, 10, 21);
    assert_eq!(live.growth(Timestamp(60 * SECOND)), since_begun(1));
    assert_eq!(live.growth(Timestamp(600 * SECOND)), Growth { n: 0, since: None });
}

#[test]
fn a_death_that_no_look_could_see_counts_as_growth_once_it_is_found() {
    let mut table = Table(vec![(5, "A"), (6, "A")]);
    let mut live = table.live(0, 100);
    // One dies now, created long ago; another is seen by a look.
    table.0.extend([(7, "A"), (8, "B"), (390, "A")]);
    table.look(&mut live, 380, 395);
    assert_eq!(live.growth(Timestamp(400 * SECOND)).n, 1);
    live.count_again(table.count(400), &table.cells(380), None);
    assert_eq!(live.growth(Timestamp(401 * SECOND)), Growth { n: 3, since: None });
    live.count_again(table.count(402), &table.cells(380), None);
    assert_eq!(live.growth(Timestamp(403 * SECOND)).n, 3, "each is counted once");
    // While jobs are put back others die, and all of those are told.
    table.0.retain(|(at, _)| *at > 6);
    table.0.extend([(9, "C"), (10, "C")]);
    live.count_again(table.count(404), &table.cells(380), None);
    assert_eq!((live.growth(Timestamp(405 * SECOND)).n, n(&live, "C")), (5, 2));
    // What is gone did not die.
    table.0.retain(|(at, _)| *at > 8);
    live.count_again(table.count(406), &table.cells(380), None);
    assert_eq!(live.growth(Timestamp(407 * SECOND)).n, 5);
}

#[test]
fn growth_is_told_from_the_trends_until_it_was_watched_for_long_enough() {
    // Half past a slot: the last two slots are 450 s.
    let now = 12 * 300 + 150;
    let mut table = Table(vec![(now - 400, "A"), (now - 20, "A")]);
    let mut counted = table.count(now);
    counted.bars[0].trend = vec![9, 0, 1, 1];
    let quiet = LiveCounts::from_count(counted.clone(), &table.cells(now - 60), Some((now - 60).div_euclid(10)));
    let later = quiet.growth(Timestamp((now + 310) * SECOND));
    assert_eq!(later, Growth { n: 0, since: None }, "jobs died before, as the trends tell");
    let mut live = LiveCounts::from_count(counted, &table.cells(now - 60), Some((now - 60).div_euclid(10)));
    table.0.push((now + 5, "A"));
    table.look(&mut live, now - 60, now + 10);
    let growth = live.growth(Timestamp((now + 10) * SECOND));
    assert_eq!(growth, Growth { n: 3, since: Some(Timestamp(11 * 300 * SECOND)) });
    table.look(&mut live, now - 60, now + 310);
    let growth = live.growth(Timestamp((now + 310) * SECOND));
    assert_eq!(growth, Growth { n: 0, since: None });
}

#[test]
fn growth_goes_on_when_the_same_jobs_are_counted_by_another_facet() {
    let mut table = Table(vec![(5, "A")]);
    let mut live = table.live(0, 10);
    table.0.extend([(20, "A"), (21, "B")]);
    table.look(&mut live, 10, 22);
    // One dies between the two counts.
    table.0.push((25, "A"));
    let mut other = table.live(0, 30);
    other.follow(&live);
    let growth = |live: &LiveCounts, at| live.growth(Timestamp(at * SECOND));
    assert_eq!(growth(&other, 31), Growth { n: 3, since: Some(Timestamp(10 * SECOND)) });
    assert_eq!(other.deaths(), 0, "those were told before");
    table.0.push((40, "C"));
    table.look(&mut other, 30, 41);
    let mut third = table.live(0, 50);
    third.follow(&other);
    assert_eq!(growth(&third, 51).n, 4);
    assert_eq!(growth(&third, 322), Growth { n: 2, since: None }, "two of them are older than five minutes");
}

#[test]
fn a_value_is_new_only_if_it_was_not_there_before() {
    let mut table = Table(vec![(5, "A")]);
    let mut live = table.live(70, 100);
    table.look(&mut live, 90, 101);
    table.0.push((110, "B"));
    table.look(&mut live, 90, 111);
    let new = |live: &LiveCounts| -> Vec<_> { live.histogram().bars.iter().map(|bar| live.is_new(bar)).collect() };
    assert_eq!(new(&live), [None, Some(Since::Opened)]);
    live.set_baseline(Timestamp(112 * SECOND));
    assert_eq!(new(&live), [None, None]);
    table.0.push((120, "C"));
    table.look(&mut live, 90, 121);
    assert_eq!(new(&live), [None, None, Some(Since::Baseline)]);
}

#[test]
fn numbers_are_in_doubt_from_the_first_change_until_a_count_that_began_after_the_last_one() {
    let table = Table(vec![(5, "A")]);
    let mut live = table.live(70, 100);
    let total = |live: &LiveCounts| (live.histogram().total.exactness, live.is_in_doubt());
    assert_eq!(total(&live), (Exactness::Exact, false));
    live.take_in(None, Timestamp(101 * SECOND));
    assert_eq!(total(&live), (Exactness::Exact, false), "nothing changed");
    table.look(&mut live, 90, 102);
    assert_eq!(total(&live), (Exactness::Estimate, true), "what is older may have changed");
    live.take_in(None, Timestamp(103 * SECOND));
    assert_eq!(total(&live), (Exactness::Estimate, true), "and nobody says that it has not");
    let (counted, recent) = (table.count(104), table.cells(80));
    table.look(&mut live, 90, 105);
    assert!(live.count_again(counted, &recent, Some(8)));
    assert_eq!(total(&live), (Exactness::Estimate, true), "something has changed since it began");
    live.count_again(table.count(106), &table.cells(80), Some(8));
    assert_eq!(total(&live), (Exactness::Exact, false));
}

#[test]
fn a_poll_that_reaches_back_farther_than_the_count_did_by_buckets_counts_nothing_twice() {
    let mut table = Table(vec![(5, "A"), (15, "B"), (96, "A")]);
    let mut live = table.live(70, 100);
    table.0.push((101, "A"));
    table.look(&mut live, 0, 102);
    assert_eq!((n(&live, "A"), n(&live, "B"), live.deaths()), (3, 1, 1));
    table.look(&mut live, 50, 103);
    assert_eq!(live.histogram().total.n, 4);
}

#[test]
fn polls_go_on_from_the_count_unless_the_last_one_came_later_or_at_the_same_moment() {
    let table = Table(vec![(5, "A"), (96, "A")]);
    let token = |moment: &str| Token::at((), [moment.to_owned()]);
    let count = |now: i64, moment: &str| HistogramStep {
        token: Some(token(moment)),
        recent: table.cells(70),
        recent_from: Some(7),
        ..HistogramStep::of(table.count(now))
    };
    let polled = token("3");
    let goes_on_from = |now: i64, moment: &str| {
        let mut live = table.live(70, 100);
        table.look(&mut live, 90, 102);
        live.take_full_count(&count(now, moment), Some(&polled)).expect("a token") == polled
    };
    assert!(goes_on_from(101, "2"), "the poll is later");
    assert!(goes_on_from(103, "3"), "nothing was written between the two");
    assert!(!goes_on_from(103, "4"), "the count has seen more");
}

#[test]
fn a_full_count_waits_for_a_poll_that_finds_no_change_and_no_longer_than_it_takes() {
    let table = Table(vec![(5, "A")]);
    let due = |live: &LiveCounts| live.is_full_count_due(Duration::from_secs(90));
    let look = |live: &mut LiveCounts, at: i64, changed: bool| {
        match changed {
            true => table.look(live, 90, at),
            false => _ = live.take_in(None, Timestamp(at * SECOND)),
        }
        due(live)
    };
    let mut live = table.live(70, 100);
    assert!(!look(&mut live, 1_000, false), "nothing changed");
    let mut live = table.live(70, 100);
    let looks = [(130, true), (219, true), (220, true)].map(|(at, changed)| look(&mut live, at, changed));
    assert_eq!(looks, [false, false, true], "as long as it takes since the first change");
    let mut live = table.live(70, 100);
    let looks = [(130, true), (131, false), (159, false), (160, false), (161, true)];
    let looks = looks.map(|(at, changed)| look(&mut live, at, changed));
    assert_eq!(looks, [false, false, false, true, false], "a minute after the last one, and when nothing overtakes it");
    let changes = Changes {
        token: Token::new(()),
        changed: false,
        uncounted: true,
        unsettled: false,
        from_bucket: 0,
        cells: Vec::new(),
        server_time: Timestamp(200 * SECOND),
        cost: Duration::ZERO,
        needs_reopen: false,
    };
    let mut live = table.live(70, 100);
    live.take_poll(&changes);
    assert!(due(&live), "no poll will find that nothing changed");
}

#[test]
fn trends_show_when_deaths_were_seen() {
    let mut table = Table(vec![]);
    let mut live = table.live(0, 0);
    table.look(&mut live, 0, 1);
    for now in [30, 31, 95] {
        table.0.push((now, "A"));
        table.look(&mut live, now, now);
    }
    let trend = live.histogram().bars[0].trend.clone();
    assert_eq!(trend[trend.len() - 3..], [2, 0, 1]);
}

proptest! {
    /// Rows come and go anywhere in the dirty range, committed late or not; looks keep up without a full count.
    #[test]
    fn looks_that_reach_back_to_every_change_agree_with_the_table(
        old in prop::collection::vec((0i64..100, 0usize..3), 0..20),
        steps in prop::collection::vec(prop::collection::vec((0i64..30, 0usize..3, any::<bool>()), 0..6), 1..20),
    ) {
        let values = ["A", "B", "C"];
        let mut table = Table(old.into_iter().map(|(at, v)| (at, values[v])).collect());
        let mut live = table.live(0, 100);
        for (step, changes) in steps.into_iter().enumerate() {
            let now = 101 + 7 * step as i64;
            for (ago, v, remove) in changes {
                let at = table.0.iter().rposition(|(at, _)| *at >= now - 30);
                match at.filter(|_| remove) {
                    Some(row) => { table.0.swap_remove(row); }
                    None => table.0.push((now - ago, values[v])),
                }
            }
            table.look(&mut live, now - 30, now);
            let told = live.histogram();
            prop_assert_eq!(told.total.n, table.0.len() as u64);
            for bar in table.count(now).bars {
                let live = told.bars.iter().find(|b| b.value == bar.value).map_or(0, |b| b.count.n);
                prop_assert_eq!(live, bar.count.n);
            }
        }
    }
}

proptest! {
    /// Rows change behind the looks as well, until a count begins that takes its time; then within their reach.
    #[test]
    fn a_slow_count_leaves_the_table_and_nothing_else_in_the_counts(
        before in prop::collection::vec(prop::collection::vec((0usize..200, 0i64..90, 0usize..3, any::<bool>()), 0..6), 1..12),
        meanwhile in prop::collection::vec(prop::collection::vec((0i64..30, 0usize..3, any::<bool>()), 0..4), 0..6),
    ) {
        let values = ["A", "B", "C"];
        let mut table = Table((0..20).map(|at| (at * 5, values[at as usize % 3])).collect());
        let (mut live, mut now) = (table.live(40, 100), 100);
        for changes in before {
            now += 7;
            for (row, ago, v, remove) in changes {
                match remove && !table.0.is_empty() {
                    true => { table.0.swap_remove(row % table.0.len()); }
                    false => table.0.push((now - ago, values[v])),
                }
            }
            table.look(&mut live, now - 30, now);
        }
        let (counted, recent, from) = (table.count(now), table.cells(now - 60), (now - 60).div_euclid(10));
        for changes in meanwhile {
            now += 7;
            for (ago, v, remove) in changes {
                match table.0.iter().rposition(|(at, _)| *at >= now - 20).filter(|_| remove) {
                    Some(row) => { table.0.swap_remove(row); }
                    None => table.0.push((now - ago.min(20), values[v])),
                }
            }
            table.look(&mut live, now - 30, now);
        }
        live.count_again(counted, &recent, Some(from));
        let told = live.histogram();
        prop_assert_eq!(told.total.n, table.0.len() as u64);
        for value in values {
            let there = table.0.iter().filter(|(_, v)| *v == value).count() as u64;
            prop_assert_eq!(n(&live, value), there);
        }
    }
}

/// A table that was counted at 100, was looked at, and is counted again by a count that began at 200 and took its time.
fn recounted_late(table: &mut Table, live: &mut LiveCounts, change: impl FnOnce(&mut Table)) -> bool {
    table.0.push((150, "A"));
    table.look(live, 90, 151);
    let (counted, recent) = (table.count(200), table.cells(80));
    change(table);
    table.0.extend([(230, "A"), (231, "B")]);
    table.look(live, 200, 240);
    live.count_again(counted, &recent, Some(8))
}

#[test]
fn what_looks_saw_while_a_count_took_its_time_counts_beside_it_once() {
    let mut table = Table(vec![(5, "A"), (96, "A")]);
    let mut live = table.live(70, 100);
    assert!(recounted_late(&mut table, &mut live, |_| {}));
    assert_eq!((n(&live, "A"), n(&live, "B"), live.histogram().total.n), (4, 1, 5));
    table.look(&mut live, 200, 241);
    assert_eq!((n(&live, "A"), n(&live, "B"), live.histogram().total.n), (4, 1, 5));
    table.0.retain(|(at, _)| *at != 231);
    table.look(&mut live, 200, 242);
    assert_eq!((n(&live, "B"), live.histogram().total.n), (0, 4));
}

#[test]
fn an_old_row_that_is_gone_before_a_slow_count_is_gone_after_it() {
    let mut table = Table(vec![(5, "A"), (6, "C"), (96, "A")]);
    let mut live = table.live(70, 100);
    table.0.remove(1);
    assert!(recounted_late(&mut table, &mut live, |_| {}));
    assert_eq!((n(&live, "A"), n(&live, "C"), live.histogram().total.n), (4, 0, 5));
}

#[test]
fn a_recent_row_that_changed_behind_the_looks_before_a_slow_count_is_counted_as_it_is() {
    let mut table = Table(vec![(5, "A"), (96, "A")]);
    let mut live = table.live(70, 100);
    table.0.extend([(110, "C"), (112, "D"), (113, "D")]);
    table.look(&mut live, 90, 120);
    table.0.retain(|(at, _)| *at != 110 && *at != 113);
    table.look(&mut live, 140, 160);
    let (counted, recent) = (table.count(200), table.cells(80));
    table.0.push((230, "A"));
    table.look(&mut live, 200, 240);
    assert!(live.count_again(counted, &recent, Some(8)));
    assert_eq!((n(&live, "A"), n(&live, "C"), n(&live, "D"), live.histogram().total.n), (3, 0, 1, 4));
    table.look(&mut live, 200, 241);
    assert_eq!(live.histogram().total.n, 4);
}
