//! Every place on disk that a written path can mean.
//!
//! A path is looked at as it is written, as the kernel would follow it, and as its cleaned form
//! resolves; a change is allowed only when every one of them may change. The three differ where a
//! part of the path is a link: `link/../x` is `x` by its text, and beside the link's target for the
//! kernel; and some tools clean a path before they open it. It is not known which of them the agent
//! uses, so each must be allowed.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
};

use crate::{
    located::{FoundPath, FoundPlace, Root},
    rules::{
        letter::{LetterSet, Place},
        path::{absolute, clean, inside},
        shell::Disk,
    },
};

/// The disk of this machine, for the shell reader.
pub struct OwnDisk;

impl Disk for OwnDisk {
    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn exists(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok()
    }

    fn names(&self, dir: &Path, limit: usize) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir).ok()? {
            names.push(entry.ok()?.file_name().to_string_lossy().into_owned());
            if names.len() > limit {
                return None;
            }
        }
        names.sort();
        Some(names)
    }
}

/// The spellings of a project directory: as it is written, and with all links followed.
pub fn root_at(written: &Path) -> Root {
    let written = clean(written);
    let resolved = resolve(&written);
    let fold_case = folds_case(&resolved);
    Root {
        written,
        resolved,
        fold_case,
    }
}

/// Finds all places of `path`, written by an agent whose working directory is `cwd`. `home` stands
/// for a leading `~/`; what lies in a folder of `scratch` and not in the project is nobody's
/// business.
pub fn find(
    path: &Path,
    cwd: &Path,
    root: &Root,
    home: Option<&Path>,
    scratch: &[PathBuf],
) -> FoundPath {
    // The kernel follows the path with its `..`, so it is resolved before it is cleaned.
    let raw = through_process(&absolute(path, cwd, home), cwd);
    let cleaned = clean(&raw);
    let kernel = resolve(&raw);
    let place = |absolute: PathBuf| {
        let relative = root.relative(&absolute);
        let scratch = relative.is_none() && scratch.iter().any(|s| absolute.starts_with(s));
        let holds_root =
            root.written.starts_with(&absolute) || root.resolved.starts_with(&absolute);
        FoundPlace {
            relative,
            absolute,
            scratch,
            holds_root,
        }
    };
    let canonical = place(kernel);
    let mut places = vec![canonical.clone()];
    // A link above the project is another spelling of its root and no place of its own. Without
    // this, a project that is reached through a link would have each of its files outside, too,
    // and `no_edits_outside` would forbid all of them.
    let written = place(cleaned.clone());
    let spells_root = written.relative.is_none() && canonical.relative.is_some() && {
        let above = |p: &Path| p.ancestors().any(|a| resolve(a) == root.resolved);
        above(&cleaned)
    };
    for candidate in [
        (!spells_root).then_some(written),
        Some(place(resolve(&cleaned))),
    ] {
        if let Some(candidate) = candidate
            && !places.contains(&candidate)
        {
            places.push(candidate);
        }
    }
    // A write to one name of a file changes the file under all of its names.
    for other in same_file(&canonical.absolute, root) {
        let other = place(other);
        if !places.contains(&other) {
            places.push(other);
        }
    }
    // Shown as it was written where that lies inside, so that a person recognises it.
    let is_root = cleaned == root.written || canonical.absolute == root.resolved;
    let shown = match is_root {
        true => ".".to_owned(),
        false => places
            .iter()
            .rev()
            .find_map(|p| p.relative.as_ref())
            .unwrap_or(&cleaned)
            .to_string_lossy()
            .into_owned(),
    };
    FoundPath {
        places,
        canonical,
        shown,
    }
}

/// `/proc/self/cwd` and its kind lead through a process: the one that will open the path, which
/// runs in `cwd`, and not this one. They are undone by their text, before the kernel is asked.
fn through_process(path: &Path, cwd: &Path) -> PathBuf {
    let mut parts = path.components().skip(1);
    let mut next = || parts.next().and_then(|p| p.as_os_str().to_str());
    if next() != Some("proc") {
        return path.to_owned();
    }
    let process = next().is_some_and(|p| {
        matches!(p, "self" | "thread-self") || p.chars().all(|c| c.is_ascii_digit())
    });
    let rest = |from: usize| path.components().skip(from).collect::<PathBuf>();
    match (process, next()) {
        (true, Some("cwd")) => cwd.join(rest(4)),
        (true, Some("root")) => Path::new("/").join(rest(4)),
        _ => path.to_owned(),
    }
}

/// How many files are looked at in search of another name of one file. There is no index of names
/// by file, so the search is a walk of the project; a name beyond that is not found.
const MAX_NAMES: usize = 50_000;

/// The other names in the project of a file that has several: a write to one changes all.
fn same_file(path: &Path, root: &Root) -> Vec<PathBuf> {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return Vec::new();
    };
    // Nearly all files have one name, and cost no walk.
    if !meta.is_file() || meta.nlink() < 2 {
        return Vec::new();
    }
    files_below(&root.resolved, MAX_NAMES)
        .filter(|other| other != path)
        .filter(|other| {
            fs::symlink_metadata(other)
                .is_ok_and(|m| m.is_file() && m.ino() == meta.ino() && m.dev() == meta.dev())
        })
        .collect()
}

/// How many files of a project the patterns match, and how many there are, both of at most 50,000
/// files that git does not ignore. Patterns that do not compile match none of none.
pub fn count(root: &Path, patterns: &[String], home: Option<&Path>) -> (usize, usize) {
    let root = root_at(root);
    let check = crate::model::LetterCheck::NoEditsOutside(patterns.to_vec());
    let env = crate::rules::letter::PatternEnv {
        home,
        fold_case: root.fold_case,
    };
    let Ok(set) = LetterSet::compile([&check], env) else {
        return (0, 0);
    };
    let (mut hits, mut total) = (0, 0);
    for file in files_below(&root.resolved, MAX_NAMES) {
        total += 1;
        let relative = inside(&file, &root.resolved).map(|r| r.as_os_str().as_encoded_bytes());
        let place = Place {
            relative,
            absolute: file.as_os_str().as_encoded_bytes(),
            scratch: false,
            subtree: false,
            holds_root: false,
        };
        hits += usize::from(set.broken_by(place).is_empty());
    }
    (hits, total)
}

/// The files below a folder that git would not ignore, hidden ones too, at most `limit`. Links are
/// listed and not followed. Walked as it is asked for.
pub fn files_below(folder: &Path, limit: usize) -> impl Iterator<Item = PathBuf> {
    let mut walk = ignore::WalkBuilder::new(folder);
    walk.hidden(false)
        .parents(true)
        .filter_entry(|entry| entry.file_name() != ".git");
    walk.build()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|t| !t.is_dir()))
        .map(ignore::DirEntry::into_path)
        .take(limit)
}

/// How many links are followed before a path counts as a loop; the kernel has the same limit.
const MAX_LINKS: usize = 40;

/// Follows all links of an absolute path as the kernel would, `..` after a link too. What does
/// not exist yet stays as written; a loop of links stays where it was found. The standard
/// library's way fails for a path that does not exist, and a file that is to be made must be
/// placed as well.
pub fn resolve(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    let mut left: VecDeque<OsString> = parts(path).collect();
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        if part == ".." {
            out.pop();
            continue;
        }
        out.push(&part);
        let is_link = fs::symlink_metadata(&out).is_ok_and(|m| m.file_type().is_symlink());
        if !is_link || links == MAX_LINKS {
            continue;
        }
        let Ok(target) = fs::read_link(&out) else {
            continue;
        };
        links += 1;
        out.pop();
        // The parts of the target come before what is left, since they may be links themselves.
        if target.is_absolute() {
            out = PathBuf::from("/");
        }
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            left.push_front(part);
        }
    }
    out
}

/// The named parts of a path and its `..`, in order.
fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|c| match c {
        Component::Normal(part) => Some(part.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

/// Whether the file system under `folder` takes `A` and `a` for the same name: the folder is
/// looked up with the case of its own name turned. Nothing is written to find out; a name without
/// letters says nothing, and counts as no.
fn folds_case(folder: &Path) -> bool {
    let Some(name) = folder.file_name().and_then(|n| n.to_str()) else {
        return false;
    };
    let turned: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_lowercase() {
                c.to_ascii_uppercase()
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect();
    if turned == name {
        return false;
    }
    match (
        fs::metadata(folder),
        fs::metadata(folder.with_file_name(turned)),
    ) {
        (Ok(a), Ok(b)) => a.dev() == b.dev() && a.ino() == b.ino(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct World {
        _dir: tempfile::TempDir,
        root: PathBuf,
    }

    fn world() -> World {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("w");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::create_dir_all(root.join("tests")).unwrap();
        fs::write(root.join("tests/t.py"), "x").unwrap();
        World { _dir: dir, root }
    }

    fn relatives(world: &World, path: &str) -> Vec<Option<String>> {
        let root = root_at(&world.root);
        let found = find(Path::new(path), &world.root, &root, None, &[]);
        let text = |p: &FoundPlace| p.relative.as_ref().map(|r| r.display().to_string());
        let mut all: Vec<_> = found.places.iter().map(text).collect();
        all.sort();
        all
    }

    fn some(path: &str) -> Option<String> {
        Some(path.to_owned())
    }

    #[test]
    fn a_plain_path_has_one_place_however_it_is_spelled() {
        let w = world();
        let absolute = w.root.join("src/new.rs").display().to_string();
        for path in [
            "src/new.rs",
            "./src/new.rs",
            "src/../src/new.rs",
            "tests/../src/new.rs",
            &absolute,
        ] {
            assert_eq!(relatives(&w, path), [some("src/new.rs")], "{path}");
        }
        assert_eq!(relatives(&w, "../other"), [None]);
        assert_eq!(relatives(&w, "../w-evil/x"), [None]);
    }

    #[test]
    fn links_are_followed_in_any_part() {
        let w = world();
        symlink("../tests", w.root.join("src/link")).unwrap();
        symlink("../tests/t.py", w.root.join("src/file")).unwrap();
        symlink("/etc", w.root.join("src/etc")).unwrap();
        assert_eq!(
            relatives(&w, "src/link/t.py"),
            [some("src/link/t.py"), some("tests/t.py")]
        );
        assert_eq!(
            relatives(&w, "src/file"),
            [some("src/file"), some("tests/t.py")]
        );
        assert_eq!(
            relatives(&w, "src/etc/hosts"),
            [None, some("src/etc/hosts")]
        );
        // The kernel goes up from where the link leads.
        assert_eq!(relatives(&w, "src/link/../x"), [some("src/x"), some("x")]);
    }

    #[test]
    fn a_dangling_link_leads_to_where_the_file_would_be_made() {
        let w = world();
        symlink("../tests/new.py", w.root.join("src/new")).unwrap();
        assert_eq!(
            relatives(&w, "src/new"),
            [some("src/new"), some("tests/new.py")]
        );
        symlink("loop", w.root.join("src/loop")).unwrap();
        assert_eq!(relatives(&w, "src/loop"), [some("src/loop")]);
    }

    #[test]
    fn a_link_to_the_project_is_another_spelling_of_it() {
        let w = world();
        let alias = w.root.with_file_name("alias");
        symlink(&w.root, &alias).unwrap();
        let written = alias.join("src/a.rs").display().to_string();
        assert_eq!(relatives(&w, &written), [some("src/a.rs")]);
        let root = root_at(&alias);
        let found = find(&w.root.join("src/a.rs"), &alias, &root, None, &[]);
        assert!(
            found
                .places
                .iter()
                .all(|p| p.relative.as_deref() == Some(Path::new("src/a.rs")))
        );
    }

    #[test]
    fn a_second_name_of_a_file_is_the_file() {
        let w = world();
        fs::hard_link(w.root.join("tests/t.py"), w.root.join("src/t.py")).unwrap();
        assert_eq!(
            relatives(&w, "src/t.py"),
            [some("src/t.py"), some("tests/t.py")]
        );
    }

    #[test]
    fn paths_through_a_process_are_the_agents() {
        let w = world();
        assert_eq!(relatives(&w, "/proc/self/cwd/src/a"), [some("src/a")]);
        let absolute = format!("/proc/1/root{}/src/a", w.root.display());
        assert_eq!(relatives(&w, &absolute), [some("src/a")]);
    }

    #[test]
    fn scratch_is_nobodys_business_but_the_project_in_it_is() {
        let w = world();
        let scratch = [w.root.parent().unwrap().to_owned()];
        let root = root_at(&w.root);
        let at = |p: &str| {
            find(Path::new(p), &w.root, &root, None, &scratch)
                .canonical
                .scratch
        };
        assert!(at("../note.txt"));
        assert!(!at("src/a.rs"));
        assert!(!at("/etc/hosts"));
    }
}
