//! The real world: tasks that answer requests, the clipboard, errands.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::external_program;
use super::request_slots::{RequestSlots, Start};
use super::session::{Going, Session, failure};
use super::world::{ExternalProgram, Fact, World};
use crate::ledger::{RunId, RunState};
use crate::store::{Budget, SourceError};
use crate::triage::run::RunControl;
use crate::tui::app::{Effect, Msg, Reply, Request, Slot};
use crate::tui::runtime::terminal::clipboard;

/// What a cancelled request gets to end by itself before it is dropped.
const GRACE: Duration = Duration::from_secs(1);

/// How long the end of the console waits for a run to record the batch that it is in.
const FAREWELL: Duration = Duration::from_secs(15);

/// Carries out effects on a session.
pub struct EffectExecutor {
    session: Arc<Session>,
    slots: RequestSlots,
    facts: UnboundedSender<Fact>,
    /// The switch on the latest run.
    control: RunControl,
    /// The latest act: the one thing that is waited for at the end. It says which run it left unfinished.
    act: Option<JoinHandle<Option<RunId>>>,
}

/// What the end of the console leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Farewell {
    /// Nothing that is to be gone on with.
    Done,
    /// A run that was stopped between two batches.
    Stopped(RunId),
    /// A run in the middle of a batch, of which nobody knows yet what became.
    Cut,
}

impl EffectExecutor {
    /// A world that tells `facts` what happens.
    pub fn new(session: Arc<Session>, facts: UnboundedSender<Fact>) -> Self {
        Self { session, slots: RequestSlots::default(), facts, control: RunControl::new(), act: None }
    }

    /// Lets a run that is under way record its batch, and says what is left of the last one.
    pub async fn farewell(&mut self) -> Farewell {
        self.control.stop();
        let Some(act) = self.act.take() else { return Farewell::Done };
        match timeout(FAREWELL, act).await {
            Ok(left) => left.ok().flatten().map_or(Farewell::Done, Farewell::Stopped),
            Err(_) => Farewell::Cut,
        }
    }

    fn start(&mut self, start: Start) {
        let Start { id, slot, request, cancel } = start;
        if matches!(request, Request::Execute(_) | Request::Resume { .. }) {
            // A stop is for good, so each run has a switch of its own.
            self.control = RunControl::new();
        }
        let control = self.control.clone();
        let (session, facts) = (Arc::clone(&self.session), self.facts.clone());
        let task = tokio::spawn(async move {
            let asked = request.clone();
            let budget = Budget { cancel, ..Budget::new(session.statement) };
            let going = Going { budget, control, facts };
            let work = AssertUnwindSafe(session.answer(request, &going)).catch_unwind();
            let fault = || SourceError::Input("a fault in dlq-tui kept this from being answered".into());
            let reply = if slot == Slot::Act {
                work.await.unwrap_or_else(|_| failure(asked, fault()))
            } else {
                tokio::select! {
                    done = work => done.unwrap_or_else(|_| failure(asked, fault())),
                    () = given_up(&going.budget.cancel) => failure(asked, SourceError::Cancelled),
                }
            };
            let left = unfinished(&reply);
            // Nobody listens when the console has ended.
            let _ = going.facts.send(Fact::Answer { id, slot, reply });
            left
        });
        if slot == Slot::Act {
            self.act = Some(task);
        }
    }

    fn copy(&self, text: String) {
        let facts = self.facts.clone();
        tokio::spawn(async move {
            let copied = clipboard::copy(text).await;
            let bytes = copied.bytes.map(Fact::Bytes);
            for fact in bytes.into_iter().chain([Fact::Told(Msg::Said(copied.said))]) {
                let _ = facts.send(fact);
            }
        });
    }
}

/// The run that ended before all of its jobs had their turn.
fn unfinished(reply: &Reply) -> Option<RunId> {
    match reply {
        Reply::Executed(result) => {
            result.as_ref().as_ref().ok().filter(|run| run.state == RunState::Stopped).map(|run| run.id.clone())
        }
        _ => None,
    }
}

impl World for EffectExecutor {
    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Ask { id, slot, request } => {
                if let Some(start) = self.slots.ask(slot, id, request) {
                    self.start(start);
                }
            }
            Effect::Cancel(slot) => self.slots.cancel(slot),
            Effect::Copy(text) => self.copy(text),
            Effect::StopRun => self.control.stop(),
            Effect::PauseRun(true) => self.control.pause(),
            Effect::PauseRun(false) => self.control.go_on(),
            // The loop's own.
            Effect::WakeAt(_)
            | Effect::Mouse(_)
            | Effect::Repaint
            | Effect::Suspend
            | Effect::Edit { .. }
            | Effect::EditArguments(_)
            | Effect::Quit => {}
        }
    }

    fn on_fact(&mut self, fact: Fact) -> Option<Msg> {
        match fact {
            Fact::Told(msg) => Some(msg),
            Fact::Bytes(_) => None,
            Fact::Answer { id, slot, reply } => {
                let (matters, next) = self.slots.ended(slot, id);
                if let Some(start) = next {
                    self.start(start);
                }
                matters.then_some(Msg::Reply { id, slot, reply })
            }
        }
    }

    async fn run_external_program(&mut self, errand: ExternalProgram) -> Msg {
        match errand {
            ExternalProgram::Suspend => external_program::suspend().await,
            ExternalProgram::Edit { name, text } => external_program::view(&name, &text).await,
            ExternalProgram::EditArguments(text) => Msg::Edited(external_program::edit(&text).await),
        }
    }

    fn close(&mut self) {
        self.slots.close();
    }
}

async fn given_up(cancel: &CancellationToken) {
    cancel.cancelled().await;
    sleep(GRACE).await;
}

#[cfg(test)]
mod tests {
    use futures_util::future::{BoxFuture, pending};
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;
    use crate::domain::redact::Redactor;
    use crate::ledger::LedgerLocator;
    use crate::tui::app::{Reply, RequestId, Settings};
    use crate::tui::{Launch, OpenStore, Opener, StoreChoice};

    /// A source that never answers to the first question and breaks at the second.
    struct Stuck;

    impl Opener for Stuck {
        fn label(&self) -> String {
            "stuck".into()
        }

        fn choices(&self) -> BoxFuture<'_, Result<Vec<StoreChoice>, SourceError>> {
            Box::pin(pending())
        }

        fn open(&self, _: String) -> BoxFuture<'_, Result<OpenStore, SourceError>> {
            Box::pin(async { panic!("a fault") })
        }
    }

    async fn outside() -> (EffectExecutor, UnboundedReceiver<Fact>, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let launch = Launch {
            opener: Arc::new(Stuck),
            record: LedgerLocator::new(folder.path().join("ledger.db"), None),
            store: None,
            filter: String::new(),
            settings: Settings::default(),
            redaction: Arc::new(Redactor::default()),
            banner: String::new(),
        };
        tokio::time::pause();
        let (facts_in, facts) = unbounded_channel();
        (EffectExecutor::new(Arc::new(Session::new(&launch)), facts_in), facts, folder)
    }

    fn ask(id: u64, request: Request) -> Effect {
        Effect::Ask { id: RequestId(id), slot: Slot::Open, request }
    }

    #[tokio::test]
    async fn a_request_that_never_ends_gives_way_to_a_newer_one() {
        let (mut outside, mut facts, _folder) = outside().await;
        outside.carry_out(ask(1, Request::Choices));
        outside.carry_out(ask(2, Request::Open("a".into())));
        let first = facts.recv().await.expect("an end");
        assert!(matches!(
            first,
            Fact::Answer { id: RequestId(1), reply: Reply::Choices(Err(SourceError::Cancelled)), .. }
        ));
        assert!(outside.on_fact(first).is_none(), "nobody waits for it any more");
        let second = facts.recv().await.expect("an answer");
        assert!(matches!(outside.on_fact(second), Some(Msg::Reply { id: RequestId(2), .. })));
    }

    #[tokio::test]
    async fn a_request_that_breaks_is_answered_with_a_sentence() {
        let (mut outside, mut facts, _folder) = outside().await;
        outside.carry_out(ask(1, Request::Open("a".into())));
        let fact = facts.recv().await.expect("an answer");
        let Some(Msg::Reply { reply: Reply::Opened(opened), .. }) = outside.on_fact(fact) else {
            panic!("not answered");
        };
        assert!(opened.expect_err("a fault").to_string().contains("fault"));
        assert_eq!(outside.farewell().await, Farewell::Done);
    }
}
