//! Who acts, as the ledger records it.

use crate::ledger::Operator;

/// The user of this process, on this host, and where they came from over SSH.
pub fn current(database_user: &str) -> Operator {
    let unknown = |_| "unknown".to_owned();
    Operator {
        user: whoami::username().unwrap_or_else(unknown),
        database_user: database_user.to_owned(),
        host: whoami::hostname().unwrap_or_else(unknown),
        // The first word of either variable is the client's address.
        ssh_client: ["SSH_CONNECTION", "SSH_CLIENT"]
            .iter()
            .find_map(|name| std::env::var(name).ok())
            .and_then(|value| value.split_whitespace().next().map(str::to_owned)),
    }
}
