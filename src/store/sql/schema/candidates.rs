//! Tables that may hold dead-lettered jobs where no adapter fits: by their names, and by the layouts that they resemble.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapter::{Adapter, Spec, Table, fit};
use crate::db::cells::Cells;
use crate::db::{Engine, Row};
use crate::store::found::{Candidates, CatalogueTables, NearMiss, Renamed};
use crate::store::sql::dialect::{catalogue::table_names, dialect};
use crate::store::sql::schema::archive_name::archive_table_name;
use crate::store::sql::schema::discovery::read_catalogue;
use crate::store::{Budget, Result};

/// Tables of other databases that are looked at.
const ELSEWHERE: usize = 5;

/// Tables whose columns are held against layouts.
const COMPARED: usize = 40;

/// Tables of our own, which hold runs and no jobs.
const OURS: &str = "dlq_tui";

/// Looks for tables that may hold dead-lettered jobs. Only the catalogue is read, and only a bounded part of it.
///
/// # Errors
/// When the catalogue cannot be read.
pub async fn candidates(engine: &Engine, adapters: &[Adapter], budget: &Budget) -> Result<Candidates> {
    let db_kind = engine.kind();
    let specs: Vec<(&Adapter, &[Spec])> = adapters.iter().map(|a| (a, a.variants(db_kind.word()))).collect();
    let known: BTreeSet<String> = specs.iter().flat_map(|(_, specs)| *specs).map(|spec| spec.table.clone()).collect();
    let known: Vec<String> = known.into_iter().collect();
    let mut statements = vec![table_names::telling(db_kind)];
    statements.extend(table_names::elsewhere(db_kind, &known));
    let mut results = engine.read(&statements, budget).await?.into_iter();
    let mut found = places(results.next().unwrap_or_default())?;
    found.retain(|(schema, table)| schema != OURS && !table.starts_with(OURS));
    found.sort_by_cached_key(|(_, table)| rank(table));

    let usual = dialect(db_kind).schema_first();
    let label = |schema: &str, table: &str| match usual {
        Some(usual) if usual != schema => format!("{schema}.{table}"),
        _ => table.to_owned(),
    };
    let catalogue = read_catalogue(engine, &names_of(&found, &specs), budget).await?;
    let mut near: Vec<NearMiss> = renamed(&specs, &catalogue, &found, dialect(db_kind).name_limit())
        .into_iter()
        .map(|((schema, table), adapter, of)| NearMiss {
            table: label(schema, table),
            adapter: adapter.to_owned(),
            why: Renamed::Table(of.to_owned()),
        })
        .collect();
    let mut elsewhere = places(results.next().unwrap_or_default())?;
    elsewhere.truncate(ELSEWHERE);
    if !elsewhere.is_empty() {
        let readable = engine.read(&[table_names::readable(db_kind, &elsewhere)], budget).await?.pop();
        for (schema, table) in places(readable.unwrap_or_default())? {
            let adapter = specs.iter().find(|(_, specs)| specs.iter().any(|spec| spec.table == table));
            near.extend(adapter.map(|(adapter, _)| NearMiss {
                table,
                adapter: adapter.name.clone(),
                why: Renamed::Database(schema),
            }));
        }
    }
    Ok(Candidates { tables: found.iter().map(|(schema, table)| label(schema, table)).collect(), near })
}

/// Schemas and tables, as they were read.
fn places(rows: Vec<Row>) -> Result<Vec<(String, String)>> {
    let place = |row| {
        let mut cells = Cells::new(row);
        Ok((cells.text()?.unwrap_or_default(), cells.text()?.unwrap_or_default()))
    };
    rows.into_iter().map(place).collect()
}

/// How telling a name is, the lowest first.
fn rank(table: &str) -> usize {
    let table = table.to_lowercase();
    table_names::WORDS.iter().position(|word| table.contains(word)).unwrap_or(usize::MAX)
}

/// What stands before and behind a layout's name in a table's: `app_failed_jobs` is `app_` and nothing.
fn affixes<'a>(table: &'a str, of: &str) -> Option<(&'a str, &'a str)> {
    let prefix = table.strip_suffix(of).filter(|prefix| prefix.ends_with(['_', '-']));
    let suffix = table.strip_prefix(of).filter(|suffix| suffix.starts_with(['_', '-']));
    prefix.map(|prefix| (prefix, "")).or(suffix.map(|suffix| ("", suffix)))
}

/// The names of the tables to compare with layouts, and of those that would stand beside them.
fn names_of(found: &[(String, String)], specs: &[(&Adapter, &[Spec])]) -> Vec<String> {
    let mut names = BTreeSet::new();
    for (_, table) in found {
        for spec in specs.iter().flat_map(|(_, specs)| *specs) {
            let Some((prefix, suffix)) = affixes(table, &spec.table) else { continue };
            names.insert(table.clone());
            for beside in spec.detect.tables.keys() {
                names.extend([beside.clone(), format!("{prefix}{beside}{suffix}")]);
            }
        }
        if names.len() > COMPARED {
            break;
        }
    }
    names.into_iter().collect()
}

/// A table by schema and name, the adapter whose layout it is, and the name that this looks for.
type Match<'a> = ((&'a str, &'a str), &'a str, &'a str);

/// The tables that fit a layout but for a prefix or a suffix of their name.
fn renamed<'a>(
    specs: &[(&'a Adapter, &'a [Spec])],
    catalogue: &CatalogueTables,
    found: &'a [(String, String)],
    longest: crate::store::sql::dialect::NameLimit,
) -> Vec<Match<'a>> {
    let fits = |(schema, table): &(String, String), spec: &Spec| {
        let Some((prefix, suffix)) = affixes(table, &spec.table) else { return false };
        let tables: Option<&BTreeMap<String, Table>> =
            catalogue.iter().find(|(name, _)| name == schema).map(|(_, tables)| tables);
        // Jobs are archived in a table that looks like their own.
        table != &archive_table_name(&spec.table, longest)
            && tables.is_some_and(|tables| {
                let beside = |name: &str| tables.get(&format!("{prefix}{name}{suffix}")).or_else(|| tables.get(name));
                fit(spec, |name| if name == spec.table { tables.get(table) } else { beside(name) }).is_empty()
            })
    };
    let layout = |place: &'a (String, String)| {
        let all = specs.iter().flat_map(|(adapter, specs)| specs.iter().map(move |spec| (adapter, spec)));
        let (adapter, spec) = all.filter(|(_, spec)| fits(place, spec)).max_by_key(|(_, spec)| spec.table.len())?;
        Some(((place.0.as_str(), place.1.as_str()), adapter.name.as_str(), spec.table.as_str()))
    };
    found.iter().filter_map(layout).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_or_suffix_is_what_a_whole_word_stands_beside() {
        assert_eq!(affixes("app_failed_jobs", "failed_jobs"), Some(("app_", "")));
        assert_eq!(affixes("failed_jobs_old", "failed_jobs"), Some(("", "_old")));
        for other in ["failed_jobs", "myfailed_jobs", "app_failed_jobs_old", "failed_jobsx"] {
            assert_eq!(affixes(other, "failed_jobs"), None, "{other}");
        }
    }

    #[test]
    fn telling_names_come_first() {
        let mut tables = ["mail_queue", "events", "jobs", "failed_mails", "user_tasks", "order_dlq", "Dead_Orders"];
        tables.sort_by_key(|table| rank(table));
        let expected = ["Dead_Orders", "order_dlq", "failed_mails", "jobs", "mail_queue", "user_tasks", "events"];
        assert_eq!(tables, expected);
    }
}
