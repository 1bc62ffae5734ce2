//! A store as it stood at one moment: read by whoever asks, beside whoever goes on writing.

use std::path::PathBuf;

use redb::ReadTransaction;

use super::{Archived, LogHead, Store, StoreError, codec::decode, tables::META};

/// A store as it stood at one moment.
pub struct View {
    pub(super) read: ReadTransaction,
    pub(super) path: PathBuf,
}

impl Store {
    /// The store as it stands now.
    ///
    /// # Errors
    /// What the disk reports.
    pub fn view(&self) -> Result<View, StoreError> {
        Ok(View {
            read: self.read("look at it")?,
            path: self.path.clone(),
        })
    }
}

impl View {
    pub(super) fn fail<E: Into<redb::Error>>(
        &self,
        doing: &'static str,
    ) -> impl Fn(E) -> StoreError + '_ {
        move |error| StoreError::redb(&self.path, doing, error.into())
    }

    fn meta<T: serde::de::DeserializeOwned>(&self, key: &str) -> Result<Option<T>, StoreError> {
        let doing = "read what it says of itself";
        let meta = self.read.open_table(META).map_err(self.fail(doing))?;
        let value = meta.get(key).map_err(self.fail(doing))?;
        value
            .map(|value| decode(value.value(), &self.path, "meta", key))
            .transpose()
    }

    /// The end of the log; nothing for an empty one.
    ///
    /// # Errors
    /// What the disk reports; here and below.
    pub fn head(&self) -> Result<Option<LogHead>, StoreError> {
        self.meta("head")
    }

    /// The archives of the log, oldest first.
    ///
    /// # Errors
    /// As above.
    pub fn archives(&self) -> Result<Vec<Archived>, StoreError> {
        Ok(self.meta("archives")?.unwrap_or_default())
    }
}
