//! A statement's rights, read from its text.
//!
//! No parser: a statement is cut into words, and a table is known by the placeholder that names it. What a word before a
//! table says (`INTO`, `UPDATE`, `DELETE FROM`) is done with it; whatever else is named is read.

use std::collections::{BTreeMap, BTreeSet};

use super::{Object, Privileges, Right};

/// Reads statements of a layout.
pub(super) struct SqlLexer<'a> {
    /// The dead-letter table's name.
    pub(super) own: &'a str,
    /// Whether a backslash in a text takes the mark behind it for a letter.
    pub(super) backslash: bool,
}

/// A piece of a statement.
#[derive(Clone, Debug, PartialEq)]
enum SqlToken {
    Word(String),
    Hole(String),
    Object(Object),
    Mark(char),
}

impl SqlToken {
    fn is(&self, word: &str) -> bool {
        matches!(self, SqlToken::Word(w) if w.eq_ignore_ascii_case(word))
    }

    fn word(&self) -> Option<&str> {
        if let SqlToken::Word(word) = self { Some(word) } else { None }
    }
}

/// Words that stand behind a table and are no other name for it.
const NO_NAMES: [&str; 18] = [
    "where",
    "set",
    "on",
    "join",
    "left",
    "inner",
    "cross",
    "using",
    "order",
    "group",
    "limit",
    "for",
    "values",
    "select",
    "union",
    "straight_join",
    "returning",
    "default",
];

/// Words that end the assignments of an UPDATE.
const AFTER_SET: [&str; 6] = ["where", "from", "returning", "order", "limit", "on"];

impl SqlLexer<'_> {
    /// What a statement, or a part of one, takes.
    pub(super) fn rights(&self, sql: &str) -> Privileges {
        let tokens = self.tokens(sql);
        let mut found = StatementTables { names: names(&tokens), ..StatementTables::default() };
        for at in 0..tokens.len() {
            found.look_at(&tokens, at);
        }
        found.rights
    }

    /// The tables that a text names.
    pub(super) fn tables(&self, sql: &str) -> Vec<Object> {
        let objects = self.tokens(sql).into_iter();
        objects.filter_map(|token| if let SqlToken::Object(object) = token { Some(object) } else { None }).collect()
    }

    /// Words, with tables and functions in the place of what names them.
    fn tokens(&self, sql: &str) -> Vec<SqlToken> {
        let raw = self.cut(sql);
        let mut tokens = Vec::with_capacity(raw.len());
        let mut at = 0;
        while let Some(token) = raw.get(at) {
            at += 1;
            match token {
                SqlToken::Hole(hole) if hole == "table" => tokens.push(SqlToken::Object(Object::Own)),
                SqlToken::Hole(hole) if hole == "target" => tokens.push(SqlToken::Object(Object::Target)),
                SqlToken::Hole(hole) if hole == "from" => {
                    tokens.extend([
                        SqlToken::Object(Object::Own),
                        SqlToken::Word("AS".into()),
                        SqlToken::Word("t".into()),
                    ]);
                }
                SqlToken::Hole(hole) if hole == "schema" => {
                    let (Some(SqlToken::Mark('.')), Some(SqlToken::Word(name))) = (raw.get(at), raw.get(at + 1)) else {
                        continue;
                    };
                    at += 2;
                    let called =
                        raw.get(at) == Some(&SqlToken::Mark('(')) && !tokens.last().is_some_and(|t| t.is("into"));
                    tokens.push(SqlToken::Object(match called {
                        true => Object::Function(name.clone()),
                        false if name == self.own => Object::Own,
                        false => Object::Beside(name.clone()),
                    }));
                }
                other => tokens.push(other.clone()),
            }
        }
        tokens
    }

    /// Words, placeholders and marks; texts and comments are left out.
    fn cut(&self, sql: &str) -> Vec<SqlToken> {
        let mut tokens = Vec::new();
        let mut rest = sql;
        while let Some(c) = rest.chars().next() {
            let end = match c {
                '\'' => {
                    let escapes = self.backslash || tokens.last().is_some_and(|t: &SqlToken| t.is("e"));
                    1 + quoted(&rest[1..], c, escapes)
                }
                '"' | '`' => {
                    let end = 1 + quoted(&rest[1..], c, false);
                    tokens.push(SqlToken::Word(rest[1..end].trim_end_matches(c).to_owned()));
                    end
                }
                '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
                '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
                '{' => match rest.find('}').map(|end| &rest[1..end]) {
                    Some(word) if !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_') => {
                        tokens.push(SqlToken::Hole(word.to_owned()));
                        word.len() + 2
                    }
                    _ => 1,
                },
                c if is_letter(c) => {
                    let end = rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
                    tokens.push(SqlToken::Word(rest[..end].to_owned()));
                    end
                }
                c => {
                    if !c.is_whitespace() {
                        tokens.push(SqlToken::Mark(c));
                    }
                    c.len_utf8()
                }
            };
            rest = &rest[end..];
        }
        tokens
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Where a text ends that was begun, in bytes behind its first mark.
fn quoted(rest: &str, mark: char, escapes: bool) -> usize {
    let mut chars = rest.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if escapes && c == '\\' {
            chars.next();
        } else if c == mark && chars.next_if(|(_, next)| *next == mark).is_none() {
            return at + mark.len_utf8();
        }
    }
    rest.len()
}

/// The other names of tables, with where they are given.
fn names(tokens: &[SqlToken]) -> Vec<(usize, String, Object)> {
    let named = tokens.iter().enumerate().filter_map(|(at, token)| {
        let SqlToken::Object(object) = token else { return None };
        let behind = tokens.get(at + 1)?;
        let name = if behind.is("as") { tokens.get(at + 2)? } else { behind }.word()?;
        let is_name = !NO_NAMES.iter().any(|word| name.eq_ignore_ascii_case(word));
        is_name.then(|| (at, name.to_owned(), object.clone()))
    });
    named.collect()
}

/// What was found of a statement so far.
#[derive(Default)]
struct StatementTables {
    rights: Privileges,
    /// Tables by their other names.
    names: Vec<(usize, String, Object)>,
    /// What is written to.
    written: Option<Object>,
}

impl StatementTables {
    fn look_at(&mut self, tokens: &[SqlToken], at: usize) {
        let before = |n: usize, word: &str| at >= n && tokens[at - n].is(word);
        match &tokens[at] {
            SqlToken::Object(function @ Object::Function(_)) => self.rights.add(function.clone(), Right::Execute, []),
            SqlToken::Object(table) if before(1, "into") => {
                self.written = Some(table.clone());
                self.rights.add(table.clone(), Right::Insert, listed(tokens, at + 1));
            }
            SqlToken::Object(table) => {
                if before(1, "update") {
                    self.written = Some(table.clone());
                }
                if before(1, "from") && before(2, "delete") {
                    self.rights.add(table.clone(), Right::Delete, []);
                }
                self.rights.add(table.clone(), Right::Select, []);
            }
            // `DELETE t FROM …`, and `FOR UPDATE OF t`.
            token if token.is("delete") => self.named(tokens, at, Right::Delete),
            token if token.is("of") && before(1, "update") && before(2, "for") => {
                self.named(tokens, at, Right::Lock);
            }
            token if token.is("set") => self.assigned(tokens, at),
            token if token.is("update") && before(1, "key") => self.assigned(tokens, at),
            // Both read what stands there.
            token if token.is("returning") || token.is("conflict") => {
                if let Some(table) = self.written.clone() {
                    self.rights.add(table, Right::Select, []);
                }
            }
            _ => {}
        }
    }

    /// The table of that name: as it was given last, or is given next, where several parts of a statement use one name.
    fn called(&self, name: &str, at: usize) -> Option<&Object> {
        let given = |(_, known, _): &&(usize, String, Object)| known == name;
        let before = self.names.iter().rev().filter(|(there, ..)| *there < at).find(given);
        before.or_else(|| self.names.iter().find(given)).map(|(_, _, table)| table)
    }

    /// Tables in the list of their other names that follows.
    fn named(&mut self, tokens: &[SqlToken], at: usize, right: Right) {
        for token in &tokens[at + 1..] {
            match token {
                SqlToken::Word(name) => match self.called(name, at).cloned() {
                    Some(table) => self.rights.add(table, right, []),
                    None => break,
                },
                SqlToken::Mark(',') => {}
                _ => break,
            }
        }
    }

    /// The columns that are given a value: `a = …, t.b = …, (c, d) = …`.
    fn assigned(&mut self, tokens: &[SqlToken], set: usize) {
        let (before, tokens) = tokens.split_at(set + 1);
        let mut columns: BTreeMap<Option<Object>, BTreeSet<String>> = BTreeMap::new();
        let (mut depth, mut begins) = (0, true);
        for (at, token) in tokens.iter().enumerate() {
            let behind = |n: usize| tokens.get(at + n);
            match token {
                SqlToken::Mark('(') => depth += 1,
                SqlToken::Mark(')') if depth == 0 => break,
                SqlToken::Mark(')') => depth -= 1,
                SqlToken::Mark(',') => begins |= depth == 0,
                SqlToken::Word(_) if depth == 0 && AFTER_SET.iter().any(|word| token.is(word)) => break,
                SqlToken::Word(name) if begins && behind(1) == Some(&SqlToken::Mark('.')) => {
                    let column = behind(2).and_then(SqlToken::word).map(str::to_owned);
                    columns.entry(self.called(name, before.len()).cloned()).or_default().extend(column);
                    begins = false;
                }
                SqlToken::Word(name) if begins => {
                    columns.entry(self.written.clone()).or_default().insert(name.clone());
                    // The next one of several in brackets.
                    begins = depth > 0 && behind(1) == Some(&SqlToken::Mark(','));
                }
                _ => {}
            }
        }
        for (table, columns) in columns {
            if let Some(table) = table {
                self.rights.add(table, Right::Update, columns);
            }
        }
    }
}

/// The columns in brackets behind a table, and what it is called there.
fn listed(tokens: &[SqlToken], from: usize) -> Vec<String> {
    let skipped = if tokens.get(from).is_some_and(|token| token.is("as")) { from + 2 } else { from };
    let Some(SqlToken::Mark('(')) = tokens.get(skipped) else { return Vec::new() };
    let within = tokens[skipped + 1..].iter().take_while(|token| **token != SqlToken::Mark(')'));
    let words: Vec<String> = within.filter_map(|token| token.word().map(str::to_owned)).collect();
    if words.first().is_some_and(|word| word.eq_ignore_ascii_case("select")) { Vec::new() } else { words }
}
