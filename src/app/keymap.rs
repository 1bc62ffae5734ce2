//! Keys: their spelling, and which action each asks for.

use std::collections::{BTreeMap, HashMap};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{Action, TABLE};
use crate::model::{Problem, error_by_problem};

/// A key as it is pressed, without the accidents of terminals: shift is part of the letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    pub code: KeyCode,
    pub ctrl: bool,
    pub alt: bool,
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        Self {
            code: event.code,
            ctrl: event.modifiers.contains(KeyModifiers::CONTROL),
            alt: event.modifiers.contains(KeyModifiers::ALT),
        }
    }
}

/// Named keys, as they are spelled.
const NAMED: [(&str, KeyCode); 17] = [
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backtab", KeyCode::BackTab),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("plus", KeyCode::Char('+')),
];

impl Key {
    /// Reads a spelling such as `a`, `G`, `ctrl-t`, `enter`, `f5` or `pageup`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = text;
        let (mut ctrl, mut alt) = (false, false);
        loop {
            if let Some(after) = rest.strip_prefix("ctrl-").filter(|r| !r.is_empty()) {
                (ctrl, rest) = (true, after);
            } else if let Some(after) = rest.strip_prefix("alt-").filter(|r| !r.is_empty()) {
                (alt, rest) = (true, after);
            } else {
                break;
            }
        }
        let named = NAMED.iter().find(|(name, _)| *name == rest);
        let function = rest.strip_prefix('f').and_then(|n| n.parse().ok());
        let code = match (named, function) {
            (Some((_, code)), _) => *code,
            (None, Some(n @ 1..=12)) => KeyCode::F(n),
            _ => {
                let mut chars = rest.chars();
                match (chars.next(), chars.next()) {
                    (Some(c), None) if !c.is_control() => KeyCode::Char(c),
                    _ => return None,
                }
            }
        };
        Some(Self { code, ctrl, alt })
    }
}

/// Keys that mean the same everywhere and cannot be bound: leaving, and the shell's own.
const RESERVED: [&str; 2] = ["ctrl-c", "ctrl-z"];

/// Which keys ask for which action: the table's, changed by the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    by_key: HashMap<Key, Action>,
    keys: BTreeMap<&'static str, Vec<String>>,
}

/// Why a configured keymap cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeymapError {
    NoKey {
        action: String,
        key: String,
    },
    Clash {
        key: String,
        first: &'static str,
        second: &'static str,
    },
    Reserved {
        action: String,
        key: String,
    },
}

error_by_problem!(KeymapError);

impl KeymapError {
    /// What is wrong, and what to write instead.
    pub fn problem(&self) -> Problem {
        match self {
            Self::NoKey { key, .. } => Problem::new(format!("{key:?} is no key"))
                .hint("write one such as a, G, ctrl-t, f5, enter or pageup"),
            Self::Clash { key, first, second } => {
                Problem::new(format!("{key} asks for both `{first}` and `{second}`"))
                    .hint("give one of them another key, or [] for none")
            }
            Self::Reserved { key, .. } => {
                Problem::new(format!("{key} is the same everywhere and cannot be bound"))
            }
        }
    }

    /// The actions of the configuration that it is about, the one to point at first.
    pub fn actions(&self) -> Vec<&str> {
        match self {
            Self::NoKey { action, .. } | Self::Reserved { action, .. } => vec![action],
            Self::Clash { first, second, .. } => vec![second, first],
        }
    }
}

impl Default for Keymap {
    fn default() -> Self {
        // The table has no clash; a test holds it to that.
        Self::with(&BTreeMap::new()).unwrap_or(Self {
            by_key: HashMap::new(),
            keys: BTreeMap::new(),
        })
    }
}

impl Keymap {
    /// The table's keys with `changes`: an action's id and all keys that it has then, none to
    /// unbind it. Ids that are unknown are passed over.
    ///
    /// # Errors
    /// A spelling that is no key, a key that cannot be bound, a key with two actions.
    pub fn with(changes: &BTreeMap<String, Vec<String>>) -> Result<Self, KeymapError> {
        let mut by_key: HashMap<Key, Action> = HashMap::new();
        let mut keys = BTreeMap::new();
        for description in TABLE {
            let own: Vec<String> = match changes.get(description.id) {
                Some(changed) => changed.clone(),
                None => description.keys.iter().map(|k| (*k).to_owned()).collect(),
            };
            for spelling in &own {
                let Some(key) = Key::parse(spelling) else {
                    return Err(KeymapError::NoKey {
                        action: description.id.to_owned(),
                        key: spelling.clone(),
                    });
                };
                let changed = changes.contains_key(description.id);
                if changed && RESERVED.contains(&spelling.as_str()) && description.id != "suspend" {
                    return Err(KeymapError::Reserved {
                        action: description.id.to_owned(),
                        key: spelling.clone(),
                    });
                }
                if let Some(other) = by_key.insert(key, description.action)
                    && other != description.action
                {
                    return Err(KeymapError::Clash {
                        key: spelling.clone(),
                        first: other.description().id,
                        second: description.id,
                    });
                }
            }
            keys.insert(description.id, own);
        }
        Ok(Self { by_key, keys })
    }

    /// The action that a key asks for.
    pub fn action(&self, key: Key) -> Option<Action> {
        self.by_key.get(&key).copied()
    }

    /// All keys of an action.
    pub fn keys(&self, action: Action) -> &[String] {
        self.keys.get(action.description().id).map_or(&[], |k| k)
    }

    /// The first key of an action, for hints; empty when it has none.
    pub fn first(&self, action: Action) -> &str {
        self.keys(action).first().map_or("", |k| k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(list: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        list.iter()
            .map(|(id, keys)| {
                (
                    (*id).to_owned(),
                    keys.iter().map(|k| (*k).to_owned()).collect(),
                )
            })
            .collect()
    }

    #[test]
    fn every_key_of_the_table_is_one_key_and_asks_for_its_action_alone() {
        let keymap = Keymap::with(&BTreeMap::new()).unwrap();
        for description in TABLE {
            assert!(!description.keys.is_empty(), "{}", description.id);
            for spelling in description.keys {
                let key = Key::parse(spelling).unwrap_or_else(|| panic!("{spelling}"));
                assert_eq!(keymap.action(key), Some(description.action), "{spelling}");
            }
        }
    }

    #[test]
    fn spellings() {
        let key = Key::parse("ctrl-t").unwrap();
        assert!(key.ctrl && key.code == KeyCode::Char('t'));
        assert_eq!(Key::parse("G").unwrap().code, KeyCode::Char('G'));
        assert_eq!(Key::parse("-").unwrap().code, KeyCode::Char('-'));
        assert_eq!(Key::parse("f5").unwrap().code, KeyCode::F(5));
        assert_eq!(Key::parse("f").unwrap().code, KeyCode::Char('f'));
        assert_eq!(Key::parse("nosuch"), None);
    }

    #[test]
    fn keys_are_moved_taken_away_and_held_apart() {
        let keymap =
            Keymap::with(&changes(&[("add", &["n", "insert"]), ("next_phase", &[])])).unwrap();
        let action = |k: &str| keymap.action(Key::parse(k).unwrap());
        assert_eq!(action("n"), Some(Action::Add));
        assert_eq!(action("a"), None, "the old key is free");
        assert_eq!(keymap.first(Action::NextPhase), "");

        let error = Keymap::with(&changes(&[("add", &["d"])])).unwrap_err();
        assert_eq!(error.actions(), ["remove", "add"]);
        assert!(error.to_string().contains("`add` and `remove`"), "{error}");
        let error = Keymap::with(&changes(&[("add", &["nosuch"])])).unwrap_err();
        assert!(matches!(error, KeymapError::NoKey { .. }));
        let error = Keymap::with(&changes(&[("add", &["ctrl-c"])])).unwrap_err();
        assert!(matches!(error, KeymapError::Reserved { .. }));
    }
}
