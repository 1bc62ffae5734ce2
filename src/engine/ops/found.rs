//! What the tree check found: to whom it is attributed, what it breaks, and whether something
//! was put back (semantics section 6, lane 3).

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;

use super::{
    super::{
        EngineError,
        core::{Compiled, Core},
        message,
        places::Root,
        reach::Hit,
        requests::EffectiveOf,
        step::Step,
        tree::{Change, Hash},
    },
    attempts::verdict_of,
};
use crate::model::{
    Attempt, Breach, EventKind, FoundChange, Invariant, Layer, Origin, PlanId, Running,
    SLACK_NANOS, Session, Severity, Verdict, VerdictKind, Violation, hex,
};

/// Files that the agent itself writes beside its tools, when a person answers its questions.
const AGENTS_OWN: [&str; 1] = [".claude/settings.local.json"];

/// An allowed change that an agent announced.
#[derive(Debug, Clone)]
pub(crate) struct Announced {
    pub root: PathBuf,
    pub path: PathBuf,
    pub plan: PlanId,
    pub at: Timestamp,
}

/// How many announced changes are kept in mind.
const MAX_ANNOUNCED: usize = 4096;

type Key = (String, String);

impl Core {
    /// Remembers the declared changes that were let through, so that another agent's command is
    /// not blamed for them.
    pub(super) fn announce(&mut self, session: &Session, attempt: &Attempt, now: Timestamp) {
        let others = self
            .state
            .sessions
            .values()
            .any(|s| s.is_live() && s.root == session.root && s.plan != session.plan);
        if !others {
            return;
        }
        let root = Root::new(&session.root);
        for path in attempt.effects.iter().flat_map(|e| e.changed_paths()) {
            let found = super::super::places::find(
                path,
                &attempt.cwd,
                &root,
                Some(&self.home),
                &self.scratch,
            );
            let Some(path) = found.canonical.relative else {
                continue;
            };
            self.announced.push_back(Announced {
                root: session.root.clone(),
                path,
                plan: session.plan,
                at: now,
            });
            if self.announced.len() > MAX_ANNOUNCED {
                self.announced.pop_front();
            }
        }
    }

    /// Tells the tree which ignored paths count in the project of a session, and what is
    /// guarded there.
    pub(super) fn guard_tree(&mut self, session: &Session) {
        let Ok(compiled) = self.compiled(session.plan, &session.root) else {
            return;
        };
        let known = self.guarded.get(&session.root);
        if known.is_some_and(|k| std::sync::Weak::ptr_eq(k, &Arc::downgrade(&compiled))) {
            return;
        }
        self.guarded
            .insert(session.root.clone(), Arc::downgrade(&compiled));
        let named: BTreeSet<PathBuf> = compiled
            .set
            .guarded_texts()
            .filter_map(|(text, whole)| {
                let text = match whole {
                    true => text,
                    false => text.rsplit_once('/')?.0,
                };
                let path = PathBuf::from(text.trim_end_matches('/'));
                (!path.as_os_str().is_empty()).then_some(path)
            })
            .collect();
        let reach = self.reach(&compiled, &session.root);
        let guarded = |path: &Path| {
            let found = reach.find(path);
            let mut broken = found.broken(&compiled.set, false).into_iter();
            broken.any(|i| compiled.letters[i].invariant.origin != Origin::BuiltIn)
        };
        self.trees.guard(&session.root, named, &guarded);
    }

    /// Works off what the tree check found in the project of `session`. Returns what is found
    /// against its plan, and was not told before.
    pub(super) fn look_at_tree(&mut self, session: &Session, step: &mut Step<'_>) -> Vec<Breach> {
        let root = session.root.clone();
        let changes = self.trees.take(&root);
        let own: Key = (session.agent.clone(), session.session.clone());
        let mut by_owner: BTreeMap<Key, Vec<(Change, Hit, Invariant)>> = BTreeMap::new();
        for change in changes {
            if self.is_put_back(&root, &change, step) {
                continue;
            }
            match self.owner(&root, &own, &change) {
                Some(owner) => {
                    let plan = owner.plan;
                    if self.announced_elsewhere(&root, &change, plan) {
                        continue;
                    }
                    let Ok(compiled) = self.compiled(plan, &root) else {
                        continue;
                    };
                    let key = (owner.agent.clone(), owner.session.clone());
                    let ran: Vec<&Running> = ran_then(&owner, change.at).collect();
                    for (hit, invariant) in self.broken_by_change(&compiled, &root, &change) {
                        let asks = matches!(invariant.layer, Layer::Assent { .. });
                        let asked = (invariant.id, &hit.signature);
                        if asks && self.had_assent(Some(plan), asked, change.at, &ran) {
                            continue;
                        }
                        let entry = by_owner.entry(key.clone()).or_default();
                        entry.push((change.clone(), hit, invariant));
                    }
                }
                None => self.not_attributed(session, &change, step),
            }
        }
        for (key, found) in by_owner {
            self.blame(&key, &root, found, step);
        }
        self.untold.remove(&session.plan).unwrap_or_default()
    }

    /// A file that is as it was before a violation corrects it.
    fn is_put_back(&mut self, root: &Path, change: &Change, step: &mut Step<'_>) -> bool {
        let now = change.now.map(|h| hex(&h));
        let open: Vec<Violation> = self
            .state
            .violations
            .values()
            .filter(|v| v.is_open())
            .filter(|v| {
                v.found
                    .as_ref()
                    .is_some_and(|f| f.root == root && f.path == change.path && f.before == now)
            })
            .cloned()
            .collect();
        for violation in &open {
            self.correct(violation.clone(), "the file was put back", step);
        }
        !open.is_empty()
    }

    /// A person asks for a file to be put back.
    pub(crate) fn put_back(
        &mut self,
        violation: &str,
        step: &mut Step<'_>,
    ) -> Result<Violation, EngineError> {
        let id = self.find_violation(violation)?;
        let violation = self.state.violations[&id].clone();
        let refuse = |why: &str| {
            Err(EngineError::invalid(format!(
                "violation {id} cannot be put back: {why}"
            )))
        };
        if !violation.is_open() {
            return refuse("it is resolved already");
        }
        let Some(found) = &violation.found else {
            return refuse("it is not about a file that was found changed");
        };
        let Some(before) = found.before.as_deref().and_then(from_hex) else {
            return refuse("the file was not there before; remove it by hand");
        };
        if let Err(error) = self.trees.restore(&found.root, &found.path, &before) {
            return refuse(&error.to_string());
        }
        let plan_id = violation.plan_id;
        // Each invariant that the change broke holds again.
        let same: Vec<Violation> = self
            .state
            .open_violations(plan_id)
            .filter(|v| v.found == violation.found)
            .cloned()
            .collect();
        for violation in same {
            self.correct(violation, "a person had the file put back", step);
        }
        Ok(self.state.violations[&id].clone())
    }

    /// The session whose command ran when the change happened; the one that asks first.
    fn owner(&self, root: &Path, own: &Key, change: &Change) -> Option<Session> {
        let acted = |s: &&Session| s.root == root && ran_then(s, change.at).next().is_some();
        let asking = self.state.sessions.get(own).filter(acted);
        asking
            .or_else(|| self.state.sessions.values().find(acted))
            .cloned()
    }

    fn announced_elsewhere(&self, root: &Path, change: &Change, plan: PlanId) -> bool {
        self.announced.iter().rev().any(|a| {
            a.plan != plan
                && a.root == root
                && a.path == change.path
                && a.at.as_nanosecond() <= i128::from(change.at) + SLACK_NANOS
        })
    }

    fn broken_by_change(
        &self,
        compiled: &Compiled,
        root: &Path,
        change: &Change,
    ) -> Vec<(Hit, Invariant)> {
        if AGENTS_OWN.iter().any(|own| change.path == Path::new(own)) {
            return Vec::new();
        }
        let reach = self.reach(compiled, root);
        let found = reach.find(&change.path);
        // The place itself counts, not where a link there leads.
        let written = found
            .places
            .iter()
            .find(|p| p.relative.as_ref() == Some(&change.path));
        let mut found = found.clone();
        if let Some(place) = written {
            found.canonical = place.clone();
            found.places = vec![place.clone()];
        }
        found.shown = change.path.to_string_lossy().into_owned();
        let what = match (change.before, change.now) {
            (None, _) => "it was made",
            (_, None) => "it was removed",
            _ => "its content is another",
        };
        let broken = found.broken(&compiled.set, false);
        broken
            .into_iter()
            .map(|index| {
                let hit = Hit {
                    index,
                    signature: found.signature(),
                    shown: found.shown.clone(),
                    why: Some(what.to_owned()),
                };
                (hit, compiled.letters[index].invariant.clone())
            })
            .collect()
    }

    /// Nobody's command ran then: people edit too. It is told, and strikes nobody.
    fn not_attributed(&mut self, session: &Session, change: &Change, step: &mut Step<'_>) {
        let of = EffectiveOf::Project(session.project.clone());
        let Ok((_, merged)) = self.merged_for(of) else {
            return;
        };
        let root = Root::new(&session.root);
        let Ok((letters, set)) = self.letter_set(merged.effective.iter(), &root) else {
            return;
        };
        let compiled = Compiled::of(root, letters, set);
        let broken = self.broken_by_change(&compiled, &session.root, change);
        let unasked = |(hit, invariant): &(Hit, Invariant)| {
            let asks = matches!(invariant.layer, Layer::Assent { .. });
            let asked = (invariant.id, &hit.signature);
            !(asks && self.had_assent(None, asked, change.at, &[]))
        };
        if let Some((hit, invariant)) = broken.into_iter().find(unasked) {
            self.emit(
                step,
                EventKind::ChangeNotAttributed {
                    project: session.project.clone(),
                    path: hit.shown,
                    text: invariant.text,
                    invariant_id: invariant.id,
                },
            );
        }
    }

    /// Counts what was found against a session, opens violations, puts files back.
    fn blame(
        &mut self,
        key: &Key,
        root: &Path,
        found: Vec<(Change, Hit, Invariant)>,
        step: &mut Step<'_>,
    ) {
        let Some(session) = self.state.sessions.get(key).cloned() else {
            return;
        };
        let plan = session.plan;
        let at = found.iter().map(|(c, _, _)| c.at).min().unwrap_or_default();
        let blamed = ran_then(&session, at).last();
        let command = blamed.map_or_else(String::new, |r| r.command.clone());
        let mut breaches = Vec::new();
        let mut violations = Vec::new();
        for (change, hit, invariant) in found {
            let mut breach = self.breach(plan, None, &invariant, hit);
            if let (Some(before), true) = (change.before, self.trees.restores()) {
                breach.why = Some(match self.trees.restore(root, &change.path, &before) {
                    Ok(()) => "it was changed, and has been put back as it was".to_owned(),
                    Err(error) => format!("it was changed, and not put back: {error}"),
                });
            }
            violations.push((change, invariant));
            breaches.push(breach);
        }
        let verdict = Verdict {
            verdict: verdict_of(&breaches),
            reason: message::found(verdict_of(&breaches), &command, plan, &breaches),
            breaches: breaches.clone(),
        };
        let halts = verdict.verdict == VerdictKind::Halt;
        self.emit(
            step,
            EventKind::ChangeFound {
                plan_id: plan,
                agent: session.agent.clone(),
                session: session.session.clone(),
                command: command.clone(),
                verdict,
            },
        );
        for ((change, invariant), breach) in violations.iter().zip(&breaches) {
            if breach.limit.is_none() && invariant.severity != Severity::Error {
                continue;
            }
            self.open_violation(&session, root, change, invariant, &command, step);
        }
        let halted = self.state.plans.get(&plan).is_some_and(|p| p.is_halted());
        if halts && !halted {
            self.halt(plan, &breaches, step);
        }
        self.untold.entry(plan).or_default().extend(breaches);
    }

    fn open_violation(
        &mut self,
        session: &Session,
        root: &Path,
        change: &Change,
        invariant: &Invariant,
        command: &str,
        step: &mut Step<'_>,
    ) {
        let plan_id = session.plan;
        let known = self.state.open_violations(plan_id).any(|v| {
            v.invariant_id == invariant.id
                && v.found
                    .as_ref()
                    .is_some_and(|f| f.root == root && f.path == change.path)
        });
        if known {
            return;
        }
        let restored = self.trees.restores() && change.before.is_some() && {
            // Only a file that is as it was counts as put back.
            self.trees.hash(root, &change.path) == change.before
        };
        let shown = change.path.to_string_lossy();
        let details = format!("{shown} was changed by `{}`", one_line(command));
        let found = FoundChange {
            root: root.to_owned(),
            path: change.path.clone(),
            before: change.before.map(|h| hex(&h)),
        };
        let violation = self.violated(plan_id, invariant, details, Some(found), step);
        if restored {
            self.correct(violation, "invar put the file back", step);
        }
    }

    /// Tells that a command is over.
    pub(super) fn command_ended(
        &mut self,
        session: &Session,
        call: Option<String>,
        step: &mut Step<'_>,
    ) {
        let key = (session.agent.clone(), session.session.clone());
        let known = self.state.sessions.get(&key);
        let ends = known.is_some_and(|s| {
            let mut own = s.running.iter().filter(|r| !r.background);
            own.any(|r| call.is_none() || r.call == call)
        });
        if ends {
            self.emit(
                step,
                EventKind::CommandEnded {
                    plan_id: session.plan,
                    agent: session.agent.clone(),
                    session: session.session.clone(),
                    call,
                },
            );
        }
    }

    /// The verdict that tells a session what was found against its plan.
    pub(super) fn verdict_on_found(&self, plan: PlanId, breaches: Vec<Breach>) -> Verdict {
        let halt = self.halt_of(plan);
        if breaches.is_empty() {
            return halt;
        }
        let kind = verdict_of(&breaches).max(halt.verdict);
        // What a judge found is to be put right; what a command changed is to be left alone.
        let (judged, found): (Vec<_>, Vec<_>) = breaches
            .iter()
            .cloned()
            .partition(|b| b.signature.is_judgment());
        let mut parts = Vec::new();
        if !judged.is_empty() {
            parts.push(message::judged(kind, plan, &judged));
        }
        if !found.is_empty() {
            parts.push(message::found(kind, "", plan, &found));
        }
        Verdict {
            verdict: kind,
            reason: parts.join("\n\n"),
            breaches,
        }
    }

    /// The project directories that agents of a plan have worked in.
    pub(crate) fn roots_of(&self, plan: PlanId) -> Vec<PathBuf> {
        let sessions = self.state.sessions.values();
        let roots: BTreeSet<PathBuf> = sessions
            .filter(|s| s.plan == plan)
            .map(|s| s.root.clone())
            .collect();
        roots.into_iter().collect()
    }

    /// Before a plan is applied: what changed since the last look.
    pub(crate) fn look_before_apply(&mut self, plan: PlanId, step: &mut Step<'_>) {
        let mut seen = BTreeSet::new();
        let sessions: Vec<Session> = self.state.sessions.values().cloned().collect();
        for session in sessions.into_iter().filter(|s| s.plan == plan) {
            if seen.insert(session.root.clone()) {
                let found = self.look_at_tree(&session, step);
                self.untold.entry(plan).or_default().extend(found);
            }
        }
    }
}

/// The commands of a session that ran when a file changed; the last of them is blamed.
fn ran_then(session: &Session, at: i64) -> impl Iterator<Item = &Running> {
    let all = session.running.iter();
    all.filter(move |r| started_before(r, at))
}

fn started_before(running: &Running, at: i64) -> bool {
    running.since.as_nanosecond() <= i128::from(at) + SLACK_NANOS
}

fn from_hex(text: &str) -> Option<Hash> {
    let mut hash = Hash::default();
    if text.len() != hash.len() * 2 {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    Some(hash)
}

fn one_line(text: &str) -> String {
    let line = crate::model::visible(text.lines().next().unwrap_or_default()).into_owned();
    match line.char_indices().nth(120) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// Kept beside the compiled sets.
pub(crate) type Untold = BTreeMap<PlanId, Vec<Breach>>;

/// Shared with the threads that walk.
pub(crate) type SharedTrees = Arc<super::super::tree::Trees>;
