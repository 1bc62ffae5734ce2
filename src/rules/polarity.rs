//! The sense of a statement in English: what it is about, and whether it asks for that or
//! forbids it. By a table of modals and negations; wording that the table does not know has no
//! sense. A contradiction that is missed costs nothing, and one that is wrong blocks a plan, so
//! every doubt is decided for "no sense".

/// What a statement does with its core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Polarity {
    /// It must be done.
    Required,
    /// It may be done.
    Permitted,
    /// It must not be done.
    Forbidden,
}

impl Polarity {
    /// Whether both cannot hold at once: one forbids, and the other requires or permits. What is
    /// required may also be permitted.
    pub fn opposes(self, other: Self) -> bool {
        (self == Self::Forbidden) != (other == Self::Forbidden)
    }
}

/// A statement taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The words that carry what it is about, in their order, each reduced to its stem.
    pub core: String,
    pub polarity: Polarity,
}

/// Signs of a prohibition. The first that fits counts, so a longer one stands before a shorter one
/// that begins it. This table is asked before the others, which hold the beginnings of some of its
/// signs (`must` of `must not`).
const FORBIDS: [&[&str]; 26] = [
    &["is", "not", "allowed", "to"],
    &["are", "not", "allowed", "to"],
    &["not", "allowed", "to"],
    &["is", "not", "allowed"],
    &["are", "not", "allowed"],
    &["must", "not"],
    &["mustn't"],
    &["shall", "not"],
    &["should", "not"],
    &["shouldn't"],
    &["may", "not"],
    &["can", "not"],
    &["cannot"],
    &["can't"],
    &["must", "never"],
    &["should", "never"],
    &["do", "not"],
    &["don't"],
    &["does", "not"],
    &["doesn't"],
    &["is", "forbidden"],
    &["are", "forbidden"],
    &["is", "prohibited"],
    &["are", "prohibited"],
    &["never"],
    &["avoid"],
];

/// Signs of a permission.
const PERMITS: [&[&str]; 6] = [
    &["is", "allowed", "to"],
    &["are", "allowed", "to"],
    &["is", "allowed"],
    &["are", "allowed"],
    &["may"],
    &["can"],
];

/// Signs of a requirement.
const REQUIRES: [&[&str]; 9] = [
    &["must", "always"],
    &["should", "always"],
    &["is", "required"],
    &["are", "required"],
    &["must"],
    &["shall"],
    &["should"],
    &["always"],
    &["do"],
];

/// Words that may turn the sense or limit it. One that is left beside the sign of a statement makes
/// its sense unknown.
const TURNS: [&str; 16] = [
    "not", "no", "never", "none", "nothing", "without", "unless", "except", "neither", "nor",
    "only", "if", "until", "but", "or", "either",
];

/// Words that carry no meaning of their own, left out of what is compared.
const EMPTY: [&str; 12] = [
    "a", "an", "the", "be", "is", "are", "been", "being", "please", "to", "we", "you",
];

/// Takes a statement apart; `None` where its sense is not certain, or where fewer than two words
/// are left to say what it is about.
pub fn statement(text: &str) -> Option<Statement> {
    let lower = super::normalise::normalise_text(text);
    let spaced: String = lower
        .chars()
        .map(|c| match c {
            '\u{2019}' => '\'',
            '.' | ',' | ';' | ':' | '!' | '"' | '`' | '(' | ')' => ' ',
            c => c,
        })
        .collect();
    // A dot inside a name stays, as in `Cargo.lock`; then marks are cut from the ends of words only.
    let words: Vec<&str> = match lower.split_whitespace().any(inner_dot) {
        true => lower
            .split_whitespace()
            .map(|w| w.trim_matches(outer))
            .collect(),
        false => spaced.split_whitespace().collect(),
    };
    let words: Vec<&str> = words.into_iter().filter(|w| !w.is_empty()).collect();
    let (polarity, rest) = sense(&words)?;
    let turned = rest.iter().any(|w| TURNS.contains(w));
    let core: Vec<String> = rest
        .iter()
        .filter(|w| !EMPTY.contains(w))
        .map(|w| stem(w))
        .collect();
    (!turned && core.len() > 1).then(|| Statement {
        core: core.join(" "),
        polarity,
    })
}

fn outer(c: char) -> bool {
    !c.is_alphanumeric() && !matches!(c, '/' | '*' | '_' | '\'')
}

fn inner_dot(word: &str) -> bool {
    word.trim_matches('.').contains('.')
}

/// The sense and the words without its sign. `None` for two signs: "must never be forbidden" turns
/// twice, and this does not count along.
fn sense<'a>(words: &[&'a str]) -> Option<(Polarity, Vec<&'a str>)> {
    let tables: [(&[&[&str]], Polarity); 3] = [
        (&FORBIDS, Polarity::Forbidden),
        (&PERMITS, Polarity::Permitted),
        (&REQUIRES, Polarity::Required),
    ];
    let mut found: Option<(Polarity, usize, usize)> = None;
    let mut at = 0;
    while at < words.len() {
        let here = tables.iter().find_map(|(signs, polarity)| {
            let sign = signs.iter().find(|sign| words[at..].starts_with(sign))?;
            Some((*polarity, at, sign.len()))
        });
        match (here, found) {
            (Some(_), Some(_)) => return None,
            (Some(sign), None) => {
                found = Some(sign);
                at += sign.2;
            }
            (None, _) => at += 1,
        }
    }
    Some(match found {
        Some((polarity, at, len)) => {
            let rest = words[..at].iter().chain(&words[at + len..]);
            (polarity, rest.copied().collect())
        }
        // "Use tabs" asks for it.
        None => (Polarity::Required, words.to_vec()),
    })
}

/// A word without its inflection, roughly: the same for `log`, `logs`, `logged` and `logging`. It
/// need not be a word; it is only compared with other stems. Words with capitals, digits or signs
/// are names and stay as they are.
pub fn stem(word: &str) -> String {
    let plain = |w: &str| w.chars().all(|c| c.is_ascii_lowercase());
    // Short words (`is`, `bus`) lose more than an ending.
    if !plain(word) || word.len() < 4 {
        return word.to_owned();
    }
    let cut = ["ing", "ied", "ed", "ies", "es", "s"]
        .iter()
        .find_map(|end| {
            let rest = word.strip_suffix(end)?;
            let real = rest.len() >= 3 && rest.contains(|c| "aeiouy".contains(c));
            (real && !(*end == "s" && rest.ends_with('s'))).then_some((rest, *end))
        });
    let mut out = match cut {
        Some((rest, "ied" | "ies")) => format!("{rest}y"),
        Some((rest, _)) => rest.to_owned(),
        None => word.to_owned(),
    };
    let bytes = out.as_bytes();
    // `logg` of `logged` is `log`; `pass` and `call` are doubled by themselves.
    let doubled = bytes.len() > 3
        && bytes[bytes.len() - 1] == bytes[bytes.len() - 2]
        && cut.is_some_and(|(_, end)| matches!(end, "ing" | "ed"))
        && !matches!(bytes[bytes.len() - 1], b'l' | b's' | b'z');
    if doubled {
        out.pop();
    }
    // `change` and `chang` of `changing` meet without the e.
    if out.len() > 3 && out.ends_with('e') {
        out.pop();
    }
    out
}

/// The stems of the words that carry a text, each once and sorted: what near-duplicates share.
pub fn content_words(text: &str) -> Vec<String> {
    let lower = super::normalise::normalise_text(text);
    let mut words: Vec<String> = lower
        .split(|c: char| c.is_whitespace() || ",;:!\"`()".contains(c))
        .map(|w| w.trim_matches(outer))
        .filter(|w| !w.is_empty() && !EMPTY.contains(w))
        .map(stem)
        .collect();
    words.sort();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oppose(one: &str, two: &str) -> bool {
        match (statement(one), statement(two)) {
            (Some(a), Some(b)) => a.core == b.core && a.polarity.opposes(b.polarity),
            _ => false,
        }
    }

    #[test]
    fn opposites_are_known_by_their_modals() {
        for (one, two) in [
            ("Never log secrets", "Always log secrets"),
            ("Do not use tabs", "Use tabs"),
            ("don’t use tabs!", "You must use tabs."),
            ("Secrets must not be logged", "Secrets must be logged"),
            (
                "Agents may not edit `Cargo.lock`",
                "Agents may edit Cargo.lock",
            ),
            ("Never commit generated files", "Generated files"),
            ("Avoid global state", "Always global state"),
            (
                "New dependencies are forbidden",
                "New dependencies are allowed",
            ),
            (
                "Tests should never touch the network",
                "Tests should touch the network",
            ),
        ] {
            let expected = two != "Generated files";
            assert_eq!(oppose(one, two), expected, "{one} / {two}");
            assert_eq!(oppose(two, one), expected, "{two} / {one}");
        }
    }

    #[test]
    fn what_is_not_sure_is_no_finding() {
        for (one, two) in [
            ("Never log secrets", "Never log secrets"),
            ("Always log secrets", "Secrets may be logged"),
            ("Never log secrets", "Always log requests"),
            ("Do not use tabs only", "Use tabs only"),
            ("Never ship without tests", "Always ship without tests"),
            ("Do not never log", "Log always never"),
            ("No secrets in logs", "Secrets in logs"),
            ("Never push unless asked", "Always push unless asked"),
            ("Never deploy", "Deploy"),
            ("Use tabs or spaces", "Do not use tabs or spaces"),
            ("Changes stay minimal", "Do not change much"),
        ] {
            assert!(!oppose(one, two), "{one} / {two}");
        }
    }

    #[test]
    fn inflections_are_one_word() {
        for group in [
            vec!["log", "logs", "logged", "logging"],
            vec!["test", "tests", "tested", "testing"],
            vec!["dependency", "dependencies"],
            vec!["change", "changes", "changed", "changing"],
            vec!["pass", "passes", "passed", "passing"],
        ] {
            let stems: Vec<String> = group.iter().map(|w| stem(w)).collect();
            assert!(stems.iter().all(|s| *s == stems[0]), "{stems:?}");
        }
        assert_eq!(
            content_words("All tests must pass."),
            content_words("must pass: all test")
        );
        assert_ne!(
            content_words("All tests pass"),
            content_words("Some tests pass")
        );
    }
}
