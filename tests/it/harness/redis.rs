//! A Redis server of the test's own, on a Unix socket, and a client that speaks just enough to seed it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::machine::{self, Account};
use super::process::Process;

/// Generous, because it only bounds how long a broken start takes to be noticed.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A server that was started for one test.
#[derive(Debug)]
pub struct RedisServer {
    folder: tempfile::TempDir,
    command: Vec<OsString>,
    process: Mutex<Process>,
}

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Nil,
    Text(String),
    Error(String),
    List(Vec<Answer>),
}

impl Answer {
    /// The text of an answer that is one.
    pub fn text(&self) -> &str {
        match self {
            Answer::Text(text) | Answer::Error(text) => text,
            other => panic!("no text: {other:?}"),
        }
    }

    /// The texts of a list.
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Answer::List(all) => all.iter().map(Answer::text).collect(),
            other => panic!("no list: {other:?}"),
        }
    }
}

/// Starts a server that keeps what it has been told, with more options.
pub(super) fn start(options: &[&str]) -> Result<RedisServer, String> {
    let program =
        machine::program(&["redis-server", "valkey-server"]).ok_or("no redis-server or valkey-server is installed")?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let socket = folder.path().join("redis.sock");
    let mut command: Vec<OsString> = vec![program.into()];
    let path = |path: PathBuf| path.into_os_string();
    command.extend(["--port", "0", "--save", "", "--appendonly", "yes", "--appendfsync", "always"].map(OsString::from));
    command.extend(["--unixsocket".into(), path(socket), "--dir".into(), path(folder.path().to_owned())]);
    command.extend(options.iter().map(OsString::from));
    let process = Process::start(folder.path(), Account::ours(), "KILL", &command).map_err(|e| e.to_string())?;
    let server = RedisServer { folder, command, process: Mutex::new(process) };
    server.wait()?;
    Ok(server)
}

impl RedisServer {
    fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    /// The URL of its first database.
    pub fn url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    fn wait(&self) -> Result<(), String> {
        let began = Instant::now();
        while began.elapsed() < START_LIMIT {
            if let Ok(Answer::Text(pong)) = self.try_command(&["PING"])
                && pong == "PONG"
            {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err("the server does not answer".to_owned())
    }

    /// Ends the server without any goodbye.
    pub fn kill(&self) {
        self.process.lock().expect("no panic").kill();
    }

    /// Starts a killed server again with what it has kept.
    pub fn restart(&self) {
        let process = Process::start(self.folder.path(), Account::ours(), "KILL", &self.command).expect("a process");
        *self.process.lock().expect("no panic") = process;
        self.wait().expect("it answers");
    }

    /// Runs a command.
    pub fn command(&self, words: &[&str]) -> Answer {
        match self.try_command(words).unwrap_or_else(|e| panic!("{words:?}: {e}")) {
            Answer::Error(text) => panic!("{words:?}: {text}"),
            answer => answer,
        }
    }

    /// Runs commands in one go; errors are answers.
    pub fn commands<W: AsRef<[u8]> + Clone + Send + 'static>(&self, all: &[Vec<W>]) -> Vec<Answer> {
        let run = || -> std::io::Result<Vec<Answer>> {
            let mut stream = UnixStream::connect(self.socket())?;
            let sending = {
                let (mut stream, all) = (stream.try_clone()?, all.to_vec());
                std::thread::spawn(move || all.iter().try_for_each(|words| send(&mut stream, words)))
            };
            let mut reader = BufReader::new(&mut stream);
            let answers = all.iter().map(|_| read(&mut reader)).collect();
            sending.join().expect("a thread")?;
            answers
        };
        run().unwrap_or_else(|e| panic!("{e}"))
    }

    fn try_command(&self, words: &[&str]) -> std::io::Result<Answer> {
        let mut stream = UnixStream::connect(self.socket())?;
        send(&mut stream, words)?;
        read(&mut BufReader::new(&mut stream))
    }
}

fn send(stream: &mut UnixStream, words: &[impl AsRef<[u8]>]) -> std::io::Result<()> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words.iter().map(AsRef::as_ref) {
        bytes.extend(format!("${}\r\n", word.len()).into_bytes());
        bytes.extend(word);
        bytes.extend(b"\r\n");
    }
    stream.write_all(&bytes)
}

fn read(reader: &mut impl BufRead) -> std::io::Result<Answer> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let line = line.trim_end();
    let (kind, rest) = line.split_at_checked(1).ok_or(std::io::ErrorKind::UnexpectedEof)?;
    let number = rest.parse::<i64>().ok();
    Ok(match (kind, number) {
        ("+" | ":", _) => Answer::Text(rest.to_owned()),
        ("-", _) => Answer::Error(rest.to_owned()),
        ("$" | "*", Some(-1)) => Answer::Nil,
        ("$", Some(length)) => {
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(0) + 2];
            reader.read_exact(&mut bytes)?;
            bytes.truncate(bytes.len() - 2);
            Answer::Text(String::from_utf8_lossy(&bytes).into_owned())
        }
        ("*", Some(length)) => Answer::List((0..length).map(|_| read(reader)).collect::<std::io::Result<_>>()?),
        _ => return Err(std::io::ErrorKind::InvalidData.into()),
    })
}
