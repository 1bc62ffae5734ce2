//! Taking a store of an older schema over. Each step is one transaction, after a copy of the
//! file beside it, so that it happens as a whole or not at all.

use std::{
    collections::{BTreeMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use redb::{ReadableTable, TableDefinition, WriteTransaction};
use serde::de::DeserializeOwned;

use super::{NOTABLE_KEPT, Record, Row, Store, StoreError, open::SCHEMA, tables::*};
use invar_model::{
    Assent, Cost, DayCost, Event, EventKind, Invariant, InvariantId, JournalEntry, JudgeCheck,
    JudgeReading, JudgedAction, Plan, PlanId, ProjectName, Scope, Session, Strike, Violation,
};

/// The table of the first schema in which checks lay by plan and id.
const CHECKS_BY_PLAN: RowTable = TableDefinition::new("checks");

/// Where the copy of a store lies that was made before it took `schema`.
pub(super) fn copy_path(store: &Path, schema: u32) -> PathBuf {
    let mut name = store.file_name().unwrap_or_default().to_owned();
    name.push(format!(".before-schema-{schema}"));
    store.with_file_name(name)
}

/// Copies a store that nobody has open, for the owner alone. An older copy is replaced.
pub(super) fn copy(store: &Path, schema: u32) -> Result<(), StoreError> {
    let fail =
        |e: io::Error| StoreError::io(store, "make a copy beside it before migrating it", &e);
    let to = copy_path(store, schema);
    let mut part = to.clone().into_os_string();
    part.push(".part");
    let part = PathBuf::from(part);
    // A copy keeps the mode of the file, which is the owner's alone.
    fs::copy(store, &part).map_err(fail)?;
    fs::File::open(&part)
        .and_then(|file| file.sync_all())
        .map_err(fail)?;
    fs::rename(&part, &to).map_err(fail)
}

impl Store {
    /// Takes a store of the first schema over: plans that are over leave what engines load,
    /// checks lie by age, and what the log did not say becomes an event.
    pub(super) fn migrate_from_1(&self) -> Result<(), StoreError> {
        let doing = "migrate it to schema 2";
        let txn = self.write(doing)?;
        for table in ROW_TABLES {
            txn.open_table(table).map_err(self.fail(doing))?;
        }
        let mut rows = Vec::new();
        let plans: BTreeMap<PlanId, Plan> = self
            .typed::<Plan>(&txn, PLANS)?
            .into_iter()
            .map(|plan| (plan.id, plan))
            .collect();
        let sessions: Vec<Session> = self.typed(&txn, SESSIONS)?;
        let at_work: HashSet<PlanId> = sessions
            .iter()
            .filter(|s| s.is_live())
            .map(|s| s.plan)
            .collect();
        // The rule of the engine: a plan leaves when it is over and no session is in it.
        let goes_on = |id: &PlanId| {
            plans
                .get(id)
                .is_some_and(|plan| !plan.is_over() || at_work.contains(id))
        };
        let past = |record: Record, plan: &PlanId| (!goes_on(plan)).then_some(Row::Past(record));
        rows.extend(
            plans
                .values()
                .filter_map(|v| past(Record::Plan(v.clone()), &v.id)),
        );
        rows.extend(sessions.into_iter().filter_map(|v| {
            let plan = v.plan;
            past(Record::Session(v), &plan)
        }));
        rows.extend(
            self.typed::<Strike>(&txn, STRIKES)?
                .into_iter()
                .filter_map(|v| {
                    let plan = v.plan_id;
                    past(Record::Strike(v), &plan)
                }),
        );
        rows.extend(
            self.typed::<Violation>(&txn, VIOLATIONS)?
                .into_iter()
                .filter_map(|v| {
                    let plan = v.plan_id;
                    past(Record::Violation(v), &plan)
                }),
        );
        rows.extend(
            self.typed::<Assent>(&txn, ASSENTS)?
                .into_iter()
                .filter_map(|v| {
                    let plan = v.plan_id;
                    past(Record::Assent(v), &plan)
                }),
        );
        rows.extend(
            self.readable_invariants(&txn)?
                .into_iter()
                .filter_map(|v| match v.scope {
                    Scope::Plan(plan) => past(Record::Invariant(v), &plan),
                    _ => None,
                }),
        );
        rows.extend(
            self.typed::<JudgedAction>(&txn, JUDGED_ACTIONS)?
                .iter()
                .filter(|v| !goes_on(&v.plan_id))
                .map(|v| Row::JudgedActionDropped(v.plan_id, v.seq)),
        );
        rows.extend(self.checks_by_age(&txn, &goes_on)?);
        let mut plans_of = BTreeMap::new();
        for action in plans.values().filter_map(|plan| plan.action.clone()) {
            *plans_of.entry(action).or_insert(0) += 1;
        }
        rows.extend(
            plans_of
                .into_iter()
                .map(|(a, count)| Row::PlansOf(a, count)),
        );
        rows.extend(self.notable_so_far(&txn)?.into_iter().map(Row::Notable));
        let journal = self.journal_with_projects(&txn, &plans)?;
        rows.extend(journal.iter().cloned().map(Row::Journal));
        self.write_rows(&txn, &rows)?;
        let seq = self.head_in(&txn)?.0 + 1;
        let migrated = Event {
            seq,
            at: Timestamp::now(),
            kind: EventKind::StoreMigrated {
                from: 1,
                to: SCHEMA,
                journal,
            },
        };
        self.append_events(&txn, &[migrated])?;
        self.write_schema(&txn, SCHEMA)?;
        txn.commit().map_err(self.fail(doing))
    }

    fn typed<T: DeserializeOwned>(
        &self,
        txn: &WriteTransaction,
        table: RowTable,
    ) -> Result<Vec<T>, StoreError> {
        let doing = "read";
        let open = txn.open_table(table).map_err(self.fail(doing))?;
        let mut out = Vec::new();
        for row in open.iter().map_err(self.fail(doing))? {
            let (key, value) = row.map_err(self.fail(doing))?;
            out.push(self.decoded(table, key.value(), value.value())?);
        }
        Ok(out)
    }

    /// One that cannot be read stays where it is, and is named when the store is loaded.
    fn readable_invariants(&self, txn: &WriteTransaction) -> Result<Vec<Invariant>, StoreError> {
        let doing = "read";
        let open = txn.open_table(INVARIANTS).map_err(self.fail(doing))?;
        let mut out = Vec::new();
        for row in open.iter().map_err(self.fail(doing))? {
            let (key, value) = row.map_err(self.fail(doing))?;
            out.extend(self.decoded(INVARIANTS, key.value(), value.value()).ok());
        }
        Ok(out)
    }

    /// Lays the checks by age, and sums up what an engine wants to know of them.
    fn checks_by_age(
        &self,
        txn: &WriteTransaction,
        goes_on: &dyn Fn(&PlanId) -> bool,
    ) -> Result<Vec<Row>, StoreError> {
        let doing = "migrate it to schema 2";
        let mut checks: Vec<JudgeCheck> = self.typed(txn, CHECKS_BY_PLAN)?;
        checks.sort_by_key(|check| check.id);
        txn.delete_table(CHECKS_BY_PLAN).map_err(self.fail(doing))?;
        txn.open_table(CHECKS).map_err(self.fail(doing))?;
        let mut readings: BTreeMap<(PlanId, InvariantId), JudgeReading> = BTreeMap::new();
        let mut days: BTreeMap<jiff::civil::Date, Cost> = BTreeMap::new();
        for check in &checks {
            days.entry(check.day()).or_default().add(check);
            readings
                .entry((check.plan_id, check.invariant_id))
                .or_insert_with(|| JudgeReading::new(check.plan_id, check.invariant_id))
                .take(check);
        }
        let reading = |reading: JudgeReading| match goes_on(&reading.plan_id) {
            true => Row::Live(Record::Reading(reading)),
            false => Row::Past(Record::Reading(reading)),
        };
        let mut rows: Vec<Row> = checks.into_iter().map(Row::Check).collect();
        rows.extend(readings.into_values().map(reading));
        let day = |(day, cost)| Row::DayCost(DayCost { day, cost });
        rows.extend(days.into_iter().map(day));
        Ok(rows)
    }

    /// The numbers of the last notable events.
    fn notable_so_far(&self, txn: &WriteTransaction) -> Result<Vec<u64>, StoreError> {
        let doing = "read its log";
        let events = txn.open_table(EVENTS).map_err(self.fail(doing))?;
        let mut out = Vec::new();
        for row in events.iter().map_err(self.fail(doing))?.rev() {
            let (seq, value) = row.map_err(self.fail(doing))?;
            if self.event(seq.value(), value.value())?.kind.is_notable() {
                out.push(seq.value());
            }
            if out.len() == NOTABLE_KEPT {
                break;
            }
        }
        Ok(out)
    }

    /// The journal, with the projects that each change touches; the first schema did not say.
    fn journal_with_projects(
        &self,
        txn: &WriteTransaction,
        plans: &BTreeMap<PlanId, Plan>,
    ) -> Result<Vec<JournalEntry>, StoreError> {
        let project = |invariant: &Invariant| match &invariant.scope {
            Scope::Project(name) => Some(name.clone()),
            Scope::Plan(id) => plans.get(id).map(|plan| plan.project.clone()),
            Scope::Global | Scope::Action(_) => None,
        };
        let mut journal: Vec<JournalEntry> = self.typed(txn, JOURNAL)?;
        for entry in &mut journal {
            let both = entry.before.iter().chain([&entry.after]);
            let mut projects: Vec<ProjectName> = both.filter_map(project).collect();
            projects.sort();
            projects.dedup();
            entry.projects = projects;
        }
        Ok(journal)
    }
}
