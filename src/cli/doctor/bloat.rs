//! Bloat: room that a table takes and does not use, and whoever keeps it from being used again.

use std::time::Duration;

use super::finding::{Finding, Level, bytes};
use crate::domain::histogram::grouped;
use crate::domain::text::Clean;
use crate::domain::time::short_span;
use crate::store::{Bloat, Oldest};

/// Dead versions that are worth a word, and the share of all versions: autovacuum comes at a fifth where nothing else is set.
const DEAD: u64 = 10_000;
const DEAD_SHARE: f64 = 0.3;
/// Free bytes that are worth a word, and the share of all.
const FREE: u64 = 20_000_000;
const FREE_SHARE: f64 = 0.3;
/// A transaction that is this old is no part of ordinary work.
const LONG: Duration = Duration::from_secs(600);

/// What is found of a table's bloat.
pub fn findings(section: &str, bloat: &Bloat) -> Vec<Finding> {
    let mut all = Vec::new();
    all.extend(versions(section, bloat));
    all.extend(free(section, bloat));
    all.extend(oldest(section, &bloat.oldest));
    all
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

fn versions(section: &str, bloat: &Bloat) -> Option<Finding> {
    let (live, dead) = bloat.live.zip(bloat.dead)?;
    let part = share(dead, live + dead);
    let vacuumed = match bloat.vacuumed {
        Some(ago) => format!("last vacuumed {} ago", short_span(ago)),
        None => "never vacuumed".to_owned(),
    };
    let fact = format!("~{} dead row versions beside ~{} living ones; {vacuumed}", grouped(dead), grouped(live));
    let finding = |level| Finding::new(section, "bloat", level, fact.clone());
    let much = dead >= DEAD && part >= DEAD_SHARE;
    Some(match (bloat.automatic, much) {
        (Some(false), _) => {
            let fact = format!("{fact}; autovacuum is off");
            let finding = Finding::new(section, "bloat", Level::Warn, fact).advising(
                "nothing tidies up behind replays and deletions: turn it on, for the table or in the server's settings",
            );
            match &bloat.autovacuum {
                Some(ddl) => finding.by(ddl.clone()),
                None => finding,
            }
        }
        (_, true) => finding(Level::Warn)
            .advising("reads pass over all of them: autovacuum does not keep up, or something holds it back (below)")
            .by(bloat.vacuum.clone()),
        (_, false) => finding(Level::Ok),
    })
}

fn free(section: &str, bloat: &Bloat) -> Option<Finding> {
    let free = bloat.free?;
    let fact = format!("{} of {} are free for new rows", bytes(free), bytes(bloat.bytes));
    let much = free >= FREE && share(free, bloat.bytes) >= FREE_SHARE;
    let finding = |level| Finding::new(section, "bloat", level, fact.clone());
    Some(match much {
        false => finding(Level::Ok),
        true => finding(Level::Warn)
            .advising("only this returns the space to the disk; it rewrites and locks the table")
            .by(bloat.vacuum.clone()),
    })
}

fn oldest(section: &str, oldest: &Oldest) -> Option<Finding> {
    const ABOUT: &str = "long transactions";
    match oldest {
        Oldest::None => None,
        Oldest::Hidden => Some(
            Finding::new(section, ABOUT, Level::Ok, "this role does not see those of others").advising(
                "a role with pg_read_all_stats (PostgreSQL) or PROCESS (MySQL, MariaDB) sees who holds cleaning up back",
            ),
        ),
        Oldest::Transaction { age, .. } if *age < LONG => None,
        Oldest::Transaction { prepared, known_as, age, show } => {
            let known_as = Clean::line(known_as);
            let (age, kind) = (short_span(*age), if *prepared { "prepared transaction" } else { "transaction of session" });
            let fact = format!("the {kind} {known_as} is open for {age}: nothing that died since is removed, in any table");
            Some(
                Finding::new(section, ABOUT, Level::Warn, fact)
                    .advising("check whose it is and whether it can be ended")
                    .by(show.clone()),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(bloat: &Bloat) -> Vec<(String, Level)> {
        findings("s", bloat).into_iter().map(|f| (f.about, f.level)).collect()
    }

    #[test]
    fn much_that_is_dead_or_free_is_warned_of_and_little_is_not() {
        let bloat =
            |live, dead| Bloat { live: Some(live), dead: Some(dead), automatic: Some(true), ..Bloat::default() };
        let level = |b: &Bloat| findings("s", b)[0].level;
        assert_eq!(level(&bloat(0, 0)), Level::Ok);
        assert_eq!(level(&bloat(10, 9_999)), Level::Ok, "few");
        assert_eq!(level(&bloat(100_000, 20_000)), Level::Ok, "a small share");
        assert_eq!(level(&bloat(20_000, 20_000)), Level::Warn);
        let off = Bloat { automatic: Some(false), autovacuum: Some("ALTER".into()), ..bloat(10, 0) };
        assert!(findings("s", &off)[0].ddl.is_some() && level(&off) == Level::Warn);
        let room = |free, bytes| Bloat { free: Some(free), bytes, ..Bloat::default() };
        assert_eq!(level(&room(19_000_000, 20_000_000)), Level::Ok);
        assert_eq!(level(&room(25_000_000, 1_000_000_000)), Level::Ok);
        assert_eq!(level(&room(25_000_000, 50_000_000)), Level::Warn);
        assert!(said(&Bloat::default()).is_empty());
    }

    #[test]
    fn only_a_long_transaction_is_told_with_what_shows_it() {
        let open = |age| Bloat {
            oldest: Oldest::Transaction {
                prepared: false,
                known_as: "17".into(),
                age: Duration::from_secs(age),
                show: "SELECT 17".into(),
            },
            ..Bloat::default()
        };
        assert!(said(&open(599)).is_empty());
        let told = findings("s", &open(7_300));
        assert!(told[0].fact.contains("session 17 is open for 2h01m") && told[0].ddl.is_some(), "{told:?}");
        let hidden = Bloat { oldest: Oldest::Hidden, ..Bloat::default() };
        assert_eq!(said(&hidden), [("long transactions".to_owned(), Level::Ok)]);
    }
}
