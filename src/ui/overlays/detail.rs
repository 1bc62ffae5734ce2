//! An invariant and a breach in full.

use ratatui::style::Style;

use crate::{
    app::{Model, stream::clock},
    engine::requests::DecisionNode,
    model::{Effect, EventKind, InvariantId, Layer, Origin, PlanId, Verdict},
    ui::{panes::strike_flag, theme::Theme},
};

type Lines = Vec<(String, Style)>;

/// Adds the breaches of a verdict and the text that the model read.
fn verdict_in_full(lines: &mut Lines, theme: &Theme, verdict: &Verdict) {
    for breach in &verdict.breaches {
        lines.push((String::new(), theme.text));
        lines.push((breach.text.clone(), theme.bad));
        field(lines, theme, "of", &breach.scope.to_string());
        field(lines, theme, "path", &breach.path);
        if let Some(why) = &breach.why {
            field(lines, theme, "why", why);
        }
        field(lines, theme, "allowed", &breach.allowed);
        if let Some(limit) = breach.limit {
            let strike = format!("{} of {limit}", breach.strike);
            field(lines, theme, "strike", &strike);
        }
    }
    lines.push((String::new(), theme.text));
    lines.push(("what the model was told".into(), theme.strong));
    lines.push((verdict.reason.clone(), theme.text));
}

fn field(lines: &mut Lines, theme: &Theme, name: &str, value: &str) {
    lines.push((format!("{name:<16} {value}"), theme.text));
}

pub(super) fn invariant(id: InvariantId, model: &Model, theme: &Theme) -> Lines {
    let keyed = model
        .state
        .invariants
        .get(&id)
        .or_else(|| model.built_in.iter().find(|k| k.invariant.id == id));
    let Some(keyed) = keyed else {
        return vec![("This invariant is gone.".into(), theme.dim)];
    };
    let i = &keyed.invariant;
    let mut lines = vec![(i.text.clone(), theme.strong), (String::new(), theme.text)];
    field(&mut lines, theme, "id", &i.id.to_string());
    field(&mut lines, theme, "scope", &i.scope.to_string());
    field(&mut lines, theme, "layer", i.layer.kind().as_str());
    match &i.layer {
        Layer::Letter(check) => field(&mut lines, theme, "check", &check.sentence()),
        Layer::Judgment { checkpoint } => {
            field(&mut lines, theme, "checkpoint", &checkpoint.to_string());
        }
        Layer::Assent { when } if when.is_empty() => {
            field(&mut lines, theme, "when", "once, at the apply gate");
        }
        Layer::Assent { when } => field(&mut lines, theme, "when", &when.join(", ")),
        Layer::Plain => {}
    }
    field(&mut lines, theme, "severity", i.severity.as_str());
    let locked = match (i.non_overridable, i.is_locked()) {
        (true, true) => "yes",
        (true, false) => "set, without effect on this scope",
        _ => "no",
    };
    field(&mut lines, theme, "non-overridable", locked);
    field(&mut lines, theme, "origin", &i.origin.to_string());
    if i.origin != Origin::BuiltIn {
        let revision = format!(
            "{}, created {}",
            i.revision,
            i.created_at.strftime("%Y-%m-%d %H:%M")
        );
        field(&mut lines, theme, "revision", &revision);
    }
    let here: Vec<_> = model
        .rows
        .iter()
        .filter(|r| r.invariant().id == id)
        .collect();
    for shadow in here.iter().filter_map(|r| r.shadowed_by.as_ref()) {
        lines.push((String::new(), theme.text));
        let text = format!("shadowed by {} ({})", shadow.by, shadow.rationale);
        lines.push((text, theme.warning));
    }
    for row in model
        .rows
        .iter()
        .filter(|r| r.shadowed_by.as_ref().is_some_and(|s| s.by == id))
    {
        lines.push((String::new(), theme.text));
        let text = format!(
            "shadows {} of {}",
            row.invariant().id,
            row.invariant().scope
        );
        lines.push((text, theme.dim));
    }
    if let Some(plan) = model.shown_plan() {
        let strikes: Vec<_> = model
            .state
            .strikes_of(plan.id)
            .filter(|s| s.invariant_id == id)
            .collect();
        if !strikes.is_empty() {
            lines.push((String::new(), theme.text));
            lines.push(("breached in this plan".into(), theme.strong));
        }
        for strike in strikes {
            let text = format!(
                "{} {} {}",
                theme.glyphs.flag,
                strike.count,
                strike.signature.target()
            );
            lines.push((text, theme.bad));
        }
    }
    lines
}

/// A plan: how it stands, what stands against it, and what was decided, youngest first.
pub(super) fn plan(
    id: PlanId,
    decisions: Option<&[DecisionNode]>,
    model: &Model,
    theme: &Theme,
) -> Lines {
    let Some(plan) = model.state.plans.get(&id) else {
        return vec![("This plan is gone.".into(), theme.dim)];
    };
    let mut lines = Vec::new();
    field(&mut lines, theme, "id", &plan.id.to_string());
    field(&mut lines, theme, "project", plan.project.as_str());
    let action = plan.action.as_ref().map_or("automatic", |a| a.as_str());
    field(&mut lines, theme, "action", action);
    if let Some(parent) = plan.parent {
        field(&mut lines, theme, "parent", &parent.to_string());
    }
    for (name, value) in &plan.params {
        field(&mut lines, theme, "set", &format!("{name}={value}"));
    }
    if let Some(agent) = &plan.agent {
        field(&mut lines, theme, "agent", agent);
    }
    field(
        &mut lines,
        theme,
        "phase",
        &format!("{} {}", plan.phase, plan.state),
    );
    if let Some(reason) = &plan.halt_reason {
        lines.push((format!("{:<16} {reason}", "halted"), theme.bad));
    }
    let head = |lines: &mut Lines, text: &str| {
        lines.push((String::new(), theme.text));
        lines.push((text.to_owned(), theme.strong));
    };
    let open: Vec<_> = model.state.open_violations(id).collect();
    if !open.is_empty() {
        head(&mut lines, "open violations");
    }
    for violation in open {
        lines.push((
            format!("{}: {}", violation.violated_text, violation.details),
            theme.bad,
        ));
        lines.push((format!("  invar resolve {}", violation.id), theme.accent));
    }
    let strikes: Vec<_> = model.state.strikes_of(id).filter(|s| s.count > 0).collect();
    if !strikes.is_empty() {
        head(&mut lines, "strikes");
    }
    for strike in strikes {
        let invariant = model.state.invariants.get(&strike.invariant_id);
        let text = invariant
            .map(|k| k.invariant.text.as_str())
            .unwrap_or_default();
        let flag = strike_flag(strike, theme);
        lines.push((
            format!("{flag} {}  {text}", strike.signature.target()),
            theme.text,
        ));
    }
    let agent = plan.agent.as_deref().and_then(crate::agents::agent);
    if let Some(agent) = agent {
        head(&mut lines, &format!("with {}", agent.title));
        let limits = agent.capabilities.limits();
        lines.extend(limits.into_iter().map(|limit| (limit, theme.dim)));
    }
    head(&mut lines, "decisions");
    match decisions {
        None => lines.push(("asking the engine".into(), theme.dim)),
        Some([]) => lines.push(("none yet".into(), theme.dim)),
        Some(nodes) => {
            let roots = nodes.iter().rev().filter(|n| n.decision.parent.is_none());
            for root in roots {
                let at = clock(root.decision.at);
                lines.push((format!("{at}  {}", root.decision.summary), theme.text));
                let mine = |n: &&DecisionNode| n.decision.parent == Some(root.decision.id);
                for child in nodes.iter().filter(mine) {
                    lines.push((format!("  {}", child.decision.summary), theme.dim));
                }
            }
        }
    }
    lines
}

pub(super) fn breach(seq: u64, model: &Model, theme: &Theme) -> Lines {
    let event = model.state.recent.iter().find(|e| e.seq == seq);
    let Some(event) = event else {
        let text = format!(
            "This entry is only in the log now: invar events --since {}",
            seq.saturating_sub(1)
        );
        return vec![(text, theme.dim)];
    };
    let mut lines = Vec::new();
    field(
        &mut lines,
        theme,
        "event",
        &format!("{} {}", event.seq, event.kind.name()),
    );
    field(&mut lines, theme, "at", &event.at.to_string());
    match &event.kind {
        EventKind::Attempted {
            plan_id,
            agent,
            session,
            attempt,
            verdict,
        } => {
            field(&mut lines, theme, "plan", &plan_id.to_string());
            field(
                &mut lines,
                theme,
                "agent",
                &format!("{agent}, session {session}"),
            );
            if let Some(subagent) = &attempt.subagent {
                field(&mut lines, theme, "sub-agent", subagent);
            }
            field(&mut lines, theme, "tool", &attempt.tool);
            field(&mut lines, theme, "in", &attempt.cwd.display().to_string());
            for effect in &attempt.effects {
                if let Effect::Opaque { command, .. } = effect {
                    field(&mut lines, theme, "command", command);
                }
            }
            for path in attempt.effects.iter().flat_map(|e| e.changed_paths()) {
                field(&mut lines, theme, "path", &path.display().to_string());
            }
            verdict_in_full(&mut lines, theme, verdict);
        }
        EventKind::ChangeFound {
            plan_id,
            agent,
            session,
            command,
            verdict,
        } => {
            field(&mut lines, theme, "plan", &plan_id.to_string());
            let who = format!("{agent}, session {session}");
            field(&mut lines, theme, "agent", &who);
            if !command.is_empty() {
                field(&mut lines, theme, "after", command);
            }
            verdict_in_full(&mut lines, theme, verdict);
        }
        EventKind::ChangeNotAttributed {
            project,
            path,
            text,
            ..
        } => {
            field(&mut lines, theme, "project", project.as_str());
            field(&mut lines, theme, "path", path);
            field(&mut lines, theme, "invariant", text);
            let why = "no agent's command ran then, so that nobody is blamed";
            lines.push((why.into(), theme.text));
        }
        EventKind::ConfigurationRead { fault } => {
            let text = match fault {
                None => "the configuration was read again, and is in force",
                Some(_) => "the configuration cannot be used; what was read before stays in force",
            };
            lines.push((text.into(), theme.text));
            if let Some(fault) = fault {
                field(&mut lines, theme, "fault", fault);
            }
        }
        EventKind::PlanChanged { plan, .. } => {
            field(&mut lines, theme, "plan", &plan.id.to_string());
            field(&mut lines, theme, "phase", plan.phase.as_str());
            field(&mut lines, theme, "state", plan.state.as_str());
            if let Some(reason) = &plan.halt_reason {
                field(&mut lines, theme, "halted", reason);
            }
            if let Some(fault) = &plan.fault {
                field(&mut lines, theme, "blocked", fault);
            }
            for id in &plan.violated_ids {
                let text = model
                    .state
                    .invariants
                    .get(id)
                    .map(|k| k.invariant.text.clone());
                field(
                    &mut lines,
                    theme,
                    "violated",
                    &text.unwrap_or_else(|| id.to_string()),
                );
            }
        }
        EventKind::InvariantViolated { violation, .. }
        | EventKind::CorrectionApplied { violation, .. } => {
            field(&mut lines, theme, "violation", &violation.id.to_string());
            field(&mut lines, theme, "invariant", &violation.violated_text);
            field(&mut lines, theme, "details", &violation.details);
            field(&mut lines, theme, "severity", violation.severity.as_str());
            if violation.is_open() {
                let hint = format!("invar resolve {} corrects or waives it", violation.id);
                lines.push((String::new(), theme.text));
                lines.push((hint, theme.accent));
            }
        }
        _ => {}
    }
    lines
}
