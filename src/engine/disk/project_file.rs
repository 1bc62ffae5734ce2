//! Reading and writing `invar.toml`: read as it is written, and written back with its comments
//! and order kept. And which of the files have changed since they were read last.

use std::{
    collections::HashMap,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, value};

use crate::{
    EngineError,
    model::{Checkpoint, Layer, LetterCheck, Severity},
    project_file::{Entry, FileEdit, FileReading, NAME, ProjectFile, Stamp, parse},
};

/// The project files as they were read last.
#[derive(Debug, Default)]
pub struct ProjectFiles {
    seen: Mutex<HashMap<PathBuf, Seen>>,
    /// All files count as not read at the next look.
    forgotten: AtomicBool,
}

/// What is known of the file of one directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Seen {
    /// The directory is there.
    there: bool,
    /// `None`: there is no file.
    stamp: Option<Stamp>,
    /// It was looked at; a directory is known before.
    looked: bool,
    /// The file had invariants.
    filled: bool,
}

impl ProjectFiles {
    /// Looks at the file of `root`, and unless `only` that one is wanted, at those of all
    /// directories that are known. What has changed is handed to `take` before anybody else can
    /// look, so that nobody who looks later is decided earlier. `take` may call
    /// [`ProjectFiles::forget`], and nothing else of this.
    pub fn look<T>(
        &self,
        root: Option<&Path>,
        only: bool,
        take: impl FnOnce(Vec<FileReading>) -> T,
    ) -> T {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if self.forgotten.swap(false, Ordering::Relaxed) {
            seen.values_mut().for_each(|s| *s = Seen::default());
        }
        if let Some(root) = root.filter(|r| !seen.contains_key(*r)) {
            seen.insert(root.to_owned(), Seen::default());
        }
        let mut readings = Vec::new();
        let wanted = |of: &&PathBuf| !only || root == Some(of.as_path());
        for (root, seen) in seen.iter_mut().filter(|(of, _)| wanted(of)) {
            readings.extend(look_at(root, seen));
        }
        readings.sort_by(|a, b| a.root.cmp(&b.root));
        take(readings)
    }

    /// Directories whose files are looked at from now on.
    pub fn know<'a>(&self, roots: impl Iterator<Item = &'a PathBuf>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for root in roots {
            seen.entry(root.clone()).or_default();
        }
    }

    /// All files count as not read, after what they said was lost. It takes no lock: what a look
    /// hands on can be lost while the look still holds it.
    pub fn forget(&self) {
        self.forgotten.store(true, Ordering::Relaxed);
    }

    /// Writes a change into a file; how the file reads then.
    ///
    /// # Errors
    /// The file cannot be read or written, or has no such entry any more. Nothing is changed
    /// then.
    pub fn write(&self, edit: &FileEdit) -> Result<FileReading, EngineError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        change(&edit.root, edit.before.as_ref(), edit.after.as_ref())?;
        let seen = seen.entry(edit.root.clone()).or_default();
        let reading = reading(&edit.root);
        *seen = Seen::of(&reading);
        Ok(reading)
    }
}

impl Seen {
    fn of(reading: &FileReading) -> Self {
        let filled = reading
            .content
            .as_ref()
            .is_ok_and(|f| !f.entries.is_empty());
        Self {
            there: reading.there,
            stamp: reading.stamp,
            looked: true,
            filled,
        }
    }
}

/// Reads the file of a directory when it is not as it was.
fn look_at(root: &Path, seen: &mut Seen) -> Option<FileReading> {
    let now = (root.is_dir(), stamp(root));
    if seen.looked && now == (seen.there, seen.stamp) {
        return None;
    }
    // An editor empties a file before it writes it; what was in force stays until it has.
    let being_written = now.1.is_some_and(|(_, _, size, _)| size == 0);
    if being_written && seen.filled {
        return None;
    }
    let reading = reading(root);
    *seen = Seen::of(&reading);
    Some(reading)
}

fn reading(root: &Path) -> FileReading {
    FileReading {
        root: root.to_owned(),
        there: root.is_dir(),
        stamp: stamp(root),
        content: read(root),
    }
}

/// The stamp of the file of a project directory; `None` when there is none.
fn stamp(root: &Path) -> Option<Stamp> {
    let meta = fs::metadata(root.join(NAME)).ok()?;
    Some((meta.mtime(), meta.mtime_nsec(), meta.size(), meta.ino()))
}

/// Reads the file of a project directory.
///
/// # Errors
/// What cannot be read or understood, with line and column.
fn read(root: &Path) -> Result<ProjectFile, String> {
    let path = root.join(NAME);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(ProjectFile::default()),
        Err(e) => return Err(format!("{} cannot be read: {e}", path.display())),
    };
    parse(&text).map_err(|fault| format!("{}, {fault}", path.display()))
}

/// Writes a change into the file: `before` becomes `after`; `None` for an entry that is added or
/// removed. Everything else stays as it stands, comments too.
///
/// # Errors
/// The file cannot be read or written, or has no such entry any more. Nothing is changed then.
fn change(root: &Path, before: Option<&Entry>, after: Option<&Entry>) -> Result<(), EngineError> {
    let path = root.join(NAME);
    let fail = |what: String| {
        EngineError::failed(format!("{}: {what}; nothing was changed", path.display()))
    };
    let text = fs::read_to_string(&path).map_err(|e| fail(format!("it cannot be read ({e})")))?;
    let now = parse(&text).map_err(fail)?;
    let mut document: DocumentMut = text.parse().map_err(|e| fail(format!("{e}")))?;
    let list = document
        .entry("invariants")
        .or_insert(Item::ArrayOfTables(ArrayOfTables::new()))
        .as_array_of_tables_mut()
        .ok_or_else(|| fail("write the invariants as [[invariants]] tables".into()))?;
    match before {
        None => {
            if let Some(after) = after {
                let mut table = Table::new();
                fill(&mut table, after);
                list.push(table);
            }
        }
        Some(before) => {
            let wanted = before.key();
            let index = now
                .entries
                .iter()
                .position(|e| e.key() == wanted)
                .ok_or_else(|| fail("the invariant is not in it any more".into()))?;
            match (after, list.get_mut(index)) {
                (Some(after), Some(table)) => fill(table, after),
                _ => {
                    list.remove(index);
                }
            }
        }
    }
    // Whole or not at all, and with the file's own permissions: a reader never meets half a file.
    let fresh = root.join(".invar.toml.new");
    fs::write(&fresh, document.to_string())
        .and_then(|()| fs::set_permissions(&fresh, fs::metadata(&path)?.permissions()))
        .and_then(|()| fs::rename(&fresh, &path))
        .map_err(|e| fail(format!("it cannot be written ({e})")))
}

/// Sets the fields of an entry; a field that says the default is left out unless it stood there.
fn fill(table: &mut Table, entry: &Entry) {
    let list = |patterns: &[String]| value(patterns.iter().collect::<Array>());
    let mut set = |name: &str, item: Option<Item>| match item {
        Some(item) => match table.get_mut(name).and_then(Item::as_value_mut) {
            // The comment behind a value stays.
            Some(old) => {
                let decor = old.decor().clone();
                if let Ok(mut new) = item.into_value() {
                    *new.decor_mut() = decor;
                    *old = new;
                }
            }
            None => {
                table.insert(name, item);
            }
        },
        None => {
            table.remove(name);
        }
    };
    let written = entry
        .layer
        .letter()
        .is_some_and(|c| c.sentence() == entry.text);
    set("text", (!written).then(|| value(entry.text.clone())));
    let named = !matches!(entry.layer, Layer::Plain | Layer::Letter(_));
    set("layer", named.then(|| value(entry.layer.kind().as_str())));
    let (mut outside, mut untouched, mut checkpoint, mut when) = (None, None, None, None);
    match &entry.layer {
        Layer::Plain => {}
        Layer::Letter(LetterCheck::NoEditsOutside(patterns)) => outside = Some(list(patterns)),
        Layer::Letter(LetterCheck::Untouched(pattern)) => untouched = Some(value(pattern.clone())),
        Layer::Judgment { checkpoint: at } => {
            checkpoint = Some(match at {
                Checkpoint::EachNIterations(n) => {
                    let mut inline = toml_edit::InlineTable::new();
                    inline.insert("each_n_iterations", i64::from(n.get()).into());
                    value(inline)
                }
                named => value(named.to_string()),
            });
        }
        Layer::Assent { when: globs } => when = (!globs.is_empty()).then(|| list(globs)),
    }
    set("no_edits_outside", outside);
    set("untouched", untouched);
    set("checkpoint", checkpoint);
    set("when", when);
    let severity = (entry.severity != Severity::Error).then(|| value(entry.severity.as_str()));
    set("severity", severity);
    set(
        "on_invariant_breach",
        entry.on_invariant_breach.map(|r| value(r.as_str())),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"# Rules of the house.
project = "local/tidewater"

# The agent mends code and nothing else.
[[invariants]]
no_edits_outside = ["src/**"] # for now

[[invariants]]
text = "All API changes need tests" # said in the review
severity = "warning"

# Keep.
[[invariants]]
layer = "judgment"
text = "Changes stay minimal."
checkpoint = { each_n_iterations = 5 }
"#;

    fn folder(text: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(NAME), text).unwrap();
        dir
    }

    #[test]
    fn what_is_lost_while_it_is_handed_on_is_read_again() {
        let dir = folder(FILE);
        let files = ProjectFiles::default();
        // As an engine on the same thread does, when it cannot record what the file says.
        let lost = files.look(Some(dir.path()), true, |readings| {
            files.forget();
            readings
        });
        let again = files.look(Some(dir.path()), true, |readings| readings);
        assert_eq!((lost.len(), &again), (1, &lost));
        let once_more = files.look(Some(dir.path()), true, |readings| readings);
        assert_eq!(once_more, []);
    }

    fn after(before: Option<usize>, change_to: impl Fn(&mut Entry) -> bool) -> String {
        let dir = folder(FILE);
        let old = before.map(|n| read(dir.path()).unwrap().entries[n].clone());
        let mut new = old.clone().unwrap_or(Entry {
            text: "new".into(),
            layer: Layer::Plain,
            severity: Severity::Error,
            on_invariant_breach: None,
        });
        let keep = change_to(&mut new);
        change(dir.path(), old.as_ref(), keep.then_some(&new)).unwrap();
        fs::read_to_string(dir.path().join(NAME)).unwrap()
    }

    #[test]
    fn the_file_is_read() {
        let file = parse(FILE).unwrap();
        assert_eq!(file.project.unwrap().as_str(), "local/tidewater");
        let texts: Vec<_> = file.entries.iter().map(|e| e.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "no edits outside src/**",
                "All API changes need tests",
                "Changes stay minimal."
            ]
        );
        assert_eq!(file.entries[1].severity, Severity::Warning);
    }

    #[test]
    fn a_fault_is_told_with_its_place() {
        for (text, part) in [
            ("projet = \"x\"\n", "line 1"),
            ("[[invariants]]\nuntuched = \"a\"\n", "line 2, column 1"),
            (
                "[[invariants]]\nuntouched = \"a\"\nno_edits_outside = [\"b\"]\n",
                "invariant 1: an invariant takes one letter form",
            ),
            (
                "[[invariants]]\nseverity = \"info\"\n",
                "invariant 1: the text is empty",
            ),
            ("[[invariants]]\ntext = \n", "line 2"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_change_keeps_comments_and_order() {
        let text = after(Some(1), |e| {
            e.text = "All API changes need two tests".into();
            true
        });
        assert_eq!(text, FILE.replace("need tests", "need two tests"));
        let text = after(Some(0), |e| {
            e.layer = Layer::Letter(LetterCheck::NoEditsOutside(vec![
                "src/**".into(),
                "docs/*".into(),
            ]));
            e.text = "no edits outside src/**, docs/*".into();
            true
        });
        assert_eq!(
            text,
            FILE.replace("[\"src/**\"]", "[\"src/**\", \"docs/*\"]")
        );
    }

    #[test]
    fn a_removal_takes_one_entry_and_an_addition_comes_last() {
        let text = after(Some(1), |_| false);
        assert!(
            !text.contains("need tests") && text.contains("# Keep.") && text.contains("# for now")
        );
        assert_eq!(parse(&text).unwrap().entries.len(), 2);
        let text = after(None, |_| true);
        assert!(text.starts_with(FILE.trim_end()), "{text}");
        assert_eq!(parse(&text).unwrap().entries[3].text, "new");
    }

    #[test]
    fn an_entry_that_is_gone_is_told() {
        let dir = folder("");
        let entry = parse(FILE).unwrap().entries.remove(0);
        let error = change(dir.path(), Some(&entry), None)
            .unwrap_err()
            .to_string();
        assert!(error.contains("not in it any more"), "{error}");
    }
}
