//! Letter invariants against paths that were changed by whomever: for CI and pre-commit.

use std::path::Path;

use super::super::{
    EngineError, Reply,
    core::Core,
    message::allowed_instead,
    places::{self, Root},
    protocol::{CheckPath, EffectiveOf, Offence},
};
use crate::rules::letter::{LetterSet, PatternEnv};

impl Core {
    /// invar's own invariants do not count: they are about agents, and people change those files.
    pub(crate) fn check(
        &self,
        of: EffectiveOf,
        root: &Path,
        paths: &[CheckPath],
    ) -> Result<Reply, EngineError> {
        let (_, merged) = self.merged_for(of)?;
        let letters: Vec<_> = merged
            .effective
            .iter()
            .filter(|k| k.invariant.layer.letter().is_some())
            .collect();
        let root = Root::new(root);
        let env = PatternEnv {
            home: Some(&self.home),
            fold_case: root.fold_case,
        };
        let checks = letters.iter().filter_map(|k| k.invariant.layer.letter());
        let set = LetterSet::compile(checks, env).map_err(|(index, error)| {
            EngineError::Invalid(format!(
                "invariant {}: {error}",
                letters[index].invariant.id
            ))
        })?;
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
}
