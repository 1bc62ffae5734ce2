//! What the tree check found: to whom it is attributed, what it breaks, and whether something
//! was put back.
//!
//! The tree says which files changed and when, but not who changed them. A change counts against
//! the session whose command was running at that time. When none was, it counts against nobody:
//! people edit too, and a false accusation could halt an agent's run. A change that another agent
//! had announced and was allowed to make is not blamed on a command that ran beside it.

use std::{
    collections::{BTreeMap, VecDeque},
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use super::{
    super::{
        EngineError,
        facts::{Facts, FileChange, Hash, Need, ToRestore},
        located::Root,
        message,
        requests::EffectiveOf,
        step::{Step, Stop},
    },
    Core,
    attempts::verdict_of,
    reach::Hit,
    sets::Compiled,
};
use crate::model::{
    Breach, EventKind, FoundChange, Invariant, InvariantId, Layer, PlanId, ProjectName, Running,
    SLACK_NANOS, Session, Severity, Verdict, VerdictKind, Violation, ViolationId, hex,
};

/// Files that the agent itself writes beside its tools, when a person answers its questions. They
/// are guarded against the agent's tools and commands, but a change found in the tree may be the
/// person's answer.
const AGENTS_OWN: [&str; 1] = [".claude/settings.local.json"];

/// How many changes of one look that nobody is blamed for are reported one by one; a pull of
/// another branch must not bury the rest.
const MAX_UNOWNED: usize = 20;

/// Breaches not yet reported to their agents, by plan.
pub(super) type Unreported = BTreeMap<PlanId, Vec<Breach>>;

/// The changes that agents announced and that were let through, latest last.
#[derive(Debug, Default)]
pub(super) struct Announced(VecDeque<AnnouncedChange>);

#[derive(Debug)]
struct AnnouncedChange {
    root: PathBuf,
    path: PathBuf,
    plan: PlanId,
    at: Timestamp,
}

/// How many announced changes are remembered. One that was forgotten may be blamed on another
/// agent's command; this many are more than agents make while one command runs.
const MAX_ANNOUNCED: usize = 4096;

impl Announced {
    fn note(&mut self, change: AnnouncedChange) {
        self.0.push_back(change);
        if self.0.len() > MAX_ANNOUNCED {
            self.0.pop_front();
        }
    }

    /// Whether another plan than `plan` announced a change of `path` before `at`.
    fn elsewhere(&self, root: &Path, path: &Path, at: i64, plan: PlanId) -> bool {
        self.0.iter().rev().any(|a| {
            a.plan != plan
                && a.root == root
                && a.path == path
                && a.at.as_nanosecond() <= i128::from(at) + SLACK_NANOS
        })
    }
}

/// One change, and an invariant that it breaks.
struct Finding {
    change: FileChange,
    hit: Hit,
    invariant: Invariant,
}

/// What a look at a tree found, held against what is in force. Nothing of it is recorded yet: files
/// may have to be put back first, and the call is decided again then.
#[derive(Default)]
pub(super) struct Assessed {
    root: PathBuf,
    /// Violations that the look corrects: their files are as they were.
    put_back: Vec<ViolationId>,
    /// What is found against sessions, by agent and session.
    owned: BTreeMap<Key, Vec<Finding>>,
    /// Guarded files that changed while no agent's command ran: the project, the path as it is
    /// shown, and the invariant with its text.
    unowned: Vec<(ProjectName, String, InvariantId, String)>,
}

/// An agent and its session.
type Key = (String, String);

impl Core {
    /// Remembers the declared changes of an attempt that was let through, so that another agent's
    /// command is not blamed for them.
    pub(super) fn announce(&mut self, session: &Session, step: &Step<'_>) {
        // With nobody else at work in the directory there is nobody to be blamed by mistake.
        let others = self
            .state
            .sessions
            .values()
            .any(|s| s.is_live() && s.root == session.root && s.plan != session.plan);
        if !others {
            return;
        }
        let declared = step.facts.attempts.iter().flat_map(|a| a.declared());
        for path in declared.filter_map(|found| found.canonical.relative.clone()) {
            self.announced.note(AnnouncedChange {
                root: session.root.clone(),
                path,
                plan: session.plan,
                at: step.now,
            });
        }
    }

    /// Holds what changed in the directory `root` against what is in force there. `asking` is the
    /// session whose call brought the look about, if one did.
    ///
    /// # Errors
    /// Files are to be put back first.
    pub(super) fn assess(
        &mut self,
        root: &Path,
        project: &ProjectName,
        asking: Option<&Key>,
        facts: &Facts,
    ) -> Result<Assessed, Need> {
        let mut out = Assessed {
            root: root.to_owned(),
            ..Assessed::default()
        };
        // Compiled when the first change without an owner needs it; the inner `None` is a set
        // that cannot be compiled.
        let mut for_people: Option<Option<Compiled>> = None;
        for (spelled, change) in facts.looks_at(root) {
            // A file that is as it was before its violation mends it, and is no new change.
            let corrected = self.corrected_by_look(root, change);
            if !corrected.is_empty() {
                out.put_back.extend(corrected);
                continue;
            }
            let Some(owner) = self.owner(root, asking, change) else {
                let compiled =
                    for_people.get_or_insert_with(|| self.compiled_for_people(project, spelled));
                let found = compiled.as_ref().and_then(|c| self.unowned(c, change));
                out.unowned.extend(found.map(|(path, invariant)| {
                    (project.clone(), path, invariant.id, invariant.text)
                }));
                continue;
            };
            let plan = owner.plan;
            if self
                .announced
                .elsewhere(root, &change.path, change.at, plan)
            {
                continue;
            }
            // An invariant that cannot be checked denies every attempt; a change that was made
            // already cannot be held against it.
            let Ok(compiled) = self.compiled(plan, spelled) else {
                continue;
            };
            let ran: Vec<&Running> = ran_then(&owner, change.at).collect();
            for (hit, invariant) in broken_by_change(&compiled, change) {
                let asks = matches!(invariant.layer, Layer::Assent { .. });
                let asked = (invariant.id, &hit.signature);
                if asks && self.had_assent(Some(plan), asked, change.at, &ran) {
                    continue;
                }
                let key = (owner.agent.clone(), owner.session.clone());
                out.owned.entry(key).or_default().push(Finding {
                    change: change.clone(),
                    hit,
                    invariant,
                });
            }
        }
        self.restored_first(&out, facts)?;
        Ok(out)
    }

    /// Asks for files to be put back, where the configuration wants that, before what was found is
    /// recorded: the record says whether it succeeded.
    ///
    /// # Errors
    /// Files that nobody has tried to put back yet.
    fn restored_first(&self, assessed: &Assessed, facts: &Facts) -> Result<(), Need> {
        if !self.restores {
            return Ok(());
        }
        let mut files: Vec<ToRestore> = Vec::new();
        for finding in assessed.owned.values().flatten() {
            let path = &finding.change.path;
            let done = facts.restored(&assessed.root, path).is_some();
            if let (Some(before), false) = (finding.change.before, done)
                && !files.iter().any(|f| f.path == *path)
            {
                files.push(ToRestore {
                    root: assessed.root.clone(),
                    path: path.clone(),
                    before,
                });
            }
        }
        match files.is_empty() {
            true => Ok(()),
            false => Err(Need::Restore(files)),
        }
    }

    /// Records what a look found. An agent learns of what is found against its plan with the next
    /// answer that can carry it, which need not be the answer to this call.
    pub(super) fn record_found(&mut self, assessed: Assessed, step: &mut Step<'_>) {
        for id in &assessed.put_back {
            if let Some(violation) = self.state.violations.get(id).cloned() {
                self.correct(violation, "the file was put back", step);
            }
        }
        let surplus = assessed.unowned.len().saturating_sub(MAX_UNOWNED);
        for (at, (project, mut path, invariant_id, text)) in
            assessed.unowned.into_iter().take(MAX_UNOWNED).enumerate()
        {
            if surplus > 0 && at + 1 == MAX_UNOWNED {
                path = format!("{path} and {surplus} more");
            }
            self.emit(
                step,
                EventKind::ChangeNotAttributed {
                    project,
                    path,
                    text,
                    invariant_id,
                },
            );
        }
        for (key, found) in assessed.owned {
            self.blame(&key, &assessed.root, found, step);
        }
    }

    /// The open violations that end because a file is as it was before them.
    fn corrected_by_look(&self, root: &Path, change: &FileChange) -> Vec<ViolationId> {
        let now = change.now.map(|h| hex(&h));
        let open = self.state.violations.values().filter(|v| v.is_open());
        let put_back = open.filter(|v| {
            v.found
                .as_ref()
                .is_some_and(|f| f.root == root && f.path == change.path && f.before == now)
        });
        put_back.map(|v| v.id).collect()
    }

    /// A person asks for the file of a violation to be put back.
    ///
    /// # Errors
    /// No such violation, one without a file that can be put back, what the disk reports; or the
    /// file is to be put back first.
    pub(super) fn put_back(
        &mut self,
        violation: &str,
        step: &mut Step<'_>,
    ) -> Result<Violation, Stop> {
        let id = self.find_violation(violation)?;
        let violation = self.state.violations[&id].clone();
        let refuse = |why: &str| {
            let text = format!("violation {id} cannot be put back: {why}");
            Err(EngineError::invalid(text).into())
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
        match step.facts.restored(&found.root, &found.path) {
            Some(Ok(())) => {}
            Some(Err(why)) => return refuse(why),
            None => {
                let file = ToRestore {
                    root: found.root.clone(),
                    path: found.path.clone(),
                    before,
                };
                return Err(Need::Restore(vec![file]).into());
            }
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

    /// The session whose command ran when the change happened. When several match, the one that
    /// asks is taken: its command has just ended, so it is the likeliest.
    fn owner(&self, root: &Path, asking: Option<&Key>, change: &FileChange) -> Option<Session> {
        let acted = |s: &&Session| s.root == root && ran_then(s, change.at).next().is_some();
        let asking = asking.and_then(|key| self.state.sessions.get(key));
        asking
            .filter(acted)
            .or_else(|| self.state.sessions.values().find(acted))
            .cloned()
    }

    /// What is in force in a project for people: without a plan, and without invar's own
    /// invariants, which are about agents. `None` when it cannot be checked.
    fn compiled_for_people(&self, project: &ProjectName, root: &Root) -> Option<Compiled> {
        let of = EffectiveOf::Project(project.clone());
        let (_, merged) = self.merged_for(of, &root.written).ok()?;
        self.sets.compile_anew(&merged.effective, root, false).ok()
    }

    /// The first invariant that a change breaks for which nobody's command ran, with the path as it
    /// is shown. A change that a person assented to breaks none.
    fn unowned(&self, compiled: &Compiled, change: &FileChange) -> Option<(String, Invariant)> {
        let unasked = |(hit, invariant): &(Hit, Invariant)| {
            let asks = matches!(invariant.layer, Layer::Assent { .. });
            let asked = (invariant.id, &hit.signature);
            !(asks && self.had_assent(None, asked, change.at, &[]))
        };
        let mut broken = broken_by_change(compiled, change).into_iter();
        let (hit, invariant) = broken.find(unasked)?;
        Some((hit.shown, invariant))
    }

    /// Counts what was found against a session as strikes, opens violations, and halts the plan
    /// when a count has reached its limit.
    fn blame(&mut self, key: &Key, root: &Path, found: Vec<Finding>, step: &mut Step<'_>) {
        let Some(session) = self.state.sessions.get(key).cloned() else {
            return;
        };
        let plan = session.plan;
        // The command that is named ran when the first of the files changed; a later command may
        // have started by the time of the last.
        let at = found.iter().map(|f| f.change.at).min().unwrap_or_default();
        let blamed = ran_then(&session, at).last();
        let command = blamed.map_or_else(String::new, |r| r.command.clone());
        let mut breaches = Vec::new();
        let mut violations = Vec::new();
        for Finding {
            change,
            hit,
            invariant,
        } in found
        {
            let mut breach = self.breach(plan, None, &invariant, hit);
            if let Some(outcome) = step.facts.restored(root, &change.path) {
                breach.why = Some(match outcome {
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
            // A warning is said, and leaves nothing that blocks the plan.
            if breach.limit.is_none() && invariant.severity != Severity::Error {
                continue;
            }
            self.open_violation(&session, root, change, invariant, &command, step);
        }
        let halted = self.state.plans.get(&plan).is_some_and(|p| p.is_halted());
        if halts && !halted {
            self.halt(plan, &breaches, step);
        }
        self.unreported.entry(plan).or_default().extend(breaches);
    }

    /// Opens the violation of one changed file. A file that is changed again while its violation
    /// is open is one violation still, with the content from before the first change.
    fn open_violation(
        &mut self,
        session: &Session,
        root: &Path,
        change: &FileChange,
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
        let restored = step.facts.restored(root, &change.path) == Some(&Ok(()));
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

    /// Records that a command of a session is over: the call of that name, or without a name all
    /// that do not run in the background. From then on changes are not attributed to it.
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

    /// The verdict by which a session learns what was found against its plan; a halt of the plan
    /// outweighs it.
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

    /// The project directories that agents of a plan have worked in, each with one of the
    /// sessions and its project.
    fn roots_of(&self, plan: PlanId) -> BTreeMap<PathBuf, (Key, ProjectName)> {
        let sessions = self.state.sessions.iter().filter(|(_, s)| s.plan == plan);
        sessions
            .map(|(key, s)| (s.root.clone(), (key.clone(), s.project.clone())))
            .collect()
    }

    /// Before a plan is applied: holds what changed since the last look against what is in force,
    /// in all directories that its agents work in.
    ///
    /// # Errors
    /// The trees are to be looked at first, or files to be put back.
    pub(super) fn assess_before_apply(
        &mut self,
        plan: PlanId,
        facts: &Facts,
    ) -> Result<Vec<Assessed>, Need> {
        let roots = self.roots_of(plan);
        // Everything is looked at before anything is assessed, so that the decision is made once.
        if !facts.looked {
            return Err(Need::Looks(roots.into_keys().collect()));
        }
        let roots = roots.into_iter();
        roots
            .map(|(root, (key, project))| self.assess(&root, &project, Some(&key), facts))
            .collect()
    }
}

/// The commands of a session that ran when a file changed; the last of them is blamed.
fn ran_then(session: &Session, at: i64) -> impl Iterator<Item = &Running> {
    let all = session.running.iter();
    all.filter(move |r| started_before(r, at))
}

/// Whether a command had started when a file changed, `at` in Unix nanoseconds. Commands that have
/// ended are not listed any more, so this is enough.
fn started_before(running: &Running, at: i64) -> bool {
    running.since.as_nanosecond() <= i128::from(at) + SLACK_NANOS
}

/// The hash of hexadecimal digits, two a byte; `None` for anything else.
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

/// The first line of foreign text, made visible and cut: it goes into a record of one line.
fn one_line(text: &str) -> String {
    let line = crate::model::visible(text.lines().next().unwrap_or_default()).into_owned();
    match line.char_indices().nth(120) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// What a change of a file breaks. The place itself counts, not where a link there leads: the tree
/// reports the link as what changed.
fn broken_by_change(compiled: &Compiled, change: &FileChange) -> Vec<(Hit, Invariant)> {
    if AGENTS_OWN.iter().any(|own| change.path == Path::new(own)) {
        return Vec::new();
    }
    let checks = compiled.checks();
    let found = checks.root.at(&change.path);
    let what = match (change.before, change.now) {
        (None, _) => "it was made",
        (_, None) => "it was removed",
        _ => "its content is another",
    };
    let broken = found.broken(checks.set, false).into_iter();
    broken
        .map(|index| {
            let hit = Hit {
                index,
                signature: found.signature(),
                shown: found.shown.clone(),
                why: Some(what.to_owned()),
            };
            (hit, compiled.letter(index).invariant.clone())
        })
        .collect()
}
