//! Many rows in one statement, in the way that an engine takes them fastest.
//!
//! Not as JSON, as other values of several rows: unpacking it costs an engine many times what writing the row does.

use super::LedgerSql;
use crate::db::{Bind, Statement};

/// Rows of the largest statement where each value has a place of its own: beyond it a statement only grows.
const MOST: usize = 256;

/// How an engine takes many rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InsertRows {
    /// `VALUES`, with a place for each value.
    Places,
    /// Each column as an array of texts.
    Arrays,
}

/// A column that is written, and what its values are.
#[derive(Clone, Copy, Debug)]
pub(in crate::ledger) enum InsertColumn {
    Text(&'static str),
    Int(&'static str),
}

impl InsertColumn {
    fn name(self) -> &'static str {
        match self {
            InsertColumn::Text(name) | InsertColumn::Int(name) => name,
        }
    }
}

impl LedgerSql {
    /// How many of `rows` rows the next statement takes. The sizes are few, so that drivers can keep the statements.
    pub(in crate::ledger) fn rows_at_once(&self, rows: usize) -> usize {
        match self.rows {
            InsertRows::Places => 1 << rows.clamp(1, MOST).ilog2(),
            InsertRows::Arrays => rows,
        }
    }

    /// A statement that inserts rows, of which each has a value for every column.
    pub(in crate::ledger) fn insert<const N: usize>(
        &self,
        prefix: &str,
        table: &str,
        columns: &[InsertColumn; N],
        rows: impl ExactSizeIterator<Item = [Bind; N]>,
    ) -> Statement {
        let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
        let into = format!("INSERT INTO {table} ({}) ", names.join(", "));
        let (sql, binds) = match self.rows {
            InsertRows::Places => {
                let row = format!("({})", vec!["?"; columns.len()].join(", "));
                let sql = format!("{into}VALUES {}", vec![row.as_str(); rows.len()].join(", "));
                // The values stand in the order of their places, which need no numbers.
                let mut filled = String::with_capacity(sql.len());
                self.fill(&mut filled, prefix, &sql);
                let mut binds = Vec::with_capacity(rows.len() * N);
                rows.for_each(|row| binds.extend(row));
                return Statement { sql: filled, binds };
            }
            InsertRows::Arrays => arrays(&into, columns, rows),
        };
        self.statement(prefix, &sql, binds)
    }
}

fn arrays<const N: usize>(
    into: &str,
    columns: &[InsertColumn; N],
    rows: impl ExactSizeIterator<Item = [Bind; N]>,
) -> (String, Vec<Bind>) {
    let mut lists: Vec<Vec<Option<String>>> = columns.iter().map(|_| Vec::with_capacity(rows.len())).collect();
    for row in rows {
        for (list, value) in lists.iter_mut().zip(row) {
            list.push(match value {
                Bind::Text(text) => text,
                Bind::Int(n) => n.map(|n| n.to_string()),
                Bind::Texts(_) => None,
            });
        }
    }
    let each = |of: &dyn Fn(usize, InsertColumn) -> String| {
        columns.iter().enumerate().map(|(n, column)| of(n, *column)).collect::<Vec<_>>().join(", ")
    };
    let read = each(&|n, column| match column {
        InsertColumn::Text(_) => format!("c{n}"),
        InsertColumn::Int(_) => format!("CAST(c{n} AS {{bigint}})"),
    });
    let values = each(&|n, _| format!("?{}::text[]", n + 1));
    let names = each(&|n, _| format!("c{n}"));
    let sql = format!("{into}SELECT {read} FROM unnest({values}) AS told({names})");
    (sql, lists.into_iter().map(Bind::Texts).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::DatabaseKind;

    const COLUMNS: [InsertColumn; 2] = [InsertColumn::Int("run"), InsertColumn::Text("job_id")];

    fn rows() -> [[Bind; 2]; 2] {
        let row = |n, id: Option<&str>| [Bind::Int(Some(n)), Bind::Text(id.map(str::to_owned))];
        [row(1, Some("a")), row(2, None)]
    }

    #[test]
    fn rows_stand_as_the_engine_takes_them() {
        let said = |d| LedgerSql::of(d).insert("p_", "{run_jobs}", &COLUMNS, rows().into_iter());
        let lite = said(DatabaseKind::Sqlite);
        assert_eq!(lite.sql, "INSERT INTO p_run_jobs (run, job_id) VALUES (?, ?), (?, ?)");
        assert_eq!(lite.binds, rows().concat());
        let postgres = said(DatabaseKind::Postgres);
        assert_eq!(
            postgres.sql,
            "INSERT INTO p_run_jobs (run, job_id) SELECT CAST(c0 AS BIGINT), c1 FROM unnest($1::text[], $2::text[]) \
             AS told(c0, c1)"
        );
        let texts = |values: [Option<&str>; 2]| Bind::Texts(values.map(|v| v.map(str::to_owned)).into());
        assert_eq!(postgres.binds, [texts([Some("1"), Some("2")]), texts([Some("a"), None])]);
    }

    #[test]
    fn statements_have_few_sizes() {
        let mut sizes = std::collections::BTreeSet::new();
        for rows in 1..3_000 {
            let (mut left, text) = (rows, LedgerSql::of(DatabaseKind::Mysql));
            while left > 0 {
                let n = text.rows_at_once(left);
                sizes.insert(n);
                left -= n;
            }
        }
        assert_eq!(sizes.len(), 9, "{sizes:?}");
    }
}
