//! MariaDB's own record: its slow query log, which takes for slow what takes any time at all, and writes down beside each
//! statement how many rows were looked at.

use super::layouts::CASES;
use super::story::{PHASE, install_missing, tell};
use super::{Fault, MANY, Stage, judge, shown};
use crate::harness::{self, Engine};

#[tokio::test]
async fn no_hot_path_reads_a_table_from_end_to_end_on_mariadb() {
    let Some(server) = harness::private_mariadb() else { return };
    let admin = server.database("admin").await;
    let data = admin.scalar("select @@datadir").await;
    admin
        .execute(
            "set global slow_query_log_file = 'plans.log', global long_query_time = 0, \
             global slow_query_log = on",
        )
        .await;
    let log = format!("{data}/plans.log");
    let mut wrong = Vec::new();
    for case in CASES.iter().filter(|case| case.engines.contains(&Engine::Mysql)) {
        let db = server.database(case.adapter).await;
        case.install(&db).await;
        // The second telling finds what the first has left, which is all but some hundred rows.
        for stage in Stage::SEEN {
            if stage == Stage::Indexed && !install_missing(case, &db).await {
                continue;
            }
            let before = std::fs::read(&log).expect("a log").len();
            tell(case, &db).await;
            let text = std::fs::read(&log).expect("a log");
            let faults = faults(&String::from_utf8_lossy(&text[before..]));
            wrong.extend(judge(case, "mariadb", stage, &faults));
        }
    }
    assert!(wrong.is_empty(), "{} faults\n{}", wrong.len(), wrong.join("\n"));
}

/// What was wrong with the statements that a log holds.
fn faults(log: &str) -> Vec<Fault> {
    let (mut phase, mut faults) = (None, Vec::new());
    for entry in log.split("# User@Host: ").skip(1) {
        let is_note =
            |line: &&str| line.starts_with('#') || line.starts_with("use ") || line.starts_with("SET timestamp");
        let sql: Vec<&str> =
            entry.lines().skip(1).filter(|line| !is_note(line)).flat_map(str::split_whitespace).collect();
        let sql = sql.join(" ");
        if let Some((_, name)) = sql.split_once(PHASE) {
            phase = Some(name.trim_matches([' ', '\'', ';']).to_owned());
        } else if let Some(phase) = &phase {
            faults.extend(wrong(entry).map(|what| Fault { phase: phase.clone(), what, sql: shown(&sql) }));
        }
    }
    assert_eq!(phase.as_deref(), Some("the end"), "the log has the whole story");
    faults
}

/// What is wrong with how one statement was run.
fn wrong(entry: &str) -> Option<String> {
    let notes = entry.lines().filter(|line| line.starts_with("# "));
    let seen =
        notes.filter_map(|line| line.split_once("Rows_examined: ")?.1.split_whitespace().next()?.parse::<f64>().ok());
    let seen = seen.fold(0.0, f64::max);
    (seen > MANY).then(|| format!("{seen} rows examined"))
}
