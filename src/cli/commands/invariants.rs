//! add, list, show, edit, remove, restore, history.

use serde_json::{Value, json};

use super::{
    super::{
        Context,
        args::{AddArgs, EditArgs, InvariantCommand, LayerArgs, ListArgs, RemoveArgs, ScopeArgs},
        exit,
        output::{Done, Failure, confirm},
    },
    Outcome,
    conflicts::{effective_of, side},
    cwd, plan_ref, project, table,
};
use crate::{
    engine::{
        Request,
        requests::{
            Add, Added, Edit, Effective, EffectiveOf, History, List, PlanRef, PlanShow, Remove,
            Restore, Show,
        },
    },
    model::{
        ActionName, Invariant, InvariantPatch, Layer, LetterCheck, ModelError, NewInvariant,
        ProjectName, Scope, ScopeKind, Severity, visible,
    },
    rules::filter::{Filter, FilterMode},
    rules::hint::letter_forms,
};

/// A scope as it was asked for; a plan is still a reference.
pub(super) enum Wanted {
    Scope(Scope),
    Plan(PlanRef),
}

impl ScopeArgs {
    pub(super) fn wanted(&self) -> Result<Option<Wanted>, Failure> {
        let named = [
            (ScopeKind::Global, self.global),
            (ScopeKind::Project, self.project.is_some()),
            (ScopeKind::Action, self.action.is_some()),
            (ScopeKind::Plan, self.plan.is_some()),
        ];
        let mut kinds: Vec<ScopeKind> = named
            .into_iter()
            .filter(|(_, given)| *given)
            .map(|(kind, _)| kind)
            .collect();
        if let Some(kind) = self.scope
            && !kinds.contains(&kind)
        {
            kinds.push(kind);
        }
        let kind = match kinds.as_slice() {
            [] => return Ok(None),
            [kind] => *kind,
            several => {
                let names: Vec<_> = several.iter().map(|k| k.as_str()).collect();
                let names = names.join(" and ");
                let message = format!("an invariant has one scope, and this names {names}");
                return Err(Failure::usage(message).hint("leave one"));
            }
        };
        let missing = || ModelError::MissingSource {
            scope: kind.as_str(),
        };
        Ok(Some(match kind {
            ScopeKind::Global => Wanted::Scope(Scope::Global),
            ScopeKind::Project => {
                let name = self.project.as_deref().ok_or_else(missing)?;
                Wanted::Scope(Scope::Project(ProjectName::new(name)?))
            }
            ScopeKind::Action => {
                let name = self.action.as_deref().ok_or_else(missing)?;
                Wanted::Scope(Scope::Action(ActionName::new(name)?))
            }
            ScopeKind::Plan => Wanted::Plan(plan_ref(self.plan.clone().ok_or_else(missing)?)?),
        }))
    }
}

impl LayerArgs {
    fn layer(&self) -> Result<Option<Layer>, Failure> {
        let letter = !self.no_edits_outside.is_empty() || self.untouched.is_some();
        let kinds = [letter, self.judgment, self.assent];
        if kinds.into_iter().filter(|k| *k).count() > 1 {
            return Err(
                Failure::usage("an invariant has one layer").hint("write one invariant for each")
            );
        }
        if !self.no_edits_outside.is_empty() && self.untouched.is_some() {
            return Err(ModelError::TwoLetterForms.into());
        }
        Ok(if let Some(pattern) = &self.untouched {
            Some(Layer::Letter(LetterCheck::Untouched(pattern.clone())))
        } else if letter {
            Some(Layer::Letter(LetterCheck::NoEditsOutside(
                self.no_edits_outside.clone(),
            )))
        } else if self.judgment {
            Some(Layer::Judgment {
                checkpoint: self.checkpoint.unwrap_or_default(),
            })
        } else if self.assent {
            Some(Layer::Assent {
                when: self.when.clone(),
            })
        } else {
            None
        })
    }
}

/// Both spellings: `invar add …` and `invar invariant add …`.
pub(super) fn invariant(context: &mut Context, command: InvariantCommand) -> Outcome {
    match command {
        InvariantCommand::Add(args) => add(context, args),
        InvariantCommand::List(args) => list(context, args),
        InvariantCommand::Show(arg) => show(context, arg.id),
        InvariantCommand::Edit(args) => edit(context, args),
        InvariantCommand::Remove(args) => remove(context, args),
        InvariantCommand::Restore(arg) => restore(context, arg.id),
        InvariantCommand::History(arg) => history(context, arg.id),
    }
}

fn add(context: &mut Context, args: AddArgs) -> Outcome {
    let (scope, plan) = match args.scope.wanted()? {
        Some(Wanted::Scope(scope)) => (scope, None),
        Some(Wanted::Plan(plan)) => (Scope::Global, Some(plan)),
        None => (Scope::Project(project(context, None)?), None),
    };
    let invariant = NewInvariant {
        text: args.text,
        scope,
        layer: args.layer.layer()?.unwrap_or_default(),
        severity: args.severity,
        non_overridable: args.non_overridable,
        on_invariant_breach: args.on_invariant_breach,
    };
    let Added { invariant, notes } = context.ask(Add {
        invariant,
        cwd: cwd()?,
        plan,
    })?;
    let text = format!(
        "added {} to {}: {}\n",
        invariant.id, invariant.scope, invariant.text
    );
    let mut done = Done::new(text, json!({"invariant": invariant}));
    done.notes = notes;
    if matches!(invariant.layer, Layer::Plain | Layer::Judgment { .. }) {
        done.notes.extend(letter_note(&invariant.text));
    }
    Ok(done)
}

/// How a statement could be added as a letter invariant, when one can say it.
fn letter_note(text: &str) -> Option<String> {
    let forms = letter_forms(text);
    let quoted = |p: &str| format!("'{}'", p.replace('\'', r"'\''"));
    let commands: Vec<String> = forms
        .iter()
        .map(|check| match check {
            LetterCheck::NoEditsOutside(patterns) => {
                let all: Vec<String> = patterns
                    .iter()
                    .map(|p| format!("--no-edits-outside {}", quoted(p)))
                    .collect();
                format!("`invar add {}`", all.join(" "))
            }
            LetterCheck::Untouched(pattern) => {
                format!("`invar add --untouched {}`", quoted(pattern))
            }
        })
        .collect();
    (!commands.is_empty()).then(|| {
        format!(
            "a letter invariant can say this, exactly and before every action: {}",
            commands.join(" and ")
        )
    })
}

fn edit(context: &mut Context, args: EditArgs) -> Outcome {
    let scope = match args.scope.wanted()? {
        Some(Wanted::Scope(scope)) => Some(scope),
        Some(Wanted::Plan(plan)) => Some(Scope::Plan(context.ask(PlanShow { plan })?.id)),
        None => None,
    };
    let layer = if args.plain {
        Some(Layer::Plain)
    } else {
        args.layer.layer()?
    };
    let patch = InvariantPatch {
        text: args.text,
        scope,
        layer,
        severity: args.severity,
        non_overridable: args.non_overridable,
        expected_revision: None,
    };
    if patch == InvariantPatch::default() {
        return Err(Failure::usage("nothing to change was given")
            .hint("give a new text or an option such as --severity"));
    }
    let edited = context.ask(Edit { id: args.id, patch })?;
    Ok(changed(&edited, "changed"))
}

fn remove(context: &mut Context, args: RemoveArgs) -> Outcome {
    if !args.yes {
        let invariant = context.ask(Show {
            id: args.id.clone(),
        })?;
        let question = format!(
            "Remove \"{}\" ({})?",
            visible(&invariant.text),
            visible(&invariant.scope.to_string())
        );
        match confirm(&question) {
            Some(true) => {}
            Some(false) => {
                let mut done = Done::new("nothing was removed\n", Value::Null);
                done.exit = exit::FAILED;
                return Ok(done);
            }
            None => {
                let message = "removing asks first, and there is no terminal to ask on";
                return Err(Failure::usage(message).hint("add --yes"));
            }
        }
    }
    Ok(changed(&context.ask(Remove { id: args.id })?, "removed"))
}

fn restore(context: &mut Context, id: String) -> Outcome {
    Ok(changed(&context.ask(Restore { id })?, "restored"))
}

fn changed(invariant: &Invariant, verb: &str) -> Done {
    let text = format!(
        "{verb} {} of {}: {}\n",
        invariant.id, invariant.scope, invariant.text
    );
    Done::new(text, json!({"invariant": invariant}))
}

/// Undo and redo, which both tell what they changed.
pub(super) fn journal<R>(context: &mut Context, request: R, word: &str) -> Outcome
where
    R: Request<Reply = Vec<Invariant>>,
{
    let invariants = context.ask(request)?;
    let line = |i: &Invariant| {
        let state = if i.active { "in force" } else { "removed" };
        format!(
            "{word}: {} of {} is {state}: {}\n",
            i.id,
            i.scope,
            visible(&i.text.replace('\n', " "))
        )
    };
    let text: String = invariants.iter().map(line).collect();
    Ok(Done::new(text, json!({"invariants": invariants})))
}

fn show(context: &mut Context, id: String) -> Outcome {
    let i = context.ask(Show { id })?;
    let mut rows = vec![
        ("id", i.id.to_string()),
        ("text", i.text.clone()),
        ("scope", i.scope.to_string()),
        ("layer", i.layer.kind().as_str().to_owned()),
    ];
    if let Some(check) = i.layer.letter() {
        rows.push(("check", check.sentence()));
    }
    if let Layer::Judgment { checkpoint } = &i.layer {
        rows.push(("checkpoint", checkpoint.to_string()));
    }
    if let Layer::Assent { when } = &i.layer {
        rows.push((
            "when",
            if when.is_empty() {
                "at apply".into()
            } else {
                when.join(", ")
            },
        ));
    }
    rows.extend([
        ("severity", i.severity.as_str().to_owned()),
        ("non-overridable", i.non_overridable.to_string()),
        ("active", i.active.to_string()),
        ("created", i.created_at.to_string()),
        ("revision", i.revision.to_string()),
        ("origin", i.origin.to_string()),
    ]);
    let text: String = rows
        .iter()
        .map(|(name, value)| format!("{name:<16} {}\n", visible(value)))
        .collect();
    Ok(Done::new(text, json!({"invariant": i})))
}

fn history(context: &mut Context, id: String) -> Outcome {
    let revisions = context.ask(History { id })?;
    let rows: Vec<Vec<String>> = revisions
        .iter()
        .map(|i| {
            let state = if i.active { "active" } else { "removed" };
            vec![
                i.revision.to_string(),
                state.into(),
                i.scope.to_string(),
                i.text.clone(),
            ]
        })
        .collect();
    let text = table(&["REVISION", "STATE", "SCOPE", "TEXT"], &rows);
    Ok(Done::new(text, json!({"revisions": revisions})))
}

fn list(context: &mut Context, args: ListArgs) -> Outcome {
    let filter = match &args.regex {
        Some(text) => Some(Filter::new(text, FilterMode::Regex)?),
        None => None,
    };
    let keep = |i: &Invariant| {
        filter.as_ref().is_none_or(|f| f.matches(&i.text))
            && args.layer.is_none_or(|layer| i.layer.kind() == layer)
    };
    if args.effective {
        return effective(context, &args, keep);
    }
    let (scope, plan) = match args.scope.wanted()? {
        Some(Wanted::Scope(scope)) => (Some(scope), None),
        Some(Wanted::Plan(plan)) => (None, Some(plan)),
        None => (None, None),
    };
    let scope_name = scope.as_ref().map(ToString::to_string);
    let mut invariants = context.ask(List {
        scope,
        plan,
        removed: args.all,
    })?;
    invariants.retain(keep);
    let text = match invariants.is_empty() {
        true if filter.is_some() || args.layer.is_some() => "no invariant matches\n".to_owned(),
        true => "no invariants; add one with `invar add`\n".to_owned(),
        false => invariant_table(&invariants),
    };
    let data = json!({"scope": scope_name, "effective": false, "invariants": invariants});
    Ok(Done::new(text, data))
}

fn effective(context: &mut Context, args: &ListArgs, keep: impl Fn(&Invariant) -> bool) -> Outcome {
    let of = effective_of(context, &args.scope)?;
    let scope = match &of {
        EffectiveOf::Global => "global",
        EffectiveOf::Project(_) => "project",
        EffectiveOf::Action(_) => "action",
        EffectiveOf::Plan(_) => "plan",
    };
    let mut set = context.ask(Effective { of })?;
    set.invariants.retain(&keep);
    set.conflicts_resolved.retain(|r| keep(&r.overridden));
    let mut text = match set.invariants.is_empty() {
        true => "no invariants in force\n".to_owned(),
        false => invariant_table(&set.invariants),
    };
    if !set.conflicts_resolved.is_empty() {
        text.push_str("\nshadowed\n");
        let rows: Vec<Vec<String>> = set
            .conflicts_resolved
            .iter()
            .map(|r| {
                vec![
                    r.overridden.id.to_string(),
                    r.overridden.scope.to_string(),
                    format!("shadowed by {} ({})", r.by.scope, r.rationale),
                    r.overridden.text.clone(),
                ]
            })
            .collect();
        text.push_str(&table(&["ID", "SCOPE", "WHY", "TEXT"], &rows));
    }
    let conflicts: Vec<Value> = set
        .conflicts_resolved
        .iter()
        .map(|r| {
            json!({
                "overridden": side(&r.overridden), "by": side(&r.by), "rationale": r.rationale,
            })
        })
        .collect();
    let data = json!({
        "scope": scope, "plan_id": set.plan_id, "effective": true,
        "invariants": set.invariants, "conflicts_resolved": conflicts,
        "built_in": set.built_in,
    });
    Ok(Done::new(text, data))
}

pub(super) fn invariant_table(invariants: &[Invariant]) -> String {
    let rows: Vec<Vec<String>> = invariants
        .iter()
        .map(|i| {
            let mut text = i.text.clone();
            if i.severity != Severity::Error {
                text.push_str(&format!(" [{}]", i.severity.as_str()));
            }
            if i.is_locked() {
                text.push_str(" [non-overridable]");
            }
            if !i.active {
                text.push_str(" [removed]");
            }
            vec![
                i.id.to_string(),
                i.layer.kind().as_str().to_owned(),
                i.scope.to_string(),
                text,
            ]
        })
        .collect();
    table(&["ID", "LAYER", "SCOPE", "TEXT"], &rows)
}
