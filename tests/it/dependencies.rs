//! Licences, sources and banned crates, checked against `deny.toml` without a network and without cargo-deny.
//!
//! `cargo deny` reads the same file and checks more; it takes minutes to build, so `scripts/lint` runs it only where it
//! is installed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    /// None for our own.
    source: Option<String>,
}

fn packages() -> Vec<Package> {
    let metadata = cargo(&["metadata", "--offline", "--locked", "--format-version=1", "--filter-platform", &host()]);
    let metadata: Json = serde_json::from_str(&metadata).expect("cargo metadata writes JSON");
    let text = |package: &Json, field: &str| package[field].as_str().map(str::to_owned);
    let package = |package: &Json| Package {
        name: text(package, "name").expect("a name"),
        version: text(package, "version").expect("a version"),
        licence: text(package, "license"),
        source: text(package, "source"),
    };
    metadata["packages"].as_array().expect("packages").iter().map(package).collect()
}

/// The machine's own platform: only its crates are sure to be in the cache.
fn host() -> String {
    let version = cargo(&["--version", "--verbose"]);
    version.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo names its host").to_owned()
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).output();
    let output = output.expect("cargo runs");
    assert!(output.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo writes UTF-8")
}

/// The part of `deny.toml` that is checked here.
struct Rules {
    licences: BTreeSet<String>,
    registries: Vec<String>,
    banned: Vec<String>,
    single: Vec<String>,
}

impl Rules {
    fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deny.toml");
        Self::parse(&std::fs::read_to_string(path).expect("deny.toml"))
    }

    fn parse(text: &str) -> Self {
        let rules: toml::Table = text.parse().expect("deny.toml is TOML");
        let texts = |section: &str, key: &str| -> Vec<String> {
            let list = rules[section][key].as_array().expect("a list");
            list.iter().map(|one| one.as_str().expect("a text").to_owned()).collect()
        };
        let crates = |only_one: bool| -> Vec<String> {
            let list = rules["bans"]["deny"].as_array().expect("a list").iter();
            let is_single = |one: &&toml::Value| one.get("deny-multiple-versions").is_some() == only_one;
            list.filter(is_single).map(|one| one["crate"].as_str().expect("a crate").to_owned()).collect()
        };
        Self {
            licences: texts("licenses", "allow").into_iter().collect(),
            registries: texts("sources", "allow-registry"),
            banned: crates(false),
            single: crates(true),
        }
    }

    fn violations(&self, packages: &[Package]) -> Vec<String> {
        let mut violations = Vec::new();
        for package in packages {
            let Package { name, version, .. } = package;
            if self.banned.contains(name) {
                violations.push(format!("{name} {version}: banned"));
            }
            let Some(source) = &package.source else { continue };
            let registry = source.strip_prefix("registry+");
            if !registry.is_some_and(|registry| self.registries.iter().any(|allowed| allowed == registry)) {
                violations.push(format!("{name} {version}: comes from {source}"));
            }
            match &package.licence {
                Some(licence) if self.allows(licence) => {}
                Some(licence) => violations.push(format!("{name} {version}: licence {licence} is not allowed")),
                None => violations.push(format!("{name} {version}: names no licence")),
            }
        }
        for name in &self.single {
            let versions: Vec<&str> =
                packages.iter().filter(|one| one.name == *name).map(|one| one.version.as_str()).collect();
            if versions.len() > 1 {
                violations.push(format!("{name}: more than one version, {}", versions.join(" and ")));
            }
        }
        violations
    }

    /// Whether an SPDX expression can be satisfied with allowed licences.
    fn allows(&self, expression: &str) -> bool {
        // Older crates write a slash for OR.
        let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let mut rest = words.as_slice();
        self.any(&mut rest).is_some_and(|allowed| allowed && rest.is_empty())
    }

    fn any(&self, words: &mut &[&str]) -> Option<bool> {
        let mut allowed = self.all(words)?;
        while words.first() == Some(&"OR") {
            *words = &words[1..];
            // Both sides are read, so that what stands behind is not lost.
            allowed |= self.all(words)?;
        }
        Some(allowed)
    }

    fn all(&self, words: &mut &[&str]) -> Option<bool> {
        let mut allowed = self.one(words)?;
        while words.first() == Some(&"AND") {
            *words = &words[1..];
            allowed &= self.one(words)?;
        }
        Some(allowed)
    }

    fn one(&self, words: &mut &[&str]) -> Option<bool> {
        let (first, rest) = words.split_first()?;
        *words = rest;
        if *first == "(" {
            let allowed = self.any(words)?;
            let (closing, rest) = words.split_first()?;
            *words = rest;
            return (*closing == ")").then_some(allowed);
        }
        let mut name = (*first).to_owned();
        if let ["WITH", exception, rest @ ..] = words {
            name = format!("{name} WITH {exception}");
            *words = rest;
        }
        Some(self.licences.contains(&name))
    }
}

#[test]
fn every_dependency_keeps_to_deny_toml() {
    let packages = packages();
    assert!(packages.len() > 50, "cargo metadata listed {} packages", packages.len());
    let violations = Rules::read().violations(&packages);
    assert!(violations.is_empty(), "deny.toml forbids:\n  {}\n", violations.join("\n  "));
}

mod tests {
    use super::{Package, Rules};

    const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

    fn package(name: &str, version: &str, licence: &str, source: &str) -> Package {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Package { name: name.to_owned(), version: version.to_owned(), licence: text(licence), source: text(source) }
    }

    #[test]
    fn a_violation_of_each_rule_is_found() {
        let rules = Rules::read();
        for (bad, expected) in [
            (package("a", "1.0.0", "GPL-3.0-only", CRATES_IO), "licence"),
            (package("a", "1.0.0", "", CRATES_IO), "no licence"),
            (package("a", "1.0.0", "MIT", "git+https://example.com/a"), "comes from"),
            (package("a", "1.0.0", "MIT", "registry+https://example.com/index"), "comes from"),
            (package("openssl-sys", "0.9.0", "MIT", CRATES_IO), "banned"),
        ] {
            let violations = rules.violations(&[bad]);
            assert!(violations.len() == 1 && violations[0].contains(expected), "{expected}: {violations:?}");
        }
        let twice = ["0.29.0", "0.30.2"].map(|version| package("ratatui", version, "MIT", CRATES_IO));
        assert_eq!(rules.violations(&twice), ["ratatui: more than one version, 0.29.0 and 0.30.2"]);
        assert!(
            rules.violations(&[package("a", "1.0.0", "MIT", CRATES_IO), package("own", "0.1.0", "", "")]).is_empty()
        );
    }

    #[test]
    fn licence_expressions_are_read_as_spdx_means_them() {
        let rules = Rules::read();
        for allowed in ["MIT OR GPL-3.0", "GPL-3.0/MIT", "(GPL-3.0 OR MIT) AND ISC", "Apache-2.0 WITH LLVM-exception"] {
            assert!(rules.allows(allowed), "{allowed}");
        }
        for refused in
            ["MIT AND GPL-3.0", "GPL-3.0 WITH LLVM-exception", "(MIT", "", "MIT ISC", "GPL-3.0 OR MIT AND GPL-3.0"]
        {
            assert!(!rules.allows(refused), "{refused}");
        }
    }
}

/// Packages of a lock file, each with its version.
fn locked(file: &str) -> BTreeSet<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lock: toml::Table = text.parse().expect("a lock file is TOML");
    let text = |package: &toml::Value, field: &str| package[field].as_str().expect("text").to_owned();
    let packages = lock["package"].as_array().expect("packages");
    packages.iter().map(|package| (text(package, "name"), text(package, "version"))).collect()
}

#[test]
fn what_is_searched_for_faults_is_built_of_what_the_program_is_built_of() {
    let ours = locked("Cargo.lock");
    let names: BTreeSet<&str> = ours.iter().map(|(name, _)| name.as_str()).collect();
    let others: Vec<_> = locked("fuzz/Cargo.lock")
        .into_iter()
        .filter(|one| names.contains(one.0.as_str()) && !ours.contains(one))
        .collect();
    assert!(
        others.is_empty(),
        "fuzz/Cargo.lock has other versions: {others:?}; copy Cargo.lock over it and run cargo metadata in fuzz/"
    );
}
