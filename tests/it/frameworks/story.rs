//! What the console makes of jobs that a real worker gave up: through the shipped binary, with the adapter that it finds by
//! itself.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::rows::Changes;
use super::shop::{Framework, Job, Marked, Ran, Shop, World, marker_in};
use super::{STANDING, open};
use crate::cli::User;
use crate::harness::Engine;

/// A shop on a framework whose adapter stands, or is being written.
async fn standing(name: &str, engine: Engine, purpose: &str) -> Option<Shop> {
    if STANDING.contains(&name) || draft(name).is_some() { open(name, engine, purpose).await } else { None }
}

/// The adapter file `<name>.toml` in the folder that `DLQ_TEST_ADAPTERS` names: how an adapter is tried while it is written.
fn draft(name: &str) -> Option<PathBuf> {
    let file = PathBuf::from(std::env::var_os("DLQ_TEST_ADAPTERS")?).join(format!("{name}.toml"));
    file.is_file().then_some(file)
}

/// An operator of a shop; with the draft, where there is one.
fn operator(shop: &Shop) -> User {
    let user = User::of(&shop.db);
    match draft(shop.framework.name()) {
        Some(file) => user.with_adapter(&file),
        None => user,
    }
}

/// Dead, found, replayed, run; dead, replayed, dead again, found again, replayed, run.
pub async fn told(name: &str, engine: Engine) {
    let Some(shop) = standing(name, engine, "story").await else { return };
    let user = operator(&shop);
    let first = shop.one_of_each("first");
    let said = dies(&shop, &first).await;
    // One that is alive: nobody may find it, and it runs once like the others.
    let alive = vec![Job { kind: "plain".to_owned(), marker: "mk-alive-plain-end".to_owned() }];
    shop.enqueue(&alive).await;
    finds(&shop, &user, &first, &said);
    replays(&shop, &user, &first).await;
    let left = left_out(&shop, &first);
    succeeds(&shop, &[went_back(&shop, &first), alive].concat()).await;
    assert_eq!(shop.dead().await.len(), left, "{shop}");

    let second = shop.one_of_each("second");
    dies(&shop, &second).await;
    if left > 0 {
        // What stays dead for good would be in the way of what follows.
        user.run(&["discard", "--all", "--yes"]).with(0);
        return;
    }
    replays(&shop, &user, &second).await;
    let said = fails(&shop, &second).await;
    finds(&shop, &user, &second, &said);
    replays(&shop, &user, &second).await;
    succeeds(&shop, &second).await;
    assert!(shop.dead().await.is_empty(), "{shop}");
    assert_eq!(listed(&user).len(), 0, "{shop}");
}

/// The framework's own retry on one copy of the database, ours on the other: the same cells change, to the same values.
pub async fn same_rows(name: &str, engine: Engine) {
    let Some(shop) = standing(name, engine, "rows").await else { return };
    let jobs = shop.one_of_each("rows");
    dies(&shop, &jobs).await;
    let jobs: Vec<_> = shop.dead().await;
    let (ours, before) = (shop.twin().await, shop.rows().await);
    assert_eq!(ours.rows().await, before, "{shop}: the copy is not one");
    if engine == Engine::Mysql {
        // Times have whole seconds there: of one within the second of the death nobody could tell that it was set anew.
        tokio::time::sleep(Duration::from_millis(1_100)).await;
    }
    shop.retry(&jobs).await;
    operator(&ours).run(&["replay", "--all", "--yes"]).with(0);
    let on_purpose: Vec<&str> = shop.framework.differs.keys().map(String::as_str).collect();
    let told =
        differences(&shop.rows().await.since(&before, &on_purpose), &ours.rows().await.since(&before, &on_purpose));
    assert!(told.is_empty(), "{shop}: its own retry and ours differ in\n{}", told.join("\n"));
}

/// Of each kind that may wait but once, a dead job and one that waits: the dead one stays, all others go back; and it goes
/// back too, once the other has run.
pub async fn clashes(name: &str, engine: Engine) {
    if Framework::read(name).clashes.is_empty() {
        return;
    }
    let Some(shop) = standing(name, engine, "clash").await else { return };
    let user = operator(&shop);
    let jobs = shop.one_of_each("first");
    dies(&shop, &jobs).await;
    let is_kept_out = |job: &Job| shop.framework.clashes.contains(&job.kind);
    let (kept_out, others): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(is_kept_out);
    let twins: Vec<Job> = shop.one_of_each("twin").into_iter().filter(is_kept_out).collect();
    shop.enqueue(&twins).await;

    let ended = user.run(&["replay", "--all", "--yes", "-o", "json"]);
    // Refused in the plan, which then has no part in the run, or by the database.
    assert!([0, 3].contains(&ended.code), "{shop}: {}", ended.err);
    let receipt: Value = serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{shop}: {e}: {}", ended.out));
    assert_eq!(receipt["done"].as_u64(), Some(others.len() as u64), "{shop}: {receipt}");
    assert_eq!(shop.dead().await.markers(), kept_out.markers(), "{shop}");
    succeeds(&shop, &[others, twins].concat()).await;

    user.run(&["replay", "--all", "--yes"]).with(0);
    succeeds(&shop, &kept_out).await;
}

/// What was dead for long and is put back is run, and not swept away by the framework's maintenance before.
pub async fn kept(name: &str, engine: Engine) {
    let Some(ages) = Framework::read(name).ages else { return };
    let Some(shop) = standing(name, engine, "kept").await else { return };
    let jobs = shop.one_of_each("old");
    dies(&shop, &jobs).await;
    shop.db.execute(&ages).await;
    replays(&shop, &operator(&shop), &jobs).await;
    shop.maintain().await;
    succeeds(&shop, &jobs).await;
}

/// Puts jobs in, and lets the worker give them up.
async fn dies(shop: &Shop, jobs: &[Job]) -> BTreeMap<String, Ran> {
    shop.enqueue(jobs).await;
    fails(shop, jobs).await
}

/// Lets the worker fail until the jobs are dead; says the last thing that it said of each.
async fn fails(shop: &Shop, jobs: &[Job]) -> BTreeMap<String, Ran> {
    let ran = shop.work(World::Broken).await;
    assert_eq!(ran.markers(), jobs.markers(), "{shop}");
    assert_eq!(shop.dead().await.len(), jobs.len(), "{shop}");
    ran.into_iter().map(|one| (one.marker.clone(), one)).collect()
}

/// The worker runs just these jobs, each once and well.
async fn succeeds(shop: &Shop, jobs: &[Job]) {
    let ran = shop.work(World::Mended).await;
    let mut markers: Vec<&str> = ran.iter().map(|one| one.marker.as_str()).collect();
    let mut wanted: Vec<&str> = jobs.iter().map(|one| one.marker.as_str()).collect();
    markers.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(markers, wanted, "{shop}");
    assert!(ran.iter().all(|one| one.ok), "{shop}: {ran:?}");
}

fn went_back(shop: &Shop, jobs: &[Job]) -> Vec<Job> {
    jobs.iter().filter(|job| !shop.framework.refused.contains(&job.kind)).cloned().collect()
}

fn left_out(shop: &Shop, jobs: &[Job]) -> usize {
    jobs.len() - went_back(shop, jobs).len()
}

fn listed(user: &User) -> Vec<Value> {
    let list = user.json(&["list", "--limit", "0", "-f", "state:dead", "-o", "json"]);
    list["jobs"].as_array().expect("jobs").clone()
}

/// One store is detected; it lists just the dead, and shows of each what the worker threw.
fn finds(shop: &Shop, user: &User, jobs: &[Job], said: &BTreeMap<String, Ran>) {
    let sources = user.json(&["sources", "-o", "json"]);
    let stores = sources["sources"][0]["stores"].as_array().expect("stores").len();
    assert_eq!(stores, 1, "{shop}: {sources}");
    let listed = listed(user);
    assert_eq!(listed.len(), jobs.len(), "{shop}: {listed:?}");
    let keeps = &shop.framework.keeps;
    let mut known = 0;
    for row in &listed {
        let id = row["id"].as_str().expect("an id");
        let shown = user.json(&["show", id, "-o", "json"]);
        // By its arguments: a message may name the job too, and is what is compared.
        let Some(marker) = marker_in(&shown["arguments"].to_string()) else { continue };
        let said = said.get(&marker).unwrap_or_else(|| panic!("{shop}: {marker} is not dead"));
        known += 1;
        assert!(shown["class"].as_str().is_some_and(|class| !class.is_empty()), "{shop}: no class: {shown}");
        if keeps.odd.contains(&said.kind) {
            continue;
        }
        if keeps.class {
            assert_eq!(shown["error"].as_str(), said.class.as_deref(), "{shop}: {marker}");
        }
        if keeps.message {
            let message = shown["message"].as_str().unwrap_or_default();
            assert_eq!(message, said.message.as_deref().unwrap_or_default(), "{shop}: {marker}");
        }
    }
    assert!(known * 2 > listed.len(), "{shop}: the arguments of {known} jobs only are shown");
}

/// Replays all that is dead; what the adapter refuses stays.
async fn replays(shop: &Shop, user: &User, jobs: &[Job]) {
    let left = left_out(shop, jobs);
    let ended = user.run(&["replay", "--all", "--yes", "-o", "json"]);
    ended.with(if left == 0 { 0 } else { 3 });
    let receipt: Value = serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{shop}: {e}: {}", ended.out));
    assert_eq!(receipt["done"].as_u64(), Some((jobs.len() - left) as u64), "{shop}: {receipt}");
    assert_eq!(shop.dead().await.len(), left, "{shop}");
}

/// The longest value that is printed whole.
const LONG: usize = 1_000;

fn differences(theirs: &Changes, ours: &Changes) -> Vec<String> {
    let mut cells: Vec<&String> = theirs.keys().chain(ours.keys()).collect();
    cells.sort_unstable();
    cells.dedup();
    let is_other = |cell: &&String| theirs.get(*cell) != ours.get(*cell);
    let word = |changes: &Changes, cell: &str| {
        let missing = if cell.contains("[new]") { "none" } else { "as it was" };
        changes.get(cell).map_or(missing.to_owned(), |value| value.chars().take(LONG).collect())
    };
    cells
        .into_iter()
        .filter(is_other)
        .map(|cell| format!("  {cell}: {} / {}", word(theirs, cell), word(ours, cell)))
        .collect()
}
