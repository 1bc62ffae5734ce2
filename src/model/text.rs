//! The text of an invariant: cleaned once at the door, so that a person and an agent read the same.

use std::borrow::Cow;

use crate::{Problem, error_by_problem};

/// The longest text of an invariant, in Unicode scalar values after cleaning.
pub const MAX_TEXT: usize = 2000;

/// Why a text cannot be the text of an invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextError {
    Empty,
    TooLong {
        length: usize,
    },
    Hidden {
        name: String,
        line: usize,
        column: usize,
    },
}

error_by_problem!(TextError);

impl TextError {
    /// What is wrong, and how to mend it.
    pub fn problem(&self) -> Problem {
        match self {
            Self::Empty => {
                Problem::new("the text is empty").hint("say in a sentence what must stay true")
            }
            Self::TooLong { length } => Problem::new(format!(
                "the text has {length} characters and may have {MAX_TEXT}"
            ))
            .hint(format!("shorten it by {}", length - MAX_TEXT)),
            Self::Hidden { name, line, column } => Problem::new(format!(
                "the text holds {name} at line {line}, column {column}, which a reader cannot see"
            ))
            .hint("remove it"),
        }
    }
}

/// The name of a character that changes how text reads without being seen: controls,
/// bidirectional overrides, zero-width and tag characters. `None` for all others.
pub fn hidden_char_name(c: char) -> Option<String> {
    let kind = match c as u32 {
        0x00..=0x1f | 0x7f..=0x9f => "control character",
        0x202a..=0x202e | 0x2066..=0x2069 | 0x200e | 0x200f | 0x061c => "bidirectional mark",
        0x200b..=0x200d | 0x2060..=0x2064 | 0xfeff => "zero-width character",
        0x00ad => "soft hyphen",
        0x2028 | 0x2029 => "line separator",
        0xe0000..=0xe007f => "tag character",
        _ => return None,
    };
    Some(format!("the {kind} U+{:04X}", c as u32))
}

/// Whether `c` is one that [`hidden_char_name`] names.
pub fn is_hidden(c: char) -> bool {
    hidden_char_name(c).is_some()
}

/// Bytes as hexadecimal digits, two for each.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Foreign text made safe to show and to put into a prompt: every character that cannot be seen
/// becomes a visible mark such as `<U+001B>`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            out.push_str(&format!("<U+{:04X}>", c as u32));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Normalises line ends, trims, and refuses what cannot be seen. A zero-width joiner
/// between two emoji belongs to one visible sign and stays.
///
/// # Errors
/// [`TextError`] with the place of the first fault.
pub fn clean_text(raw: &str) -> Result<String, TextError> {
    let text = raw.replace("\r\n", "\n");
    let text = text.trim();
    if text.is_empty() {
        return Err(TextError::Empty);
    }
    let (mut line, mut column) = (1, 0);
    let mut before = ' ';
    for c in text.chars() {
        column += 1;
        let joins_emoji = c == '\u{200d}' && !before.is_ascii() && !before.is_alphanumeric();
        if c == '\n' {
            line += 1;
            column = 0;
        } else if c != '\t'
            && !joins_emoji
            && let Some(name) = hidden_char_name(c)
        {
            return Err(TextError::Hidden { name, line, column });
        }
        before = c;
    }
    let length = text.chars().count();
    if length > MAX_TEXT {
        return Err(TextError::TooLong { length });
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_edges_are_cleaned() {
        assert_eq!(clean_text("  a\r\nb \n").unwrap(), "a\nb");
    }

    #[test]
    fn the_limit_is_2000_scalar_values_after_cleaning() {
        assert!(clean_text(&format!(" {} ", "é".repeat(2000))).is_ok());
        let error = clean_text(&"é".repeat(2001)).unwrap_err();
        assert_eq!(error, TextError::TooLong { length: 2001 });
        assert!(error.to_string().contains("shorten it by 1"));
    }

    #[test]
    fn what_cannot_be_seen_is_refused_with_its_place() {
        assert_eq!(clean_text(" \t\n"), Err(TextError::Empty));
        for (text, place) in [
            ("ab\u{1b}[31m", "U+001B at line 1, column 3"),
            ("a\nb\u{202e}c", "U+202E at line 2, column 2"),
            ("a\u{200b}", "U+200B"),
            ("x\u{9b}31m", "U+009B"),
            ("lone\rreturn", "U+000D"),
        ] {
            let error = clean_text(text).unwrap_err().to_string();
            assert!(error.contains(place), "{error}");
        }
    }

    #[test]
    fn foreign_text_becomes_visible() {
        assert_eq!(visible("src/a.rs"), "src/a.rs");
        assert_eq!(
            visible("a\u{1b}]52;c\u{7}b\u{202e}"),
            "a<U+001B>]52;c<U+0007>b<U+202E>"
        );
        assert_eq!(visible("é\u{9b}x"), "é<U+009B>x");
    }

    #[test]
    fn emoji_families_are_visible_text() {
        assert!(clean_text("ship it 👨\u{200d}👩\u{200d}👧").is_ok());
    }
}
