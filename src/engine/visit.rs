//! Plans that are over are not at hand. A call that may be about one has it read from the store,
//! as a visitor that goes when the call is decided, so that deciding need not know where a
//! record lies.

use std::collections::HashSet;

use ulid::Ulid;

use super::{
    Call, EngineError, State,
    requests::{EffectiveOf, ImportItem, PlanRef},
};
use crate::{
    model::{InvariantId, PlanId, Scope},
    store::{IdRange, Past, Store},
};

/// What a call names that may belong to a plan that is over. Names are ids or beginnings of ids.
enum Named<'a> {
    Plan(&'a str),
    /// The plan that a scope names.
    ThisPlan(PlanId),
    Invariant(&'a str),
    Violation(&'a str),
    Question(&'a str),
    /// The invariants that a file holds.
    Imported(&'a [ImportItem]),
    /// The invariants whose changes can be undone, or done again.
    Journal,
    /// A session, by its agent and the agent's own name of it.
    Session(&'a str, &'a str),
}

/// How many records are looked for that a name may mean. More than one is an error already.
const CANDIDATES: usize = 4;

/// Reads what a call may be about and what is not at hand.
///
/// # Errors
/// A record that cannot be read.
pub(super) fn visitors(call: &Call, state: &State, store: &Store) -> Result<Past, EngineError> {
    let mut past = Past::default();
    for named in named(call) {
        match named {
            Named::Plan(text) => {
                let Some(ids) = ids_from(text) else { continue };
                let found = store.past_plans_in(ids, CANDIDATES)?;
                match found.as_slice() {
                    [one] => add(&mut past, store.past_of(one.id)?),
                    // Nobody can say which is meant; their names are enough.
                    _ => past.plans.extend(found),
                }
            }
            Named::ThisPlan(plan) => {
                if !state.goes_on(plan) {
                    add(&mut past, store.past_of(plan)?);
                }
            }
            Named::Invariant(text) => {
                let Some(ids) = ids_from(text) else { continue };
                for invariant in store.past_invariants_in(ids, CANDIDATES)? {
                    let Scope::Plan(plan) = invariant.scope else {
                        continue;
                    };
                    add(&mut past, store.past_of(plan)?);
                    past.invariants.push(invariant);
                }
            }
            Named::Violation(text) => {
                let Some(ids) = ids_from(text) else { continue };
                for (plan, _) in store.plans_of_past_violations(ids, CANDIDATES)? {
                    add(&mut past, store.past_of(plan)?);
                }
            }
            Named::Question(text) => {
                let Some(ids) = ids_from(text) else { continue };
                for (plan, _) in store.plans_of_past_assents(ids, CANDIDATES)? {
                    add(&mut past, store.past_of(plan)?);
                }
            }
            Named::Imported(items) => {
                let missing = items.iter().filter_map(|item| match item {
                    ImportItem::Whole(i) if !state.invariants.contains_key(&i.id) => Some(i.id),
                    _ => None,
                });
                let missing: HashSet<InvariantId> = missing.collect();
                past.invariants
                    .extend(store.past_invariants_named(&missing)?);
            }
            Named::Journal => {
                let entries = state.journal.entries().iter();
                let both = entries.flat_map(|e| e.before.iter().chain([&e.after]));
                let plans: HashSet<PlanId> = both
                    .filter_map(|i| match i.scope {
                        Scope::Plan(plan) if !state.goes_on(plan) => Some(plan),
                        _ => None,
                    })
                    .collect();
                for plan in plans {
                    add(&mut past, store.past_of(plan)?);
                }
            }
            Named::Session(agent, session) => {
                let key = (agent.to_owned(), session.to_owned());
                if !state.sessions.contains_key(&key) {
                    past.sessions.extend(store.past_session(agent, session)?);
                }
            }
        }
    }
    Ok(past)
}

fn add(past: &mut Past, more: Past) {
    past.plans.extend(more.plans);
    past.invariants.extend(more.invariants);
    past.strikes.extend(more.strikes);
    past.violations.extend(more.violations);
    past.assents.extend(more.assents);
    past.readings.extend(more.readings);
}

/// What a call names. There is no default: a new request says here what it is about.
fn named(call: &Call) -> Vec<Named<'_>> {
    match call {
        Call::Ping(_)
        | Call::TakeSnapshot(_)
        | Call::TreeState(_)
        | Call::AgentPids(_)
        | Call::PlanList(_)
        | Call::ProjectBind(_)
        | Call::ProjectOf(_)
        | Call::ProjectList(_)
        | Call::ActionAdd(_)
        | Call::ActionRemove(_)
        | Call::ActionList(_)
        | Call::StillWaiting(_)
        | Call::AssentsDelegated(_)
        | Call::Events(_)
        | Call::LogVerify(_)
        | Call::MeasureStore(_) => Vec::new(),

        Call::Add(r) => {
            let mut all: Vec<Named<'_>> = r.plan.iter().map(this).collect();
            all.extend(plan_of(&r.invariant.scope));
            all
        }
        Call::Edit(r) => {
            let scope = r.patch.scope.as_ref();
            let mut all = vec![Named::Invariant(&r.id)];
            all.extend(scope.and_then(plan_of));
            all
        }
        Call::Remove(r) => vec![Named::Invariant(&r.id)],
        Call::Restore(r) => vec![Named::Invariant(&r.id)],
        Call::Show(r) => vec![Named::Invariant(&r.id)],
        Call::History(r) => vec![Named::Invariant(&r.id)],
        Call::Undo(_) | Call::Redo(_) => vec![Named::Journal],
        Call::Import(r) => vec![Named::Imported(&r.items)],
        Call::List(r) => r.plan.iter().map(this).collect(),

        Call::Effective(r) => of(&r.of),
        Call::Check(r) => of(&r.of),
        Call::Findings(r) => of(&r.of),
        Call::Explain(r) => of(&r.of),
        Call::Replay(r) => of(&r.of),

        Call::PlanUse(r) => r.parent.iter().map(this).collect(),
        Call::PlanTransition(r) => vec![this(&r.plan)],
        Call::PlanResume(r) => vec![this(&r.plan)],
        Call::PlanCancel(r) => vec![this(&r.plan)],
        Call::PlanShow(r) => vec![this(&r.plan)],
        Call::Decisions(r) => vec![this(&r.plan)],
        Call::Enforce(r) => {
            let mut all = vec![this(&r.plan)];
            all.extend(r.violated.iter().map(|id| Named::Invariant(id)));
            all
        }
        Call::Violations(r) => r.plan.iter().map(this).collect(),
        Call::Strikes(r) => r.plan.iter().map(this).collect(),
        Call::Assents(r) => r.plan.iter().map(this).collect(),
        Call::Resolve(r) => vec![Named::Violation(&r.violation)],
        Call::PutBack(r) => vec![Named::Violation(&r.violation)],
        Call::AssentAnswer(r) => vec![Named::Question(&r.id)],
        Call::HookCall(r) => vec![Named::Session(&r.agent, &r.session)],
    }
}

/// `@` is a plan that goes on; its text names no id.
fn this(plan: &PlanRef) -> Named<'_> {
    Named::Plan(&plan.text)
}

fn of(of: &EffectiveOf) -> Vec<Named<'_>> {
    match of {
        EffectiveOf::Global | EffectiveOf::Project(_) | EffectiveOf::Action(_) => Vec::new(),
        EffectiveOf::Plan(plan) => vec![this(plan)],
    }
}

fn plan_of(scope: &Scope) -> Option<Named<'_>> {
    match scope {
        Scope::Plan(plan) => Some(Named::ThisPlan(*plan)),
        Scope::Global | Scope::Project(_) | Scope::Action(_) => None,
    }
}

/// The ids that begin with a text; nothing for one that begins no id.
fn ids_from(text: &str) -> Option<IdRange> {
    let text = text.trim().to_ascii_uppercase();
    if text.len() < super::core::MIN_PREFIX || text.len() > 26 {
        return None;
    }
    let id = |fill: &str| {
        let whole = format!("{text}{}", fill.repeat(26 - text.len()));
        Ulid::from_string(&whole).ok().map(|id| id.to_bytes())
    };
    Some((id("0")?, id("Z")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_of_an_id_stands_for_all_that_begin_so() {
        let id: Ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        let holds =
            |text: &str| ids_from(text).map(|(from, to)| (from..=to).contains(&id.to_bytes()));
        assert_eq!(holds("01AR"), Some(true));
        assert_eq!(holds("01arz3"), Some(true));
        assert_eq!(holds(&id.to_string()), Some(true));
        assert_eq!(holds("01AS"), Some(false));
        assert_eq!(holds("01A"), None, "too short to stand for an id");
        assert_eq!(holds("@"), None);
        assert_eq!(holds("what?"), None);
    }
}
