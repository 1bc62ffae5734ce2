//! Letter invariants against paths that were changed by whomever: for CI and pre-commit.

use super::{
    super::{
        EngineError,
        facts::Facts,
        message::allowed_instead,
        requests::{CheckPath, Checked, EffectiveOf, Offence},
    },
    Core,
};

impl Core {
    /// What the `paths` offend against in a plan or a scope; `facts` hold where they lie, in their
    /// order. invar's own invariants do not count: they are about agents, and people change those
    /// files.
    ///
    /// # Errors
    /// No such plan, an invariant that cannot be checked, or paths that were not located.
    pub(super) fn check(
        &self,
        of: EffectiveOf,
        paths: &[CheckPath],
        facts: &Facts,
    ) -> Result<Checked, EngineError> {
        if paths.len() != facts.paths.len() {
            return Err(EngineError::failed("the paths were not looked at")
                .hint("give the project directory as an absolute path"));
        }
        let (_, merged) = self.merged_for(of, &facts.root.written)?;
        let compiled = self
            .sets
            .compile_anew(&merged.effective, &facts.root, false)?;
        let checks = compiled.checks();
        let mut offences = Vec::new();
        for (checked, found) in paths.iter().zip(&facts.paths) {
            for index in found.broken(checks.set, checked.subtree) {
                let invariant = &compiled.letter(index).invariant;
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
