//! The draft as it is written, each line with its reason.

use std::collections::BTreeSet;

use super::error::ErrorGuess;
use super::key::DraftKey;
use super::names::{IGNORED, RESOLVED, has};
use super::state::StateGuess;
use super::{Guess, Sample};
use crate::adapter::table_match::{Column, Family};

/// What was guessed of a table.
pub(super) struct DraftText<'a> {
    pub(super) sample: &'a Sample,
    pub(super) key: DraftKey<'a>,
    pub(super) at: Option<Guess<'a>>,
    pub(super) state: Option<StateGuess<'a>>,
    pub(super) error: ErrorGuess<'a>,
    pub(super) fields: &'a [(&'a str, Option<Guess<'a>>)],
    pub(super) used: &'a BTreeSet<&'a str>,
}

impl DraftText<'_> {
    pub(super) fn write(&self) -> String {
        let Self { sample, key, at, state, fields, used, .. } = self;
        let mut out = String::new();
        let mut line = |text: &str| {
            out.push_str(text);
            out.push('\n');
        };
        self.head(&mut line);
        self.keys().iter().for_each(|text| line(text));
        line("");
        line("# The table is this layout when it has these columns; `absent` is a column that it must not have.");
        line("[detect.columns]");
        for column in &sample.columns.columns {
            if used.contains(column.name.as_str()) {
                line(&format!("{} = {}", bare(&column.name), quoted(Family::of(&column.data_type).word())));
            }
        }
        line("");
        line("# What lists are ordered by: indexed, and never NULL for dead jobs.");
        line("[order]");
        line(&self.order(at.as_ref(), key.key.as_ref()));
        if let Some((_, Some(attempts))) = fields.iter().find(|(name, _)| *name == "attempts") {
            line(&format!("attempts = {}", field(attempts)));
        }
        line("");
        self.fields(&mut line);
        let rest: Vec<String> =
            sample.columns.columns.iter().filter(|c| !used.contains(c.name.as_str())).map(described).collect();
        if !rest.is_empty() {
            line("");
            line("# Not used, and shown with an open job as they are:");
            rest.iter().for_each(|column| line(&format!("#   {column}")));
        }
        line("");
        let undecided = if state.is_none() { sample.undecided(used) } else { Vec::new() };
        for text in self.states(&undecided) {
            line(&text);
        }
        line("");
        for text in self.verbs(&undecided) {
            line(&text);
        }
        out
    }

    /// What the file is and is for.
    fn head(&self, line: &mut impl FnMut(&str)) {
        let sample = self.sample;
        let name = sample.name();
        line(&format!(
            "# A draft for the table {}, guessed from its columns and {} of its rows.",
            one_line(&sample.table),
            sample.rows.len()
        ));
        line(
            "# Read every line, mend what is wrong, and write how a job is replayed. Then, until it finds nothing more:",
        );
        line(&format!("#   dlq-tui --url … adapters check {name}"));
        line(
            "# What can stand here is described in docs/adapters.md, and `dlq-tui adapters show jobs_dlq` is a whole file.",
        );
        line(&format!("name = {}", quoted(&name)));
        line(&format!("title = {}", quoted(&sample.table)));
        line(&format!("table = {}", quoted(&sample.table)));
        line(&format!("databases = [{}]", quoted(&sample.dialect)));
    }

    /// Where each field stands, as far as it was guessed.
    fn fields(&self, line: &mut impl FnMut(&str)) {
        let Self { at, state, fields, error, .. } = self;
        line("[fields]");
        match at {
            Some(at) => line(&format!("at = {}   # {}", field(at), at.why)),
            None => line("at = { column = \"…\", kind = \"utc\" }   # TO BE WRITTEN: the time of death"),
        }
        if let Some(StateGuess { field: guess, .. }) = state {
            line(&format!("state = {}   # {}", field(guess), guess.why));
        }
        for (name, guess) in [("error_class", &error.class), ("message", &error.message)] {
            match guess {
                Some(guess) => line(&format!("{name} = {}   # {}", field(guess), guess.why)),
                None => line(&format!(
                    "# {name} = {{ column = \"…\", kind = \"text\" }}   # no column looks like it; it can be an expression over others"
                )),
            }
        }
        for (name, guess) in *fields {
            match guess {
                Some(guess) => line(&format!("{name} = {}   # {}", field(guess), guess.why)),
                None => line(&format!(
                    "# {name} = {{ column = \"…\", kind = \"{}\" }}   # no column looks like it",
                    usual(name)
                )),
            }
        }
    }

    fn keys(&self) -> Vec<String> {
        let key = &self.key;
        let Some(guess) = &key.key else {
            return vec![format!(
                "key = {{ column = \"…\", kind = \"int\" }}   # TO BE WRITTEN: {}",
                one_line(&key.why_not)
            )];
        };
        let scope = key.scope.as_ref().map(|scope| format!("scope = {}   # {}", field(scope), one_line(&scope.why)));
        [format!("key = {}   # {}", field(guess), one_line(&guess.why))].into_iter().chain(scope).collect()
    }

    fn order(&self, at: Option<&Guess<'_>>, key: Option<&Guess<'_>>) -> String {
        match (at, key) {
            (Some(at), _) if self.sample.columns.serves(&at.column.name) => {
                format!("time = {}   # an index serves it", field(at))
            }
            (Some(at), Some(key)) if key.kind == "int" => {
                let name = one_line(&at.column.name);
                format!(
                    "time = {}   # no index serves {name}: the key stands in for it, if it only ever grows",
                    field(key)
                )
            }
            (Some(at), _) => {
                format!("time = {}   # NO INDEX serves it: on a big table every list reads all rows", field(at))
            }
            (None, Some(key)) if key.kind == "int" => {
                format!(
                    "time = {}   # no column looks like a time of death: the key stands in for it, if it only ever grows",
                    field(key)
                )
            }
            (None, _) => {
                "time = { column = \"…\", kind = \"utc\" }   # TO BE WRITTEN: a time, or a number that grows with time"
                    .to_owned()
            }
        }
    }

    fn states(&self, undecided: &[&str]) -> Vec<String> {
        let mut lines = vec![
            "# The table's own words for each state; a word that stands nowhere here counts as retrying.".to_owned(),
            "[states]".to_owned(),
        ];
        let Some(StateGuess { field, seen, dead, .. }) = &self.state else {
            // To take what lives for dead is worse than to be asked.
            lines.push(match undecided {
                [] => "dead = [\"dead\"]   # every row of the table is a dead job, if this stays".to_owned(),
                names => format!(
                    "dead = [\"…\"]   # TO BE WRITTEN, with `fields.state` as an expression over what tells: {}",
                    one_line(&names.join(", "))
                ),
            });
            return lines;
        };
        let list = |words: &[&str]| words.iter().map(|w| quoted(w)).collect::<Vec<_>>().join(", ");
        let seen: Vec<&str> = seen.iter().flatten().copied().collect();
        if dead.is_empty() {
            let seen =
                if seen.is_empty() { "no few words were seen".to_owned() } else { format!("seen: {}", list(&seen)) };
            lines.push(format!(
                "dead = [\"…\"]   # TO BE WRITTEN: which values of {} mean it; {seen}",
                one_line(&field.column.name)
            ));
            lines.push("# resolved = []".to_owned());
            return lines;
        }
        lines.push(format!("dead = [{}]", list(dead)));
        let (resolved, rest): (Vec<&str>, Vec<&str>) =
            seen.into_iter().filter(|w| !dead.contains(w)).partition(|w| has(w, RESOLVED));
        let (ignored, rest): (Vec<&str>, Vec<&str>) = rest.into_iter().partition(|w| has(w, IGNORED));
        for (name, words) in [("resolved", resolved), ("ignored", ignored), ("retrying", rest)] {
            if !words.is_empty() {
                lines.push(format!("{name} = [{}]", list(&words)));
            }
        }
        lines
    }

    /// What a dead row meets; or why nobody can say yet.
    fn guard(&self, undecided: &[&str]) -> Result<String, String> {
        let open = |what: String| format!("{what}: write [states], and then the condition `when` of a dead job");
        match (&self.state, &self.key.key) {
            (Some(state), _) => state.condition(self.sample).ok_or_else(|| {
                open(format!(
                    "the file does not say yet which values of {} mean that a job is dead",
                    state.field.column.name
                ))
            }),
            (None, _) if !undecided.is_empty() => {
                Err(open(format!("{} may say that a job is not dead", undecided.join(", "))))
            }
            (None, Some(key)) => Ok(format!("{} IS NOT NULL", self.sample.named(key.column))),
            (None, None) => Err("the file does not say yet what identifies a row".to_owned()),
        }
    }

    fn verbs(&self, undecided: &[&str]) -> Vec<String> {
        let guard = self.guard(undecided);
        let when = quoted(guard.as_deref().unwrap_or("…"));
        let delete = quoted(match self.sample.dialect.as_str() {
            "mysql" => "DELETE t FROM {table} AS t WHERE {ids}",
            _ => "DELETE FROM {table} AS t WHERE {ids}",
        });
        let mut lines: Vec<String> = format!(
            r#"# TO BE WRITTEN: how a job gets back to its queue, in one transaction. `when` is the guard: the job is still dead.
[verbs.replay]
disabled = "nobody has written yet how a job of this table is replayed"
# when = {when}
# notes = ["The job runs again within a minute."]
# needs = ["insert on jobs (payload, run_at)", "delete on {{table}}"]
# steps = [
#     {{ sql = "INSERT INTO {{schema}}.jobs (payload, run_at) SELECT t.payload, {{run_after}} FROM {{table}} AS t WHERE {{ids}}" }},
#     {{ sql = {delete} }},
# ]

[verbs.ignore]
disabled = "this table has no state for ignored jobs; discard keeps the row whole in the ledger and deletes it""#
        )
        .lines()
        .map(str::to_owned)
        .collect();
        let (needs, steps) = ("needs = [\"delete on {table}\"]", format!("steps = [{{ sql = {delete} }}]"));
        let verbs: [(&str, &[&str]); 3] =
            [("discard", &["archive = true", needs, &steps]), ("archive", &[]), ("purge", &[needs, &steps])];
        for (verb, ways) in verbs {
            lines.extend([String::new(), format!("[verbs.{verb}]")]);
            let comment = match &guard {
                Ok(_) => "",
                Err(why) => {
                    lines.push(format!("disabled = {}", quoted(why)));
                    "# "
                }
            };
            lines.push(format!("{comment}when = {when}"));
            lines.extend(ways.iter().map(|way| format!("{comment}{way}")));
        }
        lines
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
    match &guess.sql {
        Some(sql) => format!("{{ sql = {}, kind = \"{}\" }}", quoted(sql), guess.kind),
        None => format!("{{ column = {}, kind = \"{}\" }}", quoted(&guess.column.name), guess.kind),
    }
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
