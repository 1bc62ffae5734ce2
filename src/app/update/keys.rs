//! Keys and pasted text: whose they are, and what they mean there.

use crossterm::event::{KeyCode, KeyModifiers};

use super::{
    acts::{act, edit},
    moves::move_by,
    views::{help_key, inbox_key, palette_key, paste_reason, resolver_key},
};
use crate::{
    app::{
        ask::Ask,
        keymap::Key,
        model::{Effect, Model, Pane},
        overlay::{Confirm, Confirmed, Overlay},
    },
    engine::{
        Call,
        requests::{PlanCancel, PlanRef, PlanResume, Remove},
    },
    model::PlanId,
    rules::filter::FilterMode,
};

pub(super) fn on_key(model: &mut Model, event: crossterm::event::KeyEvent) -> Vec<Effect> {
    let key = Key::from(event);
    // Before everything else: a person must be able to leave from any view.
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
    match model.settings.keymap.action(key) {
        Some(action) => act(model, action),
        None => Vec::new(),
    }
}

pub(super) fn filter_field(model: &mut Model) -> Option<&mut crate::app::list::FilterField> {
    match model.focus {
        Pane::Scopes => Some(&mut model.scopes.filter),
        Pane::Effective => Some(&mut model.effective.filter),
        Pane::Breaches => Some(&mut model.breaches.filter),
        Pane::Plan => None,
    }
}

pub(super) fn filter_is_typing(model: &mut Model) -> bool {
    filter_field(model).is_some_and(|f| f.typing)
}

pub(super) fn filter_changed(model: &mut Model) {
    match model.focus {
        Pane::Scopes => model.stale.tree = true,
        Pane::Effective => model.stale.effective = true,
        Pane::Breaches => model.stale.breaches = true,
        Pane::Plan => {}
    }
}

/// Keys while a filter is typed: letters are text, whatever they mean elsewhere.
pub(super) fn filter_key(model: &mut Model, event: crossterm::event::KeyEvent) {
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

pub(super) fn toggle_mode(filter: &mut crate::app::list::FilterField) {
    filter.mode = match filter.mode {
        FilterMode::Regex => FilterMode::Fuzzy,
        FilterMode::Fuzzy => FilterMode::Regex,
    };
}

pub(super) fn on_paste(model: &mut Model, text: &str) {
    if let Some(overlay) = model.overlays.last_mut() {
        match overlay {
            Overlay::Editor(editor) => editor.paste(text),
            Overlay::Palette(palette) => {
                palette
                    .text
                    .extend(text.chars().filter(|c| !c.is_control()));
                palette.selected = 0;
            }
            _ => paste_reason(model, text),
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

pub(super) fn overlay_key(model: &mut Model, event: crossterm::event::KeyEvent) -> Vec<Effect> {
    let key = Key::from(event);
    let page = usize::from(model.size.1 / 2).max(1);
    let Some(overlay) = model.overlays.last_mut() else {
        return Vec::new();
    };
    match overlay {
        Overlay::Editor(editor) => {
            if key.ctrl && key.code == KeyCode::Char('o') {
                return vec![Effect::External(editor.text.lines().join("\n"))];
            }
            if key.ctrl && key.code == KeyCode::Char('l') {
                editor.take_letter_form();
            }
            let save = key.ctrl && key.code == KeyCode::Char('s');
            // A second press while a save is on its way would add the invariant twice.
            if save && !editor.saving {
                return match editor.save() {
                    Ok(ask) => {
                        editor.saving = true;
                        editor.refused = None;
                        vec![Effect::Ask(ask)]
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
                // It was taken above, and is no key of the text field.
                KeyCode::Char('l') if key.ctrl => {}
                _ => editor.key(event),
            }
            // Counting walks the project, so it is asked for only when the patterns are others.
            let counted = model.counted.as_ref().map(|c| &c.patterns);
            match model.overlays.last() {
                Some(Overlay::Editor(editor)) => match editor.countable() {
                    Some(patterns) if counted != Some(&patterns) => vec![Effect::Count(patterns)],
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            }
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
        Overlay::Palette(_) => palette_key(model, event),
        Overlay::Help { .. } => help_key(model, event),
        Overlay::Inbox { .. } => inbox_key(model, event),
        Overlay::Resolver(_) => resolver_key(model, event),
        Overlay::Invariant { scroll, .. }
        | Overlay::Plan { scroll, .. }
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
                KeyCode::Char('y') => {
                    return crate::app::copy::text(model)
                        .map(Effect::Copy)
                        .into_iter()
                        .collect();
                }
                KeyCode::Char('e') if !model.read_only => {
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
pub(super) fn confirmed(model: &mut Model) -> Vec<Effect> {
    let Some(Overlay::Confirm(confirm)) = model.overlays.pop() else {
        return Vec::new();
    };
    match confirm.then {
        Confirmed::Remove(id) => perform("removed", Remove { id: id.to_string() }),
        Confirmed::Cancel(id) => perform("cancelled", PlanCancel { plan: plan_ref(id) }),
        Confirmed::Resume(id) => perform("resumed", PlanResume { plan: plan_ref(id) }),
        Confirmed::DiscardEdit => {
            // The editor below the question.
            model.overlays.pop();
            Vec::new()
        }
        Confirmed::Quit => vec![Effect::Quit],
    }
}

/// Has the engine do something; the word says so when it is done.
pub(super) fn perform(word: &'static str, request: impl Into<Call>) -> Vec<Effect> {
    vec![Effect::Ask(Ask::Do {
        word,
        call: Box::new(request.into()),
    })]
}

pub(super) fn plan_ref(id: PlanId) -> PlanRef {
    PlanRef {
        text: id.to_string(),
        cwd: std::path::PathBuf::new(),
    }
}
