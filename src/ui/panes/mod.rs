//! The four panes. Neighbours share their border lines.

pub(super) use effective::strike_flag;

mod breaches;
mod effective;
mod plan;
mod scopes;

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    symbols::merge::MergeStrategy,
    widgets::{Block, Widget},
};
use unicode_width::UnicodeWidthStr;

use super::{
    text::{put, wrap},
    theme::Theme,
};
use crate::{
    app::{Model, Pane, action::Action, layout::Parts, list::FilterField},
    rules::filter::FilterMode,
};

/// What stands on the upper border of a pane.
struct Title {
    left: String,
    right: String,
    right_style: Style,
}

pub(super) fn draw(model: &Model, theme: &Theme, parts: &Parts, buf: &mut Buffer) {
    let shown: Vec<Pane> = Pane::ALL
        .into_iter()
        .filter(|p| parts.pane(*p).area() > 0)
        .collect();
    // The focused pane comes last, so that its border is whole.
    let mut order = shown.clone();
    order.sort_by_key(|p| *p == model.focus);
    for pane in order {
        let style = if pane == model.focus {
            theme.border_focused
        } else {
            theme.border
        };
        Block::bordered()
            .border_set(theme.glyphs.borders)
            .border_style(style)
            .merge_borders(MergeStrategy::Exact)
            .render(parts.pane(pane), buf);
    }
    for pane in shown {
        let area = parts.pane(pane);
        let title = match pane {
            Pane::Scopes => scopes::title(model, theme),
            Pane::Effective => effective::title(model, theme),
            Pane::Plan => plan::title(theme),
            Pane::Breaches => breaches::title(model, theme),
        };
        draw_title(model, theme, pane, &title, area, buf);
        let inner = area.inner(ratatui::layout::Margin::new(1, 1));
        match pane {
            Pane::Scopes => scopes::draw(model, theme, inner, buf),
            Pane::Effective => effective::draw(model, theme, inner, buf),
            Pane::Plan => plan::draw(model, theme, inner, buf),
            Pane::Breaches => breaches::draw(model, theme, inner, buf),
        }
    }
}

fn draw_title(
    model: &Model,
    theme: &Theme,
    pane: Pane,
    title: &Title,
    area: Rect,
    buf: &mut Buffer,
) {
    let style = if pane == model.focus {
        theme.strong
    } else {
        theme.text
    };
    let filter = match pane {
        Pane::Scopes => Some((
            &model.scopes.filter,
            model.scopes.shown.len(),
            model.scopes.total,
        )),
        Pane::Effective => Some((
            &model.effective.filter,
            model.effective.shown.len(),
            model.effective.total,
        )),
        Pane::Breaches => Some((
            &model.breaches.filter,
            model.breaches.shown.len(),
            model.breaches.total,
        )),
        Pane::Plan => None,
    };
    let room = area.width.saturating_sub(2);
    let active = filter.filter(|(f, ..)| f.is_active());
    // While a filter shows, the digit names the pane: the filter needs the room.
    let left = if active.is_some() {
        &title.left[..1]
    } else {
        &title.left
    };
    let mut x = put(buf, area.x + 1, area.y, room, left, style);
    if let Some((filter, hits, total)) = active {
        let line = filter_line(filter, hits, total);
        let style = if filter.error.is_some() {
            theme.bad
        } else {
            theme.accent
        };
        put(
            buf,
            x + 1,
            area.y,
            area.right().saturating_sub(x + 2),
            &line,
            style,
        );
        return;
    }
    x += 1;
    let width = title.right.width() as u16;
    if !title.right.is_empty() && x + width + 1 < area.right() {
        let at = area.right() - 1 - width;
        put(buf, at, area.y, width, &title.right, title.right_style);
    }
}

fn filter_line(filter: &FilterField, hits: usize, total: usize) -> String {
    let cursor = if filter.typing { "_" } else { "" };
    let mode = match filter.mode {
        FilterMode::Regex => "/",
        FilterMode::Fuzzy => "~",
    };
    let state = match &filter.error {
        Some(error) => error.clone(),
        None => format!("{hits} of {total}"),
    };
    format!("{mode}{}{cursor} {state}", filter.text)
}

/// The style of a row of a list.
fn row_style(model: &Model, theme: &Theme, pane: Pane, selected: bool, base: Style) -> Style {
    match (selected, pane == model.focus) {
        (false, _) => base,
        (true, true) => base.patch(theme.selected),
        (true, false) => base.patch(theme.selected_elsewhere),
    }
}

/// The style of a part of a row: its own accent, but none in the row that has the keys, where the
/// selection's colours hold throughout.
fn part_style(model: &Model, pane: Pane, selected: bool, row: Style, accent: Style) -> Style {
    match selected && pane == model.focus {
        true => row,
        false => row.patch(accent),
    }
}

/// What a newcomer sees: the three things to do first.
pub(super) fn welcome(model: &Model, theme: &Theme, parts: &Parts, buf: &mut Buffer) {
    let top = parts.title.bottom();
    let area = Rect::new(0, top, parts.title.width, parts.hints.y.saturating_sub(top));
    Block::bordered()
        .border_set(theme.glyphs.borders)
        .border_style(theme.border)
        .render(area, buf);
    let inner = area.inner(ratatui::layout::Margin::new(3, 1));
    let mut y = inner.y + u16::from(inner.height > 14);
    let mut say = |text: &str, style: Style, buf: &mut Buffer| {
        for line in wrap(text, usize::from(inner.width)) {
            if y < inner.bottom() {
                put(buf, inner.x, y, inner.width, &line, style);
            }
            y += 1;
        }
    };
    say("Welcome to invar.", theme.strong, buf);
    say(
        "It keeps what must stay true true, while coding agents work.",
        theme.text,
        buf,
    );
    say("", theme.text, buf);
    let add = format!(
        "{}  add an invariant, such as \"tests/test_sync.py is untouched\"",
        model.settings.keymap.first(Action::Add)
    );
    say(&add, theme.accent, buf);
    say("", theme.text, buf);
    say("In another terminal:", theme.text, buf);
    say(
        "invar install claude-code   connect an agent",
        theme.accent,
        buf,
    );
    say(
        "invar demo                  see a run that is really enforced",
        theme.accent,
        buf,
    );
}
