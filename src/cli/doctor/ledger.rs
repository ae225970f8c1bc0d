//! The ledger: where it is, whether it is private and whole, and which runs wait to be gone on with.

use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;

use super::finding::{Finding, Level, bytes};
use crate::domain::histogram::{grouped, jobs};
use crate::domain::text::Clean;
use crate::ledger::{self, Ledger, LedgerError, Lying, Run, RunState, WHEN_DAMAGED};
use crate::store::Budget;
use crate::store::survey::ConnectedSource;

/// The name of the section.
const SECTION: &str = "ledger";
/// Room on the disk below which a run may not come to its end, and below which none should be begun.
const SCARCE: u64 = 200_000_000;
const NONE: u64 = 10_000_000;
/// How long the check of the file may take: of a big one it reads every page.
const CHECK: Duration = Duration::from_secs(10);
/// How long letting go of it may take, where the check still goes on.
const CLOSE: Duration = Duration::from_millis(500);
/// Runs that are looked at, and told.
const RUNS: usize = 500;
const TOLD: usize = 5;

fn finding(about: &str, level: Level, fact: impl Into<String>) -> Finding {
    Finding::new(SECTION, about, level, fact)
}

/// What the record says is wrong, whose words are not for everybody, and what it says to do.
fn broken(about: &str, error: &LedgerError) -> Finding {
    let told = error.to_string();
    let finding = |fact: &str| finding(about, Level::Fail, fact).publicly(error.kind());
    match told.strip_suffix(WHEN_DAMAGED).and_then(|fact| fact.strip_suffix("; ")) {
        Some(fact) => finding(fact).advising(WHEN_DAMAGED),
        None => finding(&told),
    }
}

/// What is found of the operator's own file, and of the record in the source where it holds one.
pub async fn findings(path: &Path, source: Option<&ConnectedSource>, budget: &Budget) -> Vec<Finding> {
    let mut all = match ledger::lying(path) {
        Ok(lying) => of_file(path, &lying, rustix::process::geteuid().as_raw()),
        Err(error) => vec![unusable(path, &error.to_string())],
    };
    if path.is_file() {
        all.extend(inside(path).await);
    }
    if let Some(source) = source {
        all.extend(shared(source, budget).await);
    }
    all
}

fn unusable(path: &Path, why: &str) -> Finding {
    finding("file", Level::Fail, format!("{}: {why}", path.display()))
        .advising("no verb works without it: fix its folder, or set XDG_STATE_HOME to another")
}

/// What can be said without opening it.
fn of_file(path: &Path, lying: &Lying, user: u32) -> Vec<Finding> {
    let place = path.display();
    let mut all = vec![match lying.file_mode {
        Some(_) => finding("file", Level::Ok, format!("{place}, {}", bytes(lying.bytes))),
        None => finding("file", Level::Ok, format!("{place}: not there yet, the first run makes it")),
    }];
    if let Some(owner) = lying.owner.filter(|owner| *owner != user) {
        all.push(
            finding("owner", Level::Fail, format!("it belongs to user {owner}, and this is user {user}"))
                .advising("run as that user, or give it to this one"),
        );
    }
    let open = |mode: &Option<u32>| mode.filter(|mode| mode & 0o077 != 0);
    let loose: Vec<String> = [(path.parent(), &lying.folder_mode, "700"), (Some(path), &lying.file_mode, "600")]
        .into_iter()
        .filter(|(_, mode, _)| open(mode).is_some())
        .filter_map(|(path, _, right)| Some(format!("chmod {right} {}", path?.display())))
        .collect();
    if lying.folder_mode.is_some() {
        all.push(match loose.is_empty() {
            true => finding("modes", Level::Ok, "only its owner can read it"),
            false => finding("modes", Level::Warn, "others can read it, and it holds the rows that runs deleted")
                .advising(loose.join(" && ")),
        });
    }
    all.extend(lying.room.map(room));
    all
}

fn room(left: u64) -> Finding {
    let fact = format!("{} left on its disk", bytes(left));
    let level = match left {
        0..NONE => Level::Fail,
        NONE..SCARCE => Level::Warn,
        _ => return finding("room", Level::Ok, fact),
    };
    finding("room", level, fact)
        .advising("a run stops where its record cannot be kept: make room, or name another place by XDG_STATE_HOME")
}

/// What can only be said from inside.
async fn inside(path: &Path) -> Vec<Finding> {
    let health = |level, fact: String| finding("health", level, fact);
    let ledger = match Ledger::peek(path).await {
        Ok(ledger) => ledger,
        Err(error) => return vec![broken("health", &error)],
    };
    let mut all = Vec::new();
    match ledger.health().version().await {
        Err(error) => all.push(broken("health", &error).advising(WHEN_DAMAGED)),
        Ok(version) if version > ledger::latest_version() => all.push(
            health(
                Level::Fail,
                format!("it is of a later version ({version}) than this program ({})", ledger::latest_version()),
            )
            .advising("use the newer dlq-tui that made it so"),
        ),
        Ok(version) => {
            // Before the check, which may keep the one connection busy beyond its time.
            let runs = unfinished(&ledger).await;
            all.push(checked(&ledger, version).await);
            match runs {
                // What an earlier version made may lack what is read here.
                Err(_) if version < ledger::latest_version() => {}
                Err(error) => all.push(broken("health", &error)),
                Ok(found) => all.extend(found),
            }
        }
    }
    drop(timeout(CLOSE, ledger.close()).await);
    all
}

async fn checked(ledger: &Ledger, version: i64) -> Finding {
    let version = match version == ledger::latest_version() {
        true => format!("version {version}"),
        false => format!("version {version}, which is brought up to date at its next use"),
    };
    match timeout(CHECK, ledger.health().damages()).await {
        Err(_) => finding("health", Level::Ok, format!("{version}; too big to be checked through in {CHECK:?}")),
        Ok(Err(error)) => broken("health", &error).advising(WHEN_DAMAGED),
        Ok(Ok(damages)) => match damages.first() {
            None => finding("health", Level::Ok, format!("{version}, whole")),
            Some(first) => {
                finding("health", Level::Fail, format!("damaged: {}", Clean::line(first))).advising(WHEN_DAMAGED)
            }
        },
    }
}

/// Runs that were begun and did not come to their end.
async fn unfinished(ledger: &Ledger) -> ledger::Result<Vec<Finding>> {
    let runs = ledger.runs().latest(RUNS).await?;
    let mut open = Vec::new();
    for run in runs.into_iter().filter(|run| matches!(run.state, RunState::Running | RunState::Stopped)) {
        let held = ledger.locks().is_held(&run.id).await?;
        open.push((run, held));
    }
    let mut all: Vec<Finding> = open.iter().take(TOLD).map(|(run, held)| of_run(run, *held)).collect();
    if open.len() > TOLD {
        let fact = format!("{} more did not come to their end: `dlq-tui runs` lists them", open.len() - TOLD);
        all.push(finding("runs", Level::Warn, fact));
    }
    if open.is_empty() {
        all.push(finding("runs", Level::Ok, "none waits to be gone on with"));
    }
    Ok(all)
}

fn of_run(run: &Run, held: bool) -> Finding {
    let left = run.tally.not_started + run.tally.in_doubt;
    let (id, action, planned) = (&run.id, run.intent.action, jobs(run.tally.planned));
    let source = Clean::line(&run.intent.source);
    let left = format!("{} of {planned} left", grouped(left));
    let what = format!("{action} {id} on {source}: {left}");
    // The source may be an address that nothing else knows of.
    let finding = |level, fact: String| finding("runs", level, fact).publicly(format!("{action} {id}: {left}"));
    match held {
        true => finding(Level::Ok, format!("{what}; it is being executed")),
        false => finding(Level::Warn, what).advising(format!("`dlq-tui resume {id}` resumes it")),
    }
}

/// The record in the source.
async fn shared(source: &ConnectedSource, budget: &Budget) -> Vec<Finding> {
    const ABOUT: &str = "in the source";
    match ledger::in_source(source, budget).await {
        Ok(None) if !source.holds_tables() => {
            vec![finding(ABOUT, Level::Ok, "none, as it holds no tables: runs of this machine are known here only")]
        }
        Ok(None) => vec![
            finding(ABOUT, Level::Ok, "none: runs of this machine are known here only")
                .advising("`dlq-tui init --ledger` makes one that all operators of the source share"),
        ],
        Ok(Some(shared)) => {
            let mut all =
                vec![finding(ABOUT, Level::Ok, "the source has one, which its operators share: new runs go there")];
            match unfinished(&shared).await {
                Ok(found) => all.extend(found.into_iter().map(|f| Finding { about: "shared runs".to_owned(), ..f })),
                Err(error) => all.push(broken(ABOUT, &error)),
            }
            all
        }
        Err(error) => vec![broken(ABOUT, &error)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lying() -> Lying {
        let (folder_mode, file_mode) = (Some(0o700), Some(0o600));
        Lying { folder_mode, file_mode, owner: Some(1_000), bytes: 9, room: Some(SCARCE) }
    }

    fn levels(lying: &Lying) -> Vec<(String, Level)> {
        of_file(Path::new("/s/ledger"), lying, 1_000).into_iter().map(|f| (f.about, f.level)).collect()
    }

    #[test]
    fn modes_owner_and_room_are_told_of_where_they_are_wrong() {
        assert!(levels(&lying()).iter().all(|(_, level)| *level == Level::Ok));
        let of =
            |lying: Lying, about: &str| levels(&lying).into_iter().find(|(a, _)| a == about).map(|(_, level)| level);
        assert_eq!(of(Lying { file_mode: Some(0o640), ..lying() }, "modes"), Some(Level::Warn));
        assert_eq!(of(Lying { folder_mode: Some(0o755), ..lying() }, "modes"), Some(Level::Warn));
        assert_eq!(of(Lying { owner: Some(0), ..lying() }, "owner"), Some(Level::Fail));
        assert_eq!(of(lying(), "owner"), None);
        assert_eq!(of(Lying { room: Some(SCARCE - 1), ..lying() }, "room"), Some(Level::Warn));
        assert_eq!(of(Lying { room: Some(NONE - 1), ..lying() }, "room"), Some(Level::Fail));
        let absent = Lying { file_mode: None, folder_mode: None, owner: None, ..lying() };
        assert_eq!(levels(&absent), [("file".to_owned(), Level::Ok), ("room".to_owned(), Level::Ok)]);
    }
}
