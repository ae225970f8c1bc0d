//! A server that webhooks are delivered to.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What becomes of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// It is taken.
    Takes,
    /// It is answered with an error.
    Fails,
    /// It is not answered before the mood changes.
    Hangs,
}

#[derive(Debug)]
struct State {
    mood: Mood,
    /// The bodies that came, in order.
    came: Vec<String>,
}

/// The server; its threads end with the test binary.
#[derive(Clone, Debug)]
pub struct Webhook {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Webhook {
    pub fn open(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let hook = Self { port, state: Arc::new(Mutex::new(State { mood, came: Vec::new() })) };
        let server = hook.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = server.clone();
                std::thread::spawn(move || server.answer(stream));
            }
        });
        hook
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    pub fn becomes(&self, mood: Mood) {
        self.state.lock().expect("a lock").mood = mood;
    }

    pub fn came(&self) -> Vec<String> {
        self.state.lock().expect("a lock").came.clone()
    }

    fn mood(&self) -> Mood {
        self.state.lock().expect("a lock").mood
    }

    /// Reads one request; a client that is gone meanwhile is nobody's fault.
    fn answer(&self, mut stream: TcpStream) -> Option<()> {
        let mut request = Vec::new();
        let body = loop {
            let mut part = [0; 4096];
            let n = stream.read(&mut part).ok().filter(|n| *n > 0)?;
            request.extend_from_slice(&part[..n]);
            let text = String::from_utf8_lossy(&request).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length =
                head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                break body.to_owned();
            }
        };
        self.state.lock().expect("a lock").came.push(body);
        while self.mood() == Mood::Hangs {
            std::thread::sleep(Duration::from_millis(10));
        }
        let status = if self.mood() == Mood::Takes { "200 OK" } else { "500 Broken" };
        stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").as_bytes()).ok()
    }
}
