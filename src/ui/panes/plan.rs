//! Pane 3: the shown plan: its phases, what counts against it, what stands violated.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use super::{Title, effective::strike_flag};
use crate::{
    app::{Model, stream::clock},
    model::{Money, Phase, PhaseState, Plan},
    ui::{text::put, theme::Theme},
};

pub(super) fn title(theme: &Theme) -> Title {
    Title {
        left: "3 Plan ".into(),
        right: String::new(),
        right_style: theme.dim,
    }
}

pub(super) fn draw(model: &Model, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let lines = match model.shown_plan() {
        Some(plan) => lines(model, plan, theme),
        None => vec![
            ("no plan here".to_owned(), theme.dim),
            (String::new(), theme.text),
            ("invar plan use ACTION".to_owned(), theme.dim),
            ("or start an agent".to_owned(), theme.dim),
        ],
    };
    let skip = model
        .plan_scroll
        .min(lines.len().saturating_sub(usize::from(area.height)));
    for (y, (line, style)) in (area.y..area.bottom()).zip(lines.into_iter().skip(skip)) {
        put(buf, area.x, y, area.width, &line, style);
    }
}

fn lines(model: &Model, plan: &Plan, theme: &Theme) -> Vec<(String, Style)> {
    let glyphs = &theme.glyphs;
    let mut out: Vec<(String, Style)> = Phase::SHOWN
        .into_iter()
        .map(|phase| {
            let at = plan.entered.get(&phase).map(|t| clock(*t));
            let over = matches!(plan.state, PhaseState::Applied | PhaseState::Complete);
            let (sign, word, style) = if phase > plan.phase {
                (glyphs.waiting, String::new(), theme.dim)
            } else if phase < plan.phase || over {
                (glyphs.good, at.unwrap_or_default(), theme.good)
            } else {
                match plan.state {
                    PhaseState::Blocked | PhaseState::Halted | PhaseState::Errored => {
                        (glyphs.bad, plan.state.to_string(), theme.bad)
                    }
                    PhaseState::Processing => (glyphs.running, "running".into(), theme.accent),
                    state => (glyphs.running, state.to_string(), theme.text),
                }
            };
            (format!("{sign} {:<10} {word}", phase.as_str()), style)
        })
        .collect();
    if plan.phase == Phase::Action {
        out.insert(
            0,
            (
                format!("{} action     {}", glyphs.running, plan.state),
                theme.text,
            ),
        );
    }
    out.push((String::new(), theme.text));
    let action = plan.action.as_ref().map_or("automatic", |a| a.as_str());
    out.push((action.to_owned(), theme.dim));
    let spent = model.state.judging.spent_by(plan.id);
    if let (Some((bound, _)), true) = (model.judge_bounds, spent.checks > 0) {
        let (of, style) = match bound {
            Money(0) => (String::new(), theme.dim),
            bound if spent.money >= bound => (format!(" of {bound}: no more"), theme.bad),
            bound => (format!(" of {bound}"), theme.dim),
        };
        out.push((
            format!("judge {}: {}{of}", spent.checks, spent.money),
            style,
        ));
    }
    let violations: Vec<_> = model.state.open_violations(plan.id).collect();
    for violation in violations {
        out.push((
            format!("{} {}", glyphs.bad, violation.violated_text),
            theme.bad,
        ));
        out.push((format!("  {}", violation.details), theme.dim));
    }
    let mut strikes: Vec<_> = model
        .state
        .strikes
        .latest(plan.id)
        .filter(|s| s.count > 0)
        .collect();
    strikes.sort_by_key(|s| std::cmp::Reverse((s.count, s.last_at)));
    for strike in strikes {
        let text = model.state.invariants.get(&strike.invariant_id);
        let target = match text.filter(|_| strike.signature.is_judgment()) {
            Some(keyed) => keyed.invariant.text.as_str(),
            None => strike.signature.target(),
        };
        let line = format!("{} {target}", strike_flag(strike, theme));
        out.push((
            line,
            if strike.count > 1 {
                theme.bad
            } else {
                theme.text
            },
        ));
    }
    out
}
