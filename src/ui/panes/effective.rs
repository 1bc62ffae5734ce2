//! Pane 2: the effective set with its shadowed duplicates.

use ratatui::{buffer::Buffer, layout::Rect};
use unicode_width::UnicodeWidthStr;

use super::{Title, part_style, row_style};
use crate::{
    app::{Model, Pane, effective::EffectiveRow},
    model::{Layer, Origin, Severity, Strike},
    ui::{text::put, theme::Theme},
};

pub(super) fn title(model: &Model, theme: &Theme) -> Title {
    let own = model
        .rows
        .iter()
        .filter(|r| r.invariant().origin == Origin::BuiltIn)
        .count();
    let shadowed = model
        .rows
        .iter()
        .filter(|r| r.shadowed_by.is_some())
        .count();
    let force = model.rows.len() - own - shadowed;
    let right = match shadowed {
        0 => format!(" {force} in force "),
        n => format!(" {force} in force, {n} shadowed "),
    };
    Title {
        left: "2 Effective set ".into(),
        right,
        right_style: theme.dim,
    }
}

/// The letter that stands for a layer.
fn layer_letter(layer: &Layer) -> &'static str {
    match layer {
        Layer::Plain => "P",
        Layer::Letter(_) => "L",
        Layer::Judgment { .. } => "J",
        Layer::Assent { .. } => "A",
    }
}

pub(super) fn draw(model: &Model, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let rows = model.effective.shown.iter().skip(model.effective.offset);
    for (y, index) in (area.y..area.bottom()).zip(rows) {
        let Some(row) = model.rows.get(*index) else {
            continue;
        };
        let key = crate::app::model::effective_key(row);
        let selected = model.effective.selected == Some(key);
        draw_row(
            model,
            theme,
            row,
            selected,
            Rect::new(area.x, y, area.width, 1),
            buf,
        );
    }
    if model.rows.is_empty() {
        put(
            buf,
            area.x + 1,
            area.y,
            area.width,
            "nothing is in force here",
            theme.dim,
        );
    }
}

/// Such as `⚑2/3`.
pub(in crate::ui) fn strike_flag(strike: &Strike, theme: &Theme) -> String {
    match strike.limit {
        Some(limit) => format!("{}{}/{limit}", theme.glyphs.flag, strike.count),
        None => format!("{}{}", theme.glyphs.flag, strike.count),
    }
}

fn draw_row(
    model: &Model,
    theme: &Theme,
    row: &EffectiveRow,
    selected: bool,
    area: Rect,
    buf: &mut Buffer,
) {
    let invariant = row.invariant();
    let glyphs = &theme.glyphs;
    let built_in = invariant.origin == Origin::BuiltIn;
    let quiet = row.shadowed_by.is_some() || built_in;
    let base = if quiet { theme.dim } else { theme.text };
    let style = row_style(model, theme, Pane::Effective, selected, base);
    buf.set_style(area, style);
    let part = |accent| part_style(model, Pane::Effective, selected, style, accent);

    let right = match &row.shadowed_by {
        Some(shadow) => format!("shadowed by {}", shadow.scope),
        None if built_in => "built-in".to_owned(),
        None => invariant.scope.kind().as_str().to_owned(),
    };
    let flag = row
        .strikes
        .as_ref()
        .map(|s| strike_flag(s, theme))
        .unwrap_or_default();
    let right_width = match row.shadowed_by {
        Some(_) => right.width() as u16,
        None => 8,
    };
    let flag_width = 5;
    let narrow = area.width < 34;
    let reserved = if narrow { 0 } else { right_width + 1 } + flag_width;

    let mut x = area.x;
    let letter = if row.shadowed_by.is_some() {
        glyphs.shadow
    } else {
        layer_letter(&invariant.layer)
    };
    x = put(
        buf,
        x,
        area.y,
        area.width,
        letter,
        part(if quiet { theme.dim } else { theme.accent }),
    );
    let lock = if invariant.is_locked() {
        glyphs.lock
    } else {
        ""
    };
    put(buf, x, area.y, 2, lock, style);
    x = area.x + 4;
    let room = area.right().saturating_sub(x + reserved);
    let mark = match invariant.severity {
        _ if row.contradicts => " (contradiction)",
        Severity::Error => "",
        Severity::Warning => " (warning)",
        Severity::Info => " (info)",
    };
    let text_room = room.saturating_sub(mark.width() as u16);
    let after = put(buf, x, area.y, text_room, &invariant.text, style);
    put(
        buf,
        after,
        area.y,
        mark.width() as u16,
        mark,
        part(if row.contradicts {
            theme.bad
        } else {
            theme.dim
        }),
    );
    if !narrow {
        let at = area.right().saturating_sub(right_width + flag_width);
        put(buf, at, area.y, right_width, &right, part(theme.dim));
    }
    let at = area.right().saturating_sub(flag_width - 1);
    put(buf, at, area.y, flag_width - 1, &flag, part(theme.bad));
}
