//! What went wrong, in parts, so that nobody has to take a sentence to pieces again.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What failed and where, what caused it, and what to do next.
///
/// For people it is one sentence: `message: source; hint; hint`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// What failed, and where.
    pub message: String,
    /// What somebody else, such as the system, says of the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Box<str>>,
    /// What to do next, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

impl Problem {
    /// A problem of which no more is known than what failed.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Says what caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl fmt::Display) -> Self {
        self.source = Some(source.to_string().into());
        self
    }

    /// Says where it happened, in front of all else.
    #[must_use]
    pub fn within(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// Adds a remark in brackets, behind all else.
    #[must_use]
    pub fn remark(mut self, remark: impl fmt::Display) -> Self {
        let remark = format!(" ({remark})");
        match (self.hints.last_mut(), &mut self.source) {
            (Some(hint), _) => hint.push_str(&remark),
            (None, Some(source)) => *source = format!("{source}{remark}").into(),
            (None, None) => self.message.push_str(&remark),
        }
        self
    }

    /// What failed and why, without what to do next.
    pub fn what(&self) -> String {
        match &self.source {
            Some(source) => format!("{}: {source}", self.message),
            None => self.message.clone(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(source) = &self.source {
            write!(f, ": {source}")?;
        }
        self.hints.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for Problem {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

/// Makes an error of a type that has a `problem(&self) -> Problem`.
#[macro_export]
macro_rules! error_by_problem {
    ($error:ty) => {
        impl std::fmt::Display for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.problem(), f)
            }
        }

        impl std::error::Error for $error {}

        impl From<&$error> for $crate::Problem {
            fn from(error: &$error) -> Self {
                error.problem()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_parts_make_one_sentence() {
        let bare = Problem::new("a; b");
        assert_eq!(bare.to_string(), "a; b");
        let all = bare.caused_by("no; space").hint("c").hint("d; e");
        assert_eq!(all.to_string(), "a; b: no; space; c; d; e");
        assert_eq!(all.what(), "a; b: no; space");
        assert_eq!(all.hints, ["c", "d; e"]);
        let placed = all.within("line 3").remark("process 7");
        assert_eq!(
            placed.to_string(),
            "line 3: a; b: no; space; c; d; e (process 7)"
        );
        let json = serde_json::to_string(&placed).unwrap();
        assert_eq!(serde_json::from_str::<Problem>(&json).unwrap(), placed);
        assert_eq!(Problem::new("x").remark("y").to_string(), "x (y)");
    }
}
