//! What comes from the engine: the state, events, answers.

use std::sync::Arc;

use super::moves::{follow_stream, keep_in_window};
use crate::{
    app::{
        ask::{Answered, Ask},
        model::{Effect, Model},
        overlay::Overlay,
        settings::Settings,
        stream::Tone,
        tree::Node,
    },
    engine::{EngineError, State, requests::Snapshot},
    model::{Event, EventKind, Invariant, visible},
    rules::normalise::KeyedInvariant,
};

pub(super) fn take_snapshot(model: &mut Model, mut snapshot: Snapshot) {
    let built_in = std::mem::take(&mut snapshot.built_in);
    model.built_in = built_in.into_iter().map(KeyedInvariant::new).collect();
    model.can_put_back = snapshot.restores;
    model.judge_bounds = snapshot.judge_bounds;
    let first = !std::mem::replace(&mut model.started, true);
    model.state = State::from_snapshot(snapshot);
    // The stream survives a new state: only events that it does not have yet are added.
    let seen = model.stream.rows.back().map_or(0, |r| r.seq);
    let recent: Vec<Event> = model
        .state
        .recent
        .iter()
        .filter(|e| e.seq > seen)
        .cloned()
        .collect();
    recent.iter().for_each(|event| model.stream.push(event));
    model.stale.tree = true;
    model.stale.effective = true;
    model.stale.breaches = true;
    model.settle();
    if first {
        select_start(model);
    }
    follow_stream(model);
    keep_in_window(model);
}

/// What a person wants to see first: the plan of this directory, else the youngest that is not
/// over, else the project of this directory, else global.
pub(super) fn select_start(model: &mut Model) {
    let state = &model.state;
    let own = model
        .home_project
        .as_ref()
        .and_then(|p| state.current_plan(p))
        .map(|p| p.id);
    let youngest = || {
        state
            .plans
            .values()
            .rev()
            .find(|p| !p.is_over())
            .map(|p| p.id)
    };
    let project = || {
        let known = model.home_project.clone().map(Node::Project);
        known.filter(|node| model.tree.iter().any(|row| row.node == *node))
    };
    let node = own
        .or_else(youngest)
        .map(Node::Plan)
        .or_else(project)
        .unwrap_or(Node::Global);
    model.scopes.selected = Some(node);
    model.settle();
}

/// A broken configuration keeps the last good one.
pub(super) fn on_settings(model: &mut Model, read: Result<Box<Settings>, String>) {
    match read {
        Ok(settings) if *settings == model.settings => {}
        Ok(settings) => {
            let warning = settings.warnings.first().cloned();
            model.settings = *settings;
            model.toast = Some(match warning {
                Some(warning) => (Tone::Warning, warning),
                None => (Tone::Good, "configuration taken over".into()),
            });
        }
        Err(fault) => {
            let text = format!("configuration not taken over, the last good one stays: {fault}");
            model.toast = Some((Tone::Bad, text));
        }
    }
}

/// The text that comes back from the person's own editor goes on in ours.
pub(super) fn on_edited(model: &mut Model, text: Option<String>) {
    let Some(text) = text else {
        model.toast = Some((
            Tone::Warning,
            "the editor left nothing new; all is as it was".into(),
        ));
        return;
    };
    if let Some(Overlay::Editor(editor)) = model.overlays.last_mut() {
        editor.set_text(&text);
    } else if let Some(id) = model.selected_invariant().map(|i| i.id) {
        super::acts::edit(model, id);
        if let Some(Overlay::Editor(editor)) = model.overlays.last_mut() {
            editor.set_text(&text);
        }
    }
}

pub(super) fn on_event(model: &mut Model, event: Arc<Event>) -> Vec<Effect> {
    // Counting goes over all plans, so it is done only for those who want the bell.
    let before = if model.settings.ui.bell {
        model.needing()
    } else {
        0
    };
    let mut effects = take_event(model, event);
    if model.settings.ui.bell && model.needing() > before {
        effects.push(Effect::Bell);
    }
    effects
}

/// Takes an event into the mirror. Numbers have no gaps, so the mirror is the engine's state
/// exactly when each event follows the one before.
fn take_event(model: &mut Model, event: Arc<Event>) -> Vec<Effect> {
    // A new state was asked for. Its number is not known yet, so events wait until it is here.
    if let Some(held) = &mut model.held {
        held.push(event);
        return Vec::new();
    }
    // The snapshot of a new engine may hold what comes again as an event.
    if event.seq <= model.state.seq {
        return Vec::new();
    }
    // Something is missing: applying this one would make a state that never was.
    if event.seq != model.state.seq + 1 {
        let effects = resync(model);
        if let Some(held) = &mut model.held {
            held.push(event);
        }
        return effects;
    }
    apply(model, &event);
    Vec::new()
}

pub(super) fn apply(model: &mut Model, event: &Event) {
    model.state.apply(event);
    model.stream.push(event);
    model.stale.breaches = true;
    match &event.kind {
        EventKind::InvariantAdded { .. }
        | EventKind::InvariantEdited { .. }
        | EventKind::InvariantRemoved { .. }
        | EventKind::InvariantRestored { .. }
        | EventKind::ActionAdded { .. }
        | EventKind::ActionRemoved { .. }
        | EventKind::ProjectBound { .. } => {
            model.stale.tree = true;
            model.stale.effective = true;
        }
        EventKind::PlanCreated { plan } => {
            model.stale.tree = true;
            let ours = model
                .home_project
                .as_ref()
                .is_none_or(|p| *p == plan.project);
            if model.follows_plans && ours {
                // The row must be in the tree before it can be selected.
                model.settle();
                model.scopes.selected = Some(Node::Plan(plan.id));
            }
        }
        EventKind::PlanChanged { .. } => {
            model.stale.tree = true;
            model.stale.effective = true;
        }
        // The strikes of an attempt are shown beside its invariants.
        EventKind::Attempted { .. } => model.stale.effective = true,
        _ => {}
    }
}

/// Asks for the whole state; events that come meanwhile wait.
pub(super) fn resync(model: &mut Model) -> Vec<Effect> {
    if model.held.is_some() {
        return Vec::new();
    }
    model.held = Some(Vec::new());
    vec![Effect::Ask(Ask::Resync)]
}

pub(super) fn on_answer(model: &mut Model, answer: Answered) {
    match answer {
        Answered::Resync(Ok(snapshot)) => {
            let held = model.held.take().unwrap_or_default();
            take_snapshot(model, *snapshot);
            // Those that the snapshot holds already are passed over. A gap behind it is found by
            // the next event.
            for event in held {
                if event.seq == model.state.seq + 1 {
                    apply(model, &event);
                }
            }
        }
        // The link breaks next, and a new state comes with the next engine.
        Answered::Resync(Err(_)) => model.held = None,
        Answered::Add(Ok(added)) => saved(model, "added", &added.invariant, &added.notes),
        Answered::Edit(Ok(invariant)) => saved(model, "saved", &invariant, &[]),
        Answered::Add(Err(error)) | Answered::Edit(Err(error)) => not_saved(model, &error),
        Answered::Meet(Ok(project)) => {
            model.home_project = Some(project.name);
            // The project's file may have just brought it here.
            if model.follows_plans {
                model.stale.tree = true;
                model.settle();
                select_start(model);
            }
        }
        Answered::Meet(Err(_)) => {}
        Answered::Decisions(Ok(nodes)) => {
            if let Some(Overlay::Plan { decisions, .. }) = model.overlays.last_mut() {
                *decisions = Some(nodes);
            }
        }
        Answered::Decisions(Err(_)) => {}
        Answered::Do { word, done: Ok(()) } => model.toast = Some((Tone::Good, word.to_owned())),
        Answered::Do {
            done: Err(error), ..
        } => model.toast = Some((Tone::Bad, error.to_string())),
    }
}

/// Where the editor lies that waits for its save. A question may lie on it by now, since a
/// person need not wait.
fn saving_editor(model: &Model) -> Option<usize> {
    let saves = |overlay: &Overlay| matches!(overlay, Overlay::Editor(e) if e.saving);
    model.overlays.iter().position(saves)
}

/// The editor closes on what it saved, with the question whether to throw that away.
fn saved(model: &mut Model, word: &str, invariant: &Invariant, notes: &[String]) {
    if let Some(at) = saving_editor(model) {
        model.overlays.truncate(at);
    }
    model.reveal = Some(invariant.id);
    let mut text = format!("{word}: {}", visible(&invariant.text.replace('\n', " ")));
    for note in notes {
        text.push_str(&format!(" ({note})"));
    }
    model.toast = Some((Tone::Good, text));
}

/// The editor stays open, so that nothing typed is lost.
fn not_saved(model: &mut Model, error: &EngineError) {
    let at = saving_editor(model);
    match at.and_then(|at| model.overlays.get_mut(at)) {
        Some(Overlay::Editor(editor)) => {
            editor.saving = false;
            editor.refused = Some(error.to_string());
        }
        _ => model.toast = Some((Tone::Bad, error.to_string())),
    }
}
