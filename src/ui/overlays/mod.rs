//! What lies over the panes: help, questions, the editor, details.

mod detail;
mod editor;
mod help;
mod views;

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    widgets::{Block, Clear, Widget},
};

use super::{
    text::{put, wrap},
    theme::Theme,
};
use crate::app::{
    Model,
    overlay::{Confirm, Overlay},
};

pub(super) fn draw(overlay: &Overlay, model: &Model, theme: &Theme, area: Rect, buf: &mut Buffer) {
    match overlay {
        Overlay::Help { scroll, filter } => {
            help::draw(*scroll, filter, model, theme, area, buf);
        }
        Overlay::Palette(palette) => views::palette(palette, model, theme, area, buf),
        Overlay::Inbox { selected } => views::inbox(*selected, model, theme, area, buf),
        Overlay::Resolver(open) => views::resolver(open, model, theme, area, buf),
        Overlay::Editor(editor) => editor::draw(editor, model, theme, area, buf),
        Overlay::Confirm(confirm) => draw_confirm(confirm, theme, area, buf),
        Overlay::Invariant { id, scroll } => {
            let lines = detail::invariant(*id, model, theme);
            window("Invariant", &lines, *scroll, theme, area, buf);
        }
        Overlay::Plan {
            id,
            scroll,
            decisions,
        } => {
            let lines = detail::plan(*id, decisions.as_deref(), model, theme);
            window("Plan", &lines, *scroll, theme, area, buf);
        }
        Overlay::Breach { seq, scroll } => {
            let lines = detail::breach(*seq, model, theme);
            window("Breach", &lines, *scroll, theme, area, buf);
        }
    }
}

/// A box in the middle, no larger than the screen; returns its inside.
fn frame(
    title: &str,
    width: u16,
    height: u16,
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    let x = area.x + (area.width - width) / 2;
    let y = area.y + (area.height - height) / 2;
    let outer = Rect::new(x, y, width, height);
    Clear.render(outer, buf);
    buf.set_style(outer, theme.text);
    Block::bordered()
        .border_set(theme.glyphs.borders)
        .border_style(theme.border_focused)
        .render(outer, buf);
    put(
        buf,
        x + 1,
        y,
        width.saturating_sub(2),
        &format!(" {title} "),
        theme.strong,
    );
    outer.inner(ratatui::layout::Margin::new(2, 1))
}

/// Wrapped lines in a box that scrolls.
fn window(
    title: &str,
    lines: &[(String, Style)],
    scroll: usize,
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let width = area.width.saturating_sub(4).min(96);
    let text_width = usize::from(width.saturating_sub(4));
    let wrapped: Vec<(String, Style)> = lines
        .iter()
        .flat_map(|(text, style)| wrap(text, text_width).into_iter().map(|l| (l, *style)))
        .collect();
    let wanted = u16::try_from(wrapped.len() + 2).unwrap_or(u16::MAX);
    let inner = frame(
        title,
        width,
        wanted.min(area.height.saturating_sub(2)),
        theme,
        area,
        buf,
    );
    let height = usize::from(inner.height);
    let skip = scroll.min(wrapped.len().saturating_sub(height));
    for (y, (line, style)) in (inner.y..inner.bottom()).zip(wrapped.iter().skip(skip)) {
        put(buf, inner.x, y, inner.width, line, *style);
    }
    let left = wrapped.len().saturating_sub(skip + height);
    if left > 0 {
        let note = format!(" {left} more, j and k scroll ");
        put(buf, inner.x, inner.bottom(), inner.width, &note, theme.dim);
    }
}

fn draw_confirm(confirm: &Confirm, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let width = 64u16.min(area.width.saturating_sub(2));
    let text_width = usize::from(width.saturating_sub(4));
    let mut lines: Vec<(String, Style)> = wrap(&confirm.question, text_width)
        .into_iter()
        .map(|l| (l, theme.strong))
        .collect();
    for subject in &confirm.subject {
        lines.extend(
            wrap(subject, text_width)
                .into_iter()
                .map(|l| (l, theme.text)),
        );
    }
    let height = lines.len() as u16 + 4;
    let inner = frame("Please confirm", width, height, theme, area, buf);
    let last = inner.bottom().saturating_sub(1);
    for (y, (line, style)) in (inner.y..last).zip(lines) {
        put(buf, inner.x, y, inner.width, &line, style);
    }
    let button = |focused| if focused { theme.selected } else { theme.dim };
    let mut x = inner.x;
    let buttons = [
        (confirm.no, "esc", !confirm.yes_focused),
        (confirm.yes, "y", confirm.yes_focused),
    ];
    for (label, key, focused) in buttons {
        let text = format!(" {label} ({key}) ");
        x = put(
            buf,
            x,
            last,
            inner.right().saturating_sub(x),
            &text,
            button(focused),
        ) + 2;
    }
}
