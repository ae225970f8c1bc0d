//! What an operator asked for beside the verb and the jobs.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::pacing::Pacing;

/// The options of a run; kept with it as JSON, so that it goes on as it began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// How fast.
    #[serde(flatten)]
    pub pacing: Pacing,
    /// The run that is undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// Nothing is kept of the rows, and what earlier runs kept of them is erased.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_archive: bool,
}

impl Options {
    /// Whether nothing was asked for.
    pub fn is_plain(&self) -> bool {
        *self == Options::default()
    }
}

impl From<Pacing> for Options {
    fn from(pacing: Pacing) -> Self {
        Self { pacing, ..Self::default() }
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut wishes = Vec::new();
        if !self.pacing.is_free() {
            wishes.push(self.pacing.to_string());
        }
        wishes.extend(self.undoes.as_ref().map(|run| format!("undoes {run}")));
        wishes.extend(self.no_archive.then(|| "without a copy".to_owned()));
        f.write_str(&wishes.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_kept_flat_and_read_back() {
        let options = Options::from(Pacing { rate: Some(200.0), ..Pacing::default() });
        let kept = serde_json::to_string(&options).expect("JSON");
        assert_eq!(kept, r#"{"rate":200.0}"#);
        assert_eq!(serde_json::from_str::<Options>(&kept).expect("options"), options);
        assert!(Options::default().is_plain() && !options.is_plain());
        let undo = Options { undoes: Some("r-7".into()), no_archive: true, ..Options::default() };
        assert_eq!(serde_json::to_string(&undo).expect("JSON"), r#"{"undoes":"r-7","no_archive":true}"#);
        assert_eq!(undo.to_string(), "undoes r-7, without a copy");
    }
}
