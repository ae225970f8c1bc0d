//! A database server that `scripts/unpack-server` has unpacked, beside the C library that it was built for, which need not
//! be this machine's.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folder with the programs.
pub struct Unpacked {
    root: PathBuf,
    /// Runs a program with the libraries of that folder.
    loader: PathBuf,
    libraries: PathBuf,
}

impl Unpacked {
    /// The programs in `root`, or nothing where it has not that server.
    pub fn find(root: &Path, server: &str) -> Option<Self> {
        root.join("usr/sbin").join(server).is_file().then_some(())?;
        let entries = |folder: &str| {
            std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten().map(|entry| entry.path())
        };
        let named =
            |path: &PathBuf, part: &str| path.file_name().is_some_and(|name| name.to_string_lossy().contains(part));
        let loader = ["usr/lib64", "usr/lib"].into_iter().flat_map(entries).find(|path| named(path, "ld-linux"))?;
        let libraries = entries("usr/lib").find(|path| named(path, "-linux-gnu"))?;
        Some(Self { root: root.to_path_buf(), loader, libraries })
    }

    /// A file or folder of it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The command line of a program in `usr/sbin`, to which options are added.
    pub fn command(&self, program: &str) -> Vec<OsString> {
        let mut paths = self.libraries.clone().into_os_string();
        paths.push(":");
        paths.push(self.path("usr/lib/mysql/private"));
        vec![
            self.loader.clone().into(),
            "--library-path".into(),
            paths,
            self.path("usr/sbin").join(program).into(),
            "--no-defaults".into(),
        ]
    }
}
