//! The command line: its words, and the headless commands, one file each.

pub mod args;
pub mod demo;
pub mod exit;
pub mod out;
pub mod table;

mod signal;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use args::{Cli, Command};
use exit::{Code, Fault, end};

/// Reads the command line, does what it says, and ends with the exit code of DESIGN.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => return end(Err(e).context("cannot start")).into(),
    };
    let code = end(runtime.block_on(run(cli)));
    // What still runs has been told to stop, or is a database that does not answer: neither is waited for.
    runtime.shutdown_background();
    code.into()
}

async fn run(cli: Cli) -> Result<Code> {
    match cli.command {
        Some(Command::Demo(args)) => {
            let recipe = demo::Recipe { rows: args.rows, seed: args.seed, layout: args.layout };
            match args.serve {
                Some(folder) => demo::serve(&recipe, &folder).await.map(|()| Code::Done),
                None => Err(Fault::usage("not yet").into()),
            }
        }
        _ => Err(Fault::usage("not yet").into()),
    }
}
