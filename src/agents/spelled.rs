//! The paths that a text of a foreign tool's input can mean. Nothing here asks the disk: whether a
//! text is a path is judged by its look, and where the path leads is found out by the engine.

use std::borrow::Cow;

use super::verbs::is_in;

/// Longer texts are no paths.
const MAX_PATH: usize = 4096;

/// Endings by which a name without a folder is known for a file.
const FILES: &str = "\
    bash c cc cfg cjs conf cpp cs css csv env go gradle h hpp html ini ipynb java js json \
    jsonl jsx kt lock lua md mdx mjs mod php pl proto py pyi rb rs rst scala scss sh snap \
    sql sum svelte swift tf toml ts tsx txt vue xml yaml yml zig zsh";

/// Ends of the names of servers.
const DOMAINS: &str = "com org net io dev ai app co edu gov";

/// A path for certain: nothing else is spelled like it.
pub(super) fn is_path(text: &str) -> bool {
    let text = text.trim();
    if text.is_empty() || text.len() > MAX_PATH || text.contains(['\n', '\0']) {
        return false;
    }
    if scheme(text).is_some() {
        return of_uri(text).is_some();
    }
    let text = without_place(text);
    let text = percent_decoded(text).into_owned();
    if text.starts_with("~/") {
        return looks_like_path(&text);
    }
    let last = text.rsplit('/').next().unwrap_or(&text);
    if text.starts_with('/') {
        // A route such as /login looks alike and is no file.
        return last.contains('.') && !text.contains("  ");
    }
    if text.contains(' ') {
        return false;
    }
    match text.split_once('/') {
        Some((first, _)) => {
            let server = first
                .rsplit_once('.')
                .is_some_and(|(stem, end)| !stem.is_empty() && stem != "." && is_in(DOMAINS, end));
            !first.contains('@') && !server && (has_extension(last) || is_dotted(last))
        }
        None if text.contains('\\') => {
            let parts: Vec<&str> = text.split('\\').collect();
            let plain = |part: &&str| {
                part.chars()
                    .all(|c| c.is_alphanumeric() || "_-.".contains(c))
                    && part.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            };
            let drive = parts
                .first()
                .is_some_and(|p| p.len() == 2 && p.ends_with(':'));
            let named = parts.last().is_some_and(|last| has_extension(last));
            drive || named && parts.iter().all(plain)
        }
        None => {
            let ends = text.rsplit_once('.');
            ends.is_some_and(|(stem, end)| !stem.is_empty() && is_in(FILES, end))
                && text
                    .chars()
                    .all(|c| c.is_alphanumeric() || "_-.".contains(c))
        }
    }
}

/// A path with an ending by which files are known.
pub(super) fn is_known_file(text: &str) -> bool {
    let ends = text.trim().rsplit_once('.');
    is_path(text) && ends.is_some_and(|(_, end)| is_in(FILES, end))
}

/// A path where the field is one that often holds a path.
pub(super) fn looks_like_path(text: &str) -> bool {
    let has_slash = text.contains('/');
    let has_extension = text
        .rsplit_once('.')
        .is_some_and(|(stem, ext)| !stem.is_empty() && (1..=5).contains(&ext.len()));
    !is_address(text)
        && text.len() <= MAX_PATH
        && !text.contains(['@', '\n', ' '])
        && (has_slash || has_extension)
}

/// Something else where the field's name says that it holds a path: an address on the net, or
/// prose.
pub(super) fn is_no_path(text: &str) -> bool {
    let text = text.trim();
    let prose = text.contains(' ') && !text.contains(['/', '\\']) && !has_extension(text);
    text.is_empty()
        || text.len() > MAX_PATH
        || text.contains(['\n', '\0'])
        || is_address(text)
        || prose
}

/// An address that leads to no file of this machine.
pub(super) fn is_address(text: &str) -> bool {
    let text = text.trim();
    (text.contains("://") || text.starts_with("data:") || text.starts_with("mailto:"))
        && of_uri(text).is_none()
}

/// All spellings of the path that a text can mean, each once: as it is written, without what a
/// tool may take off. A text that is a URI of a file is only that file.
pub(super) fn spellings(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut add = |text: &str| {
        if !text.is_empty() && !out.iter().any(|known| known == text) {
            out.push(text.to_owned());
        }
    };
    match of_uri(text.trim()) {
        Some(path) => {
            add(&path);
            let bare = path.split(['?', '#']).next().unwrap_or(&path);
            add(bare);
            add(without_place(bare));
        }
        None => {
            let trimmed = text.trim();
            add(text);
            add(trimmed);
            add(without_place(trimmed));
            let mut decoded = percent_decoded(trimmed).into_owned();
            // What was encoded twice is decoded twice, by a proxy and by the tool.
            for _ in 0..3 {
                add(&decoded);
                add(without_place(&decoded));
                decoded = percent_decoded(&decoded).into_owned();
            }
            add(&trimmed.replace('\\', "/"));
        }
    }
    out
}

/// The scheme of a URI. A single letter is a drive.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let fits = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    (fits && rest.starts_with('/')).then_some((scheme, rest))
}

/// The path of a URI that leads to a file of this machine: `file:` in all its spellings, and those
/// of editors.
fn of_uri(text: &str) -> Option<String> {
    let (scheme, rest) = scheme(text)?;
    let scheme = scheme.to_ascii_lowercase();
    if scheme != "file" && !scheme.starts_with("vscode") {
        return None;
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) => &rest[rest.find('/')?..],
        None => rest,
    };
    Some(percent_decoded(path).into_owned())
}

/// Without the line, the column or the part that a text names in the file: `a.py:12:3`,
/// `a.py::test_x`, `a.py#L10`.
fn without_place(text: &str) -> &str {
    if let Some((path, _)) = text.split_once("::") {
        return path;
    }
    if let Some((path, place)) = text.rsplit_once('#')
        && place
            .trim_start_matches('L')
            .starts_with(|c: char| c.is_ascii_digit())
    {
        return path;
    }
    let mut path = text;
    for _ in 0..2 {
        match path.rsplit_once(':') {
            Some((before, number))
                if !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '-') =>
            {
                path = before;
            }
            _ => break,
        }
    }
    path
}

fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    // Bytes that are no text are no path that a tool would be given.
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn has_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && (1..=8).contains(&end.len())
            && end.chars().all(|c| c.is_ascii_alphanumeric())
            && end.chars().any(|c| c.is_ascii_alphabetic())
    })
}

/// A name such as `.env`.
fn is_dotted(name: &str) -> bool {
    name.len() > 1 && name.starts_with('.') && !name.starts_with("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_known_by_their_look() {
        for path in [
            "tests/spec_test.py",
            "/w/a.py",
            "~/x",
            "./a.rs",
            "a/.env",
            "file:///w/x",
            "FILE:///w/x",
            "file:/w/x",
            "vscode-remote://ssh/w/x",
            "tests%2Fspec_test.py",
            "tests/a.py:12",
            "tests/a.py::test_x",
            "tests\\a.py",
            "C:\\app\\.env",
            "Cargo.lock",
            "a.py",
            "/w/my tests/a.py",
        ] {
            assert!(is_path(path), "{path}");
        }
        for other in [
            "",
            "production",
            "owner/name",
            "feature/x",
            "feature/v1.2",
            "text/html",
            "application/vnd.api+json",
            "/api/v1",
            "/login",
            "https://example.org/a.html",
            "example.org/a/b.html",
            "mira@example.org",
            "@scope/pkg.js",
            "1.2.3",
            "example.com",
            "e.g.",
            "see tests/spec_test.py",
            "let a = b/c.d;",
            "\\d+\\.py",
            "s3://bucket/a.txt",
            "mcp://notes/a.md",
            "12:30",
            "a\nb/c.py",
        ] {
            assert!(!is_path(other), "{other}");
        }
    }

    #[test]
    fn every_spelling_that_a_tool_may_undo_counts() {
        for (text, means) in [
            ("tests%2Fa.py", "tests/a.py"),
            ("tests%252Fa.py", "tests/a.py"),
            ("FILE:///w/a%2fb.py", "/w/a/b.py"),
            ("file:/w/a.py", "/w/a.py"),
            ("file://localhost/w/a.py", "/w/a.py"),
            ("vscode-remote://ssh+host/w/a.py", "/w/a.py"),
            ("file:///w/a.py#L3", "/w/a.py"),
            ("tests/a.py:12:3", "tests/a.py"),
            ("tests/a.py:3-9", "tests/a.py"),
            ("tests/a.py::test_x", "tests/a.py"),
            (" tests/a.py\n", "tests/a.py"),
            ("tests\\a.py", "tests/a.py"),
        ] {
            let spelled = spellings(text);
            assert!(spelled.iter().any(|s| s == means), "{text}: {spelled:?}");
        }
        assert_eq!(spellings("src/a.py"), ["src/a.py"]);
        assert_eq!(spellings("file:///w/100%"), ["/w/100%"]);
        assert!(
            spellings("a%2Fb").contains(&"a%2Fb".to_owned()),
            "a name may hold a %"
        );
    }
}
