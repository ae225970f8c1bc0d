//! The connection: what answers there, how quickly, and what stands in between.

use std::time::Duration;

use super::finding::{Finding, Level};
use crate::cli::source::open::Surveyed;
use crate::domain::text::Clean;
use crate::store::survey::{ConnectedSource, Target, Transport};
use crate::store::{Budget, Connection};

/// The name of the section.
pub const SECTION: &str = "connection";

/// A console is felt to wait from here on.
const SLOW: Duration = Duration::from_millis(150);

/// Seconds that two clocks may be apart.
const SKEW: f64 = 5.0;

/// What is found of the connection, and of what the database holds.
pub async fn findings(surveyed: &Surveyed, budget: &Budget) -> Vec<Finding> {
    let source = surveyed.survey.source();
    let finding = |about: &str, level: Level, fact: String| Finding::new(SECTION, about, level, fact);
    let whose = if source.user().is_empty() { String::new() } else { format!(" as {}", source.user()) };
    let mut all = vec![finding("server", Level::Ok, format!("{}: {}{whose}", source.server(), source.database()))];
    match surveyed.survey.connection(budget).await {
        Err(error) => all.push(Finding::failed(SECTION, "latency", &error)),
        Ok(connection) => {
            all.push(latency(connection.latency));
            all.extend(connection.ahead.map(clock));
            all.extend(connection.forgets.as_deref().map(durability));
            all.extend(transport(&surveyed.origin.target, &connection));
            if let Some(port) = connection.other_port {
                let fact = format!("the server itself listens on port {port}: a pooler or a tunnel stands in between");
                all.push(finding("pooler", Level::Ok, fact).advising(
                    "PgBouncer in transaction mode is fine; the limit that counts is its max_client_conn, of which a console takes two",
                ));
            }
        }
    }
    all.push(role(source));
    all.extend(adapters(surveyed));
    all
}

fn latency(took: Duration) -> Finding {
    let fact = format!("{:.1} ms for the shortest question", took.as_secs_f64() * 1e3);
    let level = if took > SLOW { Level::Warn } else { Level::Ok };
    let finding = Finding::new(SECTION, "latency", level, fact);
    match level {
        Level::Warn => finding.advising("each step of the console takes some of these: run it nearer to the database"),
        _ => finding,
    }
}

/// Ages and relative times go by the database's clock, and what is on record by this machine's.
fn clock(ahead: i64) -> Finding {
    // Far below 2^52 microseconds in any life of a machine: the conversion is exact.
    let seconds = ahead as f64 / 1e6;
    let side = if ahead < 0 { "behind" } else { "ahead of" };
    let fact = format!("the server's is {:.1} s {side} this machine's", seconds.abs());
    match seconds.abs() < SKEW {
        true => Finding::new(SECTION, "clock", Level::Ok, fact),
        false => Finding::new(SECTION, "clock", Level::Warn, fact)
            .advising("times in the record of runs are this machine's, and all else the server's: set both by NTP"),
    }
}

fn durability(setting: &str) -> Finding {
    let fact = format!("a crash of the server may take back its last commits ({setting})");
    Finding::new(SECTION, "durability", Level::Warn, fact)
        .advising("jobs that a run recorded as done may be dead again after a crash: check them then")
}

/// How what goes over the wire is protected: what we asked for, and what came of it.
fn transport(target: &Target, connection: &Connection) -> Option<Finding> {
    let asked = target.transport();
    if asked == Transport::Local {
        return None;
    }
    let certain = !matches!(asked, Transport::Perhaps | Transport::Clear);
    // Behind a pooler the server sees how the pooler comes, not how we do.
    let seen = connection.encryption.as_ref().filter(|_| connection.other_port.is_none());
    let encrypted = match seen {
        Some(version) => format!("encrypted ({version})"),
        None if certain => "encrypted".to_owned(),
        None if asked == Transport::Perhaps && connection.other_port.is_some() => "perhaps encrypted".to_owned(),
        None => "not encrypted".to_owned(),
    };
    let checked = match asked {
        Transport::Verified => ": the server's certificate and its name are checked",
        Transport::Issued => ": the server's certificate is checked, the name in it is not",
        _ if encrypted.starts_with("not") => "",
        _ => ": the server's certificate is not verified",
    };
    let away = if target.is_here() { "; it does not leave this machine" } else { "" };
    let safe = target.is_here() || matches!(asked, Transport::Verified | Transport::Issued);
    let level = if safe { Level::Ok } else { Level::Warn };
    let finding = Finding::new(SECTION, "transport", level, format!("{encrypted}{checked}{away}"));
    Some(match level {
        Level::Ok => finding,
        _ => finding.advising(
            "sslmode=verify-full checks who answers; sslrootcert=FILE names the authority, where it is one of your own",
        ),
    })
}

fn role(source: &ConnectedSource) -> Finding {
    let finding = |level, fact: String| Finding::new(SECTION, "writes", level, fact);
    match source.read_only() {
        None => finding(Level::Ok, "the server takes them".to_owned()),
        Some(_) if source.is_replica() => {
            finding(Level::Warn, "the server is a replica: reading works, verbs do not".to_owned())
                .advising("name the primary to replay or discard jobs")
        }
        Some(why) => finding(Level::Warn, format!("nothing can be acted upon: {why}")),
    }
}

/// Which layouts are there, and which nearly are.
fn adapters(surveyed: &Surveyed) -> Vec<Finding> {
    const STORES: &str = "stores";
    let found = surveyed.survey.found().iter().map(|found| {
        let fact = format!("{} ({})", Clean::line(&found.label()), found.title);
        let finding = Finding::new(STORES, &found.adapter, Level::Ok, fact);
        match found.warnings.as_slice() {
            [] => finding,
            warnings => Finding { level: Level::Warn, advice: Some(warnings.join("; ")), ..finding },
        }
    });
    let near = surveyed.survey.rejected().iter().map(|rejected| {
        let fact = format!("not in {}: {}", Clean::line(&rejected.schema), rejected.why());
        Finding::new(STORES, &rejected.adapter, Level::Ok, fact)
    });
    let mut all: Vec<Finding> = found.chain(near).collect();
    if surveyed.survey.found().is_empty() {
        let fact = "no table of dead-lettered jobs that an adapter knows";
        all.push(
            Finding::new(STORES, "adapters", Level::Fail, fact)
                .advising("`dlq-tui init` creates one, and an adapter file describes your own (see docs/adapters.md)"),
        );
    }
    all
}
