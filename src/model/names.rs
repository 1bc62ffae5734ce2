//! Names of projects and actions: short visible strings.

use std::{borrow::Borrow, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{ModelError, text::hidden_char_name};

const MAX_NAME: usize = 200;

fn check(name: &str, empty: ModelError) -> Result<String, ModelError> {
    let trimmed = name.trim();
    if trimmed.is_empty() {
        return Err(empty);
    }
    let what = if trimmed.chars().count() > MAX_NAME {
        format!("more than {MAX_NAME} characters")
    } else if let Some(c) = trimmed.chars().find(|c| c.is_control()) {
        format!("the control character U+{:04X}", c as u32)
    } else if let Some(hidden) = trimmed.chars().find_map(hidden_char_name) {
        format!("a hidden character ({hidden})")
    } else {
        return Ok(trimmed.to_owned());
    };
    Err(ModelError::BadName {
        name: trimmed.chars().take(40).collect(),
        what,
        max: MAX_NAME,
    })
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $empty:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Trims `name` and takes it when it is visible and not too long.
            ///
            /// # Errors
            /// An empty, overlong or invisible name is refused with the reason.
            pub fn new(name: &str) -> Result<Self, ModelError> {
                check(name, ModelError::$empty).map(Self)
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = ModelError;

            fn from_str(value: &str) -> Result<Self, ModelError> {
                Self::new(value)
            }
        }

        impl TryFrom<String> for $name {
            type Error = ModelError;

            fn try_from(value: String) -> Result<Self, ModelError> {
                Self::new(&value)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name_type!(
    /// The name of a project, such as `local/my-app`.
    ProjectName,
    EmptyProjectName
);
name_type!(
    /// The name of an action template, such as `local/code-coverage`.
    ActionName,
    EmptyActionName
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_trimmed_and_kept() {
        assert_eq!(
            ProjectName::new(" local/my-app ").unwrap().as_str(),
            "local/my-app"
        );
    }

    #[test]
    fn invisible_names_are_refused_with_the_reason() {
        for (name, part) in [
            ("", "must not be empty"),
            ("  ", "must not be empty"),
            ("a\u{1b}[2Jb", "control character U+001B"),
            ("a\u{202e}b", "U+202E"),
        ] {
            let error = ProjectName::new(name).unwrap_err().to_string();
            assert!(error.contains(part), "{name:?}: {error}");
        }
        assert!(
            ActionName::new(&"x".repeat(201))
                .unwrap_err()
                .to_string()
                .contains("200")
        );
    }
}
