//! Text that jobs bring, and the one sanitiser between it and every screen, table and terminal line.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// Text from a job, a payload or a database: it may hold anything, so it has no `Display`.
///
/// [`Untrusted::exact`] is for JSON output, binds and files; a screen takes [`Untrusted::line`] or
/// [`Untrusted::lines`], which go through the sanitiser.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Untrusted(String);

impl Untrusted {
    /// Wraps text as it was read.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text as it was read; never for a terminal.
    pub fn exact(&self) -> &str {
        &self.0
    }

    /// One line for a screen: line breaks become visible marks too.
    pub fn line(&self) -> Clean<'_> {
        Clean::line(&self.0)
    }

    /// Lines for a screen: line breaks stay, everything else that could act is made visible.
    pub fn lines(&self) -> Clean<'_> {
        Clean::lines(&self.0)
    }
}

impl From<&str> for Untrusted {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Text that is safe to write to a terminal: the only form that views accept from a job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Clean<'a>(Cow<'a, str>);

impl<'a> Clean<'a> {
    /// Sanitises `text` to one line.
    pub fn line(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// Sanitises `text` and keeps its line breaks (as `\n`).
    pub fn lines(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// The same text, owned.
    pub fn into_owned(self) -> Clean<'static> {
        Clean(Cow::Owned(self.0.into_owned()))
    }
}

impl Deref for Clean<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Clean<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
