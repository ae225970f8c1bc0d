//! Where our files live.

use std::path::{Path, PathBuf};

use directories::ProjectDirs;

/// The variable that names a config file and takes the place of the usual ones.
pub const CONFIG_VARIABLE: &str = "DLQ_TUI_CONFIG";

const SYSTEM_CONFIG: &str = "/etc/dlq-tui/config.toml";

/// Where our files live: the XDG folders, or what the environment says instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    config: Vec<PathBuf>,
    named: bool,
    adapters: PathBuf,
    state: PathBuf,
}

impl Paths {
    /// The folders of this user. `DLQ_TUI_CONFIG` names the one config file to read; `XDG_CONFIG_HOME` and
    /// `XDG_STATE_HOME` move the folders.
    pub fn from_environment() -> Paths {
        let named = std::env::var_os(CONFIG_VARIABLE).filter(|v| !v.is_empty()).map(PathBuf::from);
        let (config_home, state) = match ProjectDirs::from("", "", "dlq-tui") {
            Some(dirs) => {
                (dirs.config_dir().to_owned(), dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir()).to_owned())
            }
            // No home folder at all, as in some containers: the folder for temporary files is the only one left.
            None => (std::env::temp_dir().join("dlq-tui/config"), std::env::temp_dir().join("dlq-tui/state")),
        };
        Self::within(config_home, state, named)
    }

    /// Given folders; `named` is the one config file to read instead of the usual ones.
    pub fn within(config_home: PathBuf, state: PathBuf, named: Option<PathBuf>) -> Paths {
        let adapters = config_home.join("adapters");
        let is_named = named.is_some();
        let config = match named {
            Some(file) => vec![file],
            None => vec![PathBuf::from(SYSTEM_CONFIG), config_home.join(super::FILE_NAME)],
        };
        Paths { config, named: is_named, adapters, state }
    }

    /// The config files, the lowest layer first. They need not exist.
    pub fn config_files(&self) -> &[PathBuf] {
        &self.config
    }

    /// Whether the environment named the config file, so that it must exist.
    pub fn config_is_named(&self) -> bool {
        self.named
    }

    /// The config file to write into: the uppermost layer.
    pub fn config_file(&self) -> &Path {
        self.config.last().map_or(Path::new(SYSTEM_CONFIG), PathBuf::as_path)
    }

    /// The folder of the operator's own adapter files.
    pub fn adapters(&self) -> &Path {
        &self.adapters
    }

    /// The folder of what we keep between calls: the ledger, the log.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The ledger's file.
    pub fn ledger(&self) -> PathBuf {
        self.state.join("ledger.sqlite3")
    }
}
