//! `dlq-tui docs`: the references under `docs/`, generated from the program so that they cannot say anything else.

mod adapters;
mod capture;
mod privileges;

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::Result;

use super::args::{self, DocsArgs, Reference};
use super::exit::Code;
use super::output;

/// Prints a reference.
///
/// # Errors
/// When it cannot be written.
pub fn run(args: &DocsArgs) -> Result<Code> {
    let mut out = output::stdout();
    out.write_all(reference(args.what).as_bytes())?;
    out.flush()?;
    Ok(Code::Done)
}

/// The text of a reference.
pub fn reference(what: Reference) -> String {
    match what {
        Reference::Commands => commands(),
        Reference::Filter => filter(),
        Reference::Keys => format!("{GENERATED} keys` prints this file. -->\n\n{}", crate::tui::reference()),
        Reference::Adapters => {
            format!("{GENERATED} adapters` prints this file. -->\n\n{}", adapters::reference())
        }
        Reference::Capture => {
            format!("{GENERATED} capture` prints this file. -->\n\n{}", capture::reference())
        }
        Reference::Rights => {
            format!("{GENERATED} rights` prints this file. -->\n\n{}", privileges::reference())
        }
    }
}

const GENERATED: &str = "<!-- Generated: `dlq-tui docs";

fn commands() -> String {
    let mut out = format!("{GENERATED} commands` prints this file. -->\n\n# Commands\n");
    let mut cli = args::command();
    cli.build();
    section(&mut out, &cli, 2);
    out
}

fn section(out: &mut String, command: &clap::Command, level: usize) {
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    // Writing to a String cannot fail.
    let _ = write!(out, "\n{} `{name}`\n\n{}.\n", "#".repeat(level), about.trim_end_matches('.'));
    let usage = command.clone().render_usage().to_string();
    let _ = write!(out, "\n```\n{}\n```\n", usage.trim_start_matches("Usage: "));
    let shown = |a: &&clap::Arg| {
        let everywhere = matches!(a.get_id().as_str(), "help" | "version");
        // What all commands share stands in the first section only.
        !a.is_hide_set() && !everywhere && (level == 2 || !a.is_global_set())
    };
    let arguments: Vec<&clap::Arg> = command.get_arguments().filter(shown).collect();
    if !arguments.is_empty() {
        out.push_str("\n| option | meaning |\n|---|---|\n");
        for argument in arguments {
            let _ = writeln!(out, "| `{}` | {} |", spelling(argument), meaning(argument));
        }
    }
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    match after.strip_prefix("Examples:\n") {
        Some(examples) => {
            let lines: Vec<&str> = examples.lines().map(str::trim_start).collect();
            let _ = write!(out, "\n```sh\n{}\n```\n", lines.join("\n"));
        }
        None if level == 2 => {
            let _ = write!(out, "\n{after}\n");
        }
        None => {}
    }
    let children = command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help");
    for child in children {
        section(out, child, level + 1);
    }
}

/// `-f, --filter FILTER`, or the name of what is given without an option.
fn spelling(argument: &clap::Arg) -> String {
    let mut words = Vec::new();
    words.extend(argument.get_short().map(|s| format!("-{s}")));
    words.extend(argument.get_long().map(|l| format!("--{l}")));
    let takes_value = argument.get_action().takes_values();
    let value = argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    match (words.join(", "), value) {
        (words, Some(value)) if words.is_empty() => value,
        (words, Some(value)) if takes_value => format!("{words} {value}"),
        (words, _) => words,
    }
}

fn meaning(argument: &clap::Arg) -> String {
    let mut text = argument.get_help().map(ToString::to_string).unwrap_or_default().replace('|', "\\|");
    if !text.ends_with(['.', ')']) {
        text.push('.');
    }
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect();
    if argument.get_action().takes_values() {
        let values: Vec<String> =
            argument.get_possible_values().iter().map(|v| format!("`{}`", v.get_name())).collect();
        if !values.is_empty() {
            text.push_str(&format!(" One of {}.", values.join(", ")));
        }
        if !defaults.is_empty() {
            text.push_str(&format!(" Default: `{}`.", defaults.join(" ")));
        }
    }
    text
}

fn filter() -> String {
    format!("{GENERATED} filter` prints this file. -->\n\n{FILTER}\n{}{EXAMPLES}", crate::domain::filter::reference())
}

const FILTER: &str = "\
# The filter language

The console (`/`) and `-f` use the same filters. A job must match every term. A repeated key means *or*, and `-` before a term
negates it.

    error:Net::ReadTimeout class:Billing* -queue:low since:2h args.user.id:42

- `*` in a value matches any characters. `/…/` is a regular expression and matches anywhere in the value. Both are case-sensitive,
  and so is equality. Free words are not.
- Quote a value with spaces: `msg:\"card declined\"`. An empty value, `queue:\"\"`, selects jobs without one.
- Numbers and times compare: `attempts:>=5`, `attempts:2..4`.
- Spans of time (`90s`, `15m`, `2h`, `7d`) count back from the moment at which the plan freezes its jobs.
- `since:@v2.3.1`, `until:@v2.3.1` and `at:@v2.3.0..@v2.3.1` use the moment of a mark, which `dlq-tui mark NAME` sets.
- Without a `state:` or `native:` term a filter selects dead jobs. `id:10442` selects its job in any state; `-id:10442` and `id:10*`
  do not. `-state:ignored` is a state term: it selects everything that is not ignored, live jobs too.
- `run:ID` selects the jobs that a run acted on or tried, in any state; `run:last` is the last replay of this source.
  `outcome:` narrows it, and selects dead jobs if it asks for `died` only: `died`, `succeeded`, `waiting`, `running`, `retrying`, `gone`,
  `taken-back` or `unknown`. Where a job that died again is another row, that row is meant. A job that is gone has no row to
  list: `runs RUN --jobs` names it.

| filter | selects |
|---|---|
| `error:Net::ReadTimeout` | this error class |
| `class:Billing* class:Orders*` | job classes that begin with either |
| `-queue:low since:2h` | not this queue, died in the last two hours |
| `since:@v2.3.1` | died since this mark, such as a deploy |
| `at:2026-11-20T01:00..2026-11-20T02:00` | died in that hour, UTC |
| `error:/Net::(Read\\|Open)Timeout/` | a regular expression (write the bar without the backslash) |
| `state:ignored` | ignored jobs |
| `replayed:>0 timeout` | replayed before, with the word in error, class or message |
| `run:last outcome:died` | replayed by the last replay, and dead again |

## Keys
";

const EXAMPLES: &str = "
An invalid filter gets a message with the column, what was expected there, and the nearest key. The database answers what an index
serves. Everything else (message text, argument paths) is scanned in bounded steps, with progress. You can cancel it at any time.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_and_every_option_is_in_the_reference() {
        let text = reference(Reference::Commands);
        for word in
            ["`dlq-tui replay`", "`-f, --filter FILTER`", "`--dry-run`", "`dlq-tui adapters check`", "`--rows N`"]
        {
            assert!(text.contains(word), "{word}\n{text}");
        }
        assert!(text.contains("dlq-tui docs`\n") && !text.contains("--serve"));
    }
}
