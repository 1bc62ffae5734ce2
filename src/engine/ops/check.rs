//! Letter invariants against paths that were changed by whomever: for CI and pre-commit.

use std::path::Path;

use super::super::{
    EngineError,
    core::Core,
    message::allowed_instead,
    places::{self, Root},
    requests::{CheckPath, Checked, EffectiveOf, Offence},
};

impl Core {
    /// invar's own invariants do not count: they are about agents, and people change those files.
    pub(crate) fn check(
        &self,
        of: EffectiveOf,
        root: &Path,
        paths: &[CheckPath],
    ) -> Result<Checked, EngineError> {
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
        Ok(Checked {
            checked: paths.len(),
            offences,
        })
    }
}
