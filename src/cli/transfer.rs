//! Invariants as files: what `export` writes and `import` reads. TOML and JSON carry them whole;
//! YAML is writ's `invariants:` list, as people write it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{
    engine::{config::toml_fault, requests::ImportItem},
    model::{
        Checkpoint, Invariant, Layer, LayerKind, LetterCheck, ModelError, NewInvariant, Scope,
        Severity,
    },
};

/// The version of the file's form.
const VERSION: u32 = 1;

/// A file of invariants in full.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    version: u32,
    #[serde(default)]
    invariants: Vec<Invariant>,
}

/// Forms of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum FileFormat {
    Toml,
    Json,
    Yaml,
}

impl FileFormat {
    /// By the ending of a file's name.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "toml" => Some(Self::Toml),
            "json" => Some(Self::Json),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

/// writ's form of an invariant; a field that is not among these is an error.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    layer: LayerKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    no_edits_outside: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    untouched: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clause: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checkpoint: Option<Checkpoint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    severity: Option<Severity>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    /// A list that is there and empty is a list.
    invariants: Option<Vec<Written>>,
}

/// The text of an export. YAML holds what writ's form can say; the second part counts what it
/// cannot.
///
/// # Errors
/// A value that cannot be written.
pub fn export(invariants: Vec<Invariant>, format: FileFormat) -> Result<(String, usize), String> {
    match format {
        FileFormat::Toml => {
            let text = toml::to_string_pretty(&Whole {
                version: VERSION,
                invariants,
            });
            text.map(|t| (t, 0)).map_err(|e| e.to_string())
        }
        FileFormat::Json => {
            let text = serde_json::to_string_pretty(&Whole {
                version: VERSION,
                invariants,
            });
            text.map(|t| (t + "\n", 0)).map_err(|e| e.to_string())
        }
        FileFormat::Yaml => {
            let mut text = "invariants:\n".to_owned();
            let mut left_out = 0;
            for invariant in invariants.iter().filter(|i| i.active) {
                let Some(written) = Written::of(invariant) else {
                    left_out += 1;
                    continue;
                };
                // JSON is YAML; a flow mapping is how the form is written by hand.
                let line = serde_json::to_string(&written).map_err(|e| e.to_string())?;
                text.push_str(&format!("  - {line}\n"));
            }
            if text == "invariants:\n" {
                text = "invariants: []\n".to_owned();
            }
            Ok((text, left_out))
        }
    }
}

/// Reads a file. YAML and unknown forms get `scope`; the others carry their own.
///
/// # Errors
/// The first fault with its line and column; nothing is then read.
pub fn import(text: &str, format: FileFormat, scope: &Scope) -> Result<Vec<ImportItem>, String> {
    let whole = |whole: Whole| match whole.version {
        VERSION => Ok(whole
            .invariants
            .into_iter()
            .map(ImportItem::Whole)
            .collect()),
        other => Err(format!(
            "line 1: the file has version {other} and this invar reads {VERSION}; install the invar that wrote it"
        )),
    };
    match format {
        FileFormat::Toml => match toml::from_str(text) {
            Ok(file) => whole(file),
            Err(error) => Err(toml_fault(text, &error)),
        },
        FileFormat::Json => match serde_json::from_str(text) {
            Ok(file) => whole(file),
            Err(error) => Err(format!(
                "line {}, column {}: {error}",
                error.line(),
                error.column()
            )),
        },
        FileFormat::Yaml => {
            let file: WrittenFile = serde_saphyr::from_str(text).map_err(|error| {
                let place = error.location().map_or_else(String::new, |at| {
                    format!("line {}, column {}: ", at.line(), at.column())
                });
                let report = error.to_string();
                let first = report.lines().next().unwrap_or_default();
                // The place stands in front already.
                let message = match first.strip_prefix("error: line ") {
                    Some(rest) => rest.split_once(": ").map_or(rest, |(_, message)| message),
                    None => first,
                };
                format!("{place}{message}")
            })?;
            file.invariants
                .unwrap_or_default()
                .into_iter()
                .enumerate()
                .map(|(number, written)| {
                    let new = written.into_new(scope.clone());
                    new.map(ImportItem::New)
                        .map_err(|e| format!("invariant {}: {e}", number + 1))
                })
                .collect()
        }
    }
}

impl Written {
    /// `None` for what the form cannot say: a plain sentence.
    fn of(invariant: &Invariant) -> Option<Self> {
        let clause = Some(invariant.text.clone());
        let severity = (invariant.severity != Severity::Error).then_some(invariant.severity);
        let base = Self {
            layer: invariant.layer.kind(),
            severity,
            ..Self::default()
        };
        Some(match &invariant.layer {
            Layer::Plain => return None,
            Layer::Letter(LetterCheck::NoEditsOutside(patterns)) => Self {
                no_edits_outside: Some(patterns.clone()),
                ..base
            },
            Layer::Letter(LetterCheck::Untouched(pattern)) => Self {
                untouched: Some(pattern.clone()),
                ..base
            },
            Layer::Judgment { checkpoint } => Self {
                clause,
                checkpoint: Some(*checkpoint),
                ..base
            },
            Layer::Assent { when } => {
                let when = (!when.is_empty()).then(|| when.clone());
                Self {
                    clause,
                    when,
                    ..base
                }
            }
        })
    }

    fn into_new(self, scope: Scope) -> Result<NewInvariant, ModelError> {
        // One reading of the layers' fields for all files: through their JSON form.
        let fields = serde_json::json!({
            "layer": self.layer, "no_edits_outside": self.no_edits_outside,
            "untouched": self.untouched, "checkpoint": self.checkpoint, "when": self.when,
        });
        let layer: Layer = Layer::from_fields(fields)?;
        Ok(NewInvariant {
            text: self.clause,
            scope,
            layer,
            severity: self.severity.unwrap_or_default(),
            non_overridable: false,
            on_invariant_breach: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: &str = r#"
invariants:
  - { layer: letter, no_edits_outside: ["src/**", "docs/*.md"] }
  - { layer: letter, untouched: "tests/test_sync.py" }
  - { layer: judgment, clause: "Changes stay minimal.", checkpoint: each_edit }
  - { layer: judgment, clause: "Names stay plain." }
  - { layer: judgment, clause: "Tests stay quick.", checkpoint: { each_n_iterations: 5 } }
  - { layer: judgment, clause: "Done means done.", checkpoint: at_satisfaction }
  - { layer: assent, clause: "A person approves each change to the schema." }
"#;

    fn read(text: &str) -> Result<Vec<NewInvariant>, String> {
        let items = import(text, FileFormat::Yaml, &Scope::Global)?;
        Ok(items
            .into_iter()
            .map(|item| match item {
                ImportItem::New(new) => new,
                ImportItem::Whole(_) => panic!("YAML has no ids"),
            })
            .collect())
    }

    #[test]
    fn every_form_of_the_writ_seed_is_read() {
        let all = read(SEED).unwrap();
        assert_eq!(all.len(), 7);
        let checkpoints: Vec<_> = all
            .iter()
            .filter_map(|n| match &n.layer {
                Layer::Judgment { checkpoint } => Some(checkpoint.to_string()),
                _ => None,
            })
            .collect();
        let expected = [
            "each_edit",
            "at_satisfaction",
            "each_n_iterations=5",
            "at_satisfaction",
        ];
        assert_eq!(checkpoints, expected);
        assert_eq!(
            all[6].text.as_deref(),
            Some("A person approves each change to the schema.")
        );
    }

    #[test]
    fn what_is_unknown_is_told_with_its_place() {
        for (text, parts) in [
            (
                "invariants:\n  - { layer: letter, untuched: a }\n",
                vec!["line 2", "untuched"],
            ),
            (
                "invariants:\n  - { layer: ledger, untouched: a }\n",
                vec!["line 2", "ledger"],
            ),
            (
                "invariants:\n  - { layer: letter, untouched: a, no_edits_outside: [b] }\n",
                vec!["invariant 1", "two invariants"],
            ),
            (
                "invariants:\n  - { layer: judgment, clause: a, checkpoint: sometimes }\n",
                vec!["line 2", "sometimes"],
            ),
            ("rules:\n  - x\n", vec!["line 1", "rules"]),
            ("invariants: [", vec!["line 1"]),
        ] {
            let error = read(text).unwrap_err();
            for part in parts {
                assert!(error.contains(part), "{part:?} in {error}");
            }
        }
    }

    #[test]
    fn a_list_of_nothing_is_a_list() {
        let (text, _) = export(Vec::new(), FileFormat::Yaml).unwrap();
        assert!(read(&text).unwrap().is_empty());
        assert!(read("invariants:\n").unwrap().is_empty());
    }

    #[test]
    fn yaml_comes_back_as_it_went_out() {
        let now = jiff::Timestamp::UNIX_EPOCH;
        let invariants: Vec<Invariant> = read(SEED)
            .unwrap()
            .into_iter()
            .zip(1..)
            .map(|(new, n)| {
                let id = crate::model::InvariantId(ulid::Ulid::from_parts(n, 0));
                let text = new.text.clone().unwrap_or_else(|| {
                    new.layer.letter().map(|c| c.sentence()).unwrap_or_default()
                });
                Invariant::new(id, new.scope, new.layer, &text, now)
            })
            .collect();
        let (text, left_out) = export(invariants.clone(), FileFormat::Yaml).unwrap();
        assert_eq!(left_out, 0);
        let layers: Vec<Layer> = read(&text).unwrap().into_iter().map(|n| n.layer).collect();
        assert_eq!(
            layers,
            invariants
                .iter()
                .map(|i| i.layer.clone())
                .collect::<Vec<_>>()
        );
    }
}
