//! The real world: tasks that answer requests, the clipboard, errands.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::session::{Going, Session, failure};
use super::slots::{Slots, Start};
use super::world::{Errand, Fact, World};
use super::{clipboard, errand};
use crate::store::{Budget, StoreError};
use crate::triage::run::RunControl;
use crate::tui::app::{Effect, Msg, Request, Slot};

/// What a cancelled request gets to end by itself before it is dropped.
const GRACE: Duration = Duration::from_secs(1);

/// How long the end of the console waits for a run to record the batch that it is in.
const FAREWELL: Duration = Duration::from_secs(15);

/// Carries out effects on a session.
pub struct Outside {
    session: Arc<Session>,
    slots: Slots,
    facts: UnboundedSender<Fact>,
    /// The switch on the latest run.
    control: RunControl,
    /// The latest act: the one thing that is waited for at the end.
    act: Option<JoinHandle<()>>,
}

impl Outside {
    /// A world that tells `facts` what happens.
    pub fn new(session: Arc<Session>, facts: UnboundedSender<Fact>) -> Self {
        Self { session, slots: Slots::default(), facts, control: RunControl::new(), act: None }
    }

    /// Lets a run that is under way record its batch; says whether it did.
    pub async fn farewell(&mut self) -> bool {
        self.control.stop();
        match self.act.take() {
            Some(act) => timeout(FAREWELL, act).await.is_ok(),
            None => true,
        }
    }

    fn start(&mut self, start: Start) {
        let Start { id, slot, request, cancel } = start;
        if matches!(request, Request::Execute(_)) {
            // A stop is for good, so each run has a switch of its own.
            self.control = RunControl::new();
        }
        let control = self.control.clone();
        let (session, facts) = (Arc::clone(&self.session), self.facts.clone());
        let task = tokio::spawn(async move {
            let asked = request.clone();
            let budget = Budget { statement: session.statement, cancel };
            let going = Going { budget, control, facts };
            let work = AssertUnwindSafe(session.answer(request, &going)).catch_unwind();
            let fault = || StoreError::Input("a fault in dlq-tui kept this from being answered".into());
            let reply = if slot == Slot::Act {
                work.await.unwrap_or_else(|_| failure(asked, fault()))
            } else {
                tokio::select! {
                    done = work => done.unwrap_or_else(|_| failure(asked, fault())),
                    () = given_up(&going.budget.cancel) => failure(asked, StoreError::Cancelled),
                }
            };
            // Nobody listens when the console has ended.
            let _ = going.facts.send(Fact::Answer { id, slot, reply });
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

impl World for Outside {
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
            | Effect::Quit => {}
        }
    }

    fn settle(&mut self, fact: Fact) -> Option<Msg> {
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

    async fn run_errand(&mut self, errand: Errand) -> Msg {
        match errand {
            Errand::Suspend => errand::suspend().await,
            Errand::Edit { name, text } => errand::edit(&name, &text).await,
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
