//! Identifiers. All are ULIDs, so that the order of ids is the order of age.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use ulid::Ulid;

use super::ModelError;

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Ulid);

        impl $name {
            /// The sixteen bytes that key this id in the store.
            pub fn to_bytes(self) -> [u8; 16] {
                self.0.to_bytes()
            }

            /// The head and tail of the id, for narrow places.
            pub fn short(self) -> String {
                let text = self.0.to_string();
                format!("{}…{}", &text[..5], &text[23..])
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl FromStr for $name {
            type Err = ModelError;

            fn from_str(value: &str) -> Result<Self, ModelError> {
                Ulid::from_string(value)
                    .map(Self)
                    .map_err(|_| ModelError::BadId { value: value.to_owned() })
            }
        }
    };
}

id_type!(
    /// Names one invariant through all its revisions.
    InvariantId
);
id_type!(
    /// Names one plan.
    PlanId
);
id_type!(
    /// Names one violation, open or resolved.
    ViolationId
);
id_type!(
    /// Names one node of a plan's decision tree.
    DecisionId
);
id_type!(
    /// Names one question for a person's assent.
    AssentId
);
id_type!(
    /// Names one check of a judge.
    CheckId
);
