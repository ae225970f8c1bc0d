//! PostgreSQL's own record of its plans: its module `auto_explain` writes each into the log, with what it came to.

use serde_json::Value;

use super::layouts::CASES;
use super::story::{PHASE, install_missing, tell};
use super::{Fault, MANY, Stage, judge, shown};
use crate::harness::{self, Engine, Server, TestDb};

const SETTINGS: [&str; 9] = [
    "shared_preload_libraries=auto_explain",
    "auto_explain.log_min_duration=0",
    "auto_explain.log_analyze=on",
    "auto_explain.log_timing=off",
    "auto_explain.log_format=json",
    "auto_explain.log_parameter_max_length=0",
    "log_line_prefix=%d@",
    // The tables lie in memory, and in production on solid state.
    "random_page_cost=1.1",
    "autovacuum=off",
];

#[tokio::test]
async fn no_hot_path_reads_a_table_from_end_to_end_on_postgresql() {
    let Ok(server) = harness::private_postgres_with(&SETTINGS, None).map_err(|why| harness::skip("postgres", &why))
    else {
        return;
    };
    let mut wrong = Vec::new();
    for case in CASES.iter().filter(|case| case.engines.contains(&Engine::Postgres)) {
        let db = server.database(case.adapter).await;
        case.install(&db).await;
        let indexed = db.twin().await;
        tell(case, &db).await;
        wrong.extend(judge(case, "postgres", Stage::AsItComes, &faults(&server, &db).await));
        if install_missing(case, &indexed).await {
            tell(case, &indexed).await;
            wrong.extend(judge(case, "postgres", Stage::Indexed, &faults(&server, &indexed).await));
        }
    }
    assert!(wrong.is_empty(), "{} faults\n{}", wrong.len(), wrong.join("\n"));
}

/// What was wrong with the statements of a database.
async fn faults(server: &Server, db: &TestDb) -> Vec<Fault> {
    let large = db.column("select relname::text from pg_class where relkind = 'r' and reltuples > 2500").await;
    let (mut phase, mut faults) = (None, Vec::new());
    for plan in plans(&server.log(), db.name()) {
        let sql = plan["Query Text"].as_str().unwrap_or_default();
        if let Some((_, name)) = sql.split_once(PHASE) {
            let name = name.split('\'').next().unwrap_or_default();
            phase = Some(name.trim().to_owned());
        } else if let Some(phase) = &phase {
            let mut found = Vec::new();
            walk(&plan["Plan"], &large, &mut found);
            faults.extend(found.into_iter().map(|what| Fault { phase: phase.clone(), what, sql: shown(sql) }));
        }
    }
    assert_eq!(phase.as_deref(), Some("the end"), "the log has the whole story");
    faults
}

/// The plans that the log holds for a database, in order.
fn plans(log: &str, database: &str) -> Vec<Value> {
    let lead = format!("{database}@LOG:  duration: ");
    let mut plans = Vec::new();
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with(&lead) && line.ends_with("plan:") {
            let mut json = String::new();
            while let Some(more) = lines.next_if(|line| line.starts_with('\t')) {
                json.push_str(more);
                json.push('\n');
            }
            plans.push(serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}: {json}")));
        }
    }
    plans
}

fn walk(node: &Value, large: &[String], faults: &mut Vec<String>) {
    let text = |key: &str| node[key].as_str().unwrap_or_default();
    let number = |key: &str| node[key].as_f64().unwrap_or(0.0);
    let (kind, table) = (text("Node Type"), text("Relation Name"));
    let dropped = number("Rows Removed by Filter") + number("Rows Removed by Index Recheck");
    let seen = (number("Actual Rows") + dropped) * number("Actual Loops");
    let index = text("Index Name");
    if kind == "Seq Scan" && large.iter().any(|name| name == table) {
        faults.push(format!("Seq Scan on {table}"));
    } else if kind.contains("Scan") && seen > MANY {
        faults.push(format!("{kind} of {seen} rows of {table}, {index}"));
    }
    let input =
        |child: &Value| child["Actual Rows"].as_f64().unwrap_or(0.0) * child["Actual Loops"].as_f64().unwrap_or(0.0);
    let children = node["Plans"].as_array().map_or(&[][..], Vec::as_slice);
    if kind == "Sort" && children.iter().any(|child| input(child) > MANY) {
        faults.push(format!("Sort by {}", node["Sort Key"]));
    }
    for child in children {
        walk(child, large, faults);
    }
}
