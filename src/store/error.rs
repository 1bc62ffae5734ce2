//! What can go wrong with the store, as sentences that say what to do next.

use std::{
    io,
    path::{Path, PathBuf},
};

use invar_model::{Problem, error_by_problem};

/// An error of the store.
#[derive(Debug, Clone)]
pub enum StoreError {
    Locked {
        path: PathBuf,
    },
    Schema {
        path: PathBuf,
        found: u32,
        known: u32,
    },
    Record {
        path: PathBuf,
        table: String,
        key: String,
        fault: String,
    },
    Damaged {
        path: PathBuf,
        fault: String,
    },
    Io {
        path: PathBuf,
        doing: String,
        fault: String,
    },
    Encode(String),
}

error_by_problem!(StoreError);

impl StoreError {
    /// What failed, in which store, and what to do next.
    pub fn problem(&self) -> Problem {
        match self {
            Self::Locked { path } => Problem::new(format!(
                "the store {} is in use by another process",
                path.display()
            ))
            .hint("try again, or end the process that holds it"),
            Self::Schema { path, found, known } => Problem::new(format!(
                "the store {} has schema {found} and this invar knows {known}",
                path.display()
            ))
            .hint("install the newer invar that wrote it"),
            Self::Record {
                path,
                table,
                key,
                fault,
            } => Problem::new(format!(
                "the record {key} of table `{table}` in {} cannot be read",
                path.display()
            ))
            .caused_by(fault)
            .hint("restore the store from a copy, or export what can be read"),
            Self::Damaged { path, fault } => {
                Problem::new(format!("the store {} is damaged ({fault})", path.display()))
                    .hint("restore it from a copy, or move it away to start with an empty one")
            }
            Self::Io { path, doing, fault } => {
                Problem::new(format!("could not {doing} in the store {}", path.display()))
                    .caused_by(fault)
                    .hint("check the disk and the permissions")
            }
            Self::Encode(fault) => Problem::new("a record could not be encoded")
                .caused_by(fault)
                .hint("this is a fault of invar, please report it"),
        }
    }

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
