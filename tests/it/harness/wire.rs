//! A wire between a program and a server that lets through what is said and notes it, and may be long.
//!
//! What a program costs on a long wire is the number of times that it waits for an answer. That number is the same on
//! every machine, so tests can assert it where they cannot assert a time.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// A wire. Connections that are open when it is dropped live on until one side closes them.
#[derive(Debug)]
pub struct Wire {
    /// The database's URL by way of this wire.
    pub url: String,
    heard: Heard,
    line: Arc<Line>,
}

/// How a wire carries what is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Carries {
    /// All of it.
    All,
    /// Nothing, and nobody is told: as where packets are lost on the way. It comes later, should the wire carry again.
    Nothing,
    /// A few bytes at a time.
    Drops,
    /// All of it, once the connections that were open are cut.
    Anew,
}

/// What is common to all connections.
#[derive(Debug, Default)]
struct Line {
    carries: AtomicU8,
    open: Mutex<Vec<TcpStream>>,
}

impl Line {
    fn carries(&self, how: Carries) -> bool {
        self.carries.load(Ordering::Relaxed) == how as u8
    }

    fn wait_while_silent(&self) {
        while self.carries(Carries::Nothing) {
            sleep(Duration::from_millis(2));
        }
    }

    fn open(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was said on all connections, in the order of arrival.
type Heard = Arc<Mutex<Vec<Said>>>;

/// What a client said before it waited for the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Asked for a session (or for TLS first).
    Hello,
    /// A simple query, whole.
    Query(String),
    /// The beginning of a prepared statement: its text. The server is waited for.
    Parse(String),
    /// Values for it. The server is waited for.
    Execute,
}

impl Wire {
    /// A wire to the server of a URL on which an answer takes `round_trip` longer than it would.
    pub fn to(url: &str, round_trip: Duration) -> Self {
        Self::bearing(url, round_trip, usize::MAX)
    }

    /// A wire that carries so much of what clients say, on all connections, and nothing after it.
    pub fn until(url: &str, most: usize) -> Self {
        Self::bearing(url, Duration::ZERO, most)
    }

    fn bearing(url: &str, round_trip: Duration, most: usize) -> Self {
        let (head, rest) = url.split_once('@').expect("a URL with a user");
        let (address, path) = rest.split_once('/').expect("a URL with a database");
        let server: SocketAddr = address.parse().expect("an address and a port");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let own = listener.local_addr().expect("an address");
        let heard = Heard::default();
        let (noted, line) = (Arc::clone(&heard), Arc::<Line>::default());
        let is_mysql = url.starts_with("mysql:");
        let shared = Arc::clone(&line);
        spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(server) else { return };
                shared.open().extend([client.try_clone(), server.try_clone()].into_iter().flatten());
                let rest = Vec::new();
                let ear = Ear { rest, parsed: None, greeted: false, is_mysql, heard: Arc::clone(&noted) };
                join(client, server, (round_trip / 2, most), ear, &shared);
            }
        });
        Self { url: format!("{head}@{own}/{path}"), heard, line }
    }

    /// Carries what is said in another way from here on.
    pub fn carry(&self, how: Carries) {
        self.line.carries.store(how as u8, Ordering::Relaxed);
        if how == Carries::Anew {
            self.line.open().drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        }
    }

    /// What was said so far.
    pub fn said(&self) -> Vec<Said> {
        lock(&self.heard).clone()
    }

    /// How often an answer was waited for since the wire was made or asked this.
    pub fn flights(&self) -> usize {
        std::mem::take(&mut *lock(&self.heard)).len()
    }
}

fn lock(heard: &Heard) -> MutexGuard<'_, Vec<Said>> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn join(client: TcpStream, server: TcpStream, (delay, most): (Duration, usize), mut ear: Ear, line: &Arc<Line>) {
    for stream in [&client, &server] {
        stream.set_nodelay(true).expect("a socket");
    }
    let (to_client, to_server) = (client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
    carry(client, to_server, (delay, line), move |bytes| ear.hear(bytes) <= most);
    carry(server, to_client, (delay, line), |_| true);
}

/// Carries bytes over, each piece as late as it came, for as long as that is allowed.
fn carry(
    mut from: TcpStream,
    to: TcpStream,
    (delay, line): (Duration, &Arc<Line>),
    mut allowed: impl FnMut(&[u8]) -> bool + Send + 'static,
) {
    let pieces = write_late(to, Arc::clone(line));
    spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let piece = buffer.get(..length).unwrap_or_default();
            if !allowed(piece) {
                continue;
            }
            if pieces.send((Instant::now() + delay, piece.to_vec())).is_err() {
                return;
            }
        }
    });
}

fn write_late(mut to: TcpStream, line: Arc<Line>) -> Sender<(Instant, Vec<u8>)> {
    let (pieces, due) = channel::<(Instant, Vec<u8>)>();
    spawn(move || {
        for (at, piece) in due {
            sleep(at.saturating_duration_since(Instant::now()));
            let mut rest = piece.as_slice();
            while !rest.is_empty() {
                line.wait_while_silent();
                let is_dripping = line.carries(Carries::Drops);
                let (now, later) = rest.split_at(if is_dripping { rest.len().min(64) } else { rest.len() });
                if to.write_all(now).is_err() {
                    return;
                }
                if is_dripping {
                    sleep(Duration::from_millis(2));
                }
                rest = later;
            }
        }
        line.wait_while_silent();
        let _ = to.shutdown(Shutdown::Write);
    });
    pieces
}

/// Tells a client's messages apart.
struct Ear {
    rest: Vec<u8>,
    /// The statement that was begun and not yet waited for.
    parsed: Option<String>,
    /// The messages of PostgreSQL's greeting have no type in front.
    greeted: bool,
    is_mysql: bool,
    heard: Heard,
}

impl Ear {
    /// Notes what was said, and says how much there was of it so far on all connections.
    fn hear(&mut self, bytes: &[u8]) -> usize {
        self.rest.extend_from_slice(bytes);
        while let Some(said) = if self.is_mysql { self.packet() } else { self.next() } {
            lock(&self.heard).extend(said);
        }
        lock(&self.heard).len()
    }

    /// The next whole packet of MySQL's: what it said, where that is answered.
    fn packet(&mut self) -> Option<Option<Said>> {
        let [a, b, c, number] = *self.rest.first_chunk::<4>()?;
        let end = 4 + usize::try_from(u32::from_le_bytes([a, b, c, 0])).ok()?;
        if self.rest.len() < end {
            return None;
        }
        let packet: Vec<u8> = self.rest.drain(..end).collect();
        let text = String::from_utf8_lossy(packet.get(5..).unwrap_or_default()).into_owned();
        Some(match (number, packet.get(4)) {
            // COM_QUIT and COM_STMT_CLOSE.
            (0, Some(0x01 | 0x19) | None) => None,
            (0, Some(0x16)) => Some(Said::Parse(text)),
            (0, Some(0x17)) => Some(Said::Execute),
            (0, Some(_)) => Some(Said::Query(text)),
            _ => Some(Said::Hello),
        })
    }

    /// The next whole message of PostgreSQL's: what it said, where it is waited for.
    fn next(&mut self) -> Option<Option<Said>> {
        let (kind, body) = self.message()?;
        let text = |from: usize| {
            let text = body.get(from..).unwrap_or_default().split(|byte| *byte == 0).next();
            String::from_utf8_lossy(text.unwrap_or_default()).into_owned()
        };
        Some(match kind {
            0 => Some(Said::Hello),
            b'Q' => Some(Said::Query(text(0))),
            b'P' => {
                // The name of an unnamed statement is its ending zero alone.
                self.parsed = Some(text(1));
                None
            }
            b'S' => Some(self.parsed.take().map_or(Said::Execute, Said::Parse)),
            _ => None,
        })
    }

    /// The next whole message: its type, 0 for a greeting, and what follows its length.
    fn message(&mut self) -> Option<(u8, Vec<u8>)> {
        let head = usize::from(self.greeted);
        let length = self.rest.get(head..head + 4)?.try_into().map(u32::from_be_bytes).ok()?;
        let end = head + usize::try_from(length).ok()?;
        if self.rest.len() < end {
            return None;
        }
        let kind = if self.greeted { self.rest.first().copied()? } else { 0 };
        let message: Vec<u8> = self.rest.drain(..end).collect();
        // The request for TLS is 80877103; what asks for a session is any other.
        self.greeted |= message.get(4..8) != Some(&80_877_103u32.to_be_bytes()[..]);
        Some((kind, message.get(head + 4..).unwrap_or_default().to_vec()))
    }
}
