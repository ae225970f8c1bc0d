//! The versions of databases that the tests run on: `tests/versions/servers.tsv` lists them, the docs name them, and the
//! servers are asked.

use std::fmt::Write as _;

use crate::harness::{self, TestDb};

/// A line of `servers.tsv`.
struct Listed {
    /// What `tests/versions/run` calls it.
    name: &'static str,
    database: &'static str,
    /// What the server's own version begins with.
    version: &'static str,
    /// Where its programs come from.
    source: &'static str,
    /// Which tests run on it: `all`, `part`, or `own` ones.
    tests: &'static str,
}

fn listed() -> Vec<Listed> {
    let field = |fields: &mut std::str::Split<'static, char>| fields.next().expect("five fields");
    let line = |line: &'static str| {
        let mut fields = line.split('\t');
        let [name, database, version, source, tests] = std::array::from_fn(|_| field(&mut fields));
        Listed { name, database, version, source, tests }
    };
    include_str!("../versions/servers.tsv").lines().map(line).collect()
}

/// `PostgreSQL 13, 14 and 15, SQLite 3.51`: the versions of each database by their first numbers.
fn in_one_sentence(servers: &[Listed]) -> String {
    let mut databases: Vec<(&str, Vec<&str>)> = Vec::new();
    for server in servers {
        let label = server.name.split_once('-').map_or("", |(_, version)| version);
        match databases.last_mut() {
            Some((database, versions)) if *database == server.database => versions.push(label),
            _ => databases.push((server.database, vec![label])),
        }
    }
    let joined = |words: &[String]| match words {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    };
    let named = databases.iter().map(|(database, versions)| {
        let versions: Vec<String> = versions.iter().map(|&version| version.to_owned()).collect();
        format!("{database} {}", joined(&versions)).trim_end().to_owned()
    });
    joined(&named.collect::<Vec<_>>())
}

fn table(servers: &[Listed]) -> String {
    let mut table = "| database | version | programs from | tests |\n|---|---|---|---|\n".to_owned();
    for Listed { database, version, source, tests, .. } in servers {
        let tests = match *tests {
            "all" => "all",
            "part" => "the database's own",
            _ => "a story",
        };
        writeln!(table, "| {database} | {version} | {source} | {tests} |").expect("a line");
    }
    table
}

/// The document with what stands between the two marks replaced.
fn with_block(document: &str, block: &str) -> String {
    let (open, close) = ("<!-- versions -->\n", "<!-- end of versions -->\n");
    let (before, rest) = document.split_once(open).expect("the mark at the start");
    let (_, after) = rest.split_once(close).expect("the mark at the end");
    format!("{before}{open}{block}{close}{after}")
}

#[test]
fn the_references_name_the_servers_of_the_tests() {
    let servers = listed();
    let sentence = format!("Tested on {}: [docs/versions.md](docs/versions.md).\n", in_one_sentence(&servers));
    for (path, block) in [("README.md", sentence), ("docs/versions.md", table(&servers))] {
        let full = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
        let kept = std::fs::read_to_string(&full).expect("a document");
        let renewed = with_block(&kept, &block);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&full, &renewed).expect("a file");
        } else {
            assert!(kept == renewed, "{path} is stale: `UPDATE_DOCS=1 cargo test --test it references` renews it");
        }
    }
}

/// What a server calls itself, and its version.
async fn version(db: &TestDb) -> (String, String) {
    let sql = match db.engine {
        harness::Engine::Postgres => "select version()",
        harness::Engine::Mysql => "select concat(version(), ' ', @@version_comment)",
        harness::Engine::Sqlite => "select sqlite_version()",
    };
    let said = db.scalar(sql).await;
    match db.engine {
        harness::Engine::Postgres => {
            let mut words = said.split(' ');
            (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned())
        }
        harness::Engine::Mysql if said.contains("MariaDB") => ("MariaDB".to_owned(), said),
        harness::Engine::Mysql => ("MySQL".to_owned(), said),
        harness::Engine::Sqlite => ("SQLite".to_owned(), said),
    }
}

/// Whether a version begins with these numbers: 13.2 is not 13.23.
fn begins_with(version: &str, numbers: &str) -> bool {
    version.strip_prefix(numbers).is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
}

#[tokio::test]
async fn the_server_is_the_one_that_the_table_names() {
    // Without the variable the server is the developer's own, of any version.
    let name = std::env::var("DLQ_TEST_VERSION").unwrap_or_else(|_| "sqlite".to_owned());
    let servers = listed();
    let server = servers.iter().find(|server| server.name == name).unwrap_or_else(|| panic!("no {name} in the table"));
    let db = match server.database {
        "SQLite" => harness::sqlite("version").await,
        "PostgreSQL" => harness::postgres().expect("a PostgreSQL").database("version").await,
        _ => harness::mariadb().expect("a MariaDB or MySQL").database("version").await,
    };
    let (database, version) = version(&db).await;
    assert_eq!(database, server.database);
    assert!(begins_with(&version, server.version), "the table says {}, and the server {version}", server.version);
}

#[test]
fn numbers_of_versions_are_compared_as_a_whole() {
    assert!(begins_with("13.23", "13.23") && begins_with("15.18 (Debian)", "15"));
    assert!(!begins_with("13.23", "13.2") && !begins_with("150.1", "15"));
}
