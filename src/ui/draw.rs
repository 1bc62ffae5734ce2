//! The whole screen: title, banner, panes, hints, and what lies over them.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    widgets::{Clear, Widget},
};
use unicode_width::UnicodeWidthStr;

use super::{
    overlays, panes,
    text::{put, wrap},
    theme::Theme,
};
use crate::app::{
    Model, Pane,
    action::{Action, TABLE},
    layout::{self, MIN, Parts},
    model::EngineLink,
    stream::Tone,
};

/// Draws the model; [`Model::prepare`] comes first. Any size and any text is drawn without a
/// panic.
pub fn draw(model: &Model, theme: &Theme, buf: &mut Buffer) {
    let (width, height) = model.size;
    let area = Rect::new(0, 0, width, height).intersection(buf.area);
    // A theme's own background is everywhere.
    buf.set_style(area, theme.text);
    if width < MIN.0 || height < MIN.1 {
        return too_small(model, theme, area, buf);
    }
    let parts = layout::parts(model);
    title(model, theme, parts.title, buf);
    banner(model, theme, parts.banner, buf);
    if model.is_empty() {
        panes::welcome(model, theme, &parts, buf);
    } else {
        panes::draw(model, theme, &parts, buf);
    }
    hints(model, theme, &parts, buf);
    for overlay in &model.overlays {
        overlays::draw(overlay, model, theme, area, buf);
    }
}

fn too_small(model: &Model, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let (width, height) = model.size;
    let lines = [
        format!("{width}x{height} is too small"),
        format!("invar needs {}x{}", MIN.0, MIN.1),
        "q leaves".to_owned(),
    ];
    for (row, line) in (area.y..area.bottom()).zip(lines) {
        put(buf, area.x, row, area.width, &line, theme.strong);
    }
}

fn title(model: &Model, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let (blocked, halted) = model.stuck();
    let running = model.running();
    let mut right: Vec<(String, ratatui::style::Style)> = Vec::new();
    let live = theme.glyphs.live;
    right.push(match model.link {
        EngineLink::Live { hosting: true } => (format!("{live} live"), theme.good),
        EngineLink::Live { hosting: false } => (format!("{live} live (shared)"), theme.good),
        EngineLink::Lost => (format!("{} no engine", theme.glyphs.bad), theme.bad),
    });
    if running > 0 {
        let word = if running == 1 { "run" } else { "runs" };
        right.push((format!("{running} {word}"), theme.text));
    }
    if blocked > 0 {
        right.push((format!("{blocked} blocked"), theme.bad));
    }
    if halted > 0 {
        right.push((format!("{halted} halted"), theme.bad));
    }
    let needing = model.needing();
    if needing > 0 {
        let word = if needing == 1 {
            "needs you"
        } else {
            "need you"
        };
        right.push((format!("{needing} {word}"), theme.strong));
    }
    if model.read_only {
        right.push(("read-only".into(), theme.warning));
    }
    if model.missed > 0 {
        right.push((format!("{} events missed", model.missed), theme.warning));
    }
    let wanted: usize = right.iter().map(|(t, _)| t.width() + 2).sum();
    let start = area.right().saturating_sub(wanted as u16);
    let mut x = put(buf, area.x + 1, area.y, area.width, "invar", theme.strong) + 2;
    let mut left = |text: &str, style| {
        // One cell stays free before what stands on the right.
        if x + 1 < start {
            x = put(buf, x, area.y, start - x - 1, text, style) + 2;
        }
    };
    if let Some(notice) = &model.notice {
        left(notice, theme.accent);
    } else if let Some(plan) = model.shown_plan() {
        left(plan.project.as_str(), theme.accent);
        left(&format!("plan {}", plan.id.short()), theme.text);
        left(plan.agent.as_deref().unwrap_or(""), theme.dim);
    } else if let Some(project) = &model.home_project {
        left(project.as_str(), theme.accent);
    }
    let mut x = start;
    for (text, style) in right {
        x = put(buf, x, area.y, area.right().saturating_sub(x), &text, style) + 2;
    }
}

fn banner(model: &Model, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let Some((tone, text)) = model.banner() else {
        return;
    };
    let style = if tone == Tone::Good {
        theme.banner_good
    } else {
        theme.banner_bad
    };
    buf.set_style(area, style);
    let keymap = &model.settings.keymap;
    let halted = model.shown_plan().is_some_and(|p| p.is_halted());
    let also = match (halted, tone) {
        (true, _) => (keymap.first(Action::Resume), "resume"),
        (false, Tone::Good) => (keymap.first(Action::NextPhase), "go on"),
        (false, _) => (keymap.first(Action::NextPhase), "retry"),
    };
    let ways = [(keymap.first(Action::Resolve), "resolve"), also];
    let hint: String = ways
        .iter()
        .filter(|(key, _)| !key.is_empty())
        .map(|(key, what)| format!("{key} {what} "))
        .collect();
    let room = area.width.saturating_sub(hint.width() as u16 + 2);
    let line = format!(" {} {text}", theme.sign(tone));
    put(buf, area.x, area.y, room, &line, style);
    put(
        buf,
        area.right() - hint.width() as u16,
        area.y,
        hint.width() as u16,
        &hint,
        style,
    );
}

/// The last line: a toast, the filter being typed, or the keys of the focused pane.
fn hints(model: &Model, theme: &Theme, parts: &Parts, buf: &mut Buffer) {
    let area = parts.hints;
    if let Some((tone, text)) = &model.toast {
        // What does not fit in one line goes up, over the panes: the end says what to do.
        let width = usize::from(area.width.saturating_sub(4));
        let lines: Vec<String> = wrap(text, width).into_iter().take(4).collect();
        let count = (lines.len() as u16).min(area.y + 1);
        let top = area.y + 1 - count;
        let over = Rect::new(area.x, top, area.width, count);
        Clear.render(over, buf);
        buf.set_style(over, theme.text);
        put(
            buf,
            area.x + 1,
            top,
            1,
            theme.sign(*tone),
            theme.tone(*tone),
        );
        for (y, line) in (top..=area.y).zip(lines) {
            put(
                buf,
                area.x + 3,
                y,
                area.width.saturating_sub(3),
                &line,
                theme.tone(*tone),
            );
        }
        return;
    }
    let keymap = &model.settings.keymap;
    let typing = match model.focus {
        Pane::Scopes => model.scopes.filter.typing,
        Pane::Effective => model.effective.filter.typing,
        Pane::Breaches => model.breaches.filter.typing,
        Pane::Plan => false,
    };
    if typing {
        let keys = [
            ("enter", "keep"),
            ("esc", "clear"),
            ("ctrl-t", "regex/fuzzy"),
            ("!", "invert"),
        ];
        return key_row(area, &keys, theme, buf);
    }
    if model.is_empty() {
        let few = [Action::Add, Action::Help, Action::Quit]
            .map(|a| (keymap.first(a), a.description().label));
        return key_row(area, &few, theme, buf);
    }
    let keys: Vec<(&str, &str)> = TABLE
        .iter()
        .filter(|d| d.hint.contains(&model.focus) && d.action.disabled(model).is_none())
        .map(|d| (keymap.first(d.action), d.label))
        .filter(|(key, _)| !key.is_empty())
        .collect();
    key_row(area, &keys, theme, buf);
}

/// Keys and labels from left to right, as many as fit whole.
pub(super) fn key_row(area: Rect, keys: &[(&str, &str)], theme: &Theme, buf: &mut Buffer) {
    let mut x = area.x + 1;
    for (key, label) in keys {
        let wanted = (key.width() + 1 + label.width()) as u16;
        if x + wanted > area.right() {
            break;
        }
        x = put(buf, x, area.y, area.width, key, theme.accent) + 1;
        x = put(
            buf,
            x,
            area.y,
            area.right().saturating_sub(x),
            label,
            theme.dim,
        ) + 2;
    }
}
