//! The command line.

use std::path::PathBuf;

use clap::{CommandFactory, Parser};

use crate::fixtures::Layout;
use crate::harness::Engine;
use crate::{READING, WRITING};

/// Rows of the small size.
const SMALL: u32 = 20_000;

/// Measures dlq-tui on a database of its own and prints its figures beside those of plain SQL.
#[derive(Debug, Parser)]
#[command(name = "scripts/bench")]
pub struct Args {
    /// Rows in the table of the dead: 20000, 500k, 1M, 10M.
    #[arg(long, default_value = "1M", value_parser = count)]
    rows: u32,
    /// The database: postgres, mariadb or sqlite.
    #[arg(long, default_value = "postgres", value_parser = ["postgres", "mariadb", "sqlite"])]
    db: String,
    /// The layout: dead_letter_jobs, dlq_events or jobs_dlq; on PostgreSQL.
    #[arg(long, default_value = "dead_letter_jobs", value_parser = layout)]
    pub layout: Layout,
    /// 20,000 rows and one run of everything: shows that the bench works, not how fast anything is.
    #[arg(long)]
    pub small: bool,
    /// Only these parts: start, counts, pages, scans, fingerprints, contrast, freeze, leaving, footprint, live, replay, batch, workers, rollout,
    /// keyboard, million, soak, indexes, peers.
    #[arg(long, value_delimiter = ',', value_parser = part)]
    only: Vec<String>,
    /// Leaves parts out.
    #[arg(long, value_delimiter = ',', value_parser = part)]
    skip: Vec<String>,
    /// Keeps PostgreSQL's data in this folder, and finds there what an earlier run filled.
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
    /// Prints the statements behind each figure, the dearest first.
    #[arg(long)]
    pub statements: bool,
    /// Also writes the report as a page of the documentation.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// What `cargo bench` passes along.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Args {
    /// The same, or the end of the program where they do not go together.
    pub fn checked(self) -> Self {
        let refuse = |sentence: &str| Self::command().error(clap::error::ErrorKind::ArgumentConflict, sentence).exit();
        if self.engine() != Engine::Postgres && self.layout != Layout::DeadLetterJobs {
            refuse("--layout is for PostgreSQL; elsewhere it is dead_letter_jobs");
        }
        if self.engine() != Engine::Postgres && self.keep.is_some() {
            refuse("--keep is for PostgreSQL");
        }
        self
    }

    pub fn rows(&self) -> u32 {
        if self.small { SMALL } else { self.rows }
    }

    pub fn engine(&self) -> Engine {
        match self.db.as_str() {
            "mariadb" => Engine::Mysql,
            "sqlite" => Engine::Sqlite,
            _ => Engine::Postgres,
        }
    }

    /// Whether a part is to be measured.
    pub fn wants(&self, part: &str) -> bool {
        let named = |parts: &[String]| parts.iter().any(|one| one == part);
        (self.only.is_empty() || named(&self.only)) && !named(&self.skip)
    }
}

fn part(name: &str) -> Result<String, String> {
    let mut known = READING.into_iter().chain(WRITING);
    if known.any(|part| part == name) {
        Ok(name.to_owned())
    } else {
        Err(format!("one of {READING:?} and {WRITING:?}"))
    }
}

fn count(text: &str) -> Result<u32, String> {
    let (digits, factor) = match text.chars().last() {
        Some('k' | 'K') => (&text[..text.len() - 1], 1_000),
        Some('m' | 'M') => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    let number: u32 = digits.parse().map_err(|_| format!("{text} is no number of rows"))?;
    number.checked_mul(factor).filter(|rows| *rows >= 10_000).ok_or_else(|| "between 10k and 4000M".to_owned())
}

fn layout(name: &str) -> Result<Layout, String> {
    let known = || Layout::ALL.map(Layout::table).join(", ");
    Layout::ALL.into_iter().find(|layout| layout.table() == name).ok_or_else(|| format!("one of {}", known()))
}
