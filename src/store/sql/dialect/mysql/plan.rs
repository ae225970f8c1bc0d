//! What plans of MySQL and MariaDB say, as JSON.

use serde_json::Value;

/// What they call the rows that one look at a table reads: MariaDB, MySQL, and MySQL where the second version of its format is set.
const ROWS: [&str; 3] = ["rows", "rows_examined_per_scan", "estimated_rows"];

/// How many rows the only table of a plan is read for; `None` where none is, or the plan is none of theirs.
pub(super) fn rows_of(plan: &str) -> Option<u64> {
    find(&serde_json::from_str(plan).ok()?)
}

fn find(value: &Value) -> Option<u64> {
    match value {
        Value::Object(members) => {
            let rows = ROWS.iter().find_map(|name| members.get(*name)?.as_f64());
            // Truncation is fine: the figure is a guess.
            rows.map(|rows| rows as u64).or_else(|| members.values().find_map(find))
        }
        Value::Array(items) => items.iter().find_map(find),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_a_plan_are_found_whoever_wrote_it() {
        // Shortened from MariaDB 10.11, MySQL 8.0 and MySQL 9.
        let mariadb = r#"{"query_block": {"select_id": 1, "nested_loop": [{"table": {"table_name": "t",
            "access_type": "range", "key_length": "36", "rows": 74340, "filtered": 100}}]}}"#;
        let mysql = r#"{"query_block": {"select_id": 1, "cost_info": {"query_cost": "2.06"}, "table": {"table_name": "t",
            "key_length": "8", "rows_examined_per_scan": 9, "rows_produced_per_join": 9, "filtered": "100.00"}}}"#;
        let newer = r#"{"query": "/* select#1 */ select 1", "query_plan": {"operation": "Filter", "inputs": [
            {"operation": "Index range scan", "estimated_rows": 8.0}], "estimated_rows": 8.0}}"#;
        assert_eq!([mariadb, mysql, newer].map(rows_of), [Some(74_340), Some(9), Some(8)]);
        let none = r#"{"query_block": {"select_id": 1, "table": {"message": "Impossible WHERE"}}}"#;
        assert_eq!([none, "", "[1, 2]"].map(rows_of), [None; 3]);
    }
}
