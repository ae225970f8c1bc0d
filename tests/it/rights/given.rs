//! Rights that a role has in other ways than by a grant of its own: none of them is missing.

use dlq_tui::domain::action::Action;

use super::clerk::{Clerk, refusal};
use crate::fixtures::Layout;
use crate::harness::{self, TestDb};
use crate::plans::layouts::{CASES, Case};
use crate::pty::Pty;

fn jobs_dlq() -> &'static Case {
    CASES.iter().find(|case| case.name == "jobs_dlq").expect("a case")
}

async fn seeded(server: Option<&'static harness::Server>, name: &str) -> Option<TestDb> {
    let db = server?.database(name).await;
    Layout::JobsDlq.seed(&db, 20).await;
    Some(db)
}

async fn may(clerk: &Clerk<'_>, action: Action) -> Result<(), String> {
    let store = clerk.open(jobs_dlq(), false).await?;
    refusal(&store, action).map_or(Ok(()), Err)
}

#[tokio::test]
async fn a_right_may_come_from_everybodys_a_roles_a_columns_or_none_at_all_on_postgresql() {
    let Some(db) = seeded(harness::postgres(), "given").await else { return };
    let Some(clerk) = Clerk::hired(&db).await else { return };
    let name = clerk.name.clone();
    let why = may(&clerk, Action::Discard).await.expect_err("it may not even look");
    assert!(why.contains(&format!("GRANT SELECT ON public.jobs_dlq TO {name}")), "{why}");
    db.execute("grant select on jobs_dlq, jobs to public").await;
    let why = may(&clerk, Action::Discard).await.expect_err("it may look");
    let expected = format!(
        "the role {name} may not DELETE, UPDATE public.jobs_dlq: GRANT DELETE, UPDATE ON public.jobs_dlq TO {name}"
    );
    assert_eq!(why, expected);
    // A row can be held by the right to change any column of it.
    db.execute(&format!("grant delete on jobs_dlq to public; grant update (attempts) on jobs_dlq to {name}")).await;
    assert_eq!(may(&clerk, Action::Discard).await, Ok(()));
    let why = may(&clerk, Action::Replay).await.expect_err("it may not insert");
    assert!(why.contains("may not INSERT public.jobs, nor use the sequence"), "{why}");
    // Those columns alone that a replay writes; and the sequence through another role.
    db.execute(&format!(
        "grant insert (payload, attempts, run_after) on jobs to {name}; create role {name}_all; grant {name}_all to {name}; \
         grant usage on all sequences in schema public to {name}_all"
    ))
    .await;
    assert_eq!(may(&clerk, Action::Replay).await, Ok(()));
    // A role that does not inherit has to be asked to be another one: the right is not there. From PostgreSQL 16 on that is a
    // matter of each membership, as the role was when it became a member.
    let member_again = format!("revoke {name}_all from {name}; grant {name}_all to {name}");
    db.execute(&format!("alter role {name} noinherit; {member_again}")).await;
    assert!(may(&clerk, Action::Replay).await.expect_err("a right").contains("use the sequence"));
    db.execute(&format!(
        "alter role {name} inherit; {member_again}; revoke all on all tables in schema public from {name}, public"
    ))
    .await;
    assert!(may(&clerk, Action::Discard).await.is_err());
    // The owner needs no grant, and a role that it is in neither; and whoever may do anything.
    db.execute(&format!("alter table jobs_dlq owner to {name}_all")).await;
    assert_eq!(may(&clerk, Action::Discard).await, Ok(()));
    db.execute(&format!("alter table jobs_dlq owner to current_user; alter role {name} superuser")).await;
    assert_eq!(may(&clerk, Action::Replay).await, Ok(()));
    assert_eq!(may(&clerk, Action::Archive).await, Ok(()));
    db.execute(&format!("alter role {name} nosuperuser; drop owned by {name}_all; drop role {name}_all")).await;
    clerk.leave().await;
}

/// A role with every right to the tables, and none to their schema.
async fn shut_out(db: &TestDb) -> Option<Clerk<'_>> {
    let clerk = Clerk::hired(db).await?;
    let grant = format!("grant all on all tables in schema public to {}", clerk.name);
    db.execute(&format!("{grant}; revoke all on schema public from public")).await;
    Some(clerk)
}

#[tokio::test]
async fn a_schema_that_may_not_be_named_is_named_first() {
    let Some(db) = seeded(harness::postgres(), "schema").await else { return };
    let Some(clerk) = shut_out(&db).await else { return };
    let why = may(&clerk, Action::Discard).await.expect_err("it cannot be named");
    assert!(why.contains(&format!("GRANT USAGE ON SCHEMA public TO {}", clerk.name)), "{why}");
    db.execute(&format!("grant usage on schema public to {}", clerk.name)).await;
    assert_eq!(may(&clerk, Action::Discard).await, Ok(()));
    let why = may(&clerk, Action::Archive).await.expect_err("it makes a table there");
    assert!(why.contains(&format!("GRANT CREATE ON SCHEMA public TO {}", clerk.name)), "{why}");
    clerk.leave().await;
}

#[tokio::test]
async fn a_right_that_is_given_under_an_open_console_opens_the_store() {
    let Some(db) = seeded(harness::postgres(), "given later").await else { return };
    let Some(clerk) = shut_out(&db).await else { return };
    let mut pty = Pty::console(&[]).env("DATABASE_URL", &clerk.url).size(140, 45).start();
    pty.wait("why it cannot be opened", |screen| {
        screen.contains("may not use the schema") && screen.contains("retry in") && !screen.contains("connected again")
    });
    // What one try finds gone is looked for again by the next.
    db.execute("alter table jobs_dlq rename to away").await;
    pty.wait_for_text("there is no store");
    db.execute(&format!("alter table away rename to jobs_dlq; grant usage on schema public to {}", clerk.name)).await;
    pty.wait("that it is open", |screen| screen.contains("● live") && screen.contains("time UTC"));
    pty.send("q");
    assert!(pty.wait_for_exit().success());
    clerk.leave().await;
}

#[tokio::test]
async fn a_right_may_come_from_a_database_a_pattern_a_role_or_everybodys_on_mariadb() {
    let Some(db) = seeded(harness::mariadb(), "given").await else { return };
    // MySQL reads one grant on databases only: findings/mysql-pattern-grant-hides-another.sh.
    if !db.scalar("select version()").await.contains("MariaDB") {
        return;
    }
    let Some(clerk) = Clerk::hired(&db).await else { return };
    let (user, place) = (clerk.name.trim_end_matches("@%").to_owned(), db.name().to_owned());
    db.execute(&format!("grant select on {place}.* to {user}@'%'")).await;
    let why = may(&clerk, Action::Discard).await.expect_err("it may look");
    assert_eq!(
        why,
        format!("the role {user}@% may not DELETE {place}.jobs_dlq: GRANT DELETE ON {place}.jobs_dlq TO '{user}'@'%'")
    );
    // By a pattern of databases.
    let pattern = format!("{}%", place.replace('_', "\\_"));
    db.execute(&format!("grant delete on `{pattern}`.* to {user}@'%'")).await;
    assert_eq!(may(&clerk, Action::Discard).await, Ok(()));
    db.execute(&format!("revoke delete on `{pattern}`.* from {user}@'%'")).await;
    assert!(may(&clerk, Action::Discard).await.is_err());
    // By a role that is on from the beginning, and one within that.
    db.execute(&format!(
        "create role {user}_in; create role {user}_out; grant delete, insert on {place}.* to {user}_in; \
         grant {user}_in to {user}_out; grant {user}_out to {user}@'%'; set default role {user}_out for {user}@'%'"
    ))
    .await;
    assert_eq!((may(&clerk, Action::Discard).await, may(&clerk, Action::Replay).await), (Ok(()), Ok(())));
    db.execute(&format!("drop role {user}_in; drop role {user}_out")).await;
    assert!(may(&clerk, Action::Discard).await.is_err());
    // Everywhere, and everybody's.
    db.execute(&format!("grant delete on *.* to {user}@'%'")).await;
    assert_eq!(may(&clerk, Action::Discard).await, Ok(()));
    db.execute(&format!("revoke delete on *.* from {user}@'%'")).await;
    if db.try_execute(&format!("grant delete on {place}.jobs_dlq to public")).await.is_ok() {
        assert_eq!(may(&clerk, Action::Discard).await, Ok(()));
        db.execute(&format!("revoke delete on {place}.jobs_dlq from public")).await;
    }
    // Columns of their own.
    db.execute(&format!(
        "grant delete on {place}.jobs_dlq to {user}@'%'; grant insert (payload, attempts) on {place}.jobs to {user}@'%'"
    ))
    .await;
    let why = may(&clerk, Action::Replay).await.expect_err("one column is left");
    assert!(why.contains("GRANT INSERT ON"), "{why}");
    db.execute(&format!("grant insert (run_after) on {place}.jobs to {user}@'%'")).await;
    assert_eq!(may(&clerk, Action::Replay).await, Ok(()));
}
