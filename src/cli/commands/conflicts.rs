//! conflicts, and whose set a command means when it is told no scope.

use serde_json::{Value, json};

use super::{
    super::{
        Context,
        args::{ConflictsArgs, ScopeArgs},
        output::{Done, Failure},
    },
    Outcome,
    invariants::Wanted,
    plan_ref, project, table, unexpected,
};
use crate::{
    engine::{Call, Reply, protocol::EffectiveOf},
    model::{Invariant, Scope},
};

/// Whose set is meant: the scope that was named, else the current plan, else the project.
pub(super) fn effective_of(
    context: &mut Context,
    scope: &ScopeArgs,
) -> Result<EffectiveOf, Failure> {
    Ok(match scope.wanted()? {
        Some(Wanted::Plan(plan)) => EffectiveOf::Plan(plan),
        Some(Wanted::Scope(Scope::Project(name))) => EffectiveOf::Project(name),
        Some(Wanted::Scope(Scope::Action(name))) => EffectiveOf::Action(name),
        Some(Wanted::Scope(_)) => EffectiveOf::Global,
        None => current(context)?,
    })
}

/// The current plan of this directory, else its project.
pub(super) fn current(context: &mut Context) -> Result<EffectiveOf, Failure> {
    let at = plan_ref("@".into())?;
    Ok(match context.call(Call::PlanShow { plan: at.clone() }) {
        Ok(_) => EffectiveOf::Plan(at),
        Err(_) => EffectiveOf::Project(project(context, None)?),
    })
}

/// Duplicates and contradictions. Those of equal strength block a plan until a person edits one.
pub(super) fn conflicts(context: &mut Context, args: ConflictsArgs) -> Outcome {
    let of = match args.of {
        Some(plan) => EffectiveOf::Plan(plan_ref(plan)?),
        None => effective_of(context, &args.scope)?,
    };
    let reply = context.call(Call::Effective { of })?;
    let Reply::Effective(set) = reply else {
        return Err(unexpected(&reply));
    };
    let mut rows = Vec::new();
    let mut conflicts = Vec::new();
    for resolved in &set.conflicts_resolved {
        let (winner, loser) = (&resolved.by, &resolved.overridden);
        let kind = if resolved.contradiction {
            "contradiction"
        } else {
            "duplicate"
        };
        rows.push(vec![
            kind.to_owned(),
            winner.scope.to_string(),
            loser.scope.to_string(),
            resolved.rationale.clone(),
            loser.text.clone(),
        ]);
        conflicts.push(json!({
            "kind": kind, "resolved": true, "winner": side(winner), "loser": side(loser),
            "rationale": resolved.rationale,
        }));
    }
    for unresolved in &set.conflicts_unresolved {
        let (stronger, weaker) = (&unresolved.stronger, &unresolved.weaker);
        rows.push(vec![
            "contradiction".to_owned(),
            "none: equal strength".to_owned(),
            weaker.scope.to_string(),
            unresolved.proof.clone(),
            format!("{} / {}", stronger.text, weaker.text),
        ]);
        conflicts.push(json!({
            "kind": "contradiction", "resolved": false, "winner": side(stronger),
            "loser": side(weaker), "rationale": unresolved.proof,
        }));
    }
    let text = match rows.is_empty() {
        true => "no conflicts\n".to_owned(),
        false => table(&["KIND", "WINNER", "LOSER", "WHY", "TEXT"], &rows),
    };
    Ok(Done::new(
        text,
        json!({"plan_id": set.plan_id, "conflicts": conflicts}),
    ))
}

/// An invariant in short, as a side of a conflict.
pub(super) fn side(i: &Invariant) -> Value {
    json!({"id": i.id, "text": i.text, "scope": i.scope.kind(), "source": i.scope.source()})
}
