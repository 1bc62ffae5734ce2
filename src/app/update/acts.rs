//! What each action does.

use std::path::PathBuf;

use super::{
    keys::{filter_changed, filter_field, perform, plan_ref, toggle_mode},
    moves::{focus_by, move_by, page},
};
use crate::{
    app::{
        action::{Action, next_transition},
        ask::Ask,
        editor::Editor,
        model::{Effect, EngineLink, Model, Pane},
        overlay::{Confirm, Confirmed, Overlay},
        palette::Palette,
        resolver::Resolver,
        stream::Tone,
        tree::Node,
    },
    engine::{
        journal::Group,
        requests::{Decisions, PlanTransition, Redo, Undo},
    },
    model::{JournalEntry, visible},
};

pub(super) fn act(model: &mut Model, action: Action) -> Vec<Effect> {
    if let Some(why) = action.disabled(model) {
        let label = action.description().label;
        model.toast = Some((Tone::Warning, format!("cannot {label}: {why}")));
        return Vec::new();
    }
    match action {
        Action::Quit => {
            // Agents stay guarded without this program, but slower: worth a question only when
            // this process hosts the engine they use.
            let running = model.running();
            let hosting = model.link == EngineLink::Live { hosting: true };
            if running == 0 || !hosting {
                return vec![Effect::Quit];
            }
            let subject = vec![
                format!("{running} agent runs are guarded through this program."),
                "They stay guarded: each action then starts the engine for itself.".to_owned(),
            ];
            let confirm = Confirm::new(
                "Leave while agents run?",
                subject,
                "leave",
                "stay",
                Confirmed::Quit,
            );
            model.overlays.push(Overlay::Confirm(confirm));
        }
        Action::Suspend => return vec![Effect::Suspend],
        Action::Help => model.overlays.push(Overlay::Help {
            scroll: 0,
            filter: String::new(),
        }),
        Action::Palette => model.overlays.push(Overlay::Palette(Palette::default())),
        Action::Inbox => model.overlays.push(Overlay::Inbox { selected: 0 }),
        Action::Resolve => {
            if let Some(plan) = model.shown_plan().map(|p| p.id) {
                model.overlays.push(Overlay::Resolver(Resolver::new(plan)));
            }
        }
        Action::Copy => {
            let text = crate::app::copy::text(model);
            return text.map(Effect::Copy).into_iter().collect();
        }
        Action::ExternalEdit => {
            let text = model.selected_invariant().map(|i| i.text.clone());
            return text.map(Effect::External).into_iter().collect();
        }
        Action::Add => {
            let editor = Editor::new(model.scope_choices(), model.home.clone());
            model.overlays.push(Overlay::Editor(Box::new(editor)));
        }
        Action::Edit => {
            if let Some(id) = model.selected_invariant().map(|i| i.id) {
                edit(model, id);
            }
        }
        Action::Remove => {
            if let Some(invariant) = model.selected_invariant() {
                let (plans, at_work) = model.reach(invariant.id);
                let subject = vec![
                    visible(&invariant.text.replace('\n', " ")).into_owned(),
                    format!("of {}", visible(&invariant.scope.to_string())),
                    format!("It reaches {plans} open plans; in {at_work} an agent is at work."),
                    "It is kept in the history; `invar restore` brings it back.".to_owned(),
                ];
                let then = Confirmed::Remove(invariant.id);
                let confirm =
                    Confirm::new("Remove this invariant?", subject, "remove", "keep", then);
                model.overlays.push(Overlay::Confirm(confirm));
            }
        }
        Action::Resume => {
            if let Some(plan) = model.shown_plan() {
                let subject = vec![
                    format!("plan {}", plan.id),
                    plan.halt_reason.clone().unwrap_or_default(),
                    "The count that halted it starts again.".to_owned(),
                ];
                let then = Confirmed::Resume(plan.id);
                let confirm = Confirm::new(
                    "Let the run go on?",
                    subject,
                    "resume",
                    "leave halted",
                    then,
                );
                model.overlays.push(Overlay::Confirm(confirm));
            }
        }
        Action::NextPhase => {
            let next = model
                .shown_plan()
                .and_then(|p| Some((p.id, next_transition(p)?)));
            if let Some((id, transition)) = next {
                let word = match transition.verb() {
                    "strategize" => "strategize started",
                    "execute" => "execute started",
                    _ => "applied",
                };
                let plan = plan_ref(id);
                return perform(word, PlanTransition { plan, transition });
            }
        }
        Action::Undo => {
            let project = model.project_in_view();
            let last = project.as_ref().map(|p| model.state.journal.to_undo(p));
            let request = Undo {
                expect: number_of(last),
                cwd: PathBuf::new(),
                project,
            };
            return perform("undone", request);
        }
        Action::Redo => {
            let project = model.project_in_view();
            let last = project.as_ref().map(|p| model.state.journal.to_redo(p));
            let request = Redo {
                expect: number_of(last),
                cwd: PathBuf::new(),
                project,
            };
            return perform("done again", request);
        }
        Action::Open if model.focus == Pane::Plan => return open_plan(model),
        Action::Open => open(model),
        Action::Filter => {
            if let Some(filter) = filter_field(model) {
                filter.typing = true;
            }
        }
        Action::FilterMode => {
            if let Some(filter) = filter_field(model) {
                toggle_mode(filter);
            }
            filter_changed(model);
        }
        Action::NextPane => focus_by(model, 1),
        Action::PreviousPane => focus_by(model, -1),
        Action::ScopesPane => model.focus = Pane::Scopes,
        Action::EffectivePane => model.focus = Pane::Effective,
        Action::PlanPane => model.focus = Pane::Plan,
        Action::BreachesPane => model.focus = Pane::Breaches,
        Action::Zoom => model.zoom = !model.zoom,
        Action::Up => move_by(model, -1),
        Action::Down => move_by(model, 1),
        Action::PageUp => move_by(model, -page(model)),
        Action::PageDown => move_by(model, page(model)),
        Action::HalfPageUp => move_by(model, -(page(model) / 2).max(1)),
        Action::HalfPageDown => move_by(model, (page(model) / 2).max(1)),
        Action::First => move_by(model, isize::MIN / 2),
        Action::Last => {
            // The last row is where the stream follows again.
            if model.focus == Pane::Breaches {
                model.stream.paused_at = None;
            }
            move_by(model, isize::MAX / 2);
        }
        Action::Left => fold(model, true),
        Action::Right => fold(model, false),
        Action::Back => back(model),
    }
    Vec::new()
}

pub(super) fn edit(model: &mut Model, id: crate::model::InvariantId) {
    let Some(keyed) = model.state.invariants.get(&id) else {
        return;
    };
    let editor = Editor::edit(&keyed.invariant, model.scope_choices(), model.home.clone());
    model.overlays.push(Overlay::Editor(Box::new(editor)));
}

/// Opens the shown plan and asks for its decision tree.
fn open_plan(model: &mut Model) -> Vec<Effect> {
    let Some(id) = model.shown_plan().map(|p| p.id) else {
        return Vec::new();
    };
    model.overlays.push(Overlay::Plan {
        id,
        scroll: 0,
        decisions: None,
    });
    let plan = plan_ref(id);
    vec![Effect::Ask(Ask::Decisions(Decisions { plan }))]
}

pub(super) fn open(model: &mut Model) {
    match model.focus {
        Pane::Scopes => match model.scopes.selected {
            Some(Node::Heading(kind)) => {
                let open = model.folded.contains(&kind);
                fold(model, !open);
            }
            _ => model.focus = Pane::Effective,
        },
        Pane::Effective => {
            if let Some(id) = model.selected_invariant().map(|i| i.id) {
                model.overlays.push(Overlay::Invariant { id, scroll: 0 });
            }
        }
        Pane::Breaches => {
            if let Some(seq) = model.breaches.selected {
                model.overlays.push(Overlay::Breach { seq, scroll: 0 });
            }
        }
        Pane::Plan => {}
    }
}

/// Folds or unfolds the heading that is selected or that the selected row belongs to.
pub(super) fn fold(model: &mut Model, closed: bool) {
    use crate::model::ScopeKind;
    if model.focus != Pane::Scopes {
        return;
    }
    let kind = match model.scopes.selected {
        Some(Node::Heading(kind)) => kind,
        Some(Node::Project(_)) => ScopeKind::Project,
        Some(Node::Action(_)) => ScopeKind::Action,
        Some(Node::Plan(_)) => ScopeKind::Plan,
        Some(Node::Global) | None => return,
    };
    if closed {
        model.folded.insert(kind);
        // The selected row may be one that is hidden now.
        model.scopes.selected = Some(Node::Heading(kind));
    } else {
        model.folded.remove(&kind);
    }
    model.stale.tree = true;
}

/// Leaves one thing at a time: the filter, then the zoom, then the paused stream.
pub(super) fn back(model: &mut Model) {
    if let Some(filter) = filter_field(model).filter(|f| f.is_active()) {
        filter.clear();
        filter_changed(model);
    } else if model.zoom {
        model.zoom = false;
    } else if model.focus == Pane::Breaches && model.stream.paused_at.is_some() {
        model.stream.paused_at = None;
    }
}

/// The number of the change that the person sees as the last one; the engine refuses when another
/// one came meanwhile. `None` when there is none: the engine then says why.
fn number_of(group: Option<Result<Group<'_>, &JournalEntry>>) -> Option<u64> {
    let group = group?.ok()?;
    group.first().map(|entry| entry.number)
}
