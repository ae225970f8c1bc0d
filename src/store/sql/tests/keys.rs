//! Keys that a collation takes for each other.

use super::*;
use crate::domain::filter::Filter;
use crate::domain::job::JobId;
use crate::store::{Cursor, PageQuery, ScanMode, Sort, Store, StoreExt};

#[tokio::test]
async fn a_job_is_named_by_its_key_as_it_is_written() {
    let rows = "VALUES ('Cafe', '2026-11-18 09:00:00', 0, 'A', '')";
    let odd = Odd::table("text collate nocase", rows, false).await;
    for (name, n) in [("Cafe", 1), ("cafe", 0), ("CAFE", 0)] {
        let ids = [JobId::new(name)];
        let found = odd.store.rows(&ids, &budget()).await.expect("rows");
        let details = odd.store.details(&ids, &budget()).await.expect("details");
        let filter = Filter::parse(&format!("id:{name}")).expect("a filter");
        let query = PageQuery { filter: filter.clone(), sort: Sort::default(), cursor: Cursor::Start, limit: 9 };
        let page = odd.store.scan(query, ScanMode::List, &budget()).await.expect("a page");
        let frozen = odd
            .store
            .scan(PageQuery::cohort(&filter, Cursor::Start), ScanMode::Cohort, &budget())
            .await
            .expect("a step");
        let all = [found.len(), details.len(), page.entries.len(), frozen.entries.len()];
        assert_eq!(all, [n; 4], "{name}");
    }
}
