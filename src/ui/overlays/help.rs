//! The help, made from the table of actions and the keymap in force.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use super::window;
use crate::{
    app::{Model, action::TABLE, palette::keys},
    ui::theme::Theme,
};

pub(super) fn draw(
    scroll: usize,
    filter: &str,
    model: &Model,
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let keymap = &model.settings.keymap;
    let mut lines: Vec<(String, Style)> = TABLE
        .iter()
        .map(|d| {
            let keys = match keys(keymap, d.action) {
                none if none.is_empty() => "(no key)".to_owned(),
                keys => keys,
            };
            match d.action.disabled(model) {
                None => (format!("{keys:<12} {}", d.help), theme.text),
                Some(why) => (format!("{keys:<12} {} (not now: {why})", d.help), theme.dim),
            }
        })
        .collect();
    let signs = format!(
        "{} non-overridable  {} shadowed  {}2 second strike",
        theme.glyphs.lock, theme.glyphs.shadow, theme.glyphs.flag
    );
    lines.push((String::new(), theme.text));
    for line in [
        "In the editor: tab moves, ctrl-s saves, ctrl-o opens $EDITOR, esc leaves, ctrl-u undoes.",
        "In a list, letters after / are text; enter keeps the filter.",
        "P plain  L letter  J judgment  A assent",
        &signs,
        "Hold shift to select text with the mouse.",
    ] {
        lines.push((line.to_owned(), theme.text));
    }
    let wanted = filter.to_lowercase();
    if !wanted.is_empty() {
        lines.retain(|(line, _)| line.to_lowercase().contains(&wanted));
        if lines.is_empty() {
            lines.push(("nothing in the help says so".into(), theme.dim));
        }
    }
    let title = match filter {
        "" => "Help: type to filter".to_owned(),
        filter => format!("Help: {filter}_"),
    };
    window(&title, &lines, scroll, theme, area, buf);
}
