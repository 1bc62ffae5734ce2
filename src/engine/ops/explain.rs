//! What would happen to an attempt, and why: for people, by the code that decides attempts.

use std::{path::Path, sync::Arc};

use super::{
    super::{
        EngineError,
        builtin::ONLY_PEOPLE,
        core::{Compiled, Core},
        message::allowed_instead,
        places::{FoundPlace, Root},
        reach::{Hit, Reach},
        requests::{Asked, EffectiveOf, ExplainWhat, Explained, ReadEffect},
    },
    attempts::verdict_of,
};
use crate::{
    model::{Breach, Effect, PlanId, Signature},
    rules::{
        normalise::Keyed,
        shell::{Reading, Target},
    },
};

impl Core {
    /// Asks every letter invariant about one attempt, invar's own too. Nothing is counted.
    pub(crate) fn explain(
        &self,
        of: EffectiveOf,
        root: &Path,
        cwd: &Path,
        what: &ExplainWhat,
    ) -> Result<Explained, EngineError> {
        let (_, merged) = self.merged_for(of)?;
        let root = Root::new(root);
        let (letters, set) =
            self.letter_set(self.built_in.iter().chain(&merged.effective), &root)?;
        let compiled = Compiled::of(root, letters, set);
        let reach = self.reach(&compiled, cwd);
        let (mut explained, hits, rule_changes) = match what {
            ExplainWhat::Path(path) => {
                let effect = Effect::Change { path: path.clone() };
                (of_path(&reach, path), reach.of_effect(&effect), Vec::new())
            }
            ExplainWhat::Command(line) => {
                let reading = reach.read(line, None);
                let hits = reach.of_reading(&reading, line);
                let explained = of_reading(&reach, &reading, line);
                (explained, hits, reading.rule_changes)
            }
        };
        let letters = compiled.letters.iter().enumerate();
        let mut breaches: Vec<Breach> = Vec::new();
        for (index, keyed) in letters {
            let broken_by: Vec<&Hit> = hits.iter().filter(|h| h.index == index).collect();
            // No plan has this id, so that this is the first strike.
            breaches.extend(broken_by.first().map(|hit| {
                self.breach(
                    PlanId(ulid::Ulid::nil()),
                    None,
                    &keyed.invariant,
                    (*hit).clone(),
                )
            }));
            let broken_by = broken_by.iter().map(|hit| match &hit.why {
                Some(why) => format!("{}: {why}", hit.shown),
                None => hit.shown.clone(),
            });
            explained.asked.push(asked(keyed, broken_by.collect()));
        }
        let only_people = self
            .built_in
            .iter()
            .find(|k| k.invariant.text == ONLY_PEOPLE);
        if let (Some(keyed), Some(change)) = (only_people, rule_changes.first()) {
            let what = format!("it would {}", change.what);
            let hit = Hit {
                index: 0,
                signature: Signature(explained.signature.clone()),
                shown: what.clone(),
                why: None,
            };
            breaches.push(self.breach(PlanId(ulid::Ulid::nil()), None, &keyed.invariant, hit));
            explained.asked.push(asked(keyed, vec![what]));
        }
        explained.verdict = verdict_of(&breaches);
        Ok(explained)
    }
}

fn asked(keyed: &Arc<Keyed>, broken_by: Vec<String>) -> Asked {
    let invariant = &keyed.invariant;
    let allowed = match invariant.layer.letter() {
        Some(check) => allowed_instead(check),
        None => "looking".to_owned(),
    };
    Asked {
        invariant_id: invariant.id,
        text: invariant.text.clone(),
        scope: invariant.scope.clone(),
        holds: broken_by.is_empty(),
        broken_by,
        allowed,
    }
}

fn place(place: &FoundPlace) -> std::path::PathBuf {
    place.relative.clone().unwrap_or(place.absolute.clone())
}

fn empty(signature: Signature) -> Explained {
    Explained {
        signature: signature.to_string(),
        places: Vec::new(),
        scratch: false,
        effects: Vec::new(),
        opaque: false,
        asked: Vec::new(),
        verdict: verdict_of(&[]),
    }
}

fn of_path(reach: &Reach<'_>, path: &Path) -> Explained {
    let found = reach.find(path);
    Explained {
        places: found.places.iter().map(place).collect(),
        scratch: found.canonical.scratch,
        effects: vec![ReadEffect {
            effect: "change".into(),
            target: found.shown.clone(),
            how: "path".into(),
            bytes: None,
            places: found.places.iter().map(place).collect(),
        }],
        ..empty(found.signature())
    }
}

fn of_reading(reach: &Reach<'_>, reading: &Reading, line: &str) -> Explained {
    let mut effects = Vec::new();
    for found in &reading.found {
        let (effect, path) = match &found.target {
            Target::Change(path) => ("change", Some(path)),
            Target::Delete(path) => ("delete", Some(path)),
            Target::Below(path) => ("below", Some(path)),
            Target::Partial { .. } => ("partial", None),
        };
        let places = path.map(|path| reach.find(path));
        let target = match (&places, &found.target) {
            (Some(found), _) => found.shown.clone(),
            (None, Target::Partial { texts, .. }) => texts.join("…"),
            (None, _) => String::new(),
        };
        effects.push(ReadEffect {
            effect: effect.into(),
            target,
            how: found.how.clone(),
            bytes: Some((found.bytes.start, found.bytes.end)),
            places: places
                .iter()
                .flat_map(|f| f.places.iter().map(place))
                .collect(),
        });
    }
    let mut say = |effect: &str, target: String, bytes: &std::ops::Range<usize>| {
        effects.push(ReadEffect {
            effect: effect.into(),
            target,
            how: String::new(),
            bytes: Some((bytes.start, bytes.end)),
            places: Vec::new(),
        });
    };
    for unresolved in &reading.unresolved {
        let target = format!("it is not known {}", unresolved.why);
        say("unresolved", target, &unresolved.bytes);
    }
    for change in &reading.rule_changes {
        say("rules", format!("it would {}", change.what), &change.bytes);
    }
    Explained {
        effects,
        opaque: reading.opaque,
        ..empty(Signature::of_command(line))
    }
}
