//! What answers on a port where the expected database does not: asked only after a connection has failed.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::db::DatabaseKind;

/// How long each answer may take: the whole question must not keep an operator waiting.
const PATIENCE: Duration = Duration::from_millis(500);
/// PostgreSQL answers it with one letter before it knows who asks
/// (<https://www.postgresql.org/docs/current/protocol-message-formats.html>, SSLRequest).
const SSL_REQUEST: &[u8] = &[0, 0, 0, 8, 4, 210, 22, 47];
/// Web servers answer it, and so does Redis, which reads a command of a line.
const HTTP_REQUEST: &[u8] = b"GET / HTTP/1.0\r\n\r\n";

/// What answers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A database that we know.
    Database(DatabaseKind),
    /// Something else, in words.
    Other(&'static str),
    /// It accepts connections and says nothing.
    Silent,
}

/// Asks what answers at a port; `None` where nothing accepts a connection, or the answer is not known.
pub(crate) async fn peer_at(host: &str, port: u16) -> Option<Peer> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let mut is_silent = true;
    for question in [&[][..], SSL_REQUEST, HTTP_REQUEST] {
        let answer = timeout(PATIENCE, answer(host, port, question)).await;
        let answer = match answer {
            // Connected, or so it seems, and nothing came.
            Err(_) => continue,
            Ok(answer) => answer.ok()?,
        };
        // One that hangs up is none that waits.
        is_silent = false;
        if let Some(peer) = recognised(&answer, question == SSL_REQUEST) {
            return Some(peer);
        }
    }
    is_silent.then_some(Peer::Silent)
}

async fn answer(host: &str, port: u16, question: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect((host, port)).await?;
    stream.write_all(question).await?;
    let mut answer = vec![0; 64];
    // One that hangs up has answered as well: with nothing.
    let length = stream.read(&mut answer).await.unwrap_or(0);
    answer.truncate(length);
    Ok(answer)
}

/// What an answer is of, by how it begins.
fn recognised(answer: &[u8], to_ssl_request: bool) -> Option<Peer> {
    match answer {
        [b'S' | b'N'] if to_ssl_request => return Some(Peer::Database(DatabaseKind::Postgres)),
        // The length and number of a packet, then the version of the protocol or an error.
        [_, _, 0, 0, 10 | 255, ..] => return Some(Peer::Database(DatabaseKind::Mysql)),
        // An alert or a handshake.
        [21 | 22, 3, ..] => return Some(Peer::Other("a server that speaks TLS from the first byte (HTTPS?)")),
        _ => {}
    }
    let known: [(&[u8], &str); 9] = [
        (b"SSH-", "an SSH server"),
        (b"HTTP/", "a web server (HTTP)"),
        (b"-ERR", "Redis"),
        (b"-NOAUTH", "Redis"),
        (b"-DENIED", "Redis"),
        (b"AMQP", "RabbitMQ (AMQP)"),
        (b"220", "a mail or FTP server"),
        (b"+OK", "a mail server (POP3)"),
        (b"* OK", "a mail server (IMAP)"),
    ];
    known.iter().find(|(begin, _)| answer.starts_with(begin)).map(|(_, what)| Peer::Other(what))
}
