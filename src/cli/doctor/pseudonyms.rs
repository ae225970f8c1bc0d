//! Other names for what nobody outside needs to know: hosts, users, databases, sources, addresses. The same one for the same
//! thing throughout, so that what belongs together can still be seen.

use std::collections::{BTreeMap, HashMap};

use regex::Regex;

use crate::config::mask_secrets;
use crate::domain::redact::Redactor;
use crate::store::survey::Target;

/// What a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PseudonymKind {
    /// A machine.
    Host,
    /// Somebody, of the database or of a machine.
    User,
    /// A database, or the file that is one.
    Database,
    /// A source of the config.
    Source,
    /// A folder.
    Folder,
}

impl PseudonymKind {
    fn word(self) -> &'static str {
        match self {
            PseudonymKind::Host => "host",
            PseudonymKind::User => "user",
            PseudonymKind::Database => "database",
            PseudonymKind::Source => "source",
            PseudonymKind::Folder => "folder",
        }
    }
}

/// Names that say nothing of anybody, as everybody has them.
const COMMON: [&str; 12] = [
    "localhost",
    "postgres",
    "postgresql",
    "mysql",
    "mariadb",
    "sqlite",
    "root",
    "dlq-tui",
    "dlq_tui",
    "main",
    "public",
    "default",
];

/// The names that are known, and those that are met.
#[derive(Clone, Debug, Default)]
pub struct Pseudonyms {
    names: HashMap<String, String>,
    counts: BTreeMap<PseudonymKind, usize>,
    redactor: Redactor,
    /// What is inspected for, until another name is known: it takes a while to prepare.
    pattern: Option<Regex>,
}

impl Pseudonyms {
    /// None are known yet; what looks like a secret goes by this redactor.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, ..Self::default() }
    }

    /// Has a name replaced from now on.
    pub fn know(&mut self, kind: PseudonymKind, name: &str) {
        let name = name.trim();
        // A single letter would be found in every sentence.
        if name.chars().count() > 1 && !is_common(name) {
            self.alias(kind, name);
        }
    }

    /// What an address names: user, hosts and database, or a file.
    pub fn know_target(&mut self, target: &Target) {
        if target.is_file() {
            return self.know_path(&target.label());
        }
        self.know(PseudonymKind::User, target.user().unwrap_or_default());
        for host in target.hosts() {
            self.know(PseudonymKind::Host, host);
        }
        self.know(PseudonymKind::Database, target.database().unwrap_or_default());
    }

    /// A file that is a database: its whole path, and its name.
    pub fn know_path(&mut self, path: &str) {
        self.know(PseudonymKind::Database, path);
        if let Some(alias) = self.names.get(&path.to_lowercase()).cloned()
            && let Some(name) = path.rsplit('/').next()
        {
            self.pattern = None;
            self.names.entry(name.to_lowercase()).or_insert(alias);
        }
    }

    fn alias(&mut self, kind: PseudonymKind, name: &str) -> String {
        if let Some(alias) = self.names.get(&name.to_lowercase()) {
            return alias.clone();
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        self.pattern = None;
        let alias = format!("{}-{count}", kind.word());
        self.names.insert(name.to_lowercase(), alias.clone());
        alias
    }

    /// The text with every name that is known, and whatever looks like an address, replaced, and secrets masked.
    pub fn scrub(&mut self, text: &str) -> String {
        let masked = self.redactor.prose(&mask_secrets(text)).into_owned();
        let Some(pattern) = self.pattern.take().or_else(|| self.prepared()) else { return String::new() };
        self.pattern = Some(pattern.clone());
        let (mut out, mut end) = (String::with_capacity(masked.len()), 0);
        for found in pattern.find_iter(&masked) {
            out.push_str(&masked[end..found.start()]);
            let before = masked[..found.start()].chars().next_back();
            let after = masked[found.end()..].chars().next();
            let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            match is_part(before) || is_part(after) {
                true => out.push_str(found.as_str()),
                false => out.push_str(&self.instead_of(found.as_str())),
            }
            end = found.end();
        }
        out.push_str(&masked[end..]);
        out
    }

    fn instead_of(&mut self, found: &str) -> String {
        if let Some(alias) = self.names.get(&found.to_lowercase()) {
            return alias.clone();
        }
        if is_common(found) || found.starts_with("127.") || found == "::1" {
            return found.to_owned();
        }
        match found.split_once('@') {
            Some((user, host)) => {
                format!("{}@{}", self.alias(PseudonymKind::User, user), self.alias(PseudonymKind::Host, host))
            }
            None => self.alias(PseudonymKind::Host, found),
        }
    }

    /// Mail addresses, addresses of machines, and names with a domain, before the names that are known: they may hold one.
    fn prepared(&self) -> Option<Regex> {
        let mut names: Vec<&String> = self.names.keys().collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        let known = names.into_iter().map(|name| regex::escape(name));
        let looks = [
            r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
            r"\d{1,3}(?:\.\d{1,3}){3}",
            r"(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}",
            r"[a-z0-9][a-z0-9-]*(?:\.[a-z0-9][a-z0-9-]*)+\.[a-z]{2,}",
        ];
        let all: Vec<String> = looks.into_iter().map(str::to_owned).chain(known).collect();
        Regex::new(&format!("(?i){}", all.join("|"))).ok()
    }
}

fn is_common(name: &str) -> bool {
    COMMON.contains(&name.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Target {
        Target::from_url(url).expect("an address")
    }

    #[test]
    fn each_of_several_servers_has_another_name() {
        let mut names = Pseudonyms::default();
        names.know_target(&target("postgres://ann@acme-db1,acme-db2:5433/billing"));
        assert_eq!(
            names.scrub("acme-db1:5432 is away; acme-db2 is a replica"),
            "host-1:5432 is away; host-2 is a replica"
        );
    }

    #[test]
    fn the_same_thing_has_the_same_other_name_wherever_it_stands() {
        let mut names = Pseudonyms::default();
        names.know_target(&target("postgres://ann@db1.prod.acme.example:5432/billing"));
        names.know(PseudonymKind::User, "ann");
        let scrubbed =
            names.scrub("ann@db1.prod.acme.example:5432/billing: no entry for host \"10.1.2.3\", user \"ann\"");
        assert_eq!(scrubbed, "user-1@host-1:5432/database-1: no entry for host \"host-2\", user \"user-1\"");
        assert_eq!(names.scrub("Ann on db1.prod.acme.example and 10.1.2.3"), "user-1 on host-1 and host-2");
        assert_eq!(names.scrub("other.acme.example or 2001:db8::7"), "host-3 or host-4");
    }

    #[test]
    fn a_name_within_a_word_is_left_alone_and_so_is_what_everybody_has() {
        let mut names = Pseudonyms::default();
        for user in ["an", "a", "root", "postgres"] {
            names.know(PseudonymKind::User, user);
        }
        let text = "an answer from localhost, 127.0.0.1 or ::1: PostgreSQL 15.18, postgres, a plan";
        assert_eq!(names.scrub(text), text.replacen("an answer", "user-1 answer", 1));
    }

    #[test]
    fn files_sockets_and_secrets_are_told_by_nothing_of_theirs() {
        let mut names = Pseudonyms::default();
        names.know_target(&target("sqlite:/srv/acme/shop.db"));
        names.know_target(&target("postgres://ann@/app?host=/run/acme"));
        assert_eq!(names.scrub("/srv/acme/shop.db and shop.db"), "database-1 and database-1");
        assert_eq!(names.scrub("at [/run/acme]/app as ann"), "at [host-1]/database-2 as user-1");
        let secret = names.scrub("postgres://bob:hunter2@x/y password=hunter2 token=hunter2");
        assert!(!secret.contains("hunter2"), "{secret}");
    }
}
