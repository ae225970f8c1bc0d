//! PostgreSQL's connection service file: named sets of settings in the form of an INI file.

use std::path::PathBuf;

/// Reads the section of a service from the user's file, then from the system's.
///
/// # Errors
/// When no file has it, or one cannot be read.
pub(super) fn load(name: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Vec<(String, String)>, String> {
    let files = places(env);
    for file in &files {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(format!("the service file {} cannot be read: {error}", file.display())),
        };
        if let Some(settings) = section(&text, name) {
            return Ok(settings);
        }
    }
    let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    Err(format!("no service {name:?} in {}", files.join(" or ")))
}

fn places(env: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let user = env("PGSERVICEFILE")
        .map(PathBuf::from)
        .or_else(|| env("HOME").map(|home| PathBuf::from(home).join(".pg_service.conf")));
    let system = env("PGSYSCONFDIR").map_or_else(|| PathBuf::from("/etc/postgresql-common"), PathBuf::from);
    user.into_iter().chain([system.join("pg_service.conf")]).collect()
}

/// The settings of `[name]`; the first section of that name counts, as in libpq.
fn section(text: &str, name: &str) -> Option<Vec<(String, String)>> {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| heading(line) == Some(name))?;
    let settings = lines
        .take_while(|line| heading(line).is_none())
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect();
    Some(settings)
}

fn heading(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# ours\n[shop]\nhost=db1\n# port=1\n port = 5433 \npassword=a=b\n\n[other]\nhost=db2\n";

    #[test]
    fn a_section_ends_at_the_next_one_and_comments_do_not_count() {
        let pairs =
            |name| section(FILE, name).map(|found| found.into_iter().map(|(k, v)| format!("{k}:{v}")).collect());
        assert_eq!(pairs("shop"), Some(vec!["host:db1".to_owned(), "port:5433".into(), "password:a=b".into()]));
        assert_eq!(pairs("other"), Some(vec!["host:db2".to_owned()]));
        assert_eq!(pairs("absent"), None);
    }

    #[test]
    fn a_missing_service_names_the_places_that_were_looked_in() {
        let env = |name: &str| (name == "PGSERVICEFILE").then(|| "/nonexistent/services".to_owned());
        let error = load("shop", &env).unwrap_err();
        assert!(error.starts_with("no service \"shop\" in /nonexistent/services or "), "{error}");
    }
}
