//! What would happen to an attempt, and why: for people, by the code that decides attempts.

use std::sync::Arc;

use super::{
    super::{
        EngineError,
        facts::{Facts, ForSet, Need},
        located::{FoundPath, FoundPlace, LocatedEffect, LocatedLine, LocatedTarget},
        message::allowed_instead,
        requests::{Asked, EffectiveOf, ExplainWhat, Explained, ReadEffect},
        step::Stop,
    },
    Core,
    attempts::verdict_of,
    reach::Hit,
};
use crate::{
    model::{Breach, PlanId, Signature},
    rules::{normalise::KeyedInvariant, shell::Target},
};

impl Core {
    /// What would happen to one attempt, and what each letter invariant says of it, invar's own
    /// too. Nothing is counted.
    ///
    /// # Errors
    /// No such plan, an invariant that cannot be checked, or a fact that is missing.
    pub(super) fn explain(
        &self,
        of: EffectiveOf,
        what: &ExplainWhat,
        facts: &Facts,
    ) -> Result<Explained, Stop> {
        let (_, merged) = self.merged_for(of, &facts.root.written)?;
        let compiled = self
            .sets
            .compile_anew(&merged.effective, &facts.root, true)
            .map_err(EngineError::from)?;
        let compiled = Arc::new(compiled);
        let checks = compiled.checks();
        let unlocated = || Need::Root(facts.root.written.clone());
        let located = facts.attempts.first().and_then(|a| a.effects.first());
        let effect = located.ok_or_else(unlocated)?;
        let files = |_| Need::Files(ForSet(Arc::clone(&compiled)));
        let hits = checks.of_effect(effect).map_err(files)?;
        let (mut explained, rule_changes) = match (what, effect) {
            (ExplainWhat::Command(_), LocatedEffect::Line(line)) => {
                (of_line(line), line.reading.rule_changes.as_slice())
            }
            (_, LocatedEffect::Declared(targets)) => match targets.first() {
                Some(LocatedTarget::Change(found)) => (of_path(found), [].as_slice()),
                _ => return Err(unlocated().into()),
            },
            _ => return Err(unlocated().into()),
        };
        let letters = checks.letters.iter().enumerate();
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
        if let (Some(keyed), Some(change)) = (self.only_people(), rule_changes.first()) {
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

fn asked(keyed: &Arc<KeyedInvariant>, broken_by: Vec<String>) -> Asked {
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

fn of_path(found: &FoundPath) -> Explained {
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

/// Where a target lies, when all of its name is known.
fn lies(target: &LocatedTarget) -> Option<&FoundPath> {
    match target {
        LocatedTarget::Change(found)
        | LocatedTarget::Arrival(found)
        | LocatedTarget::Delete(found, _) => Some(found),
        LocatedTarget::Below(folder) => Some(&folder.folder),
        LocatedTarget::Partial { .. } => None,
    }
}

fn of_line(line: &LocatedLine) -> Explained {
    let reading = &line.reading;
    let mut effects = Vec::new();
    for (found, located) in reading.found.iter().zip(&line.targets) {
        let effect = match &found.target {
            Target::Change(_) => "change",
            Target::Delete(_) => "delete",
            Target::Below(_) => "below",
            Target::Partial { .. } => "partial",
        };
        let lies = lies(located);
        let target = match (lies, &found.target) {
            (Some(found), _) => found.shown.clone(),
            (None, Target::Partial { texts, .. }) => texts.join("…"),
            (None, _) => String::new(),
        };
        effects.push(ReadEffect {
            effect: effect.into(),
            target,
            how: found.how.clone(),
            bytes: Some((found.bytes.start, found.bytes.end)),
            places: lies
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
        ..empty(Signature::of_command(&line.text))
    }
}
