//! Where everything stands on the screen; needed to draw it, to page through it and to know
//! what a click hits.

use ratatui::layout::Rect;

use super::model::{Model, Pane};

/// The smallest screen that is drawn on.
pub const MIN: (u16, u16) = (40, 10);

/// Below this width one pane shows at a time.
const NARROW: u16 = 70;

/// The parts of the screen. A pane that does not show has no area.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts {
    pub title: Rect,
    pub banner: Rect,
    pub scopes: Rect,
    pub effective: Rect,
    pub plan: Rect,
    pub breaches: Rect,
    pub hints: Rect,
}

impl Parts {
    /// The area of a pane.
    pub fn pane(&self, pane: Pane) -> Rect {
        match pane {
            Pane::Scopes => self.scopes,
            Pane::Effective => self.effective,
            Pane::Plan => self.plan,
            Pane::Breaches => self.breaches,
        }
    }

    /// How many rows a pane shows between its borders.
    pub fn rows(&self, pane: Pane) -> usize {
        usize::from(self.pane(pane).height.saturating_sub(2))
    }
}

/// Divides the screen of the model.
pub fn parts(model: &Model) -> Parts {
    let (width, height) = model.size;
    let mut parts = Parts::default();
    if width < MIN.0 || height < MIN.1 {
        return parts;
    }
    let banner = u16::from(model.banner().is_some());
    parts.title = Rect::new(0, 0, width, 1);
    parts.banner = Rect::new(0, 1, width, banner);
    parts.hints = Rect::new(0, height - 1, width, 1);
    let body = Rect::new(0, 1 + banner, width, height - 2 - banner);
    if model.zoom || width < NARROW {
        let area = match model.focus {
            Pane::Scopes => &mut parts.scopes,
            Pane::Effective => &mut parts.effective,
            Pane::Plan => &mut parts.plan,
            Pane::Breaches => &mut parts.breaches,
        };
        *area = body;
        return parts;
    }
    // Neighbours share a border line.
    let below = (body.height / 3)
        .clamp(5, 16)
        .min(body.height.saturating_sub(5));
    let above = body.height - below + 1;
    let scopes = (width / 5).clamp(19, 34);
    let plan = (width / 5).clamp(23, 40);
    let middle = width - scopes - plan + 2;
    parts.scopes = Rect::new(body.x, body.y, scopes, above);
    parts.effective = Rect::new(scopes - 1, body.y, middle, above);
    parts.plan = Rect::new(width - plan, body.y, plan, above);
    parts.breaches = Rect::new(body.x, body.y + above - 1, width, below);
    parts
}
