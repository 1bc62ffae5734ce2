//! All findings of one set of invariants.

use super::{
    super::{
        EngineError,
        facts::Facts,
        requests::{EffectiveOf, FindingsReport},
    },
    Core,
};
use crate::{
    model::{Invariant, InvariantId},
    rules::{
        automaton::{Surface, Witness},
        conflict::Contradiction,
        findings::{Finder, Finding, Kind, Shown},
        merge::{Merged, Shadow},
    },
};

impl Core {
    /// All findings of a plan or a scope: contradictions and duplicates from the merge, and what
    /// the sets of paths say. `facts` hold the project's files, for witnesses. What was found is
    /// remembered for each project directory.
    ///
    /// # Errors
    /// No such plan, or several.
    pub(super) fn findings(
        &mut self,
        of: EffectiveOf,
        facts: &Facts,
    ) -> Result<FindingsReport, EngineError> {
        let root = &facts.root;
        let (plan_id, merged) = self.merged_for(of, &root.written)?;
        let surface = Surface {
            home: Some(self.sets.home().to_string_lossy().into_owned()),
            root: Some(root.resolved.to_string_lossy().into_owned()),
            fold_case: root.fold_case,
        };
        let effective: Vec<&Invariant> = merged.effective.iter().map(|k| &k.invariant).collect();
        let unresolved = |id: InvariantId| merged.unresolved.iter().any(|c| c.weaker == id);
        // What cannot be kept says nothing about the others.
        let kept: Vec<&Invariant> = effective
            .iter()
            .copied()
            .filter(|i| !unresolved(i.id))
            .collect();
        let finder = self
            .finders
            .entry(root.written.clone())
            .or_insert_with(|| Finder::new(surface.clone()));
        let mut findings = of_merge(&merged);
        findings.extend(finder.findings(&kept, Some(&facts.files)));
        let all = effective
            .into_iter()
            .chain(merged.shadowed.iter().map(|s| &s.loser.invariant));
        let named = |i: &&Invariant| findings.iter().any(|f| f.invariants.contains(&i.id));
        let invariants = all.filter(named).cloned().collect();
        Ok(FindingsReport {
            plan_id,
            invariants,
            findings,
        })
    }
}

/// What the merge found: contradictions that stay open first.
fn of_merge(merged: &Merged) -> Vec<Finding> {
    let open = |c: &Contradiction| {
        let shown = |witness: &Witness, by: Vec<InvariantId>| Shown {
            path: witness.0.clone(),
            allowed_by: by,
        };
        let witnesses = c.witnesses.as_ref().map_or(Vec::new(), |(own, theirs)| {
            vec![
                shown(own, vec![c.weaker]),
                shown(theirs, c.stronger.clone()),
            ]
        });
        Finding {
            kind: Kind::Contradiction,
            invariants: c.stronger.iter().copied().chain([c.weaker]).collect(),
            proof: format!("{}; of equal strength, so that it blocks the plan", c.proof),
            witnesses,
        }
    };
    let settled = |s: &Shadow| Finding {
        kind: match s.contradiction {
            Some(_) => Kind::Contradiction,
            None => Kind::Duplicate,
        },
        invariants: vec![s.winner.invariant.id, s.loser.invariant.id],
        proof: match &s.contradiction {
            Some(proof) => format!("{proof}; settled: {}", s.rationale),
            None => format!("they say the same; {}", s.rationale),
        },
        witnesses: Vec::new(),
    };
    let open = merged.unresolved.iter().map(open);
    open.chain(merged.shadowed.iter().map(settled)).collect()
}
