//! Options that take one of some words, which shells complete.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

/// One of some words, as a function of ours reads it: what is wrong with another is said in its words.
#[derive(Clone)]
pub struct Choice<T> {
    words: Vec<&'static str>,
    read: fn(&str) -> Result<T, String>,
}

impl<T> Choice<T> {
    /// These words, read by `read`.
    pub fn new(words: impl IntoIterator<Item = &'static str>, read: fn(&str) -> Result<T, String>) -> Self {
        Self { words: words.into_iter().collect(), read }
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Choice<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        self.read.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.words.iter().map(PossibleValue::new)))
    }
}
