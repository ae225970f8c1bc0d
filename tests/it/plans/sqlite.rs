//! SQLite keeps no record: the statements are heard on their way to it, and explained afterwards.

use std::sync::{Arc, Mutex};

use dlq_tui::db::{Listener, Statement, Value};

use super::layouts::CASES;
use super::story::{PHASE, install_missing, tell_to};
use super::{Fault, Stage, judge, shown};
use crate::harness::{self, Engine, TestDb};
use crate::store_desk::{budget, engine};

/// The names that statements give to the tables of a layout.
const ALIASES: [&str; 3] = ["t", "j", "f"];

#[tokio::test]
async fn no_hot_path_reads_a_table_from_end_to_end_on_sqlite() {
    let mut wrong = Vec::new();
    for case in CASES.iter().filter(|case| case.engines.contains(&Engine::Sqlite)) {
        let db = harness::sqlite(case.name).await;
        case.install(&db).await;
        for stage in [Stage::Unseen, Stage::AsItComes, Stage::Indexed] {
            match stage {
                Stage::Unseen => db.execute("drop table sqlite_stat1").await,
                Stage::AsItComes => case.analyze(&db).await,
                Stage::Indexed if install_missing(case, &db).await => {}
                Stage::Indexed => continue,
            }
            let heard: Arc<Mutex<Vec<Statement>>> = Arc::default();
            let hears = Arc::clone(&heard);
            let listener = Listener::new(move |statement| hears.lock().expect("a lock").push(statement.clone()));
            tell_to(case, &db, Some(listener)).await;
            let heard = std::mem::take(&mut *heard.lock().expect("a lock"));
            wrong.extend(judge(case, "sqlite", stage, &faults(&heard, &db).await));
        }
    }
    assert!(wrong.is_empty(), "{} faults\n{}", wrong.len(), wrong.join("\n"));
}

async fn faults(heard: &[Statement], db: &TestDb) -> Vec<Fault> {
    let engine = engine(db).await;
    let (mut phase, mut faults) = (None, Vec::new());
    for statement in heard {
        let sql = &statement.sql;
        if let Some((_, name)) = sql.split_once(PHASE) {
            phase = Some(name.trim_matches([' ', '\'']).to_owned());
        } else if let Some(phase) = phase.as_ref().filter(|_| !sql.starts_with("CREATE")) {
            // With its values: what a range holds makes a difference.
            let explained = Statement { sql: format!("EXPLAIN QUERY PLAN {sql}"), binds: statement.binds.clone() };
            for step in engine.read(&[explained], &budget()).await.expect("a plan").remove(0) {
                let Some(Value::Text(step)) = step.0.get(3) else { continue };
                if is_wrong(step, phase.contains("page")) {
                    faults.push(Fault { phase: phase.clone(), what: step.clone(), sql: shown(sql) });
                }
            }
        }
    }
    assert_eq!(phase.as_deref(), Some("the end"), "the whole story was heard");
    faults
}

/// Whether a step reads a table from end to end, or sorts all that comes. A page goes along the table, and ends where it is
/// full: that is right in the order of the table itself, and wrong where there is something to sort. A batch sorts its own rows.
fn is_wrong(step: &str, is_page: bool) -> bool {
    let scanned = step.strip_prefix("SCAN ").filter(|rest| !rest.contains(" USING ") && !rest.contains("VIRTUAL"));
    match is_page {
        true => step == "USE TEMP B-TREE FOR ORDER BY",
        false => scanned.is_some_and(|name| ALIASES.contains(&name)),
    }
}
