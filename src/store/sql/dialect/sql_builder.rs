//! A statement under construction: text and values grow together, so that their order cannot differ.

use crate::db::{Bind, Statement};
use crate::store::sql::dialect::Dialect;

/// A statement under construction.
pub(crate) struct Sql {
    dialect: &'static dyn Dialect,
    text: String,
    binds: Vec<Bind>,
}

impl Sql {
    pub(crate) fn new(dialect: &'static dyn Dialect) -> Self {
        Self { dialect, text: String::new(), binds: Vec::new() }
    }

    pub(crate) fn dialect(&self) -> &'static dyn Dialect {
        self.dialect
    }

    /// Appends text.
    pub(crate) fn push(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Binds a value and returns its placeholder, which must be pushed before the next value is bound.
    pub(crate) fn bind(&mut self, value: Bind) -> String {
        self.binds.push(value);
        self.dialect.placeholder(self.binds.len())
    }

    /// Binds text and returns its placeholder.
    pub(crate) fn text(&mut self, value: &str) -> String {
        self.bind(Bind::Text(Some(value.to_owned())))
    }

    /// Binds text and pushes its placeholder.
    pub(crate) fn push_text(&mut self, value: &str) -> &mut Self {
        let place = self.text(value);
        self.push(&place)
    }

    /// Binds a whole number and pushes its placeholder.
    pub(crate) fn push_int(&mut self, value: i64) -> &mut Self {
        let place = self.bind(Bind::Int(Some(value)));
        let place = self.dialect.integer_placeholder(&place);
        self.push(&place)
    }

    /// Pushes the parts with `between` between them.
    pub(crate) fn join<T>(&mut self, parts: &[T], between: &str, mut each: impl FnMut(&mut Self, &T)) -> &mut Self {
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                self.push(between);
            }
            each(self, part);
        }
        self
    }

    pub(crate) fn done(self) -> Statement {
        Statement { sql: self.text, binds: self.binds }
    }
}
