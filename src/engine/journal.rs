//! The changes that people can take back: a fold over the events about invariants, so that the
//! log says all of it. Undo belongs to a project: what it takes back touches that project, or
//! none.

use crate::{
    model::{Invariant, JournalEntry, JournalStep, ProjectName},
    store::Row,
};

/// How many changes can be taken back.
const DEPTH: usize = 200;

/// Changes that can be undone or done again, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Journal(Vec<JournalEntry>);

/// The entries of one command that can be taken back, or done again, in a project.
pub type Group<'a> = Vec<&'a JournalEntry>;

impl Journal {
    /// The entries that a store or an engine told, oldest first.
    pub fn new(entries: Vec<JournalEntry>) -> Self {
        Self(entries)
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> &[JournalEntry] {
        &self.0
    }

    /// The number of the next entry, which is also a group for the changes of one command.
    pub fn next(&self) -> u64 {
        self.0.last().map_or(1, |e| e.number + 1)
    }

    /// Goes on from other entries; the rows that change.
    pub fn restart(&mut self, entries: &[JournalEntry]) -> Vec<Row> {
        let stays = |number: u64| entries.iter().any(|e| e.number == number);
        let gone = self.0.iter().map(|e| e.number).filter(|n| !stays(*n));
        let mut rows: Vec<Row> = gone.map(Row::JournalDropped).collect();
        rows.extend(entries.iter().cloned().map(Row::Journal));
        self.0 = entries.to_vec();
        rows
    }

    /// Takes in what an event about an invariant means to the journal; `before` is the invariant
    /// as it was. Returns the rows that change.
    pub fn take(
        &mut self,
        step: &JournalStep,
        before: Option<Invariant>,
        after: &Invariant,
    ) -> Vec<Row> {
        match step {
            JournalStep::Noted { group, projects } => {
                let entry = JournalEntry {
                    number: self.next(),
                    group: *group,
                    projects: projects.clone(),
                    before,
                    after: after.clone(),
                    undone: false,
                };
                self.note(entry)
            }
            JournalStep::Undone { number } => self.mark(*number, true),
            JournalStep::Redone { number } => self.mark(*number, false),
        }
    }

    /// Notes a change. What was undone where it counts can then no longer be done again.
    fn note(&mut self, entry: JournalEntry) -> Vec<Row> {
        let meets = |e: &JournalEntry| {
            e.projects.is_empty()
                || entry.projects.is_empty()
                || e.projects.iter().any(|p| entry.projects.contains(p))
        };
        let mut rows = Vec::new();
        self.0.retain(|e| {
            let gone = e.undone && meets(e);
            rows.extend(gone.then_some(Row::JournalDropped(e.number)));
            !gone
        });
        if self.0.len() >= DEPTH {
            rows.push(Row::JournalDropped(self.0.remove(0).number));
        }
        rows.push(Row::Journal(entry.clone()));
        self.0.push(entry);
        rows
    }

    fn mark(&mut self, number: u64, undone: bool) -> Vec<Row> {
        let Some(entry) = self.0.iter_mut().find(|e| e.number == number) else {
            return Vec::new();
        };
        entry.undone = undone;
        vec![Row::Journal(entry.clone())]
    }

    /// What `undo` takes back in a project, youngest first; empty when there is nothing.
    ///
    /// # Errors
    /// The last change touches another project as well: its entry.
    pub fn to_undo(&self, project: &ProjectName) -> Result<Group<'_>, &JournalEntry> {
        let open = || self.0.iter().rev().filter(|e| !e.undone);
        group(open, project)
    }

    /// What `redo` does again in a project, oldest first; empty when there is nothing.
    ///
    /// # Errors
    /// What was undone first touches another project as well: its entry.
    pub fn to_redo(&self, project: &ProjectName) -> Result<Group<'_>, &JournalEntry> {
        let undone = || self.0.iter().filter(|e| e.undone);
        group(undone, project)
    }
}

/// The entries of the first group that counts in a project, without those of other projects.
fn group<'a, I: Iterator<Item = &'a JournalEntry>>(
    entries: impl Fn() -> I,
    project: &ProjectName,
) -> Result<Group<'a>, &'a JournalEntry> {
    let counts = |e: &&JournalEntry| e.projects.is_empty() || e.projects.contains(project);
    let Some(first) = entries().find(counts) else {
        return Ok(Vec::new());
    };
    let group: Group<'a> = entries()
        .filter(counts)
        .filter(|e| e.group == first.group)
        .collect();
    match group.iter().find(|e| e.projects.len() > 1) {
        Some(shared) => Err(shared),
        None => Ok(group),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{InvariantId, Layer, Scope};

    fn invariant(n: u64) -> Invariant {
        let id = InvariantId(ulid::Ulid::from_parts(n, 1));
        let now = jiff::Timestamp::UNIX_EPOCH;
        Invariant::new(id, Scope::Global, Layer::Plain, "text", now)
    }

    fn project(name: &str) -> ProjectName {
        name.parse().unwrap()
    }

    fn noted(journal: &mut Journal, n: u64, projects: &[&str]) {
        let step = JournalStep::Noted {
            group: journal.next(),
            projects: projects.iter().map(|p| project(p)).collect(),
        };
        journal.take(&step, None, &invariant(n));
    }

    fn numbers(group: Result<Group<'_>, &JournalEntry>) -> Vec<u64> {
        group.unwrap().iter().map(|e| e.number).collect()
    }

    #[test]
    fn a_project_undoes_what_is_its_own_or_nobodys() {
        let (a, b) = (project("local/a"), project("local/b"));
        let mut journal = Journal::default();
        noted(&mut journal, 1, &["local/a"]);
        noted(&mut journal, 2, &[]);
        noted(&mut journal, 3, &["local/b"]);
        assert_eq!(numbers(journal.to_undo(&a)), [2]);
        assert_eq!(numbers(journal.to_undo(&b)), [3]);
        journal.take(&JournalStep::Undone { number: 2 }, None, &invariant(2));
        assert_eq!(numbers(journal.to_undo(&a)), [1]);
        assert_eq!(numbers(journal.to_redo(&b)), [2]);
        noted(&mut journal, 4, &["local/a"]);
        assert_eq!(numbers(journal.to_redo(&b)), [] as [u64; 0]);
    }

    #[test]
    fn what_a_project_undid_stays_when_another_goes_on() {
        let (a, b) = (project("local/a"), project("local/b"));
        let mut journal = Journal::default();
        noted(&mut journal, 1, &["local/a"]);
        journal.take(&JournalStep::Undone { number: 1 }, None, &invariant(1));
        noted(&mut journal, 2, &["local/b"]);
        assert_eq!(numbers(journal.to_redo(&a)), [1]);
        assert_eq!(numbers(journal.to_undo(&b)), [2]);
    }

    #[test]
    fn a_move_from_one_project_to_another_is_taken_back_in_neither() {
        let (a, c) = (project("local/a"), project("local/c"));
        let mut journal = Journal::default();
        noted(&mut journal, 1, &["local/a"]);
        noted(&mut journal, 2, &["local/a", "local/b"]);
        assert_eq!(journal.to_undo(&a).unwrap_err().number, 2);
        assert_eq!(numbers(journal.to_undo(&c)), [] as [u64; 0]);
    }

    #[test]
    fn the_oldest_goes_when_there_are_too_many() {
        let mut journal = Journal::default();
        for n in 0..DEPTH as u64 + 2 {
            noted(&mut journal, n, &[]);
        }
        assert_eq!(journal.entries().len(), DEPTH);
        assert_eq!(journal.entries()[0].number, 3);
    }
}
