//! The one door through which foreign text enters cells: everything that a terminal would obey
//! or hide becomes a visible mark, and text is cut by grapheme and width.

use std::borrow::Cow;

use ratatui::{buffer::Buffer, style::Style};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::model::visible;

/// Text for one line: tabs and line ends become spaces, the rest of the unseen is marked.
pub fn line(text: &str) -> Cow<'_, str> {
    if text.contains(['\t', '\n', '\r']) {
        let spaced = text.replace("\r\n", " ").replace(['\t', '\n'], " ");
        return Cow::Owned(visible(&spaced).into_owned());
    }
    visible(text)
}

/// `text` cut to `width` cells; `…` at the end shows that something was cut off.
pub fn fit(text: &str, width: usize) -> Cow<'_, str> {
    let text = line(text);
    if text.width() <= width {
        return text;
    }
    if width == 0 {
        return Cow::Borrowed("");
    }
    let mut out = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let cells = grapheme.width();
        if used + cells > width - 1 {
            break;
        }
        used += cells;
        out.push_str(grapheme);
    }
    out.push('…');
    Cow::Owned(out)
}

/// `text` broken into lines of at most `width` cells, at spaces where there are any.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut out = Vec::new();
    for paragraph in text.split('\n') {
        let paragraph = line(paragraph);
        let mut now = String::new();
        for word in paragraph.split_inclusive(' ') {
            if now.width() + word.trim_end().width() > width && !now.is_empty() {
                out.push(now.trim_end().to_owned());
                now.clear();
            }
            for grapheme in word.graphemes(true) {
                if now.width() + grapheme.width() > width && !now.trim_end().is_empty() {
                    if grapheme == " " {
                        continue;
                    }
                    out.push(std::mem::take(&mut now));
                }
                now.push_str(grapheme);
            }
        }
        out.push(now.trim_end().to_owned());
    }
    out
}

/// Writes text at a cell, cut to `width`; returns the column after it. Outside the buffer it
/// writes nothing.
pub fn put(buf: &mut Buffer, x: u16, y: u16, width: u16, text: &str, style: Style) -> u16 {
    let area = buf.area;
    if y < area.y || y >= area.bottom() || x < area.x || x >= area.right() {
        return x;
    }
    let room = width.min(area.right() - x);
    let text = fit(text, usize::from(room));
    buf.set_stringn(x, y, text, usize::from(room), style).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_cells_and_never_in_a_sign() {
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("日本語", 4), "日…");
        assert!(fit("👨\u{200d}👩\u{200d}👧x", 2).width() <= 2);
        assert_eq!(fit("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(fit("x", 0), "");
    }

    #[test]
    fn nothing_that_a_terminal_obeys_passes() {
        let hostile = "a\u{1b}]52;c;x\u{7}\tb\u{9b}31m\u{202e}c\r\nd\u{200b}";
        let shown = line(hostile);
        assert!(!shown.chars().any(crate::model::is_hidden), "{shown}");
        assert!(shown.contains("<U+001B>") && shown.contains("<U+202E>"));
    }

    #[test]
    fn wrapping_breaks_at_spaces_and_within_long_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("a\n\nb", 5), ["a", "", "b"]);
        assert!(wrap(&"日".repeat(10), 5).iter().all(|l| l.width() <= 5));
    }
}
