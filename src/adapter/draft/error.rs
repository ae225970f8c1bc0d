//! The class and the message of an error, out of one column or two, as text or as JSON.

use super::names::{CLASS_MEMBERS, MESSAGE_MEMBERS};
use super::{Guess, Sample};
use crate::adapter::table_match::Column;
use crate::domain::json::Document;

/// What tells of the error.
pub(super) struct ErrorGuess<'a> {
    pub(super) class: Option<Guess<'a>>,
    pub(super) message: Option<Guess<'a>>,
}

impl<'a> ErrorGuess<'a> {
    /// Completes what was found by name.
    pub(super) fn of(sample: &Sample, class: Option<Guess<'a>>, message: Option<Guess<'a>>) -> Self {
        let Some(Guess { column, .. }) = message else { return Self { class, message } };
        let errors = ErrorColumn { sample, column };
        if sample.json(column).is_some() {
            let message = errors.member_or_all();
            return Self { class: class.or_else(|| errors.member_of(CLASS_MEMBERS)), message: Some(message) };
        }
        let class = class.or_else(|| errors.leads_with_class().then(|| errors.leading()));
        Self { class, message }
    }
}

/// A column that tells of errors.
struct ErrorColumn<'s, 'a> {
    sample: &'s Sample,
    column: &'a Column,
}

impl<'a> ErrorColumn<'_, 'a> {
    /// What stands before the first colon.
    fn leading(&self) -> Guess<'a> {
        let (column, t) = (self.column, self.sample.named(self.column));
        let sql = match self.sample.dialect.as_str() {
            "postgres" => format!("substring({t} from '^([A-Za-z_][A-Za-z0-9_.:]*): ')"),
            "mysql" => format!("IF({t} REGEXP '^[A-Za-z_][A-Za-z0-9_.:]*: ', SUBSTRING_INDEX({t}, ': ', 1), NULL)"),
            _ => format!("CASE WHEN instr({t}, ': ') > 1 THEN substr({t}, 1, instr({t}, ': ') - 1) END"),
        };
        let why = format!("the text before the first `: ` of {}", column.name);
        Guess { column, sql: Some(sql), kind: "text", why }
    }

    /// The member of the JSON that holds the message, or all of it.
    fn member_or_all(&self) -> Guess<'a> {
        let column = self.column;
        self.member_of(MESSAGE_MEMBERS).unwrap_or_else(|| Guess {
            column,
            sql: Some(self.sample.cast(column, ["text", "CHAR", "TEXT"])),
            kind: "text",
            why: "by its name, as the JSON that it is".to_owned(),
        })
    }

    /// A member of the JSON documents seen, by its name. Not where PostgreSQL has them as text: one that is no JSON would fail
    /// every list.
    fn member_of(&self, names: &[&str]) -> Option<Guess<'a>> {
        let has = |name: &str| {
            self.sample
                .values(self.column)
                .any(|text| Document::parse(text).is_ok_and(|json| !json.at(name).is_empty()))
        };
        let (column, t) = (self.column, self.sample.named(self.column));
        let typed = column.data_type.to_ascii_lowercase().contains("json");
        let name = names.iter().find(|name| has(name))?;
        let sql = match self.sample.dialect.as_str() {
            "postgres" if !typed => return None,
            "postgres" => format!("{t}->>'{name}'"),
            "mysql" => format!("IF(JSON_VALID({t}), JSON_UNQUOTE(JSON_EXTRACT({t}, '$.{name}')), NULL)"),
            _ => format!("CASE WHEN json_valid({t}) THEN {t}->>'$.{name}' END"),
        };
        Some(Guess { column, sql: Some(sql), kind: "text", why: format!("`{name}` of the JSON in {}", column.name) })
    }

    /// Whether most messages begin with a word and a colon, as error classes do.
    fn leads_with_class(&self) -> bool {
        let leads = |v: &&str| {
            let head = v.split_once(": ").map(|(head, _)| head);
            head.is_some_and(|h| {
                h.starts_with(|c: char| c.is_ascii_alphabetic())
                    && h.chars().all(|c| c.is_ascii_alphanumeric() || "_.:".contains(c))
            })
        };
        let values = || self.sample.values(self.column);
        let (all, leading) = (values().count(), values().filter(leads).count());
        leading > 0 && leading * 2 >= all
    }
}
