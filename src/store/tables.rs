//! Tables and their keys. Values are a version byte and JSON (`codec.rs`).

use redb::TableDefinition;
use sha2::{Digest, Sha256};

use super::{Record, Row, StoreError, codec::encode};
use invar_model::{Invariant, InvariantId, PlanId, Scope, Session, Signature, hex, visible};

/// A table of rows: opaque keys, encoded values.
pub(super) type RowTable = TableDefinition<'static, &'static [u8], &'static [u8]>;

pub(super) const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");
pub(super) const EVENTS: TableDefinition<u64, &[u8]> = TableDefinition::new("events");
pub(super) const INVARIANTS: RowTable = TableDefinition::new("invariants");
pub(super) const REVISIONS: RowTable = TableDefinition::new("revisions");
pub(super) const PLANS: RowTable = TableDefinition::new("plans");
pub(super) const PROJECTS: RowTable = TableDefinition::new("projects");
pub(super) const ACTIONS: RowTable = TableDefinition::new("actions");
pub(super) const PLANS_OF: RowTable = TableDefinition::new("plans_of");
pub(super) const JOURNAL: RowTable = TableDefinition::new("journal");
pub(super) const SESSIONS: RowTable = TableDefinition::new("sessions");
pub(super) const STRIKES: RowTable = TableDefinition::new("strikes");
pub(super) const VIOLATIONS: RowTable = TableDefinition::new("violations");
pub(super) const ASSENTS: RowTable = TableDefinition::new("assents");
pub(super) const CHECKS: RowTable = TableDefinition::new("checks");
pub(super) const READINGS: RowTable = TableDefinition::new("readings");
pub(super) const DAY_COSTS: RowTable = TableDefinition::new("day_costs");
pub(super) const JUDGED_ACTIONS: RowTable = TableDefinition::new("judged_actions");
pub(super) const DECISIONS: RowTable = TableDefinition::new("decisions");
pub(super) const ENFORCEMENTS: RowTable = TableDefinition::new("enforcements");
pub(super) const SETS: RowTable = TableDefinition::new("sets");
pub(super) const NOTABLE: RowTable = TableDefinition::new("notable");

pub(super) const PAST_INVARIANTS: RowTable = TableDefinition::new("past_invariants");
pub(super) const PAST_PLANS: RowTable = TableDefinition::new("past_plans");
pub(super) const PAST_SESSIONS: RowTable = TableDefinition::new("past_sessions");
pub(super) const PAST_STRIKES: RowTable = TableDefinition::new("past_strikes");
pub(super) const PAST_VIOLATIONS: RowTable = TableDefinition::new("past_violations");
pub(super) const PAST_ASSENTS: RowTable = TableDefinition::new("past_assents");
pub(super) const PAST_READINGS: RowTable = TableDefinition::new("past_readings");

pub(super) const ROW_TABLES: [RowTable; 26] = [
    INVARIANTS,
    REVISIONS,
    PLANS,
    PROJECTS,
    ACTIONS,
    PLANS_OF,
    JOURNAL,
    SESSIONS,
    STRIKES,
    VIOLATIONS,
    ASSENTS,
    CHECKS,
    READINGS,
    DAY_COSTS,
    JUDGED_ACTIONS,
    DECISIONS,
    ENFORCEMENTS,
    SETS,
    NOTABLE,
    PAST_INVARIANTS,
    PAST_PLANS,
    PAST_SESSIONS,
    PAST_STRIKES,
    PAST_VIOLATIONS,
    PAST_ASSENTS,
    PAST_READINGS,
];

/// How many notable events are kept at hand; [`NOTABLE`] has their numbers.
pub const NOTABLE_KEPT: usize = 1000;

/// What a row does to one key; no value removes it.
pub(super) struct Change {
    pub table: RowTable,
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
}

fn put(table: RowTable, key: Vec<u8>, value: Vec<u8>) -> Change {
    Change {
        table,
        key,
        value: Some(value),
    }
}

fn remove(table: RowTable, key: Vec<u8>) -> Change {
    Change {
        table,
        key,
        value: None,
    }
}

/// What a row does to the tables.
pub(super) fn changes(row: &Row) -> Result<Vec<Change>, StoreError> {
    Ok(match row {
        Row::Live(record) => {
            let (live, _) = tables_of(record);
            with_revision(record, put(live, key_of(record), value_of(record)?))?
        }
        Row::Past(record) => {
            let (live, past) = tables_of(record);
            let moved = put(past, past_key_of(record), value_of(record)?);
            let mut all = with_revision(record, moved)?;
            all.push(remove(live, key_of(record)));
            all
        }
        Row::Back(record) => {
            let (live, past) = tables_of(record);
            let moved = put(live, key_of(record), value_of(record)?);
            let mut all = with_revision(record, moved)?;
            all.push(remove(past, past_key_of(record)));
            all
        }
        Row::InvariantLeft(plan, id) => {
            let key = [plan.to_bytes(), id.to_bytes()].concat();
            vec![remove(PAST_INVARIANTS, key)]
        }
        Row::Project(v) => vec![put(PROJECTS, v.name.as_str().into(), encode(v)?)],
        Row::Journal(v) => vec![put(JOURNAL, number_key(v.number), encode(v)?)],
        Row::JournalDropped(number) => vec![remove(JOURNAL, number_key(*number))],
        Row::Action(v) => vec![put(ACTIONS, v.name.as_str().into(), encode(v)?)],
        Row::StrikeCleared(plan, invariant, signature) => {
            vec![remove(STRIKES, strike_key(*plan, *invariant, signature))]
        }
        Row::Check(v) => vec![put(CHECKS, v.id.to_bytes().to_vec(), encode(v)?)],
        Row::DayCost(v) => vec![put(DAY_COSTS, v.day.to_string().into(), encode(v)?)],
        Row::JudgedAction(v) => vec![put(
            JUDGED_ACTIONS,
            action_key(v.plan_id, v.seq),
            encode(v)?,
        )],
        Row::JudgedActionDropped(plan, seq) => {
            vec![remove(JUDGED_ACTIONS, action_key(*plan, *seq))]
        }
        Row::Decision(v) => {
            let key = [v.plan_id.to_bytes(), v.id.to_bytes()].concat();
            vec![put(DECISIONS, key, encode(v)?)]
        }
        Row::Enforcement(plan, v) => {
            let parts = [
                plan.to_bytes(),
                v.decision_id.to_bytes(),
                v.invariant_id.to_bytes(),
            ];
            vec![put(ENFORCEMENTS, parts.concat(), encode(v)?)]
        }
        Row::Set(digest, v) => vec![put(SETS, digest.as_bytes().to_vec(), encode(v)?)],
        Row::PlansOf(action, count) => {
            let value = (action, count);
            vec![put(PLANS_OF, action.as_str().into(), encode(&value)?)]
        }
        Row::Notable(seq) => vec![put(NOTABLE, number_key(*seq), Vec::new())],
    })
}

/// Revisions are kept for ever, so that an edit can be seen and undone.
fn with_revision(record: &Record, change: Change) -> Result<Vec<Change>, StoreError> {
    let mut all = vec![change];
    if let Record::Invariant(v) = record {
        all.push(put(REVISIONS, revision_key(v.id, v.revision), encode(v)?));
    }
    Ok(all)
}

/// Where a record lies while its plan goes on, and when it is over.
fn tables_of(record: &Record) -> (RowTable, RowTable) {
    match record {
        Record::Invariant(_) => (INVARIANTS, PAST_INVARIANTS),
        Record::Plan(_) => (PLANS, PAST_PLANS),
        Record::Session(_) => (SESSIONS, PAST_SESSIONS),
        Record::Strike(_) => (STRIKES, PAST_STRIKES),
        Record::Violation(_) => (VIOLATIONS, PAST_VIOLATIONS),
        Record::Assent(_) => (ASSENTS, PAST_ASSENTS),
        Record::Reading(_) => (READINGS, PAST_READINGS),
    }
}

fn key_of(record: &Record) -> Vec<u8> {
    match record {
        Record::Invariant(v) => v.id.to_bytes().to_vec(),
        Record::Plan(v) => v.id.to_bytes().to_vec(),
        Record::Session(v) => session_key(v),
        Record::Strike(v) => strike_key(v.plan_id, v.invariant_id, &v.signature),
        Record::Violation(v) => [v.plan_id.to_bytes(), v.id.to_bytes()].concat(),
        Record::Assent(v) => [v.plan_id.to_bytes(), v.id.to_bytes()].concat(),
        Record::Reading(v) => [v.plan_id.to_bytes(), v.invariant_id.to_bytes()].concat(),
    }
}

/// The key while the plan is over: all that is asked for by its plan begins with it.
fn past_key_of(record: &Record) -> Vec<u8> {
    match record {
        Record::Invariant(Invariant {
            scope: Scope::Plan(plan),
            id,
            ..
        }) => [plan.to_bytes(), id.to_bytes()].concat(),
        record => key_of(record),
    }
}

fn value_of(record: &Record) -> Result<Vec<u8>, StoreError> {
    match record {
        Record::Invariant(v) => encode(v),
        Record::Plan(v) => encode(v),
        Record::Session(v) => encode(v),
        Record::Strike(v) => encode(v),
        Record::Violation(v) => encode(v),
        Record::Assent(v) => encode(v),
        Record::Reading(v) => encode(v),
    }
}

pub(super) fn session_key(session: &Session) -> Vec<u8> {
    session_key_of(&session.agent, &session.session)
}

pub(super) fn session_key_of(agent: &str, session: &str) -> Vec<u8> {
    format!("{agent}\0{session}").into_bytes()
}

fn revision_key(id: InvariantId, revision: u32) -> Vec<u8> {
    let mut key = id.to_bytes().to_vec();
    key.extend(revision.to_be_bytes());
    key
}

/// A row in words, by its table and key.
pub(super) fn words_for(table: &str, key: &[u8]) -> String {
    let (past, kind) = match table.strip_prefix("past_") {
        Some(kind) => (" that is over", kind),
        None => ("", table),
    };
    let id = |at: usize| {
        let bytes = key
            .get(at..at + 16)
            .and_then(|b| <[u8; 16]>::try_from(b).ok());
        bytes.map_or_else(|| hex(key), |b| ulid::Ulid::from_bytes(b).to_string())
    };
    let number = |at: usize| {
        let bytes = key
            .get(at..at + 8)
            .and_then(|b| <[u8; 8]>::try_from(b).ok());
        bytes.map_or_else(|| hex(key), |b| u64::from_be_bytes(b).to_string())
    };
    let text = || visible(&String::from_utf8_lossy(key)).into_owned();
    match kind {
        "invariants" if past.is_empty() => format!("the invariant {}", id(0)),
        "invariants" => format!("the invariant {} of plan {}{past}", id(16), id(0)),
        "revisions" => {
            let revision = key.get(16..20).and_then(|b| <[u8; 4]>::try_from(b).ok());
            let revision = revision.map_or(0, u32::from_be_bytes);
            format!("revision {revision} of invariant {}", id(0))
        }
        "plans" => format!("the plan {}{past}", id(0)),
        "projects" => format!("the project {}", text()),
        "actions" => format!("the action {}", text()),
        "plans_of" => format!("the number of plans made from action {}", text()),
        "journal" => format!("change {} that can be undone", number(0)),
        "sessions" => {
            let text = String::from_utf8_lossy(key);
            let (agent, session) = text.split_once('\0').unwrap_or(("", &text));
            format!("the session {} of {}", visible(session), visible(agent))
        }
        "strikes" => format!(
            "a strike count of invariant {} in plan {}{past}",
            id(16),
            id(0)
        ),
        "violations" => format!("the violation {} of plan {}{past}", id(16), id(0)),
        "assents" => format!("the question {} in plan {}{past}", id(16), id(0)),
        "readings" => format!(
            "how far a judge has read for invariant {} in plan {}{past}",
            id(16),
            id(0)
        ),
        "judged_actions" => format!("action {} of plan {} for a judge", number(16), id(0)),
        "checks" => format!("the check {} of a judge", id(0)),
        "day_costs" => format!("what the checks of {} cost", text()),
        "decisions" => format!("the decision {} of plan {}", id(16), id(0)),
        "enforcements" => format!(
            "the enforcement record of invariant {} in decision {} of plan {}",
            id(32),
            id(16),
            id(0)
        ),
        "sets" => format!("the set in force {}", text()),
        "notable" => format!("the note that event {} is notable", number(0)),
        _ => format!("the row {}", hex(key)),
    }
}

/// Numbers order as they count.
pub(super) fn number_key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn action_key(plan: PlanId, seq: u64) -> Vec<u8> {
    let mut key = plan.to_bytes().to_vec();
    key.extend(seq.to_be_bytes());
    key
}

/// Signatures may be long, so that the key holds their hash.
fn strike_key(plan: PlanId, invariant: InvariantId, signature: &Signature) -> Vec<u8> {
    let mut key = [plan.to_bytes(), invariant.to_bytes()].concat();
    key.extend(Sha256::digest(signature.0.as_bytes()));
    key
}
