//! What it was measured on.

use std::path::Path;
use std::process::Command;

use crate::psql::Psql;

/// One line for each thing that a reader must know to judge the figures.
pub fn description(url: &str, rows: u32) -> Vec<String> {
    let psql = Psql::new(url);
    let scalar = |sql: &str| psql.print(&[sql]);
    let table = scalar("select relname from pg_stat_user_tables order by n_live_tup desc limit 1");
    let width = format!("select pg_table_size('{table}') / greatest(count(*), 1) from {table}");
    let size = format!("select pg_size_pretty(pg_total_relation_size('{table}'))");
    let setting = |name: &str| scalar(&format!("select current_setting('{name}')"));
    vec![
        format!("{} with {} cores and {} of memory; load {} at the start", kind(), cores(), memory(), load()),
        format!(
            "PostgreSQL {} over TCP on 127.0.0.1; fsync {}, synchronous_commit {}, shared_buffers {}",
            setting("server_version"),
            setting("fsync"),
            setting("synchronous_commit"),
            setting("shared_buffers")
        ),
        format!(
            "{table}: {rows} rows of {} bytes, {} with indexes, seeded, vacuumed and analysed",
            scalar(&width),
            scalar(&size)
        ),
        format!("dlq-tui {}, {}", env!("CARGO_PKG_VERSION"), rustc()),
    ]
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

fn rustc() -> String {
    let output = Command::new("rustc").arg("--version").output();
    output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned()).unwrap_or_default()
}
