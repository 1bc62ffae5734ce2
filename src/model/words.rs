//! Closed sets of words: one word for one thing, in code, screen, command line and JSON.

/// Gives an enum its words: `as_str`, `Display`, and for those that people type, `FromStr` with
/// the error that lists them.
macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        impl $type {
            /// The word of the command line, the screen and the JSON.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
    ($type:ident { $($variant:ident = $word:literal),* $(,)? } else $error:ident) => {
        $crate::words::words!($type { $($variant = $word),* });

        impl std::str::FromStr for $type {
            type Err = $crate::ModelError;

            fn from_str(value: &str) -> Result<Self, Self::Err> {
                [$(Self::$variant),*]
                    .into_iter()
                    .find(|known| known.as_str().eq_ignore_ascii_case(value))
                    .ok_or_else(|| $crate::ModelError::$error { value: value.to_owned() })
            }
        }
    };
}

pub(crate) use words;
