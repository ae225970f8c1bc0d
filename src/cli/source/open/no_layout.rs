//! What is said where a database holds no table that an adapter knows: which tables it may be, and what to do next.

use std::path::Path;

use super::Surveyed;
use crate::cli::output;
use crate::cli::source::source_choice::SourceChoice;
use crate::domain::text::Clean;
use crate::store::Budget;
use crate::store::survey::{Candidates, NearMiss, Renamed};

/// Near misses that are explained.
const EXPLAINED: usize = 3;

impl Surveyed {
    /// Why there is nothing to open, and what to do. The tables are a help, and no answer: where they cannot be read, none are
    /// named.
    pub(super) async fn why_none(&self, session: &SourceChoice, budget: &Budget) -> String {
        let found = self.survey.candidates(budget).await.unwrap_or_default();
        let ours = ["dlq-tui"].into_iter().chain(self.origin.reach.iter().map(String::as_str));
        let command = shell_words::join(ours);
        let mut lines =
            vec![format!("{} holds no table of dead-lettered jobs that an adapter knows", self.origin.name)];
        lines.extend(self.survey.rejected().iter().map(|r| format!("not {}: {}", r.adapter, r.why())));
        lines.extend(advice(&found, &command, session.paths.adapters()));
        lines.join("\n")
    }
}

/// The next steps, a sentence or an indented command a line.
fn advice(found: &Candidates, command: &str, adapters: &Path) -> Vec<String> {
    let mut lines: Vec<String> =
        found.near.iter().take(EXPLAINED).flat_map(|near| how_to_use(near, command, adapters)).collect();
    let named = output::listed(found.tables.iter().map(|table| Clean::line(table).to_string()));
    lines.extend(named.map(|named| format!("tables whose names speak of jobs or failures: {named}")));
    let first = found.tables.first().map_or("X".into(), |first| Clean::line(first).to_string());
    let table = shell_words::quote(&first);
    lines.push("to draft an adapter for a table of your own:".to_owned());
    lines.push(format!("  {command} adapters init --table {table}"));
    lines.push(
        "`dlq-tui docs adapters` explains adapters; `dlq-tui init` creates a table for dead-lettered jobs".to_owned(),
    );
    lines
}

/// How the table of a known layout is used where the adapter does not find it by itself.
fn how_to_use(near: &NearMiss, command: &str, adapters: &Path) -> Vec<String> {
    let NearMiss { table, adapter, why } = near;
    let table = Clean::line(table);
    let of = match why {
        Renamed::Database(database) => {
            let database = Clean::line(database);
            return vec![format!(
                "{table} in the database {database} of this server is {adapter}'s: name {database} as the database in the URL"
            )];
        }
        Renamed::Table(of) => of,
    };
    // Behind its schema, as adapters name no schema.
    let bare = table.rsplit('.').next().unwrap_or(&table);
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = bare.chars().map(allowed).collect();
    let folder = adapters.display().to_string();
    let file = adapters.join(format!("{name}.toml")).display().to_string();
    let [folder, file] = [&folder, &file].map(|path| shell_words::quote(path).into_owned());
    vec![
        format!("{table} has the columns of {of}, the table of the adapter {adapter}: copy the adapter"),
        format!("  mkdir -p {folder} && dlq-tui adapters show {adapter} > {file}"),
        format!(
            "and write `name = \"{name}\"` and `table = \"{bare}\"` at the top of the copy (and its other tables, where they have \
             other names too), then check it"
        ),
        format!("  {command} adapters check {name}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_eight_tables_and_how_many_more_there_are() {
        let tables = (0..11).map(|n| format!("dead_{n}")).collect();
        let found = Candidates { tables, near: Vec::new() };
        let text = advice(&found, "dlq-tui --source shop", Path::new("/home/ada/adapters")).join("\n");
        assert!(text.contains("dead_7 and 3 more\n") && !text.contains("dead_8"), "{text}");
        assert!(text.contains("\n  dlq-tui --source shop adapters init --table dead_0\n"), "{text}");
        let none = advice(&Candidates::default(), "dlq-tui", Path::new("/a")).join("\n");
        assert!(none.contains("dlq-tui adapters init --table X") && !none.contains("whose names"), "{none}");
    }
}
