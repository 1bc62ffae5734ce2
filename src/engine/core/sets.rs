//! Compiled effective sets. One set serves every plan in which the same invariants are in force in
//! the same directory; it goes when the last of these plans does.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use sha2::{Digest, Sha256};

use super::{
    super::{EngineError, located::Root, message},
    reach::Checks,
};
use crate::{
    model::{Checkpoint, Invariant, InvariantId, Layer, LetterCheck, Plan, PlanId, Scope},
    rules::{
        glob::GlobError,
        letter::{LetterSet, PatternEnv},
        merge::{Merged, merge},
        normalise::KeyedInvariant,
    },
};

/// An effective set with invar's own invariants, ready to be held against located attempts.
#[derive(Debug)]
pub struct Compiled {
    root: Root,
    /// What each check of `set` stands for, in its order.
    letters: Vec<Arc<KeyedInvariant>>,
    set: LetterSet,
    /// What is in force, without invar's own.
    effective: Vec<Arc<KeyedInvariant>>,
    /// A judge or a person has to see what is changed.
    wants_changes: bool,
    /// Names what a model reads of the set: equal for sets that read the same.
    digest: String,
}

impl Compiled {
    /// What a located attempt is held against.
    pub(crate) fn checks(&self) -> Checks<'_> {
        Checks {
            set: &self.set,
            letters: &self.letters,
            root: &self.root,
            digest: &self.digest,
        }
    }

    /// The invariant that check `index` of the set stands for.
    pub(crate) fn letter(&self, index: usize) -> &Arc<KeyedInvariant> {
        &self.letters[index]
    }

    /// Whether a judge or a person has to see what is changed.
    pub(crate) fn wants_changes(&self) -> bool {
        self.wants_changes
    }

    /// Names what a model reads of the set: equal for sets that read the same.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// What a model reads of the set; `None` when it is empty.
    pub(crate) fn context(&self, plan: PlanId) -> Option<String> {
        let effective: Vec<&Invariant> = self.effective.iter().map(|k| &k.invariant).collect();
        message::context(plan, &effective)
    }

    /// The judgment clauses in force, each with its checkpoint.
    pub(crate) fn clauses(&self) -> impl Iterator<Item = (&Invariant, Checkpoint)> {
        clauses(&self.effective)
    }
}

/// The judgment clauses of an effective set, each with its checkpoint.
pub(crate) fn clauses(
    effective: &[Arc<KeyedInvariant>],
) -> impl Iterator<Item = (&Invariant, Checkpoint)> {
    let all = effective.iter().map(|k| &k.invariant);
    all.filter_map(|i| match &i.layer {
        Layer::Judgment { checkpoint } => Some((i, *checkpoint)),
        _ => None,
    })
}

/// Why letter checks cannot be run: the invariant and its fault. Whoever meets it denies.
#[derive(Debug, Clone)]
pub(crate) struct Uncheckable {
    pub invariant: InvariantId,
    pub error: GlobError,
}

impl From<Uncheckable> for EngineError {
    fn from(fault: Uncheckable) -> Self {
        Self::invalid(&fault.error).within(format!("invariant {}", fault.invariant))
    }
}

/// What is in force, by its content: the same for two plans with the same invariants.
type Content = [u8; 32];

/// The merges and the compiled sets of the plans at hand.
#[derive(Debug)]
pub(crate) struct Sets {
    built_in: Vec<Arc<KeyedInvariant>>,
    home: PathBuf,
    merged: HashMap<PlanId, Arc<Merged>>,
    /// One for each directory that agents of the plan work in.
    of_plan: HashMap<PlanId, Vec<Arc<Compiled>>>,
    /// The same sets by their content. Weak, so that a set goes with the last plan that has it.
    by_content: HashMap<(Content, Root), Weak<Compiled>>,
    /// How many merges were made; tests hold it against what was asked.
    #[cfg(test)]
    merges: u64,
}

impl Sets {
    /// No plan yet; `built_in` are invar's own, `home` is what `~` means in a pattern.
    pub(crate) fn new(built_in: Vec<Arc<KeyedInvariant>>, home: &Path) -> Self {
        Self {
            built_in,
            home: home.to_owned(),
            merged: HashMap::new(),
            of_plan: HashMap::new(),
            by_content: HashMap::new(),
            #[cfg(test)]
            merges: 0,
        }
    }

    /// invar's own invariants.
    pub(crate) fn built_in(&self) -> &[Arc<KeyedInvariant>] {
        &self.built_in
    }

    /// What `~` means in a pattern.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// How many merges were made so far.
    #[cfg(test)]
    pub(crate) fn merges(&self) -> u64 {
        self.merges
    }

    /// The merge of a plan; `collected` is asked when it is not at hand.
    pub(crate) fn merged(
        &mut self,
        plan: PlanId,
        collected: impl FnOnce() -> Vec<Arc<KeyedInvariant>>,
    ) -> Arc<Merged> {
        if let Some(merged) = self.merged.get(&plan) {
            return Arc::clone(merged);
        }
        #[cfg(test)]
        {
            self.merges += 1;
        }
        let merged = Arc::new(merge(&collected()));
        self.merged.insert(plan, Arc::clone(&merged));
        merged
    }

    /// The compiled set of a plan whose agent works in `root`.
    ///
    /// # Errors
    /// [`Uncheckable`], when a pattern does not compile.
    pub(crate) fn of_plan(
        &mut self,
        plan: PlanId,
        root: &Root,
        collected: impl FnOnce() -> Vec<Arc<KeyedInvariant>>,
    ) -> Result<Arc<Compiled>, Uncheckable> {
        if let Some(found) = self.known(plan, root) {
            return Ok(found);
        }
        let merged = self.merged(plan, collected);
        let compiled = self.compile(&merged.effective, root)?;
        let own = self.of_plan.entry(plan).or_default();
        own.push(Arc::clone(&compiled));
        Ok(compiled)
    }

    fn known(&self, plan: PlanId, root: &Root) -> Option<Arc<Compiled>> {
        let mut own = self.of_plan.get(&plan)?.iter();
        own.find(|c| c.root == *root).cloned()
    }

    /// The compiled set of some invariants, invar's own besides; the one at hand when another
    /// plan has the same.
    ///
    /// # Errors
    /// [`Uncheckable`], when a pattern does not compile.
    pub(crate) fn compile(
        &mut self,
        effective: &[Arc<KeyedInvariant>],
        root: &Root,
    ) -> Result<Arc<Compiled>, Uncheckable> {
        let key = (content(effective), root.clone());
        if let Some(found) = self.by_content.get(&key).and_then(Weak::upgrade) {
            return Ok(found);
        }
        let compiled = Arc::new(self.compile_anew(effective, root, true)?);
        self.by_content.retain(|_, set| set.strong_count() > 0);
        self.by_content.insert(key, Arc::downgrade(&compiled));
        Ok(compiled)
    }

    /// A compiled set that is kept nowhere; with or without invar's own invariants.
    ///
    /// # Errors
    /// [`Uncheckable`], when a pattern does not compile.
    pub(crate) fn compile_anew(
        &self,
        effective: &[Arc<KeyedInvariant>],
        root: &Root,
        built_in: bool,
    ) -> Result<Compiled, Uncheckable> {
        let own = self.built_in.iter().filter(|_| built_in);
        let (letters, set) = self.letters(own.chain(effective), root)?;
        let invariants: Vec<&Invariant> = effective.iter().map(|k| &k.invariant).collect();
        let looked_at =
            |i: &&Invariant| matches!(i.layer, Layer::Judgment { .. } | Layer::Assent { .. });
        Ok(Compiled {
            root: root.clone(),
            letters,
            set,
            wants_changes: invariants.iter().any(looked_at),
            digest: message::digest(&invariants),
            effective: effective.to_vec(),
        })
    }

    fn letters<'a>(
        &self,
        invariants: impl Iterator<Item = &'a Arc<KeyedInvariant>>,
        root: &Root,
    ) -> Result<(Vec<Arc<KeyedInvariant>>, LetterSet), Uncheckable> {
        // What needs assent is found like what is untouched, pattern by pattern.
        let mut letters: Vec<Arc<KeyedInvariant>> = Vec::new();
        let mut checks: Vec<LetterCheck> = Vec::new();
        for keyed in invariants {
            match &keyed.invariant.layer {
                Layer::Letter(check) => checks.push(check.clone()),
                Layer::Assent { when } if when.is_empty() => {
                    checks.push(LetterCheck::Untouched("**".into()));
                }
                Layer::Assent { when } => {
                    checks.extend(when.iter().cloned().map(LetterCheck::Untouched));
                }
                Layer::Plain | Layer::Judgment { .. } => {}
            }
            // One place for each check: an invariant with several patterns stands in several.
            letters.resize(checks.len(), Arc::clone(keyed));
        }
        let env = PatternEnv {
            home: Some(&self.home),
            fold_case: root.fold_case,
        };
        let set = LetterSet::compile(&checks, env).map_err(|(index, error)| Uncheckable {
            invariant: letters[index].invariant.id,
            error,
        })?;
        Ok((letters, set))
    }

    /// Drops what a change of an invariant in `scope` touches. A plan that `plan` does not know
    /// is over, and its sets go as well.
    pub(crate) fn forget<'a>(
        &mut self,
        scope: &Scope,
        plan: impl Fn(&PlanId) -> Option<&'a Plan> + Copy,
    ) {
        let keeps = |id: &PlanId| {
            plan(id).is_some_and(|plan| match scope {
                Scope::Global => false,
                Scope::Project(name) => plan.project != *name,
                Scope::Action(name) => plan.action.as_ref() != Some(name),
                Scope::Plan(id) => plan.id != *id,
            })
        };
        self.merged.retain(|id, _| keeps(id));
        self.of_plan.retain(|id, _| keeps(id));
    }

    /// Drops what is kept for a plan that is over.
    pub(crate) fn drop_plan(&mut self, plan: PlanId) {
        self.merged.remove(&plan);
        self.of_plan.remove(&plan);
    }

    /// Drops all that is kept.
    pub(crate) fn clear(&mut self) {
        self.merged.clear();
        self.of_plan.clear();
        self.by_content.clear();
    }

    /// How many compiled sets are held.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        let held = self.by_content.values().filter(|s| s.strong_count() > 0);
        held.count()
    }
}

/// The content of an effective set. Parameters of a plan are bound in it, so that the layer says
/// what the id does not.
fn content(effective: &[Arc<KeyedInvariant>]) -> Content {
    let mut hash = Sha256::new();
    for keyed in effective {
        let invariant = &keyed.invariant;
        hash.update(invariant.id.to_bytes());
        hash.update(invariant.revision.to_be_bytes());
        hash.update(format!("{:?}\0{}\0", invariant.layer, invariant.text));
    }
    hash.finalize().into()
}
