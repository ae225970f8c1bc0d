//! What it was measured on.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::client::Client;
use crate::fixtures::Layout;
use crate::harness::Engine;

/// One line for each thing that a reader must know to judge the figures.
pub fn description(url: &str, layout: Layout, rows: u32) -> Vec<String> {
    let client = Client::new(url);
    vec![
        format!("{} with {} cores and {} of memory; load {} at the start", kind(), cores(), memory(), load()),
        server(&client),
        format!("{}: {rows} rows{}, seeded and analysed", layout.table(), size(&client, layout, rows)),
        format!("dlq-tui {}{}, {}", env!("CARGO_PKG_VERSION"), commit(), said("rustc", &["--version"])),
    ]
}

fn server(client: &Client) -> String {
    let ask = |sql: &str| client.print(&[sql]);
    match client.engine() {
        Engine::Postgres => {
            let setting = |name: &str| format!("{name} {}", ask(&format!("select current_setting('{name}')")));
            let told = ["fsync", "synchronous_commit", "shared_buffers", "wal_level"].map(setting).join(", ");
            format!("PostgreSQL {} over TCP on 127.0.0.1; {told}", ask("select current_setting('server_version')"))
        }
        Engine::Mysql => {
            let setting = |name: &str| format!("{name} {}", ask(&format!("select cast(@@{name} as char)")));
            let told = ["innodb_flush_log_at_trx_commit", "innodb_buffer_pool_size"].map(setting).join(", ");
            format!("MariaDB {} over TCP on 127.0.0.1; {told}", ask("select version()"))
        }
        Engine::Sqlite => format!("SQLite {} in a file with a write-ahead log", ask("select sqlite_version()")),
    }
}

/// What the table weighs, where the server tells.
fn size(client: &Client, layout: Layout, rows: u32) -> String {
    if client.engine() != Engine::Postgres {
        return String::new();
    }
    let table = layout.table();
    let width = client.print(&[&format!("select pg_table_size('{table}') / {rows}")]);
    let whole = client.print(&[&format!("select pg_size_pretty(pg_total_relation_size('{table}'))")]);
    format!(" of {width} bytes, {whole} with indexes")
}

/// A machine whose neighbours are not seen says so: their work is in the figures too.
fn kind() -> &'static str {
    let flags = first_line("/proc/cpuinfo", "flags").unwrap_or_default();
    if flags.split(' ').any(|flag| flag == "hypervisor") { "a virtual machine" } else { "a machine" }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(0, Into::into)
}

fn memory() -> String {
    let kib = first_line("/proc/meminfo", "MemTotal").unwrap_or_default();
    let kib: u64 = kib.split(' ').next().and_then(|kib| kib.parse().ok()).unwrap_or(0);
    format!("{} GB", (kib + 512 * 1024) / 1024 / 1024)
}

/// Programs that want a core: more of them than cores means that others were measured too.
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn first_line(file: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(Path::new(file)).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The commit that was built, where this is a working copy.
fn commit() -> String {
    match said("git", &["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty"]) {
        commit if commit.is_empty() => commit,
        commit => format!(" at {commit}"),
    }
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).stderr(Stdio::null()).output();
    output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned()).unwrap_or_default()
}
