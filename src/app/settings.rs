//! The screen's part of the configuration: keys, look, mouse, motion.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::{action::TABLE, keymap::Keymap};
use crate::{
    engine::config::{Config, line_and_column, toml_fault},
    model::Problem,
};

/// Which signs are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GlyphSet {
    /// As the locale and the terminal allow.
    #[default]
    Auto,
    Unicode,
    Ascii,
}

/// `[ui]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UiConfig {
    /// `terminal`, `dark`, `light`, `high-contrast`, or a theme file beside the configuration.
    pub theme: String,
    pub glyphs: GlyphSet,
    /// Clicks and the wheel go to invar; without, the terminal selects text as always.
    pub mouse: bool,
    /// The screen is drawn at most twice a second, unless a key was pressed.
    pub reduced_motion: bool,
    /// Ring the terminal's bell when something begins to need a person.
    pub bell: bool,
    /// Show in the terminal's title how many things need a person.
    pub title: bool,
}

impl Default for UiConfig {
    fn default() -> Self {
        Self {
            theme: "terminal".into(),
            glyphs: GlyphSet::Auto,
            mouse: true,
            reduced_motion: false,
            bell: false,
            title: false,
        }
    }
}

/// All of it, ready for use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    pub ui: UiConfig,
    pub keymap: Keymap,
    /// Names in the file that mean nothing.
    pub warnings: Vec<String>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    ui: UiConfig,
    #[serde(default)]
    keys: BTreeMap<String, Spanned<Vec<String>>>,
}

impl Settings {
    /// Reads the text of a configuration file; `path` is only named in the error.
    ///
    /// # Errors
    /// A problem with file, line and column: what TOML or a field does not allow, a key that is
    /// none, two actions with one key.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Problem> {
        let file: File = toml::from_str(text)
            .map_err(|error| format!("{}, {}", path.display(), toml_fault(text, &error)))?;
        let changes = file
            .keys
            .iter()
            .map(|(id, keys)| (id.clone(), keys.get_ref().clone()))
            .collect();
        let keymap = Keymap::with(&changes).map_err(|error| {
            let actions = error.actions();
            let at = actions.iter().find_map(|id| file.keys.get(*id));
            let (line, column) = line_and_column(text, at.map_or(0, |s| s.span().start));
            let place = format!("{}, line {line}, column {column}", path.display());
            error.problem().within(place)
        })?;
        Ok(Self {
            ui: file.ui,
            keymap,
            warnings: Config::unknown(text, path, &Self::names()),
        })
    }

    /// The names that the screen reads, such as `ui.theme` and `keys.add`.
    pub fn names() -> Vec<String> {
        let ui = toml::Table::try_from(UiConfig::default()).unwrap_or_default();
        let ui = ui.keys().map(|name| format!("ui.{name}"));
        let keys = TABLE.iter().map(|d| format!("keys.{}", d.id));
        ui.chain(keys).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::action::Action;

    fn parse(text: &str) -> Result<Settings, String> {
        Settings::parse(text, Path::new("c.toml")).map_err(|e| e.to_string())
    }

    #[test]
    fn what_is_not_said_is_as_always() {
        assert_eq!(parse("").unwrap(), Settings::default());
        let settings =
            parse("[ui]\nmouse = false\n[keys]\nadd = [\"n\"]\nnext_phase = []\n").unwrap();
        assert!(!settings.ui.mouse);
        assert_eq!(settings.keymap.first(Action::Add), "n");
    }

    #[test]
    fn a_clash_names_file_line_and_both_actions() {
        let error = parse("[ui]\n\n[keys]\nadd = [\"d\"]\n").unwrap_err();
        assert!(error.starts_with("c.toml, line 4, column 7"), "{error}");
        assert!(
            error.contains("`add`") && error.contains("`remove`"),
            "{error}"
        );
        let error = parse("[keys]\nzoom = [\"nosuch\"]\n").unwrap_err();
        assert!(
            error.contains("line 2") && error.contains("no key"),
            "{error}"
        );
        let error = parse("[ui]\nglyphs = \"runes\"\n").unwrap_err();
        assert!(error.contains("line 2, column 10"), "{error}");
    }
}
