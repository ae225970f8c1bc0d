//! Where what is configured comes from: files in their order, what named the database, adapters, folders, the program.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::finding::{Finding, Level};
use crate::adapter::Library;
use crate::cli::source::source_choice::SourceChoice;
use crate::config::mask_secrets;
use crate::domain::text::Clean;
use crate::store::survey::NAMING;

const SECTION: &str = "config";

/// Variables that say more of a database that is named.
const MORE: [&str; 5] = ["PGPORT", "PGUSER", "PGSSLMODE", "PGSERVICEFILE", "PGTARGETSESSIONATTRS"];

fn finding(about: &str, level: Level, fact: impl Into<String>) -> Finding {
    Finding::new(SECTION, about, level, fact)
}

/// What is found of the config; `broken` is why it cannot be read, where that is so.
pub fn findings(session: &SourceChoice, broken: Option<&anyhow::Error>, library: &Library) -> Vec<Finding> {
    let version =
        format!("dlq-tui {} on {} {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    let mut all = vec![finding("program", Level::Ok, version)];
    if let Some(error) = broken {
        all.push(
            finding("files", Level::Fail, mask_secrets(&format!("{error:#}")))
                .publicly("a file of the config cannot be read, or is wrong")
                .advising("every other command refuses to start until it is fixed"),
        );
    }
    let files = session.paths.config_files().iter();
    all.extend(files.map(|path| file(path, session.paths.config_is_named())));
    all.extend(session.config.warnings.iter().map(|warning| warned(warning)));
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    all.push(named(session, &set));
    all.extend(adapters(session.paths.adapters(), library));
    let folders = format!("state {}, adapters {}", session.paths.state().display(), session.paths.adapters().display());
    all.push(finding("folders", Level::Ok, folders));
    all
}

fn file(path: &Path, is_named: bool) -> Finding {
    let by = if is_named { ", named by DLQ_TUI_CONFIG" } else { "" };
    match std::fs::metadata(path) {
        Ok(meta) => finding("file", Level::Ok, format!("{}{by}: mode {:04o}", path.display(), meta.mode() & 0o7777)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            finding("file", Level::Ok, format!("{}{by}: not there", path.display()))
        }
        Err(e) => finding("file", Level::Fail, format!("{}{by}: {e}", path.display())),
    }
}

fn warned(warning: &str) -> Finding {
    match warning.rsplit_once(": ") {
        Some((fact, advice)) => finding("file", Level::Warn, fact).advising(advice),
        None => finding("file", Level::Warn, warning),
    }
}

/// What says which database: the command line, the environment, the config, in this order.
fn named(session: &SourceChoice, set: &dyn Fn(&str) -> bool) -> Finding {
    let variables: Vec<&str> = NAMING.into_iter().chain(MORE).filter(|name| set(name)).collect();
    let environment = NAMING.iter().any(|name| set(name));
    let configured = session.config.sources.len();
    let beside = |what: &str| match configured {
        0 => what.to_owned(),
        1 => format!("{what}; the source of the config is not asked"),
        n => format!("{what}; the {n} sources of the config are not asked"),
    };
    let fact = match (&session.connect.url, &session.connect.source, environment) {
        (Some(_), ..) => beside("--url"),
        (None, Some(name), _) => format!("--source {}", Clean::line(name)),
        (None, None, true) => beside(&variables.join(", ")),
        (None, None, false) => match (&session.config.default_source, configured) {
            (Some(name), _) => format!("default_source = {}", Clean::line(name)),
            (None, 1) => "the only source of the config".to_owned(),
            (None, 0) => "nothing names one".to_owned(),
            (None, n) => format!("nothing chooses among the {n} sources of the config"),
        },
    };
    finding("database named by", Level::Ok, fact)
}

fn adapters(folder: &Path, library: &Library) -> Vec<Finding> {
    let own: Vec<&str> = library.adapters.iter().filter(|a| a.origin.is_some()).map(|a| a.name.as_str()).collect();
    let built_in = library.adapters.len() - own.len();
    let theirs = match own.as_slice() {
        [] => "none of your own".to_owned(),
        own => format!("{} of your own: {}", own.len(), Clean::line(&own.join(", "))),
    };
    let mut all = vec![finding("adapters", Level::Ok, format!("{built_in} that come with the program, {theirs}"))];
    let faults = library.faults.iter().map(|fault| {
        finding("adapters", Level::Fail, format!("left out: {}", Clean::line(&fault.to_string()))).advising(format!(
            "`dlq-tui adapters check FILE` says more; what is in {} is read at every start",
            folder.display()
        ))
    });
    all.extend(faults);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::Connect;
    use crate::config::Config;

    fn session(connect: Connect, config: &str) -> SourceChoice {
        let config = Config::parse(config).expect("a config");
        SourceChoice { config, ..SourceChoice::without_config(connect, "doctor") }
    }

    #[test]
    fn the_first_that_names_a_database_is_told_and_what_it_hides() {
        const ONE: &str = "[sources.a]\nurl = \"sqlite:x\"\n";
        let none = |_: &str| false;
        let database_url = |name: &str| name == "DATABASE_URL";
        let fact =
            |connect: Connect, config: &str, set: &dyn Fn(&str) -> bool| named(&session(connect, config), set).fact;
        let url = Connect { url: Some("postgres://x/y".into()), ..Connect::default() };
        assert_eq!(fact(url, ONE, &database_url), "--url; the source of the config is not asked");
        let source = Connect { source: Some("a".into()), ..Connect::default() };
        assert_eq!(fact(source, ONE, &database_url), "--source a");
        assert_eq!(fact(Connect::default(), ONE, &database_url), "DATABASE_URL; the source of the config is not asked");
        assert_eq!(fact(Connect::default(), ONE, &none), "the only source of the config");
        assert_eq!(fact(Connect::default(), "", &none), "nothing names one");
        assert_eq!(fact(Connect::default(), "", &|name| name == "PGPORT"), "nothing names one");
        let two = format!("{ONE}[sources.b]\nurl = \"sqlite:y\"\n");
        assert!(fact(Connect::default(), &two, &none).contains("the 2 sources"));
        assert_eq!(fact(Connect::default(), &format!("default_source = \"b\"\n{two}"), &none), "default_source = b");
    }

    #[test]
    fn a_loose_file_and_one_that_cannot_be_used_are_told_with_what_to_do() {
        let loose = warned("/c.toml holds a password and others can read it: chmod 600 /c.toml");
        assert_eq!((loose.level, loose.advice.as_deref()), (Level::Warn, Some("chmod 600 /c.toml")));
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("bad.toml"), "titel = 1").expect("a file");
        let told = adapters(folder.path(), &Library::load(Some(folder.path())));
        assert!(told.len() == 2 && told[1].level == Level::Fail && told[1].fact.contains("bad.toml"), "{told:?}");
        assert_eq!(file(&folder.path().join("none"), false).level, Level::Ok);
    }
}
