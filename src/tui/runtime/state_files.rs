//! Files that the console itself leaves behind: its log, reports of panics, copies that no clipboard takes.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use directories::ProjectDirs;

/// A log above this size is begun again.
const LOG_LIMIT: u64 = 1_000_000;

/// The operator's state folder for this program, made when it is not there; only the operator can look into it.
///
/// # Errors
/// When there is no home folder, or the folder cannot be made.
pub fn state_folder() -> io::Result<PathBuf> {
    let dirs = ProjectDirs::from("", "", "dlq-tui")
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no home folder"))?;
    let folder = dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir()).to_owned();
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    Ok(folder)
}

/// The log, to be appended to.
///
/// # Errors
/// When it cannot be opened.
pub fn log() -> io::Result<File> {
    let path = state_folder()?.join("console.log");
    let full = fs::metadata(&path).is_ok_and(|meta| meta.len() > LOG_LIMIT);
    if full {
        fs::remove_file(&path)?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// Writes a file that only the operator can read, replacing one of that name, and returns its path.
///
/// # Errors
/// When it cannot be written.
pub fn keep(name: &str, content: &[u8]) -> io::Result<PathBuf> {
    let folder = state_folder()?;
    let path = folder.join(name);
    // Written aside and renamed, so that the mode holds even where a file of that name was readable to others.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    file.persist(&path)?;
    Ok(path)
}
