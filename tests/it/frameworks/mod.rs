//! The real thing: workers of real frameworks run jobs until they are dead, and run them again when they were put back.
//!
//! What differs between frameworks stands in `tests/frameworks/<name>`: a program of ours with the same verbs for each, and a
//! `framework.toml` that says what is dead in plain SQL. Nothing of the console is asked there, and nothing here knows one of
//! them. `scripts/test --frameworks` turns these tests on (it sets `DLQ_TEST_FRAMEWORKS=1`); one of them alone is
//! `scripts/test --frameworks -- --test it frameworks::pg_boss`.

mod followed;
mod rows;
pub mod shop;
mod story;

use std::collections::BTreeSet;

use crate::harness::Engine;
use shop::{Framework, Marked, Shop, World};

/// Frameworks whose adapter comes with the console, by the names of their folders: what the console makes of their dead
/// jobs is tested too.
const STANDING: &[&str] =
    &["delayed_job", "graphile-worker", "laravel", "oban-py", "pg-boss", "pg-boss-10", "procrastinate"];

/// Makes the tests of each framework.
macro_rules! frameworks {
    ($($module:ident: $name:literal on $($engine:ident)+;)+) => {
        const FRAMEWORKS: &[(&str, &[Engine])] = &[$(($name, &[$(Engine::$engine),+])),+];

        $(mod $module {
            use crate::harness::Engine::*;

            #[tokio::test]
            async fn its_workers_give_jobs_up_and_run_them_after_its_own_retry() {
                for engine in [$($engine),+] {
                    super::dies_and_comes_back($name, engine).await;
                }
            }

            #[tokio::test]
            async fn what_it_gave_up_is_found_replayed_run_and_found_again() {
                for engine in [$($engine),+] {
                    super::story::told($name, engine).await;
                }
            }

            #[tokio::test]
            async fn a_replay_leaves_the_rows_that_its_own_retry_leaves() {
                for engine in [$($engine),+] {
                    super::story::same_rows($name, engine).await;
                }
            }

            #[tokio::test]
            async fn what_was_dead_for_long_is_run_and_not_swept_away() {
                for engine in [$($engine),+] {
                    super::story::kept($name, engine).await;
                }
            }

            #[tokio::test]
            async fn a_job_whose_twin_waits_already_costs_no_other_job_its_replay() {
                for engine in [$($engine),+] {
                    super::story::clashes($name, engine).await;
                }
            }
        })+
    };
}

frameworks! {
    graphile_worker: "graphile-worker" on Postgres;
    pg_boss: "pg-boss" on Postgres;
    pg_boss_10: "pg-boss-10" on Postgres;
    procrastinate: "procrastinate" on Postgres;
    oban_py: "oban-py" on Postgres;
    delayed_job: "delayed_job" on Postgres Mysql;
    laravel: "laravel" on Postgres Mysql Sqlite;
}

/// A shop on this framework with an empty database, or nothing where these tests are switched off.
async fn open(name: &str, engine: Engine, purpose: &str) -> Option<Shop> {
    let framework = Framework::installed(name)?;
    Shop::open(framework, engine, purpose).await
}

/// The tests below rest on this: the programs do what they say, and the SQL of `framework.toml` tells who is dead.
async fn dies_and_comes_back(name: &str, engine: Engine) {
    let Some(shop) = open(name, engine, "dies").await else { return };
    let jobs = shop.one_of_each("first");
    shop.enqueue(&jobs).await;
    assert!(shop.dead().await.is_empty(), "{shop}: dead before anybody worked");

    let ran = shop.work(World::Broken).await;
    assert_eq!(ran.markers(), jobs.markers(), "{shop}");
    assert!(ran.iter().all(|one| !one.ok), "{shop}: {ran:?}");
    let dead = shop.dead().await;
    assert_eq!(dead.len(), jobs.len(), "{shop}: {:?}", dead.markers());
    assert!(dead.markers().is_subset(&jobs.markers()), "{shop}");
    assert!(shop.work(World::Mended).await.is_empty(), "{shop}: a worker took dead jobs");

    let before = shop.rows().await;
    shop.retry(&dead).await;
    assert!(!shop.rows().await.since(&before, &[]).is_empty(), "{shop}: its retry changed nothing");
    assert!(shop.dead().await.is_empty(), "{shop}: dead after its own retry");
    let ran = shop.work(World::Mended).await;
    assert_eq!(ran.len(), jobs.len(), "{shop}: {ran:?}");
    assert_eq!((ran.markers(), ran.iter().all(|one| one.ok)), (jobs.markers(), true), "{shop}");
    assert!(shop.dead().await.is_empty(), "{shop}");
}

#[test]
fn each_framework_with_a_folder_is_tested_on_the_engines_that_its_file_names() {
    let folder = shop::folder();
    let entries = std::fs::read_dir(&folder).expect("the folder of the frameworks").flatten();
    let named = entries.filter(|entry| entry.path().join("framework.toml").is_file());
    let named: BTreeSet<String> = named.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(named, FRAMEWORKS.iter().map(|(name, _)| (*name).to_owned()).collect());
    for (name, engines) in FRAMEWORKS {
        let engines: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
        assert_eq!(Framework::read(name).engines, engines, "{name}");
    }
    assert!(STANDING.iter().all(|name| named.contains(*name)), "{STANDING:?}");
}
