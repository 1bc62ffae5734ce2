//! Pane 4: what happened, newest last.

use ratatui::{buffer::Buffer, layout::Rect};
use unicode_width::UnicodeWidthStr;

use super::{Title, part_style, row_style};
use crate::{
    app::{Model, Pane, stream::StreamRow},
    ui::{text::put, theme::Theme},
};

pub(super) fn title(model: &Model, theme: &Theme) -> Title {
    // What is not kept here, or came faster than it could be shown, counts all the same.
    let kept = model.stream.rows.len() as u64;
    let dropped = match model.stream.dropped > 0 || model.missed > 0 {
        false => String::new(),
        true => format!(
            "{} breaches in all, the last {kept} rows here, ",
            model.state.breaches
        ),
    };
    let (state, right_style) = match model.stream.paused_at {
        None => ("following".to_owned(), theme.dim),
        Some(_) => (
            format!("paused, {} new", model.stream.new_below()),
            theme.warning,
        ),
    };
    Title {
        left: "4 Breaches ".into(),
        right: format!(" {dropped}{state} "),
        right_style,
    }
}

pub(super) fn draw(model: &Model, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let rows = model.breaches.shown.iter().skip(model.breaches.offset);
    for (y, index) in (area.y..area.bottom()).zip(rows) {
        let Some(row) = model.stream.rows.get(*index) else {
            continue;
        };
        let selected = model.breaches.selected == Some(row.seq);
        draw_row(
            model,
            theme,
            row,
            selected,
            Rect::new(area.x, y, area.width, 1),
            buf,
        );
    }
    if model.stream.rows.is_empty() {
        put(
            buf,
            area.x + 1,
            area.y,
            area.width,
            "nothing was refused yet",
            theme.dim,
        );
    }
}

fn draw_row(
    model: &Model,
    theme: &Theme,
    row: &StreamRow,
    selected: bool,
    area: Rect,
    buf: &mut Buffer,
) {
    let style = row_style(model, theme, Pane::Breaches, selected, theme.text);
    buf.set_style(area, style);
    let part = |accent| part_style(model, Pane::Breaches, selected, style, accent);
    let tone = part(theme.tone(row.tone));
    let mut x = area.x;
    if area.width >= 60 {
        x = put(buf, x, area.y, 9, &row.time, part(theme.dim)) + 2;
    }
    x = put(buf, x, area.y, 2, theme.sign(row.tone), tone) + 1;
    put(buf, x, area.y, 10, &row.word, tone);
    x += 11;
    let strike_width = row.strike.width() as u16;
    let right = area.right().saturating_sub(strike_width + 1);
    let room = right.saturating_sub(x + 1);
    // The path matters most; the clause gets what is left.
    let what_room = room.min((room / 2).max(16));
    let after = put(buf, x, area.y, what_room, &row.what, style);
    let x = after.max(x + what_room.min(34)) + 2;
    put(
        buf,
        x,
        area.y,
        right.saturating_sub(x + 1),
        &row.why,
        part(theme.dim),
    );
    put(buf, right, area.y, strike_width, &row.strike, tone);
}
