//! The adapters at hand: those compiled in, and the operator's own, which win over them by name.

use std::path::Path;

use super::{Adapter, AdapterError};

/// The adapter files that are compiled in.
const BUILT_IN: [&str; 13] = [
    include_str!("../../assets/adapters/dead_letter_jobs.toml"),
    include_str!("../../assets/adapters/dlq_events.toml"),
    include_str!("../../assets/adapters/jobs_dlq.toml"),
    include_str!("../../assets/adapters/oban.toml"),
    include_str!("../../assets/adapters/river.toml"),
    include_str!("../../assets/adapters/good_job.toml"),
    include_str!("../../assets/adapters/solid_queue.toml"),
    include_str!("../../assets/adapters/que.toml"),
    include_str!("../../assets/adapters/graphile-worker.toml"),
    include_str!("../../assets/adapters/pg-boss.toml"),
    include_str!("../../assets/adapters/procrastinate.toml"),
    include_str!("../../assets/adapters/delayed_job.toml"),
    include_str!("../../assets/adapters/laravel.toml"),
];

/// The same for layouts in Redis.
#[cfg(feature = "redis")]
const REDIS: [&str; 7] = [
    include_str!("../../assets/adapters/redis/bullmq.toml"),
    include_str!("../../assets/adapters/redis/sidekiq.toml"),
    include_str!("../../assets/adapters/redis/rq.toml"),
    include_str!("../../assets/adapters/redis/dramatiq.toml"),
    include_str!("../../assets/adapters/redis/chasquimq.toml"),
    include_str!("../../assets/adapters/redis/asynq.toml"),
    include_str!("../../assets/adapters/redis/celery.toml"),
];
#[cfg(not(feature = "redis"))]
const REDIS: [&str; 0] = [];

/// What is known of them without reading them, a line each: the name, [`Adapter::tables`], and behind a bar
/// [`Adapter::other_tables`]. A test holds it against the files, and renews it with `DLQ_TUI_UPDATE_ASSETS=1`.
const INDEX: &str = include_str!("../../assets/adapters.index");

/// The notations that an adapter file may name instead of writing its own; each begins with its `name`.
pub(super) const NOTATIONS: [&str; 1] = [include_str!("../../assets/notations/activejob.toml")];

/// The adapters that are compiled in: those of databases, and those of layouts in Redis.
pub fn built_in() -> Vec<Adapter> {
    let mut all: Vec<Adapter> =
        BUILT_IN.into_iter().zip(INDEX.lines()).map(|(text, line)| Adapter::compiled_in(text, line)).collect();
    all.extend(REDIS.map(|text| Adapter::compiled_in_redis(name_of(text), text)));
    all
}

/// The name that a file begins with, below its comment.
fn name_of(text: &str) -> &str {
    let name = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    name.unwrap_or_default()
}

/// All adapters at hand, and what is wrong with those that cannot be used.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// The adapters, in the order in which they are tried: the operator's own first.
    pub adapters: Vec<Adapter>,
    /// Faults of files that were left out.
    pub faults: Vec<AdapterError>,
}

impl AsRef<[Adapter]> for Library {
    fn as_ref(&self) -> &[Adapter] {
        &self.adapters
    }
}

impl Library {
    /// The adapters compiled in, overridden by name by the `*.toml` files of a folder, which may be absent.
    pub fn load(folder: Option<&Path>) -> Self {
        let mut library = Library::default();
        if let Some(folder) = folder {
            library.read_folder(folder);
        }
        let theirs: Vec<Adapter> =
            built_in().into_iter().filter(|adapter| library.get(&adapter.name).is_none()).collect();
        library.adapters.extend(theirs);
        library
    }

    /// The adapter of that name.
    pub fn get(&self, name: &str) -> Option<&Adapter> {
        self.adapters.iter().find(|a| a.name == name)
    }

    /// Why what an adapter says of a table may not be what the operator wants said of it: a file that was left out names the
    /// adapter or the table, or cannot be read at all.
    pub fn invalid_file_for(&self, adapter: &str, table: &str) -> Option<String> {
        let fault = self.faults.iter().find(|fault| may_mean(fault.file.as_deref(), &[adapter, table]))?;
        Some(format!("an invalid adapter file may be meant for this table; fix it or move it away ({fault})"))
    }

    fn read_folder(&mut self, folder: &Path) {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return,
            Err(e) => return self.faults.push(unreadable(folder, &e)),
        };
        let mut paths: Vec<_> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
        paths.retain(|p| p.extension().is_some_and(|e| e == "toml"));
        paths.sort();
        for path in paths {
            let read = std::fs::read_to_string(&path).map_err(|e| unreadable(&path, &e));
            match read.and_then(|text| Adapter::parse(&text, Some(path.clone()))) {
                Ok(adapter) if self.get(&adapter.name).is_some() => self.faults.push(AdapterError {
                    file: Some(path),
                    line: None,
                    message: format!("another file of this folder already names an adapter {}", adapter.name),
                }),
                Ok(adapter) => self.adapters.push(adapter),
                Err(fault) => self.faults.push(fault),
            }
        }
    }
}

/// Whether a file has one of the words, as far as anybody can tell.
fn may_mean(file: Option<&Path>, names: &[&str]) -> bool {
    let text = file.and_then(|file| std::fs::read_to_string(file).ok());
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.is_none_or(|text| text.split(|c| !is_part(c)).any(|word| names.contains(&word)))
}

fn unreadable(path: &Path, error: &std::io::Error) -> AdapterError {
    AdapterError { file: Some(path.to_owned()), line: None, message: format!("cannot be read: {error}") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    #[cfg(feature = "redis")]
    use crate::domain::action::Action;

    /// What writes the index.
    const RENEW: &str = "DLQ_TUI_UPDATE_ASSETS=1 cargo test --lib library";

    #[test]
    fn every_file_of_the_folder_is_compiled_in_and_has_its_line() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/adapters");
        let known = built_in();
        let files = |folder: &Path| -> Vec<std::path::PathBuf> {
            let entries = std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("a file").path());
            entries.filter(|path| path.is_file()).collect()
        };
        for path in files(&folder).into_iter().chain(files(&folder.join("redis"))) {
            let (file, text) = (path.display(), std::fs::read_to_string(&path).expect("a text"));
            assert!(
                BUILT_IN.contains(&text.as_str()) || REDIS.contains(&text.as_str()),
                "{file}: name it in BUILT_IN or REDIS of src/adapter/library.rs, then run `{RENEW}`"
            );
            let name = Adapter::parse(&text, None).unwrap_or_else(|e| panic!("{file}: {e}")).name;
            let is_known = known.iter().any(|adapter| adapter.name == name);
            assert!(
                is_known,
                "{file}: the program does not know {name}: run `{RENEW}` and commit assets/adapters.index"
            );
        }
    }

    #[test]
    fn every_adapter_compiled_in_reads_and_speaks_for_all_databases_unless_it_names_some() {
        for text in BUILT_IN {
            let adapter = Adapter::parse(text, None).unwrap_or_else(|e| panic!("{e}"));
            let some = adapter.text.contains("\ndatabases = ");
            assert!(some || adapter.dialects().count() == 3, "{}", adapter.name);
            assert!(adapter.dialects().count() > 0, "{}", adapter.name);
        }
    }

    #[test]
    fn the_index_says_of_every_adapter_what_its_file_does() {
        let joined = |tables: &BTreeSet<String>| tables.iter().cloned().collect::<Vec<_>>().join(" ");
        let line = |text: &str| {
            let adapter = Adapter::parse(text, None).unwrap_or_else(|e| panic!("{e}"));
            let line = format!("{} {} | {}", adapter.name, joined(adapter.tables()), joined(adapter.other_tables()));
            format!("{}\n", line.trim_end_matches(" | "))
        };
        let fresh: String = BUILT_IN.into_iter().map(line).collect();
        if std::env::var_os("DLQ_TUI_UPDATE_ASSETS").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/adapters.index");
            std::fs::write(path, &fresh).unwrap_or_else(|e| panic!("{e}"));
        }
        assert_eq!(
            INDEX, fresh,
            "run `{RENEW}` and commit assets/adapters.index: adapters without their line are not known"
        );
        for (unread, text) in built_in().into_iter().zip(BUILT_IN) {
            let read = Adapter::parse(text, None).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(
                (&unread.name, unread.tables(), unread.other_tables()),
                (&read.name, read.tables(), read.other_tables())
            );
        }
    }

    #[test]
    fn a_notation_can_be_named_and_an_unknown_name_is_told_with_its_line() {
        let named: Vec<_> = BUILT_IN.into_iter().filter(|text| text.contains("\nnotation = ")).collect();
        assert!(!named.is_empty());
        for adapter in named.into_iter().map(|text| Adapter::parse(text, None).unwrap_or_else(|e| panic!("{e}"))) {
            let rules = adapter.spec("postgres").map_or(0, |s| s.notation.rules.len());
            assert!(rules > 5, "{}", adapter.name);
        }
        let unknown = BUILT_IN[2].replacen("\"activejob\"", "\"activejobs\"", 1);
        let fault = Adapter::parse(&unknown, None).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(fault.contains("line 8: there is no notation `activejobs`; known are activejob"), "{fault}");
    }

    #[test]
    fn every_adapter_can_archive_and_purge_and_an_archive_has_no_steps_of_its_own() {
        for adapter in built_in() {
            for dialect in adapter.dialects() {
                let verbs = adapter.spec(dialect).map(|spec| &spec.verbs);
                assert!(verbs.is_some_and(|v| v.archive.is_some() && v.purge.is_some()), "{} {dialect}", adapter.name);
            }
        }
        let own = BUILT_IN[2].replacen("[verbs.archive]\n", "[verbs.archive]\nsteps = [{ sql = \"SELECT 1\" }]\n", 1);
        let fault = Adapter::parse(&own, None).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(fault.contains("`verbs.archive` has no `steps`"), "{fault}");
    }

    #[test]
    fn every_adapter_reads_the_outcome_of_replayed_jobs_or_says_why_not() {
        for adapter in built_in() {
            for spec in adapter.dialects().flat_map(|dialect| adapter.variants(dialect)) {
                assert!(spec.outcome.is_some() || spec.replayed.unknown.is_some(), "{}: {}", adapter.name, spec.title);
                let words = spec.outcome.as_ref().map_or("retrying", |outcome| outcome.get_ref().as_str());
                assert!(words.contains("retrying"), "{}: {}: hides that a job failed", adapter.name, spec.title);
            }
        }
    }

    #[cfg(feature = "redis")]
    #[test]
    fn every_adapter_of_redis_reads_and_has_the_name_of_its_file() {
        for (text, adapter) in REDIS.into_iter().zip(built_in().into_iter().skip(BUILT_IN.len())) {
            let read = Adapter::parse(text, None).unwrap_or_else(|e| panic!("{}: {e}", name_of(text)));
            assert_eq!((&read.name, read.engines()), (&adapter.name, vec!["redis"]));
            assert!(adapter.redis().is_some_and(|spec| spec.verbs.get(Action::Discard).is_some()), "{}", read.name);
            assert_eq!(adapter.dialects().count(), 0);
        }
    }

    #[test]
    fn a_variant_says_what_differs_and_is_tried_before_the_rest_of_its_file() {
        let text = BUILT_IN[2].to_owned()
            + "\n[[variants]]\ndatabases = [\"postgres\"]\ntitle = \"older\"\n\
               [variants.detect]\nfunctions = [\"retry\"]\n[variants.detect.columns]\nfailed_by = \"absent\"\n";
        let adapter = Adapter::parse(&text, None).unwrap_or_else(|e| panic!("{e}"));
        let [variant, plain] = adapter.variants("postgres") else { panic!("a variant and the rest") };
        assert_eq!((variant.title.as_str(), plain.title.as_str()), ("older", "jobs and jobs_dlq"));
        assert_eq!(variant.detect.columns["failed_by"], "absent");
        assert_eq!(variant.detect.columns["payload"], "json|jsonb", "of its database");
        assert_eq!(adapter.variants("sqlite").len(), 1);
        let fault =
            Adapter::parse(&text.replace("title = \"older", "titel = \"older"), None).err().map(|e| e.to_string());
        assert!(fault.is_some_and(|f| f.contains("titel")));
    }

    #[test]
    fn a_file_of_the_operators_wins_by_name_and_a_bad_one_names_its_line() {
        let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let own = BUILT_IN[2].replacen("title = \"", "title = \"our own ", 1);
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
        assert!(write("own.toml", &own).is_ok());
        assert!(write("bad.toml", "name = \"bad\"\ntitel = \"x\"\n").is_ok());
        let library = Library::load(Some(folder.path()));
        let name = Adapter::parse(&own, None).map(|a| a.name).unwrap_or_default();
        let title = library.get(&name).and_then(|a| a.spec("sqlite")).map(|s| s.title.clone());
        assert!(title.is_some_and(|t| t.starts_with("our own ")));
        assert_eq!(library.adapters.len(), BUILT_IN.len() + REDIS.len());
        assert_eq!(library.faults.len(), 1);
        let sentence = library.faults[0].to_string();
        assert!(sentence.ends_with("bad.toml, line 2: unknown key `titel`; did you mean `title`?"), "{sentence}");
    }

    #[test]
    fn what_a_table_lacks_is_asked_for_on_a_line_of_the_file() {
        use crate::adapter::{Misfit, Table, fit};
        let text = "name = \"own\"\ntitle = \"t\"\ntable = \"dead\"\nkey = { column = \"id\", kind = \"int\" }\n\
                    [order]\ntime = { column = \"id\", kind = \"int\" }\n[fields]\nat = { column = \"at\", kind = \"utc\" }\n\
                    [states]\ndead = [\"dead\"]\n[detect.columns]\nid = \"int\"\nat = \"time\"\n\
                    [detect.tables.jobs]\nid = \"int\"\n[mysql.detect.columns]\nat = \"int\"\n";
        let adapter = Adapter::parse(text, None).unwrap_or_else(|e| panic!("{e}"));
        let empty = Table::default();
        let lines = |dialect: &str, live: Option<&'static str>| -> Vec<Option<usize>> {
            let spec = adapter.spec(dialect).unwrap_or_else(|| panic!("{dialect}"));
            let misfits = fit(spec, |name| (name == "dead" || Some(name) == live).then_some(&empty));
            misfits.iter().map(|misfit: &Misfit| adapter.line_of(dialect, misfit)).collect()
        };
        assert_eq!(lines("postgres", Some("jobs")), [Some(13), Some(12), Some(15)], "by name");
        assert_eq!(lines("mysql", None), [Some(17), Some(12), Some(14)], "a database's own section wins");
    }
}
