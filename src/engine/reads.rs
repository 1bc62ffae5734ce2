//! Reads that show what the store holds, and not only what is at hand.

use super::{
    Call, EngineError, State,
    ask::{Aside, Outcome},
    core::Core,
    facts::Facts,
    requests::{
        Assents, DecisionNode, Decisions, Events, History, List, LogVerify, MeasureStore, PlanList,
        Request, Snapshot, Strikes, TakeSnapshot, Violations,
    },
    state::MIRRORED,
    step::Effects,
};
use crate::{
    model::{Decision, DecisionKind, Enforcement, Invariant, Scope, Strike},
    store::Store,
};

/// Whether the answer shows what the store holds, so that what is pending is written first.
pub(super) fn shows_durable(call: &Call) -> bool {
    match call {
        Call::History(_)
        | Call::Decisions(_)
        | Call::Events(_)
        | Call::LogVerify(_)
        | Call::MeasureStore(_)
        | Call::TakeSnapshot(_)
        | Call::List(_)
        | Call::PlanList(_) => true,
        // Those of one plan are at hand, or visit.
        Call::Violations(r) => r.plan.is_none(),
        Call::Strikes(r) => r.plan.is_none(),
        Call::Assents(r) => r.plan.is_none(),
        _ => false,
    }
}

/// Answers a call for which [`shows_durable`] holds; or hands back what whoever asks does, for one
/// that takes long.
///
/// # Errors
/// Nothing of that name; a record that cannot be read.
pub(super) fn read(
    core: &Core,
    store: &Store,
    call: &Call,
    facts: &Facts,
) -> Result<Outcome, EngineError> {
    let here = &facts.root.written;
    let state = core.state();
    let reply = match call {
        Call::LogVerify(r) => {
            let (view, against) = (store.view()?, r.against.clone());
            let verify = move || {
                // All that there ever was is followed from the first event on.
                let mut state = State::whole();
                let report = view.verify(|event| state.apply(event), against.as_ref())?;
                Ok(LogVerify::into_reply(report))
            };
            return Ok(Outcome::Aside(Aside(Box::new(verify))));
        }
        Call::MeasureStore(_) => {
            let view = store.view()?;
            let measure = move || Ok(MeasureStore::into_reply(view.size()?));
            return Ok(Outcome::Aside(Aside(Box::new(measure))));
        }
        Call::TakeSnapshot(_) => TakeSnapshot::into_reply(snapshot(core, store)?),
        Call::List(r) => List::into_reply(list(core, store, r, here)?),
        Call::PlanList(_) => {
            let mut all: Vec<_> = state.plans.values().cloned().collect();
            all.extend(store.past_plans()?);
            all.sort_by_key(|plan| plan.id);
            PlanList::into_reply(all)
        }
        Call::Violations(_) => {
            let mut all: Vec<_> = state.violations.values().cloned().collect();
            all.extend(store.past_violations()?);
            all.sort_by_key(|violation| violation.id);
            Violations::into_reply(all)
        }
        Call::Strikes(_) => {
            let mut all: Vec<_> = state.strikes.values().cloned().collect();
            all.extend(store.past_strikes()?);
            all.sort_by(|a, b| {
                let key = |s: &Strike| (s.plan_id, s.invariant_id);
                key(a)
                    .cmp(&key(b))
                    .then_with(|| a.signature.cmp(&b.signature))
            });
            Strikes::into_reply(all)
        }
        Call::Assents(_) => {
            let mut all: Vec<_> = state.assents.values().cloned().collect();
            all.extend(store.past_assents()?);
            all.sort_by_key(|assent| assent.id);
            Assents::into_reply(all)
        }
        Call::History(r) => {
            let id = core.find_invariant(&r.id)?.invariant.id;
            History::into_reply(store.history(id)?)
        }
        Call::Decisions(r) => {
            let plan = core.find_plan(&r.plan, here)?.id;
            let mut nodes = Vec::new();
            for decision in store.decisions(plan)? {
                nodes.push(DecisionNode {
                    enforcements: enforcements(store, &decision)?,
                    decision,
                });
            }
            Decisions::into_reply(nodes)
        }
        Call::Events(r) => Events::into_reply(store.events(r.since, r.limit)?),
        other => {
            let message = format!("{:?} is no read", other.name());
            return Err(EngineError::failed(message).hint("please report it"));
        }
    };
    Ok(Outcome::Done(Ok(reply), Effects::default()))
}

/// What goes on, and the youngest of what is over.
///
/// # Errors
/// A record that cannot be read.
pub(super) fn snapshot(core: &Core, store: &Store) -> Result<Snapshot, EngineError> {
    let mut snapshot = core.snapshot();
    let past = store.recent_past(MIRRORED)?;
    snapshot.plans.extend(past.plans);
    snapshot.invariants.extend(past.invariants);
    snapshot.strikes.extend(past.strikes);
    snapshot.violations.extend(past.violations);
    snapshot.assents.extend(past.assents);
    snapshot.readings.extend(past.readings);
    Ok(snapshot)
}

fn list(
    core: &Core,
    store: &Store,
    asked: &List,
    here: &std::path::Path,
) -> Result<Vec<Invariant>, EngineError> {
    let mut all = core.list(asked.clone(), here)?;
    // The invariants of a plan that was named visit.
    let of_plans = matches!(asked.scope, None | Some(Scope::Plan(_)));
    if asked.plan.is_none() && of_plans {
        let wanted = |i: &Invariant| {
            let scope = asked.scope.as_ref().is_none_or(|scope| i.scope == *scope);
            scope && (i.active || asked.removed)
        };
        all.extend(store.past_invariants()?.into_iter().filter(wanted));
        all.sort_by_key(|i| i.id);
    }
    Ok(all)
}

/// The enforcement records of a node of a decision tree: kept as rows by the first schema, and
/// since then what follows from the set that was in force.
fn enforcements(store: &Store, decision: &Decision) -> Result<Vec<Enforcement>, EngineError> {
    let set = match (&decision.set, decision.kind) {
        (Some(digest), _) => store.set(digest)?,
        (None, DecisionKind::InvariantEnforced) => {
            return Ok(store.enforcements(decision.plan_id, decision.id)?);
        }
        (None, DecisionKind::ConflictResolved) => None,
    };
    let records = set.map(|set| set.enforcements(decision.id, &decision.invariant_ids));
    Ok(records.unwrap_or_default())
}
