//! What `invar.toml` says: a project's invariants under version control.

use std::path::PathBuf;

use serde::Deserialize;

use super::config::toml_fault;
use crate::{
    model::{
        Checkpoint, Invariant, InvariantId, Layer, LayerKind, Origin, ProjectName, Remedy, Scope,
        Severity,
    },
    rules::normalise::{Key, key},
};

/// The file's name in the project's root.
pub const NAME: &str = "invar.toml";

/// What tells one state of a file from another without reading it.
pub type Stamp = (i64, i64, u64, u64);

/// A project's file as it was read last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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

/// What a look at the file of one project directory found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReading {
    /// The project directory.
    pub root: PathBuf,
    /// Whether the directory is there at all.
    pub there: bool,
    /// `None`: there is no file in it.
    pub stamp: Option<Stamp>,
    /// What the file says, or why it cannot be read, with line and column.
    pub content: Result<ProjectFile, String>,
}

/// A change of a project's file: the entry with the key of `before` becomes `after`, or goes;
/// without `before`, `after` is appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// The project directory.
    pub root: PathBuf,
    pub before: Option<Entry>,
    pub after: Option<Entry>,
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
