//! `contrast`: what jobs have in common that others have not, held against SQL.

use serde_json::Value;

use super::User;
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};

/// A number that SQL counts.
async fn count(db: &TestDb, sql: &str) -> u64 {
    db.column(sql).await[0].parse().expect("a number")
}

#[tokio::test]
async fn a_planted_value_is_the_first_line_with_the_counts_of_sql_on_every_engine() {
    for db in harness::every_engine("cli contrast").await {
        Layout::DeadLetterJobs.seed(&db, 3_000).await;
        let set = |currency: &str, message: &str, condition: &str| {
            let arguments = format!("{{\"order\": {{\"currency\": \"{currency}\"}}, \"attempt\": 1}}");
            format!("update dead_letter_jobs set arguments = '{arguments}'{message} where {condition}")
        };
        db.execute(&set("EUR", "", "1 = 1")).await;
        // By chance, as the columns of the fixtures go by one number.
        let ids = db.column("select cast(id as char(36)) from dead_letter_jobs").await;
        let is_chosen = |id: &&String| {
            id.bytes().fold(7_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into())) / 64 % 10 == 0
        };
        let ids: Vec<String> = ids.iter().filter(is_chosen).map(|id| format!("'{id}'")).collect();
        let chosen = format!("cast(id as char(36)) in ({})", ids.join(", "));
        db.execute(&set("JPY", ", error_message = 'no such currency'", &chosen)).await;
        let dead = "select count(*) from dead_letter_jobs where status = 'failed'";
        let chosen = count(&db, &format!("{dead} and error_message = 'no such currency'")).await;
        let others = count(&db, &format!("{dead} and error_message <> 'no such currency'")).await;
        let user = User::of(&db);
        let arguments = ["contrast", "-f", "msg:\"no such currency\"", "-o", "json"];
        for more in [&[][..], &["--sample", "100", "--all"]] {
            let told = user.json(&[&arguments, more].concat());
            let counts = (told["chosen"].as_u64(), told["others"].as_u64(), told["sample"].as_bool());
            assert_eq!((counts.0, counts.2), (Some(chosen), Some(false)), "{told:#}");
            assert!(counts.1.is_some_and(|n| n <= others && n * 10 > others * 8), "{told:#}");
            let first = &told["differences"][0];
            assert_eq!(first["attributes"], Value::from(vec!["args.order.currency = \"JPY\""]), "{told:#}");
            assert_eq!((first["chosen"].as_u64(), first["others"].as_u64()), (Some(chosen), Some(0)), "{told:#}");
            assert_eq!(first["filter"], "args.order.currency:JPY");
        }
        let sampled = user.json(&[&arguments[..], &["--sample", "100"]].concat());
        assert_eq!((sampled["chosen"].as_u64(), sampled["sample"].as_bool()), (Some(100), Some(true)));
        // What only the ledger can judge is compared by its arguments too.
        let by_ledger = user.json(&["contrast", "-f", "replayed:0 msg:\"no such currency\"", "-o", "json"]);
        assert_eq!(by_ledger["chosen"].as_u64(), Some(chosen), "{by_ledger:#}");
        assert_eq!(by_ledger["differences"][0]["filter"], "args.order.currency:JPY", "{by_ledger:#}");
        // Jobs of other classes are left out where the chosen ones have few classes.
        assert!(chosen > 100 && others > chosen, "{chosen} of {others}");
        let none = user.run(&["contrast", "-f", "error:Nothing"]);
        none.with(0);
        assert!(
            none.out.starts_with("0 jobs, compared with ") && none.out.ends_with("nothing to compare\n"),
            "{}",
            none.out
        );
        assert_eq!(user.json(&["contrast", "-f", "error:Nothing", "-o", "json"])["chosen"].as_u64(), Some(0));
        let against = user.json(&[&arguments[..], &["--against", "error:KeyError"]].concat());
        let expected = count(&db, &format!("{dead} and error_class = 'KeyError'")).await;
        assert_eq!(against["others"].as_u64(), Some(expected));
        // A class whose others are too few says nothing.
        let few: Vec<&str> = ids.iter().take(20).map(String::as_str).collect();
        let rare = format!("cast(id as char(36)) in ({})", few.join(", "));
        db.execute(&format!("update dead_letter_jobs set job_class = 'Rare' where {rare}")).await;
        let rare = user.json(&["contrast", "-f", "class:Rare msg:\"no such currency\"", "-o", "json"]);
        assert_eq!(rare["baseline"], "all_others", "{rare:#}");
    }
}

#[tokio::test]
async fn where_jobs_failed_and_columns_that_no_key_names_are_compared_on_every_engine() {
    for db in harness::every_engine("cli contrast columns").await {
        Layout::DeadLetterJobs.seed(&db, 2_400).await;
        db.execute("alter table dead_letter_jobs add column priority integer").await;
        db.execute("alter table dead_letter_jobs add column api_token varchar(40)").await;
        let frames = |line: u32| format!("[\"/app/app/models/charge.rb:{line}:in 'capture'\"]").replace('\'', "''");
        let set = |line, priority, token, message: &str, condition: &str| {
            format!(
                "update dead_letter_jobs set arguments = '{{}}', error_backtrace = '{}', priority = {priority}, api_token = \
                 '{token}'{message} where {condition}",
                frames(line)
            )
        };
        db.execute(&set(10, 1, "t-of-others", "", "1 = 1")).await;
        let ids = db.column("select cast(id as char(36)) from dead_letter_jobs").await;
        let listed = |ids: &[&String]| ids.iter().map(|id| format!("'{id}'")).collect::<Vec<_>>().join(", ");
        let is = |ids: &[&String]| format!("cast(id as char(36)) in ({})", listed(ids));
        let by_chance =
            |id: &&String| id.bytes().fold(7_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for id in &ids {
            match by_chance(&id) / 64 % 8 {
                0 => first.push(id),
                1 => second.push(id),
                _ => {}
            }
        }
        db.execute(&set(99, 1, "t-of-others", ", error_message = 'wrong line'", &is(&first))).await;
        db.execute(&set(10, 7, "t-of-chosen", ", error_message = 'wrong priority'", &is(&second))).await;
        let user = User::of(&db);
        for (message, expected) in
            [("wrong line", "frame = /app/app/models/charge.rb:99"), ("wrong priority", "priority = 7")]
        {
            let filter = format!("msg:\"{message}\"");
            for more in [&[][..], &["--sample", "100", "--all"]] {
                let told = user.json(&[&["contrast", "-f", &filter, "-o", "json"], more].concat());
                let line = &told["differences"][0];
                assert_eq!(line["attributes"], Value::from(vec![expected]), "{}: {told:#}", db.engine.name());
                assert_eq!((&line["chosen"], &line["filter"]), (&told["chosen"], &Value::Null), "{told:#}");
                assert!(!told.to_string().contains("t-of-"), "a secret: {told:#}");
            }
        }
    }
}

#[tokio::test]
async fn a_class_of_which_all_are_chosen_is_compared_with_its_live_and_succeeded_jobs_on_every_engine() {
    for db in harness::every_engine("cli contrast live").await {
        Layout::DlqEvents.seed(&db, 3_000).await;
        let set = |currency: &str, condition: &str| {
            format!(
                "update dlq_events set payload = '{{\"currency\": \"{currency}\"}}', event_type = 'One' where {condition}"
            )
        };
        db.execute(&set("EUR", "status <> 'FAILED_PERMANENTLY'")).await;
        db.execute(&set("JPY", "status = 'FAILED_PERMANENTLY'")).await;
        let of = |status: &str| format!("select count(*) from dlq_events where status {status}");
        let dead = count(&db, &of("= 'FAILED_PERMANENTLY'")).await;
        let others = count(&db, &of("in ('PENDING', 'PROCESSING', 'SUCCEEDED')")).await;
        assert!(dead > 100 && others > 40, "{dead} {others}");
        let user = User::of(&db);
        let told = user.json(&["contrast", "-f", "class:One", "-o", "json"]);
        let told_of = ["baseline", "classes", "chosen", "others"].map(|field| told[field].clone());
        assert_eq!(told_of, [Value::from("live_or_succeeded"), Value::from(vec!["One"]), dead.into(), others.into()]);
        assert_eq!(told["differences"][0]["attributes"], Value::from(vec!["args.currency = \"JPY\""]), "{told:#}");
        let shown = user.run(&["contrast", "-f", "class:One"]);
        assert!(shown.out.contains("live or succeeded jobs of One"), "{}", shown.out);
        // Jobs that are live themselves have no such baseline.
        let live = user.json(&["contrast", "-f", "class:One state:resolved", "-o", "json"]);
        assert_ne!(live["baseline"], "live_or_succeeded", "{live:#}");
    }
}

/// Each value with its number of jobs, as `stats` has them.
fn bars(told: &Value) -> Vec<(Option<String>, u64)> {
    let bar = |bar: &Value| (bar["value"].as_str().map(str::to_owned), bar["n"].as_u64().expect("a number"));
    told["bars"].as_array().expect("bars").iter().map(bar).collect()
}

#[tokio::test]
async fn jobs_are_counted_by_a_value_in_their_arguments_on_every_engine() {
    for db in harness::every_engine("cli by argument").await {
        Layout::DeadLetterJobs.seed(&db, 900).await;
        db.execute("update dead_letter_jobs set arguments = '{\"n\": 12345678901234567890.10, \"password\": \"x\"}'")
            .await;
        let set = |arguments: &str, error: &str| {
            format!("update dead_letter_jobs set arguments = '{arguments}' where error_class = '{error}'")
        };
        db.execute(&set(r#"{"items": [{"sku": "a"}, {"sku": "b"}, {"sku": "a"}], "n": null}"#, "KeyError")).await;
        db.execute(&set(r#"{"items": [{"sku": "b"}], "n": ""}"#, "Net::ReadTimeout")).await;
        let dead = "select count(*) from dead_letter_jobs where status = 'failed'";
        let all = count(&db, dead).await;
        let both = count(&db, &format!("{dead} and error_class = 'KeyError'")).await;
        let one = count(&db, &format!("{dead} and error_class = 'Net::ReadTimeout'")).await;
        assert!(both > 0 && one > 0 && all > 2 * both + one, "{all} {both} {one}");
        let user = User::of(&db);
        let sku = user.json(&["stats", "--by", "args.items.sku", "-o", "json"]);
        let value = |text: &str| Some(text.to_owned());
        let expected = [(None, all - both - one), (value("b"), both + one), (value("a"), both)];
        assert_eq!(bars(&sku), expected, "{sku:#}");
        assert_eq!((sku["total"]["n"].as_u64(), sku["facet"].as_str()), (Some(all), Some("args.items.sku")));
        // Each bar is what the filter term selects.
        for (text, n) in
            [("args.items.sku:b", both + one), ("args.items.sku:a", both), (r#"args.items.sku:"""#, all - both - one)]
        {
            assert_eq!(user.json(&["stats", "-f", text, "-o", "json"])["total"]["n"].as_u64(), Some(n), "{text}");
        }
        let number = user.json(&["stats", "--by", "args.n", "-f", "error:KeyError", "-o", "json"]);
        assert_eq!(bars(&number), [(None, both)]);
        let masked = user.json(&["stats", "--by", "args.password", "-o", "json"]);
        assert_eq!(bars(&masked)[0].0.as_deref(), Some("[redacted]"), "{masked:#}");
        let near = user.run(&["stats", "--by", "args.sku"]);
        near.with(0);
        assert!(
            near.err.contains("no job has a value at args.sku") && near.err.contains("args.items.0.sku"),
            "{}",
            near.err
        );
        let all_of_it = user.run(&["stats", "--by", "args"]);
        all_of_it.with(2);
        assert!(all_of_it.err.contains("name a path"), "{}", all_of_it.err);
    }
}

#[tokio::test]
async fn without_a_filter_there_is_nothing_to_compare_with() {
    let user = User::new();
    let ended = user.run(&["contrast", "--url", "sqlite::memory:"]);
    ended.with(2);
}
