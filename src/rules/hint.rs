//! Statements that a letter check can say: exact, free, and asked before every action. By fixed
//! forms of English, without a model; what is not one of them is no hint.

use std::sync::LazyLock;

use regex::Regex;

use crate::model::LetterCheck;

/// What changes a file, in the words of a person.
const CHANGE: &str =
    r"(?:modify|edit|change|touch|write(?: to)?|alter|update|delete|remove|create)";

/// Something that may be a path: words without blanks, perhaps quoted.
const PATHS: &str = r#"(?P<paths>[`'"]?[\w./*?\[\]{}~@+-]+[`'"]?(?:\s*(?:,|\band\b|\bor\b|,\s*and|,\s*or)\s*[`'"]?[\w./*?\[\]{}~@+-]+[`'"]?)*)"#;

struct Form {
    regex: Regex,
    /// It names what may be edited, instead of what may not.
    outside: bool,
}

static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let forbid =
        r"(?:never|do not|don't|must not|should not|may not|cannot|no one may|agents? must not)";
    let files = r"(?:(?:any |the )?(?:files?|code|anything) )?";
    let still =
        r"(?:untouched|unchanged|unmodified|as it is|as they are|as is|alone|read[- ]only|frozen)";
    let only = r"(?:in|inside|within|under|below|to)";
    [
        (true, format!(r"^(?:no|{forbid} make(?: any)?) (?:edits?|changes?|writes?) outside(?: of)? {PATHS}$")),
        (true, format!(r"^{forbid} {CHANGE} {files}outside(?: of)? {PATHS}$")),
        (true, format!(r"^only {CHANGE} {files}(?:{only} )?{PATHS}$")),
        (true, format!(r"^(?:stay|work only|work|keep (?:all )?(?:edits|changes)|(?:all )?(?:edits|changes)(?: must)? stay) {only} {PATHS}$")),
        (false, format!(r"^{forbid} {CHANGE} {files}(?:in |inside |under )?{PATHS}$")),
        (false, format!(r"^(?:leave|keep) {PATHS} {still}$")),
        (false, format!(r"^{PATHS} (?:is|are|must be|must stay|must remain|stays?|remains?|should stay|has to stay) {still}$")),
    ]
    .into_iter()
    .filter_map(|(outside, text)| {
        let regex = Regex::new(&format!("(?i){text}")).ok()?;
        Some(Form { regex, outside })
    })
    .collect()
});

/// The letter checks that say the same as a statement, if it is of a known form and names paths:
/// one `no edits outside`, or an `untouched` for each path.
pub fn letter_forms(text: &str) -> Vec<LetterCheck> {
    let text = text.trim().trim_end_matches(['.', '!']).trim();
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    for form in FORMS.iter() {
        let Some(found) = form.regex.captures(&text) else {
            continue;
        };
        let named = found.name("paths").map_or("", |m| m.as_str());
        let paths: Option<Vec<String>> = parts(named).into_iter().map(path).collect();
        let Some(paths) = paths.filter(|p| !p.is_empty()) else {
            continue;
        };
        return match form.outside {
            true => vec![LetterCheck::NoEditsOutside(
                paths.iter().map(|p| below(p)).collect(),
            )],
            false => paths
                .into_iter()
                .map(|p| LetterCheck::Untouched(p.trim_end_matches('/').to_owned()))
                .collect(),
        };
    }
    Vec::new()
}

fn parts(named: &str) -> Vec<&str> {
    named
        .split([',', ' '])
        .map(|part| part.trim_matches(['`', '\'', '"']))
        .filter(|part| !part.is_empty() && !matches!(*part, "and" | "or"))
        .collect()
}

/// A word that is a path and no other word.
fn path(word: &str) -> Option<String> {
    let name = word.rsplit('/').next().unwrap_or(word);
    let dotted = name.rsplit_once('.').is_some_and(|(stem, end)| {
        (!stem.is_empty() || word.starts_with('.')) && (1..=10).contains(&end.len())
    });
    let is_path = word.contains(['/', '*']) || dotted;
    let normal = word.split('/').all(|part| !matches!(part, "." | ".."));
    (is_path && normal && word.chars().any(char::is_alphanumeric)).then(|| word.to_owned())
}

/// A folder means everything in it.
fn below(path: &str) -> String {
    let bare = path.trim_end_matches('/');
    let name = bare.rsplit('/').next().unwrap_or(bare);
    let is_file = name.contains('.') || bare.contains(['*', '?', '[', '{']);
    match is_file && bare.len() == path.len() {
        true => path.to_owned(),
        false => format!("{bare}/**"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        letter_forms(text)
            .iter()
            .map(LetterCheck::sentence)
            .collect()
    }

    #[test]
    fn a_check_is_offered_for_what_it_can_say() {
        for (text, expected) in [
            ("Never modify files outside src/", "no edits outside src/**"),
            (
                "No edits outside src/** and docs/*.md.",
                "no edits outside src/**, docs/*.md",
            ),
            ("do not touch tests/x.py", "tests/x.py is untouched"),
            ("Don't edit `Cargo.lock`!", "Cargo.lock is untouched"),
            (
                "tests/test_sync.py must stay unchanged",
                "tests/test_sync.py is untouched",
            ),
            ("Leave migrations/ alone", "migrations is untouched"),
            (
                "Only change files in src/api",
                "no edits outside src/api/**",
            ),
            (
                "All changes stay within src/ui/",
                "no edits outside src/ui/**",
            ),
            (
                "Agents must not write to .github/workflows",
                ".github/workflows is untouched",
            ),
        ] {
            assert_eq!(said(text), [expected], "{text}");
        }
        assert_eq!(
            said("Never change a.py or b/c.py"),
            ["a.py is untouched", "b/c.py is untouched"]
        );
    }

    #[test]
    fn what_says_more_or_less_is_left_to_others() {
        for text in [
            "Changes stay minimal",
            "Never log secrets",
            "Do not change the public API",
            "Never edit tests",
            "Do not touch anything",
            "All API changes need tests",
            "Never modify files outside the project",
            "Keep it simple",
            "Do not touch ../x",
            "Never change src/a.py without a test",
            "Only change what is needed",
            "Use Python 3.13 only",
            "Never push to origin/main unless asked",
        ] {
            assert!(said(text).is_empty(), "{text}: {:?}", said(text));
        }
    }
}
