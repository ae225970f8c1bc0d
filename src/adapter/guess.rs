//! A first draft of an adapter file for a table that nobody has described: each field is guessed by the name, the type and
//! some values of its columns, and the file says why. What cannot be guessed is left to be written.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::fit::{Column, Family, Table};
use crate::domain::json::Document;

/// What a draft is made from.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The word of the database.
    pub dialect: String,
    /// The table's name.
    pub table: String,
    /// Its columns and indexes.
    pub columns: Table,
    /// Some rows, as texts in the order of the columns.
    pub rows: Vec<Vec<Option<String>>>,
}

/// A field that was recognised.
struct Guess<'a> {
    column: &'a Column,
    kind: &'static str,
    why: String,
}

/// Names by which a field is known, the surest first.
const AT: &[&str] = &[
    "failed_at",
    "dead_at",
    "died_at",
    "discarded_at",
    "expired_at",
    "buried_at",
    "dead_lettered_at",
    "errored_at",
    "failure_time",
    "failed_on",
    "finished_at",
    "finalized_at",
    "last_error_at",
    "last_failed_at",
    "last_attempt_at",
    "occurred_at",
    "moved_at",
    "archived_at",
    "completed_on",
    "completed_at",
    "inserted_at",
    "created_at",
    "created_on",
    "timestamp",
];
const TOUCHED: &[&str] = &["updated_at", "modified_at", "changed_at", "updated_on"];
const STATE: &[&str] = &["status", "state", "job_status", "job_state"];
const CLASS: &[&str] =
    &["error_class", "exception_class", "error_type", "exception_type", "error_name", "exception_name"];
const MESSAGE: &[&str] = &[
    "error_message",
    "exception_message",
    "error_msg",
    "last_error_message",
    "message",
    "last_error",
    "error_reason",
    "error_text",
    "failure_reason",
    "reason",
    "error",
    "exception",
    "errors",
];
const JOB: &[&str] = &[
    "job_class",
    "class_name",
    "job_type",
    "job_name",
    "task_name",
    "task",
    "handler",
    "event_type",
    "worker_class",
    "kind",
    "type",
    "class",
    "name",
    "template",
];
const QUEUE: &[&str] = &["queue", "queue_name", "topic", "channel", "routing_key", "stream"];
const WORKER: &[&str] =
    &["worker", "worker_id", "worker_name", "failed_by", "hostname", "host", "locked_by", "node", "attempted_by"];
const ATTEMPTS: &[&str] = &[
    "attempts",
    "attempt",
    "retry_count",
    "retries",
    "executions",
    "executions_count",
    "error_count",
    "failures",
    "tries",
    "num_attempts",
];
const MOST: &[&str] = &["max_attempts", "max_retries", "retry_limit", "max_tries"];
const PAYLOAD: &[&str] = &[
    "arguments",
    "args",
    "payload",
    "params",
    "parameters",
    "job_data",
    "data",
    "body",
    "message_body",
    "kwargs",
    "content",
];
const TRACE: &[&str] =
    &["backtrace", "error_backtrace", "stacktrace", "stack_trace", "error_stacktrace", "traceback", "stack", "trace"];
const LINEAGE: &[&str] =
    &["job_id", "job_uuid", "original_id", "original_job_id", "active_job_id", "source_id", "event_id"];
const REASON: &[&str] = &["reason", "failure_reason", "dead_reason", "category"];

const DEAD: &[&str] = &["dead", "fail", "discard", "error", "expired", "buried", "exhausted", "permanent", "abandon"];
const RESOLVED: &[&str] =
    &["resolved", "succe", "complete", "done", "processed", "finished", "resent", "sent", "deliver", "replayed", "ok"];
const IGNORED: &[&str] = &["ignore", "mute", "skip", "cancel", "dismiss"];

/// Words that a column may hold to be taken for a state.
const FEW: usize = 12;

impl Sample {
    /// The draft.
    ///
    /// # Errors
    /// Without columns, or without one that can be the key: then no adapter can be written for the table.
    pub fn draft(&self) -> Result<String, String> {
        let key = self.key().ok_or_else(|| {
            let table = &self.table;
            format!("{table} has no column that can be a key: an adapter needs one of whole numbers, UUIDs or short texts that tells rows apart")
        })?;
        let mut used: BTreeSet<&str> = BTreeSet::from([key.column.name.as_str()]);
        let at = self.find(AT, &mut used, |c| self.time(c));
        let state =
            self.find(STATE, &mut used, |c| (self.rows.is_empty() || self.words(c).is_some()).then_some("text"));
        let class = self.find(CLASS, &mut used, |c| self.text(c));
        let message = self.find(MESSAGE, &mut used, |c| self.text(c));
        let trace = self.find(TRACE, &mut used, |c| self.text(c).or(self.json(c)).map(|_| "lines"));
        let fields = [
            ("job_class", self.find(JOB, &mut used, |c| self.text(c))),
            ("queue", self.find(QUEUE, &mut used, |c| self.text(c))),
            ("reason", self.find(REASON, &mut used, |c| self.words(c).map(|_| "text"))),
            ("worker", self.find(WORKER, &mut used, |c| self.text(c))),
            ("attempts", self.find(ATTEMPTS, &mut used, |c| self.whole(c))),
            ("max_attempts", self.find(MOST, &mut used, |c| self.whole(c))),
            ("arguments", self.find(PAYLOAD, &mut used, |c| self.json(c)).or_else(|| self.only_json(&mut used))),
            ("backtrace", trace),
            (
                "lineage",
                self.find(LINEAGE, &mut used, |c| self.text(c).or(self.uuid(c)).or(self.whole(c)).map(|_| "text")),
            ),
            ("touched", self.find(TOUCHED, &mut used, |c| self.time(c))),
        ];
        Ok(self.write(&key, at.as_ref(), state.as_ref(), (class.as_ref(), message.as_ref()), &fields, &used))
    }

    fn write(
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

    fn find<'a>(
        &'a self,
        names: &[&str],
        used: &mut BTreeSet<&'a str>,
        fits: impl Fn(&'a Column) -> Option<&'static str>,
    ) -> Option<Guess<'a>> {
        let exact = names.iter().find_map(|name| {
            let column = self.columns.columns.iter().find(|c| c.name.eq_ignore_ascii_case(name))?;
            Some((column, fits(column).filter(|_| !used.contains(column.name.as_str()))?))
        });
        let (column, kind) = exact?;
        used.insert(&column.name);
        let why = format!("by its name, and as {}", column.data_type);
        Some(Guess { column, kind, why })
    }

    /// The only column of JSON, whatever its name.
    fn only_json<'a>(&'a self, used: &mut BTreeSet<&'a str>) -> Option<Guess<'a>> {
        let mut found =
            self.columns.columns.iter().filter(|c| !used.contains(c.name.as_str()) && self.json(c).is_some());
        let column = found.next().filter(|_| found.next().is_none())?;
        used.insert(&column.name);
        Some(Guess { column, kind: "json", why: "the only column that holds JSON".to_owned() })
    }

    /// What tells rows apart: `id` by preference, else the first column whose values differ and are never NULL.
    fn key(&self) -> Option<Guess<'_>> {
        let kind = |c: &Column| self.whole(c).or(self.uuid(c)).or(self.text(c));
        let differ = |c: &Column| {
            let values: Vec<_> = self.values(c).collect();
            values.len() == self.rows.len() && values.iter().collect::<BTreeSet<_>>().len() == values.len()
        };
        let indexed = |c: &Column| self.columns.indexes.values().any(|i| i.as_slice() == [c.name.clone()]);
        let able = || self.columns.columns.iter().filter(|c| kind(c).is_some() && differ(c));
        let named = able().find(|c| c.name.eq_ignore_ascii_case("id"));
        let column =
            named.or_else(|| able().find(|c| indexed(c) && !c.nullable)).or_else(|| able().find(|c| !c.nullable))?;
        let why = if named.is_some() { "by its name" } else { "its values tell rows apart" };
        Some(Guess { column, kind: kind(column)?, why: format!("{why}, and as {}", column.data_type) })
    }

    fn values<'a>(&'a self, column: &Column) -> impl Iterator<Item = &'a str> {
        let place = self.columns.columns.iter().position(|c| c.name == column.name);
        self.rows.iter().filter_map(move |row| row.get(place?)?.as_deref())
    }

    fn time(&self, column: &Column) -> Option<&'static str> {
        let data_type = column.data_type.to_ascii_lowercase();
        let first = self.values(column).next();
        if data_type.contains("with time zone") || data_type == "timestamptz" {
            return Some("instant");
        }
        if data_type.contains("timestamp") || data_type.contains("datetime") || data_type == "date" {
            return Some("utc");
        }
        if self.whole(column).is_some() {
            let n: i64 = first?.parse().ok()?;
            return match n {
                500_000_000..20_000_000_000 => Some("epoch_s"),
                500_000_000_000..20_000_000_000_000 => Some("epoch_ms"),
                _ => None,
            };
        }
        let looks = first
            .is_some_and(|v| v.len() >= 10 && v.as_bytes().get(4) == Some(&b'-') && v.as_bytes().get(7) == Some(&b'-'));
        (self.text(column).is_some() && looks).then_some("utc")
    }

    fn text(&self, column: &Column) -> Option<&'static str> {
        let data_type = column.data_type.to_ascii_lowercase();
        let words = ["char", "text", "clob", "enum", "string"];
        (words.iter().any(|w| data_type.contains(w)) || data_type.is_empty()).then_some("text")
    }

    fn whole(&self, column: &Column) -> Option<&'static str> {
        let data_type = column.data_type.to_ascii_lowercase();
        (data_type.contains("int") || data_type.contains("serial")).then_some("int")
    }

    fn uuid(&self, column: &Column) -> Option<&'static str> {
        column.data_type.to_ascii_lowercase().contains("uuid").then_some("uuid")
    }

    /// JSON by its type, or text of which every value seen is a JSON object or array.
    fn json(&self, column: &Column) -> Option<&'static str> {
        let document = |v: &str| v.trim_start().starts_with(['{', '[']) && Document::parse(v).is_ok();
        let by_type = column.data_type.to_ascii_lowercase().contains("json");
        let by_value =
            || self.text(column).is_some() && self.values(column).next().is_some() && self.values(column).all(document);
        (by_type || by_value()).then_some("json")
    }

    /// The words of a column that holds few.
    fn words(&self, column: &Column) -> Option<BTreeSet<&str>> {
        let words: BTreeSet<&str> = self.values(column).collect();
        let plain = |w: &&str| !w.is_empty() && w.len() < 40 && !w.contains(char::is_whitespace);
        (self.whole(column).is_none() && !words.is_empty() && words.len() <= FEW && words.iter().all(plain))
            .then_some(words)
    }

    /// Whether most messages begin with a word and a colon, as error classes do.
    fn leads_with_class(&self, column: &Column) -> bool {
        let leads = |v: &&str| {
            let head = v.split_once(": ").map(|(head, _)| head);
            head.is_some_and(|h| {
                h.starts_with(|c: char| c.is_ascii_alphabetic())
                    && h.chars().all(|c| c.is_ascii_alphanumeric() || "_.:".contains(c))
            })
        };
        let (all, leading) = (self.values(column).count(), self.values(column).filter(leads).count());
        leading > 0 && leading * 2 >= all
    }

    /// A name for the adapter that the language allows.
    pub fn name(&self) -> String {
        self.table.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
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

#[cfg(test)]
mod tests;
