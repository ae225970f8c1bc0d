//! The only place of the console that spawns, sleeps, owns a channel or touches the terminal.

mod effect_executor;
mod event_loop;
mod external_program;
mod marks;
mod outcome_polls;
mod request_slots;
mod runs;
mod session;
mod state_files;
mod terminal;
mod world;

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use ratatui::Frame;
use thiserror::Error;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use effect_executor::{EffectExecutor, Farewell};
use event_loop::{Ended, EventLoop, Wires};
use session::Session;
use terminal::input::Keyboard;
use terminal::panic_hook::{Collector, Report};
use terminal::signals::SignalListener;
use terminal::terminal_screen::TerminalScreen;
use world::Fact;

use crate::domain::time::Timestamp;
use crate::ledger::RunId;
use crate::tui::Launch;
use crate::tui::app::{Effect, Msg};

pub use external_program::edit as edit_text;
pub use terminal::terminal_guard::{check_terminal, check_this_terminal};

/// Model and view, as the loop sees them.
pub trait Program {
    /// What is to be done before anything has happened.
    fn start(&mut self, now: Timestamp) -> Vec<Effect>;

    /// Takes in a fact.
    fn update(&mut self, msg: Msg, now: Timestamp) -> Vec<Effect>;

    /// Whether what there is to see first is being read, and an empty frame would say little.
    fn is_opening(&self) -> bool {
        false
    }

    /// Draws the present state. Pure but for caches.
    fn draw(&mut self, frame: &mut Frame<'_>, now: Timestamp);

    /// The terminal has taken what was drawn.
    fn shown(&mut self, _now: Timestamp) {}
}

/// Why the console could not be shown, or ended before the operator left it. Its `Display` is a sentence.
#[derive(Debug, Error)]
pub enum ConsoleError {
    /// There is no terminal that can show it.
    #[error("{0}")]
    Unfit(String),
    /// The terminal cannot be used.
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
    /// A fault of ours; the terminal was restored.
    #[error("{0}")]
    Fault(String),
    /// The console ended while a run was in a batch: it can be resumed.
    #[error("the run did not finish its batch in time; `dlq-tui runs` shows it and `dlq-tui resume` resumes it")]
    RunLeft,
    /// The console ended, and with it a run between two batches.
    #[error("{} was stopped", .0.0)]
    RunStopped(RunId),
}

/// Runs the console until the operator leaves it. The terminal is restored in every case but a kill.
///
/// Must be awaited by the thread that began it, not in a spawned task: that thread alone touches the terminal.
///
/// # Errors
/// When there is no fit terminal, when it is lost in another way than by a hang-up, or when the program has a fault.
pub async fn run<P: Program>(launch: &Launch, program: P) -> Result<(), ConsoleError> {
    check_this_terminal().map_err(ConsoleError::Unfit)?;
    let (facts_in, facts) = unbounded_channel();
    let (notices, reports) = unbounded_channel();
    let collector = Collector::install(notices);
    tokio::spawn(tell_reports(reports, facts_in.clone()));
    let (_listener, signals) = SignalListener::start()?;
    let console = TerminalScreen::enter(launch.settings.mouse)?;
    let outside = EffectExecutor::new(Arc::new(Session::new(launch)), facts_in);
    let wires = Wires { signals, facts };
    let mut looping = EventLoop::new(program, console, Keyboard::default(), outside, wires, Timestamp::now);

    let ended = AssertUnwindSafe(looping.run()).catch_unwind().await;
    // Before anything is waited for: the operator has the shell back at once.
    let EventLoop { screen, input, mut world, .. } = looping;
    drop(input);
    drop(screen);
    let left = world.farewell().await;
    match ended {
        Ok(Ended::Quit | Ended::HungUp) => match left {
            Farewell::Done => Ok(()),
            Farewell::Stopped(run) => Err(ConsoleError::RunStopped(run)),
            Farewell::Cut => Err(ConsoleError::RunLeft),
        },
        Err(_) => Err(ConsoleError::Fault(
            collector.last().map_or_else(|| "a fault in dlq-tui".to_owned(), |report| report.sentence()),
        )),
    }
}

/// Panics of tasks: the console lives on, and shows them to the operator.
async fn tell_reports(mut reports: UnboundedReceiver<Report>, facts: UnboundedSender<Fact>) {
    while let Some(report) = reports.recv().await {
        if facts.send(Fact::Told(Msg::Said(Err(report.sentence())))).is_err() {
            return;
        }
    }
}
