//! Pane 1: the scope tree.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use super::{Title, part_style, row_style};
use crate::{
    app::{
        Model, Pane,
        tree::{Node, TreeRow},
    },
    model::{PhaseState, Plan},
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
    let (mark, mark_style) = state_mark(model, theme, &row.node);
    let (sign, sign_style) = match row.node {
        Node::Heading(_) if row.open => (glyphs.open, style),
        Node::Heading(_) => (glyphs.closed, style),
        _ if mark.is_empty() => (" ", style),
        _ => (
            mark,
            part_style(model, Pane::Scopes, selected, style, mark_style),
        ),
    };
    // The signs stand in one column, so that what needs a person is seen going down.
    let x = put(buf, area.x + row.depth, area.y, 2, sign, sign_style) + 1;
    let count = match row.node {
        Node::Heading(_) => String::new(),
        _ if row.count == 0 => String::new(),
        _ => row.count.to_string(),
    };
    let room = area.right().saturating_sub(x + count.len() as u16 + 1);
    put(buf, x, area.y, room, &row.label, style);
    let at = area.right().saturating_sub(count.len() as u16);
    put(buf, at, area.y, count.len() as u16, &count, style);
}

/// How a plan stands, in one sign, and how urgent that is.
fn plan_mark(model: &Model, theme: &Theme, plan: &Plan) -> (u8, &'static str, Style) {
    let glyphs = &theme.glyphs;
    let at_work = || {
        let mut sessions = model.state.sessions.values();
        sessions.any(|s| s.plan == plan.id && s.is_live())
    };
    match plan.state {
        PhaseState::Halted => (4, glyphs.halted, theme.bad),
        PhaseState::Blocked | PhaseState::Errored => (3, glyphs.bad, theme.bad),
        _ if !plan.is_over() && at_work() => (2, glyphs.running, theme.accent),
        PhaseState::Processing | PhaseState::Queued => (1, glyphs.waiting, theme.dim),
        PhaseState::Applied | PhaseState::Complete => (0, glyphs.good, theme.good),
        PhaseState::Cancelled => (0, "", theme.dim),
    }
}

/// The sign of a row: of a plan how it stands, of a project how the most urgent of its plans does.
fn state_mark(model: &Model, theme: &Theme, node: &Node) -> (&'static str, Style) {
    let mark = match node {
        Node::Plan(id) => model
            .state
            .plans
            .get(id)
            .map(|p| plan_mark(model, theme, p)),
        Node::Project(name) => {
            let own = model.state.plans.values().filter(|p| p.project == *name);
            let marks = own.map(|p| plan_mark(model, theme, p));
            // One that only waits says nothing about its project.
            marks.max_by_key(|m| m.0).filter(|m| m.0 > 1)
        }
        _ => None,
    };
    mark.map_or(("", theme.dim), |(_, sign, style)| (sign, style))
}
