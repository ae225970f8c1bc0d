//! What comparisons read of a job beside its light row and its arguments: where it failed, and what nothing else shows.

use crate::adapter::{Column, FieldKind, Part};
use crate::store::ComparedColumns;
use crate::store::sql::query::layout::Layout;

/// Characters of a backtrace that are read. Which frame is the first is not known of one that is longer.
const BACKTRACE_HEAD: usize = 8_000;
/// Characters of a column that are read: what is longer is no value that jobs share.
const VALUE_HEAD: usize = 256;
/// Between columns. A row in which a value has it is compared without them.
const SEPARATOR: char = '\u{1f}';
/// Columns that take part, in the layout's order.
const MAX_COLUMNS: usize = 16;
/// Types whose values are no text.
const BINARY: [&str; 7] = ["blob", "binary", "bytea", "bit", "vector", "geometry", "tsvector"];
/// Types whose values are nearly all different.
const TIMES: [&str; 3] = ["time", "date", "interval"];

/// The beginning of the backtrace as a contract column.
pub(crate) fn backtrace(layout: &Layout) -> String {
    let head = |raw: &str, kind| layout.dialect.head(&layout.dialect.contract(raw, kind), BACKTRACE_HEAD + 1);
    layout.part(Part::Backtrace).map_or("NULL".to_owned(), |expr| head(&expr.raw, expr.kind))
}

/// The columns as one contract column, each behind the [`SEPARATOR`]; what is NULL is empty.
pub(crate) fn columns(layout: &Layout) -> String {
    let head = |(_, raw): (String, String)| format!("coalesce({}, '')", layout.dialect.head(&raw, VALUE_HEAD + 1));
    let heads: Vec<String> = named(layout).into_iter().map(head).collect();
    let separator = format!("'{SEPARATOR}'");
    let texts: Vec<&str> = heads.iter().flat_map(|head| [separator.as_str(), head]).collect();
    if texts.is_empty() { "NULL".to_owned() } else { layout.dialect.concat(&texts) }
}

/// The columns that no part of a job is read from, and what the adapter shows of an open job, each as text.
fn named(layout: &Layout) -> Vec<(String, String)> {
    let of_parts: Vec<&str> =
        layout.spec.fields.iter().filter_map(|(part, _)| layout.part(part)?.column.as_deref()).collect();
    let of_key = [Some(&layout.key.expr), layout.key.scope.as_ref()];
    let of_key: Vec<&str> = of_key.into_iter().flatten().filter_map(|expr| expr.column.as_deref()).collect();
    let is_other = |column: &&Column| {
        let (name, data_type) = (column.name.as_str(), column.data_type.to_ascii_lowercase());
        let is_one_of = |types: &[&str]| types.iter().any(|word| data_type.contains(word));
        !of_parts.contains(&name) && !of_key.contains(&name) && !is_one_of(&BINARY) && !is_one_of(&TIMES)
    };
    let text = |raw: &str| layout.dialect.contract(raw, FieldKind::Text);
    let columns = layout.columns.iter().filter(is_other);
    let columns =
        columns.map(|column| (column.name.clone(), text(&format!("t.{}", layout.dialect.quote(&column.name)))));
    // What is looked up in other rows would be looked up for each of thousands of jobs.
    let is_lookup = |raw: &str| raw.to_ascii_lowercase().contains("select");
    let more = layout.more.iter().filter(|(_, expr)| !expr.kind.is_time() && !is_lookup(&expr.raw));
    let more = more.map(|(name, expr)| (name.clone(), text(&expr.raw)));
    columns.chain(more).take(MAX_COLUMNS).collect()
}

/// Reads what [`backtrace`] and [`columns`] have selected.
pub(crate) fn read(
    layout: &Layout,
    backtrace: Option<String>,
    columns: Option<String>,
) -> Option<Box<ComparedColumns>> {
    if backtrace.is_none() && columns.is_none() {
        // Of nearly all rows nothing was asked for.
        return None;
    }
    let backtrace = backtrace.filter(|text| text.chars().count() <= BACKTRACE_HEAD);
    let named = named(layout);
    let columns = columns.unwrap_or_default();
    let cells: Vec<&str> = columns.split(SEPARATOR).skip(1).collect();
    let is_value = |(_, value): &(String, &str)| !value.is_empty() && value.chars().count() <= VALUE_HEAD;
    let values: Vec<(String, String)> = match cells.len() == named.len() {
        true => named
            .into_iter()
            .map(|(name, _)| name)
            .zip(cells)
            .filter(is_value)
            .map(|(n, v)| (n, v.to_owned()))
            .collect(),
        false => Vec::new(),
    };
    (backtrace.is_some() || !values.is_empty()).then(|| Box::new(ComparedColumns { backtrace, values }))
}
