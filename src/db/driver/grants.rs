//! What MySQL and MariaDB say that a user was granted, for what the catalogue does not tell: deleting rows, making tables.

/// The grants of a user and of the roles that are on, as `SHOW GRANTS` lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grants {
    grants: Vec<MysqlGrant>,
    /// Whether there is a line that takes something away again, or cannot be read.
    unclear: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct MysqlGrant {
    /// In capitals, without columns.
    rights: Vec<String>,
    /// `None` stands for all.
    database: Option<String>,
    table: Option<String>,
}

impl Grants {
    pub(crate) fn parse(lines: &[String]) -> Self {
        let mut all = Self::default();
        for line in lines {
            match grant(line) {
                Line::Grant(grant) => all.grants.push(grant),
                Line::Other => {}
                Line::Unclear => all.unclear = true,
            }
        }
        all
    }

    /// Whether a grant gives this right on a table, or on some of its columns.
    pub(crate) fn give(&self, right: &str, database: &str, table: &str) -> bool {
        let fits = |grant: &&MysqlGrant| {
            // A name of a whole database is a pattern.
            let in_database = match (&grant.database, &grant.table) {
                (None, _) => true,
                (Some(name), Some(_)) => name == database,
                (Some(pattern), None) => is_like(pattern, database),
            };
            in_database && grant.table.as_ref().is_none_or(|name| name == table)
        };
        let gives = |grant: &MysqlGrant| grant.rights.iter().any(|given| given == right || given.starts_with("ALL"));
        self.grants.iter().filter(fits).any(gives)
    }

    /// Whether a grant gives this right on some table of a database.
    pub(crate) fn give_somewhere(&self, right: &str, database: &str) -> bool {
        let tables = self.grants.iter().filter_map(|grant| grant.table.as_deref());
        tables.chain([""]).any(|table| self.give(right, database, table))
    }

    /// Whether something may have been taken away again, or given in words that are not known here.
    pub(crate) fn are_unclear(&self) -> bool {
        self.unclear
    }
}

enum Line {
    Grant(MysqlGrant),
    /// One that says nothing of tables.
    Other,
    Unclear,
}

fn grant(line: &str) -> Line {
    if line.starts_with("SET DEFAULT ROLE") {
        return Line::Other;
    }
    let Some(rest) = line.strip_prefix("GRANT ") else { return Line::Unclear };
    let Some((rights, rest)) = split(rest, " ON ") else { return Line::Other };
    let Some((object, _)) = split(rest, " TO ") else { return Line::Unclear };
    if ["FUNCTION ", "PROCEDURE ", "PACKAGE "].iter().any(|kind| object.starts_with(kind)) || rights == "PROXY" {
        return Line::Other;
    }
    let Some((database, table)) = split(object, ".") else { return Line::Unclear };
    let name = |text: &str| (text != "*").then(|| text.trim_matches('`').replace("``", "`"));
    Line::Grant(MysqlGrant { rights: words(rights), database: name(database), table: name(table) })
}

/// Splits where the mark stands outside of quotes and brackets.
fn split<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let (mut depth, mut quote) = (0, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '`' | '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            _ => {}
        }
        if depth == 0 && quote.is_none() && text[at..].starts_with(mark) {
            return Some((&text[..at], &text[at + mark.len()..]));
        }
    }
    None
}

/// Rights by their words; the columns behind them are left out.
fn words(mut rights: &str) -> Vec<String> {
    let mut words = Vec::new();
    loop {
        let (word, rest) = split(rights, ", ").map_or((rights, None), |(word, rest)| (word, Some(rest)));
        words.push(word.split('(').next().unwrap_or_default().trim().to_ascii_uppercase());
        match rest {
            Some(rest) => rights = rest,
            None => return words,
        }
    }
}

/// Whether a name is like a pattern: `%` stands for anything, `_` for one letter, a backslash takes that from them.
fn is_like(pattern: &str, name: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => name.is_empty(),
        Some('%') => {
            name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| is_like(rest.as_str(), &name[at..]))
        }
        Some('_') => {
            let mut name = name.chars();
            name.next().is_some() && is_like(rest.as_str(), name.as_str())
        }
        Some(c) => {
            let c = if c == '\\' { rest.next().unwrap_or(c) } else { c };
            name.strip_prefix(c).is_some_and(|name| is_like(rest.as_str(), name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(lines: &[&str]) -> Grants {
        Grants::parse(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_right_is_given_on_a_table_a_database_or_everywhere() {
        let told = grants(&[
            "GRANT USAGE ON *.* TO `ops`@`%` IDENTIFIED BY PASSWORD '*ON .TO'",
            "GRANT SELECT, INSERT (`a`, `b ON c`), DELETE ON `shop`.`jobs` TO `ops`@`%`",
            "GRANT ALL PRIVILEGES ON `test\\_%`.* TO `ops`@`%` WITH GRANT OPTION",
            "GRANT `reader` TO `ops`@`%`",
            "GRANT EXECUTE ON FUNCTION `shop`.`f` TO `ops`@`%`",
            "SET DEFAULT ROLE `reader` FOR `ops`@`%`",
        ]);
        assert!(told.give("DELETE", "shop", "jobs") && told.give("INSERT", "shop", "jobs"));
        assert!(!told.give("DELETE", "shop", "other") && !told.give("DELETE", "shop2", "jobs"));
        assert!(told.give("DELETE", "test_1", "any") && !told.give("DELETE", "testx1", "any"), "an escaped _ is one");
        assert!(!told.are_unclear());
        assert!(grants(&["GRANT DELETE ON *.* TO `root`@`%`"]).give("DELETE", "a", "b"));
        assert!(grants(&["GRANT DELETE ON `a%`.* TO `x`@`%`"]).give("DELETE", "abc", "b"));
    }

    #[test]
    fn what_is_taken_away_again_or_not_understood_makes_it_unclear() {
        assert!(grants(&["GRANT DELETE ON *.* TO `a`@`%`", "REVOKE DELETE ON `x`.* FROM `a`@`%`"]).are_unclear());
        assert!(grants(&["what is this"]).are_unclear());
    }
}
