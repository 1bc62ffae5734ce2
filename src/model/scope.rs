//! Where an invariant applies. Rank: plan 3 > action 2 > project 1 > global 0.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ActionName, ModelError, PlanId, ProjectName, words::words};

/// The four kinds of scope, in the order of their rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeKind {
    Global,
    Project,
    Action,
    Plan,
}

impl ScopeKind {
    /// All kinds, weakest first.
    pub const ALL: [ScopeKind; 4] = [Self::Global, Self::Project, Self::Action, Self::Plan];

    /// 0 for global up to 3 for plan.
    pub fn rank(self) -> u8 {
        self as u8
    }
}

words!(ScopeKind { Global = "global", Project = "project", Action = "action", Plan = "plan" } else UnknownScope);

/// A scope with the thing it names, so that a project scope without a project cannot be written.
///
/// In JSON it is two fields, `scope` (the kind) and `source` (the name; empty for global).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Repr", into = "Repr")]
pub enum Scope {
    Global,
    Project(ProjectName),
    Action(ActionName),
    Plan(PlanId),
}

#[derive(Serialize, Deserialize)]
struct Repr {
    scope: ScopeKind,
    #[serde(default)]
    source: String,
}

impl Scope {
    /// Builds a scope from its kind and the name of its source.
    ///
    /// # Errors
    /// A missing or malformed source.
    pub fn new(kind: ScopeKind, source: &str) -> Result<Self, ModelError> {
        let missing = source.trim().is_empty() && kind != ScopeKind::Global;
        if missing {
            return Err(ModelError::MissingSource {
                scope: kind.as_str(),
            });
        }
        Ok(match kind {
            ScopeKind::Global => Self::Global,
            ScopeKind::Project => Self::Project(ProjectName::new(source)?),
            ScopeKind::Action => Self::Action(ActionName::new(source)?),
            ScopeKind::Plan => Self::Plan(source.parse()?),
        })
    }

    /// The kind without the name.
    pub fn kind(&self) -> ScopeKind {
        match self {
            Self::Global => ScopeKind::Global,
            Self::Project(_) => ScopeKind::Project,
            Self::Action(_) => ScopeKind::Action,
            Self::Plan(_) => ScopeKind::Plan,
        }
    }

    /// The project, action or plan it names; empty for global.
    pub fn source(&self) -> String {
        match self {
            Self::Global => String::new(),
            Self::Project(name) => name.to_string(),
            Self::Action(name) => name.to_string(),
            Self::Plan(id) => id.to_string(),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            other => write!(f, "{} {}", other.kind(), other.source()),
        }
    }
}

impl TryFrom<Repr> for Scope {
    type Error = ModelError;

    fn try_from(repr: Repr) -> Result<Self, ModelError> {
        Self::new(repr.scope, &repr.source)
    }
}

impl From<Scope> for Repr {
    fn from(scope: Scope) -> Self {
        Self {
            scope: scope.kind(),
            source: scope.source(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_scope_and_source() {
        let scope = Scope::new(ScopeKind::Project, "local/my-app").unwrap();
        let json = serde_json::to_value(&scope).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"scope": "project", "source": "local/my-app"})
        );
        assert_eq!(serde_json::from_value::<Scope>(json).unwrap(), scope);
    }

    #[test]
    fn a_scope_without_its_source_is_refused() {
        let error = Scope::new(ScopeKind::Project, " ").unwrap_err().to_string();
        assert!(error.contains("--project NAME"), "{error}");
        assert!(
            "planet"
                .parse::<ScopeKind>()
                .unwrap_err()
                .to_string()
                .contains("planet")
        );
    }

    #[test]
    fn plan_outranks_all() {
        assert_eq!(ScopeKind::ALL.map(ScopeKind::rank), [0, 1, 2, 3]);
    }
}
