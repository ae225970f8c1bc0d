//! PostgreSQL's files of passwords. The driver reads them; it leaves out what others can read, and says so to nobody.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Env;

/// Says of the first such file that others can read that it is ignored.
pub(super) fn ignored_file_warning(env: Env<'_>) -> Option<String> {
    let file = files(env).into_iter().find(|file| is_loose(file))?;
    Some(format!("{0} is ignored because others can read it: chmod 600 {0}", file.display()))
}

/// The file with a line for a login (host, port, database and user), or each file that was searched and why it has none.
pub(super) fn find_line(env: Env<'_>, login: &[String; 4]) -> Result<String, Vec<String>> {
    let mut without = Vec::new();
    for file in files(env) {
        let why = match std::fs::read_to_string(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => "no such file",
            Err(_) => "cannot be read",
            Ok(_) if is_loose(&file) => "ignored because others can read it",
            Ok(text) if text.lines().any(|line| is_for(line, login)) => return Ok(file.display().to_string()),
            Ok(_) => "no line for this host, port, database and user",
        };
        without.push(format!("{} ({why})", file.display()));
    }
    Err(without)
}

fn files(env: Env<'_>) -> Vec<PathBuf> {
    let named = env("PGPASSFILE").map(PathBuf::from);
    let usual = env("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    named.into_iter().chain(usual).collect()
}

fn is_loose(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
}

/// Whether a line is for a login. Its fields are separated by colons; a backslash lets a colon be one of a field.
fn is_for(line: &str, login: &[String; 4]) -> bool {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, fields.last_mut()) {
            (':', _) => fields.push(String::new()),
            ('\\', Some(field)) => field.extend(chars.next()),
            (c, Some(field)) => field.push(c),
            (_, None) => {}
        }
    }
    !line.starts_with('#')
        && fields.len() > login.len()
        && fields.iter().zip(login).all(|(field, value)| field == "*" || field == value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_for_the_login_that_each_field_names() {
        let login = ["db:1", "5432", "shop", "ann"].map(str::to_owned);
        for (line, wanted) in [
            (r"db\:1:5432:shop:ann:secret", true),
            ("*:*:*:ann:se:cret", true),
            ("*:*:*:bob:secret", false),
            ("#*:*:*:*:secret", false),
            ("*:*:*:ann", false),
        ] {
            assert_eq!(is_for(line, &login), wanted, "{line}");
        }
    }

    #[test]
    fn a_file_without_the_line_is_named_and_its_text_is_not() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".pgpass");
        let env = |name: &str| (name == "HOME").then(|| home.path().display().to_string());
        let login = ["db1", "5432", "shop", "ann"].map(str::to_owned);
        assert!(find_line(&env, &login).unwrap_err()[0].ends_with("/.pgpass (no such file)"));
        std::fs::write(&file, "db2:*:*:*:hunter2\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let told = find_line(&env, &login).unwrap_err().concat();
        assert!(told.contains("no line for this host") && !told.contains("hunter2"), "{told}");
        std::fs::write(&file, "db1:*:*:*:hunter2\n").unwrap();
        assert_eq!(find_line(&env, &login), Ok(file.display().to_string()));
    }
}
