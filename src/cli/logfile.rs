//! The log file of `--log-file`: a JSON document a line for each event of [`crate::domain::log`], and nothing else.
//!
//! A thread of its own writes, so that a disk that is slow or full keeps nobody waiting: what cannot be written is dropped,
//! and the next line that can be says how much that was.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::exit::CliError;
use crate::domain::log::TARGET;
use crate::domain::time::Timestamp;

/// A file of this many bytes is put aside, under its name with `.1` behind, in place of the one before.
const LIMIT: u64 = 10_000_000;
/// Lines that may wait for the disk.
const WAITING: usize = 4_096;
/// How long the end of the program waits for the last lines.
const PATIENCE: Duration = Duration::from_millis(500);

/// An open log. Its last lines are written when it is dropped.
#[derive(Debug)]
pub struct Log {
    lines: SyncSender<LogMessage>,
}

#[derive(Debug)]
enum LogMessage {
    Line(Vec<u8>),
    /// Whoever waits for everything before it.
    Flush(mpsc::Sender<()>),
}

impl Log {
    /// Opens a file, made with mode 0600 where it is not there, and has every event of this process appended to it.
    ///
    /// # Errors
    /// A fault of the command line, when it cannot be opened or is no plain file.
    pub fn start(path: &Path) -> anyhow::Result<Log> {
        let unusable = |why: &dyn std::fmt::Display| {
            CliError::usage(format!(
                "--log-file {}: {why}; name a file that can be written, or leave it out",
                path.display()
            ))
        };
        let file = Rotating::open(path, LIMIT).map_err(|e| unusable(&e))?;
        let (lines, inbox) = mpsc::sync_channel(WAITING);
        thread::Builder::new().name("log".into()).spawn(move || write_all(file, &inbox)).map_err(|e| unusable(&e))?;
        let reader = LogReader { lines: lines.clone(), dropped: AtomicU64::new(0) };
        tracing::subscriber::set_global_default(reader).map_err(|e| unusable(&e))?;
        Ok(Log { lines })
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let (done, written) = mpsc::channel();
        // Full: the disk is in trouble, and is not waited for.
        if self.lines.try_send(LogMessage::Flush(done)).is_ok() {
            let _ = written.recv_timeout(PATIENCE);
        }
    }
}

/// Hears of events, and hands them over as lines.
struct LogReader {
    lines: SyncSender<LogMessage>,
    /// Lines that found no room since the last one that did.
    dropped: AtomicU64,
}

impl Subscriber for LogReader {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target() == TARGET
    }

    fn event(&self, event: &Event<'_>) {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if self.lines.try_send(LogMessage::Line(line(event, dropped))).is_err() {
            self.dropped.fetch_add(dropped + 1, Ordering::Relaxed);
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// An event as a line of the file.
fn line(event: &Event<'_>, dropped: u64) -> Vec<u8> {
    let metadata = event.metadata();
    let mut fields = EventFields(Map::new());
    let level = metadata.level().as_str().to_ascii_lowercase();
    fields.0.insert("time".to_owned(), Timestamp::now().to_millisecond().into());
    fields.0.insert("level".to_owned(), level.into());
    fields.0.insert("message".to_owned(), metadata.name().into());
    event.record(&mut fields);
    if dropped > 0 {
        fields.0.insert("dropped".to_owned(), dropped.into());
    }
    let mut line = Value::Object(fields.0).to_string().into_bytes();
    line.push(b'\n');
    line
}

/// The fields of an event.
struct EventFields(Map<String, Value>);

impl Visit for EventFields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    /// What is only known by how it is debugged may hold anything, and is left out.
    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

/// Writes what arrives, until nobody sends any more. What the disk does not take is lost, and counted.
fn write_all(mut file: Rotating, inbox: &Receiver<LogMessage>) {
    let mut lost: u64 = 0;
    while let Ok(parcel) = inbox.recv() {
        match parcel {
            LogMessage::Line(line) => {
                let told = if lost > 0 { [lost_lines(lost), line].concat() } else { line };
                match file.write(&told) {
                    Ok(()) => lost = 0,
                    Err(_) => lost += 1,
                }
            }
            // Whoever waited may have lost patience.
            LogMessage::Flush(done) => drop(done.send(())),
        }
    }
}

fn lost_lines(n: u64) -> Vec<u8> {
    let time = Timestamp::now().to_millisecond();
    format!("{{\"time\":\"{time}\",\"level\":\"warn\",\"message\":\"lost\",\"lines\":{n}}}\n").into_bytes()
}

/// A file that is begun again when it is full, and the one before kept.
struct Rotating {
    path: PathBuf,
    file: File,
    limit: u64,
    /// The last piece was cut off by a full disk: what follows begins on a line of its own.
    cut: bool,
}

impl Rotating {
    fn open(path: &Path, limit: u64) -> io::Result<Self> {
        // Whatever the name stands for later, the present folder is meant.
        let path = std::path::absolute(path)?;
        Ok(Self { file: open(&path)?, path, limit, cut: false })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.metadata()?.len() > self.limit {
            self.turn()?;
        }
        if self.cut {
            self.file.write_all(b"\n")?;
            self.cut = false;
        }
        // One write, so that lines of several processes stay whole.
        let n = self.file.write(bytes)?;
        self.cut = n < bytes.len();
        if self.cut { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    /// Another process may have put the file aside already: then only the new one is opened.
    fn turn(&mut self) -> io::Result<()> {
        let ours = self.file.metadata()?.ino();
        if std::fs::metadata(&self.path).is_ok_and(|there| there.ino() == ours) {
            let mut aside = self.path.clone().into_os_string();
            aside.push(".1");
            std::fs::rename(&self.path, aside)?;
        }
        self.file = open(&self.path)?;
        Ok(())
    }
}

/// Opens a plain file to append to. A pipe would wait for its reader, and a terminal is not to be written to.
fn open(path: &Path) -> io::Result<File> {
    match std::fs::metadata(path) {
        Ok(there) if !there.is_file() => return Err(io::Error::other("it is no plain file")),
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn text(path: &Path) -> String {
        std::fs::read_to_string(path).expect("a file")
    }

    #[test]
    fn a_full_file_is_put_aside_once_and_both_are_private() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut ours = Rotating::open(&path, 10).expect("opened");
        let mut theirs = Rotating::open(&path, 10).expect("opened");
        ours.write(b"first line\n").expect("written");
        ours.write(b"second\n").expect("written");
        theirs.write(b"third\n").expect("written");
        assert_eq!(text(&folder.path().join("log.1")), "first line\n");
        assert_eq!(text(&path), "second\nthird\n");
        for name in ["log", "log.1"] {
            let mode = std::fs::metadata(folder.path().join(name)).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn what_the_disk_does_not_take_is_lost_and_told_of_later() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut file = Rotating::open(&path, 1_000).expect("opened");
        let (lines, inbox) = mpsc::sync_channel(8);
        let roomy = std::mem::replace(
            &mut file.file,
            OpenOptions::new().write(true).open("/dev/full").expect("a disk without room"),
        );
        lines.send(LogMessage::Line(b"lost\n".to_vec())).expect("sent");
        let (done, written) = mpsc::channel();
        lines.send(LogMessage::Flush(done)).expect("sent");
        drop(lines);
        write_all(file, &inbox);
        assert!(written.try_recv().is_ok() && text(&path).is_empty());
        drop(roomy);
        assert!(String::from_utf8(lost_lines(3)).expect("text").contains("\"lines\":3"));
    }

    #[test]
    fn what_is_no_plain_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in [folder.path(), Path::new("/dev/null"), &folder.path().join("none/log")] {
            assert!(Rotating::open(path, 10).is_err(), "{}", path.display());
        }
    }

    #[test]
    fn events_of_ours_are_lines_and_those_of_libraries_are_not_heard() {
        let (lines, inbox) = mpsc::sync_channel(2);
        let reader = LogReader { lines, dropped: AtomicU64::new(0) };
        tracing::subscriber::with_default(reader, || {
            tracing::info!(target: "sqlx::query", "SELECT 's3cret'");
            let secret = "s3cret";
            tracing::info!(target: TARGET, ?secret, "told {secret}");
            crate::domain::log::call("page", Ok(100), Duration::from_micros(3_250));
            crate::domain::log::run_began("s3cret; not an id", "replay", 1);
            let Ok(LogMessage::Line(_)) = inbox.recv() else { panic!("a line") };
            crate::domain::log::call("page", Err("cancelled"), Duration::ZERO);
        });
        let told: Vec<String> = inbox
            .try_iter()
            .map(|parcel| match parcel {
                LogMessage::Line(line) => String::from_utf8(line).expect("text"),
                LogMessage::Flush(_) => panic!("no line"),
            })
            .collect();
        assert!(told[0].contains(r#""message":"call","call":"page","rows":100,"ms":3.25"#), "{told:?}");
        assert!(told[1].contains(r#""level":"warn""#) && told[1].contains(r#""dropped":1"#), "{told:?}");
        assert!(!told.concat().contains("s3cret"), "{told:?}");
    }
}
