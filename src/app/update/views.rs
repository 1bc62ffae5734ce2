//! Keys of the palette, the inbox, the resolver and the help.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{
    acts::{act, edit},
    keys::{perform, plan_ref},
};
use crate::{
    app::{
        action::next_transition,
        keymap::Key,
        model::{Effect, Model},
        overlay::{Confirm, Confirmed, Overlay},
        resolver::{self, Resolver, Way},
        stream::Tone,
        tree::Node,
    },
    engine::requests::{AssentAnswer, Edit, PlanResume, PlanTransition, PutBack, Resolve, Ruling},
    model::{InvariantPatch, Layer, LetterCheck, PlanId, visible},
};

/// A letter that is text, when no other key is held.
fn typed(event: KeyEvent) -> Option<char> {
    let plain = event.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    match event.code {
        KeyCode::Char(c) if plain => Some(c),
        _ => None,
    }
}

/// How many rows a key moves; `None` for a key that moves nothing. With `letters`, j and k move
/// as well, in views where letters are not typed as text.
fn step(event: KeyEvent, letters: bool) -> Option<isize> {
    let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
    match event.code {
        KeyCode::Down => Some(1),
        KeyCode::Up => Some(-1),
        KeyCode::Char('n') if ctrl => Some(1),
        KeyCode::Char('p') if ctrl => Some(-1),
        KeyCode::Char('j') if letters && !ctrl => Some(1),
        KeyCode::Char('k') if letters && !ctrl => Some(-1),
        KeyCode::PageDown => Some(10),
        KeyCode::PageUp => Some(-10),
        KeyCode::Home => Some(isize::MIN / 2),
        KeyCode::End => Some(isize::MAX / 2),
        _ => None,
    }
}

fn moved(now: usize, step: isize, count: usize) -> usize {
    let last = count.saturating_sub(1);
    now.saturating_add_signed(step).min(last)
}

pub(super) fn palette_key(model: &mut Model, event: KeyEvent) -> Vec<Effect> {
    let Some(Overlay::Palette(palette)) = model.overlays.last() else {
        return Vec::new();
    };
    // A copy is changed and put back: its rows need the whole model.
    let mut palette = palette.clone();
    let rows = palette.rows(model);
    if event.code == KeyCode::Enter {
        model.overlays.pop();
        let chosen = rows.get(palette.selected).map(|r| r.action);
        return chosen.map(|action| act(model, action)).unwrap_or_default();
    }
    if event.code == KeyCode::Esc {
        model.overlays.pop();
        return Vec::new();
    }
    let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
    if let Some(step) = step(event, false) {
        palette.selected = moved(palette.selected, step, rows.len());
    } else {
        match (event.code, typed(event)) {
            (KeyCode::Backspace, _) => {
                palette.text.pop();
            }
            (KeyCode::Char('u'), _) if ctrl => palette.text.clear(),
            (_, Some(c)) => palette.text.push(c),
            _ => {}
        }
        palette.selected = 0;
    }
    if let Some(Overlay::Palette(open)) = model.overlays.last_mut() {
        *open = palette;
    }
    Vec::new()
}

pub(super) fn help_key(model: &mut Model, event: KeyEvent) -> Vec<Effect> {
    let page = usize::from(model.size.1 / 2).max(1);
    let Some(Overlay::Help { scroll, filter }) = model.overlays.last_mut() else {
        return Vec::new();
    };
    let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
    match event.code {
        KeyCode::Esc if !filter.is_empty() => filter.clear(),
        KeyCode::Esc | KeyCode::Enter => {
            model.overlays.pop();
        }
        KeyCode::Char('?') if filter.is_empty() => {
            model.overlays.pop();
        }
        KeyCode::Down => *scroll += 1,
        KeyCode::Up => *scroll = scroll.saturating_sub(1),
        KeyCode::PageDown => *scroll += page,
        KeyCode::PageUp => *scroll = scroll.saturating_sub(page),
        KeyCode::Char('d') if ctrl => *scroll += page,
        KeyCode::Char('u') if ctrl => *scroll = scroll.saturating_sub(page),
        KeyCode::Home => *scroll = 0,
        KeyCode::Backspace => {
            filter.pop();
        }
        _ => {
            if let Some(c) = typed(event) {
                filter.push(c);
                *scroll = 0;
            }
        }
    }
    Vec::new()
}

pub(super) fn inbox_key(model: &mut Model, event: KeyEvent) -> Vec<Effect> {
    let rows = resolver::inbox(model);
    let Some(Overlay::Inbox { selected }) = model.overlays.last_mut() else {
        return Vec::new();
    };
    if let Some(step) = step(event, true) {
        *selected = moved(*selected, step, rows.len());
        return Vec::new();
    }
    match event.code {
        KeyCode::Enter => {
            let plan = rows.get(*selected).map(|(id, ..)| *id);
            model.overlays.pop();
            if let Some(plan) = plan {
                show_plan(model, plan);
                model.overlays.push(Overlay::Resolver(Resolver::new(plan)));
            }
        }
        KeyCode::Esc | KeyCode::Char('q' | 'i') => {
            model.overlays.pop();
        }
        _ => {}
    }
    Vec::new()
}

/// Selects a plan in the tree, so that all panes are about it.
pub(super) fn show_plan(model: &mut Model, plan: PlanId) {
    model.follows_plans = false;
    model.folded.remove(&crate::model::ScopeKind::Plan);
    model.scopes.filter.clear();
    model.stale.tree = true;
    model.scopes.selected = Some(Node::Plan(plan));
    model.settle();
}

pub(super) fn resolver_key(model: &mut Model, event: KeyEvent) -> Vec<Effect> {
    let Some(Overlay::Resolver(resolver)) = model.overlays.last() else {
        return Vec::new();
    };
    let mut resolver = resolver.clone();
    // The items follow from the state, which may have changed since they were drawn: a digit must
    // not take a way out of another item than the one that was seen.
    let items = resolver::items(model, resolver.plan);
    resolver.settle(&items);
    let offers = items.get(resolver.item).map_or(&[][..], |i| &i.offers);
    if resolver.reason.is_some() {
        return reason_key(model, resolver, offers.to_vec(), event);
    }
    let key = Key::from(event);
    match event.code {
        KeyCode::Esc | KeyCode::Char('q' | 'b') => {
            model.overlays.pop();
            return Vec::new();
        }
        KeyCode::Tab | KeyCode::Right | KeyCode::Char('l') => {
            resolver.turn(1, &items);
        }
        KeyCode::BackTab | KeyCode::Left | KeyCode::Char('h') => {
            resolver.turn(-1, &items);
        }
        KeyCode::Enter | KeyCode::Char('1'..='9') => {
            if let KeyCode::Char(digit) = event.code {
                let number = digit.to_digit(10).map_or(0, |d| d as usize);
                if number > offers.len() {
                    return Vec::new();
                }
                resolver.way = number - 1;
            }
            let offer = offers.get(resolver.way).cloned();
            return match offer {
                Some(offer) => match offer.disabled {
                    None => take(model, resolver, offer.way),
                    Some(why) => {
                        model.toast = Some((Tone::Warning, format!("not possible: {why}")));
                        Vec::new()
                    }
                },
                None => Vec::new(),
            };
        }
        _ if !key.ctrl || matches!(event.code, KeyCode::Char('n' | 'p')) => {
            if let Some(step) = step(event, true) {
                resolver.way = moved(resolver.way, step, offers.len());
            }
        }
        _ => {}
    }
    put(model, resolver);
    Vec::new()
}

fn put(model: &mut Model, resolver: Resolver) {
    if let Some(Overlay::Resolver(open)) = model.overlays.last_mut() {
        *open = resolver;
    }
}

/// Keys while the reason of a waiver is typed.
fn reason_key(
    model: &mut Model,
    mut resolver: Resolver,
    offers: Vec<resolver::Offer>,
    event: KeyEvent,
) -> Vec<Effect> {
    let mut reason = resolver.reason.take().unwrap_or_default();
    match event.code {
        KeyCode::Esc => {
            put(model, resolver);
            return Vec::new();
        }
        KeyCode::Enter if reason.trim().is_empty() => {
            model.toast = Some((Tone::Warning, "that needs a reason".into()));
        }
        KeyCode::Enter => {
            let way = offers.get(resolver.way).map(|o| o.way.clone());
            put(model, resolver);
            return match way {
                Some(Way::Waive(violation)) => perform(
                    "waived",
                    Resolve {
                        violation: violation.to_string(),
                        waive: Some(reason),
                    },
                ),
                Some(Way::Refuse(id)) => perform(
                    "refused",
                    AssentAnswer {
                        id: id.to_string(),
                        by: crate::engine::caller::person(),
                        answer: Ruling::Refuse { reason },
                    },
                ),
                _ => Vec::new(),
            };
        }
        KeyCode::Backspace => {
            reason.pop();
        }
        _ => {
            if let Some(c) = typed(event) {
                reason.push(c);
            }
        }
    }
    resolver.reason = Some(reason);
    put(model, resolver);
    Vec::new()
}

pub(super) fn paste_reason(model: &mut Model, text: &str) {
    if let Some(Overlay::Resolver(Resolver {
        reason: Some(reason),
        ..
    })) = model.overlays.last_mut()
    {
        reason.extend(text.chars().filter(|c| !c.is_control()));
    }
}

/// Takes a way out.
fn take(model: &mut Model, mut resolver: Resolver, way: Way) -> Vec<Effect> {
    if model.read_only {
        model.toast = Some((Tone::Warning, "invar was started with --read-only".into()));
        return Vec::new();
    }
    let plan = resolver.plan;
    match way {
        Way::Edit(id) => edit(model, id),
        Way::Allow(id, patterns) => {
            // Refused when somebody edits it meanwhile: the patterns were made for this revision.
            let revision = model.invariant(id).map(|i| i.revision);
            return perform(
                "allowed",
                Edit {
                    id: id.to_string(),
                    patch: InvariantPatch {
                        layer: Some(Layer::Letter(LetterCheck::NoEditsOutside(patterns))),
                        expected_revision: revision,
                        ..InvariantPatch::default()
                    },
                },
            );
        }
        Way::Remove(id) => {
            let text = model.invariant(id).map(|i| i.text.replace('\n', " "));
            let subject = vec![visible(&text.unwrap_or_default()).into_owned()];
            model.overlays.push(Overlay::Confirm(Confirm::new(
                "Remove this invariant?",
                subject,
                "remove",
                "keep",
                Confirmed::Remove(id),
            )));
        }
        Way::PutBack(violation) => {
            let violation = violation.to_string();
            return perform("put back", PutBack { violation });
        }
        Way::Corrected(violation) => {
            return perform(
                "corrected",
                Resolve {
                    violation: violation.to_string(),
                    waive: None,
                },
            );
        }
        Way::Approve(id, for_plan) => {
            return perform(
                "approved",
                AssentAnswer {
                    id: id.to_string(),
                    by: crate::engine::caller::person(),
                    answer: Ruling::Approve { for_plan },
                },
            );
        }
        Way::Waive(_) | Way::Refuse(_) => {
            resolver.reason = Some(String::new());
            put(model, resolver);
        }
        Way::Resume => {
            return perform(
                "resumed",
                PlanResume {
                    plan: plan_ref(plan),
                },
            );
        }
        Way::Cancel => model.overlays.push(Overlay::Confirm(Confirm::new(
            "Cancel this plan?",
            vec![format!("plan {plan}"), "It cannot go on afterwards.".into()],
            "cancel the plan",
            "keep it",
            Confirmed::Cancel(plan),
        ))),
        Way::Retry => {
            let transition = model.state.plans.get(&plan).and_then(next_transition);
            if let Some(transition) = transition {
                model.overlays.pop();
                return perform(
                    match transition.verb() {
                        "strategize" => "strategize started",
                        "execute" => "execute started",
                        _ => "applied",
                    },
                    PlanTransition {
                        plan: plan_ref(plan),
                        transition,
                    },
                );
            }
        }
    }
    Vec::new()
}
