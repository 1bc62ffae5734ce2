//! Letter invariants against paths that were changed by whomever: for CI and pre-commit.

use std::path::Path;

use super::super::{
    EngineError, Reply,
    core::Core,
    message::allowed_instead,
    places::{self, Root},
    protocol::{Asked, CheckPath, EffectiveOf, Explained, Offence},
};
use crate::model::{Remedy, Severity, Signature, VerdictKind};

impl Core {
    /// invar's own invariants do not count: they are about agents, and people change those files.
    pub(crate) fn check(
        &self,
        of: EffectiveOf,
        root: &Path,
        paths: &[CheckPath],
    ) -> Result<Reply, EngineError> {
        let (_, merged) = self.merged_for(of)?;
        let root = Root::new(root);
        let (letters, set) = self.letter_set(merged.effective.iter(), &root)?;
        let mut offences = Vec::new();
        for checked in paths {
            let found = places::find(
                &checked.path,
                &root.written,
                &root,
                Some(&self.home),
                &self.scratch,
            );
            for index in found.broken(&set, checked.subtree) {
                let invariant = &letters[index].invariant;
                let Some(check) = invariant.layer.letter() else {
                    continue;
                };
                offences.push(Offence {
                    path: found.shown.clone(),
                    invariant_id: invariant.id,
                    text: invariant.text.clone(),
                    scope: invariant.scope.clone(),
                    severity: invariant.severity,
                    allowed: allowed_instead(check),
                });
            }
        }
        Ok(Reply::Checked {
            checked: paths.len(),
            offences,
        })
    }

    /// Asks every letter invariant about one path, invar's own too, as for an agent's attempt.
    pub(crate) fn explain(
        &self,
        of: EffectiveOf,
        root: &Path,
        path: &Path,
        cwd: &Path,
    ) -> Result<Reply, EngineError> {
        let (_, merged) = self.merged_for(of)?;
        let root = Root::new(root);
        let (letters, set) =
            self.letter_set(self.built_in.iter().chain(&merged.effective), &root)?;
        let found = places::find(path, cwd, &root, Some(&self.home), &self.scratch);
        let broken = found.broken(&set, false);
        let mut verdict = VerdictKind::Allow;
        let mut asked = Vec::new();
        for (index, keyed) in letters.iter().enumerate() {
            let invariant = &keyed.invariant;
            let Some(check) = invariant.layer.letter() else {
                continue;
            };
            let holds = !broken.contains(&index);
            if !holds {
                let remedy = invariant.on_invariant_breach.unwrap_or(self.remedy);
                let this = match (invariant.severity, remedy) {
                    (Severity::Error, Remedy::Inform) => VerdictKind::Deny,
                    (Severity::Error, Remedy::Halt) => VerdictKind::Halt,
                    _ => VerdictKind::Warn,
                };
                verdict = verdict.max(this);
            }
            asked.push(Asked {
                invariant_id: invariant.id,
                text: invariant.text.clone(),
                scope: invariant.scope.clone(),
                holds,
                allowed: allowed_instead(check),
            });
        }
        let place = |p: &places::FoundPlace| p.relative.clone().unwrap_or(p.absolute.clone());
        let canonical = place(&found.canonical);
        Ok(Reply::Explained(Box::new(Explained {
            signature: Signature::of_path(&canonical.to_string_lossy()).to_string(),
            places: found.places.iter().map(place).collect(),
            scratch: found.canonical.scratch,
            asked,
            verdict,
        })))
    }
}
