//! Lists page by page.

use super::*;
use crate::domain::filter::Filter;
use crate::domain::job::JobId;
use crate::store::{Cursor, PageQuery, Position, ScanMode, Sort, Store};

#[tokio::test]
async fn a_few_jobs_far_off_do_not_hold_the_progress_of_a_scan_up() {
    let rows = "SELECT i, CASE WHEN i <= 3 THEN '1970-01-01 00:00:00' WHEN i <= 5 THEN '2999-01-01 00:00:00' \
                ELSE strftime('%Y-%m-%d %H:%M:%S', '2026-11-18', '+' || i || ' seconds') END, 0, 'A', '' FROM n";
    let odd = Odd::new(&format!("{} {rows}", numbers(5_000))).await;
    let place = |key: &str| Position { key: Some(key.to_owned()), id: JobId::new("9") };
    for (key, expected) in [("2999-01-01 00:00:00", 0.0), ("2026-11-18 00:41:40", 0.5), ("1970-01-01 00:00:00", 1.0)] {
        let share = odd.store.reader().share(&place(key), true).await;
        assert!((share - expected).abs() < 0.02, "{key}: {share}");
    }
}

#[tokio::test]
async fn pages_leave_no_job_out_between_two_whole_seconds() {
    // A column of whole numbers takes fractions here as well; they may have all the digits that a real has.
    for step in ["0.001", "0.0137"] {
        let rows = format!("SELECT i, 1763456789 + i * {step}, 0, 'A', '' FROM n");
        let odd = Odd::timed(("integer", "epoch_s"), "integer", &format!("{} {rows}", numbers(500)), false).await;
        for (start, forward) in [(Cursor::Start, true), (Cursor::End, false)] {
            let (mut listed, mut at) = (Vec::new(), Some(start));
            while let Some(cursor) = at {
                let query = PageQuery { filter: Filter::all(), sort: Sort::default(), cursor, limit: 30 };
                let page = odd.store.scan(query, ScanMode::List, &budget()).await.expect("a page");
                let ids: Vec<String> = page.entries.iter().map(|e| e.row.id.as_str().to_owned()).collect();
                match forward {
                    true => listed.extend(ids),
                    false => listed.splice(0..0, ids).for_each(drop),
                }
                at = page.next;
            }
            let newest_first: Vec<String> = (1..=500).rev().map(|i| i.to_string()).collect();
            assert!(listed == newest_first, "{step} {forward}: {}", listed.len());
        }
    }
}

#[tokio::test]
async fn who_looks_is_shown_a_screen_of_what_lies_apart_and_then_the_rest_of_it() {
    let rows = "SELECT i, strftime('%Y-%m-%d %H:%M:%S', '2026-11-18', '+' || i || ' seconds'), 0, \
                CASE i % 5 WHEN 0 THEN 'A' ELSE 'B' END, '' FROM n";
    let odd = Odd::new(&format!("{} {rows}", numbers(990))).await;
    let filter = |text: &str| Filter::parse(text).expect("a filter");
    let query = |text: &str, cursor| PageQuery { filter: filter(text), sort: Sort::default(), cursor, limit: 100 };
    for (start, forward) in [(Cursor::Start, true), (Cursor::End, false)] {
        let (mut listed, mut at, mut lengths) = (Vec::new(), Some(start.clone()), Vec::new());
        while let Some(cursor) = at {
            let page = odd.store.scan(query("class:A", cursor), ScanMode::Screen(16), &budget()).await.expect("a page");
            lengths.push(page.entries.len());
            let ids: Vec<String> = page.entries.iter().map(|e| e.row.id.as_str().to_owned()).collect();
            match forward {
                true => listed.extend(ids),
                false => listed.splice(0..0, ids).for_each(drop),
            }
            at = page.next;
        }
        let newest_first: Vec<String> = (1..=198).rev().map(|i| (i * 5).to_string()).collect();
        assert!(listed == newest_first, "{forward}: {}", listed.len());
        assert_eq!(lengths, [25, 25, 25, 25, 25, 25, 25, 23], "{forward}");
        // What lies side by side comes as it is asked for, and so does all where nobody looks.
        for text in ["", "state:dead", "since:2026-11-18T00:00:01 until:2026-11-18T00:10"] {
            let page =
                odd.store.scan(query(text, start.clone()), ScanMode::Screen(16), &budget()).await.expect("a page");
            assert_eq!(page.entries.len(), 100, "{text} {forward}");
        }
        // A larger screen is filled all the same.
        for (screen, rows) in [(40, 40), (400, 100)] {
            let page = odd
                .store
                .scan(query("class:A", start.clone()), ScanMode::Screen(screen), &budget())
                .await
                .expect("a page");
            assert_eq!(page.entries.len(), rows, "{forward}");
        }
        let page = odd.store.scan(query("class:A", start), ScanMode::List, &budget()).await.expect("a page");
        assert_eq!(page.entries.len(), 100, "{forward}");
    }
}
