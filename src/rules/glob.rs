//! Patterns over paths.
//!
//! A pattern is anchored at the project root. `*` and `?` stay within a part of the path, `**`
//! crosses parts, `[…]` is a class, `{a,b}` an alternation, `\` escapes. `folder/` means
//! everything in it. `/x` and `~/x` are absolute. A pattern with brackets or braces is read in
//! two ways, as written and with these signs taken literally, so that a folder called `[id]`
//! can be named. Each pattern becomes one regular expression over the bytes of a path.

use std::{collections::BTreeMap, path::Path};

use unicode_normalization::UnicodeNormalization;

use crate::model::{Problem, error_by_problem, hidden_char_name};

/// What is wrong with a pattern, and where. Columns count characters from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobError {
    pub pattern: String,
    pub column: usize,
    pub fault: GlobFault,
}

error_by_problem!(GlobError);

impl GlobError {
    /// What is wrong where, and what to write instead.
    pub fn problem(&self) -> Problem {
        let place = format!("pattern {:?}, column {}", self.pattern, self.column);
        self.fault.problem().within(place)
    }
}

/// The kinds of fault in a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GlobFault {
    Empty,
    UnclosedClass,
    UnclosedAlternation,
    BackwardRange(char, char),
    DanglingEscape,
    ImpossiblePart(&'static str),
    Hidden(String),
    TooDeep,
    UnboundParameter(String),
    NoHome,
    TooLarge,
}

error_by_problem!(GlobFault);

impl GlobFault {
    /// What is wrong, and what to write instead.
    pub fn problem(&self) -> Problem {
        let (what, hint) = match self {
            Self::Empty => (
                "the pattern is empty".to_owned(),
                "write a path such as `src/**`".to_owned(),
            ),
            Self::UnclosedClass => (
                "`[` has no closing `]`".into(),
                "close it, or write `\\[` for the sign itself".into(),
            ),
            Self::UnclosedAlternation => (
                "`{` has no closing `}`".into(),
                "close it, or write `\\{` for the sign itself".into(),
            ),
            Self::BackwardRange(from, to) => (
                format!("the range {from}-{to} in `[…]` runs backwards"),
                "swap its ends".into(),
            ),
            Self::DanglingEscape => (
                "a backslash at the end escapes nothing".into(),
                "remove it or write `\\\\`".into(),
            ),
            Self::ImpossiblePart(part) => (
                format!(
                    "`{part}` is no part of a normalised path, so the pattern could never match"
                ),
                "remove it".into(),
            ),
            Self::Hidden(name) => (format!("{name} cannot be seen"), "remove it".into()),
            Self::TooDeep => (
                format!("alternations are nested deeper than {MAX_DEPTH}"),
                "write several patterns".into(),
            ),
            Self::UnboundParameter(name) => (
                format!("the parameter {{{name}}} is not bound"),
                format!(
                    "bind it with `plan use --set {name}=VALUE`, or write `\\{{{name}}}` for a folder of that name"
                ),
            ),
            Self::NoHome => (
                "`~` needs a home folder, and none is known".into(),
                "write the path in full".into(),
            ),
            Self::TooLarge => (
                "the pattern is too large to compile".into(),
                "write several smaller ones".into(),
            ),
        };
        Problem::new(what).hint(hint)
    }
}

/// How deep alternations may nest: the parser calls itself for each level.
const MAX_DEPTH: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Literal(char),
    AnyChar,
    Star,
    /// `**` inside a part: any text, slashes too.
    DoubleStar,
    /// `**/` as a whole part: any number of parts, none too.
    AnyParts,
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
    Alternation(Vec<Vec<Token>>),
}

/// A parsed pattern: where it is anchored and the expression that matches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    /// It matches absolute paths; otherwise paths relative to the project root.
    pub absolute: bool,
    /// Matches exactly the paths of the pattern; anchored at both ends. It ends with `\z`, which
    /// callers replace to cover what lies below a path.
    pub regex: String,
    /// The text before the first wildcard; every path that matches begins with it.
    pub literal_prefix: String,
    /// Whether it has a wildcard: then more than its `literal_prefix` may match.
    pub wild: bool,
    /// A path that matches, with `x` for what is left open.
    pub example: String,
}

impl Glob {
    /// Parses `pattern`; `home` stands for a leading `~/`.
    ///
    /// # Errors
    /// [`GlobError`] with the column of the first fault.
    pub fn parse(pattern: &str, home: Option<&Path>) -> Result<Self, GlobError> {
        // Paths are compared in the composed form, so the pattern is read in it: `é` is one
        // letter, whether it was typed as one or as `e` and an accent.
        let chars: Vec<char> = pattern.nfc().collect();
        let fail = |column: usize, fault| GlobError {
            pattern: pattern.to_owned(),
            column,
            fault,
        };
        if pattern.trim().is_empty() {
            return Err(fail(1, GlobFault::Empty));
        }
        if let Some((at, name)) = chars
            .iter()
            .enumerate()
            .find_map(|(i, c)| hidden_char_name(*c).map(|n| (i, n)))
        {
            return Err(fail(at + 1, GlobFault::Hidden(name)));
        }
        check_parts(&chars).map_err(|(column, fault)| fail(column, fault))?;
        if let Some((name, column)) = parameters(pattern).into_iter().next() {
            return Err(fail(column, GlobFault::UnboundParameter(name)));
        }

        let mut start = usize::from(pattern.starts_with("./")) * 2;
        let mut prefix = String::new();
        if pattern.starts_with("~/") {
            let home = home.ok_or_else(|| fail(1, GlobFault::NoHome))?;
            prefix = home.to_string_lossy().trim_end_matches('/').to_owned();
            start = 1;
        }
        let absolute = pattern.starts_with('/') || !prefix.is_empty();
        let body = &chars[start..];

        let read = |literal_signs| {
            let mut parser = Parser {
                chars: body,
                at: 0,
                literal_signs,
            };
            parser
                .sequence(0, false)
                .map_err(|(at, fault)| fail(start + at + 1, fault))
        };
        let tokens = read(false)?;
        let literal = |token: &Token| match token {
            Token::Literal(c) => Some(*c),
            _ => None,
        };
        let mut literal_prefix = prefix.clone();
        literal_prefix.extend(tokens.iter().map_while(literal));
        let wild = !tokens.iter().all(|token| literal(token).is_some());
        let example = format!("{prefix}{}", example(&tokens));
        let mut readings = vec![expression(&tokens)];
        // A folder may be called `[id]`. Matching both readings guards a little more than was
        // meant, and never less.
        if body.iter().any(|c| matches!(c, '[' | '{')) {
            readings.push(expression(&read(true)?));
        }
        let prefix = regex::escape(&prefix);
        let regex = format!(r"\A(?:{prefix}(?:{}))\z", readings.join("|"));
        // Compiled once here, so that a pattern that is accepted is one that works.
        regex::bytes::Regex::new(&regex).map_err(|_| fail(1, GlobFault::TooLarge))?;
        Ok(Self {
            absolute,
            regex,
            literal_prefix,
            wild,
            example,
        })
    }
}

/// A text that the tokens match.
fn example(tokens: &[Token]) -> String {
    tokens
        .iter()
        .map(|token| match token {
            Token::Literal(c) => c.to_string(),
            Token::AnyChar | Token::Star | Token::DoubleStar => "x".to_owned(),
            Token::AnyParts => String::new(),
            Token::Class { negated: true, .. } => "x".to_owned(),
            Token::Class { ranges, .. } => ranges.first().map_or('x', |r| r.0).to_string(),
            Token::Alternation(branches) => {
                branches.first().map(|b| example(b)).unwrap_or_default()
            }
        })
        .collect()
}

/// Writes a literal path as a pattern that matches it and nothing else.
pub fn escape(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The parameters `{name}` of a pattern with their columns, in order.
pub fn parameters(pattern: &str) -> Vec<(String, usize)> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 1,
            '{' => {
                let name: String = chars[at + 1..]
                    .iter()
                    .take_while(|c| c.is_ascii_alphanumeric() || **c == '_')
                    .collect();
                let closed = chars.get(at + 1 + name.len()) == Some(&'}');
                if closed && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                    found.push((name, at + 1));
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Puts the values of `params` in place of the `{name}` parameters of a pattern. Values go in as
/// they are, so a value may hold wildcards.
///
/// # Errors
/// The first parameter without a value, with its column.
pub fn bind(pattern: &str, params: &BTreeMap<String, String>) -> Result<String, GlobError> {
    let mut out = String::new();
    let mut rest = pattern;
    for (name, column) in parameters(pattern) {
        let Some(value) = params.get(&name) else {
            return Err(GlobError {
                pattern: pattern.to_owned(),
                column,
                fault: GlobFault::UnboundParameter(name),
            });
        };
        // Behind what was replaced before: a value that holds `{other}` is not replaced again.
        let sign = format!("{{{name}}}");
        if let Some((before, after)) = rest.split_once(&sign) {
            out.push_str(before);
            out.push_str(value);
            rest = after;
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Refuses the parts that no normalised path has, since a pattern with one would guard nothing
/// without a word. A leading `./` and one slash at each end are allowed.
fn check_parts(chars: &[char]) -> Result<(), (usize, GlobFault)> {
    let mut start = 0;
    for end in 0..=chars.len() {
        if end < chars.len() && chars[end] != '/' {
            continue;
        }
        let part: String = chars[start..end].iter().collect();
        let (first, last) = (start == 0, end == chars.len());
        let fault = match part.as_str() {
            ".." => Some(".."),
            "." if !first || last => Some("."),
            "" if !first && !last => Some("//"),
            _ => None,
        };
        if let Some(part) = fault {
            return Err((start + 1, GlobFault::ImpossiblePart(part)));
        }
        start = end + 1;
    }
    Ok(())
}

struct Parser<'a> {
    chars: &'a [char],
    at: usize,
    /// Takes brackets and braces for themselves.
    literal_signs: bool,
}

type Fault = (usize, GlobFault);

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Reads until the end, or within an alternation until `,` or `}`.
    fn sequence(&mut self, depth: usize, nested: bool) -> Result<Vec<Token>, Fault> {
        let mut tokens = Vec::new();
        while let Some(c) = self.peek(0) {
            match c {
                ',' | '}' if nested => return Ok(tokens),
                '\\' => {
                    let escaped = self.peek(1).ok_or((self.at, GlobFault::DanglingEscape))?;
                    tokens.push(Token::Literal(escaped));
                    self.at += 2;
                }
                '?' => {
                    tokens.push(Token::AnyChar);
                    self.at += 1;
                }
                '*' => tokens.push(self.stars()),
                '[' if !self.literal_signs => tokens.push(self.class()?),
                '{' if !self.literal_signs => tokens.push(self.alternation(depth)?),
                '/' if self.at + 1 == self.chars.len() && self.at > 0 => {
                    // A trailing slash names the folder: everything in it.
                    tokens.push(Token::Literal('/'));
                    tokens.push(Token::DoubleStar);
                    self.at += 1;
                }
                other => {
                    tokens.push(Token::Literal(other));
                    self.at += 1;
                }
            }
        }
        Ok(tokens)
    }

    fn stars(&mut self) -> Token {
        let starts_part = self.at == 0 || self.chars[self.at - 1] == '/';
        let mut count = 0;
        while self.peek(0) == Some('*') {
            count += 1;
            self.at += 1;
        }
        if count == 1 {
            Token::Star
        } else if starts_part && self.peek(0) == Some('/') {
            self.at += 1;
            Token::AnyParts
        } else {
            Token::DoubleStar
        }
    }

    fn class(&mut self) -> Result<Token, Fault> {
        let open = self.at;
        self.at += 1;
        let negated = matches!(self.peek(0), Some('!' | '^'));
        self.at += usize::from(negated);
        let mut ranges: Vec<(char, char)> = Vec::new();
        let first = self.at;
        loop {
            let unclosed = (open, GlobFault::UnclosedClass);
            let mut c = self.peek(0).ok_or(unclosed.clone())?;
            // As in a shell, a `]` right at the beginning stands for itself.
            if c == ']' && self.at > first {
                self.at += 1;
                return Ok(Token::Class { negated, ranges });
            }
            if c == '\\' {
                self.at += 1;
                c = self.peek(0).ok_or(unclosed.clone())?;
            }
            self.at += 1;
            let is_range = self.peek(0) == Some('-') && self.peek(1).is_some_and(|n| n != ']');
            if !is_range {
                ranges.push((c, c));
                continue;
            }
            self.at += 1;
            let mut end = self.peek(0).ok_or(unclosed.clone())?;
            if end == '\\' {
                self.at += 1;
                end = self.peek(0).ok_or(unclosed)?;
            }
            self.at += 1;
            if end < c {
                return Err((open, GlobFault::BackwardRange(c, end)));
            }
            ranges.push((c, end));
        }
    }

    fn alternation(&mut self, depth: usize) -> Result<Token, Fault> {
        let open = self.at;
        if depth == MAX_DEPTH {
            return Err((open, GlobFault::TooDeep));
        }
        self.at += 1;
        let mut branches = Vec::new();
        loop {
            branches.push(self.sequence(depth + 1, true)?);
            match self.peek(0) {
                Some(',') => self.at += 1,
                Some(_) => {
                    self.at += 1;
                    return Ok(Token::Alternation(branches));
                }
                None => return Err((open, GlobFault::UnclosedAlternation)),
            }
        }
    }
}

/// What `*` matches: any bytes but a slash. Bytes rather than characters, so that no file name
/// escapes a wildcard by not being UTF-8.
const PART_TEXT: &str = r"(?s-u:[^/])*";
/// What `**` matches: any bytes, slashes too.
const ANY_TEXT: &str = r"(?s-u:.)*";
/// What `?` matches: one character, or one byte that belongs to none.
const ONE_CHAR: &str = r"(?:[^/]|(?-u:[\x80-\xff]))";

/// The regular expression of some tokens, without anchors.
fn expression(tokens: &[Token]) -> String {
    let mut out = String::new();
    for token in tokens {
        match token {
            Token::Literal(c) => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
            Token::AnyChar => out.push_str(ONE_CHAR),
            Token::Star => out.push_str(PART_TEXT),
            Token::DoubleStar if out.ends_with('/') => {
                // `src/**` is what lies in `src`, and not `src` itself.
                out.push_str(r"(?s-u:.)+");
            }
            Token::DoubleStar => out.push_str(ANY_TEXT),
            Token::AnyParts => out.push_str(&format!("(?:{ANY_TEXT}/)?")),
            Token::Class { negated, ranges } => out.push_str(&class_expression(*negated, ranges)),
            Token::Alternation(branches) => {
                let branches: Vec<String> = branches.iter().map(|b| expression(b)).collect();
                out.push_str(&format!("(?:{})", branches.join("|")));
            }
        }
    }
    out
}

fn class_expression(negated: bool, ranges: &[(char, char)]) -> String {
    let mut set = String::new();
    for (from, to) in ranges {
        set.push_str(&format!(
            "\\x{{{:x}}}-\\x{{{:x}}}",
            *from as u32, *to as u32
        ));
    }
    // No class matches a slash, negated or not: it stays within its part of the path.
    if negated {
        format!("[^/{set}]")
    } else {
        format!("[{set}&&[^/]]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        let glob = Glob::parse(pattern, Some(Path::new("/home/mira"))).unwrap();
        regex::bytes::Regex::new(&glob.regex)
            .unwrap()
            .is_match(path.as_bytes())
    }

    #[test]
    fn what_each_sign_matches() {
        for (pattern, yes, no) in [
            (
                "src/**",
                vec!["src/a", "src/a/b.rs"],
                vec!["src", "src/", "srcs/a", "vendor/src/x"],
            ),
            (
                "docs/*.md",
                vec!["docs/a.md", "docs/.md"],
                vec!["docs/a/b.md", "docs/a.mdx"],
            ),
            ("**/x", vec!["x", "a/x", "a/b/x"], vec!["ax", "a/xb"]),
            (
                "a/**/b",
                vec!["a/b", "a/c/b", "a/c/d/b"],
                vec!["ab", "a/cb"],
            ),
            ("**", vec!["a", "a/b"], vec![]),
            (
                "src/**.rs",
                vec!["src/a.rs", "src/a/b.rs"],
                vec!["src/a.py"],
            ),
            ("?.rs", vec!["a.rs", "é.rs"], vec!["ab.rs", "/.rs", ".rs"]),
            ("[a-c]x", vec!["ax", "cx"], vec!["dx", "x"]),
            ("[!a]x", vec!["bx"], vec!["ax", "/x"]),
            ("{a,b/c}.rs", vec!["a.rs", "b/c.rs"], vec!["c.rs"]),
            ("./src/a", vec!["src/a"], vec!["./src/a"]),
            (
                "migrations/",
                vec!["migrations/1.sql"],
                vec!["migrations2/1.sql"],
            ),
            ("/etc/*", vec!["/etc/hosts"], vec!["etc/hosts"]),
            ("~/x", vec!["/home/mira/x"], vec!["x", "~/x"]),
            ("a\\*b", vec!["a*b"], vec!["axb"]),
            (
                "tests/test_sync.py",
                vec!["tests/test_sync.py"],
                vec!["tests/test_syncXpy"],
            ),
        ] {
            for path in yes {
                assert!(matches(pattern, path), "{pattern} should match {path}");
            }
            for path in no {
                assert!(!matches(pattern, path), "{pattern} should not match {path}");
            }
        }
    }

    #[test]
    fn signs_in_folder_names_also_mean_themselves() {
        assert!(matches("app/[id]/page.tsx", "app/[id]/page.tsx"));
        assert!(matches("app/[id]/page.tsx", "app/i/page.tsx"));
        assert!(matches("app/[lang]/**", "app/[lang]/a/b"));
        assert!(matches("{-$locale}/x", "{-$locale}/x"));
        assert!(matches("app/[[...slug]]/p", "app/[[...slug]]/p"));
        assert!(matches("a/\\[1\\]", "a/[1]") && !matches("a/\\[1\\]", "a/1"));
    }

    #[test]
    fn a_name_that_is_not_utf8_does_not_escape_a_wildcard() {
        let glob = Glob::parse("tests/*", None).unwrap();
        let regex = regex::bytes::Regex::new(&glob.regex).unwrap();
        assert!(regex.is_match(b"tests/\xff\xfe"));
        assert!(regex.is_match(b"tests/a\nb"));
    }

    #[test]
    fn a_fault_is_reported_with_its_column() {
        for (pattern, column, part) in [
            ("", 1, "empty"),
            ("src/[x", 5, "no closing `]`"),
            ("src/{a,b", 5, "no closing `}`"),
            ("a[z-b]", 2, "runs backwards"),
            ("abc\\", 4, "escapes nothing"),
            ("src/../x", 5, "could never match"),
            ("src//x", 5, "could never match"),
            ("a/./b", 3, "could never match"),
            ("x\u{202e}y", 2, "cannot be seen"),
            ("tests/{failing}", 7, "{failing} is not bound"),
        ] {
            let error = Glob::parse(pattern, None).unwrap_err();
            assert_eq!(error.column, column, "{error}");
            assert!(error.to_string().contains(part), "{error}");
        }
        assert_eq!(
            Glob::parse("~/x", None).unwrap_err().fault,
            GlobFault::NoHome
        );
        let deep = format!("{}a{}", "{b,".repeat(9), "}".repeat(9));
        assert_eq!(
            Glob::parse(&deep, None).unwrap_err().fault,
            GlobFault::TooDeep
        );
    }

    #[test]
    fn parameters_are_found_and_bound() {
        let names: Vec<_> = parameters("{a}/x/{b_2}/{c,d}/\\{e}/{-f}");
        assert_eq!(names, [("a".to_owned(), 1), ("b_2".to_owned(), 7)]);
        let params = BTreeMap::from([("a".to_owned(), "tests/t.py".to_owned())]);
        assert_eq!(bind("{a}", &params).unwrap(), "tests/t.py");
        let error = bind("{a}{missing}", &params).unwrap_err();
        assert_eq!(error.column, 4);
        assert!(error.to_string().contains("--set missing="), "{error}");
    }

    #[test]
    fn the_literal_prefix_ends_at_the_first_wildcard() {
        let prefix = |p: &str| Glob::parse(p, None).unwrap().literal_prefix;
        assert_eq!(prefix("tests/data/*.json"), "tests/data/");
        assert_eq!(prefix("a/b.py"), "a/b.py");
        assert_eq!(prefix("**/x"), "");
        // An example may be no longer than the prefix, and the pattern matches more nevertheless.
        let wild = |p: &str| Glob::parse(p, None).unwrap().wild;
        assert!(wild("a{,b}") && wild("a/**/") && wild("*"));
        assert!(!wild("a/b.py") && !wild("a\\*"));
    }
}
