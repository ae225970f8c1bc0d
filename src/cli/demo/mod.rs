//! `dlq-tui demo`: a shop in the middle of a payments outage, on an embedded database in a temporary folder.

mod catalogue;
mod database;
mod random;
mod simulation;
mod template;
mod timeline;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use catalogue::{FailureCatalogue, Lang};
use database::Shop;
use simulation::Life;
use timeline::Story;

use super::args::DemoArgs;
use super::console;
use super::exit::Code;
use crate::cli::source::source_choice::{Origin, SourceChoice};
use crate::config::{Paths, ReplayTo, Source, SourceAddress};
use crate::domain::histogram::dead_jobs;
use crate::domain::time::Timestamp;
use crate::store::survey::Target;

/// How long leaving the demo may take.
const LEAVE: Duration = Duration::from_millis(100);

/// The layouts that the demo can be had in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum DemoLayout {
    /// `jobs` and `jobs_dlq`: jobs in four languages.
    #[default]
    #[value(name = "jobs_dlq", alias = "c")]
    JobsDlq,
    /// `dead_letter_jobs` with a live `jobs` table: jobs in one language.
    #[value(name = "dead_letter_jobs", alias = "a")]
    DeadLetterJobs,
}

impl DemoLayout {
    /// Its name, which is also the name of the dead-letter table.
    pub fn word(self) -> &'static str {
        match self {
            DemoLayout::JobsDlq => "jobs_dlq",
            DemoLayout::DeadLetterJobs => "dead_letter_jobs",
        }
    }

    fn language(self) -> Option<Lang> {
        match self {
            DemoLayout::JobsDlq => None,
            DemoLayout::DeadLetterJobs => Some(Lang::Ruby),
        }
    }

    /// The statements that make its tables: the live queue, and the dead-letter table.
    fn schema(self) -> [&'static str; 2] {
        let dead = match self {
            DemoLayout::JobsDlq => include_str!("../../../migrations/preset/sqlite/jobs_dlq.sql"),
            DemoLayout::DeadLetterJobs => include_str!("../../../migrations/preset/sqlite/dead_letter_jobs.sql"),
        };
        [include_str!("../../../migrations/preset/sqlite/jobs.sql"), dead]
    }
}

/// What the demo is made of.
#[derive(Clone, Debug)]
pub struct DemoRecipe {
    /// Dead jobs at the start.
    pub rows: usize,
    /// The same seed makes the same jobs.
    pub seed: u64,
    /// Which tables.
    pub layout: DemoLayout,
}

/// A demo that is running: the database, and the shop that writes into it.
pub struct Demo {
    life: Life,
    file: PathBuf,
    layout: DemoLayout,
    // Deleted with everything in it when the demo ends; `None` where the operator named the folder.
    _folder: Option<tempfile::TempDir>,
}

impl Demo {
    /// Makes and fills the database, in a folder of its own or in `folder`, and lets the shop live.
    ///
    /// # Errors
    /// When the folder cannot be written or holds a demo already.
    pub async fn start(recipe: &DemoRecipe, folder: Option<&Path>) -> Result<Demo> {
        let own = match folder {
            Some(_) => None,
            None => Some(tempfile::Builder::new().prefix("dlq-tui-demo-").tempdir().context("a folder for the demo")?),
        };
        let place = folder.or(own.as_ref().map(tempfile::TempDir::path)).unwrap_or(Path::new("."));
        let file = place.join("shop.sqlite3");
        anyhow::ensure!(!file.exists(), "{} is there already; name an empty folder", file.display());
        let mut story = Story::new(FailureCatalogue::load(recipe.layout.language())?, recipe.seed);
        let mut shop = Shop::create(&file, recipe.layout).await?;
        let times = story.timeline(recipe.rows, Timestamp::now());
        shop.fill(times.into_iter().map(|(at, phase)| story.death(phase, at))).await?;
        shop.close().await;
        // Whoever serves the demo to commands of their own has no story that ends.
        let story = if folder.is_none() { story.in_outage(Timestamp::now()) } else { story };
        let life = Life::start(&file, recipe.layout, story).await?;
        Ok(Demo { life, file, layout: recipe.layout, _folder: own })
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

/// `dlq-tui demo`: the console on a demo of its own, or the demo alone where a folder is named to serve it from.
///
/// # Errors
/// As [`Demo::start`] and the console.
pub async fn run(session: SourceChoice, args: &DemoArgs) -> Result<Code> {
    let recipe = DemoRecipe { rows: args.rows, seed: args.seed, layout: args.layout };
    if let Some(folder) = &args.serve {
        return serve(&recipe, folder).await;
    }
    console::terminal()?;
    super::output::say(&format!("filling a database with {} …", dead_jobs(recipe.rows as u64)));
    let demo = Demo::start(&recipe, None).await?;
    let (session, origin) = at_home(session, &demo);
    let ended = console::on(session, origin, &args.console, "demo").await;
    // A job that the toy worker has in hand keeps nobody waiting: its folder goes.
    drop(tokio::time::timeout(LEAVE, demo.end()).await);
    ended
}

/// The demo as a source, apart from everything that is configured: nothing of it stays in the operator's ledger.
fn at_home(session: SourceChoice, demo: &Demo) -> (SourceChoice, Origin) {
    let home = demo.file().parent().unwrap_or(Path::new(".")).to_owned();
    let name = "demo".to_owned();
    let source = Source {
        name: name.clone(),
        address: SourceAddress::Url(format!("sqlite:{}", demo.file().display()).into()),
        store: None,
        production: false,
        read_only: session.connect.read_only,
        edit: true,
        refresh: None,
        statement_timeout: None,
        connections: None,
        replay: (demo.layout == DemoLayout::DeadLetterJobs).then(|| ReplayTo::Table("jobs".to_owned())),
        validate: None,
    };
    let origin = Origin {
        name,
        target: Target::sqlite(demo.file(), false),
        read_only: source.read_only,
        store: Some(demo.layout.word().to_owned()),
        source: Some(source),
        reach: vec!["--url".into(), format!("sqlite:{}", demo.file().display())],
        named_by: String::new(),
    };
    let paths = Paths::within(home.join("config"), home.join("state"), None);
    (SourceChoice { paths, ..session }, origin)
}

/// Runs the demo without a console until it is stopped, and says where the database is.
async fn serve(recipe: &DemoRecipe, folder: &Path) -> Result<Code> {
    let demo = Demo::start(recipe, Some(folder)).await?;
    let mut out = super::output::stdout();
    writeln!(out, "sqlite:{}", demo.file().display())?;
    out.flush()?;
    drop(out);
    // The toy worker finishes the jobs that it has in hand.
    let _unhurried = super::signal::Unhurried::begin();
    super::signal::stop_requested().await;
    demo.end().await;
    Ok(Code::Done)
}
