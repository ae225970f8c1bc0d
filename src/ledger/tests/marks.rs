//! Marks of sources.

use super::*;
use crate::domain::filter::Filter;
use crate::domain::mark::MarkName;

fn mark(name: &str, at: i64) -> Mark {
    let operator = Operator { user: "ada".into(), host: "bastion".into(), ..Operator::default() };
    Mark { name: MarkName::parse(name).unwrap(), at: Timestamp(T.0 + at), set_at: T, operator }
}

async fn names(ledger: &Ledger, source: &str) -> Vec<String> {
    ledger.marks().list(source).await.unwrap().iter().map(|mark| mark.name.to_string()).collect()
}

#[tokio::test]
async fn a_mark_is_kept_for_its_source_and_moved_only_where_that_is_asked_for() {
    let (_folder, ledger) = open().await;
    let (first, later) = (mark("v1", 0), mark("v2", 5));
    ledger.marks().set("main", &first, false).await.unwrap();
    ledger.marks().set("main", &later, false).await.unwrap();
    ledger.marks().set("other", &mark("v1", 9), false).await.unwrap();
    assert_eq!(ledger.marks().list("main").await.unwrap(), [later, first.clone()], "the latest first");
    let moved = mark("v1", 60);
    let refused = ledger.marks().set("main", &moved, false).await.unwrap_err().to_string();
    assert!(refused.contains("v1 is set already") && refused.contains("--force"), "{refused}");
    assert_eq!(ledger.marks().list("main").await.unwrap()[1], first, "a refused mark changes nothing");
    ledger.marks().set("main", &moved, true).await.unwrap();
    assert_eq!(names(&ledger, "main").await, ["v1", "v2"]);
    assert_eq!(ledger.marks().remove("main", &moved.name).await.unwrap(), moved);
    assert_eq!((names(&ledger, "main").await, names(&ledger, "other").await), (vec!["v2".into()], vec!["v1".into()]));
    let gone = ledger.marks().remove("main", &moved.name).await.unwrap_err().to_string();
    assert_eq!(gone, "there is no mark `v1`: there are v2");
}

#[tokio::test]
async fn a_filter_gets_the_moments_of_its_own_source() {
    let (_folder, ledger) = open().await;
    ledger.marks().set("main", &mark("v1", 7), false).await.unwrap();
    let filter = Filter::parse("error:A since:@v1").unwrap();
    let resolved = ledger.marks().resolve("main", &filter).await.unwrap().to_string();
    assert_eq!(resolved, "error:A since:2026-11-20T03:12:09.000007Z");
    let unknown = ledger.marks().resolve("other", &filter).await.unwrap_err();
    assert!(matches!(unknown, LedgerError::UnknownMark(_)), "{unknown}");
}
