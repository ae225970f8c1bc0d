//! Reading what the adapter wants of entries, and finding entries by the ids of jobs.

use super::context::RedisContext;
use super::job_id::{JobKey, JobName, score_text};
use super::walk::{EntryPlace, number_of, scored_entries, stream_entries};
use crate::adapter::Part;
use crate::adapter::redis::{EntryReader, RawEntry, ReadParts, RedisReply, SetKind};
use crate::db::redis::RedisCommand;
use crate::domain::filter::{Clause, CompiledFilter, Filter, Key, RowSubject};
use crate::domain::job::{JobId, JobRow, State};
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;
use crate::store::{Budget, Entry, Position, Result, SourceError};

/// Commands that are sent at a time: what the server answers stays small, and so does its work for each.
const COMMANDS_AT_ONCE: usize = 1_000;
/// Entries with the same score among which a document is searched.
const SAME_SCORE: &str = "1000";

/// The parts of a light row.
pub(super) const ROW: &[Part] = &[
    Part::At,
    Part::State,
    Part::Error,
    Part::Message,
    Part::Class,
    Part::Queue,
    Part::Reason,
    Part::Worker,
    Part::Attempts,
    Part::MaxAttempts,
];

/// A filter as stores take it: dead jobs, unless it asks for states.
pub(super) struct RowSelection {
    filter: CompiledFilter,
    is_of_dead: bool,
    /// Whether every dead job passes.
    pub(super) is_all: bool,
    /// Parts that it reads beside those of a row.
    pub(super) parts: Vec<Part>,
}

impl RowSelection {
    pub(super) fn new(filter: &Filter, now: Timestamp) -> Self {
        let filter = filter.without_ledger_terms();
        let parts = filter.clauses().iter().flat_map(|clause| parts_of(&clause.key)).copied().collect();
        Self {
            is_of_dead: !filter.clauses().iter().any(Clause::names_states),
            is_all: filter.clauses().is_empty(),
            filter: filter.compile(now),
            parts,
        }
    }

    /// Whether a job passes that was read with its [`RowSelection::parts`].
    pub(super) fn lets_in(&self, job: &EntryReader<'_>, row: &JobRow) -> bool {
        if self.is_of_dead && row.state != State::Dead {
            return false;
        }
        if self.is_all {
            return true;
        }
        let text = |part: Part| self.parts.contains(&part).then(|| job.text(part)).flatten();
        let (message, arguments) = (text(Part::Message), text(Part::Arguments));
        self.filter.matches(&RowSubject {
            row,
            message: message.as_ref().map(Untrusted::exact),
            arguments: arguments.as_ref().map(Untrusted::exact),
        })
    }
}

/// The parts that a clause of a filter reads.
fn parts_of(key: &Key) -> &'static [Part] {
    match key {
        Key::Error => &[Part::Error],
        Key::Class => &[Part::Class],
        Key::Queue => &[Part::Queue],
        Key::Reason => &[Part::Reason],
        Key::Worker => &[Part::Worker],
        Key::Message => &[Part::Message],
        Key::Fingerprint => &[Part::Error, Part::Message],
        Key::Attempts => &[Part::Attempts],
        Key::At | Key::Idle => &[Part::At],
        Key::Arg(_) => &[Part::Arguments],
        Key::Word => &[Part::Error, Part::Class, Part::Message],
        Key::State | Key::Native => &[Part::State],
        Key::Id | Key::Replayed | Key::Run | Key::Outcome => &[],
    }
}

impl RedisContext {
    /// Reads what is wanted of each entry.
    pub(super) async fn read(&self, entries: &mut [RawEntry], wanted: ReadParts<'_>, budget: &Budget) -> Result<()> {
        self.read_all(entries, wanted, budget).await?;
        self.note_size(entries);
        Ok(())
    }

    async fn read_all(&self, entries: &mut [RawEntry], wanted: ReadParts<'_>, budget: &Budget) -> Result<()> {
        let spec = self.spec()?;
        let mut rest = entries;
        while !rest.is_empty() {
            let (mut commands, mut named, mut taken): (Vec<RedisCommand>, Vec<(usize, String)>, usize) =
                Default::default();
            for (at, entry) in rest.iter().enumerate() {
                let id = self.name_of(entry)?;
                let names = self.names(entry.queue.as_deref().unwrap_or_default(), &id);
                for (read, command) in spec.commands(wanted, &names) {
                    named.push((at, read.to_owned()));
                    commands.push(command.args);
                }
                taken = at + 1;
                if commands.len() >= COMMANDS_AT_ONCE {
                    break;
                }
            }
            let (part, others) = rest.split_at_mut(taken);
            for ((at, read), reply) in named.into_iter().zip(self.engine.read_each(&commands, budget).await?) {
                // A key of another type is not the job's.
                let reply = match reply {
                    Err(SourceError::Unfit { code, .. }) if code == "WRONGTYPE" => RedisReply::Nil,
                    reply => reply?,
                };
                part[at].replies.push((read, reply));
            }
            rest = others;
        }
        Ok(())
    }

    /// What keys name a job by: the id in a document, or else the entry itself.
    pub(super) fn name_of(&self, entry: &RawEntry) -> Result<Vec<u8>> {
        let spec = self.spec()?;
        let own = spec.dead.id.as_ref().and_then(|_| spec.job(entry, ReadParts::Parts(&[])).own_id());
        Ok(own.map_or_else(|| entry.member.clone(), String::into_bytes))
    }

    /// A row with its place; `None` where the entry is no dead job.
    pub(super) fn entry(
        &self,
        raw: &RawEntry,
        wanted: ReadParts<'_>,
        selection: &RowSelection,
    ) -> Result<Option<Entry>> {
        let id = self.id_of(raw)?;
        let job = self.spec()?.job(raw, wanted);
        if !job.is_dead() {
            return Ok(None);
        }
        let row = job.row(id.clone());
        if !selection.lets_in(&job, &row) {
            return Ok(None);
        }
        let has = |part: Part| matches!(wanted, ReadParts::Parts(parts) if parts.contains(&part));
        let text = |part: Part| has(part).then(|| job.text(part)).flatten().map(Untrusted::into_exact);
        let lineage = text(Part::Lineage).map(|text| crate::domain::job::lineage::stored_form(&text));
        let (arguments, backtrace) = (text(Part::Arguments), text(Part::Backtrace));
        let compared =
            has(Part::Backtrace).then(|| Box::new(crate::store::ComparedColumns { backtrace, values: Vec::new() }));
        let position = Position { key: Some(score_text(EntryPlace::of(raw).score)), id };
        Ok(Some(Entry { row, position, lineage, arguments, compared }))
    }

    /// The entries of these jobs, for those that are there.
    pub(super) async fn locate(&self, ids: &[JobId], budget: &Budget) -> Result<Vec<Option<RawEntry>>> {
        let form = self.ids()?;
        let keys: Vec<Option<JobKey>> = ids.iter().map(|id| form.key(id)).collect();
        let mut commands = Vec::new();
        for key in keys.iter().flatten() {
            commands.push(self.locating(key)?);
        }
        let mut replies = Vec::with_capacity(commands.len());
        for commands in commands.chunks(COMMANDS_AT_ONCE) {
            replies.extend(self.engine.read(commands, budget).await?);
        }
        let mut replies = replies.into_iter();
        let found = |key: Option<JobKey>| match key {
            Some(key) => self.found(&key, replies.next().unwrap_or_default()),
            None => Ok(None),
        };
        keys.into_iter().map(found).collect()
    }

    /// What finds the entry of a job.
    fn locating(&self, key: &JobKey) -> Result<RedisCommand> {
        let text = |word: &str| word.as_bytes().to_vec();
        let dead = self.dead_key(&key.queue)?;
        Ok(match (&key.name, self.spec()?.dead.kind) {
            (JobName::Scored(score, _), _) => {
                let score = score_text(*score);
                let words = ["BYSCORE", "LIMIT", "0", SAME_SCORE, "WITHSCORES"].map(text);
                [text("ZRANGE"), dead, text(&score), text(&score)].into_iter().chain(words).collect()
            }
            (JobName::Entry(member), SetKind::Stream) => {
                // What is no id of an entry is refused by the server.
                let is_id = !member.is_empty() && member.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');
                let member = if is_id { member.clone() } else { text("0-0") };
                vec![text("XRANGE"), dead, member.clone(), member]
            }
            (JobName::Entry(member), _) => vec![text("ZSCORE"), dead, member.clone()],
        })
    }

    fn found(&self, key: &JobKey, reply: RedisReply) -> Result<Option<RawEntry>> {
        let queue = Some(key.queue.as_str()).filter(|queue| !queue.is_empty());
        let entries = match (&key.name, self.spec()?.dead.kind) {
            (JobName::Scored(..), _) => scored_entries(queue, &reply),
            (JobName::Entry(_), SetKind::Stream) => stream_entries(queue, &reply),
            (JobName::Entry(member), _) => {
                let score = reply.bytes().and_then(number_of);
                let entry = |score| RawEntry {
                    queue: queue.map(str::to_owned),
                    member: member.clone(),
                    score: Some(score),
                    ..RawEntry::default()
                };
                score.map(entry).into_iter().collect()
            }
        };
        for entry in entries {
            if self.is_named(&entry, key)? {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}
