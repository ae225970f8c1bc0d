//! Which file a name stands for: SQLite goes on with a file that was moved away or replaced, and says nothing.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file's device, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inode(u64, u64);

impl Inode {
    /// The file that is at `path` now, where there is one that can be read.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|meta| Self(meta.dev(), meta.ino()))
    }
}
