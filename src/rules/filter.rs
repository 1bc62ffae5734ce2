//! Filters of lists: a regular expression, or letters in order (fuzzy); `!` in front inverts.

use fuzzy_matcher::{FuzzyMatcher, skim::SkimMatcherV2};
use regex::{Regex, RegexBuilder};

/// How the text of a filter is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FilterMode {
    #[default]
    Regex,
    Fuzzy,
}

/// A compiled filter.
pub struct Filter {
    inverse: bool,
    matcher: Matcher,
}

enum Matcher {
    All,
    Regex(Box<Regex>),
    Fuzzy(Box<SkimMatcherV2>, String),
}

/// Why a filter does not compile, with the place where it is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the filter {pattern:?} is no regular expression: {fault}")]
pub struct FilterError {
    pub pattern: String,
    pub fault: String,
}

impl Filter {
    /// Compiles `text`. A regular expression ignores case unless it has an upper-case letter.
    ///
    /// # Errors
    /// An expression that does not compile, with the fault and its column.
    pub fn new(text: &str, mode: FilterMode) -> Result<Self, FilterError> {
        let (inverse, pattern) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let matcher = match mode {
            _ if pattern.is_empty() => Matcher::All,
            FilterMode::Fuzzy => Matcher::Fuzzy(
                Box::new(SkimMatcherV2::default().smart_case()),
                pattern.to_owned(),
            ),
            FilterMode::Regex => RegexBuilder::new(pattern)
                .case_insensitive(!pattern.chars().any(char::is_uppercase))
                .size_limit(1 << 20)
                .build()
                .map(|regex| Matcher::Regex(Box::new(regex)))
                .map_err(|error| FilterError {
                    pattern: pattern.to_owned(),
                    fault: fault(pattern, &error),
                })?,
        };
        Ok(Self {
            inverse: inverse && !pattern.is_empty(),
            matcher,
        })
    }

    /// Whether `line` stays in the list.
    pub fn matches(&self, line: &str) -> bool {
        let hit = match &self.matcher {
            Matcher::All => true,
            Matcher::Regex(regex) => regex.is_match(line),
            Matcher::Fuzzy(matcher, pattern) => matcher.fuzzy_match(line, pattern).is_some(),
        };
        hit != self.inverse
    }
}

/// How well `pattern` is found in `text` letter by letter; `None` when it is not.
pub fn score(text: &str, pattern: &str) -> Option<i64> {
    SkimMatcherV2::default()
        .smart_case()
        .fuzzy_match(text, pattern)
}

/// One line of the regex crate's report, with the column that its caret points at.
fn fault(pattern: &str, error: &regex::Error) -> String {
    let report = error.to_string();
    let column = report
        .lines()
        .find(|line| line.trim_start().starts_with('^'))
        .map(|line| {
            line.chars()
                .take_while(|c| *c != '^')
                .count()
                .saturating_sub(3)
        });
    let reason = report
        .lines()
        .last()
        .map(|line| line.trim_start_matches("error: ").to_owned())
        .unwrap_or_default();
    match column {
        Some(column) if pattern.lines().count() == 1 => format!("column {column}: {reason}"),
        _ => reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(text: &str, mode: FilterMode, line: &str) -> bool {
        Filter::new(text, mode).unwrap().matches(line)
    }

    #[test]
    fn regex_is_the_default_with_smart_case_and_inverse() {
        assert!(matches(
            "data.*safe",
            FilterMode::Regex,
            "Data must stay SAFE"
        ));
        assert!(!matches("Data.*safe", FilterMode::Regex, "data is safe"));
        assert!(!matches("!data", FilterMode::Regex, "data"));
        assert!(matches("!data", FilterMode::Regex, "other"));
        assert!(matches("", FilterMode::Regex, "x") && matches("!", FilterMode::Regex, "x"));
    }

    #[test]
    fn fuzzy_takes_letters_in_order() {
        assert!(matches(
            "tsync",
            FilterMode::Fuzzy,
            "tests/test_sync.py is untouched"
        ));
        assert!(!matches("zzz", FilterMode::Fuzzy, "tests/test_sync.py"));
    }

    #[test]
    fn a_wrong_expression_says_where() {
        let error = Filter::new("ab(c", FilterMode::Regex).err().unwrap();
        assert!(
            error.fault.starts_with("column 3: unclosed group"),
            "{error}"
        );
        assert!(Filter::new("a{1000000}{10000}", FilterMode::Regex).is_err());
    }
}
