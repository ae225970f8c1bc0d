//! Redis servers: the only code that names the driver. Commands go in as words of bytes, replies come out as [`RedisReply`].
//!
//! One connection carries all calls of a source, and is opened again by the next call once it is lost. A call that runs into its
//! deadline, or is cancelled, leaves its answer behind and takes the connection with it: a command that was sent is not stopped
//! on the server, so every command that we send is one that takes a moment only.

mod connect;
mod error_map;
mod facts;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, Value};

use self::connect::open;
use self::error_map::source_error;
pub use self::facts::{ServerFacts, time_of};
use super::EngineOptions;
use super::target::redis::RedisServer;
use super::target::{Target, redis_of};
use crate::adapter::redis::RedisReply;
use crate::domain::budget::Budget;
use crate::domain::log;
use crate::domain::source_error::{Result, SourceError};
use crate::domain::time::Timestamp;

/// A command: its name, and what follows it.
pub type RedisCommand = Vec<Vec<u8>>;

/// A script, which the server knows by its digest once it has seen it.
#[derive(Clone, Debug)]
pub struct LuaScript {
    text: String,
    digest: String,
}

impl LuaScript {
    /// A script of this text.
    pub fn new(text: String) -> Self {
        use sha1::{Digest, Sha1};
        let digest = Sha1::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { text, digest }
    }
}

/// A connection to one Redis server.
pub struct RedisEngine {
    target: Target,
    server: RedisServer,
    options: EngineOptions,
    connect_timeout: Duration,
    facts: ServerFacts,
    place: String,
    /// How far the server's clock is ahead of ours, in microseconds.
    ahead: i64,
    connection: Mutex<Option<MultiplexedConnection>>,
    /// What the quickest exchange took so far, in microseconds.
    quickest: AtomicU64,
}

impl RedisEngine {
    /// Connects, and asks the server what it is.
    ///
    /// # Errors
    /// When it cannot be reached within the connect timeout, or refuses us.
    pub async fn connect(target: &Target, options: &EngineOptions, budget: &Budget) -> Result<Self> {
        let Some(server) = redis_of(target) else {
            return Err(SourceError::Input("this is for Redis, and the URL names another database".to_owned()));
        };
        let connect_timeout = target.connect_timeout().unwrap_or(options.connect_timeout);
        let reach = async {
            let mut connection = open(server, options, connect_timeout).await?;
            let facts = facts::ask(&mut connection, server, options.read_only).await?;
            Ok((connection, facts))
        };
        let reached = tokio::select! {
            biased;
            () = budget.cancel.cancelled() => return Err(SourceError::Cancelled),
            reached = tokio::time::timeout(connect_timeout, reach) => {
                reached.unwrap_or_else(|_| Err(SourceError::Unreachable(format!("no answer within {connect_timeout:?}"))))
            }
        };
        let (connection, facts) = reached.map_err(|error| named(error, &target.label(), &options.named_by))?;
        let ahead = facts.clock.0 - Timestamp::now().0;
        Ok(Self {
            target: target.clone(),
            server: server.clone(),
            options: options.clone(),
            connect_timeout,
            facts,
            place: target.place(),
            ahead,
            connection: Mutex::new(Some(connection)),
            quickest: AtomicU64::new(u64::MAX),
        })
    }

    /// What the server said of itself and of us as we connected.
    pub fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    /// Host, port and number of the database as they were named.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What keys begin with, where that was said.
    pub fn prefix(&self) -> Option<&str> {
        self.server.prefix.as_deref()
    }

    /// The queues that are meant; none where all are.
    pub fn queues(&self) -> &[String] {
        &self.server.queues
    }

    /// The database, by its number.
    pub fn database(&self) -> String {
        format!("db {}", self.server.database)
    }

    /// The server's clock, as far as is known without asking.
    pub fn clock(&self) -> Timestamp {
        Timestamp(Timestamp::now().0.saturating_add(self.ahead))
    }

    /// Runs commands that only read, in one round trip, and returns the reply of each. Where the connection was lost they are sent
    /// again.
    ///
    /// # Errors
    /// The first fault of any command.
    pub async fn read(&self, commands: &[RedisCommand], budget: &Budget) -> Result<Vec<RedisReply>> {
        self.read_each(commands, budget).await?.into_iter().collect()
    }

    /// The same, with a verdict for each command: a key of another type is no fault of the others.
    ///
    /// # Errors
    /// When the server cannot be asked.
    pub async fn read_each(&self, commands: &[RedisCommand], budget: &Budget) -> Result<Vec<Result<RedisReply>>> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let began = Instant::now();
        let read = match self.send(commands, budget).await {
            Err(SourceError::Unreachable(_)) => self.send(commands, budget).await,
            sent => sent,
        };
        log::read(commands.len(), read.as_ref().map(Vec::len).map_err(SourceError::kind), began.elapsed());
        read
    }

    /// Runs a script once, whether it writes or not. It is never sent again after it may have run.
    ///
    /// # Errors
    /// What went wrong, and whether it may have taken effect all the same.
    pub async fn run(
        &self,
        script: &LuaScript,
        keys: &[Vec<u8>],
        arguments: &[Vec<u8>],
        budget: &Budget,
    ) -> std::result::Result<RedisReply, (SourceError, bool)> {
        let words = |command: &str, text: &str| {
            let head = [command.into(), text.into(), keys.len().to_string().into_bytes()];
            head.into_iter().chain(keys.iter().cloned()).chain(arguments.iter().cloned()).collect::<RedisCommand>()
        };
        let known = words("EVALSHA", &script.digest);
        match self.send_once(known, budget).await? {
            Err(SourceError::Refused { code: Some(code), .. }) if code == "NOSCRIPT" => {
                let whole = words("EVAL", &script.text);
                self.send_once(whole, budget).await?.map_err(|error| (error, false))
            }
            // The server has answered: what a script had written before it failed stays.
            Err(error) => Err((error, false)),
            Ok(reply) => Ok(reply),
        }
    }

    async fn send_once(
        &self,
        words: RedisCommand,
        budget: &Budget,
    ) -> std::result::Result<Result<RedisReply>, (SourceError, bool)> {
        // Nothing was sent while there is no connection: that much may be tried again.
        self.connection(budget).await.map_err(|error| (error, false))?;
        let sent = self.send(&[words], budget).await.map_err(|error| (error, true))?;
        sent.into_iter().next().ok_or((SourceError::Unreachable("no answer came".to_owned()), true))
    }

    async fn send(&self, commands: &[RedisCommand], budget: &Budget) -> Result<Vec<Result<RedisReply>>> {
        let mut connection = self.connection(budget).await?;
        let mut pipeline = Pipeline::with_capacity(commands.len());
        pipeline.ignore_errors();
        for words in commands {
            let mut command = Cmd::new();
            for word in words {
                command.arg(word.as_slice());
            }
            pipeline.add_command(command);
        }
        let began = Instant::now();
        let answered = tokio::select! {
            biased;
            () = budget.cancel.cancelled() => Err(SourceError::Cancelled),
            answered = pipeline.query_async::<Vec<redis::RedisResult<Value>>>(&mut connection) => {
                answered.map_err(source_error)
            }
            () = tokio::time::sleep(budget.statement) => Err(SourceError::Timeout(budget.statement)),
        };
        match answered {
            Ok(values) => {
                let took = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
                self.quickest.fetch_min(took, Ordering::Relaxed);
                Ok(values.into_iter().map(|value| value.map(reply).map_err(source_error)).collect())
            }
            Err(error) => {
                self.forget();
                Err(error)
            }
        }
    }

    async fn connection(&self, budget: &Budget) -> Result<MultiplexedConnection> {
        let known = self.lock().clone();
        if let Some(connection) = known {
            return Ok(connection);
        }
        let limit = self.connect_timeout.min(budget.statement);
        let opened = tokio::select! {
            biased;
            () = budget.cancel.cancelled() => return Err(SourceError::Cancelled),
            opened = tokio::time::timeout(limit, open(&self.server, &self.options, limit)) => opened,
        };
        let connection =
            opened.unwrap_or_else(|_| Err(SourceError::Unreachable(format!("no answer within {limit:?}"))))?;
        *self.lock() = Some(connection.clone());
        Ok(connection)
    }

    /// What an exchange that began then took beyond what the quickest one ever did: the way there and back is no work of the
    /// server's.
    pub fn worked(&self, began: Instant) -> Duration {
        let way = self.quickest.load(Ordering::Relaxed);
        began.elapsed().saturating_sub(Duration::from_micros(if way == u64::MAX { 0 } else { way }))
    }

    /// Drops the connection: the next call opens a new one.
    pub fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<MultiplexedConnection>> {
        self.connection.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The same target with what is there now.
    ///
    /// # Errors
    /// As [`RedisEngine::connect`].
    pub async fn reconnect(&self, budget: &Budget) -> Result<Self> {
        Self::connect(&self.target, &self.options, budget).await
    }
}

/// What a fault means that a script reports as text: its code stands first.
pub fn script_fault(text: &str) -> SourceError {
    let (code, detail) = text.split_once(' ').unwrap_or((text, text));
    let is_code = !code.is_empty() && code.chars().all(|c| c.is_ascii_uppercase());
    match is_code {
        true => error_map::by_code(code, detail.to_owned()),
        false => SourceError::Refused { message: text.to_owned(), code: None },
    }
}

/// A fault of connecting with where it was.
fn named(error: SourceError, label: &str, named_by: &str) -> SourceError {
    let by = if named_by.is_empty() { String::new() } else { format!(" (from {named_by})") };
    let told = |why: String| format!("{label}{by}: {why}");
    match error {
        SourceError::Unreachable(why) => SourceError::Unreachable(told(why)),
        SourceError::Unproven(why) => SourceError::Unproven(told(why)),
        SourceError::ShutOut { message, code } => SourceError::ShutOut { message: told(message), code },
        SourceError::Refused { message, code } => SourceError::Refused { message: told(message), code },
        other => other,
    }
}

/// A reply in the plain shape of the protocol's second version, which is the one that we speak.
fn reply(value: Value) -> RedisReply {
    match value {
        Value::Nil => RedisReply::Nil,
        Value::Int(number) => RedisReply::Bytes(number.to_string().into_bytes()),
        Value::BulkString(bytes) => RedisReply::Bytes(bytes),
        Value::SimpleString(text) => RedisReply::Bytes(text.into_bytes()),
        Value::Okay => RedisReply::Bytes(b"OK".to_vec()),
        Value::Array(values) | Value::Set(values) => RedisReply::List(values.into_iter().map(reply).collect()),
        Value::Map(pairs) => {
            RedisReply::List(pairs.into_iter().flat_map(|(key, value)| [reply(key), reply(value)]).collect())
        }
        Value::Double(number) => RedisReply::Bytes(number.to_string().into_bytes()),
        Value::Boolean(is_set) => RedisReply::Bytes(u8::from(is_set).to_string().into_bytes()),
        Value::VerbatimString { text, .. } => RedisReply::Bytes(text.into_bytes()),
        _ => RedisReply::Nil,
    }
}
