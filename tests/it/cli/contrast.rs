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
    }
}

#[tokio::test]
async fn without_a_filter_there_is_nothing_to_compare_with() {
    let user = User::new();
    let ended = user.run(&["contrast", "--url", "sqlite::memory:"]);
    ended.with(2);
}
