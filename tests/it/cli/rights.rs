//! A role that may read and not write.

use super::User;
use crate::fixtures::Layout;
use crate::harness::{self, Engine, PASSWORD};

#[tokio::test]
async fn a_role_without_the_right_is_refused_by_every_verb_alike_and_its_run_can_be_resumed() {
    for server in [harness::postgres(), harness::mariadb()].into_iter().flatten() {
        let mut db = server.database("viewer").await;
        Layout::JobsDlq.seed(&db, 20).await;
        let role = format!("view_{}", db.name());
        let (make, allow, scheme) = match db.engine {
            Engine::Postgres => (
                format!("create role {role} login; grant select on all tables in schema public to {role}"),
                format!(
                    "grant all on all tables in schema public to {role}; grant all on all sequences in schema public to \
                     {role}; grant create on schema public to {role}"
                ),
                "postgres",
            ),
            _ => (
                format!(
                    "create user {role}@'%' identified by '{PASSWORD}'; grant select on {}.* to {role}@'%'",
                    db.name()
                ),
                format!("grant all on {}.* to {role}@'%'", db.name()),
                "mysql",
            ),
        };
        db.execute(&make).await;
        let owner = db.url.clone();
        let (_, place) = owner.rsplit_once('@').expect("a user");
        db.url = format!("{scheme}://{role}:{PASSWORD}@{place}");
        for verb in [&["archive"][..], &["replay"], &["purge", "--state", "dead", "--older-than", "1s"], &["discard"]] {
            let user = User::of(&db);
            let everything = if verb[0] == "purge" { &[][..] } else { &["--all"] };
            let args = [verb, everything, &["--yes"]].concat();
            let ended = user.run(&args);
            let name = format!("{} on {}: {}{}", verb[0], db.engine.name(), ended.out, ended.err);
            assert_eq!(ended.code, 4, "{name}");
            assert!(ended.err.contains("denied"), "{name}");
            assert_eq!(db.count("jobs_dlq").await, 20, "{name}");
            let run = user.json(&["runs", "-o", "json"])["runs"][0].clone();
            assert_eq!(
                (run["state"].as_str(), run["not_started"].as_u64()),
                (Some("stopped"), Some(20)),
                "{name}: {run}"
            );
            // Who was given the right in the meantime goes on with the same run.
            if verb[0] == "discard" {
                let viewer = std::mem::replace(&mut db.url, owner.clone());
                db.execute(&allow).await;
                let resumed = user.run(&["resume", run["run"].as_str().expect("a run"), "--yes"]);
                assert_eq!((resumed.code, db.count("jobs_dlq").await), (0, 0), "{}", resumed.err);
                db.url = viewer;
                break;
            }
        }
    }
}
