//! Marks: set by a deploy script, named in filters, compared with.

use serde_json::{Value, json};

use super::User;
use crate::fixtures::Layout;
use crate::harness::{self, Engine, TestDb};

/// Five dead jobs around ten o'clock on the 20th.
async fn deployed(db: &TestDb) {
    Layout::JobsDlq.install(db).await;
    for (class, at) in [
        ("Gone", "20 09:00:00"),
        ("Gone", "20 09:59:59"),
        ("New", "20 10:00:00"),
        ("Returned", "18 08:00:00"),
        ("Returned", "20 11:00:00"),
    ] {
        db.execute(&format!(
            "insert into jobs_dlq (payload, attempts, error_class, failed_at) \
             values ('{{\"class\":\"Mail\"}}', 3, '{class}', '2026-11-{at}')"
        ))
        .await;
    }
}

fn changes(stats: &Value) -> Vec<String> {
    let bars = stats["bars"].as_array().expect("bars");
    let told = |bar: &Value| {
        format!(
            "{} {} {} {}",
            bar["value"].as_str().unwrap_or("-"),
            bar["before"],
            bar["since"],
            bar["change"].as_str().unwrap_or("-")
        )
    };
    bars.iter().map(told).collect()
}

#[tokio::test]
async fn a_mark_is_set_once_named_in_filters_and_removed() {
    for db in harness::every_server("cli_marks").await {
        let name = format!("{:?}", db.engine);
        deployed(&db).await;
        let user = User::of(&db);
        assert!(user.run(&["mark"]).with(0).contains("no marks yet"), "{name}");
        let set = user.run(&["mark", "v2.3.1", "--at", "2026-11-20T10:00:00Z"]);
        assert!(
            set.with(0).contains("mark v2.3.1 is set at 2026-11-20 10:00:00Z, on this machine"),
            "{name}: {}",
            set.err
        );
        assert_eq!(set.out, "", "{name}");
        let again = user.run(&["mark", "v2.3.1"]);
        assert!(again.with(4).contains("`dlq-tui mark v2.3.1 --force` moves it"), "{name}: {}", again.err);
        let marks = user.json(&["marks", "-o", "json"])["marks"].clone();
        assert_eq!(
            (&marks[0]["name"], &marks[0]["at"]),
            (&json!("v2.3.1"), &json!("2026-11-20T10:00:00.000000Z")),
            "{name}"
        );
        let count = |filter: &str| user.json(&["stats", "-f", filter, "-o", "json"])["total"]["n"].clone();
        assert_eq!(count("since:@v2.3.1"), 2, "{name}");
        assert_eq!(count("until:@v2.3.1"), 3, "{name}");
        let unknown = user.run(&["stats", "-f", "since:@v2.3.l"]);
        assert!(unknown.with(2).contains("no mark `v2.3.l`: did you mean `v2.3.1`?"), "{name}: {}", unknown.err);
        let plan = user.json(&["replay", "-f", "since:@v2.3.1 error:New", "--dry-run", "-o", "json"]);
        assert_eq!(plan["count"], 1, "{name}: {plan}");
        assert_eq!(plan["filter"], "since:2026-11-20T10:00:00Z error:New", "{name}: {plan}");
        user.run(&["mark", "v2.3.1", "--force", "--at", "2026-11-21"]).with(0);
        assert_eq!(count("since:@v2.3.1 error:New"), 0, "{name}");
        assert!(user.run(&["mark", "v2.3.1", "--remove"]).with(0).contains("is removed"), "{name}");
        assert!(user.run(&["mark", "v2.3.1", "--remove"]).with(2).contains("there is no mark"), "{name}");
        for wrong in [&["mark", "a b"][..], &["mark", "v1", "--at", "yesterday"]] {
            assert!(!user.run(wrong).with(2).is_empty(), "{name}");
        }
    }
}

#[tokio::test]
async fn operators_share_marks_where_the_source_holds_the_ledger() {
    for db in harness::every_server("cli_marks_shared").await {
        let name = format!("{:?}", db.engine);
        Layout::JobsDlq.seed(&db, 5).await;
        let (ada, bob) = (User::of(&db), User::of(&db));
        ada.run(&["mark", "mine"]).with(0);
        ada.run(&["init", "--ledger", "--yes"]).with(0);
        let set = ada.run(&["mark", "v1"]);
        assert!(set.with(0).contains("for all operators"), "{name}: {}", set.err);
        let names = |user: &User| {
            let marks = user.json(&["mark", "-o", "json"])["marks"].clone();
            let names = marks.as_array().expect("marks").iter().filter_map(|mark| mark["name"].as_str());
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(names(&bob), ["v1"], "{name}");
        assert_eq!(names(&ada), ["v1", "mine"], "{name}: what was set here before is known still");
        assert!(bob.run(&["mark", "v1"]).with(4).contains("set already"), "{name}");
        bob.run(&["mark", "v1", "--remove"]).with(0);
        assert_eq!(names(&ada), ["mine"], "{name}");
    }
}

#[tokio::test]
async fn each_value_is_compared_with_the_time_before_the_mark() {
    for db in harness::every_server("cli_marks_against").await {
        let name = format!("{:?}", db.engine);
        Layout::JobsDlq.install(&db).await;
        // The mark is an hour old; the minutes are counted from it.
        let at = |minutes: i64| match db.engine {
            Engine::Postgres => format!("now() - interval '60 minutes' + interval '{minutes} minutes'"),
            Engine::Mysql => format!("utc_timestamp(6) - interval 60 minute + interval {minutes} minute"),
            Engine::Sqlite => format!("strftime('%Y-%m-%d %H:%M:%f', 'now', '-60 minutes', '{minutes:+} minutes')"),
        };
        for (class, minutes) in [
            ("Flat", [-50, -30, -10, 5, 25, 45].as_slice()),
            ("Gone", &[-59, -2]),
            ("Old", &[-600]),
            ("New", &[1]),
            ("Returned", &[-1500, 30]),
            ("Growing", &[-30, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        ] {
            for minute in minutes {
                db.execute(&format!(
                    "insert into jobs_dlq (payload, attempts, error_class, failed_at) \
                     values ('{{\"class\":\"Mail\",\"kind\":\"{class}\"}}', 3, '{class}', {})",
                    at(*minute)
                ))
                .await;
            }
        }
        let user = User::of(&db);
        user.run(&["mark", "v1", "--at", "1h"]).with(0);
        let expected =
            ["New 0 1 new", "Returned 0 1 returned", "Growing 1 11 growing", "Flat 3 3 steady", "Gone 2 0 gone"];
        let stats = user.json(&["stats", "--against", "@v1", "-o", "json"]);
        assert_eq!(changes(&stats), expected, "{name}: {stats}");
        assert_eq!((&stats["mark"], &stats["facet"]), (&json!("v1"), &json!("error")), "{name}");
        let by_path = user.json(&["stats", "--by", "args.kind", "--against", "v1", "-o", "json"]);
        assert_eq!(changes(&by_path), expected, "{name}: {by_path}");
        let since = user.json(&["stats", "--against", "@v1", "-f", "since:@v1 error:Gone", "-o", "json"]);
        assert_eq!(changes(&since), ["Gone 2 0 gone"], "{name}: what is gone is listed under any time");
        let table = user.run(&["stats", "--against", "@v1"]);
        table.with(0);
        assert!(table.out.contains("compared with the 1h00m before"), "{name}: {}", table.out);
        assert!(user.run(&["stats", "--against", "@v1", "--by", "hour"]).with(2).contains("another facet"), "{name}");
        user.run(&["mark", "later", "--at", "2999-01-01"]).with(0);
        assert!(user.run(&["stats", "--against", "@later"]).with(2).contains("lies ahead"), "{name}");
    }
}
