//! The command line: its words, and the headless commands, one file each.

pub mod args;
pub mod check;
pub mod demo;
pub mod docs;
pub mod exit;
mod jobs;
pub mod output;
mod source;
pub mod table;

mod console;
mod doctor;
mod export;
mod logfile;
mod manual;
mod mark;
mod metrics;
mod operator;
mod signal;
mod termios;
mod verbs;
mod watch;
mod wrap;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::FromArgMatches;

use crate::domain::log;
use crate::store::SourceError;
use crate::triage::repair;
use args::{Cli, Command};
use exit::{CliError, Code, end};
use source::source_choice::SourceChoice;

/// Reads the command line, does what it says, and ends with the exit code that says how it went.
pub fn main() -> ExitCode {
    // Not a command: this program starts itself with it, and there is nothing to read or to log.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == repair::WORKER_ARGUMENT) {
        return repair::work().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let matches = match args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) if error.use_stderr() => return exit::misused(&error).into(),
        Err(help) => help.exit(),
    };
    let word = matches.subcommand_name().unwrap_or("console").to_owned();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let log_file = match cli.log_file.as_deref().map(logfile::Log::start).transpose() {
        Ok(log_file) => log_file,
        Err(error) => return end(Err(error)).into(),
    };
    let began = Instant::now();
    log::began(env!("CARGO_PKG_VERSION"), &word);
    // What takes long happens in the database. A thread for each core of a large machine would hold memory of its own.
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => return end(Err(e).context("cannot start")).into(),
    };
    let code = end(runtime.block_on(async {
        let overdue = signal::overdue();
        tokio::select! {
            biased;
            ended = dispatch(cli, &word) => ended,
            () = overdue => {
                verbs::progress_bar::clear();
                Err(SourceError::Cancelled.into())
            }
        }
    }));
    // What still runs is being stopped, or is a database that does not answer: neither is waited for.
    runtime.shutdown_background();
    log::ended(code as u8, began.elapsed());
    drop(log_file);
    code.into()
}

async fn dispatch(cli: Cli, word: &str) -> Result<Code> {
    let Some(command) = &cli.command else {
        return console::run(SourceChoice::load(cli.connect, word)?, &cli.console).await;
    };
    match command {
        Command::Docs(args) => return docs::run(args),
        Command::Completions(args) => return manual::completions(args),
        Command::Man(args) => return manual::pages(args),
        _ => {}
    }
    if cli.console.filter.is_some() {
        return Err(CliError::usage("write -f behind the command: before it, it is the console's").into());
    }
    if let Command::Doctor(args) = command {
        return doctor::run(&cli, args, word).await;
    }
    let session = SourceChoice::load(cli.connect.clone(), word)?;
    match command {
        Command::Demo(args) => demo::run(session, args).await,
        Command::Sources(args) => source::sources::run(&session, args).await,
        Command::Contrast(args) => jobs::contrast::run(&source::open::open(&session).await?, args).await,
        Command::Repair(args) => jobs::repair::run(&source::open::open(&session).await?, args).await,
        Command::Stats(args) => jobs::stats::run(&source::open::open(&session).await?, args).await,
        Command::List(args) => jobs::list::run(&source::open::open(&session).await?, args).await,
        Command::Show(args) => jobs::show::run(&source::open::open(&session).await?, args).await,
        Command::Verb(verb) => verbs::run(&source::open::open(&session).await?, verb).await,
        Command::Runs(args) => verbs::runs::run(&session, args).await,
        Command::Mark(args) => mark::run(&session, args).await,
        Command::Undo(args) => verbs::undo::run(&source::open::open(&session).await?, args).await,
        Command::Resume(args) => verbs::run::resume(&source::open::open(&session).await?, args).await,
        Command::Init(args) => source::init::run(&session, args).await,
        Command::Adapters(args) => source::adapters::run(&session, args).await,
        Command::Export(args) => export::run(&source::open::open(&session).await?, args).await,
        Command::Check(args) => check::run(&source::open::open(&session).await?, args).await,
        Command::Watch(args) => watch::run(&source::open::open(&session).await?, args).await,
        Command::Metrics(args) => metrics::run(source::open::open(&session).await?, args).await,
        Command::Config(args) => source::config::run(&session, args),
        // Those that need no config, or none that is right, are done above.
        Command::Docs(_) | Command::Completions(_) | Command::Man(_) | Command::Doctor(_) => Ok(Code::Done),
    }
}
