//! Times that are none.

use super::*;
use crate::domain::facet::Facet;
use crate::domain::filter::Filter;
use crate::domain::time::Timestamp;
use crate::store::{Cursor, HistogramQuery, PageQuery, ScanMode, Sort, Store};

/// What SQLite's own functions take for an instant, and what no program takes for one.
const NONE: [&str; 12] = [
    "now",
    "09:00:00",
    "2461000.5",
    "1795000000",
    "2026-02-30 10:00:00",
    "2026-13-01 10:00:00",
    "2026-11-18 25:00:00",
    "12026-01-01 00:00:00",
    "-0044-03-15 00:00:00",
    "+1 day",
    "not a date",
    "",
];

#[tokio::test]
async fn text_that_is_no_date_is_no_time_and_its_row_stands_in_the_list_all_the_same() {
    let good = ["2026-11-18", "2026-11-18 09:14:02", "2026-11-18T09:14:02.5+02:00", "1969-12-31 23:59:59.999999"];
    let row = |(n, at): (usize, &&str)| format!("({n}, '{at}', 0, 'A', 'boom')");
    let rows: Vec<String> = good.iter().chain(&NONE).enumerate().map(row).collect();
    let odd = Odd::new(&format!("SELECT * FROM (VALUES {})", rows.join(", "))).await;
    let page = async |filter: &str| {
        let filter = Filter::parse(filter).expect("a filter");
        let query = PageQuery { filter, sort: Sort::default(), cursor: Cursor::Start, limit: 100 };
        let mut rows = odd.store.scan(query, ScanMode::List, &budget()).await.expect("a page").entries;
        rows.sort_by_key(|entry| entry.row.id.as_str().parse::<usize>().ok());
        rows.into_iter().map(|entry| entry.row.at.map(|at| at.to_rfc3339())).collect::<Vec<_>>()
    };
    let all = page("").await;
    let times: Vec<&str> = all.iter().flatten().map(String::as_str).collect();
    assert_eq!(
        times,
        [
            "2026-11-18T00:00:00.000000Z",
            "2026-11-18T09:14:02.000000Z",
            "2026-11-18T07:14:02.500000Z",
            "1969-12-31T23:59:59.999999Z"
        ]
    );
    assert_eq!(all.len(), good.len() + NONE.len());
    assert!(all[..good.len()].iter().all(Option::is_some), "{all:?}");
    assert_eq!(page("since:1960-01-01").await.len(), good.len());
    assert_eq!(page("-since:1960-01-01").await.len(), NONE.len());
    let query = HistogramQuery::exact(Facet::Hour, Filter::all(), None);
    let counted = odd.store.count(query, &budget()).await.expect("a count").histogram;
    let none = counted.bars.iter().find(|bar| bar.value.is_none()).expect("a bar of those without an hour");
    assert_eq!((counted.total.n, none.count.n), (all.len() as u64, NONE.len() as u64));
}

#[tokio::test]
async fn a_bound_on_written_times_holds_for_every_form_and_zone() {
    let bound = Timestamp(1_795_046_400_000_000); // 2026-11-19 00:00 UTC
    let plain = [
        "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%d %H:%M",
        "%Y-%m-%dT%H:%MZ",
        "%Y-%m-%d\t%H:%M:%S",
        "%Y-%m-%d  %H:%M",
        "%Y-%m-%d T%H:%M",
        "%Y-%m-%d %H:%M:%S%.6f",
    ];
    let mut forms: Vec<(i32, &str)> = plain.map(|form| (0, form)).to_vec();
    forms.extend(
        [-14, 14]
            .into_iter()
            .flat_map(|zone| ["%Y-%m-%d %H:%M:%S%:z", "%Y-%m-%dT%H:%M:%S%:z"].map(|form| (zone, form))),
    );
    let (mut rows, mut since) = (Vec::new(), Vec::new());
    // Every three quarters of an hour, for two days on either side, and every minute next to it.
    let hours = (-64..=64_i64).map(|step| step * 2_700_000_000);
    let mut steps: Vec<i64> = hours.chain((-3..=3).map(|step| step * 60_000_000)).collect();
    steps.sort_unstable();
    for step in steps {
        for &(zone, form) in &forms {
            let at = Timestamp(bound.0 + step);
            let zone = chrono::FixedOffset::east_opt(zone * 3_600).expect("a zone");
            let written = at.calendar().expect("a date").with_timezone(&zone).format(form);
            if step >= 0 {
                since.push(rows.len());
            }
            rows.push(format!("({}, '{written}', 0, 'A', 'boom')", rows.len()));
        }
    }
    let odd = Odd::new(&format!("SELECT * FROM (VALUES {})", rows.join(", "))).await;
    let page = async |filter: &str| {
        let filter = Filter::parse(filter).expect("a filter");
        let query = PageQuery { filter, sort: Sort::default(), cursor: Cursor::Start, limit: 2_000 };
        let found = odd.store.scan(query, ScanMode::List, &budget()).await.expect("a page").entries;
        let mut ids: Vec<usize> = found.iter().map(|entry| entry.row.id.as_str().parse().expect("a number")).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(page("since:2026-11-19T00:00:00Z").await, since);
    assert_eq!(page("until:2026-11-19T00:00:00Z").await, (0..since[0]).collect::<Vec<_>>());
    // The rows of that very minute, which are there twice, and no others lie between the two.
    let later: Vec<usize> = since[2 * forms.len()..].to_vec();
    assert_eq!(page("since:2026-11-19T00:00:30Z").await, later);
    assert_eq!(page("until:2026-11-19T00:00:30Z").await, (0..later[0]).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_bound_on_written_times_is_exact_within_the_second() {
    let forms = ["", ".4", ".500000", ".500001", ".6Z", ".5+00:00", ".499999+01:00", ".5-01:00"];
    let row = |(n, form): (usize, &&str)| format!("({n}, '2026-11-19 10:00:00{form}', 0, 'A', 'boom')");
    let mut rows: Vec<String> = forms.iter().enumerate().map(row).collect();
    // An hour that SQLite reads as the first of the day after.
    rows.push("(8, '2026-11-18 24:30:00', 0, 'A', 'boom')".to_owned());
    let odd = Odd::new(&format!("SELECT * FROM (VALUES {})", rows.join(", "))).await;
    let page = async |filter: Filter| {
        let query = PageQuery { filter, sort: Sort::default(), cursor: Cursor::Start, limit: 100 };
        let found = odd.store.scan(query, ScanMode::List, &budget()).await.expect("a page").entries;
        let mut ids: Vec<usize> = found.iter().map(|entry| entry.row.id.as_str().parse().expect("a number")).collect();
        ids.sort_unstable();
        ids
    };
    let of = |text: &str| Filter::parse(text).expect("a filter");
    assert_eq!(page(of("since:2026-11-19T10:00:00.5Z")).await, [2, 3, 4, 5, 7]);
    assert_eq!(page(of("until:2026-11-19T10:00:00.5Z")).await, [0, 1, 6, 8]);
    assert_eq!(page(of("since:2026-11-19T00:15:00Z until:2026-11-19T00:45:00Z")).await, [8]);
}
