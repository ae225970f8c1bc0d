//! Where keys stand in the text of an adapter file.

use toml::de::DeTable;

use super::Misfit;

/// Where a file asks for what a table lacks: in a database's own section, or for all. `main` is the dead-letter table.
pub(super) fn asked_for(text: &str, dialect: &str, main: bool, misfit: &Misfit) -> Option<usize> {
    let root = DeTable::parse(text).ok()?.into_inner();
    let own: [&[&str]; 2] = [&[dialect], &[]];
    own.into_iter().find_map(|section| {
        let mut path = section.to_vec();
        match (main, &misfit.column) {
            (true, Some(column)) => path.extend(["detect", "columns", column]),
            (true, None) => path.push("table"),
            (false, column) => {
                path.extend(["detect", "tables", &misfit.table]);
                path.extend(column.as_deref());
            }
        }
        key_at(&root, &path)
    })
}

/// Where the key at the end of a path stands.
pub(super) fn key_at(table: &DeTable<'_>, path: &[&str]) -> Option<usize> {
    let (first, rest) = path.split_first()?;
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == first)?;
    match rest.is_empty() {
        true => Some(key.span().start),
        false => key_at(value.get_ref().as_table()?, rest),
    }
}
