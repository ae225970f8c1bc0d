//! `purge`: retention. What was settled long ago is deleted for good.

use anyhow::Result;

use crate::cli::args::PurgeArgs;
use crate::cli::exit::{CliError, Code};
use crate::cli::source::open::{OpenedStore, filter};
use crate::cli::verbs;
use crate::domain::action::Action;
use crate::domain::filter::{Clause, Filter, Key, Test};
use crate::domain::run_options::Options;
use crate::domain::time::exact_span;
use crate::triage::plan::ActionScope;

/// Plans the purge, asks, and executes it.
///
/// # Errors
/// When the filter says otherwise what the options say, the layout has no such state, the purge is not confirmed, or
/// source or ledger fail.
pub async fn run(opened: &OpenedStore, args: &PurgeArgs) -> Result<Code> {
    let info = opened.desk.store.info();
    if let Some(state) = args.state.iter().find(|state| !info.capabilities.options.states.contains(state)) {
        return Err(CliError::refused(format!("{} has no {state} jobs: it keeps no such state", info.title)).into());
    }
    let scope = ActionScope::Filter(scope(args)?);
    let options = Options { older_than: Some(args.older_than.as_secs()), ..Options::default() };
    verbs::carry_out(opened, verbs::ask(opened, scope, Action::Purge, options, &args.plan), &args.plan).await
}

/// The jobs: those of the filter that are in one of the states, and died and were last changed long enough ago.
fn scope(args: &PurgeArgs) -> Result<Filter> {
    let own = filter(args.filter.filter.as_deref())?;
    if let Some(clause) = own.clauses().iter().find(|clause| !clause.negated && says_otherwise(clause)) {
        let word = clause.key.word();
        let told = if matches!(clause.key, Key::State | Key::Native) { "--state" } else { "--older-than" };
        return Err(CliError::usage(format!("the filter: {told} says it already, so {word}: has no place here")).into());
    }
    let age = exact_span(args.older_than);
    let mut text = args.state.iter().map(|state| format!("state:{state} ")).collect::<String>();
    text.push_str(&format!("until:{age} idle:{age} {own}"));
    filter(Some(text.trim_end()))
}

/// Whether a term would be an alternative to what the options say, and so widen it.
fn says_otherwise(clause: &Clause) -> bool {
    let ends = |test: &Test| matches!(test, Test::Time { from: None, .. });
    match clause.key {
        Key::State | Key::Native | Key::Idle => true,
        Key::At => clause.any.iter().any(ends),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::args::{Cli, Command, VerbArgs, VerbCommand};

    fn composed(line: &[&str]) -> Result<String> {
        let cli = Cli::try_parse_from(["dlq-tui", "purge"].iter().chain(line))?;
        let Some(Command::Verb(VerbCommand { args: VerbArgs::Purge(args), .. })) = cli.command else {
            anyhow::bail!("another command")
        };
        scope(&args).map(|filter| filter.to_string())
    }

    #[test]
    fn states_and_age_are_terms_of_the_filter_that_it_cannot_widen() {
        let line = ["--state", "resolved", "--state", "ignored", "--older-than", "30d"];
        assert_eq!(composed(&line).expect("a scope"), "state:resolved state:ignored until:30d idle:30d");
        let with = |filter| composed(&[&line[..], &["-f", filter]].concat());
        let narrowed = with("error:Boom since:90d -queue:low").expect("a scope");
        assert_eq!(narrowed, "state:resolved state:ignored until:30d idle:30d error:Boom since:90d -queue:low");
        for wide in ["state:dead", "until:1h", "idle:1h", "native:failed", "at:<2026-11-20"] {
            assert!(with(wide).is_err(), "{wide}");
        }
    }

    #[test]
    fn both_state_and_age_must_be_said_and_what_is_retried_is_not_purged() {
        for line in [
            &["--state", "resolved"][..],
            &["--older-than", "30d"],
            &["--state", "retrying", "--older-than", "30d"],
            &["--state", "resolved", "--older-than", "0s"],
        ] {
            assert!(composed(line).is_err(), "{line:?}");
        }
    }
}
