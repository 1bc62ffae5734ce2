//! What can go wrong with the store, as sentences that say what to do next.

use std::{
    io,
    path::{Path, PathBuf},
};

/// An error of the store.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    #[error(
        "the store {} is in use by another process; try again, or end the process that holds it", path.display()
    )]
    Locked { path: PathBuf },
    #[error(
        "the store {} has schema {found} and this invar knows {known}; install the newer invar that wrote it", path.display()
    )]
    Schema {
        path: PathBuf,
        found: u32,
        known: u32,
    },
    #[error(
        "the record {key} of table `{table}` in {} cannot be read: {fault}; restore the store from a copy, or export what can be read", path.display()
    )]
    Record {
        path: PathBuf,
        table: String,
        key: String,
        fault: String,
    },
    #[error(
        "the store {} is damaged ({fault}); restore it from a copy, or move it away to start with an empty one", path.display()
    )]
    Damaged { path: PathBuf, fault: String },
    #[error("could not {doing} in the store {}: {fault}; check the disk and the permissions", path.display())]
    Io {
        path: PathBuf,
        doing: String,
        fault: String,
    },
    #[error("a record could not be encoded: {0}; this is a fault of invar, please report it")]
    Encode(String),
}

impl StoreError {
    pub(super) fn io(path: &Path, doing: &str, error: &io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            doing: doing.to_owned(),
            fault: error.to_string(),
        }
    }

    pub(super) fn open(path: &Path, error: redb::DatabaseError) -> Self {
        match error {
            redb::DatabaseError::DatabaseAlreadyOpen
            | redb::DatabaseError::LockProtocolMismatch => Self::Locked {
                path: path.to_owned(),
            },
            other => Self::redb(path, "open it", other.into()),
        }
    }

    pub(super) fn redb(path: &Path, doing: &str, error: redb::Error) -> Self {
        match error {
            redb::Error::Io(e) if e.kind() == io::ErrorKind::InvalidData => Self::Damaged {
                path: path.to_owned(),
                fault: e.to_string(),
            },
            redb::Error::Io(e) => Self::io(path, doing, &e),
            redb::Error::Corrupted(fault) => Self::Damaged {
                path: path.to_owned(),
                fault,
            },
            redb::Error::UpgradeRequired(version) => Self::Damaged {
                path: path.to_owned(),
                fault: format!("its file format {version} is too old"),
            },
            other => Self::Io {
                path: path.to_owned(),
                doing: doing.into(),
                fault: other.to_string(),
            },
        }
    }
}
