//! What PostgreSQL's own books (`pg_stat_statements`) say that a stretch of work cost it.

use crate::client::Client;
use crate::harness::Engine;

/// A role for the application, so that what it asks is not taken for the console's.
pub const APPLICATION: &str = "app";

/// Our own statements: not the application's, and not this book-keeping.
const OURS: &str = "from pg_stat_statements s join pg_database d on d.oid = s.dbid join pg_roles r on r.oid = s.userid \
                    where d.datname = current_database() and r.rolname = current_user \
                    and query not like '%pg_stat_statements%'";

/// What a stretch of work cost the database.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub statements: u64,
    pub ms: f64,
    pub buffers: u64,
    /// The longest statement, in milliseconds.
    pub longest: f64,
}

impl Cost {
    pub fn told(&self) -> String {
        if self.statements == 0 {
            return String::new();
        }
        format!("database: {:.2} ms, {} buffers, {} statements", self.ms, self.buffers, self.statements)
    }

    /// The mean of as many equal pieces of work.
    pub fn each(&self, n: usize) -> Self {
        let n = n.max(1) as u64;
        Self {
            statements: self.statements / n,
            ms: self.ms / n as f64,
            buffers: self.buffers / n,
            longest: self.longest,
        }
    }

    /// Another stretch of work in addition.
    pub fn add(&mut self, other: &Self) {
        self.statements += other.statements;
        self.ms += other.ms;
        self.buffers += other.buffers;
        self.longest = self.longest.max(other.longest);
    }
}

/// Reads the database's books on statements, where it keeps them.
#[derive(Clone, Debug)]
pub struct Meter {
    client: Option<Client>,
    tells_statements: bool,
}

impl Meter {
    pub fn new(url: &str, tells_statements: bool) -> Self {
        let client = Client::new(url);
        let keeps = || client.print(&["select count(*) from pg_extension where extname = 'pg_stat_statements'"]) == "1";
        let keeps = client.engine() == Engine::Postgres && keeps();
        Self { client: keeps.then_some(client), tells_statements }
    }

    /// Whether there are books at all.
    pub fn counts(&self) -> bool {
        self.client.is_some()
    }

    pub fn reset(&self) {
        if let Some(client) = &self.client {
            client.print(&["select pg_stat_statements_reset()"]);
        }
    }

    /// The cost since the reset.
    pub fn read(&self) -> Cost {
        let Some(client) = &self.client else { return Cost::default() };
        if self.tells_statements {
            println!("\n{}", dearest(client, 6));
        }
        let printed = client.print(&[&format!(
            "select coalesce(sum(calls), 0) || '|' || coalesce(sum(total_exec_time), 0) || '|' ||
                coalesce(sum(shared_blks_hit + shared_blks_read), 0) || '|' || coalesce(max(max_exec_time), 0) {OURS}"
        )]);
        let numbers: Vec<f64> = printed.split('|').filter_map(|number| number.parse().ok()).collect();
        let number = |at: usize| numbers.get(at).copied().unwrap_or(0.0);
        Cost { statements: number(0) as u64, ms: number(1), buffers: number(2) as u64, longest: number(3) }
    }
}

/// The statements that cost most since the reset, one a line.
fn dearest(client: &Client, n: usize) -> String {
    client.print(&[&format!(
        "select round(total_exec_time::numeric, 1) || ' ms, ' || calls || ' calls, ' || shared_blks_hit + \
         shared_blks_read || ' buffers: ' || left(regexp_replace(query, '\\s+', ' ', 'g'), 800) {OURS} \
         order by total_exec_time desc limit {n}"
    )])
}
