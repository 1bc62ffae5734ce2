//! What flows through a pipe, as far as it is known.

use super::world::Field;

/// The input of a command.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    /// The whole text.
    pub text: Option<String>,
    /// The words in it, each perhaps only in part.
    pub items: Option<Vec<Field>>,
    /// It comes out of a decoder: someone hid what it says.
    pub decoded: bool,
    /// Something is written to it, rather than the terminal or nothing.
    pub piped: bool,
}

impl Stream {
    /// Text that is known.
    pub(super) fn of_text(text: String) -> Self {
        let items = text.split_whitespace().map(Field::text).collect();
        Self {
            text: Some(text),
            items: Some(items),
            decoded: false,
            piped: true,
        }
    }

    /// Words that are known in part.
    pub(super) fn of_items(items: Vec<Field>) -> Self {
        let known: Option<Vec<String>> = items.iter().map(Field::known).collect();
        Self {
            text: known.map(|words| words.join("\n")),
            items: Some(items),
            decoded: false,
            piped: true,
        }
    }

    /// Something, nobody knows what.
    pub(super) fn unknown() -> Self {
        Self {
            piped: true,
            ..Self::default()
        }
    }

    pub(super) fn decoded() -> Self {
        Self {
            decoded: true,
            ..Self::unknown()
        }
    }
}
