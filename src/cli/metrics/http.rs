//! As much of HTTP/1.1 as a scraper needs: one GET, one answer, and the connection is closed.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// Bytes of a request that are read at the most.
const LONGEST: u64 = 16 * 1024;
/// How long a scraper may take over its request.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a request is answered with.
pub(super) struct HttpResponse {
    status: u16,
    kind: &'static str,
    body: String,
}

impl HttpResponse {
    /// In the text format of OpenMetrics.
    pub(super) fn metrics(body: String) -> HttpResponse {
        HttpResponse { status: 200, kind: "application/openmetrics-text; version=1.0.0; charset=utf-8", body }
    }

    /// A sentence.
    pub(super) fn text(status: u16, body: &str) -> HttpResponse {
        HttpResponse { status, kind: "text/plain; charset=utf-8", body: body.to_owned() }
    }

    fn head(&self) -> String {
        let phrase = match self.status {
            200 => "OK",
            400 => "Bad Request",
            404 => "Not Found",
            405 => "Method Not Allowed",
            503 => "Service Unavailable",
            _ => "Internal Server Error",
        };
        let (status, kind, length) = (self.status, self.kind, self.body.len());
        format!(
            "HTTP/1.1 {status} {phrase}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        )
    }
}

/// Answers the one request of a connection.
///
/// # Errors
/// When the peer goes away, or sends nothing.
pub(super) async fn serve<F: Future<Output = HttpResponse>>(
    stream: TcpStream,
    answer: impl FnOnce(String) -> F,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let request = tokio::time::timeout(PATIENCE, request(&mut stream)).await??;
    let (answer, with_body) = match request {
        Some((method, path)) if method == "GET" || method == "HEAD" => (answer(path).await, method == "GET"),
        Some(_) => (HttpResponse::text(405, "only GET\n"), true),
        None => (HttpResponse::text(400, "no request\n"), true),
    };
    let mut bytes = answer.head().into_bytes();
    if with_body {
        bytes.extend_from_slice(answer.body.as_bytes());
    }
    stream.write_all(&bytes).await?;
    stream.shutdown().await
}

/// Method and path of a request whose head has been read to its end.
async fn request(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<(String, String)>> {
    let mut head = stream.take(LONGEST);
    let mut first = Vec::new();
    head.read_until(b'\n', &mut first).await?;
    loop {
        let mut line = Vec::new();
        if head.read_until(b'\n', &mut line).await? == 0 || line.iter().all(u8::is_ascii_whitespace) {
            break;
        }
    }
    let first = String::from_utf8_lossy(&first);
    let mut words = first.split_ascii_whitespace();
    Ok(match (words.next(), words.next(), words.next()) {
        (Some(method), Some(path), Some(version)) if version.starts_with("HTTP/1") => {
            Some((method.to_owned(), path.to_owned()))
        }
        _ => None,
    })
}
