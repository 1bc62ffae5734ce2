//! Parsing with the grammar's crate, and mending what it does not take.

use std::{ops::Range, sync::LazyLock};

use brush_parser::{
    ParseError, Parser, ParserOptions, SourceSpan, TokenizerError,
    ast::{Program, SourceLocation},
};
use regex::Regex;

/// The deepest nesting that is parsed.
pub(super) const MAX_NESTING: usize = 60;

/// The stack of the thread that reads a nested line.
pub(super) const STACK: usize = 256 << 20;

pub(super) fn options() -> ParserOptions {
    ParserOptions::default()
}

/// An upper bound of how deep the parts of a line are nested, by its signs and words alone.
pub(super) fn nesting(line: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut word = String::new();
    for c in line.chars().chain([' ']) {
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth = depth.saturating_sub(1),
            c if c.is_ascii_lowercase() => {
                word.push(c);
                continue;
            }
            _ => {}
        }
        match word.as_str() {
            "then" | "do" | "case" | "elif" => depth += 1,
            "fi" | "done" | "esac" => depth = depth.saturating_sub(1),
            _ => {}
        }
        word.clear();
        deepest = deepest.max(depth);
    }
    deepest
}

/// Parses a program. What bash takes and the crate does not is tried again in a form of the
/// same length, so that positions stay true.
pub(super) fn program(text: &str) -> Option<Program> {
    static SUBSTITUTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"=[<>]\(").ok());
    static SELECT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(^|[;&|\n({]\s*|\b(?:do|then|else)\s+)select(\s+\w+\s+in\b)").ok()
    });
    match parse(text) {
        Ok(program) => return Some(program),
        // bash ends an open heredoc at the end of its input.
        Err(ParseError::Tokenizing {
            inner: TokenizerError::UnterminatedHereDocuments(tags, _),
            ..
        }) => {
            let closed = tags.split(',').fold(text.to_owned(), |text, tag| {
                let tag = tag.trim().trim_matches(['"', '\'', '\\', '-']);
                format!("{text}\n{tag}\n")
            });
            if let Ok(program) = parse(&closed) {
                return Some(program);
            }
        }
        Err(_) => {}
    }
    let mut mended = text.to_owned();
    if let Some(regex) = &*SUBSTITUTED {
        mended = regex.replace_all(&mended, "=$$(").into_owned();
    }
    if let Some(regex) = &*SELECT {
        mended = regex.replace_all(&mended, "${1}for   ${2}").into_owned();
    }
    parse(&mended).ok()
}

fn parse(text: &str) -> Result<Program, ParseError> {
    Parser::new(std::io::Cursor::new(text.as_bytes()), &options()).parse_program()
}

/// The bytes of a part of `text`; the crate counts characters.
pub(super) fn bytes(text: &str, span: &SourceSpan) -> Range<usize> {
    let at = |index: usize| {
        text.char_indices()
            .nth(index)
            .map_or(text.len(), |(byte, _)| byte)
    };
    if text.is_ascii() {
        let clamp = |i: usize| i.min(text.len());
        return clamp(span.start.index)..clamp(span.end.index);
    }
    at(span.start.index)..at(span.end.index)
}

/// The bytes of a node of the tree, where the crate knows them.
pub(super) fn node_bytes(text: &str, node: &impl SourceLocation) -> Option<Range<usize>> {
    node.location().map(|span| bytes(text, &span))
}
