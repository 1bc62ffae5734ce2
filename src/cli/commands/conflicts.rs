//! conflicts, and whose set a command means when it is told no scope.

use serde_json::{Value, json};

use super::{
    super::{
        Context,
        args::{ConflictsArgs, ScopeArgs},
        output::{Done, Failure},
    },
    Outcome, cwd,
    invariants::Wanted,
    plan_ref, project, table,
};
use crate::{
    engine::{
        disk::project_root,
        requests::{Effective, EffectiveOf, Findings, FindingsReport, PlanShow},
    },
    model::{Invariant, InvariantId, Scope},
    rules::findings::{Finding, Kind},
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
    Ok(match context.ask(PlanShow { plan: at.clone() }) {
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
    let root = project_root(&cwd()?);
    let set = context.ask(Effective { of: of.clone() })?;
    let mut rows = Vec::new();
    let mut conflicts = Vec::new();
    for resolved in &set.conflicts_resolved {
        let (winner, loser) = (&resolved.by, &resolved.overridden);
        let kind = match resolved.contradiction {
            Some(_) => Kind::Contradiction,
            None => Kind::Duplicate,
        };
        let why = match &resolved.contradiction {
            Some(proof) => format!("{}: {proof}", resolved.rationale),
            None => resolved.rationale.clone(),
        };
        rows.push(vec![
            kind.as_str().to_owned(),
            winner.scope.to_string(),
            loser.scope.to_string(),
            why,
            loser.text.clone(),
        ]);
        conflicts.push(json!({
            "kind": kind, "resolved": true, "winner": side(winner), "loser": side(loser),
            "rationale": resolved.rationale, "proof": resolved.contradiction,
        }));
    }
    for unresolved in &set.conflicts_unresolved {
        let (stronger, weaker) = (&unresolved.stronger, &unresolved.weaker);
        let all: Vec<&Invariant> = [stronger].into_iter().chain(&unresolved.others).collect();
        let texts: Vec<&str> = all
            .iter()
            .chain(&[weaker])
            .map(|i| i.text.as_str())
            .collect();
        let mut why = unresolved.proof.clone();
        if let Some((own, theirs)) = &unresolved.witnesses {
            why.push_str(&format!("; one side allows {own}, the other {theirs}"));
        }
        rows.push(vec![
            "contradiction".to_owned(),
            "none: equal strength".to_owned(),
            weaker.scope.to_string(),
            why,
            texts.join(" / "),
        ]);
        let others: Vec<Value> = unresolved.others.iter().map(side).collect();
        conflicts.push(json!({
            "kind": "contradiction", "resolved": false, "winner": side(stronger),
            "loser": side(weaker), "others": others, "rationale": unresolved.proof,
            "proof": unresolved.proof, "witnesses": unresolved.witnesses,
        }));
    }
    let FindingsReport {
        findings,
        invariants,
        ..
    } = context.ask(Findings { of, root })?;
    let told = |f: &&Finding| !matches!(f.kind, Kind::Contradiction | Kind::Duplicate);
    for finding in findings.iter().filter(told) {
        let named = finding.invariants.iter();
        let named = named.filter_map(|id| invariants.iter().find(|i| i.id == *id));
        let sides: Vec<&Invariant> = named.collect();
        let scope = |i: Option<&&Invariant>| i.map_or(String::new(), |i| i.scope.to_string());
        let first = sides.first().filter(|_| sides.len() > 1);
        rows.push(vec![
            finding.kind.as_str().to_owned(),
            scope(first),
            scope(sides.last()),
            finding.proof.clone(),
            sides.last().map_or(String::new(), |i| i.text.clone()),
        ]);
        conflicts.push(json!({
            "kind": finding.kind, "invariants": sides.iter().map(|i| side(i)).collect::<Vec<_>>(),
            "proof": finding.proof, "witnesses": finding.witnesses,
        }));
    }
    let mut notes = Vec::new();
    if args.judge {
        let asked = super::pairs::ask(context, &set.invariants)?;
        let named = |id: InvariantId| set.invariants.iter().find(|i| i.id == id);
        for (one, two, reason) in asked.found {
            let (Some(one), Some(two)) = (named(one), named(two)) else {
                continue;
            };
            rows.push(vec![
                "judged".to_owned(),
                one.scope.to_string(),
                two.scope.to_string(),
                reason.clone(),
                format!("{} / {}", one.text, two.text),
            ]);
            conflicts.push(json!({
                "kind": "judged", "invariants": [side(one), side(two)], "proof": reason,
            }));
        }
        notes.push(format!(
            "the judge was asked about {} pairs, for {}",
            asked.asked, asked.cost
        ));
        notes.extend(asked.left);
    }
    let text = match rows.is_empty() {
        true => "no conflicts\n".to_owned(),
        false => table(&["KIND", "WINNER", "LOSER", "WHY", "TEXT"], &rows),
    };
    let data = json!({"plan_id": set.plan_id, "conflicts": conflicts});
    Ok(Done {
        notes,
        ..Done::new(text, data)
    })
}

/// An invariant in short, as a side of a conflict.
pub(super) fn side(i: &Invariant) -> Value {
    json!({"id": i.id, "text": i.text, "scope": i.scope.kind(), "source": i.scope.source()})
}
