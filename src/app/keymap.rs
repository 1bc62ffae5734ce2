//! Keys: their spelling, and which action each asks for.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{Action, TABLE};

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

impl Key {
    /// Reads a spelling such as `a`, `G`, `ctrl-t`, `enter` or `pageup`.
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
        let code = match rest {
            "enter" => KeyCode::Enter,
            "esc" => KeyCode::Esc,
            "tab" => KeyCode::Tab,
            "backtab" => KeyCode::BackTab,
            "space" => KeyCode::Char(' '),
            "up" => KeyCode::Up,
            "down" => KeyCode::Down,
            "left" => KeyCode::Left,
            "right" => KeyCode::Right,
            "home" => KeyCode::Home,
            "end" => KeyCode::End,
            "pageup" => KeyCode::PageUp,
            "pagedown" => KeyCode::PageDown,
            other => {
                let mut chars = other.chars();
                match (chars.next(), chars.next()) {
                    (Some(c), None) => KeyCode::Char(c),
                    _ => return None,
                }
            }
        };
        Some(Self { code, ctrl, alt })
    }
}

/// The action that a key asks for.
pub fn action(key: Key) -> Option<Action> {
    TABLE
        .iter()
        .find(|d| {
            d.keys
                .iter()
                .any(|spelling| Key::parse(spelling) == Some(key))
        })
        .map(|d| d.action)
}

/// The first key of an action, for hints.
pub fn first_key(action: Action) -> &'static str {
    action.description().keys.first().copied().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_table_is_one_key_and_asks_for_its_action_alone() {
        for description in TABLE {
            assert!(!description.keys.is_empty(), "{}", description.id);
            for spelling in description.keys {
                let key = Key::parse(spelling).unwrap_or_else(|| panic!("{spelling}"));
                assert_eq!(action(key), Some(description.action), "{spelling}");
            }
        }
    }

    #[test]
    fn spellings() {
        let key = Key::parse("ctrl-t").unwrap();
        assert!(key.ctrl && key.code == KeyCode::Char('t'));
        assert_eq!(Key::parse("G").unwrap().code, KeyCode::Char('G'));
        assert_eq!(Key::parse("-").unwrap().code, KeyCode::Char('-'));
        assert_eq!(Key::parse("nosuch"), None);
    }
}
