//! PostgreSQL's files of passwords. The driver reads them; it leaves out what others can read, and says so to nobody.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::Env;

/// Says of the first such file that others can read that it is ignored.
pub(super) fn remark(env: Env<'_>) -> Option<String> {
    let named = env("PGPASSFILE").map(PathBuf::from);
    let usual = env("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    let is_loose = |file: &PathBuf| std::fs::metadata(file).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0);
    let file = named.into_iter().chain(usual).find(is_loose)?;
    Some(format!("{0} is ignored because others can read it: chmod 600 {0}", file.display()))
}
