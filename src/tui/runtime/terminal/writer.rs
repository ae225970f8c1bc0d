//! Bytes to the terminal, from a thread of its own: a terminal that takes none must not stop the console.
//!
//! One write per frame. Frames are only made while nothing is under way, so at most one is ever waiting, and what is
//! drawn when a stalled line comes back is the present and not a backlog.

use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::sync::watch;

/// Bytes on their way, and who wants to know that they arrived.
struct OutputChunk {
    bytes: Vec<u8>,
    arrived: Option<mpsc::Sender<()>>,
}

/// What the thread has written so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WriterProgress {
    parcels: u64,
    bytes: u64,
}

/// The way to the terminal. Dropping it ends the thread once the write it is in returns.
#[derive(Debug)]
pub struct TerminalWriter {
    parcels: mpsc::Sender<OutputChunk>,
    sent: u64,
    written: watch::Receiver<WriterProgress>,
}

impl TerminalWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (parcels, inbox) = mpsc::channel();
        let (report, written) = watch::channel(WriterProgress::default());
        thread::Builder::new().name("terminal".into()).spawn(move || write_all(out, &inbox, &report))?;
        Ok(Self { parcels, sent: 0, written })
    }

    /// Hands over bytes that are written in one piece. Never waits.
    pub fn send(&mut self, bytes: Vec<u8>) {
        self.hand_over(OutputChunk { bytes, arrived: None });
    }

    /// Hands over bytes and waits until they are written, at most for `patience`; tells whether they were.
    pub fn send_and_wait(&mut self, bytes: Vec<u8>, patience: Duration) -> bool {
        let (arrived, notice) = mpsc::channel();
        self.hand_over(OutputChunk { bytes, arrived: Some(arrived) });
        notice.recv_timeout(patience).is_ok()
    }

    /// Whether everything that was handed over is written.
    pub fn is_idle(&self) -> bool {
        self.written.borrow().parcels >= self.sent
    }

    /// Waits until everything that was handed over is written. Can be dropped at any time.
    ///
    /// # Errors
    /// When the terminal cannot be written to any more.
    pub async fn idle(&self) -> io::Result<()> {
        let sent = self.sent;
        match self.written.clone().wait_for(|written| written.parcels >= sent).await {
            Ok(_) => Ok(()),
            Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Bytes written so far.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        self.written.borrow().bytes
    }

    fn hand_over(&mut self, parcel: OutputChunk) {
        // A thread that ended is noticed by whoever waits for idleness.
        if self.parcels.send(parcel).is_ok() {
            self.sent += 1;
        }
    }
}

fn write_all(mut out: impl Write, inbox: &mpsc::Receiver<OutputChunk>, report: &watch::Sender<WriterProgress>) {
    while let Ok(OutputChunk { bytes, arrived }) = inbox.recv() {
        if out.write_all(&bytes).and_then(|()| out.flush()).is_err() {
            return;
        }
        report.send_modify(|written| {
            written.parcels += 1;
            written.bytes += bytes.len() as u64;
        });
        if let Some(arrived) = arrived {
            // Whoever waited may have lost patience.
            let _ = arrived.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[tokio::test]
    async fn a_terminal_that_takes_nothing_is_noticed_and_never_waited_for() {
        let (mut reader, pipe) = io::pipe().expect("pipe");
        let mut writer = TerminalWriter::start(pipe).expect("thread");
        // Far more than a pipe holds.
        writer.send(vec![b'x'; 1 << 20]);
        assert!(!writer.is_idle());
        assert!(!writer.send_and_wait(b"bye".to_vec(), Duration::from_millis(20)));

        let drained = thread::spawn(move || {
            let mut all = vec![0; (1 << 20) + 3];
            reader.read_exact(&mut all).map(|()| all)
        });
        writer.idle().await.expect("written");
        assert_eq!(writer.bytes(), (1 << 20) + 3);
        assert!(drained.join().expect("reader").expect("read").ends_with(b"xbye"));
    }

    #[tokio::test]
    async fn a_terminal_that_is_gone_is_an_error_to_whoever_waits() {
        let (reader, pipe) = io::pipe().expect("pipe");
        drop(reader);
        let mut writer = TerminalWriter::start(pipe).expect("thread");
        writer.send(b"x".to_vec());
        assert_eq!(writer.idle().await.expect_err("gone").kind(), io::ErrorKind::BrokenPipe);
    }
}
