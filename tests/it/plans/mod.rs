//! How a database gets at what the hot paths ask for, on filled and analysed tables: nothing there reads a table from end to
//! end, or sorts what no index has in order.
//!
//! Each layout is opened as the console opens it, looked at, and acted upon; meanwhile the server writes down how it ran
//! each statement (`postgres`, `mariadb`), or is asked (`sqlite`). `layouts` has the tables, `story` what is done with them,
//! `exceptions` what a layout's own tables have no index for.

mod exceptions;
pub mod layouts;
mod mariadb;
mod postgres;
mod sqlite;
mod story;

/// Rows that a statement may look at: a page and a batch are some dozens of jobs here, and for each of them some more rows may
/// be needed; there are ten times as many dead ones, and more beside them.
const MANY: f64 = 1_200.0;

/// The end of a statement, which tells its conditions and its order.
fn shown(sql: &str) -> String {
    let sql = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    let from = sql.char_indices().rev().nth(700).map_or(0, |(at, _)| at);
    sql[from..].to_owned()
}

/// Something that is wrong with how a statement was run.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What of the story it was run for.
    phase: String,
    /// What it did, and on which table.
    what: String,
    sql: String,
}

/// What a database knows of its tables, and has beside them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// Nothing but their definition, as no one has had it look at what they hold.
    Unseen,
    AsItComes,
    /// The indexes too that the adapter asks for.
    Indexed,
}

impl Stage {
    pub const SEEN: [Self; 2] = [Self::AsItComes, Self::Indexed];
}

/// Holds what is wrong against what is known of the layout.
fn judge(case: &layouts::Case, engine: &str, stage: Stage, faults: &[Fault]) -> Vec<String> {
    let indexed = stage == Stage::Indexed;
    let known: Vec<_> = exceptions::of(case.name, engine).filter(|e| !indexed || !e.cured).collect();
    let excuses = |e: &exceptions::Exception, f: &Fault| {
        e.phases.iter().any(|p| f.phase.starts_with(p)) && f.what.contains(e.what)
    };
    let with = match stage {
        Stage::Unseen => "without statistics",
        Stage::AsItComes => "as it comes",
        Stage::Indexed => "with the indexes that it asks for",
    };
    let mut wrong: Vec<String> = Vec::new();
    let hot = |f: &&Fault| f.phase != story::COLD;
    for fault in faults.iter().filter(hot).filter(|f| !known.iter().any(|e| excuses(e, f))) {
        wrong.push(format!("{} on {engine}, {with}: {}: {}\n    {}", case.name, fault.phase, fault.what, fault.sql));
    }
    // Without statistics a plan may be the better one by chance.
    let settled = known.iter().filter(|_| stage != Stage::Unseen);
    for stale in settled.filter(|e| !faults.iter().any(|f| excuses(e, f))) {
        wrong.push(format!("{} on {engine}, {with}: `{}` is no exception any more", case.name, stale.what));
    }
    wrong
}
