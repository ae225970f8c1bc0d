//! The draft as it is written, each line with its reason.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::names::{DEAD, IGNORED, RESOLVED};
use super::{Guess, Sample};
use crate::adapter::fit::{Column, Family};

impl Sample {
    pub(super) fn write(
        &self,
        key: &Guess<'_>,
        at: Option<&Guess<'_>>,
        state: Option<&Guess<'_>>,
        (class, message): (Option<&Guess<'_>>, Option<&Guess<'_>>),
        fields: &[(&str, Option<Guess<'_>>)],
        used: &BTreeSet<&str>,
    ) -> String {
        let mut out = String::new();
        let mut line = |text: &str| {
            out.push_str(text);
            out.push('\n');
        };
        let name = self.name();
        line(&format!(
            "# A draft for the table {}, guessed from its columns and {} of its rows.",
            one_line(&self.table),
            self.rows.len()
        ));
        line(
            "# Read every line, mend what is wrong, and write how a job is replayed. Then, until it finds nothing more:",
        );
        line(&format!("#   dlq-tui --url … adapters check {name}"));
        line(
            "# What can stand here is described in docs/adapters.md, and `dlq-tui adapters show jobs_dlq` is a whole file.",
        );
        line(&format!("name = {}", quoted(&name)));
        line(&format!("title = {}", quoted(&self.table)));
        line(&format!("table = {}", quoted(&self.table)));
        line(&format!("databases = [{}]", quoted(&self.dialect)));
        line(&format!("key = {}   # {}", field(key), key.why));
        line("");
        line("# The table is this layout when it has these columns; `absent` is a column that it must not have.");
        line("[detect.columns]");
        for column in &self.columns.columns {
            if used.contains(column.name.as_str()) {
                line(&format!("{} = {}", bare(&column.name), quoted(Family::of(&column.data_type).word())));
            }
        }
        line("");
        line("# What lists are ordered by: indexed, and never NULL for dead jobs.");
        line("[order]");
        match at {
            Some(at) if self.columns.serves(&at.column.name) => {
                line(&format!("time = {}   # an index serves it", field(at)))
            }
            Some(at) if key.kind == "int" => {
                line(&format!(
                    "time = {}   # no index serves {}: the key stands in for it, if it only ever grows",
                    field(key),
                    at.column.name
                ));
            }
            Some(at) => {
                line(&format!("time = {}   # NO INDEX serves it: on a big table every list reads all rows", field(at)))
            }
            None => line(&format!("time = {}   # no column looks like a time of death", field(key))),
        }
        if let Some((_, Some(attempts))) = fields.iter().find(|(name, _)| *name == "attempts") {
            line(&format!("attempts = {}", field(attempts)));
        }
        line("");
        line("[fields]");
        match at {
            Some(at) => line(&format!("at = {}   # {}", field(at), at.why)),
            None => line("# at = { column = \"…\", kind = \"utc\" }   # TO BE WRITTEN: the time of death"),
        }
        if let Some(state) = state {
            line(&format!("state = {}   # {}", field(state), state.why));
        }
        for text in self.errors(class, message) {
            line(&text);
        }
        for (name, guess) in fields {
            match guess {
                Some(guess) => line(&format!("{name} = {}   # {}", field(guess), guess.why)),
                None => line(&format!(
                    "# {name} = {{ column = \"…\", kind = \"{}\" }}   # no column looks like it",
                    usual(name)
                )),
            }
        }
        let rest: Vec<String> =
            self.columns.columns.iter().filter(|c| !used.contains(c.name.as_str())).map(described).collect();
        if !rest.is_empty() {
            line("");
            line("# Not used, and shown with an open job as they are:");
            rest.iter().for_each(|column| line(&format!("#   {column}")));
        }
        line("");
        for text in self.states(state) {
            line(&text);
        }
        line("");
        for text in self.verbs(state) {
            line(&text);
        }
        out
    }

    /// The error's class and message.
    fn errors(&self, class: Option<&Guess<'_>>, message: Option<&Guess<'_>>) -> Vec<String> {
        let mut lines = Vec::new();
        match (class, message) {
            (Some(class), _) => lines.push(format!("error_class = {}   # {}", field(class), class.why)),
            (None, Some(message)) if self.leads_with_class(message.column) => {
                let t = format!("t.{}", message.column.name);
                let sql = match self.dialect.as_str() {
                    "postgres" => format!("substring({t} from '^([A-Za-z_][A-Za-z0-9_.:]*): ')"),
                    "mysql" => format!("IF({t} REGEXP '^[A-Za-z_][A-Za-z0-9_.:]*: ', SUBSTRING_INDEX({t}, ': ', 1), NULL)"),
                    _ => format!("CASE WHEN instr({t}, ': ') > 1 THEN substr({t}, 1, instr({t}, ': ') - 1) END"),
                };
                lines.push(format!("error_class = {{ sql = {}, kind = \"text\" }}   # what stands before the first `: ` of {}", quoted(&sql), message.column.name));
            }
            (None, _) => lines.push("# error_class = { column = \"…\", kind = \"text\" }   # no column looks like it; it can be an expression over others".to_owned()),
        }
        match message {
            Some(message) => lines.push(format!("message = {}   # {}", field(message), message.why)),
            None => {
                lines.push("# message = { column = \"…\", kind = \"text\" }   # no column looks like it".to_owned())
            }
        }
        lines
    }

    fn states(&self, state: Option<&Guess<'_>>) -> Vec<String> {
        let mut lines = vec![
            "# The table's own words for each state; a word that stands nowhere here counts as retrying.".to_owned(),
            "[states]".to_owned(),
        ];
        let Some(state) = state else {
            lines.push("dead = [\"dead\"]   # every row of the table is a dead job, if this stays".to_owned());
            return lines;
        };
        let words = self.words(state.column).unwrap_or_default();
        let is = |word: &str, known: &[&str]| known.iter().any(|k| word.to_ascii_lowercase().contains(k));
        let list = |keep: &dyn Fn(&str) -> bool| {
            words.iter().filter(|w| keep(w)).map(|w| quoted(w)).collect::<Vec<_>>().join(", ")
        };
        let dead = list(&|w| is(w, DEAD));
        match dead.is_empty() {
            true => lines.push("dead = [\"…\"]   # TO BE WRITTEN: none of the words seen looks like it".to_owned()),
            false => lines.push(format!("dead = [{dead}]")),
        }
        for (name, known) in [("resolved", RESOLVED), ("ignored", IGNORED)] {
            let found = list(&|w| is(w, known) && !is(w, DEAD) && (name != "ignored" || !is(w, RESOLVED)));
            if !found.is_empty() {
                lines.push(format!("{name} = [{found}]"));
            }
        }
        let others = list(&|w| !is(w, DEAD) && !is(w, RESOLVED) && !is(w, IGNORED));
        if !others.is_empty() {
            lines.push(format!("retrying = [{others}]"));
        }
        lines
    }

    fn verbs(&self, state: Option<&Guess<'_>>) -> Vec<String> {
        let dead = state.and_then(|s| self.words(s.column).map(|words| (s, words))).map(|(state, words)| {
            let dead: Vec<String> = words
                .iter()
                .filter(|w| DEAD.iter().any(|d| w.to_ascii_lowercase().contains(d)))
                .map(|w| format!("'{}'", w.replace('\'', "''")))
                .collect();
            match dead.is_empty() {
                true => "1 = 0".to_owned(),
                false => format!("t.{} IN ({})", state.column.name, dead.join(", ")),
            }
        });
        let when =
            dead.unwrap_or_else(|| format!("t.{} IS NOT NULL", self.key().map_or("id", |k| k.column.name.as_str())));
        let delete = match self.dialect.as_str() {
            "mysql" => "DELETE t FROM {table} AS t WHERE {ids}",
            _ => "DELETE FROM {table} AS t WHERE {ids}",
        };
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            r#"# TO BE WRITTEN: how a job gets back to its queue, in one transaction. `when` is the guard: the job is still dead.
[verbs.replay]
disabled = "nobody has written yet how a job of this table is replayed"
# when = {when}
# notes = ["The job runs again within a minute."]
# steps = [
#     {{ sql = "INSERT INTO {{schema}}.jobs (payload, run_at) SELECT t.payload, {{run_after}} FROM {{table}} AS t WHERE {{ids}}" }},
#     {{ sql = {delete} }},
# ]

[verbs.ignore]
disabled = "this table has no state for ignored jobs; discard keeps the row whole in the ledger and deletes it"

[verbs.discard]
when = {when}
archive = true
steps = [{{ sql = {delete} }}]

[verbs.archive]
when = {when}

[verbs.purge]
when = {when}
steps = [{{ sql = {delete} }}]"#,
            when = quoted(&when),
            delete = quoted(delete),
        );
        out.lines().map(str::to_owned).collect()
    }
}

fn usual(field: &str) -> &'static str {
    match field {
        "attempts" | "max_attempts" => "int",
        "arguments" => "json",
        "backtrace" => "lines",
        "touched" => "utc",
        _ => "text",
    }
}

fn field(guess: &Guess<'_>) -> String {
    format!("{{ column = {}, kind = \"{}\" }}", quoted(&guess.column.name), guess.kind)
}

fn described(column: &Column) -> String {
    one_line(&format!("{} ({})", column.name, column.data_type))
}

/// A comment must not end early.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A key of TOML.
fn bare(key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if plain { key.to_owned() } else { quoted(key) }
}
