//! What is said where a filter on arguments selects nothing.

use super::User;
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};

async fn orders(name: &str) -> (TestDb, User) {
    let db = harness::sqlite(name).await;
    Layout::JobsDlq.install(&db).await;
    for (id, currency) in [(1, "EUR"), (2, "USD"), (3, "USD")] {
        db.execute(&format!(
            r#"insert into jobs_dlq (id, payload, error_class, error_msg, failed_at) values ({id},
               '{{"class":"A","arguments":[{{"currency":"{currency}","api_key":"sk_live_51H8xYzAbCdEfGh{id}"}}]}}', 'E', 'm', '2026-11-18 09:14:02')"#
        ))
        .await;
    }
    let user = User::of(&db);
    (db, user)
}

#[tokio::test]
async fn paths_that_jobs_have_are_named_where_none_has_the_one_that_was_asked_for() {
    let (_db, user) = orders("no match path").await;
    let filter = "args.currenzy:EUR";
    let expected = "no job has a value at args.currenzy among the newest 3 jobs; paths seen: ";
    for args in [
        &["stats", "-f", filter][..],
        &["list", "-f", filter],
        &["export", "-f", filter],
        &["replay", "-f", filter, "--yes"],
    ] {
        let told = user.run(args);
        let err = told.with(0);
        assert!(err.contains(expected) && err.contains("args.arguments.0.currency"), "{args:?}: {err}");
        assert!(!told.out.contains("paths seen") && !err.contains("sk_live"), "{args:?}: {}{err}", told.out);
    }
    let rest = user.run(&["stats", "-f", "class:A args.nope:1"]);
    assert!(rest.with(0).contains("the newest 3 jobs that the rest of the filter selects"), "{}", rest.err);
    assert_eq!(user.json(&["stats", "-f", filter, "-o", "json"])["total"]["n"], 0);
    assert_eq!(user.json(&["list", "-f", filter, "-o", "json"])["jobs"].as_array().map(Vec::len), Some(0));
    // What asks for jobs without a value, or without this one, is no mistake in the path.
    for filter in ["class:Nope -args.currenzy:EUR", "class:Nope args.currenzy:\"\""] {
        assert!(!user.run(&["stats", "-f", filter]).with(0).contains("args."), "{filter}");
    }
}

#[tokio::test]
async fn values_are_named_where_no_job_has_the_one_that_was_asked_for_and_secrets_are_not() {
    let (_db, user) = orders("no match value").await;
    let told = user.run(&["stats", "-f", "args.arguments.currency:GBP"]);
    let err = told.with(0);
    assert!(err.contains("values of args.arguments.currency in the newest 3 jobs: USD 2, EUR 1\n"), "{err}");
    let secret = user.run(&["list", "-f", "args.arguments.api_key:x"]);
    assert_eq!(secret.with(0), "values of args.arguments.api_key in the newest 3 jobs: masked\n");
}
