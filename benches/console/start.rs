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
    let page = bench.baseline().first_page();
    let few = Turns::take(&Client::new(bench.few), (bench.few, bench.few), &page, runs);
    let many = Turns::take(&Client::new(bench.many), (bench.many, bench.many), &page, runs);
    for (rows, turns) in [(10_000, &few), (bench.rows, &many)] {
        table.add(turns.line(format!("{rows} rows")).because("in an empty home, so making the ledger is part of it"));
    }
    let share = many.ours.median().as_secs_f64() / few.ours.median().as_secs_f64().max(1e-9);
    table.add(
        Line::new(format!("{} rows against 10000", bench.rows), format!("{share:.2}x"))
            .aim("at most 1.5x", share <= 1.5),
    );
    if bench.has_server() {
        far(bench, &many, &mut table);
    }
    table
}

/// Starts of both in turns, each of them first in every other one: what else the machine does for a moment meets either.
struct Turns {
    ours: Sample,
    /// None where the database's own client is not on this machine.
    theirs: Option<Sample>,
}

impl Turns {
    /// So many turns, ours by one way to a server and theirs by another.
    fn take(server: &Client, (ours, theirs): (&str, &str), page: &str, turns: usize) -> Self {
        let client = Client::new(theirs);
        let mut taken = Self { ours: Sample::default(), theirs: client.is_here().then(Sample::default) };
        for turn in 0..turns {
            if turn % 2 == 0 {
                taken.ours.push(frame(ours, server));
            }
            if let Some(theirs) = &mut taken.theirs {
                theirs.push(client.process(page));
            }
            if turn % 2 == 1 {
                taken.ours.push(frame(ours, server));
            }
        }
        taken
    }

    fn line(&self, name: String) -> Line {
        let line = Line::new(name, self.ours.told());
        let Some(theirs) = &self.theirs else {
            return line.against("no such client here", "");
        };
        let reached = self.ours.median() <= theirs.median() * 2;
        line.against(theirs.told(), ratio(self.ours.median(), theirs.median())).aim("at most 2x", reached)
    }
}

/// On longer wires, of which the longest tells how often an answer is waited for.
fn far(bench: &Bench<'_>, near: &Turns, table: &mut Table) {
    let page = bench.baseline().first_page();
    let runs = if bench.small { 1 } else { 5 };
    for wire in WIRES {
        let length = wire.as_millis();
        // One for each: what is asked by ours is counted.
        let (ours, theirs) = (Wire::to(bench.many, wire), Wire::to(bench.many, wire));
        let turns = Turns::take(&Client::new(bench.many), (&ours.url, &theirs.url), &page, runs);
        let said = ours.said();
        table.add(turns.line(format!("{} rows, {length} ms away", bench.rows)));
        // Only of PostgreSQL it is known how often a greeting waits.
        if wire == WIRES[1] && bench.is_postgres() {
            let trips = |far: &Sample, near: &Sample| {
                let longer = far.median().saturating_sub(near.median()).as_secs_f64();
                longer / wire.as_secs_f64() - GREETING
            };
            let waits = said.iter().filter(|one| !matches!(one, Said::Hello)).count() as f64 / runs as f64;
            let ours = trips(&turns.ours, &near.ours);
            let theirs = turns.theirs.zip(near.theirs.as_ref()).map(|(far, near)| trips(&far, near));
            table.add(
                Line::new("answers waited for in a row, once connected", format!("{ours:.1}"))
                    .against(theirs.map_or(String::new(), |theirs| format!("{theirs:.1}")), "")
                    .aim(format!("at most {ROUND_TRIPS}"), ours.round() <= ROUND_TRIPS)
                    .because(format!(
                        "what {} more a round trip add, less {GREETING} for the greeting; {waits:.0} questions on all connections",
                        told(wire)
                    )),
            );
        }
    }
}

/// How long until the console shows them. It returns when that has ended and the server is done with it: what runs on there is
/// no part of the start that comes next.
fn frame(url: &str, server: &Client) -> Duration {
    let mut pty = console(url, &[]);
    pty.wait("bars, rows and a job", is_useful);
    let age = pty.heard_after();
    pty.send("q");
    pty.wait_for_exit();
    wait_until_idle(server);
    age
}
