//! The loop: waits for what happens next, tells the model, passes on what the model wants, draws.
//!
//! It only routes. Nothing is awaited in it but the next thing to happen; only an errand that needs the terminal for
//! another program (an editor, the shell) takes it over, and then there is nothing to be drawn.

use std::future::{Future, pending};
use std::io;
use std::time::Duration;

use crossterm::event::Event;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};

use super::Program;
use super::world::{ExternalProgram, Fact, World};
use crate::domain::log;
use crate::domain::time::Timestamp;
use crate::tui::app::{Effect, Msg};
use crate::tui::runtime::terminal::input::{self, Input};
use crate::tui::runtime::terminal::signals::Signal;

/// What a frame costs of the time, on average: there are no more of them while something happens all the time. A terminal
/// that takes frames more slowly than that gets fewer.
pub const FRAME: Duration = Duration::from_millis(12);

/// Frames that may come before their time, where none came for a while: a key right behind a frame, or the first page behind
/// an empty screen, waits for nothing.
pub const BEFOREHAND: u32 = 2;

/// How long the first frame waits for what it is to show: drawing an empty one costs as long as a near database needs for its
/// answers. Nobody has seen anything yet, and it is too short for anybody to notice.
pub const PATIENCE: Duration = Duration::from_millis(30);

/// The time that a model has at most, once it is to end, to finish what it does.
const PARTING: Duration = Duration::from_secs(5);

/// How long signals may still arrive that were meant for the program that had the terminal before us.
const ECHO: Duration = Duration::from_millis(250);

/// Most things that are taken in between two frames, so that a flood cannot keep the screen from being drawn.
const GULP: usize = 1_000;

/// A screen that takes one frame at a time.
pub trait FrameSink {
    /// Whether a frame can be drawn now.
    fn is_ready(&self) -> bool;

    /// Waits until a frame can be drawn; an error when the terminal is gone. Can be dropped at any time.
    fn ready(&self) -> impl Future<Output = io::Result<()>>;

    /// Draws the model. Only called when ready.
    ///
    /// # Errors
    /// When the terminal is gone.
    fn draw<P: Program>(&mut self, program: &mut P, now: Timestamp) -> io::Result<()>;

    /// The terminal's size.
    ///
    /// # Errors
    /// When the terminal is gone.
    fn size(&self) -> io::Result<(u16, u16)>;

    /// Makes the next frame a whole one.
    fn repaint(&mut self);

    /// Writes bytes that are no frame.
    fn send(&mut self, bytes: Vec<u8>);

    /// Takes or releases the mouse.
    fn mouse(&mut self, taken: bool);

    /// Gives the terminal back for a while.
    fn leave(&mut self);

    /// Takes it again.
    ///
    /// # Errors
    /// When the terminal is gone.
    fn enter(&mut self) -> io::Result<()>;
}

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The model wanted to leave.
    Quit,
    /// The terminal is gone.
    HungUp,
}

/// What comes in besides the operator's own doing.
#[derive(Debug)]
pub struct Wires {
    /// What the system asks for.
    pub signals: UnboundedReceiver<Signal>,
    /// What the world tells.
    pub facts: UnboundedReceiver<Fact>,
}

/// Everything that the loop joins.
pub struct EventLoop<P, S, I, W> {
    /// Model and view.
    pub program: P,
    /// Where it is drawn.
    pub screen: S,
    /// What the operator does.
    pub input: I,
    /// What carries out effects.
    pub world: W,
    /// What else comes in.
    pub wires: Wires,
    clock: Clock,
    state: LoopState,
}

/// The wall clock, but that it never goes back: what was due in a minute is, even when the clock is set back by an hour.
#[derive(Debug)]
struct Clock {
    wall: fn() -> Timestamp,
    /// By how much it is ahead, in microseconds.
    ahead: i64,
    last: Timestamp,
}

impl Clock {
    fn new(wall: fn() -> Timestamp) -> Self {
        Self { wall, ahead: 0, last: Timestamp(i64::MIN) }
    }

    fn now(&mut self) -> Timestamp {
        let told = (self.wall)().0.saturating_add(self.ahead);
        let back = self.last.0.saturating_sub(told).max(0);
        self.ahead = self.ahead.saturating_add(back);
        self.last = Timestamp(told.saturating_add(back));
        self.last
    }
}

#[derive(Debug, Default)]
struct LoopState {
    /// Something happened since the last frame.
    dirty: bool,
    /// A frame is on its way to the terminal.
    in_flight: bool,
    /// Since when it is.
    drawn: Option<Instant>,
    /// Until when the frames that were drawn have used the time up.
    used: Option<Instant>,
    /// Until when the first frame may wait.
    patient_until: Option<Instant>,
    /// When the model wants to be woken.
    wake: Option<Instant>,
    /// Until when signals are still those of the program that had the terminal.
    deaf_until: Option<Instant>,
    /// When we leave whatever the model says.
    deadline: Option<Instant>,
    errand: Option<ExternalProgram>,
    ended: Option<Ended>,
}

impl<P: Program, S: FrameSink, I: Input, W: World> EventLoop<P, S, I, W> {
    /// Joins the parts; `wall` is the wall clock.
    pub fn new(program: P, screen: S, input: I, world: W, wires: Wires, wall: fn() -> Timestamp) -> Self {
        Self { program, screen, input, world, wires, clock: Clock::new(wall), state: LoopState::default() }
    }

    /// Runs until the model wants to leave or the terminal is gone.
    pub async fn run(&mut self) -> Ended {
        self.begin();
        loop {
            self.note_frame_shown();
            if self.can_draw() {
                self.draw();
            }
            if let Some(ended) = self.state.ended {
                self.world.close();
                return ended;
            }
            if let Some(errand) = self.state.errand.take() {
                self.run_external_program(errand).await;
                continue;
            }
            let LoopState { wake, deadline, .. } = self.state;
            let due = self.due();
            tokio::select! {
                biased;
                Some(signal) = self.wires.signals.recv() => self.take_signal(signal),
                event = self.input.next() => self.take_events(event).await,
                Some(fact) = self.wires.facts.recv() => self.take_facts(fact),
                () = alarm(wake) => self.wake(),
                () = alarm(deadline) => self.state.ended = Some(Ended::Quit),
                terminal = frame_due(&self.screen, due), if self.state.dirty => self.check(&terminal),
                terminal = self.screen.ready(), if self.state.in_flight => self.check(&terminal),
            }
        }
    }

    fn begin(&mut self) {
        // Before the size is asked for: a change that nobody listens for yet would never be drawn.
        self.input.resume();
        self.state.patient_until = Some(Instant::now() + PATIENCE);
        let effects = self.program.start(self.clock.now());
        self.carry_out(effects);
        self.measure();
    }

    /// Tells how large the screen is.
    fn measure(&mut self) {
        match self.screen.size() {
            Ok((width, height)) => self.tell(Msg::Resize { width, height }),
            Err(_) => self.hang_up(),
        }
    }

    fn take_signal(&mut self, signal: Signal) {
        let echo = self.state.deaf_until.is_some_and(|until| Instant::now() < until);
        match signal {
            Signal::Interrupt | Signal::Continue if echo => {}
            Signal::Terminate | Signal::Interrupt => {
                self.tell(Msg::Terminate);
                // A model that has something to bring to an end may ask for time; it does not get all it wants.
                self.state.deadline.get_or_insert(Instant::now() + PARTING);
            }
            Signal::PauseRun(paused) => self.tell(Msg::PauseRun(paused)),
            Signal::Resized => self.measure(),
            Signal::Continue => {
                let entered = self.screen.enter();
                self.screen.repaint();
                if entered.is_err() { self.hang_up() } else { self.tell(Msg::Continued) }
            }
        }
    }

    fn take_facts(&mut self, first: Fact) {
        let (mut next, mut left) = (Some(first), GULP);
        while let Some(fact) = next {
            match fact {
                Fact::Bytes(bytes) => self.screen.send(bytes),
                fact => self.world.on_fact(fact).into_iter().for_each(|msg| self.tell(msg)),
            }
            left -= 1;
            next = if left == 0 || self.is_busy() { None } else { self.wires.facts.try_recv().ok() };
        }
    }

    /// Takes in all events that are there. Of several sizes only the last one counts.
    async fn take_events(&mut self, first: Option<io::Result<Event>>) {
        let (mut next, mut left) = (Some(first), GULP);
        let (mut size, mut resized) = (None, false);
        while let Some(event) = next {
            match event {
                Some(Ok(Event::Resize(width, height))) => {
                    size = Some(Msg::Resize { width, height });
                    resized = true;
                }
                Some(Ok(event)) => {
                    size.take().into_iter().chain(input::message(event)).for_each(|msg| self.tell(msg));
                }
                Some(Err(_)) | None => return self.hang_up(),
            }
            left -= 1;
            next = if left == 0 || self.is_busy() { None } else { self.input.ready().await };
        }
        size.into_iter().for_each(|msg| self.tell(msg));
        if resized {
            self.input.check_size();
        }
    }

    fn wake(&mut self) {
        self.state.wake = None;
        self.tell(Msg::Tick);
    }

    /// The terminal is gone: the model hears of it as of any other request to end, and gets no say.
    fn hang_up(&mut self) {
        self.tell(Msg::Terminate);
        self.state.ended = Some(Ended::HungUp);
    }

    fn tell(&mut self, msg: Msg) {
        self.note_frame_shown();
        let effects = self.program.update(msg, self.clock.now());
        self.state.dirty = true;
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Quit => self.state.ended = Some(Ended::Quit),
                Effect::WakeAt(at) => {
                    let now = self.clock.now();
                    self.state.wake = Some(Instant::now() + now.age(at));
                }
                Effect::Mouse(taken) => self.screen.mouse(taken),
                Effect::Repaint => self.screen.repaint(),
                Effect::Suspend => self.state.errand = Some(ExternalProgram::Suspend),
                Effect::Edit { name, text } => self.state.errand = Some(ExternalProgram::Edit { name, text }),
                Effect::EditArguments(text) => self.state.errand = Some(ExternalProgram::EditArguments(text)),
                other => self.world.carry_out(other),
            }
        }
    }

    /// Something stands between us and the next event.
    fn is_busy(&self) -> bool {
        self.state.ended.is_some() || self.state.errand.is_some()
    }

    /// Tells the program that what was drawn is on the terminal, once it is.
    fn note_frame_shown(&mut self) {
        if self.state.in_flight && self.screen.is_ready() {
            self.state.in_flight = false;
            if let Some(drawn) = self.state.drawn.take() {
                log::frame("terminal", drawn.elapsed());
            }
            self.program.shown(self.clock.now());
        }
    }

    fn check(&mut self, terminal: &io::Result<()>) {
        if terminal.is_err() {
            self.hang_up();
        }
    }

    fn can_draw(&self) -> bool {
        let due = self.due().is_none_or(|due| due <= Instant::now());
        self.state.dirty && due && !self.is_busy() && self.screen.is_ready()
    }

    fn draw(&mut self) {
        let began = Instant::now();
        if self.screen.draw(&mut self.program, self.clock.now()).is_err() {
            self.hang_up();
        }
        self.state.dirty = false;
        self.state.patient_until = None;
        self.state.in_flight = true;
        let now = Instant::now();
        log::frame("draw", now - began);
        self.state.drawn = Some(now);
        self.state.used = Some(self.state.used.map_or(now, |used| used.max(now)) + FRAME);
    }

    /// When the next frame may be drawn.
    fn due(&self) -> Option<Instant> {
        let used = self.state.used.and_then(|used| used.checked_sub(FRAME * BEFOREHAND));
        let patient_until = self.state.patient_until.filter(|_| self.program.is_opening());
        used.max(patient_until)
    }

    async fn run_external_program(&mut self, errand: ExternalProgram) {
        self.input.release();
        self.screen.leave();
        let msg = self.world.run_external_program(errand).await;
        if self.screen.enter().is_err() {
            return self.hang_up();
        }
        self.input.resume();
        self.screen.repaint();
        self.state.deaf_until = Some(Instant::now() + ECHO);
        if let Ok((width, height)) = self.screen.size() {
            self.tell(Msg::Resize { width, height });
        }
        self.tell(msg);
    }
}

async fn alarm(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

async fn frame_due<S: FrameSink>(screen: &S, due: Option<Instant>) -> io::Result<()> {
    if let Some(due) = due {
        sleep_until(due).await;
    }
    screen.ready().await
}

#[cfg(test)]
mod tests;
