//! enforce, resolve, violations, strikes, decisions.

use serde_json::json;

use super::{
    super::{
        Context,
        args::{EnforceArgs, ResolveArgs},
        output::Done,
    },
    Outcome, plan_ref, table,
};
use crate::{
    engine::requests::{Decisions, Enforce, Resolve, Strikes, Violations},
    model::{ViolationStatus, visible},
};

pub(super) fn enforce(context: &mut Context, args: EnforceArgs) -> Outcome {
    let request = Enforce {
        plan: plan_ref(args.plan)?,
        violated: args.violated,
        response: args.response,
    };
    let result = context.ask(request)?;
    let text = format!(
        "plan {}: {} invariants recorded, {} violated\n",
        result.plan_id,
        result.resolved_invariants.len(),
        result.violated_ids.len()
    );
    Ok(Done::new(
        text,
        json!({"plan_id": result.plan_id, "reconciliation": result}),
    ))
}

pub(super) fn resolve(context: &mut Context, args: ResolveArgs) -> Outcome {
    let request = Resolve {
        violation: args.violation,
        waive: args.reason,
    };
    let violation = context.ask(request)?;
    let text = format!(
        "violation {} of \"{}\" is {}\n",
        violation.id,
        visible(&violation.violated_text),
        status_word(&violation.status)
    );
    Ok(Done::new(text, json!({"violation": violation})))
}

fn status_word(status: &ViolationStatus) -> &'static str {
    match status {
        ViolationStatus::Open => "open",
        ViolationStatus::Corrected { .. } => "corrected",
        ViolationStatus::Waived { .. } => "waived",
    }
}

pub(super) fn violations(context: &mut Context, plan: Option<String>) -> Outcome {
    let plan = plan.map(plan_ref).transpose()?;
    let violations = context.ask(Violations { plan })?;
    let rows: Vec<Vec<String>> = violations
        .iter()
        .map(|v| {
            vec![
                v.id.to_string(),
                status_word(&v.status).to_owned(),
                v.severity.as_str().to_owned(),
                v.violated_text.clone(),
                v.details.clone(),
            ]
        })
        .collect();
    let text = match violations.is_empty() {
        true => "no violations\n".to_owned(),
        false => table(&["ID", "STATUS", "SEVERITY", "INVARIANT", "DETAILS"], &rows),
    };
    Ok(Done::new(text, json!({"violations": violations})))
}

pub(super) fn strikes(context: &mut Context, plan: Option<String>) -> Outcome {
    let plan = plan.map(plan_ref).transpose()?;
    let strikes = context.ask(Strikes { plan })?;
    let rows: Vec<Vec<String>> = strikes
        .iter()
        .map(|s| {
            vec![
                s.plan_id.to_string(),
                s.invariant_id.to_string(),
                s.count.to_string(),
                s.signature.target().to_owned(),
            ]
        })
        .collect();
    let text = match strikes.is_empty() {
        true => "no strikes\n".to_owned(),
        false => table(&["PLAN", "INVARIANT", "COUNT", "ACTION"], &rows),
    };
    Ok(Done::new(text, json!({"strikes": strikes})))
}

pub(super) fn decisions(context: &mut Context, plan: String) -> Outcome {
    let plan = plan_ref(plan)?;
    let nodes = context.ask(Decisions { plan })?;
    let mut text = String::new();
    for node in &nodes {
        let indent = if node.decision.parent.is_some() {
            "  "
        } else {
            ""
        };
        text.push_str(&format!(
            "{indent}{} {}\n",
            node.decision.at,
            visible(&node.decision.summary)
        ));
        for record in &node.enforcements {
            let word = if record.enforced {
                "enforced"
            } else {
                "violated"
            };
            text.push_str(&format!(
                "  {} {word}: {}\n",
                record.invariant_id,
                visible(&record.actor_response)
            ));
        }
    }
    if nodes.is_empty() {
        text.push_str("no decisions yet\n");
    }
    Ok(Done::new(text, json!({"decisions": nodes})))
}
