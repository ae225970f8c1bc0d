//! Which members of kept rows a statement reads: nothing else needs to be sent.

use serde_json::{Map, Value};

use crate::store::sql::dialect::BatchRow;

/// How statements name what was kept of a row.
const KEPT: &str = "b.kept";

/// The rows with as much of what was kept as the statement reads.
pub(crate) fn narrowed(text: &str, rows: &[BatchRow]) -> Vec<BatchRow> {
    let members = members(text);
    let narrow = |row: &BatchRow| {
        let kept = row.kept.as_ref().map(|kept| match &members {
            Some(members) => only(kept, members).unwrap_or_else(|| kept.clone()),
            None => kept.clone(),
        });
        BatchRow { kept, ..row.clone() }
    };
    rows.iter().map(narrow).collect()
}

fn only(kept: &str, members: &[&str]) -> Option<String> {
    let mut kept: Map<String, Value> = serde_json::from_str(kept).ok()?;
    kept.retain(|name, _| members.contains(&name.as_str()));
    serde_json::to_string(&kept).ok()
}

/// The members that a statement reads; `None` where it may read all of them.
fn members(text: &str) -> Option<Vec<&str>> {
    if text.contains("b.*") {
        return None;
    }
    let mut members = Vec::new();
    for (at, _) in text.match_indices(KEPT) {
        members.extend(member(text.get(at + KEPT.len()..)?)?);
    }
    Some(members)
}

/// The member that is read where this follows `b.kept`: `->>'$.x'`, `::json->>'x'`, `, '$.x')`; none where it is compared with
/// NULL.
fn member(rest: &str) -> Option<Option<&str>> {
    let rest = rest.strip_prefix("::jsonb").or_else(|| rest.strip_prefix("::json")).unwrap_or(rest).trim_start();
    if rest.starts_with("IS NULL") || rest.starts_with("IS NOT NULL") {
        return Some(None);
    }
    let (is_argument, rest) = match rest.strip_prefix(',') {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix("->>").or_else(|| rest.strip_prefix("->"))?),
    };
    let (path, behind) = rest.trim_start().strip_prefix('\'')?.split_once('\'')?;
    if is_argument && !behind.trim_start().starts_with(')') {
        return None;
    }
    let name = match path.strip_prefix('$') {
        None => path,
        Some(path) => {
            let path = path.strip_prefix('.')?;
            match path.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"')?.0,
                None => path.split(['.', '[']).next()?,
            }
        }
    };
    Some(Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_the_words_of_each_database() {
        for text in [
            "b.kept::json->>'uuid' = x AND b.kept IS NOT NULL",
            "JSON_VALUE(b.kept, '$.uuid')",
            "b.kept->>'$.uuid'",
            "JSON_EXTRACT(b.kept, '$.uuid[0].more')",
            "(b.kept::jsonb -> 'uuid')::text",
        ] {
            let found = members(text);
            assert_eq!(found, Some(vec!["uuid"]), "{text}");
        }
        assert_eq!(members("JSON_EXTRACT(b.kept, '$.\"@along\".jobs[0].a')"), Some(vec!["@along"]));
        assert_eq!(members("SELECT b.id"), Some(vec![]));
    }

    #[test]
    fn a_statement_that_may_read_anything_is_sent_everything() {
        for text in [
            "SELECT b.* FROM {batch}",
            "jsonb_populate_record(NULL::jobs, b.kept::jsonb)",
            "(SELECT b.kept::json AS k FROM {batch})",
            "JSON_EXTRACT(b.kept, '$.a', '$.b')",
            "b.kept->>'$'",
        ] {
            assert_eq!(members(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_not_read_is_not_sent() {
        let kept = r#"{"uuid":"u","exception":"long","n":9007199254740993,"@run_after":7}"#;
        let row = BatchRow { id: "1".to_owned(), kept: Some(kept.to_owned()), ..BatchRow::default() };
        let narrow = |text: &str| narrowed(text, std::slice::from_ref(&row)).pop().and_then(|row| row.kept);
        assert_eq!(narrow("b.kept->>'$.n'").as_deref(), Some(r#"{"n":9007199254740993}"#));
        assert_eq!(narrow("b.kept LIKE 'x'").as_deref(), Some(kept));
    }
}
