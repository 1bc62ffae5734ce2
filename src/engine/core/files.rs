//! Keeping the project files (`invar.toml`) and the state together. The files are read and
//! written by those who ask; here it is decided what follows.
//!
//! The file is the truth for the invariants of origin `file`: what it says goes into the state, and
//! a person's change through invar goes into the file before it counts. Two rules keep a guard up
//! while a file is edited by hand: a file that cannot be read keeps its last good content in force,
//! and an entry counts as gone only when all files of its project can be read.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use super::{
    super::{
        EngineError,
        facts::Need,
        project_file::{self, Entry, FileEdit, FileReading, ProjectFile, Stamp},
        state::default_project_name,
        step::{Step, Stop},
    },
    Core,
};
use crate::model::{EventKind, Invariant, InvariantId, Origin, ProjectName, Scope};

/// A project directory's file as the engine knows it.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownFile {
    there: bool,
    stamp: Option<Stamp>,
    file: ProjectFile,
    /// Why it could not be read; its last good content stays in force.
    fault: Option<String>,
}

/// The project files that were read, by project directory.
pub(super) type KnownFiles = HashMap<PathBuf, KnownFile>;

impl Core {
    /// Takes in project files that were read, because they are not as they were or were never
    /// read before.
    pub(crate) fn files_read(&mut self, readings: Vec<FileReading>, step: &mut Step<'_>) {
        // All files are taken in before any counts: the files of one project add up.
        let changed: BTreeSet<ProjectName> = readings
            .into_iter()
            .filter_map(|reading| self.file_read(reading, step))
            .collect();
        for project in changed {
            self.take_over(&project, step);
        }
    }

    /// Takes in one file; the project that it may change.
    fn file_read(&mut self, reading: FileReading, step: &mut Step<'_>) -> Option<ProjectName> {
        let FileReading {
            root,
            there,
            stamp,
            content,
        } = reading;
        let known = self.files.get(&root);
        // A directory that was never read and has no file is as it was.
        let as_it_was = known.map_or(stamp.is_none(), |k| k.stamp == stamp);
        // What a store remembers of a file that is gone must go, but not with a directory that
        // is away as a whole.
        let forgotten = known.is_none() && there && self.has_file_rules(&root);
        let came_or_went = known.is_some_and(|k| k.there != there);
        if as_it_was && !(stamp.is_none() && forgotten) && !came_or_went {
            return None;
        }
        let mut next = known.cloned().unwrap_or_default();
        next.there = there;
        if !there {
            // What was in force stays until the directory is back.
            self.files.insert(root, next);
            return None;
        }
        next.stamp = stamp;
        match content.and_then(|file| self.compiles(file)) {
            Ok(file) => {
                next.file = file;
                next.fault = None;
            }
            Err(fault) => next.fault = Some(fault),
        }
        let named = next.file.project.clone();
        self.files.insert(root.clone(), next);
        Some(self.bind_root(&root, named, stamp.is_some(), step))
    }

    /// Whether the state has invariants of a file for the project of a directory.
    fn has_file_rules(&self, root: &Path) -> bool {
        let scope = Scope::Project(self.state.project_of(root));
        self.state
            .in_scope(&scope)
            .any(|k| k.invariant.origin == Origin::File)
    }

    /// Refuses a file one of whose patterns does not compile: as a whole, since an entry that is
    /// left out would be a rule that is gone without a word.
    fn compiles(&self, file: ProjectFile) -> Result<ProjectFile, String> {
        let scope = Scope::Project(default_project_name(Path::new("/project")));
        for (number, entry) in file.entries.iter().enumerate() {
            self.checked(&scope, &entry.layer, Some(&entry.text))
                .map_err(|e| format!("{}, invariant {}: {e}", project_file::NAME, number + 1))?;
        }
        Ok(file)
    }

    /// The project of a directory: the one that its file names, else the one it was bound to. A
    /// directory with a file is bound to it from then on.
    fn bind_root(
        &mut self,
        root: &Path,
        named: Option<ProjectName>,
        has_file: bool,
        step: &mut Step<'_>,
    ) -> ProjectName {
        let now = self.state.project_of(root);
        let project = named.unwrap_or_else(|| now.clone());
        let bound = self
            .project_record(&project)
            .roots
            .iter()
            .any(|r| r == root);
        if has_file && !bound {
            // Reading a file never fails on the name: it was checked when it was parsed.
            let _ = self.project_bind(project.clone(), root, step);
        }
        project
    }

    /// Brings the project's invariants of origin `file` to what its files say.
    fn take_over(&mut self, project: &ProjectName, step: &mut Step<'_>) {
        let roots = self.project_record(project).roots;
        // While a file cannot be read, or a directory is away, nothing is said to be gone.
        let complete = roots.iter().all(|root| {
            self.files
                .get(root)
                .is_some_and(|k| k.there && k.fault.is_none())
        });
        // Clones of a project have the same entries: those are one.
        let mut wanted: Vec<Entry> = Vec::new();
        for entry in roots
            .iter()
            .filter_map(|r| self.files.get(r))
            .flat_map(|k| &k.file.entries)
        {
            if !wanted.iter().any(|w| w.key() == entry.key()) {
                wanted.push(entry.clone());
            }
        }
        let scope = Scope::Project(project.clone());
        let mut left: Vec<Invariant> = self
            .state
            .in_scope(&scope)
            .map(|k| k.invariant.clone())
            .filter(|i| i.origin == Origin::File)
            .collect();
        // First those whose check or text is the same; only other fields of them may differ.
        let mut new = Vec::new();
        for entry in wanted {
            let same = left.iter().position(|i| Entry::of(i).key() == entry.key());
            match same.map(|at| left.remove(at)) {
                Some(old) if Entry::of(&old) == entry => {}
                Some(old) => self.file_edit(old, &entry, step),
                None => new.push(entry),
            }
        }
        if !complete {
            left.clear();
        }
        // The file has no ids. What is left on both sides is taken for edits, in order, so that an
        // entry whose pattern was changed keeps its id and its history; the rest is new or gone.
        let mut left = left.into_iter();
        for entry in new {
            match left.next() {
                Some(old) => self.file_edit(old, &entry, step),
                None => self.file_add(project, &entry, step),
            }
        }
        for mut gone in left {
            gone.active = false;
            gone.revision += 1;
            let id = gone.id;
            self.emit(
                step,
                EventKind::InvariantRemoved {
                    invariant: gone,
                    journal: None,
                },
            );
            self.corrected_by_change(
                id,
                "the invariant was taken out of the project's file",
                step,
            );
        }
    }

    /// A new entry; one that stood in the file before, on another branch perhaps, comes back as
    /// the same invariant.
    fn file_add(&mut self, project: &ProjectName, entry: &Entry, step: &mut Step<'_>) {
        let scope = Scope::Project(project.clone());
        let key = entry.key();
        let gone = self
            .state
            .invariants
            .values()
            .rev()
            .map(|k| &k.invariant)
            .find(|i| {
                !i.active
                    && i.origin == Origin::File
                    && i.scope == scope
                    && Entry::of(i).key() == key
            });
        match gone.map(|i| (i.id, i.revision, i.created_at)) {
            Some((id, revision, created_at)) => {
                let again = entry.invariant(id, project, created_at);
                let invariant = Invariant {
                    revision: revision + 1,
                    ..again
                };
                self.emit(
                    step,
                    EventKind::InvariantRestored {
                        invariant,
                        journal: None,
                    },
                );
            }
            None => {
                let id = InvariantId(self.new_id(step.now));
                let invariant = entry.invariant(id, project, step.now);
                self.emit(
                    step,
                    EventKind::InvariantAdded {
                        invariant,
                        journal: None,
                    },
                );
            }
        }
    }

    /// An entry that reads otherwise than its invariant: the invariant's next revision.
    fn file_edit(&mut self, old: Invariant, entry: &Entry, step: &mut Step<'_>) {
        let Scope::Project(project) = &old.scope else {
            return;
        };
        let invariant = Invariant {
            revision: old.revision + 1,
            ..entry.invariant(old.id, project, old.created_at)
        };
        self.emit(
            step,
            EventKind::InvariantEdited {
                invariant,
                journal: None,
            },
        );
        self.corrected_by_change(old.id, "the project's file was edited", step);
    }

    /// The origin of a new invariant in `scope`: a project with a file keeps it there.
    pub(super) fn origin_in(&self, scope: &Scope) -> Origin {
        match self.writable_root(scope) {
            Some(_) => Origin::File,
            None => Origin::User,
        }
    }

    /// The first directory of a project that has a file; `None` for other scopes, and for a
    /// project that keeps its invariants in the store.
    fn writable_root(&self, scope: &Scope) -> Option<PathBuf> {
        let Scope::Project(project) = scope else {
            return None;
        };
        let roots = &self.state.projects.get(project)?.roots;
        let has_file = |root: &&PathBuf| self.files.get(*root).is_some_and(|k| k.stamp.is_some());
        roots.iter().find(has_file).cloned()
    }

    /// The edit of a project's file that a person's change of an invariant of origin `file`
    /// needs; `None` when it needs none.
    ///
    /// # Errors
    /// The file is not where it was.
    fn edit_of_file(
        &self,
        before: Option<&Invariant>,
        after: Option<&Invariant>,
    ) -> Result<Option<FileEdit>, EngineError> {
        let in_file = |i: &&Invariant| i.origin == Origin::File && i.active;
        let (before, after) = (before.filter(in_file), after.filter(in_file));
        let Some(any) = before.or(after) else {
            return Ok(None);
        };
        let entry = before.map(Entry::of);
        let root = match &entry {
            Some(entry) => self.root_holding(any, entry),
            None => self.writable_root(&any.scope),
        };
        let Some(root) = root else {
            // Left over from a directory that is gone: it can be removed, and nothing else.
            if after.is_none() {
                return Ok(None);
            }
            return Err(EngineError::failed(format!(
                "the project's {} is not where it was, so invariant {} cannot be changed in it",
                project_file::NAME,
                any.id
            ))
            .hint("run invar in the project's directory"));
        };
        Ok(Some(FileEdit {
            root,
            before: entry,
            after: after.map(Entry::of),
        }))
    }

    /// Makes sure that changes of invariants of origin `file` stand in their files before they
    /// count. Each is the invariant before and after.
    ///
    /// # Errors
    /// A file is not where it was; or the edits are to be made first.
    pub(super) fn in_files_first(
        &mut self,
        changes: &[(Option<&Invariant>, Option<&Invariant>)],
        step: &Step<'_>,
    ) -> Result<(), Stop> {
        let mut missing = Vec::new();
        for (before, after) in changes {
            let Some(edit) = self.edit_of_file(*before, *after)? else {
                continue;
            };
            let mut written = step.facts.written.iter();
            if !written.any(|(made, _)| *made == edit) {
                missing.push(edit);
            }
        }
        if !missing.is_empty() {
            return Err(Need::Write(missing).into());
        }
        // All of them are written. What was read back is known now, so that the watcher that
        // reports the same content later finds nothing new.
        for (_, reading) in &step.facts.written {
            let file = KnownFile {
                there: reading.there,
                stamp: reading.stamp,
                file: reading.content.clone().unwrap_or_default(),
                fault: reading.content.as_ref().err().cloned(),
            };
            self.files.insert(reading.root.clone(), file);
        }
        Ok(())
    }

    /// The first directory of the invariant's project whose file has the entry.
    fn root_holding(&self, invariant: &Invariant, entry: &Entry) -> Option<PathBuf> {
        let Scope::Project(project) = &invariant.scope else {
            return None;
        };
        let roots = &self.state.projects.get(project)?.roots;
        let key = entry.key();
        let holds = |root: &&PathBuf| {
            self.files
                .get(*root)
                .is_some_and(|k| k.file.entries.iter().any(|e| e.key() == key))
        };
        roots.iter().find(holds).cloned()
    }

    /// Why the file of a project directory cannot be used.
    pub(super) fn file_fault(&self, root: &Path) -> Option<&str> {
        self.files.get(root)?.fault.as_deref()
    }

    /// Why files of a project cannot be used.
    pub(super) fn file_faults(&self, project: &ProjectName) -> Vec<String> {
        let record = self.state.projects.get(project);
        let roots = record.map(|p| p.roots.as_slice()).unwrap_or_default();
        roots
            .iter()
            .filter_map(|r| self.file_fault(r))
            .map(str::to_owned)
            .collect()
    }
}
