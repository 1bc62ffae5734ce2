//! Moving through panes and lists; windows that keep their selection in sight.

use super::layout;
use crate::app::{
    model::{Model, Pane, effective_key},
    stream::Stream,
};

pub(super) fn focus_by(model: &mut Model, step: isize) {
    let now = Pane::ALL
        .iter()
        .position(|p| *p == model.focus)
        .unwrap_or(0) as isize;
    let count = Pane::ALL.len() as isize;
    model.focus = Pane::ALL[(now + step).rem_euclid(count) as usize];
}

pub(super) fn page(model: &Model) -> isize {
    layout::parts(model).rows(model.focus).max(1) as isize
}

pub(super) fn move_by(model: &mut Model, step: isize) {
    let height = layout::parts(model).rows(model.focus);
    match model.focus {
        Pane::Scopes => {
            model.follows_plans = false;
            // Taken out and put back, since the list and its rows are fields of one model.
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
pub(super) fn hold_or_follow(model: &mut Model) {
    let Stream {
        rows, paused_at, ..
    } = &mut model.stream;
    let last = model
        .breaches
        .shown
        .last()
        .and_then(|i| rows.get(*i))
        .map(|r| r.seq);
    // Once paused it stays at the same row: the window must not drift while a person reads.
    *paused_at = match (model.breaches.selected, last) {
        (Some(selected), Some(last)) if selected != last => Some(paused_at.unwrap_or(last)),
        _ => None,
    };
}

pub(super) fn follow_stream(model: &mut Model) {
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
