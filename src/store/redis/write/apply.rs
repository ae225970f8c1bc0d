//! Acting on a batch: what is kept goes into the journal, then one script after another does some of the jobs, each at once or not
//! at all, and leaves evidence of what it did.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::batch_script::{ScriptAnswer, answers, script};
use super::copies::JobCopy;
use super::reconcile::{EVIDENCE_KEPT, evidence_name};
use crate::adapter::Part;
use crate::adapter::redis::{RawEntry, ReadParts, RedisVerb, SetKind};
use crate::db::redis::{LuaScript, RedisCommand};
use crate::domain::action::{Action, JobOutcome, JobResult, SkipReason};
use crate::domain::job::JobId;
use crate::domain::run_options::Attempts;
use crate::store::redis::context::RedisContext;
use crate::store::redis::job_id::score_text;
use crate::store::redis::walk::EntryPlace;
use crate::store::{
    Applied, Availability, Batch, Budget, Interrupted, JournalEntry, Result, RowCopies, SourceError, TxMarker,
};

/// Jobs of the first script; later ones are as long as the server can be kept busy.
const FIRST: usize = 50;
/// Jobs of a script at the most.
const MOST: usize = 1_000;
/// How long a script may keep the server busy.
const BUSY: Duration = Duration::from_millis(10);

/// What a store remembers from one batch to the next.
#[derive(Default)]
pub(crate) struct BatchMemory {
    /// Jobs of the next script; 0 before the first.
    at_once: AtomicUsize,
}

/// A job of a batch, as its script takes it.
struct Task {
    id: JobId,
    name: Vec<u8>,
    entry: RawEntry,
    arguments: Option<String>,
    /// What was kept of it, where that is put back.
    kept: Option<JobCopy>,
}

/// Applies one batch.
pub(crate) struct Applier<'b> {
    context: &'b RedisContext,
    memory: &'b BatchMemory,
    batch: &'b Batch,
    budget: &'b Budget,
    applied: Applied,
}

impl<'b> Applier<'b> {
    pub(crate) fn new(
        context: &'b RedisContext,
        memory: &'b BatchMemory,
        batch: &'b Batch,
        budget: &'b Budget,
    ) -> Self {
        Self { context, memory, batch, budget, applied: Applied::default() }
    }

    pub(crate) async fn apply(mut self) -> Applied {
        if let Err(broke) = self.try_apply().await {
            self.applied.broke = Some(broke);
        }
        self.applied
    }

    async fn try_apply(&mut self) -> std::result::Result<(), Interrupted> {
        self.check()?;
        let mut tasks = self.tasks().await?;
        if tasks.is_empty() {
            return Ok(());
        }
        let evidence = evidence_name(&self.batch.run, self.context.clock());
        self.record(&tasks, &evidence).await?;
        // One dead set at a time.
        tasks.sort_by(|a, b| a.entry.queue.cmp(&b.entry.queue));
        let verb = self.verb()?;
        let script = script(verb.and_then(RedisVerb::body));
        let mut rest = tasks.as_slice();
        while let Some(first) = rest.first() {
            let same = rest.iter().take_while(|task| task.entry.queue == first.entry.queue).count();
            let (now, later) = rest.split_at(same.min(self.at_once()));
            self.run(&script, verb, now, evidence.as_bytes()).await?;
            rest = later;
        }
        // The evidence stays until it expires: nobody says here when the ledger has the outcomes.
        Ok(())
    }

    /// Refuses what cannot be done here.
    fn check(&self) -> Result<()> {
        let Batch { action, options, deliver, journal, .. } = self.batch;
        let no = |why: String| Err(SourceError::Input(why));
        if let Availability::Disabled(reason) = self.context.info.availability(*action) {
            return no(reason);
        }
        if deliver.is_some() {
            return no("jobs in Redis are not handed to a command: take `replay` out of the source's config".to_owned());
        }
        if journal.as_ref().is_some_and(|journal| journal.in_source().is_some()) {
            return no("the record of this run is in a database and cannot be kept along with jobs in Redis".to_owned());
        }
        self.context.info.refusal(*action, options).map_or(Ok(()), no)
    }

    fn verb(&self) -> Result<Option<&'b RedisVerb>> {
        Ok(self.context.spec()?.verbs.get(self.batch.action))
    }

    /// The jobs that can be tried; the others are answered for.
    async fn tasks(&mut self) -> Result<Vec<Task>> {
        let ids = &self.batch.ids;
        let mut found = self.context.locate(ids, self.budget).await?;
        if self.batch.action.needs_kept() {
            return self.kept_tasks(found);
        }
        self.read_times(&mut found).await?;
        let mut tasks = Vec::new();
        for (id, entry) in ids.iter().zip(found) {
            let Some(entry) = entry else {
                self.answer(id, JobResult::Skipped(SkipReason::Gone));
                continue;
            };
            let job = self.context.spec()?.job(&entry, TIME);
            let is_later = self.batch.died_by.zip(job.at()).is_some_and(|(by, at)| at > by)
                || self.batch.options.untouched_since().is_some_and(|since| job.at().is_none_or(|at| at > since));
            if is_later || !job.is_dead() {
                self.answer(id, JobResult::Skipped(SkipReason::Changed));
                continue;
            }
            let edit = self.batch.edits.iter().find(|edit| edit.id == *id).map(|edit| edit.edited.clone());
            let name = self.context.name_of(&entry)?;
            tasks.push(Task { id: id.clone(), name, entry, arguments: edit, kept: None });
        }
        Ok(tasks)
    }

    /// The same for an undo, which goes by what was kept.
    fn kept_tasks(&mut self, found: Vec<Option<RawEntry>>) -> Result<Vec<Task>> {
        let kept: HashMap<&JobId, &String> =
            self.batch.undo.iter().flat_map(|undo| &undo.kept).map(|(id, text)| (id, text)).collect();
        let mut tasks = Vec::new();
        for (id, entry) in self.batch.ids.iter().zip(found) {
            match kept.get(id) {
                _ if entry.is_some() => self.answer(id, JobResult::Skipped(SkipReason::AlreadyThere)),
                Some(text) if !text.is_empty() => {
                    let copy = JobCopy::read(text)?;
                    let (name, entry) = (copy.name().to_vec(), copy.entry());
                    tasks.push(Task { id: id.clone(), name, entry, arguments: None, kept: Some(copy) });
                }
                _ => self.answer(id, JobResult::Failed("nothing was kept of it that could be put back".into())),
            }
        }
        Ok(tasks)
    }

    /// Reads what tells when jobs died, where that is not in their entries.
    async fn read_times(&self, found: &mut [Option<RawEntry>]) -> Result<()> {
        let mut entries: Vec<RawEntry> = found.iter().flatten().cloned().collect();
        self.context.read(&mut entries, TIME, self.budget).await?;
        for (place, entry) in found.iter_mut().flatten().zip(entries) {
            *place = entry;
        }
        Ok(())
    }

    /// Puts into the journal what is kept of jobs, and by what an interrupted batch is known.
    async fn record(&self, tasks: &[Task], evidence: &str) -> Result<()> {
        let Some(journal) = &self.batch.journal else { return Ok(()) };
        let keeps = !self.batch.action.needs_kept() && self.batch.action != Action::Purge && !self.batch.action.edits();
        let rows = match journal.copies() {
            RowCopies::Whole if keeps => {
                let entries: Vec<RawEntry> = tasks.iter().map(|task| task.entry.clone()).collect();
                let copies = self.context.copies(&entries, self.budget).await?;
                tasks.iter().zip(copies).map(|(task, copy)| (task.id.clone(), copy.to_json())).collect()
            }
            RowCopies::Keys if keeps => tasks.iter().map(|task| (task.id.clone(), String::new())).collect(),
            _ => Vec::new(),
        };
        let ids = tasks.iter().map(|task| task.id.clone()).collect();
        journal.write(JournalEntry { rows, marker: Some(TxMarker { transaction: evidence.to_owned(), ids }) }).await
    }

    /// Runs the script for some jobs of one dead set.
    async fn run(
        &mut self,
        script: &LuaScript,
        verb: Option<&RedisVerb>,
        tasks: &[Task],
        evidence: &[u8],
    ) -> std::result::Result<(), Interrupted> {
        let queue = tasks.first().and_then(|task| task.entry.queue.clone()).unwrap_or_default();
        let keys = [self.context.dead_key(&queue)?, evidence.to_vec()];
        let arguments = self.arguments(verb, &queue, tasks)?;
        let began = Instant::now();
        let reply = self.context.engine.run(script, &keys, &arguments, self.budget).await;
        let reply = reply.map_err(|(error, unsure)| Interrupted { error, unsure })?;
        self.adapt(tasks.len(), self.context.engine.worked(began));
        for (task, answer) in tasks.iter().zip(answers(&reply)) {
            match answer {
                ScriptAnswer::Result(result) => self.answer(&task.id, result),
                ScriptAnswer::Left => {}
                ScriptAnswer::Broke(fault) => {
                    let sentence = format!("the server refused a step, and the rest was not tried: {fault}");
                    self.answer(&task.id, JobResult::Failed(sentence.as_str().into()));
                    return Err(crate::db::redis::script_fault(&fault).into());
                }
            }
        }
        Ok(())
    }

    /// What the script reads, in the order in which it reads it.
    fn arguments(&self, verb: Option<&RedisVerb>, queue: &str, tasks: &[Task]) -> Result<Vec<Vec<u8>>> {
        let Batch { action, run, run_after, options, .. } = self.batch;
        let kind = if self.context.spec()?.dead.kind == SetKind::Stream { "stream" } else { "zset" };
        let attempts = options.attempts.or(verb.and_then(|verb| verb.attempts)).unwrap_or(Attempts::Reset);
        let head = [
            self.context.prefix.clone(),
            queue.to_owned(),
            run.clone(),
            run_after.map(|at| at.0.div_euclid(1_000).to_string()).unwrap_or_default(),
            options.to_queue.clone().unwrap_or_default(),
            attempts.word().to_owned(),
            kind.to_owned(),
            action.word().to_owned(),
            EVIDENCE_KEPT.as_millis().to_string(),
        ];
        let mut words: RedisCommand = head.into_iter().map(String::into_bytes).collect();
        for task in tasks {
            let score = score_text(EntryPlace::of(&task.entry).score).into_bytes();
            let arguments = task.arguments.clone().unwrap_or_default().into_bytes();
            words.extend([
                task.id.as_str().as_bytes().to_vec(),
                task.name.clone(),
                task.entry.member.clone(),
                score,
                arguments,
            ]);
            match &task.kept {
                Some(copy) => words.extend(copy.words()),
                None => words.extend([b"0".to_vec(), b"0".to_vec()]),
            }
        }
        Ok(words)
    }

    fn answer(&mut self, id: &JobId, result: JobResult) {
        self.applied.outcomes.push(JobOutcome::from((id.clone(), result)));
    }

    fn at_once(&self) -> usize {
        match self.memory.at_once.load(Ordering::Relaxed) {
            0 => FIRST,
            n => n,
        }
    }

    /// Takes more jobs at a time while the server is quick, and fewer when it is kept busy.
    fn adapt(&self, jobs: usize, took: Duration) {
        let now = self.at_once();
        let next = if took > BUSY {
            (jobs / 2).max(1)
        } else if took < BUSY / 4 && jobs == now {
            (now * 2).min(MOST)
        } else {
            now
        };
        self.memory.at_once.store(next, Ordering::Relaxed);
    }
}

/// What tells when a job died.
const TIME: ReadParts<'static> = ReadParts::Parts(&[Part::At, Part::State]);
