//! Pane 1: the scope tree.

use ratatui::{buffer::Buffer, layout::Rect};

use super::{Title, row_style};
use crate::{
    app::{
        Model, Pane,
        tree::{Node, TreeRow},
    },
    model::PhaseState,
    ui::{text::put, theme::Theme},
};

pub(super) fn title(_model: &Model, theme: &Theme) -> Title {
    Title {
        left: "1 Scopes ".into(),
        right: String::new(),
        right_style: theme.dim,
    }
}

pub(super) fn draw(model: &Model, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let rows = model.scopes.shown.iter().skip(model.scopes.offset);
    for (y, index) in (area.y..area.bottom()).zip(rows) {
        let Some(row) = model.tree.get(*index) else {
            continue;
        };
        let selected = model.scopes.selected.as_ref() == Some(&row.node);
        draw_row(
            model,
            theme,
            row,
            selected,
            Rect::new(area.x, y, area.width, 1),
            buf,
        );
    }
}

fn draw_row(
    model: &Model,
    theme: &Theme,
    row: &TreeRow,
    selected: bool,
    area: Rect,
    buf: &mut Buffer,
) {
    let glyphs = &theme.glyphs;
    let base = match row.node {
        Node::Heading(_) => theme.dim,
        _ => theme.text,
    };
    let style = row_style(model, theme, Pane::Scopes, selected, base);
    buf.set_style(area, style);
    let sign = match row.node {
        Node::Heading(_) if row.open => glyphs.open,
        Node::Heading(_) => glyphs.closed,
        _ => " ",
    };
    let x = put(buf, area.x + row.depth, area.y, 2, sign, style) + 1;
    let (mark, mark_style) = match &row.node {
        Node::Plan(id) => state_mark(model, theme, id),
        _ => ("", style),
    };
    let count = match row.node {
        Node::Heading(_) => String::new(),
        _ if row.count == 0 => String::new(),
        _ => row.count.to_string(),
    };
    let right = (count.len() as u16 + 1) + if mark.is_empty() { 0 } else { 2 };
    let room = area.right().saturating_sub(x + right);
    let x = put(buf, x, area.y, room, &row.label, style);
    if !mark.is_empty() {
        put(buf, x + 1, area.y, 1, mark, style.patch(mark_style));
    }
    let at = area.right().saturating_sub(count.len() as u16);
    put(buf, at, area.y, count.len() as u16, &count, style);
}

/// How a plan stands, in one sign.
fn state_mark(
    model: &Model,
    theme: &Theme,
    id: &crate::model::PlanId,
) -> (&'static str, ratatui::style::Style) {
    let glyphs = &theme.glyphs;
    match model.state.plans.get(id).map(|p| p.state) {
        Some(PhaseState::Blocked | PhaseState::Halted | PhaseState::Errored) => {
            (glyphs.bad, theme.bad)
        }
        Some(PhaseState::Processing) => (glyphs.running, theme.accent),
        Some(PhaseState::Applied | PhaseState::Complete) => (glyphs.good, theme.good),
        Some(PhaseState::Queued) => (glyphs.waiting, theme.dim),
        Some(PhaseState::Cancelled) | None => ("", theme.dim),
    }
}
