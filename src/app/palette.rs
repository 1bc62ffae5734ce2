//! The palette: every action, found by a few letters of it.

use super::{
    action::{Action, TABLE},
    keymap::Keymap,
    model::Model,
};
use crate::rules::filter::score;

/// The palette while it is open.
#[derive(Debug, Clone, Default)]
pub struct Palette {
    pub text: String,
    /// Index into [`Palette::rows`].
    pub selected: usize,
}

/// One action as the palette shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaletteRow {
    pub action: Action,
    pub label: &'static str,
    pub help: &'static str,
    pub keys: String,
    /// Why it cannot be done now.
    pub disabled: Option<String>,
}

impl Palette {
    /// The actions that match the text, best first; all, in the order of the table, without one.
    pub fn rows(&self, model: &Model) -> Vec<PaletteRow> {
        let wanted = self.text.trim();
        let mut rows: Vec<(i64, PaletteRow)> = TABLE
            .iter()
            .filter(|d| d.action != Action::Palette)
            .filter_map(|d| {
                let text = format!("{} {}", d.label, d.help);
                let score = match wanted {
                    "" => 0,
                    wanted => score(&text, wanted)?,
                };
                let row = PaletteRow {
                    action: d.action,
                    label: d.label,
                    help: d.help,
                    keys: keys(&model.settings.keymap, d.action),
                    disabled: d.action.disabled(model),
                };
                Some((score, row))
            })
            .collect();
        if !wanted.is_empty() {
            rows.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        }
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

/// The keys of an action as they are shown.
pub fn keys(keymap: &Keymap, action: Action) -> String {
    keymap.keys(action).join(", ")
}
