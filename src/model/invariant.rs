//! The invariant and its layers.

use std::{fmt, num::NonZeroU32, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{ActionName, InvariantId, ModelError, Scope, words::words};

/// How much a breach weighs. Only `error` blocks.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Warning,
    #[default]
    Error,
}

impl Severity {
    /// All severities, heaviest first, as the editor cycles through them.
    pub const ALL: [Severity; 3] = [Self::Error, Self::Warning, Self::Info];
}

words!(Severity { Error = "error", Warning = "warning", Info = "info" } else UnknownSeverity);

/// What a breach leads to (`on_invariant_breach`). The default is `inform` with three strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Remedy {
    /// Deny with a reason for the model; the third strike of the same action halts the run.
    Inform,
    /// Deny and halt at the first strike.
    Halt,
    /// Warn the model, and let the attempt through.
    Warn,
}

impl Remedy {
    /// The strike that halts the run; `None` when none does.
    pub fn limit(self) -> Option<u32> {
        match self {
            Self::Inform => Some(3),
            Self::Halt => Some(1),
            Self::Warn => None,
        }
    }
}

words!(Remedy { Inform = "inform", Halt = "halt", Warn = "warn" } else UnknownRemedy);

/// The machine check of a letter invariant. It takes one of two forms, never both: two conditions
/// are two invariants, each with its own text, strikes and history.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LetterCheck {
    /// Only files that one of the patterns matches may be changed.
    NoEditsOutside(Vec<String>),
    /// The file or files that the pattern matches may not be changed.
    Untouched(String),
}

impl LetterCheck {
    /// The patterns of either form, as written.
    pub fn patterns(&self) -> &[String] {
        match self {
            Self::NoEditsOutside(patterns) => patterns,
            Self::Untouched(pattern) => std::slice::from_ref(pattern),
        }
    }

    /// The sentence that stands for the check where no text was given.
    pub fn sentence(&self) -> String {
        match self {
            Self::NoEditsOutside(patterns) => format!("no edits outside {}", patterns.join(", ")),
            Self::Untouched(pattern) => format!("{pattern} is untouched"),
        }
    }
}

/// When a judge looks at a judgment invariant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checkpoint {
    EachEdit,
    #[default]
    AtSatisfaction,
    EachNIterations(NonZeroU32),
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EachEdit => f.write_str("each_edit"),
            Self::AtSatisfaction => f.write_str("at_satisfaction"),
            Self::EachNIterations(n) => write!(f, "each_n_iterations={n}"),
        }
    }
}

impl FromStr for Checkpoint {
    type Err = ModelError;

    fn from_str(value: &str) -> Result<Self, ModelError> {
        let unknown = || ModelError::UnknownCheckpoint {
            value: value.to_owned(),
        };
        match value {
            "each_edit" => Ok(Self::EachEdit),
            "at_satisfaction" => Ok(Self::AtSatisfaction),
            other => {
                let number = other
                    .strip_prefix("each_n_iterations")
                    .and_then(|rest| rest.strip_prefix(['=', ':']))
                    .ok_or_else(unknown)?;
                let n: u32 = number.trim().parse().map_err(|_| unknown())?;
                NonZeroU32::new(n)
                    .map(Self::EachNIterations)
                    .ok_or(ModelError::ZeroIterations)
            }
        }
    }
}

/// The kind of layer alone.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum LayerKind {
    #[default]
    Plain,
    Letter,
    Judgment,
    Assent,
}

impl LayerKind {
    /// All layers, in the order the editor cycles through them.
    pub const ALL: [LayerKind; 4] = [Self::Plain, Self::Letter, Self::Judgment, Self::Assent];
}

words!(LayerKind { Plain = "plain", Letter = "letter", Judgment = "judgment", Assent = "assent" } else UnknownLayer);

/// How an invariant is checked. In JSON: a `layer` field beside the fields of that layer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "LayerRepr", into = "LayerRepr")]
pub enum Layer {
    /// A sentence: shown to the agent, merged, recorded, and checked by nobody before an attempt.
    #[default]
    Plain,
    /// A machine check before each attempt.
    Letter(LetterCheck),
    /// A clause that a judge model reads at a checkpoint.
    Judgment { checkpoint: Checkpoint },
    /// A clause that a person approves: each attempt on a path that matches `when`, or once at
    /// the apply gate when `when` is empty.
    Assent { when: Vec<String> },
}

#[derive(Default, Serialize, Deserialize)]
struct LayerRepr {
    #[serde(default)]
    layer: LayerKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    no_edits_outside: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    untouched: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checkpoint: Option<Checkpoint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<Vec<String>>,
}

impl Layer {
    /// The kind alone.
    pub fn kind(&self) -> LayerKind {
        match self {
            Self::Plain => LayerKind::Plain,
            Self::Letter(_) => LayerKind::Letter,
            Self::Judgment { .. } => LayerKind::Judgment,
            Self::Assent { .. } => LayerKind::Assent,
        }
    }

    /// The layer that these JSON fields describe; a field that is null counts as absent.
    ///
    /// # Errors
    /// Fields that do not go together, or a value that is not understood.
    pub fn from_fields(fields: serde_json::Value) -> Result<Self, ModelError> {
        let repr: LayerRepr =
            serde_json::from_value(fields).map_err(|e| ModelError::BadFields {
                fault: e.to_string(),
            })?;
        Self::try_from(repr)
    }

    /// The machine check, when the layer is `letter`.
    pub fn letter(&self) -> Option<&LetterCheck> {
        match self {
            Self::Letter(check) => Some(check),
            _ => None,
        }
    }
}

impl TryFrom<LayerRepr> for Layer {
    type Error = ModelError;

    fn try_from(repr: LayerRepr) -> Result<Self, ModelError> {
        let foreign = |field, wants| ModelError::ForeignField {
            field,
            wants,
            has: repr.layer.as_str(),
        };
        let is = |kind| repr.layer == kind;
        if repr.no_edits_outside.is_some() && !is(LayerKind::Letter) {
            return Err(foreign("no_edits_outside", "letter"));
        }
        if repr.untouched.is_some() && !is(LayerKind::Letter) {
            return Err(foreign("untouched", "letter"));
        }
        if repr.checkpoint.is_some() && !is(LayerKind::Judgment) {
            return Err(foreign("checkpoint", "judgment"));
        }
        if repr.when.is_some() && !is(LayerKind::Assent) {
            return Err(foreign("when", "assent"));
        }
        Ok(match repr.layer {
            LayerKind::Plain => Self::Plain,
            LayerKind::Letter => match (repr.no_edits_outside, repr.untouched) {
                (Some(_), Some(_)) => return Err(ModelError::TwoLetterForms),
                (None, None) => return Err(ModelError::NoLetterForm),
                (Some(patterns), None) if patterns.is_empty() => {
                    return Err(ModelError::NoPatterns);
                }
                (Some(patterns), None) => Self::Letter(LetterCheck::NoEditsOutside(patterns)),
                (None, Some(pattern)) => Self::Letter(LetterCheck::Untouched(pattern)),
            },
            LayerKind::Judgment => Self::Judgment {
                checkpoint: repr.checkpoint.unwrap_or_default(),
            },
            LayerKind::Assent => Self::Assent {
                when: repr.when.unwrap_or_default(),
            },
        })
    }
}

impl From<Layer> for LayerRepr {
    fn from(layer: Layer) -> Self {
        let mut repr = Self {
            layer: layer.kind(),
            ..Self::default()
        };
        match layer {
            Layer::Plain => {}
            Layer::Letter(LetterCheck::NoEditsOutside(p)) => repr.no_edits_outside = Some(p),
            Layer::Letter(LetterCheck::Untouched(p)) => repr.untouched = Some(p),
            Layer::Judgment { checkpoint } => repr.checkpoint = Some(checkpoint),
            Layer::Assent { when } => repr.when = (!when.is_empty()).then_some(when),
        }
        repr
    }
}

/// Where an invariant came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Origin {
    /// A person added it.
    #[default]
    User,
    /// It stands in a project file under version control.
    File,
    /// invar guards itself with it; it cannot be removed.
    BuiltIn,
    /// `plan use` copied it from the action template.
    PromotedFrom(ActionName),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("user"),
            Self::File => f.write_str("file"),
            Self::BuiltIn => f.write_str("built-in"),
            Self::PromotedFrom(action) => write!(f, "promoted from action {action}"),
        }
    }
}

impl TryFrom<String> for Origin {
    type Error = ModelError;

    fn try_from(value: String) -> Result<Self, ModelError> {
        Ok(match value.as_str() {
            "file" => Self::File,
            "built-in" => Self::BuiltIn,
            other => match other.strip_prefix("promoted from action ") {
                Some(action) => Self::PromotedFrom(ActionName::new(action)?),
                None => Self::User,
            },
        })
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> Self {
        origin.to_string()
    }
}

/// A condition that must stay true during the whole run of a plan. An edit keeps the id, and every
/// revision stays in the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invariant {
    pub id: InvariantId,
    pub text: String,
    #[serde(flatten)]
    pub scope: Scope,
    #[serde(flatten)]
    pub layer: Layer,
    #[serde(default)]
    pub severity: Severity,
    #[serde(default)]
    /// No scope displaces it. It has this effect only on a global invariant; elsewhere it is
    /// stored and has none.
    pub non_overridable: bool,
    /// False after removal, which is soft.
    pub active: bool,
    pub created_at: Timestamp,
    /// 1 for a new invariant, one more with each edit, removal and restoration.
    pub revision: u32,
    #[serde(default)]
    pub origin: Origin,
    /// Overrides the configured remedy for this invariant alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_invariant_breach: Option<Remedy>,
}

impl Invariant {
    /// A new active invariant of a person, with the defaults for everything else.
    pub fn new(id: InvariantId, scope: Scope, layer: Layer, text: &str, now: Timestamp) -> Self {
        Self {
            id,
            text: text.to_owned(),
            scope,
            layer,
            severity: Severity::default(),
            non_overridable: false,
            active: true,
            created_at: now,
            revision: 1,
            origin: Origin::User,
            on_invariant_breach: None,
        }
    }

    /// Whether no other scope can displace it: a global invariant that is non-overridable.
    pub fn is_locked(&self) -> bool {
        self.non_overridable && self.scope == Scope::Global
    }
}

/// An invariant as someone asks for it, before it has an id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewInvariant {
    /// May be left out for a letter invariant; the check then writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(flatten)]
    pub scope: Scope,
    #[serde(flatten)]
    pub layer: Layer,
    #[serde(default)]
    pub severity: Severity,
    #[serde(default)]
    pub non_overridable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_invariant_breach: Option<Remedy>,
}

impl NewInvariant {
    /// A plain invariant with the defaults: severity `error`, overridable, the configured remedy.
    pub fn plain(scope: Scope, text: &str) -> Self {
        Self::with_layer(scope, Some(text), Layer::Plain)
    }

    /// A letter invariant whose text is written from its check.
    pub fn letter(scope: Scope, check: LetterCheck) -> Self {
        Self::with_layer(scope, None, Layer::Letter(check))
    }

    fn with_layer(scope: Scope, text: Option<&str>, layer: Layer) -> Self {
        Self {
            text: text.map(str::to_owned),
            scope,
            layer,
            severity: Severity::default(),
            non_overridable: false,
            on_invariant_breach: None,
        }
    }
}

/// What an edit changes; a field that is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvariantPatch {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub non_overridable: Option<bool>,
    /// The revision the editor started from; a newer one refuses the edit instead of losing it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_revision: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn layer(value: serde_json::Value) -> Result<Layer, String> {
        serde_json::from_value(value).map_err(|e| e.to_string())
    }

    #[test]
    fn every_layer_reads_and_writes_back_the_same() {
        for value in [
            json!({"layer": "letter", "no_edits_outside": ["src/**", "docs/*.md"]}),
            json!({"layer": "letter", "untouched": "tests/test_sync.py"}),
            json!({"layer": "judgment", "checkpoint": "each_edit"}),
            json!({"layer": "judgment", "checkpoint": {"each_n_iterations": 5}}),
            json!({"layer": "assent", "when": ["db/**"]}),
            json!({"layer": "plain"}),
        ] {
            let read = layer(value.clone()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), value);
        }
        assert_eq!(
            layer(json!({"layer": "judgment"})).unwrap(),
            Layer::Judgment {
                checkpoint: Checkpoint::AtSatisfaction
            }
        );
    }

    #[test]
    fn a_wrong_form_says_what_to_do() {
        for (value, part) in [
            (
                json!({"layer": "letter", "untouched": "a", "no_edits_outside": ["b"]}),
                "write two invariants",
            ),
            (json!({"layer": "letter"}), "needs a check"),
            (
                json!({"layer": "letter", "no_edits_outside": []}),
                "at least one pattern",
            ),
            (
                json!({"layer": "plain", "untouched": "a"}),
                "belongs to the letter layer",
            ),
            (
                json!({"layer": "assent", "checkpoint": "each_edit"}),
                "belongs to the judgment layer",
            ),
        ] {
            let error = layer(value).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn checkpoints_of_the_command_line() {
        assert_eq!("each_edit".parse(), Ok(Checkpoint::EachEdit));
        let five = "each_n_iterations=5".parse::<Checkpoint>().unwrap();
        assert_eq!(five.to_string(), "each_n_iterations=5");
        assert_eq!(
            "each_n_iterations=0".parse::<Checkpoint>(),
            Err(ModelError::ZeroIterations)
        );
        assert!("sometimes".parse::<Checkpoint>().is_err());
    }

    #[test]
    fn an_invariant_keeps_its_shape_through_json() {
        let invariant = Invariant {
            id: "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap(),
            text: "no edits outside src/**".into(),
            scope: Scope::Project("local/my-app".parse().unwrap()),
            layer: Layer::Letter(LetterCheck::NoEditsOutside(vec!["src/**".into()])),
            severity: Severity::Error,
            non_overridable: false,
            active: true,
            created_at: Timestamp::UNIX_EPOCH,
            revision: 1,
            origin: Origin::PromotedFrom("local/x".parse().unwrap()),
            on_invariant_breach: None,
        };
        let json = serde_json::to_value(&invariant).unwrap();
        assert_eq!(json["scope"], "project");
        assert_eq!(json["source"], "local/my-app");
        assert_eq!(json["origin"], "promoted from action local/x");
        assert_eq!(json["no_edits_outside"], json!(["src/**"]));
        assert_eq!(
            serde_json::from_value::<Invariant>(json).unwrap(),
            invariant
        );
    }
}
