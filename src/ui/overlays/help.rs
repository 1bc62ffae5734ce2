//! The help, made from the table of actions.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use super::window;
use crate::{
    app::{Model, action::TABLE},
    ui::theme::Theme,
};

pub(super) fn draw(scroll: usize, model: &Model, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let mut lines: Vec<(String, Style)> = TABLE
        .iter()
        .map(|d| {
            let keys = d.keys.join(", ");
            match d.action.disabled(model) {
                None => (format!("{keys:<12} {}", d.help), theme.text),
                Some(why) => (format!("{keys:<12} {} (not now: {why})", d.help), theme.dim),
            }
        })
        .collect();
    lines.push((String::new(), theme.text));
    lines.push((
        "In the editor: tab moves, ctrl-s saves, esc leaves, ctrl-u undoes.".into(),
        theme.text,
    ));
    lines.push((
        "In a list, letters after / are text; enter keeps the filter.".into(),
        theme.text,
    ));
    lines.push(("P plain  L letter  J judgment  A assent".into(), theme.text));
    let signs = format!(
        "{} non-overridable  {} shadowed  {}2 second strike",
        theme.glyphs.lock, theme.glyphs.shadow, theme.glyphs.flag
    );
    lines.push((signs, theme.text));
    lines.push((
        "Hold shift to select text with the mouse.".into(),
        theme.dim,
    ));
    window("Help", &lines, scroll, theme, area, buf);
}
