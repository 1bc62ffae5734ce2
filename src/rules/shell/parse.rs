//! Parsing with the grammar's crate, and mending what it does not take.

use std::{ops::Range, sync::LazyLock};

use brush_parser::{
    ParserOptions, SourceSpan, Token, TokenizerError,
    ast::{Program, SourceLocation},
    parse_tokens, uncached_tokenize_str,
};
use regex::Regex;

use super::nesting;

/// The deepest nesting that is parsed.
const MAX_NESTING: usize = 60;

/// The longest text, and the most words and signs of one: parsing takes some microseconds each.
const MAX_TEXT: usize = 1 << 20;
const MAX_TOKENS: usize = 6_000;

/// The stack of the thread that reads a line.
pub(super) const STACK: usize = 256 << 20;

/// Why there is no tree of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unparsed {
    /// It is no command that the grammar takes.
    Wrong,
    TooDeep,
    TooMuch,
}

pub(super) fn options() -> ParserOptions {
    ParserOptions::default()
}

/// Parses a program. What bash takes and the crate does not is tried again in a form of the
/// same length, so that positions stay true.
pub(super) fn program(text: &str) -> Result<Program, Unparsed> {
    static SUBSTITUTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"=[<>]\(").ok());
    static SELECT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(^|[;&|\n({]\s*|\b(?:do|then|else)\s+)select(\s+\w+\s+in\b)").ok()
    });
    // The tokenizer calls itself for what stands in an expansion.
    match nesting::of_expansions(text) {
        _ if text.len() > MAX_TEXT => return Err(Unparsed::TooMuch),
        Some(seen) if seen.depth > MAX_NESTING => return Err(Unparsed::TooDeep),
        Some(seen) if seen.words <= MAX_TOKENS => {}
        _ => return Err(Unparsed::TooMuch),
    }
    let wrong = match uncached_tokenize_str(text, &options().tokenizer_options()) {
        Ok(tokens) => parse(&tokens),
        // bash ends an open heredoc at the end of its input.
        Err(TokenizerError::UnterminatedHereDocuments(tags, _)) => {
            let closed = tags.split(',').fold(text.to_owned(), |text, tag| {
                let tag = tag.trim().trim_matches(['"', '\'', '\\', '-']);
                format!("{text}\n{tag}\n")
            });
            tokenized(&closed)
        }
        Err(_) => Err(Unparsed::Wrong),
    };
    if !matches!(wrong, Err(Unparsed::Wrong)) {
        return wrong;
    }
    let mut mended = text.to_owned();
    if let Some(regex) = &*SUBSTITUTED {
        mended = regex.replace_all(&mended, "=$$(").into_owned();
    }
    if let Some(regex) = &*SELECT {
        mended = regex.replace_all(&mended, "${1}for   ${2}").into_owned();
    }
    match mended == text {
        true => wrong,
        false => tokenized(&mended),
    }
}

fn tokenized(text: &str) -> Result<Program, Unparsed> {
    match uncached_tokenize_str(text, &options().tokenizer_options()) {
        Ok(tokens) => parse(&tokens),
        Err(_) => Err(Unparsed::Wrong),
    }
}

fn parse(tokens: &[Token]) -> Result<Program, Unparsed> {
    if tokens.len() > MAX_TOKENS {
        return Err(Unparsed::TooMuch);
    }
    if nesting::of_commands(tokens) > MAX_NESTING {
        return Err(Unparsed::TooDeep);
    }
    parse_tokens(tokens, &options()).map_err(|_| Unparsed::Wrong)
}

/// Where each character of a text begins; the crate counts characters.
pub(super) fn starts(text: &str) -> Option<Vec<usize>> {
    (!text.is_ascii()).then(|| text.char_indices().map(|(byte, _)| byte).collect())
}

/// The bytes of a part of a text of this length; `starts` is `None` when all of it is ASCII.
fn bytes(len: usize, starts: Option<&[usize]>, span: &SourceSpan) -> Range<usize> {
    let at = |index: usize| match starts {
        Some(starts) => starts.get(index).copied().unwrap_or(len),
        None => index.min(len),
    };
    at(span.start.index)..at(span.end.index)
}

/// The bytes of a node of the tree, where the crate knows them.
pub(super) fn node_bytes(
    len: usize,
    starts: Option<&[usize]>,
    node: &impl SourceLocation,
) -> Option<Range<usize>> {
    node.location().map(|span| bytes(len, starts, &span))
}
