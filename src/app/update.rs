//! `update`: the one place where the model changes.

use std::sync::Arc;

use crossterm::event::{
    KeyCode, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

use super::{
    action::{Action, next_transition},
    editor::Editor,
    keymap::{self, Key},
    layout,
    model::{Effect, Link, Model, Msg, Pane, Purpose, effective_key},
    overlay::{Confirm, Confirmed, Overlay},
    stream::{Stream, Tone},
    tree::Node,
};
use crate::{
    engine::{
        Call, EngineError, Reply, State,
        protocol::{PlanRef, Snapshot},
    },
    model::{Event, EventKind, PlanId, visible},
    rules::{filter::FilterMode, normalise::Keyed},
};

/// Takes a message in; returns what shall be done.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Key(event) if event.kind == KeyEventKind::Release => Vec::new(),
        Msg::Key(event) => {
            model.settle();
            let effects = on_key(model, event);
            model.settle();
            keep_in_window(model);
            effects
        }
        Msg::Action(action) => {
            model.settle();
            let effects = act(model, action);
            model.settle();
            keep_in_window(model);
            effects
        }
        Msg::Paste(text) => {
            on_paste(model, &text);
            Vec::new()
        }
        Msg::Mouse(event) => {
            model.settle();
            on_mouse(model, event);
            model.settle();
            keep_in_window(model);
            Vec::new()
        }
        Msg::Resize(width, height) => {
            model.size = (width, height);
            model.settle();
            keep_in_window(model);
            Vec::new()
        }
        Msg::Up { snapshot, hosting } => {
            model.link = Link::Live { hosting };
            take_snapshot(model, *snapshot);
            Vec::new()
        }
        Msg::Down => {
            model.link = Link::Lost;
            Vec::new()
        }
        Msg::Event(event) => on_event(model, event),
        Msg::Lagged { missed } => {
            model.missed += missed;
            resync(model)
        }
        Msg::Answer { purpose, answer } => {
            on_answer(model, &purpose, *answer);
            Vec::new()
        }
    }
}

fn take_snapshot(model: &mut Model, mut snapshot: Snapshot) {
    let built_in = std::mem::take(&mut snapshot.built_in);
    model.built_in = built_in.into_iter().map(Keyed::new).collect();
    let first = !std::mem::replace(&mut model.started, true);
    model.state = State::from_snapshot(snapshot);
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
fn select_start(model: &mut Model) {
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

fn on_event(model: &mut Model, event: Arc<Event>) -> Vec<Effect> {
    if let Some(held) = &mut model.held {
        held.push(event);
        return Vec::new();
    }
    if event.seq <= model.state.seq {
        return Vec::new();
    }
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

fn apply(model: &mut Model, event: &Event) {
    model.state.apply(event);
    model.stream.push(event);
    model.stale.breaches = true;
    match &event.kind {
        EventKind::InvariantAdded { .. }
        | EventKind::InvariantEdited { .. }
        | EventKind::InvariantRemoved { .. }
        | EventKind::InvariantRestored { .. }
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
                model.settle();
                model.scopes.selected = Some(Node::Plan(plan.id));
            }
        }
        EventKind::PlanChanged { .. } => {
            model.stale.tree = true;
            model.stale.effective = true;
        }
        EventKind::Attempted { .. } => model.stale.effective = true,
        _ => {}
    }
}

/// Asks for the whole state; events that come meanwhile wait.
fn resync(model: &mut Model) -> Vec<Effect> {
    if model.held.is_some() {
        return Vec::new();
    }
    model.held = Some(Vec::new());
    vec![Effect::Call {
        purpose: Purpose::Resync,
        call: Box::new(Call::Snapshot),
    }]
}

fn on_answer(model: &mut Model, purpose: &Purpose, answer: Result<Reply, EngineError>) {
    match (purpose, answer) {
        (Purpose::Resync, Ok(Reply::Snapshot(snapshot))) => {
            let held = model.held.take().unwrap_or_default();
            take_snapshot(model, *snapshot);
            for event in held {
                if event.seq == model.state.seq + 1 {
                    apply(model, &event);
                }
            }
        }
        // The link breaks next, and a new state comes with the next engine.
        (Purpose::Resync, _) => model.held = None,
        (Purpose::Save, Ok(reply)) => {
            if let Some(Overlay::Editor(_)) = model.overlays.last() {
                model.overlays.pop();
            }
            let (word, invariant, notes) = match reply {
                Reply::Added { invariant, notes } => ("added", Some(invariant), notes),
                Reply::Invariant(invariant) => ("saved", Some(invariant), Vec::new()),
                _ => ("saved", None, Vec::new()),
            };
            if let Some(invariant) = invariant {
                model.effective.selected = Some((invariant.id, false));
                let mut text = format!("{word}: {}", visible(&invariant.text.replace('\n', " ")));
                for note in notes {
                    text.push_str(&format!(" ({note})"));
                }
                model.toast = Some((Tone::Good, text));
            }
        }
        (Purpose::Save, Err(error)) => match model.overlays.last_mut() {
            Some(Overlay::Editor(editor)) => {
                editor.saving = false;
                editor.refused = Some(error.to_string());
            }
            _ => model.toast = Some((Tone::Bad, error.to_string())),
        },
        (Purpose::Do(word), Ok(_)) => model.toast = Some((Tone::Good, (*word).to_owned())),
        (Purpose::Do(_), Err(error)) => model.toast = Some((Tone::Bad, error.to_string())),
    }
}

fn on_key(model: &mut Model, event: crossterm::event::KeyEvent) -> Vec<Effect> {
    let key = Key::from(event);
    if key.ctrl && key.code == KeyCode::Char('c') {
        return vec![Effect::Quit];
    }
    model.toast = None;
    if key.ctrl && key.code == KeyCode::Char('z') {
        return vec![Effect::Suspend];
    }
    if !model.overlays.is_empty() {
        return overlay_key(model, event);
    }
    if filter_is_typing(model) {
        filter_key(model, event);
        return Vec::new();
    }
    match keymap::action(key) {
        Some(action) => act(model, action),
        None => Vec::new(),
    }
}

fn filter_field(model: &mut Model) -> Option<&mut super::list::FilterField> {
    match model.focus {
        Pane::Scopes => Some(&mut model.scopes.filter),
        Pane::Effective => Some(&mut model.effective.filter),
        Pane::Breaches => Some(&mut model.breaches.filter),
        Pane::Plan => None,
    }
}

fn filter_is_typing(model: &mut Model) -> bool {
    filter_field(model).is_some_and(|f| f.typing)
}

fn filter_changed(model: &mut Model) {
    match model.focus {
        Pane::Scopes => model.stale.tree = true,
        Pane::Effective => model.stale.effective = true,
        Pane::Breaches => model.stale.breaches = true,
        Pane::Plan => {}
    }
}

/// Keys while a filter is typed: letters are text, whatever they mean elsewhere.
fn filter_key(model: &mut Model, event: crossterm::event::KeyEvent) {
    let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
    match event.code {
        KeyCode::Down => return move_by(model, 1),
        KeyCode::Up => return move_by(model, -1),
        _ => {}
    }
    let Some(filter) = filter_field(model) else {
        return;
    };
    match event.code {
        KeyCode::Char('t') if ctrl => toggle_mode(filter),
        KeyCode::Char('u') if ctrl => filter.text.clear(),
        KeyCode::Char(c) if !ctrl && !event.modifiers.contains(KeyModifiers::ALT) => {
            filter.text.push(c);
        }
        KeyCode::Backspace if filter.text.is_empty() => filter.clear(),
        KeyCode::Backspace => {
            filter.text.pop();
        }
        KeyCode::Enter => filter.typing = false,
        KeyCode::Esc => filter.clear(),
        _ => return,
    }
    filter_changed(model);
}

fn toggle_mode(filter: &mut super::list::FilterField) {
    filter.mode = match filter.mode {
        FilterMode::Regex => FilterMode::Fuzzy,
        FilterMode::Fuzzy => FilterMode::Regex,
    };
}

fn on_paste(model: &mut Model, text: &str) {
    if let Some(overlay) = model.overlays.last_mut() {
        if let Overlay::Editor(editor) = overlay {
            editor.paste(text);
        }
    } else if filter_is_typing(model) {
        let line: String = text.chars().filter(|c| !c.is_control()).collect();
        if let Some(filter) = filter_field(model) {
            filter.text.push_str(&line);
        }
        filter_changed(model);
        model.settle();
    }
    // Anywhere else pasted text is nothing: it is never a command.
}

fn overlay_key(model: &mut Model, event: crossterm::event::KeyEvent) -> Vec<Effect> {
    let key = Key::from(event);
    let page = usize::from(model.size.1 / 2).max(1);
    let Some(overlay) = model.overlays.last_mut() else {
        return Vec::new();
    };
    match overlay {
        Overlay::Editor(editor) => {
            let save = key.ctrl && key.code == KeyCode::Char('s');
            if save && !editor.saving {
                return match editor.save() {
                    Ok(call) => {
                        editor.saving = true;
                        editor.refused = None;
                        vec![Effect::Call {
                            purpose: Purpose::Save,
                            call: Box::new(call),
                        }]
                    }
                    Err(problem) => {
                        editor.refused = Some(problem);
                        Vec::new()
                    }
                };
            }
            match key.code {
                KeyCode::Esc if editor.is_changed() => {
                    let confirm = Confirm::new(
                        "Throw the changes away?",
                        Vec::new(),
                        "throw away",
                        "go on editing",
                        Confirmed::DiscardEdit,
                    );
                    model.overlays.push(Overlay::Confirm(confirm));
                }
                KeyCode::Esc => {
                    model.overlays.pop();
                }
                _ => editor.key(event),
            }
            Vec::new()
        }
        Overlay::Confirm(confirm) => match key.code {
            KeyCode::Left
            | KeyCode::Right
            | KeyCode::Tab
            | KeyCode::BackTab
            | KeyCode::Char('h' | 'l') => {
                confirm.yes_focused = !confirm.yes_focused;
                Vec::new()
            }
            KeyCode::Char('y') => confirmed(model),
            KeyCode::Enter if confirm.yes_focused => confirmed(model),
            KeyCode::Enter | KeyCode::Esc | KeyCode::Char('n' | 'q') => {
                model.overlays.pop();
                Vec::new()
            }
            _ => Vec::new(),
        },
        Overlay::Help { scroll }
        | Overlay::Invariant { scroll, .. }
        | Overlay::Breach { scroll, .. } => {
            match key.code {
                KeyCode::Down | KeyCode::Char('j') => *scroll += 1,
                KeyCode::Up | KeyCode::Char('k') => *scroll = scroll.saturating_sub(1),
                KeyCode::PageDown => *scroll += page,
                KeyCode::PageUp => *scroll = scroll.saturating_sub(page),
                KeyCode::Char('d') if key.ctrl => *scroll += page,
                KeyCode::Char('u') if key.ctrl => *scroll = scroll.saturating_sub(page),
                KeyCode::Char('g') | KeyCode::Home => *scroll = 0,
                KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | '?') => {
                    model.overlays.pop();
                }
                KeyCode::Char('e') => {
                    if let Overlay::Invariant { id, .. } = *overlay {
                        model.overlays.pop();
                        edit(model, id);
                    }
                }
                _ => {}
            }
            Vec::new()
        }
    }
}

/// Does what the topmost question was about.
fn confirmed(model: &mut Model) -> Vec<Effect> {
    let Some(Overlay::Confirm(confirm)) = model.overlays.pop() else {
        return Vec::new();
    };
    let call = |word, call| {
        vec![Effect::Call {
            purpose: Purpose::Do(word),
            call: Box::new(call),
        }]
    };
    match confirm.then {
        Confirmed::Remove(id) => call("removed", Call::Remove { id: id.to_string() }),
        Confirmed::Resume(id) => call("resumed", Call::PlanResume { plan: plan_ref(id) }),
        Confirmed::DiscardEdit => {
            model.overlays.pop();
            Vec::new()
        }
        Confirmed::Quit => vec![Effect::Quit],
    }
}

fn plan_ref(id: PlanId) -> PlanRef {
    PlanRef {
        text: id.to_string(),
        cwd: std::path::PathBuf::new(),
    }
}

fn act(model: &mut Model, action: Action) -> Vec<Effect> {
    if let Some(why) = action.disabled(model) {
        let label = action.description().label;
        model.toast = Some((Tone::Warning, format!("cannot {label}: {why}")));
        return Vec::new();
    }
    match action {
        Action::Quit => {
            let running = model.running();
            let hosting = model.link == Link::Live { hosting: true };
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
        Action::Help => model.overlays.push(Overlay::Help { scroll: 0 }),
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
                let subject = vec![
                    visible(&invariant.text.replace('\n', " ")).into_owned(),
                    format!("of {}", visible(&invariant.scope.to_string())),
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
                let call = Call::PlanTransition {
                    plan: plan_ref(id),
                    transition,
                };
                let purpose = Purpose::Do(match transition.verb() {
                    "strategize" => "strategize started",
                    "execute" => "execute started",
                    _ => "applied",
                });
                return vec![Effect::Call {
                    purpose,
                    call: Box::new(call),
                }];
            }
        }
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

fn edit(model: &mut Model, id: crate::model::InvariantId) {
    let Some(keyed) = model.state.invariants.get(&id) else {
        return;
    };
    let editor = Editor::edit(&keyed.invariant, model.scope_choices(), model.home.clone());
    model.overlays.push(Overlay::Editor(Box::new(editor)));
}

fn open(model: &mut Model) {
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
fn fold(model: &mut Model, closed: bool) {
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
        model.scopes.selected = Some(Node::Heading(kind));
    } else {
        model.folded.remove(&kind);
    }
    model.stale.tree = true;
}

fn back(model: &mut Model) {
    if let Some(filter) = filter_field(model).filter(|f| f.is_active()) {
        filter.clear();
        filter_changed(model);
    } else if model.zoom {
        model.zoom = false;
    } else if model.focus == Pane::Breaches && model.stream.paused_at.is_some() {
        model.stream.paused_at = None;
    }
}

fn focus_by(model: &mut Model, step: isize) {
    let now = Pane::ALL
        .iter()
        .position(|p| *p == model.focus)
        .unwrap_or(0) as isize;
    let count = Pane::ALL.len() as isize;
    model.focus = Pane::ALL[(now + step).rem_euclid(count) as usize];
}

fn page(model: &Model) -> isize {
    layout::parts(model).rows(model.focus).max(1) as isize
}

fn move_by(model: &mut Model, step: isize) {
    let height = layout::parts(model).rows(model.focus);
    match model.focus {
        Pane::Scopes => {
            model.follows_plans = false;
            let tree = std::mem::take(&mut model.tree);
            model.scopes.step(&tree, |r| r.node.clone(), step, height);
            model.tree = tree;
        }
        Pane::Effective => {
            let rows = std::mem::take(&mut model.rows);
            model.effective.step(&rows, effective_key, step, height);
            model.rows = rows;
        }
        Pane::Plan => model.plan_scroll = model.plan_scroll.saturating_add_signed(step).min(500),
        Pane::Breaches => {
            let rows = model.stream.rows.make_contiguous();
            model.breaches.step(rows, |r| r.seq, step, height);
            hold_or_follow(model);
        }
    }
}

/// At its end the stream follows; away from it the window stands still.
fn hold_or_follow(model: &mut Model) {
    let Stream {
        rows, paused_at, ..
    } = &mut model.stream;
    let last = model
        .breaches
        .shown
        .last()
        .and_then(|i| rows.get(*i))
        .map(|r| r.seq);
    *paused_at = match (model.breaches.selected, last) {
        (Some(selected), Some(last)) if selected != last => Some(paused_at.unwrap_or(last)),
        _ => None,
    };
}

fn follow_stream(model: &mut Model) {
    if model.stream.paused_at.is_some() {
        return;
    }
    let rows = model.stream.rows.make_contiguous();
    let last = model.breaches.shown.len().saturating_sub(1);
    model.breaches.select_index(rows, |r| r.seq, last, 1);
}

/// After every change: the selected rows are in their windows, whatever the size is now.
pub(super) fn keep_in_window(model: &mut Model) {
    follow_stream(model);
    let parts = layout::parts(model);
    if let Some(at) = model.scopes.selected_index(&model.tree, |r| r.node.clone()) {
        model.scopes.scroll_to(at, parts.rows(Pane::Scopes));
    }
    if let Some(at) = model.effective.selected_index(&model.rows, effective_key) {
        model.effective.scroll_to(at, parts.rows(Pane::Effective));
    }
    let rows = model.stream.rows.make_contiguous();
    if let Some(at) = model.breaches.selected_index(rows, |r| r.seq) {
        model.breaches.scroll_to(at, parts.rows(Pane::Breaches));
    }
}

fn on_mouse(model: &mut Model, event: MouseEvent) {
    if !model.overlays.is_empty() {
        return;
    }
    let parts = layout::parts(model);
    let at = ratatui::layout::Position::new(event.column, event.row);
    let Some(pane) = Pane::ALL.into_iter().find(|p| parts.pane(*p).contains(at)) else {
        return;
    };
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => {
            model.focus = pane;
            let area = parts.pane(pane);
            let inside = event.row > area.y && event.row + 1 < area.bottom();
            if inside {
                click(
                    model,
                    pane,
                    usize::from(event.row - area.y - 1),
                    parts.rows(pane),
                );
            }
        }
        MouseEventKind::ScrollDown => {
            model.focus = pane;
            move_by(model, 3);
        }
        MouseEventKind::ScrollUp => {
            model.focus = pane;
            move_by(model, -3);
        }
        _ => {}
    }
}

fn click(model: &mut Model, pane: Pane, row: usize, height: usize) {
    match pane {
        Pane::Scopes => {
            let index = model.scopes.offset + row;
            if index < model.scopes.shown.len() {
                model.follows_plans = false;
                let tree = std::mem::take(&mut model.tree);
                model
                    .scopes
                    .select_index(&tree, |r| r.node.clone(), index, height);
                model.tree = tree;
                if let Some(Node::Heading(_)) = model.scopes.selected {
                    open(model);
                }
            }
        }
        Pane::Effective => {
            let index = model.effective.offset + row;
            if index < model.effective.shown.len() {
                let rows = std::mem::take(&mut model.rows);
                model
                    .effective
                    .select_index(&rows, effective_key, index, height);
                model.rows = rows;
            }
        }
        Pane::Breaches => {
            let index = model.breaches.offset + row;
            if index < model.breaches.shown.len() {
                let rows = model.stream.rows.make_contiguous();
                model.breaches.select_index(rows, |r| r.seq, index, height);
                hold_or_follow(model);
            }
        }
        Pane::Plan => {}
    }
}

impl Model {
    /// Builds anew what has changed and keeps every selected row in its window; the last step
    /// before drawing.
    pub fn prepare(&mut self) {
        self.settle();
        keep_in_window(self);
    }
}
