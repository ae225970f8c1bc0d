//! How an engine behaves towards its server.

use std::time::Duration;

use crate::db::statement_log::Listener;

/// A forgotten transaction (a suspended console) must not hold its locks or its snapshot for ever.
pub(super) const IDLE: Duration = Duration::from_secs(300);

/// How an engine behaves towards its server.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Every transaction is a reading one, by the database's own rule.
    pub read_only: bool,
    /// How long a statement waits for a lock of another session. MySQL counts whole seconds.
    pub lock_timeout: Duration,
    /// How long connecting may take where the target does not say.
    pub connect_timeout: Duration,
    /// Connections at most. Cancelling a statement opens one more for a moment.
    pub max_connections: usize,
    /// Whether a second connection is opened as soon as there is one, for two calls that are sure to come at once.
    pub opens_second: bool,
    /// Nothing lasts: everything is rolled back when the engine is dropped, and there is one connection only.
    pub rehearsal: bool,
    /// Who hears of every statement before it is sent.
    pub listener: Option<Listener>,
    /// The name that the server's list of sessions shows, where it has one.
    pub application_name: String,
    /// What named the target, for errors: an option, a variable, a source of the config. Empty where that is not known.
    pub named_by: String,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            read_only: false,
            lock_timeout: Duration::from_secs(1),
            connect_timeout: Duration::from_secs(5),
            max_connections: 2,
            opens_second: false,
            rehearsal: false,
            listener: None,
            application_name: "dlq-tui".to_owned(),
            named_by: String::new(),
        }
    }
}
