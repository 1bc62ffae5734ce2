//! The mouse: a click selects, the wheel scrolls.

use crossterm::event::{KeyCode, KeyEvent, MouseButton, MouseEvent, MouseEventKind};

use super::{
    acts::open,
    layout,
    moves::{hold_or_follow, move_by},
};
use crate::app::{
    model::{Model, Pane, effective_key},
    tree::Node,
};

pub(super) fn on_mouse(model: &mut Model, event: MouseEvent) {
    if !model.overlays.is_empty() {
        // The wheel acts as the arrow keys there. A click does nothing: what lies below it is not
        // what the person sees.
        let code = match event.kind {
            MouseEventKind::ScrollDown => KeyCode::Down,
            MouseEventKind::ScrollUp => KeyCode::Up,
            _ => return,
        };
        super::keys::overlay_key(model, KeyEvent::from(code));
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

pub(super) fn click(model: &mut Model, pane: Pane, row: usize, height: usize) {
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
