//! From the start of the process to something that an operator can decide on.

use std::time::Duration;

use crate::bench::Bench;
use crate::client::Client;
use crate::harness::{Said, Wire};
use crate::sample::{Sample, ratio, told};
use crate::screen::{console, is_useful};
use crate::steps::wait_until_idle;
use crate::table::{Line, Table};

/// How long an answer takes from a database that is some hundred miles away, or behind an ocean.
const WIRES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(150)];
/// What a session costs before anything can be asked: whether there is TLS, and who it is.
const GREETING: f64 = 2.0;
/// Answers that may be waited for one after another, once connected.
const ROUND_TRIPS: f64 = 3.0;

/// Bars, rows and the first job, against a client that prints the page alone.
pub fn measure(bench: &Bench<'_>) -> Table {
    let runs = if bench.small { 1 } else { 9 };
    let mut table = Table::new(format!(
        "1. First useful screen; baseline: {} prints the first page on the same terminal, process start included",
        bench.client().name()
    ));
    let few = frames(bench.few, runs);
    let many = frames(bench.many, runs);
    for (rows, url, ours) in [(10_000, bench.few, &few), (bench.rows, bench.many, &many)] {
        let line = Line::new(format!("{rows} rows"), ours.told());
        let theirs = Client::new(url).process(&bench.baseline().first_page(), runs);
        table.add(against(line, ours, theirs.as_ref()).because("in an empty home, so making the ledger is part of it"));
    }
    let share = many.median().as_secs_f64() / few.median().as_secs_f64().max(1e-9);
    table.add(
        Line::new(format!("{} rows against 10000", bench.rows), format!("{share:.2}x"))
            .aim("at most 1.5x", share <= 1.5),
    );
    if bench.has_server() {
        far(bench, &many, &mut table);
    }
    table
}

fn against(line: Line, ours: &Sample, theirs: Option<&Sample>) -> Line {
    let Some(theirs) = theirs else { return line.against("no such client here", "") };
    let reached = ours.median() <= theirs.median() * 2;
    line.against(theirs.told(), ratio(ours.median(), theirs.median())).aim("at most 2x", reached)
}

/// On longer wires, of which the longest tells how often an answer is waited for.
fn far(bench: &Bench<'_>, near: &Sample, table: &mut Table) {
    let page = bench.baseline().first_page();
    let near_client = Client::new(bench.many).process(&page, 3).unwrap_or_default();
    let runs = if bench.small { 1 } else { 5 };
    for wire in WIRES {
        let length = wire.as_millis();
        let wire_to = Wire::to(bench.many, wire);
        let ours = frames(&wire_to.url, runs);
        let said = wire_to.said();
        let theirs = Client::new(&wire_to.url).process(&page, runs).unwrap_or_default();
        let line = Line::new(format!("{} rows, {length} ms away", bench.rows), ours.told());
        table.add(against(line, &ours, Some(&theirs)));
        // Only of PostgreSQL it is known how often a greeting waits.
        if wire == WIRES[1] && bench.is_postgres() {
            let trips = |far: &Sample, near: &Sample| {
                let longer = far.median().saturating_sub(near.median()).as_secs_f64();
                longer / wire.as_secs_f64() - GREETING
            };
            let waits = said.iter().filter(|one| !matches!(one, Said::Hello)).count() as f64 / runs as f64;
            let ours = trips(&ours, near);
            table.add(
                Line::new("answers waited for in a row, once connected", format!("{ours:.1}"))
                    .against(format!("{:.1}", trips(&theirs, &near_client)), "")
                    .aim(format!("at most {ROUND_TRIPS}"), ours.round() <= ROUND_TRIPS)
                    .because(format!(
                        "what {} more a round trip add, less {GREETING} for the greeting; {waits:.0} questions on all connections",
                        told(wire)
                    )),
            );
        }
    }
}

/// How long until the console shows them, so often. The next one is started when the one before has ended and the server is
/// done with it: what runs on there is no part of a start.
fn frames(url: &str, runs: usize) -> Sample {
    let client = Client::new(url);
    let frame = |_| {
        let mut pty = console(url, &[]);
        pty.wait("bars, rows and a job", is_useful);
        let age = pty.heard_after();
        pty.send("q");
        pty.wait_for_exit();
        wait_until_idle(&client);
        age
    };
    (0..runs).map(frame).collect()
}
