//! Where things lie: XDG on every Unix; `--store` and `INVAR_STORE` override the store.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::EngineError;
use crate::model::hex;

/// The longest path that a Unix socket may have on all systems, with room to spare.
const SOCKET_PATH_MAX: usize = 100;

/// The files and folders of one installation, seen from one store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locations {
    pub store: PathBuf,
    pub config: PathBuf,
    pub logs: PathBuf,
    pub socket: PathBuf,
    pub home: PathBuf,
}

impl Locations {
    /// Finds all places from the environment; `store` comes from the command line.
    ///
    /// # Errors
    /// Without a home folder nothing can be placed.
    pub fn from_env(store: Option<PathBuf>) -> Result<Self, EngineError> {
        let no_home = || {
            EngineError::failed(
                "no home folder is known, so neither store nor configuration can be found",
            )
            .hint("set HOME")
        };
        // An empty HOME would place everything relative to wherever the agent stands.
        if std::env::var_os("HOME").is_none_or(|home| home.is_empty()) {
            return Err(no_home());
        }
        let base = etcetera::base_strategy::Xdg::new().map_err(|_| no_home())?;
        let store = store
            .or_else(|| {
                std::env::var_os("INVAR_STORE")
                    .filter(|v| !v.is_empty())
                    .map(Into::into)
            })
            .unwrap_or_else(|| base.data_dir().join("invar/invar.redb"));
        let store = absolute(&store)?;
        let logs = base
            .state_dir()
            .unwrap_or_else(|| base.home_dir().join(".local/state"));
        Ok(Self {
            socket: socket_path(&store, base.runtime_dir().as_deref()),
            config: base.config_dir().join("invar/config.toml"),
            logs: logs.join("invar"),
            home: base.home_dir().to_owned(),
            store,
        })
    }

    /// The folder beside the store that holds the snapshots of project trees.
    pub fn trees(&self) -> PathBuf {
        let mut name = self.store.clone().into_os_string();
        name.push(".trees");
        name.into()
    }

    /// The file beside the store that names the process and the socket of whoever hosts its engine.
    pub fn owner_file(&self) -> PathBuf {
        let mut name = self.store.clone().into_os_string();
        name.push(".owner");
        name.into()
    }
}

fn absolute(path: &Path) -> Result<PathBuf, EngineError> {
    let path = std::path::absolute(path).map_err(|e| {
        let message = format!("the store path {} cannot be made absolute", path.display());
        EngineError::failed(message)
            .caused_by(e)
            .hint("give it in full")
    })?;
    // Two spellings of one file must find one engine.
    let resolved = match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => folder.canonicalize().ok().map(|f| f.join(name)),
        _ => None,
    };
    Ok(resolved.unwrap_or(path))
}

/// In the runtime folder when there is one, else beside the store, else in the temporary folder.
fn socket_path(store: &Path, runtime: Option<&Path>) -> PathBuf {
    let hash = Sha256::digest(store.as_os_str().as_encoded_bytes());
    let name: String = hex(&hash[..8]);
    let candidates = [
        runtime
            .filter(|r| r.is_dir())
            .map(|r| r.join("invar").join(format!("{name}.sock"))),
        store.parent().map(|folder| folder.join("invar.sock")),
    ];
    candidates
        .into_iter()
        .flatten()
        .find(|path| path.as_os_str().len() <= SOCKET_PATH_MAX)
        .unwrap_or_else(|| {
            let user = rustix::process::getuid().as_raw();
            std::env::temp_dir()
                .join(format!("invar-{user}"))
                .join(format!("{name}.sock"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_path_stays_short_and_differs_by_store() {
        let deep = PathBuf::from("/").join("d".repeat(200)).join("invar.redb");
        let path = socket_path(&deep, None);
        assert!(path.as_os_str().len() <= SOCKET_PATH_MAX);
        let dir = tempfile::tempdir().unwrap();
        let one = socket_path(Path::new("/a/invar.redb"), Some(dir.path()));
        let two = socket_path(Path::new("/b/invar.redb"), Some(dir.path()));
        assert!(one != two && one.starts_with(dir.path()));
        assert_eq!(
            socket_path(Path::new("/a/x.redb"), None),
            Path::new("/a/invar.sock")
        );
    }
}
