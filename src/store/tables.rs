//! Tables and their keys. Values are a version byte and JSON (`codec.rs`).

use redb::TableDefinition;
use sha2::{Digest, Sha256};

use super::{Row, StoreError, codec::encode};
use invar_model::{InvariantId, PlanId, Signature};

/// A table of rows: opaque keys, encoded values.
pub(super) type RowTable = TableDefinition<'static, &'static [u8], &'static [u8]>;

pub(super) const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");
pub(super) const EVENTS: TableDefinition<u64, &[u8]> = TableDefinition::new("events");
pub(super) const INVARIANTS: RowTable = TableDefinition::new("invariants");
pub(super) const REVISIONS: RowTable = TableDefinition::new("revisions");
pub(super) const PLANS: RowTable = TableDefinition::new("plans");
pub(super) const PROJECTS: RowTable = TableDefinition::new("projects");
pub(super) const ACTIONS: RowTable = TableDefinition::new("actions");
pub(super) const JOURNAL: RowTable = TableDefinition::new("journal");
pub(super) const SESSIONS: RowTable = TableDefinition::new("sessions");
pub(super) const STRIKES: RowTable = TableDefinition::new("strikes");
pub(super) const VIOLATIONS: RowTable = TableDefinition::new("violations");
pub(super) const DECISIONS: RowTable = TableDefinition::new("decisions");
pub(super) const ENFORCEMENTS: RowTable = TableDefinition::new("enforcements");

pub(super) const SETS: RowTable = TableDefinition::new("sets");

pub(super) const ASSENTS: RowTable = TableDefinition::new("assents");

pub(super) const CHECKS: RowTable = TableDefinition::new("checks");
pub(super) const JUDGED_ACTIONS: RowTable = TableDefinition::new("judged_actions");

pub(super) const ROW_TABLES: [RowTable; 15] = [
    INVARIANTS,
    REVISIONS,
    PLANS,
    PROJECTS,
    ACTIONS,
    JOURNAL,
    SESSIONS,
    STRIKES,
    VIOLATIONS,
    ASSENTS,
    CHECKS,
    JUDGED_ACTIONS,
    DECISIONS,
    ENFORCEMENTS,
    SETS,
];

/// Where a row goes: table, key and value; no value removes the key.
type Encoded = (RowTable, Vec<u8>, Option<Vec<u8>>);

pub(super) fn encode_row(row: &Row) -> Result<Encoded, StoreError> {
    Ok(match row {
        Row::Invariant(v) => (INVARIANTS, v.id.to_bytes().to_vec(), Some(encode(v)?)),
        Row::Plan(v) => (PLANS, v.id.to_bytes().to_vec(), Some(encode(v)?)),
        Row::Project(v) => (PROJECTS, v.name.as_str().into(), Some(encode(v)?)),
        Row::Journal(v) => (JOURNAL, v.number.to_be_bytes().to_vec(), Some(encode(v)?)),
        Row::JournalDropped(number) => (JOURNAL, number.to_be_bytes().to_vec(), None),
        Row::Action(v) => (ACTIONS, v.name.as_str().into(), Some(encode(v)?)),
        Row::Session(v) => {
            let key = format!("{}\0{}", v.agent, v.session).into_bytes();
            (SESSIONS, key, Some(encode(v)?))
        }
        Row::Strike(v) => {
            let key = strike_key(v.plan_id, v.invariant_id, &v.signature);
            (STRIKES, key, Some(encode(v)?))
        }
        Row::StrikeCleared(plan, invariant, signature) => {
            (STRIKES, strike_key(*plan, *invariant, signature), None)
        }
        Row::Violation(v) => {
            let key = [v.plan_id.to_bytes(), v.id.to_bytes()].concat();
            (VIOLATIONS, key, Some(encode(v)?))
        }
        Row::Assent(v) => {
            let key = [v.plan_id.to_bytes(), v.id.to_bytes()].concat();
            (ASSENTS, key, Some(encode(v)?))
        }
        Row::Check(v) => {
            let key = [v.plan_id.to_bytes(), v.id.to_bytes()].concat();
            (CHECKS, key, Some(encode(v)?))
        }
        Row::JudgedAction(v) => (
            JUDGED_ACTIONS,
            action_key(v.plan_id, v.seq),
            Some(encode(v)?),
        ),
        Row::JudgedActionDropped(plan, seq) => (JUDGED_ACTIONS, action_key(*plan, *seq), None),
        Row::Decision(v) => {
            let key = [v.plan_id.to_bytes(), v.id.to_bytes()].concat();
            (DECISIONS, key, Some(encode(v)?))
        }
        Row::Enforcement(plan, v) => {
            let parts = [
                plan.to_bytes(),
                v.decision_id.to_bytes(),
                v.invariant_id.to_bytes(),
            ];
            (ENFORCEMENTS, parts.concat(), Some(encode(v)?))
        }
        Row::Set(digest, v) => (SETS, digest.as_bytes().to_vec(), Some(encode(v)?)),
    })
}

pub(super) fn revision_key(id: InvariantId, revision: u32) -> Vec<u8> {
    let mut key = id.to_bytes().to_vec();
    key.extend(revision.to_be_bytes());
    key
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
