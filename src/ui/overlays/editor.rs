//! The invariant editor.

use ratatui::{buffer::Buffer, layout::Rect, widgets::Widget};

use super::frame;
use crate::{
    app::{
        Model,
        editor::{Editor, Field},
    },
    ui::{
        draw::key_row,
        text::{put, wrap},
        theme::Theme,
    },
};

pub(super) fn draw(editor: &Editor, model: &Model, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let title = match editor.editing {
        None => "Add an invariant",
        Some(_) => "Edit an invariant",
    };
    let fields = editor.fields();
    let patterns = fields.contains(&Field::Patterns);
    let choices = fields
        .iter()
        .filter(|f| !matches!(f, Field::Text | Field::Patterns))
        .count();
    // Labels and areas, choices, a line for what is wrong, a line of keys.
    let wanted = 1 + 5 + choices as u16 + u16::from(patterns) * 4 + 5;
    let inner = frame(title, 78.min(area.width), wanted + 2, theme, area, buf);
    if inner.area() == 0 {
        return;
    }
    let fixed = 1 + choices as u16 + u16::from(patterns) + 4;
    let free = inner.height.saturating_sub(fixed);
    let pattern_rows = if patterns { (free / 2).clamp(1, 3) } else { 0 };
    let text_rows = free.saturating_sub(pattern_rows).clamp(1, 5);
    let end = inner.bottom().saturating_sub(3).max(inner.y);
    let mut y = inner.y;
    for field in fields {
        let focused = editor.focus == field;
        let label_style = if focused { theme.accent } else { theme.dim };
        let (label, value) = label_and_value(editor, field);
        if y >= end {
            break;
        }
        match field {
            Field::Text | Field::Patterns => {
                put(buf, inner.x, y, inner.width, label, label_style);
                let rows = if field == Field::Text {
                    text_rows
                } else {
                    pattern_rows
                };
                let box_area = Rect::new(inner.x, y + 1, inner.width, rows.min(end - y - 1));
                draw_area(editor, field, focused, theme, box_area, buf);
                y += 1 + rows;
            }
            _ => {
                put(buf, inner.x, y, 17, label, label_style);
                let style = if focused { theme.selected } else { theme.text };
                let at = inner.x + 17;
                put(
                    buf,
                    at,
                    y,
                    inner.right().saturating_sub(at),
                    &format!(" {value} "),
                    style,
                );
                y += 1;
            }
        }
    }
    let problem = editor
        .refused
        .clone()
        .or_else(|| editor.problem().filter(|_| editor.is_changed()));
    match problem {
        Some(problem) => {
            let lines = wrap(&problem, usize::from(inner.width));
            for (y, line) in (end..inner.bottom().saturating_sub(1)).zip(lines) {
                put(buf, inner.x, y, inner.width, &line, theme.bad);
            }
        }
        None if editor.saving => {
            put(buf, inner.x, end, inner.width, "saving", theme.dim);
        }
        None => {
            let mut y = end;
            if let Some(line) = matching(editor, model) {
                put(buf, inner.x, y, inner.width, &line, theme.dim);
                y += 1;
            }
            if let Some(check) = editor.letter_form() {
                let line = format!(
                    "ctrl-l makes it a check, exact and for free: {}",
                    check.sentence()
                );
                put(buf, inner.x, y, inner.width, &line, theme.accent);
                y += 1;
            }
            let conflicts = editor.draft().map(|d| model.draft_conflicts(&d));
            let lines = conflicts.unwrap_or_default();
            let lines = lines.iter().flat_map(|l| wrap(l, usize::from(inner.width)));
            for (y, line) in (y..inner.bottom().saturating_sub(1)).zip(lines) {
                put(buf, inner.x, y, inner.width, &line, theme.warning);
            }
        }
    }
    let keys = [
        ("ctrl-s", "save"),
        ("tab", "next field"),
        ("space", "change"),
        ("ctrl-o", "$EDITOR"),
        ("esc", "leave"),
    ];
    let row = Rect::new(
        inner.x.saturating_sub(1),
        inner.bottom().saturating_sub(1),
        inner.width + 1,
        1,
    );
    key_row(row, &keys, theme, buf);
}

/// How many files of the project the patterns match.
fn matching(editor: &Editor, model: &Model) -> Option<String> {
    let patterns = editor.countable()?;
    let counted = model.counted.as_ref().filter(|c| c.patterns == patterns)?;
    Some(match counted.hits {
        0 => format!("matches none of the project's {} files", counted.total),
        hits => format!("matches {hits} of the project's {} files", counted.total),
    })
}

fn label_and_value(editor: &Editor, field: Field) -> (&'static str, String) {
    match field {
        Field::Text if editor.layer.label().starts_with("letter") => (
            "text (may be left empty: the check writes it)",
            String::new(),
        ),
        Field::Text => ("what must stay true", String::new()),
        Field::Layer => ("layer", editor.layer.label().to_owned()),
        Field::Patterns => ("patterns, one a line, such as src/**", String::new()),
        Field::Checkpoint => ("checkpoint", editor.checkpoint.to_string()),
        Field::Scope => ("scope", editor.chosen_scope().to_string()),
        Field::Severity => ("severity", editor.severity.as_str().to_owned()),
        Field::NonOverridable => {
            let global = *editor.chosen_scope() == crate::model::Scope::Global;
            let value = match (editor.non_overridable, global) {
                (true, false) => "yes, without effect: only global ones can be",
                (true, true) => "yes",
                (false, _) => "no",
            };
            ("non-overridable", value.to_owned())
        }
    }
}

fn draw_area(
    editor: &Editor,
    field: Field,
    focused: bool,
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    if area.area() == 0 {
        return;
    }
    let mut text = match field {
        Field::Patterns => editor.patterns.clone(),
        _ => editor.text.clone(),
    };
    text.set_style(theme.text);
    text.set_cursor_line_style(theme.text);
    // The cursor of the field that does not have the keys is not drawn.
    text.set_cursor_style(if focused { theme.selected } else { theme.text });
    // A margin sets the field apart from what stands around it.
    let bar = if focused { theme.accent } else { theme.border };
    for y in area.y..area.bottom() {
        put(buf, area.x, y, 1, theme.glyphs.borders.vertical_left, bar);
    }
    let inner = Rect::new(
        area.x + 2,
        area.y,
        area.width.saturating_sub(2),
        area.height,
    );
    (&text).render(inner, buf);
}
