//! Copies of guarded files, and putting them back. Nothing is ever written through a link.

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Component, Path, PathBuf},
};

use super::{files::open, snapshot::Snapshot, write_private};
use crate::{facts::Hash, model::hex};

/// Larger files are not copied, in bytes: copies are made while a session starts.
const MAX_COPY: u64 = 16 << 20;

/// Why a file was not put back.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// None was kept, or the path is none inside the project.
    #[error("there is no copy of it; put it back by hand")]
    NoCopy,
    /// A folder on the way to the file is a link now, or a file.
    #[error("{} is a link on the way to it; look where it leads, and put the file back by hand", .0.display())]
    Link(PathBuf),
    /// What the disk reports.
    #[error("it could not be written ({0}); put it back by hand")]
    Io(#[from] io::Error),
}

/// Where the copy of a content lies. Named by its hash, so that equal files have one copy, and an
/// older content stays while a newer one is copied.
fn copy_of(copies: &Path, hash: &Hash) -> PathBuf {
    copies.join(hex(hash))
}

/// Copies the guarded files of a snapshot that have no copy yet. `is_guarded` is asked with paths
/// relative to `root`. A file that cannot be copied is left out, and logged.
pub(super) fn keep(
    copies: &Path,
    root: &Path,
    snapshot: &Snapshot,
    is_guarded: &dyn Fn(&Path) -> bool,
) {
    for (path, hash) in snapshot.files() {
        let copy = copy_of(copies, &hash);
        if !is_guarded(&path) || copy.exists() {
            continue;
        }
        let kept = (|| {
            let file = open(&root.join(&path))?;
            let meta = file.metadata()?;
            if !meta.is_file() || meta.len() > MAX_COPY {
                return Ok(());
            }
            // The first byte of a copy says whether the file is executable.
            let mut bytes = vec![u8::from(meta.permissions().mode() & 0o111 != 0)];
            file.take(MAX_COPY).read_to_end(&mut bytes)?;
            write_private(&copy, &bytes)
        })();
        if let Err::<(), io::Error>(error) = kept {
            tracing::warn!(%error, path = %path.display(), "a guarded file could not be copied");
        }
    }
}

/// Puts the file at `path` (relative to `root`) back from its copy.
///
/// An agent could put a link in the place of a folder, so that a file is written wherever it wants.
/// So each folder on the way is looked at, and the file arrives by a rename, which replaces a link
/// of its name and does not follow it.
///
/// # Errors
/// [`RestoreError`].
pub(super) fn put_back(
    copies: &Path,
    root: &Path,
    path: &Path,
    hash: &Hash,
) -> Result<(), RestoreError> {
    let bytes = fs::read(copy_of(copies, hash)).map_err(|_| RestoreError::NoCopy)?;
    let (executable, content) = bytes.split_first().ok_or(RestoreError::NoCopy)?;
    let parent = path.parent().unwrap_or(Path::new(""));
    let mut folder = root.to_owned();
    for part in parent.components() {
        let Component::Normal(name) = part else {
            return Err(RestoreError::NoCopy);
        };
        folder.push(name);
        match fs::symlink_metadata(&folder) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Err(RestoreError::Link(folder)),
            Err(_) => fs::create_dir(&folder)?,
        }
    }
    let mut file = tempfile::NamedTempFile::new_in(&folder)?;
    file.write_all(content)?;
    let mode = if *executable == 1 { 0o755 } else { 0o644 };
    file.as_file()
        .set_permissions(fs::Permissions::from_mode(mode))?;
    // The new file takes the name; a link of that name goes, and what it leads to stays.
    file.persist(root.join(path)).map_err(|e| e.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn files_come_back_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (root, copies) = (base.join("w"), base.join("copies"));
        fs::create_dir_all(root.join("tests")).unwrap();
        fs::write(root.join("tests/a"), "1").unwrap();
        fs::write(base.join("other"), "o").unwrap();
        let snapshot = Snapshot::take(&root, &BTreeSet::new(), 100).unwrap();
        let hash = snapshot.hash(Path::new("tests/a")).unwrap();
        keep(&copies, &root, &snapshot, &|p| p.starts_with("tests"));
        let read = || fs::read_to_string(root.join("tests/a")).unwrap();

        fs::write(root.join("tests/a"), "2").unwrap();
        put_back(&copies, &root, Path::new("tests/a"), &hash).unwrap();
        assert_eq!(read(), "1");

        fs::remove_file(root.join("tests/a")).unwrap();
        symlink(base.join("other"), root.join("tests/a")).unwrap();
        put_back(&copies, &root, Path::new("tests/a"), &hash).unwrap();
        assert_eq!(read(), "1");
        assert_eq!(fs::read_to_string(base.join("other")).unwrap(), "o");

        fs::remove_dir_all(root.join("tests")).unwrap();
        put_back(&copies, &root, Path::new("tests/a"), &hash).unwrap();
        assert_eq!(read(), "1");

        fs::remove_dir_all(root.join("tests")).unwrap();
        symlink(&base, root.join("tests")).unwrap();
        let error = put_back(&copies, &root, Path::new("tests/a"), &hash).unwrap_err();
        assert!(matches!(error, RestoreError::Link(_)), "{error}");
        assert!(!base.join("a").exists());

        let error = put_back(&copies, &root, Path::new("tests/a"), &[0; 32]).unwrap_err();
        assert!(matches!(error, RestoreError::NoCopy));
    }
}
