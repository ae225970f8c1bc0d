//! The list at any depth.

use std::time::Instant;

use dlq_tui::domain::filter::Filter;
use dlq_tui::domain::job::JobId;
use dlq_tui::store::{Budget, Cursor, PageQuery, Sort, Store};

use crate::baseline::Baseline;
use crate::ground::{Ground, Meter, open_store};
use crate::psql::Psql;
use crate::sample::{Sample, ratio};
use crate::table::{Line, Table};

const ROWS: usize = 100;
const RUNS: usize = 21;

/// Pages of 100 rows through the store, against the same page by keyset and by OFFSET.
pub async fn measure(ground: &Ground, url: &str, rows: u32, budget: &Budget) -> Table {
    let baseline = Baseline(ground.layout);
    let psql = Psql::new(url);
    let store = open_store(url, ground.layout, budget).await;
    let meter = Meter::new(ground, url);
    let mut table = Table::new(format!("A page of {ROWS} rows, {rows} in the table"));

    let middle = rows / 2;
    let place = psql.print(&[&baseline.place(middle)]);
    let id = JobId::new(place.rsplit('|').next().unwrap_or_default());
    let position = match store.rows(std::slice::from_ref(&id), budget).await {
        Ok(entries) => entries.into_iter().next().expect("the row in the middle").position,
        Err(e) => panic!("{e}"),
    };
    let pages = [
        ("first", Cursor::Start, baseline.first_page(), None),
        ("middle", Cursor::After(position), baseline.page_after(&place), Some(baseline.page_by_offset(middle))),
        ("last", Cursor::End, baseline.last_page(), Some(baseline.page_by_offset(rows.saturating_sub(rows / 25)))),
    ];
    for (name, cursor, keyset, offset) in pages {
        let depth = if name == "middle" { format!("{name}, {middle} rows down") } else { name.to_owned() };
        meter.reset();
        let ours = time_page(&store, &cursor, budget).await;
        let cost = meter.read().each(RUNS + 1);
        let theirs = psql.timing(&keyset, RUNS);
        let evidence = format!("{}; psql {} buffers", cost.told(), psql.buffers(&keyset));
        table.add(
            Line::new(format!("{depth}: against keyset in psql"), ours.told())
                .against(theirs.told(), ratio(ours.median(), theirs.median()))
                .because(evidence),
        );
        if let Some(offset) = offset {
            let theirs = psql.timing(&offset, 3);
            table.add(
                Line::new(format!("{depth}: against OFFSET in psql"), ours.told())
                    .against(theirs.told(), ratio(ours.median(), theirs.median()))
                    .because(format!("psql {} buffers", psql.buffers(&offset))),
            );
        }
    }
    table
}

async fn time_page(store: &dyn Store, cursor: &Cursor, budget: &Budget) -> Sample {
    let mut sample = Sample::default();
    for run in 0..=RUNS {
        let query = PageQuery { filter: Filter::default(), sort: Sort::default(), cursor: cursor.clone(), limit: ROWS };
        let began = Instant::now();
        let page = store.page(query, budget).await.unwrap_or_else(|e| panic!("{e}"));
        let took = began.elapsed();
        assert!(!page.entries.is_empty(), "an empty page");
        // The first warms the connection, as in psql.
        if run > 0 {
            sample.push(took);
        }
    }
    sample
}
