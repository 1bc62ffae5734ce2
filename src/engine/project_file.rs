//! `invar.toml`: a project's invariants under version control. Read as it is written, and
//! written back with its comments and order kept.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, value};

use super::{EngineError, config::toml_fault};
use crate::{
    model::{
        Checkpoint, Invariant, InvariantId, Layer, LayerKind, LetterCheck, Origin, ProjectName,
        Remedy, Scope, Severity,
    },
    rules::normalise::{Key, key},
};

/// The file's name in the project's root.
pub const NAME: &str = "invar.toml";

/// What tells one state of a file from another without reading it.
pub type Stamp = (i64, i64, u64, u64);

/// A project's file as it was read last.
#[derive(Debug, Clone, Default)]
pub struct ProjectFile {
    pub project: Option<ProjectName>,
    /// The invariants of the file, in its order; ids are not theirs to give.
    pub entries: Vec<Entry>,
}

/// One invariant of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub text: String,
    pub layer: Layer,
    pub severity: Severity,
    pub on_invariant_breach: Option<Remedy>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRepr {
    project: Option<ProjectName>,
    #[serde(default)]
    invariants: Vec<EntryRepr>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryRepr {
    text: Option<String>,
    layer: Option<LayerKind>,
    no_edits_outside: Option<Vec<String>>,
    untouched: Option<String>,
    checkpoint: Option<Checkpoint>,
    when: Option<Vec<String>>,
    #[serde(default)]
    severity: Severity,
    on_invariant_breach: Option<Remedy>,
}

impl Entry {
    /// The entry of an invariant.
    pub fn of(invariant: &Invariant) -> Self {
        Self {
            text: invariant.text.clone(),
            layer: invariant.layer.clone(),
            severity: invariant.severity,
            on_invariant_breach: invariant.on_invariant_breach,
        }
    }

    /// The invariant of the project that it stands for.
    pub fn invariant(
        &self,
        id: InvariantId,
        project: &ProjectName,
        now: jiff::Timestamp,
    ) -> Invariant {
        let scope = Scope::Project(project.clone());
        Invariant {
            severity: self.severity,
            on_invariant_breach: self.on_invariant_breach,
            origin: Origin::File,
            ..Invariant::new(id, scope, self.layer.clone(), &self.text, now)
        }
    }

    /// What makes it the same as another.
    pub fn key(&self) -> Key {
        let id = InvariantId(ulid::Ulid::nil());
        let now = jiff::Timestamp::UNIX_EPOCH;
        key(&Invariant::new(
            id,
            Scope::Global,
            self.layer.clone(),
            &self.text,
            now,
        ))
    }
}

/// Where the file of a project directory lies, and its stamp; `None` when there is none.
pub fn stamp(root: &Path) -> Option<Stamp> {
    let meta = fs::metadata(root.join(NAME)).ok()?;
    Some((meta.mtime(), meta.mtime_nsec(), meta.size(), meta.ino()))
}

/// Reads the file of a project directory.
///
/// # Errors
/// What cannot be read or understood, with line and column.
pub fn read(root: &Path) -> Result<ProjectFile, String> {
    let path = root.join(NAME);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(ProjectFile::default()),
        Err(e) => return Err(format!("{} cannot be read: {e}", path.display())),
    };
    parse(&text).map_err(|fault| format!("{}, {fault}", path.display()))
}

/// Parses the text of a file.
///
/// # Errors
/// The first fault, with line and column or with the number of the entry.
pub fn parse(text: &str) -> Result<ProjectFile, String> {
    let file: FileRepr = toml::from_str(text).map_err(|error| toml_fault(text, &error))?;
    let mut entries = Vec::with_capacity(file.invariants.len());
    for (number, repr) in file.invariants.into_iter().enumerate() {
        let entry = entry(repr).map_err(|e| format!("invariant {}: {e}", number + 1))?;
        entries.push(entry);
    }
    Ok(ProjectFile {
        project: file.project,
        entries,
    })
}

fn entry(repr: EntryRepr) -> Result<Entry, String> {
    let letter = repr.no_edits_outside.is_some() || repr.untouched.is_some();
    let layer = repr.layer.unwrap_or(if letter {
        LayerKind::Letter
    } else {
        LayerKind::Plain
    });
    let fields = serde_json::json!({
        "layer": layer, "no_edits_outside": repr.no_edits_outside, "untouched": repr.untouched,
        "checkpoint": repr.checkpoint, "when": repr.when,
    });
    let layer = Layer::from_fields(fields).map_err(|e| e.to_string())?;
    let text = match (repr.text, layer.letter()) {
        (Some(text), _) => text,
        (None, Some(check)) => check.sentence(),
        (None, None) => String::new(),
    };
    let text = crate::model::clean_text(&text).map_err(|e| e.to_string())?;
    Ok(Entry {
        text,
        layer,
        severity: repr.severity,
        on_invariant_breach: repr.on_invariant_breach,
    })
}

/// Writes a change into the file: the entry with the key of `before` becomes `after`, or goes;
/// without `before`, `after` is appended. Everything else stays as it stands.
///
/// # Errors
/// The file cannot be read or written, or has no such entry any more.
pub fn change(
    root: &Path,
    before: Option<&Entry>,
    after: Option<&Entry>,
) -> Result<(), EngineError> {
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
    // Whole or not at all, and with the file's own permissions.
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

/// The roots of a project whose file can be written to.
pub fn writable(roots: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    roots.iter().filter(|root| root.join(NAME).exists())
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
