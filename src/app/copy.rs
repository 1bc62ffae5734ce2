//! What the copy key takes.

use super::{
    model::{Model, Pane},
    overlay::Overlay,
    tree::Node,
};

/// The text of what is selected or open, as others would need it; none when nothing is.
pub fn text(model: &Model) -> Option<String> {
    match model.overlays.last() {
        Some(Overlay::Invariant { id, .. }) => {
            return model.invariant(*id).map(|i| format!("{} {}", i.id, i.text));
        }
        Some(Overlay::Plan { id, .. }) => return Some(id.to_string()),
        Some(Overlay::Breach { seq, .. }) => return breach(model, *seq),
        _ => {}
    }
    match model.focus {
        Pane::Scopes => model.scopes.selected.as_ref().map(|node| match node {
            Node::Plan(id) => id.to_string(),
            Node::Project(name) => name.to_string(),
            Node::Action(name) => name.to_string(),
            Node::Global => "global".to_owned(),
            Node::Heading(kind) => kind.to_string(),
        }),
        Pane::Effective => model
            .selected_invariant()
            .map(|i| format!("{} {}", i.id, i.text)),
        Pane::Plan => model.shown_plan().map(|p| p.id.to_string()),
        Pane::Breaches => breach(model, model.breaches.selected?),
    }
}

fn breach(model: &Model, seq: u64) -> Option<String> {
    let row = model.stream.rows.iter().find(|r| r.seq == seq)?;
    let parts = [&row.time, &row.word, &row.what, &row.why, &row.strike];
    let parts: Vec<&str> = parts
        .iter()
        .map(|p| p.as_str())
        .filter(|p| !p.is_empty())
        .collect();
    Some(parts.join("  "))
}
