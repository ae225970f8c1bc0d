//! `dlq-tui demo`: a shop in the middle of a payments outage, on an embedded database in a temporary folder.

mod catalogue;
mod database;
mod life;
mod random;
mod story;
mod template;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use catalogue::{Catalogue, Lang};
use database::Shop;
use life::Life;
use story::Story;

use crate::domain::time::Timestamp;

/// The layouts that the demo can be had in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Layout {
    /// `jobs` and `jobs_dlq`: jobs in four languages.
    #[default]
    #[value(name = "jobs_dlq", alias = "c")]
    JobsDlq,
    /// `dead_letter_jobs` with a live `jobs` table: jobs in one language.
    #[value(name = "dead_letter_jobs", alias = "a")]
    DeadLetterJobs,
}

impl Layout {
    /// Its name, which is also the name of the dead-letter table.
    pub fn word(self) -> &'static str {
        match self {
            Layout::JobsDlq => "jobs_dlq",
            Layout::DeadLetterJobs => "dead_letter_jobs",
        }
    }

    fn language(self) -> Option<Lang> {
        match self {
            Layout::JobsDlq => None,
            Layout::DeadLetterJobs => Some(Lang::Ruby),
        }
    }

    /// The statements that make its tables.
    fn schema(self) -> &'static str {
        match self {
            Layout::JobsDlq => include_str!("../../../assets/demo/jobs_dlq.sql"),
            Layout::DeadLetterJobs => include_str!("../../../assets/demo/dead_letter_jobs.sql"),
        }
    }
}

/// What the demo is made of.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Dead jobs at the start.
    pub rows: usize,
    /// The same seed makes the same jobs.
    pub seed: u64,
    /// Which tables.
    pub layout: Layout,
}

/// A demo that is running: the database, and the shop that writes into it.
pub struct Demo {
    life: Life,
    file: PathBuf,
    // Deleted with everything in it when the demo ends; `None` where the operator named the folder.
    _folder: Option<tempfile::TempDir>,
}

impl Demo {
    /// Makes and fills the database, in a folder of its own or in `folder`, and lets the shop live.
    ///
    /// # Errors
    /// When the folder cannot be written or holds a demo already.
    pub async fn start(recipe: &Recipe, folder: Option<&Path>) -> Result<Demo> {
        let own = match folder {
            Some(_) => None,
            None => Some(tempfile::Builder::new().prefix("dlq-tui-demo-").tempdir().context("a folder for the demo")?),
        };
        let place = folder.or(own.as_ref().map(tempfile::TempDir::path)).unwrap_or(Path::new("."));
        let file = place.join("shop.sqlite3");
        anyhow::ensure!(!file.exists(), "{} is there already; name an empty folder", file.display());
        let mut story = Story::new(Catalogue::load(recipe.layout.language())?, recipe.seed);
        let mut shop = Shop::create(&file, recipe.layout).await?;
        let times = story.timeline(recipe.rows, Timestamp::now());
        shop.fill(times.into_iter().map(|(at, phase)| story.death(phase, at))).await?;
        shop.close().await;
        let life = Life::start(&file, recipe.layout, story).await?;
        Ok(Demo { life, file, _folder: own })
    }

    /// The database's file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Stops the shop; the folder goes with it where it was ours.
    pub async fn end(self) {
        self.life.end().await;
    }
}

/// Runs the demo without a console until it is told to stop, and says where the database is.
///
/// # Errors
/// As [`Demo::start`].
pub async fn serve(recipe: &Recipe, folder: &Path) -> Result<()> {
    let demo = Demo::start(recipe, Some(folder)).await?;
    let mut out = super::out::stdout();
    writeln!(out, "sqlite:{}", demo.file().display())?;
    out.flush()?;
    drop(out);
    super::signal::stop_requested().await;
    demo.end().await;
    Ok(())
}
