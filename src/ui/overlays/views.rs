//! The palette, the inbox and the resolver.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};
use unicode_width::UnicodeWidthStr;

use super::frame;
use crate::{
    app::{
        Model,
        palette::Palette,
        resolver::{self, Resolver},
    },
    ui::{
        draw::key_row,
        text::{put, wrap},
        theme::Theme,
    },
};

/// The rows of a list that fit, so that the selected one is among them.
fn window(selected: usize, count: usize, height: usize) -> std::ops::Range<usize> {
    let start = (selected + 1)
        .saturating_sub(height)
        .min(count.saturating_sub(height));
    start..(start + height).min(count)
}

fn last_row(inner: Rect) -> Rect {
    Rect::new(
        inner.x.saturating_sub(1),
        inner.bottom().saturating_sub(1),
        inner.width + 1,
        1,
    )
}

pub(super) fn palette(
    palette: &Palette,
    model: &Model,
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let rows = palette.rows(model);
    let width = 78.min(area.width.saturating_sub(2));
    let height = area.height.saturating_sub(2).min(24);
    let inner = frame("Commands", width, height, theme, area, buf);
    if inner.height < 3 {
        return;
    }
    let line = format!(": {}_", palette.text);
    put(buf, inner.x, inner.y, inner.width, &line, theme.strong);
    let list = Rect::new(inner.x, inner.y + 1, inner.width, inner.height - 2);
    if rows.is_empty() {
        put(
            buf,
            list.x,
            list.y,
            list.width,
            "nothing is called so",
            theme.dim,
        );
    }
    let shown = window(palette.selected, rows.len(), usize::from(list.height));
    for (y, index) in (list.y..).zip(shown) {
        let row = &rows[index];
        let base = if row.disabled.is_some() {
            theme.dim
        } else {
            theme.text
        };
        let style = if index == palette.selected {
            base.patch(theme.selected)
        } else {
            base
        };
        buf.set_style(Rect::new(list.x, y, list.width, 1), style);
        let text = match &row.disabled {
            Some(why) => format!("{} (not now: {why})", row.label),
            None => format!("{}: {}", row.label, row.help),
        };
        let keys = row.keys.width() as u16;
        put(
            buf,
            list.x,
            y,
            list.width.saturating_sub(keys + 1),
            &text,
            style,
        );
        put(
            buf,
            list.right().saturating_sub(keys),
            y,
            keys,
            &row.keys,
            style,
        );
    }
    let keys = [("enter", "do it"), ("↑↓", "choose"), ("esc", "leave")];
    let ascii = [("enter", "do it"), ("up/down", "choose"), ("esc", "leave")];
    let keys = if theme.glyphs.live == "*" {
        ascii
    } else {
        keys
    };
    key_row(last_row(inner), &keys, theme, buf);
}

pub(super) fn inbox(selected: usize, model: &Model, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let rows = resolver::inbox(model);
    let width = 90.min(area.width.saturating_sub(2));
    let wanted = u16::try_from(rows.len())
        .unwrap_or(u16::MAX)
        .max(2)
        .saturating_add(4);
    let height = wanted.min(area.height.saturating_sub(2));
    let inner = frame("Needs you", width, height, theme, area, buf);
    if inner.height < 2 {
        return;
    }
    let list = Rect::new(inner.x, inner.y, inner.width, inner.height - 1);
    if rows.is_empty() {
        let text = "Nothing needs you. Plans that are halted, blocked or violated come here.";
        for (y, line) in (list.y..list.bottom()).zip(wrap(text, usize::from(list.width))) {
            put(buf, list.x, y, list.width, &line, theme.good);
        }
    }
    let selected = selected.min(rows.len().saturating_sub(1));
    for (y, index) in (list.y..).zip(window(selected, rows.len(), usize::from(list.height))) {
        let (id, text, bad) = &rows[index];
        let project = model.state.plans.get(id).map(|p| p.project.to_string());
        let (sign, tone) = match bad {
            true => (theme.glyphs.bad, theme.bad),
            false => (theme.glyphs.good, theme.good),
        };
        let style = if index == selected {
            tone.patch(theme.selected)
        } else {
            tone
        };
        buf.set_style(Rect::new(list.x, y, list.width, 1), style);
        let line = format!(
            "{sign} {}  plan {}  {text}",
            project.unwrap_or_default(),
            id.short()
        );
        put(buf, list.x, y, list.width, &line, style);
    }
    let keys = [("enter", "resolve"), ("j k", "choose"), ("esc", "leave")];
    key_row(last_row(inner), &keys, theme, buf);
}

pub(super) fn resolver(
    open: &Resolver,
    model: &Model,
    theme: &Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let items = resolver::items(model, open.plan);
    let mut open = open.clone();
    open.settle(&items);
    let width = 96.min(area.width.saturating_sub(2));
    let text_width = usize::from(width.saturating_sub(4));
    let at = open.item;
    let mut lines: Vec<(String, Style)> = Vec::new();
    let title = format!("Resolve plan {}", open.plan.short());
    match items.get(at) {
        None => lines.push(("Nothing stands in the way.".into(), theme.good)),
        Some(item) => {
            if items.len() > 1 {
                lines.push((format!("{} of {}", at + 1, items.len()), theme.dim));
            }
            lines.extend(
                wrap(&item.title, text_width)
                    .into_iter()
                    .map(|l| (l, theme.strong)),
            );
            for line in &item.lines {
                lines.extend(wrap(line, text_width).into_iter().map(|l| (l, theme.text)));
            }
            lines.push((String::new(), theme.text));
            let way = open.way;
            for (index, offer) in item.offers.iter().enumerate() {
                let mark = if index == way { ">" } else { " " };
                let text = match &offer.disabled {
                    None => format!("{mark} {} {}", index + 1, offer.label),
                    Some(why) => {
                        format!("{mark} {} {} (not possible: {why})", index + 1, offer.label)
                    }
                };
                let base = if offer.disabled.is_some() {
                    theme.dim
                } else {
                    theme.text
                };
                let style = if index == way {
                    base.patch(theme.selected)
                } else {
                    base
                };
                lines.extend(wrap(&text, text_width).into_iter().map(|l| (l, style)));
            }
            if let Some(reason) = &open.reason {
                lines.push((String::new(), theme.text));
                lines.push(("why? (enter keeps it, esc leaves)".into(), theme.accent));
                lines.extend(
                    wrap(&format!("{reason}_"), text_width)
                        .into_iter()
                        .map(|l| (l, theme.strong)),
                );
            }
        }
    }
    let height = (lines.len() as u16)
        .saturating_add(4)
        .min(area.height.saturating_sub(2));
    let inner = frame(&title, width, height, theme, area, buf);
    let end = inner.bottom().saturating_sub(1);
    let room = usize::from(end.saturating_sub(inner.y));
    // The ways out stay in sight when not all fits.
    let skip = lines.len().saturating_sub(room);
    for (y, (line, style)) in (inner.y..end).zip(lines.iter().skip(skip)) {
        put(buf, inner.x, y, inner.width, line, *style);
    }
    let keys = [
        ("enter 1-9", "take a way"),
        ("j k", "choose"),
        ("tab", "next"),
        ("esc", "leave"),
    ];
    key_row(last_row(inner), &keys, theme, buf);
}
