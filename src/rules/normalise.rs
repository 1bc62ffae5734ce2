//! The key under which invariants count as the same. For a letter invariant that is its check;
//! its text does not matter. For the others it is the text apart from case, white space and
//! compatibility forms.

use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

use crate::model::{Invariant, Layer, LetterCheck};

/// What makes two invariants duplicates of each other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// Normalised text, for invariants without a machine check.
    Text(String),
    /// Sorted, deduplicated patterns of `no_edits_outside`.
    NoEditsOutside(Vec<String>),
    /// The pattern of `untouched`.
    Untouched(String),
}

/// An invariant with its key, computed once when it is loaded or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedInvariant {
    pub invariant: Invariant,
    pub key: Key,
}

impl KeyedInvariant {
    /// Takes the invariant and computes its key.
    pub fn new(invariant: Invariant) -> Arc<Self> {
        let key = key(&invariant);
        Arc::new(Self { invariant, key })
    }
}

/// NFKC, full case folding, white space collapsed and trimmed.
pub fn normalise_text(text: &str) -> String {
    let folded = if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        // Folding can leave a text that NFKC composes again, and the other way round.
        let once: String = text.nfkc().collect();
        caseless::default_case_fold_str(&once).nfkc().collect()
    };
    let mut out = String::with_capacity(folded.len());
    for word in folded.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// The key of an invariant: its canonical check, or its normalised text.
pub fn key(invariant: &Invariant) -> Key {
    match &invariant.layer {
        Layer::Letter(LetterCheck::NoEditsOutside(patterns)) => {
            let mut patterns: Vec<String> = patterns.iter().map(|p| canonical(p)).collect();
            patterns.sort();
            patterns.dedup();
            Key::NoEditsOutside(patterns)
        }
        Layer::Letter(LetterCheck::Untouched(pattern)) => Key::Untouched(canonical(pattern)),
        _ => Key::Text(normalise_text(&invariant.text)),
    }
}

/// `./src/` and `src/**` say the same.
fn canonical(pattern: &str) -> String {
    let pattern = pattern.trim();
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    match pattern.strip_suffix('/') {
        Some(folder) if !folder.is_empty() => format!("{folder}/**"),
        _ => pattern.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_space_and_compatibility_forms_do_not_matter() {
        for (a, b) in [
            ("Log all changes", "  log   ALL\tchanges "),
            ("Straße", "STRASSE"),
            ("ﬁle", "File"),
            ("Ｌｏｇ", "log"),
            ("İstanbul", "i̇stanbul"),
        ] {
            assert_eq!(normalise_text(a), normalise_text(b), "{a} / {b}");
        }
        assert_ne!(
            normalise_text("log all changes"),
            normalise_text("log all change")
        );
    }

    #[test]
    fn normalising_twice_changes_nothing() {
        for text in ["ẞ", "ǰ", "Ω", "ŉ", "\u{1e9e}x", "Σίσυφος", "ﬃ"] {
            let once = normalise_text(text);
            assert_eq!(normalise_text(&once), once, "{text}");
        }
    }

    #[test]
    fn spelling_of_a_pattern_list_does_not_matter() {
        assert_eq!(canonical("./src/"), "src/**");
        assert_eq!(canonical("src/**"), "src/**");
        assert_eq!(canonical("/"), "/");
    }
}
