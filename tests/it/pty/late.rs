//! A terminal far from its program.

use std::io::{self, Read, Write};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// What a program writes, piece by piece.
pub fn chunks(mut from: impl Read) -> impl Iterator<Item = Vec<u8>> {
    let mut chunk = [0u8; 16 * 1024];
    // A pseudo-terminal reports the end as an error.
    std::iter::from_fn(move || from.read(&mut chunk).ok().filter(|n| *n > 0).map(|n| chunk[..n].to_vec()))
}

/// Everything by so much later, in the same order.
pub fn late<T: Send + 'static>(
    items: impl Iterator<Item = T> + Send + 'static,
    by: Duration,
) -> impl Iterator<Item = T> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for item in items {
            if sender.send((Instant::now() + by, item)).is_err() {
                return;
            }
        }
    });
    receiver.into_iter().map(|(due, item)| {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        item
    })
}

/// Keys that reach a program by so much later.
pub struct LateKeys(mpsc::Sender<Vec<u8>>);

impl LateKeys {
    pub fn start(mut program: impl Write + Send + 'static, by: Duration) -> Self {
        let (keys, pressed) = mpsc::channel::<Vec<u8>>();
        let mut pressed = late(pressed.into_iter(), by);
        // A program that has ended takes no keys.
        thread::spawn(move || pressed.all(|bytes| program.write_all(&bytes).and_then(|()| program.flush()).is_ok()));
        Self(keys)
    }
}

impl Write for LateKeys {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
