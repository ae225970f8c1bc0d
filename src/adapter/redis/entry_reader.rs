//! Makes a job of what was read of it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDateTime};

use super::field::{ENTRY, FieldSource, PathTest};
use super::{
    FieldValue, Pick, RawEntry, ReadKind, ReadParts, ReadSpec, RedisField, RedisReply, RedisSpec, ScoreTime, SetKind,
    TextCut,
};
use crate::adapter::Part;
use crate::domain::encoding::binary::{Chain, DecodedValue, decode_first};
use crate::domain::error_text;
use crate::domain::job::lineage::stored_form;
use crate::domain::job::{JobDetail, JobId, JobRow, MESSAGE_HEAD, State};
use crate::domain::json::Document;
use crate::domain::text::Untrusted;
use crate::domain::time::Timestamp;

/// What a reply holds, with the field names of a hash or a stream entry.
const STREAM_ID: &[u8] = b"stream_id";
/// Seconds since 1970 of a time that nobody means: above it a number counts milliseconds.
const SECONDS: f64 = 1e11;

/// A job, as far as it was read. What several parts stand in is decoded once.
pub struct EntryReader<'a> {
    spec: &'a RedisSpec,
    entry: &'a RawEntry,
    wanted: ReadParts<'a>,
    own: OnceCell<Option<DecodedValue>>,
    decoded: BTreeMap<&'a str, OnceCell<Option<DecodedValue>>>,
}

impl RedisSpec {
    /// Reads a job from its entry and the replies to [`RedisSpec::commands`], which were asked with the same `wanted`.
    pub fn job<'a>(&'a self, entry: &'a RawEntry, wanted: ReadParts<'a>) -> EntryReader<'a> {
        let decoded = self.reads.keys().map(|name| (name.as_str(), OnceCell::new())).collect();
        EntryReader { spec: self, entry, wanted, own: OnceCell::new(), decoded }
    }
}

impl EntryReader<'_> {
    /// Whether the entry is a dead job: some layouts keep other jobs under the same keys.
    pub fn is_dead(&self) -> bool {
        let meets = |only: &PathTest| self.meets(ENTRY, only);
        self.spec.dead.only.as_ref().is_none_or(meets)
    }

    /// Whether the entry has what [`super::RedisDetect::entry`] asks for.
    pub fn is_of_layout(&self) -> bool {
        self.spec.detect.entry.iter().all(|path| self.value(ENTRY, Some(path)).is_some())
    }

    /// The job's own id, where the layout has it apart from the entry.
    pub fn own_id(&self) -> Option<String> {
        self.spec.dead.id.as_ref().and_then(|field| self.text_of(field)).map(Untrusted::into_exact)
    }

    /// The time of death.
    pub fn at(&self) -> Option<Timestamp> {
        let scored = || match (self.spec.dead.kind, self.spec.dead.score) {
            (SetKind::Stream, _) => stream_time(&String::from_utf8_lossy(&self.entry.member)),
            (_, ScoreTime::Ms) => micros(self.entry.score?, 1e3),
            (_, ScoreTime::S) => micros(self.entry.score?, 1e6),
            (_, ScoreTime::Other) => None,
        };
        self.spec.fields.get(Part::At).and_then(|field| self.time_of(field)).or_else(scored)
    }

    /// A part as text; `None` where the job has none.
    pub fn text(&self, part: Part) -> Option<Untrusted> {
        self.spec.fields.get(part).and_then(|field| self.text_of(field))
    }

    /// A part that is a whole number.
    pub fn int(&self, part: Part) -> Option<i64> {
        self.text(part)?.exact().parse().ok()
    }

    /// The light row, under this id.
    pub fn row(&self, id: JobId) -> JobRow {
        // A backtrace is cut whole, and of the message only the start is kept.
        let message = self.text(Part::Message).map(|message| message.head(MESSAGE_HEAD));
        let queue = || self.entry.queue.as_deref().map(Untrusted::from);
        JobRow {
            id,
            at: self.at(),
            state: State::Dead,
            native_state: self.text(Part::State).unwrap_or_else(|| Untrusted::new(self.spec.dead.word.as_str())),
            error_class: self.text(Part::Error),
            message,
            job_class: self.text(Part::Class),
            queue: self.text(Part::Queue).or_else(queue),
            worker: self.text(Part::Worker),
            reason: self.text(Part::Reason),
            attempts: self.int(Part::Attempts),
            max_attempts: self.int(Part::MaxAttempts),
        }
    }

    /// Everything that is known of the job.
    pub fn detail(&self, id: JobId) -> JobDetail {
        let arguments = self.text(Part::Arguments);
        let is_json = |text: &Untrusted| Document::parse(text.exact()).is_ok();
        JobDetail {
            row: self.row(id),
            message: self.text(Part::Message),
            undecodable: arguments.as_ref().is_some_and(|text| !is_json(text)),
            arguments,
            backtrace: self.text(Part::Backtrace),
            metadata: self.metadata(),
            decoded_from: self.encoded_arguments(),
            lineage: self.text(Part::Lineage).map(|lineage| Untrusted::new(stored_form(lineage.exact()))),
        }
    }

    /// What `more` names, and the fields of hashes and stream entries that are no part of the job as they stand.
    fn metadata(&self) -> Vec<(String, Option<Untrusted>)> {
        // A job that lacks what others have says nothing of it.
        let named = self.spec.more.iter().filter_map(|(name, field)| Some((name.clone(), Some(self.text_of(field)?))));
        let mut out: Vec<(String, Option<Untrusted>)> = named.collect();
        let hashes = self.spec.reads.iter().filter(|(_, read)| matches!(read.kind, ReadKind::Hash(_)));
        let hashes = hashes.map(|(name, _)| (name.as_str(), self.decoded_read(name)));
        let own = (self.spec.dead.kind == SetKind::Stream).then(|| (ENTRY, self.own_value()));
        for (read, value) in hashes.chain(own) {
            let Some(DecodedValue::Map(members)) = value else { continue };
            for (key, value) in members {
                let Some(Ok(name)) = key.clone().into_text() else { continue };
                if !self.is_part(read, &name) && !out.iter().any(|(known, _)| *known == name) {
                    out.push((name, untrusted(value.clone())));
                }
            }
        }
        out
    }

    /// Whether a field of a read is shown as a part of the job, or made into one.
    fn is_part(&self, read: &str, name: &str) -> bool {
        let of =
            |source: &FieldSource| source.from == read && source.path.as_deref() == Some(name) && source.cut.is_none();
        let within = |kind: &ReadKind| matches!(kind, ReadKind::Within(of, Some(path)) if of == read && path == name);
        let fields = self.spec.fields.iter().map(|(_, field)| field).chain(self.spec.more.values());
        fields.flat_map(|field| &field.sources).any(of) || self.spec.reads.values().any(|read| within(&read.kind))
    }

    /// The names in the metadata of what arguments were decoded from: none, as what is decoded is left out there.
    fn encoded_arguments(&self) -> Vec<String> {
        Vec::new()
    }

    fn text_of(&self, field: &RedisField) -> Option<Untrusted> {
        field.sources.iter().find_map(|source| self.source_text(source))
    }

    fn time_of(&self, field: &RedisField) -> Option<Timestamp> {
        let time = |source: &FieldSource| {
            let text = self.source_text(source)?;
            time(text.exact(), source.kind)
        };
        field.sources.iter().find_map(time)
    }

    /// The text that stands at one place; `None` where there is none, or it is none of its kind.
    fn source_text(&self, source: &FieldSource) -> Option<Untrusted> {
        if source.when.as_ref().is_some_and(|when| !self.meets(&source.from, when)) {
            return None;
        }
        if let Some(value) = &source.value {
            return Some(Untrusted::new(value.as_str()));
        }
        let value = match source.object.is_empty() {
            true => self.value(&source.from, source.path.as_deref())?,
            false => self.object(source)?,
        };
        let value = match source.pick {
            Some(pick) => value.element(pick == Pick::Last)?,
            None => value,
        };
        let text = match source.kind {
            FieldValue::Json => json(value)?,
            _ => untrusted(value)?,
        };
        match (source.kind, source.cut) {
            (FieldValue::Int, _) => {
                let number: i64 = text.exact().trim().parse().ok()?;
                Some(Untrusted::new(number.checked_add(source.add)?.to_string()))
            }
            (_, Some(cut)) => cut_text(text.exact(), cut).map(Untrusted::new),
            // An empty text is what a library leaves behind where it had something before.
            (FieldValue::Text | FieldValue::Json | FieldValue::Lines, None) => Some(text),
            _ => Some(text).filter(|text| !text.exact().is_empty()),
        }
    }

    /// An object of several paths; `None` where nothing stands at any of them.
    fn object(&self, source: &FieldSource) -> Option<DecodedValue> {
        let members: Vec<(DecodedValue, DecodedValue)> = source
            .object
            .iter()
            .filter_map(|(name, path)| Some((DecodedValue::Text(name.clone()), self.value(&source.from, Some(path))?)))
            .collect();
        (!members.is_empty()).then_some(DecodedValue::Map(members))
    }

    fn meets(&self, from: &str, condition: &PathTest) -> bool {
        let text = self.value(from, Some(&condition.path)).and_then(untrusted);
        text.is_some_and(|text| text.exact() == condition.is)
    }

    /// What stands at a path of a read.
    fn value(&self, from: &str, path: Option<&str>) -> Option<DecodedValue> {
        let whole = match from {
            ENTRY => self.own_value(),
            "score" => return self.entry.score.map(|score| DecodedValue::Number(score.to_string())),
            "queue" => return self.entry.queue.clone().map(DecodedValue::Text),
            "member" => return Some(DecodedValue::Bytes(self.entry.member.clone())),
            read => self.decoded_read(read),
        }?;
        match (path, whole) {
            (None, whole) => Some(whole.clone()),
            // The names of fields may have dots.
            (Some(path), DecodedValue::Map(members)) if self.is_fields(from) => members
                .iter()
                .find(|(key, _)| matches!(key, DecodedValue::Bytes(name) if name == path.as_bytes()))
                .map(|(_, value)| value.clone()),
            (Some(path), whole) => whole.at(path),
        }
    }

    /// Whether a read is the fields of a hash or of a stream entry.
    fn is_fields(&self, from: &str) -> bool {
        match self.spec.reads.get(from) {
            Some(read) => matches!(read.kind, ReadKind::Hash(_) | ReadKind::NewestOfStream(_)),
            None => self.entry.fields.is_some() && self.spec.dead.kind == SetKind::Stream,
        }
    }

    fn own_value(&self) -> Option<&DecodedValue> {
        let read = || match (&self.entry.fields, self.spec.dead.kind) {
            (Some(fields), SetKind::Stream) => Some(fields_value(fields.clone())),
            (Some(fields), _) => decoded(&fields.first()?.1, &self.spec.dead.decode.0),
            (None, _) => decoded(&self.entry.member, &self.spec.dead.decode.0),
        };
        self.own.get_or_init(read).as_ref()
    }

    fn decoded_read(&self, name: &str) -> Option<&DecodedValue> {
        let (name, read) = self.spec.reads.get_key_value(name)?;
        self.decoded.get(name.as_str())?.get_or_init(|| self.read(name, read)).as_ref()
    }

    fn read(&self, name: &str, read: &ReadSpec) -> Option<DecodedValue> {
        if let ReadKind::Within(of, path) = &read.kind {
            let bytes = self.value(of, path.as_deref())?.into_bytes()?;
            return decoded(&bytes, &read.decode);
        }
        let reply = self.entry.replies.iter().find(|(known, _)| known == name).map(|(_, reply)| reply)?;
        match &read.kind {
            ReadKind::Hash(_) => {
                let names = self.spec.hash_fields(name, self.wanted);
                hash(reply, names)
            }
            ReadKind::NewestOfStream(_) => {
                let RedisReply::List(entries) = reply else { return None };
                let RedisReply::List(entry) = entries.first()? else { return None };
                let [id, RedisReply::List(fields)] = entry.as_slice() else { return None };
                let own = (STREAM_ID.to_vec(), id.bytes()?.to_vec());
                Some(fields_value([own].into_iter().chain(pairs(fields)).collect()))
            }
            _ => decoded(reply.bytes()?, &read.decode),
        }
    }
}

/// Bytes without a way to decode them are what they are.
fn decoded(bytes: &[u8], chains: &[Chain]) -> Option<DecodedValue> {
    if chains.is_empty() { Some(DecodedValue::Bytes(bytes.to_vec())) } else { decode_first(bytes, chains) }
}

/// A hash: all of it, or the fields that were asked for.
fn hash(reply: &RedisReply, names: Option<Vec<String>>) -> Option<DecodedValue> {
    let RedisReply::List(items) = reply else { return None };
    let fields: Vec<(Vec<u8>, Vec<u8>)> = match names {
        None => pairs(items).collect(),
        Some(names) => {
            let known = names.into_iter().zip(items);
            known.filter_map(|(name, item)| Some((name.into_bytes(), item.bytes()?.to_vec()))).collect()
        }
    };
    (!fields.is_empty()).then(|| fields_value(fields))
}

fn pairs(items: &[RedisReply]) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    items.as_chunks::<2>().0.iter().filter_map(|[name, value]| Some((name.bytes()?.to_vec(), value.bytes()?.to_vec())))
}

fn fields_value(fields: Vec<(Vec<u8>, Vec<u8>)>) -> DecodedValue {
    DecodedValue::Map(
        fields.into_iter().map(|(name, value)| (DecodedValue::Bytes(name), DecodedValue::Bytes(value))).collect(),
    )
}

fn untrusted(value: DecodedValue) -> Option<Untrusted> {
    value.into_text().map(|text| text.map_or_else(Untrusted::from_bytes, Untrusted::new))
}

/// JSON: as it was written, or of what was decoded. Text that is no JSON stays as it is.
fn json(value: DecodedValue) -> Option<Untrusted> {
    match value {
        DecodedValue::Null => None,
        DecodedValue::Bytes(bytes) => Some(Untrusted::from_bytes(bytes)),
        value => Some(Untrusted::new(value.to_json())),
    }
}

fn cut_text(text: &str, cut: TextCut) -> Option<&str> {
    match cut {
        TextCut::Class => error_text::cut(text).class.or_else(|| class_above_stack(text)),
        TextCut::Message => Some(error_text::cut(text).message),
        TextCut::Call => text.split_once('(').map(|(name, _)| name),
    }
    .filter(|cut| !cut.is_empty())
}

/// The class of an error without a message: it stands alone in the first line of its stack.
fn class_above_stack(text: &str) -> Option<&str> {
    let (first, _) = text.split_once('\n')?;
    error_text::is_class_name(first).then_some(first)
}

fn time(text: &str, kind: FieldValue) -> Option<Timestamp> {
    let number = || text.trim().parse::<f64>().ok();
    match kind {
        FieldValue::EpochS => micros(number()?, 1e6),
        FieldValue::EpochMs => micros(number()?, 1e3),
        FieldValue::Epoch => number().and_then(|at| micros(at, if at > SECONDS { 1e3 } else { 1e6 })),
        FieldValue::StreamId => stream_time(text),
        FieldValue::Iso => iso_time(text),
        _ => None,
    }
}

/// Microseconds since 1970. What is not a time at all is none.
fn micros(number: f64, factor: f64) -> Option<Timestamp> {
    let micros = (number * factor).round();
    // A safe range for the conversion, and some thousand years beyond every clock.
    (micros.is_finite() && micros > 0.0 && micros < 1e18).then_some(Timestamp(micros as i64))
}

/// The milliseconds that the id of a stream entry begins with.
fn stream_time(id: &str) -> Option<Timestamp> {
    micros(id.split('-').next()?.parse().ok()?, 1e3)
}

fn iso_time(text: &str) -> Option<Timestamp> {
    let text: Cow<'_, str> = text.trim().into();
    let zoned = DateTime::parse_from_rfc3339(&text).map(|at| at.timestamp_micros());
    let bare = || {
        ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"]
            .iter()
            .find_map(|form| NaiveDateTime::parse_from_str(&text, form).ok().map(|at| at.and_utc().timestamp_micros()))
    };
    zoned.ok().or_else(bare).map(Timestamp)
}
