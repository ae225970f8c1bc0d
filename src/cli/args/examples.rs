//! The examples that stand below the help of each command.

use clap::{Command, CommandFactory};

use super::Cli;

/// The examples of a command, by its words: the line, and what it does.
type Examples = &'static [(&'static str, [(&'static str, &'static str); 2])];

const EXAMPLES: Examples = &[
    (
        "demo",
        [
            ("dlq-tui demo", "open the console on a made-up outage; nothing of yours is touched"),
            ("dlq-tui demo --rows 50k --layout jobs_dlq", "the same with 50,000 dead jobs"),
        ],
    ),
    (
        "sources",
        [
            ("dlq-tui sources", "what the config names and whether it answers"),
            (
                "dlq-tui sources --url postgres://ops@db.internal/shop -o json",
                "open a database that the config does not name",
            ),
        ],
    ),
    (
        "doctor",
        [
            ("dlq-tui doctor --source shop", "what is wrong, and what to do about it"),
            (
                "dlq-tui doctor --source shop --bundle report.txt",
                "the same without names and secrets, for a bug report",
            ),
        ],
    ),
    (
        "contrast",
        [
            (
                "dlq-tui contrast -f 'error:KeyError'",
                "what these jobs carry, and other dead jobs of their class do not",
            ),
            (
                "dlq-tui contrast -f 'since:1h' --against 'until:1d' --all",
                "what is new in the last hour, counted in all jobs",
            ),
        ],
    ),
    (
        "repair",
        [
            (
                "dlq-tui repair -f 'error:KeyError' '.currency //= \"EUR\"' --dry-run",
                "what would change, grouped by the shape of the change",
            ),
            ("dlq-tui repair -f 'error:KeyError' '.currency //= \"EUR\"'", "asks, and writes it; the jobs stay dead"),
        ],
    ),
    (
        "stats",
        [
            ("dlq-tui stats --by queue", "dead jobs by queue"),
            (
                "dlq-tui stats --by args.currency -f 'error:Stripe::CardError since:2h'",
                "jobs that one error killed in the last two hours, by a value in their arguments",
            ),
        ],
    ),
    (
        "list",
        [
            ("dlq-tui list -f 'error:Net::ReadTimeout -queue:low' --limit 100", "the newest 100 that a filter selects"),
            (
                "dlq-tui list --limit 0 -o jsonl | jq -c 'select(.attempts > 3)' | dlq-tui replay - --dry-run",
                "replay what jq selects",
            ),
        ],
    ),
    (
        "export",
        [
            ("dlq-tui export -f since:1d --to dead.jsonl", "all that died within a day, with arguments and backtraces"),
            (
                "dlq-tui export --run last -o markdown --to note.md",
                "a note on the last replay: its jobs, their outcomes, and when it all happened",
            ),
        ],
    ),
    (
        "show",
        [
            ("dlq-tui show 10442", "one job with arguments and backtrace"),
            ("dlq-tui list -f error:KeyError --limit 3 -o jsonl | dlq-tui show - -o jsonl", "three of a kind"),
        ],
    ),
    (
        "replay",
        [
            ("dlq-tui replay -f 'error:Net::ReadTimeout since:2h' --rate 50/s", "replay what a filter selects, gently"),
            ("dlq-tui replay 10442 10443 --reason 'INC-7, fixed in 412'", "replay two jobs, and keep why"),
        ],
    ),
    (
        "ignore",
        [
            ("dlq-tui ignore -f 'class:NewsletterJob until:7d'", "ignore old newsletters"),
            ("dlq-tui ignore 10442 --reason 'customer is gone'", "ignore one job, with a reason"),
        ],
    ),
    (
        "reopen",
        [
            ("dlq-tui reopen 10442", "take one job back that was ignored"),
            ("dlq-tui reopen --all --dry-run", "what taking back all of them would do"),
        ],
    ),
    (
        "discard",
        [
            ("dlq-tui discard -f 'class:PingJob' --dry-run", "what would be deleted; a copy stays in the ledger"),
            ("dlq-tui discard 10442 --no-archive --reason 'holds personal data'", "delete one job and keep no copy"),
        ],
    ),
    (
        "archive",
        [
            ("dlq-tui archive -f 'until:30d'", "move what died more than 30 days ago"),
            ("dlq-tui archive 10442 10443 --yes", "move two jobs without being asked"),
        ],
    ),
    (
        "purge",
        [
            ("dlq-tui purge --state resolved --older-than 30d --dry-run", "what retention would delete"),
            ("dlq-tui purge --state resolved --state ignored --older-than 90d --yes", "the same for cron, for good"),
        ],
    ),
    (
        "check",
        [
            ("dlq-tui check --max total:1000 --max 'queue:billing:0'", "exit code 5 when a number is passed"),
            ("dlq-tui check --max-growth 200/5m --max-age 1h -o json", "growth and age, for a monitor"),
        ],
    ),
    (
        "watch",
        [
            ("dlq-tui watch --by queue", "a line for each change"),
            ("dlq-tui watch -f queue:billing --interval 10s -o jsonl", "one queue, for a script"),
        ],
    ),
    (
        "metrics",
        [
            ("dlq-tui metrics --source shop", "serve http://127.0.0.1:9464/metrics"),
            ("dlq-tui metrics --listen 0.0.0.0:9464 --top 50", "reachable from other machines, 50 names each"),
        ],
    ),
    (
        "runs",
        [
            (
                "dlq-tui runs r-20260101-120000-ab12 --wait --timeout 10m",
                "wait for the outcome of a replay; exit code 3 if jobs died again",
            ),
            ("dlq-tui runs r-20260101-120000-ab12 --jobs --part failed", "the jobs of one run that failed, and why"),
        ],
    ),
    (
        "mark",
        [
            (
                "dlq-tui mark v2.3.1 --source shop",
                "the last step of a deploy; `stats --against @v2.3.1` compares with it",
            ),
            ("dlq-tui mark v2.3.0 --at 2026-11-20T03:12:09Z", "a deploy that nobody marked"),
        ],
    ),
    (
        "undo",
        [
            (
                "dlq-tui undo r-20260101-120000-ab12 --dry-run",
                "how much of a run can be taken back; `dlq-tui runs` lists them",
            ),
            ("dlq-tui undo r-20260101-120000-ab12 10442", "take back one job of it"),
        ],
    ),
    (
        "resume",
        [
            ("dlq-tui resume r-20260101-120000-ab12", "resume a run that was stopped; `dlq-tui runs` lists them"),
            ("dlq-tui resume r-20260101-120000-ab12 --rate 20/s --yes", "the same slower, without being asked"),
        ],
    ),
    (
        "init",
        [
            ("dlq-tui init --preset jobs_dlq --dry-run", "print the statements and run none"),
            ("dlq-tui init --ledger --source shop", "keep the record of runs in the database, for all operators"),
        ],
    ),
    (
        "adapters",
        [
            ("dlq-tui adapters init --table app_failed_jobs --print", "draft an adapter for a table of your own"),
            ("dlq-tui adapters check", "try every statement of the adapters that fit"),
        ],
    ),
    (
        "adapters list",
        [
            ("dlq-tui adapters list", "which layouts are known"),
            ("dlq-tui adapters list -o json", "the same for a script"),
        ],
    ),
    (
        "adapters show",
        [
            ("dlq-tui adapters show jobs_dlq", "how a built-in layout is described"),
            ("dlq-tui adapters show jobs_dlq > own.toml", "a start for one of your own"),
        ],
    ),
    (
        "adapters check",
        [
            ("dlq-tui adapters check ./own.toml", "try the statements of a file"),
            ("dlq-tui adapters check jobs_dlq --deep", "try every verb as well; all is rolled back"),
        ],
    ),
    (
        "adapters init",
        [
            ("dlq-tui adapters init --table app_failed_jobs", "write a draft to edit"),
            ("dlq-tui adapters init --table billing.dead_tasks --print", "print it for a table in another schema"),
        ],
    ),
    ("config", [("dlq-tui config", "what is set, and where"), ("dlq-tui config -o json", "the same for a script")]),
    (
        "completions",
        [
            ("dlq-tui completions bash > ~/.local/share/bash-completion/completions/dlq-tui", "for bash"),
            ("dlq-tui completions zsh > ~/.zfunc/_dlq-tui", "for zsh, where fpath has ~/.zfunc"),
        ],
    ),
    (
        "man",
        [
            ("dlq-tui man | man -l -", "read the manual page"),
            ("dlq-tui man --dir ~/.local/share/man/man1", "install one for each command"),
        ],
    ),
    (
        "docs",
        [
            ("dlq-tui docs filter", "the filter language"),
            ("dlq-tui docs adapters", "how to describe a table of your own"),
        ],
    ),
];

/// The command line, with examples below the help of each command.
pub fn command() -> Command {
    with_examples(Cli::command(), "")
}

fn with_examples(command: Command, path: &str) -> Command {
    let children: Vec<String> = command.get_subcommands().map(|child| child.get_name().to_owned()).collect();
    let command = children.iter().fold(command, |command, child| {
        let path = format!("{path} {child}");
        command.mut_subcommand(child, |child| with_examples(child, path.trim()))
    });
    match EXAMPLES.iter().find(|(name, _)| *name == path) {
        Some((_, examples)) => command.after_help(written(examples)),
        None => command,
    }
}

fn written(examples: &[(&str, &str)]) -> String {
    let lines = examples.iter().map(|(line, what)| format!("  # {what}\n  {line}"));
    format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;
    use crate::domain::filter::Filter;

    /// Every command that is shown, by its words.
    fn shown(command: &Command, path: &str, into: &mut Vec<String>) {
        for child in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
            let path = format!("{path} {}", child.get_name()).trim().to_owned();
            shown(child, &path, into);
            into.push(path);
        }
    }

    #[test]
    fn every_command_has_two_examples_in_its_help() {
        let mut commands = Vec::new();
        shown(&command(), "", &mut commands);
        for name in &commands {
            let (_, examples) = EXAMPLES.iter().find(|(of, _)| of == name).unwrap_or_else(|| panic!("none of {name}"));
            for (line, _) in examples {
                assert!(line.contains(&format!("dlq-tui {name}")), "{line}");
            }
        }
        assert_eq!(commands.len(), EXAMPLES.len(), "an example of a command that is not shown");
        let help = command().find_subcommand_mut("replay").expect("replay").render_help().to_string();
        assert!(help.contains("Examples:\n  # replay what a filter"), "{help}");
    }

    #[test]
    fn every_example_is_a_line_that_parses() {
        for (line, _) in EXAMPLES.iter().flat_map(|(_, examples)| examples) {
            let words = shell_words::split(line).expect(line);
            let ours = words.split(|word| word == "|").filter(|part| part[0] == "dlq-tui");
            let mut n = 0;
            for part in ours {
                let words = part.split(|word| word == ">").next().expect("words");
                let matches = command().try_get_matches_from(words).unwrap_or_else(|e| panic!("{line}: {e}"));
                Cli::from_arg_matches(&matches).unwrap_or_else(|e| panic!("{line}: {e}"));
                let filter = words.iter().position(|word| word == "-f").map(|at| &words[at + 1]);
                if let Some(filter) = filter {
                    Filter::parse(filter).unwrap_or_else(|e| panic!("{line}: {e}"));
                }
                n += 1;
            }
            assert!(n > 0, "{line}");
        }
    }
}
