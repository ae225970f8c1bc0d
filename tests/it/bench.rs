//! The arithmetic of `scripts/bench`, whose figures are believed: how it counts, compares and says what was missed.

#[allow(dead_code, reason = "shared with the bench, which uses all of it")]
#[path = "../../benches/console/cohort.rs"]
mod cohort;
#[path = "../../benches/console/frames.rs"]
mod frames;
#[allow(dead_code, reason = "shared with the bench, which uses all of it")]
#[path = "../../benches/console/sample.rs"]
mod sample;
#[path = "../../benches/console/table.rs"]
mod table;

use std::time::Duration;

use dlq_tui::domain::filter::Filter;

use cohort::Slices;
use sample::{Sample, median, ratio, times, told};
use table::{Line, Table, summary};

fn milliseconds(times: impl IntoIterator<Item = u64>) -> Sample {
    times.into_iter().map(Duration::from_millis).collect()
}

#[test]
fn a_quantile_is_a_time_that_was_measured_and_a_median_the_middle_one() {
    let hundred = milliseconds((1..=101).rev());
    assert_eq!([0.0, 0.5, 0.99, 1.0].map(|share| hundred.quantile(share).as_millis()), [1, 51, 100, 101]);
    assert_eq!(hundred.quantiles(), "51 ms / 100 ms / 101 ms");
    // Of few measurements the longest stands for the 99th of a hundred: never one that is too good.
    assert_eq!(milliseconds([3, 1, 2]).quantile(0.99).as_millis(), 3);
    assert_eq!((Sample::default().median(), Sample::default().told()), (Duration::ZERO, "–".to_owned()));
    assert_eq!(median([5.0, 1.0, 3.0].into_iter()), 3.0);
}

#[test]
fn times_have_the_digits_that_count_and_ratios_need_no_second_thought() {
    let ms = |ms: f64| told(Duration::from_secs_f64(ms / 1_000.0));
    assert_eq!([0.123, 4.56, 78.9, 2_345.0].map(ms), ["0.12 ms", "4.6 ms", "79 ms", "2.35 s"]);
    assert_eq!(milliseconds([30, 10, 20]).told(), "20 ms (10 ms–30 ms)");
    let of = |a, b| ratio(Duration::from_millis(a), Duration::from_millis(b));
    assert_eq!([of(30, 20), of(1, 200), of(1, 0)], ["1.50x", "1/200", "–"]);
    assert_eq!(times(0.0, 1.0), "–");
}

#[test]
fn a_report_says_of_each_target_whether_it_was_reached_and_lists_those_that_were_missed() {
    let mut table = Table::new("2. Counts, ten rows; baseline: psql");
    table.add(Line::new("exact", "30 ms").against("20 ms", "1.50x").aim("at most 1.2x", false).because("a | b"));
    table.add(Line::new("estimate", "1 ms").aim("within 5 %", true));
    table.add(Line::new("longest", "3 ms"));
    let missed = "missed: 2. Counts: exact: 30 ms (1.50x), to be at most 1.2x";
    assert_eq!(summary(std::slice::from_ref(&table)), ["1 targets reached, 1 missed", missed]);
    let page = table.markdown();
    assert!(page.contains("| exact | 30 ms | 20 ms | 1.50x | at most 1.2x | missed | a \\| b |\n"), "{page}");
    assert!(page.contains("| longest | 3 ms |  |  |  |  |  |\n"), "{page}");
    let plain = table.plain();
    let words: Vec<Vec<&str>> = plain.lines().skip(3).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[1], ["estimate", "1", "ms", "within", "5", "%", "reached"]);
}

#[test]
fn frames_are_counted_and_so_is_what_a_terminal_would_show_piece_by_piece() {
    assert_eq!(frames::frames(b"title\x1b[?2026habc\x1b[?2026l\x1b[?2026hd\x1b[?2026l.."), (2, 7));
    assert_eq!(frames::frames(b""), (0, 0));
    // The last one is not complete.
    assert_eq!(frames::frames(b"\x1b[?2026habc"), (0, 0));
}

#[test]
fn each_replay_of_the_bench_gets_jobs_of_its_own_and_is_told_when_there_are_no_more() {
    let mut slices = Slices::of(1_000);
    let first = slices.take(97, false).expect("a slice");
    let second = slices.take(97, false).expect("another");
    // A hundred rows at three a second.
    assert_eq!(first.sql(), ("2026-11-01 00:00:00".to_owned(), "2026-11-01 00:00:34".to_owned()));
    assert_eq!(first.sql().1, second.sql().0);
    assert_eq!(first.filter(), "since:2026-11-01T00:00:00Z until:2026-11-01T00:00:34Z");
    let class = slices.take(10, true).expect("a third");
    assert!(Filter::parse(&class.filter()).is_ok() && class.filter().starts_with("error:"), "{}", class.filter());
    assert!(slices.take(10_000, false).is_err_and(|reason| reason.contains("more --rows")));
}
