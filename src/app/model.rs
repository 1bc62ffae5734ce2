//! What the terminal program knows and shows.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use crossterm::event::{KeyEvent, MouseEvent};

use super::{
    action::Action,
    ask::{Answered, Ask},
    effective::{self, EffectiveRow},
    list::ListView,
    overlay::Overlay,
    settings::Settings,
    stream::{Stream, Tone, blocked_by},
    tree::{self, Node, TreeRow},
};
use crate::{
    engine::{State, requests::Snapshot},
    model::{
        Event, Invariant, InvariantId, Money, PhaseState, Plan, PlanId, ProjectName, Scope,
        ScopeKind,
    },
    rules::{
        automaton::Surface,
        conflict::Contradiction,
        findings::{Comparison, Finder, compare},
        merge::merge,
        normalise::KeyedInvariant,
    },
};

/// The four panes, in the order of their digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pane {
    Scopes,
    Effective,
    Plan,
    Breaches,
}

impl Pane {
    /// All panes, in the order of `Tab`.
    pub const ALL: [Pane; 4] = [Self::Scopes, Self::Effective, Self::Plan, Self::Breaches];
}

/// What comes in.
#[derive(Debug)]
pub enum Msg {
    Key(KeyEvent),
    Paste(String),
    Mouse(MouseEvent),
    Resize(u16, u16),
    Action(Action),
    /// There is an engine; the state as it knows it.
    Up {
        snapshot: Box<Snapshot>,
        hosting: bool,
    },
    /// The engine went away; another is looked for.
    Down,
    Event(Arc<Event>),
    /// Some events did not fit.
    Lagged {
        missed: u64,
    },
    /// The configuration was read: what it says, or what is wrong with it.
    Settings(Result<Box<Settings>, String>),
    /// Files that patterns match were counted.
    Counted(Counted),
    /// The text that an editor of the person's own left; `None` when it was given up.
    Edited(Option<String>),
    /// How a copy went.
    Copied(Result<String, String>),
    /// The engine has answered.
    Answer(Box<Answered>),
}

/// How many of the project's files patterns match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    pub patterns: Vec<String>,
    pub hits: usize,
    pub total: usize,
}

/// What shall be done.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Ask the engine.
    Ask(Ask),
    /// Put the text into the clipboard.
    Copy(String),
    /// Hand the text to the person's own editor.
    External(String),
    /// Count the files that match.
    Count(Vec<String>),
    /// Something begins to need a person.
    Bell,
    Suspend,
    Quit,
}

/// Whether there is an engine to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineLink {
    /// `hosting`: this process is the engine's.
    Live {
        hosting: bool,
    },
    Lost,
}

/// What was found out about a draft.
#[derive(Default)]
struct DraftNotes {
    finder: Finder,
    /// The draft, and the event that was the last one then.
    key: Option<(Invariant, u64)>,
    notes: Vec<String>,
}

/// The model.
pub struct Model {
    pub size: (u16, u16),
    pub focus: Pane,
    pub zoom: bool,
    pub overlays: Vec<Overlay>,
    pub settings: Settings,
    /// Nothing may be changed from here.
    pub read_only: bool,
    /// The engine keeps copies of guarded files.
    pub can_put_back: bool,
    /// What the checks of a plan and of a day may cost, where there is a judge.
    pub judge_bounds: Option<(Money, Money)>,
    /// How many files the editor's patterns match, once they are counted.
    pub counted: Option<Counted>,
    draft_notes: RefCell<DraftNotes>,
    /// A line about the last thing done; the next key takes it away.
    pub toast: Option<(Tone, String)>,
    pub link: EngineLink,
    pub state: State,
    pub built_in: Vec<Arc<KeyedInvariant>>,
    pub tree: Vec<TreeRow>,
    pub scopes: ListView<Node>,
    pub folded: BTreeSet<ScopeKind>,
    pub rows: Vec<EffectiveRow>,
    pub effective: ListView<InvariantId>,
    pub stream: Stream,
    pub breaches: ListView<u64>,
    pub plan_scroll: usize,
    /// The project of the directory that invar was started in.
    pub home_project: Option<ProjectName>,
    pub home: Option<PathBuf>,
    /// The selection follows new plans until a person moves it.
    pub follows_plans: bool,
    /// An invariant that was just added or changed here, to be brought into view.
    pub(super) reveal: Option<InvariantId>,
    /// Whether a state was ever taken in.
    pub(super) started: bool,
    /// Events that the engine or the screen could not keep up with.
    pub missed: u64,
    /// A sentence over all panes, such as what the demo shows now.
    pub notice: Option<String>,
    /// Events that came while the state was asked for again.
    pub(super) held: Option<Vec<Arc<Event>>>,
    pub(super) stale: Stale,
    /// The row that was selected in each scope.
    remembered: BTreeMap<Node, InvariantId>,
    /// The selection that the effective set was built for.
    pub(super) built_for: Option<Node>,
}

/// What must be built anew before it is shown.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stale {
    pub tree: bool,
    pub effective: bool,
    pub breaches: bool,
}

impl Model {
    /// A model that knows nothing yet.
    pub fn new(home_project: Option<ProjectName>, home: Option<PathBuf>) -> Self {
        Self {
            size: (80, 24),
            focus: Pane::Effective,
            zoom: false,
            overlays: Vec::new(),
            settings: Settings::default(),
            read_only: false,
            can_put_back: false,
            judge_bounds: None,
            counted: None,
            draft_notes: RefCell::new(DraftNotes {
                finder: Finder::new(Surface::unknown()),
                ..DraftNotes::default()
            }),
            toast: None,
            link: EngineLink::Lost,
            state: State::default(),
            built_in: Vec::new(),
            tree: Vec::new(),
            scopes: ListView::default(),
            folded: BTreeSet::new(),
            rows: Vec::new(),
            effective: ListView::default(),
            stream: Stream::default(),
            breaches: ListView::default(),
            plan_scroll: 0,
            home_project,
            home,
            follows_plans: true,
            reveal: None,
            started: false,
            missed: 0,
            notice: None,
            held: None,
            stale: Stale {
                tree: true,
                effective: true,
                breaches: true,
            },
            remembered: BTreeMap::new(),
            built_for: None,
        }
    }

    /// Rebuilds the rows of those lists that are stale. Call it before drawing; it costs nothing
    /// when nothing has changed.
    pub fn settle(&mut self) {
        if std::mem::take(&mut self.stale.tree) {
            self.tree = tree::rows(&self.state, &self.folded);
            self.scopes
                .refresh(&self.tree, |r| r.node.clone(), |r| r.label.clone());
        }
        self.reveal_scope();
        let node = self.scopes.selected.clone();
        if std::mem::take(&mut self.stale.effective) || self.built_for != node {
            let shown = node.clone().unwrap_or(Node::Global);
            self.rows = effective::rows(&self.state, &self.built_in, &shown);
            if self.built_for != node {
                // Each scope is found again as it was left.
                if let (Some(left), Some(row)) = (self.built_for.take(), self.effective.selected) {
                    self.remembered.insert(left, row);
                }
                self.effective.selected =
                    node.as_ref().and_then(|n| self.remembered.get(n).copied());
                self.effective.offset = 0;
                self.plan_scroll = 0;
            }
            self.built_for = node;
            self.effective
                .refresh(&self.rows, effective_key, EffectiveRow::filter_text);
        }
        if std::mem::take(&mut self.stale.breaches) {
            let rows = self.stream.rows.make_contiguous();
            let text = |r: &super::stream::StreamRow| {
                format!("{} {} {} {}", r.word, r.what, r.why, r.strike)
            };
            self.breaches.refresh(rows, |r| r.seq, text);
        }
    }

    /// Selects the scope of the invariant to be revealed, when the shown one does not reach it,
    /// and the invariant itself.
    fn reveal_scope(&mut self) {
        let Some(keyed) = self.reveal.and_then(|id| self.state.invariants.get(&id)) else {
            return;
        };
        let (id, scope) = (keyed.invariant.id, keyed.invariant.scope.clone());
        self.reveal = None;
        let shown = self.scopes.selected.clone().unwrap_or(Node::Global);
        let reached = effective::rows(&self.state, &[], &shown)
            .iter()
            .any(|r| r.invariant().id == id);
        if !reached {
            self.scopes.selected = Some(Node::of(&scope));
        }
        self.stale.effective = true;
        self.effective.selected = Some(id);
        // The selection was made for the rows that are built next.
        self.built_for = self.scopes.selected.clone();
    }

    /// The project of what is selected among the scopes, else the one of this directory.
    pub fn project_in_view(&self) -> Option<ProjectName> {
        let selected = match self.scopes.selected.as_ref() {
            Some(Node::Project(name)) => Some(name.clone()),
            Some(Node::Plan(id)) => self.state.plans.get(id).map(|p| p.project.clone()),
            _ => None,
        };
        selected.or_else(|| self.home_project.clone())
    }

    /// The invariant that is selected in the effective set.
    pub fn selected_invariant(&self) -> Option<&Invariant> {
        self.selected_row().map(EffectiveRow::invariant)
    }

    /// The row that is selected in the effective set.
    pub fn selected_row(&self) -> Option<&EffectiveRow> {
        let index = self.effective.selected_index(&self.rows, effective_key)?;
        self.rows.get(*self.effective.shown.get(index)?)
    }

    /// The plan that the screen is about: the selected one, or the current one of the selected
    /// project.
    pub fn shown_plan(&self) -> Option<&Plan> {
        match self.scopes.selected.as_ref()? {
            Node::Plan(id) => self.state.plans.get(id),
            Node::Project(name) => self.state.current_plan(name),
            _ => None,
        }
    }

    /// Whether nothing was ever added: the welcome shows.
    pub fn is_empty(&self) -> bool {
        self.state.invariants.is_empty() && self.state.plans.is_empty()
    }

    /// Plans with an agent at work.
    pub fn running(&self) -> usize {
        let mut plans: Vec<PlanId> = self
            .state
            .sessions
            .values()
            .filter(|s| s.is_live())
            .map(|s| s.plan)
            .collect();
        plans.sort_unstable();
        plans.dedup();
        let live = |id: &PlanId| self.state.plans.get(id).is_some_and(|p| !p.is_over());
        plans.iter().filter(|id| live(id)).count()
    }

    /// Plans that are blocked, and plans that are halted: both need a person.
    pub fn stuck(&self) -> (usize, usize) {
        let count = |state| {
            self.state
                .plans
                .values()
                .filter(|p| p.state == state)
                .count()
        };
        (count(PhaseState::Blocked), count(PhaseState::Halted))
    }

    /// An invariant, of a person or built in.
    pub fn invariant(&self, id: InvariantId) -> Option<&Invariant> {
        let own = self.state.invariants.get(&id);
        own.or_else(|| self.built_in.iter().find(|k| k.invariant.id == id))
            .map(|k| &k.invariant)
    }

    /// What saving an invariant as it is would change, and what it would be in conflict with: one
    /// sentence each. Drawn in every frame, so that the answer is kept until something changes.
    pub fn draft_conflicts(&self, draft: &Invariant) -> Vec<String> {
        let mut kept = self.draft_notes.borrow_mut();
        let key = (draft.clone(), self.state.seq);
        if kept.key.as_ref() != Some(&key) {
            kept.notes = self.examine(draft, &mut kept.finder);
            kept.key = Some(key);
        }
        kept.notes.clone()
    }

    fn examine(&self, draft: &Invariant, finder: &mut Finder) -> Vec<String> {
        let mut all = match &draft.scope {
            Scope::Global => self.state.collect(None, None),
            Scope::Project(name) => self.state.collect(Some(name), None),
            Scope::Action(name) => self.state.collect(None, Some(name)),
            Scope::Plan(id) => match self.state.plans.get(id) {
                Some(plan) => self.state.collect_for_plan(plan),
                None => Vec::new(),
            },
        };
        all.retain(|k| k.invariant.id != draft.id);
        all.push(KeyedInvariant::new(draft.clone()));
        let merged = merge(&all);
        let name = |i: &Invariant| {
            let text = crate::model::visible(&i.text.replace('\n', " ")).into_owned();
            format!("\"{text}\" ({})", i.scope.kind())
        };
        let mut notes = Vec::new();
        for shadow in &merged.shadowed {
            let (winner, loser) = (&shadow.winner.invariant, &shadow.loser.invariant);
            let what = match shadow.contradiction {
                Some(_) => "contradicts",
                None => "says the same as",
            };
            if loser.id == draft.id {
                notes.push(format!(
                    "it {what} {}, which wins: {}",
                    name(winner),
                    shadow.rationale
                ));
            } else if winner.id == draft.id {
                notes.push(format!(
                    "it {what} {}, and wins: {}",
                    name(loser),
                    shadow.rationale
                ));
            }
        }
        for conflict in &merged.unresolved {
            let members = conflict.stronger.iter().chain([&conflict.weaker]);
            let others: Vec<String> = members
                .clone()
                .filter(|id| **id != draft.id)
                .filter_map(|id| self.invariant(*id))
                .map(name)
                .collect();
            if members.into_iter().any(|id| *id == draft.id) {
                notes.push(format!(
                    "it contradicts {} of equal strength, and would block the plan: {}",
                    others.join(" and "),
                    conflict.proof
                ));
            }
        }
        notes.extend(self.edit_changes(draft));
        let unresolved = |id: InvariantId| merged.unresolved.iter().any(|c| c.weaker == id);
        let effective = merged.effective.iter().map(|k| &k.invariant);
        let kept: Vec<&Invariant> = effective.filter(|i| !unresolved(i.id)).collect();
        let findings = finder.findings(&kept, None);
        let own = findings
            .into_iter()
            .filter(|f| f.invariants.contains(&draft.id));
        notes.extend(own.map(|f| format!("{}: {}", f.kind.as_str(), f.proof)));
        notes
    }

    /// How a draft changes what may be edited, with a path that shows it.
    fn edit_changes(&self, draft: &Invariant) -> Option<String> {
        let after = draft.layer.letter();
        let before = self.invariant(draft.id).and_then(|i| i.layer.letter());
        if after.is_none() && before.is_none() {
            return None;
        }
        Some(match compare(before, after, &Surface::unknown(), &[]) {
            Comparison::Equal if before.is_some() => "it allows the same as before".to_owned(),
            Comparison::Equal => "it forbids nothing".to_owned(),
            Comparison::Tighter(lost) if before.is_none() => {
                format!("{} may no longer be edited", lost.0)
            }
            Comparison::Tighter(lost) => format!("tighter: {} may no longer be edited", lost.0),
            Comparison::Looser(gained) => format!("looser: {} may be edited then", gained.0),
            Comparison::Incomparable(lost, gained) => {
                format!("{} may no longer be edited, and {} may", lost.0, gained.0)
            }
            Comparison::Undecided => "it is too large to be compared with what it was".to_owned(),
        })
    }

    /// The contradictions that keep a plan from going on.
    pub fn contradictions(&self, plan: &Plan) -> Vec<Contradiction> {
        merge(&self.state.collect_for_plan(plan)).unresolved
    }

    /// What a plan needs of a person, and whether it is bad; `None` when it needs nothing.
    pub fn standing(&self, plan: &Plan) -> Option<(String, bool)> {
        let waiting = self.state.waiting_assents(plan.id).count();
        if waiting > 0 && !plan.is_over() {
            let word = if waiting == 1 {
                "change waits"
            } else {
                "changes wait"
            };
            return Some((format!("{waiting} {word} for your assent"), true));
        }
        match plan.state {
            PhaseState::Halted => {
                let why = plan.halt_reason.as_deref().unwrap_or("it was halted");
                Some((format!("halted: {why}"), true))
            }
            PhaseState::Blocked => {
                let why = match plan.blocked {
                    Some(transition) => blocked_by(transition, plan),
                    None => "the transition is blocked".to_owned(),
                };
                Some((why, true))
            }
            PhaseState::Queued if plan.blocked.is_some() => {
                let verb = plan.blocked.map_or("it", |t| t.verb());
                Some((format!("nothing blocks {verb} any more"), false))
            }
            _ if !plan.is_over() => {
                let open = self.state.open_violations(plan.id).filter(|v| v.blocks());
                let count = open.count();
                (count > 0).then(|| {
                    let word = if count == 1 {
                        "violation"
                    } else {
                        "violations"
                    };
                    (format!("{count} open {word}"), true)
                })
            }
            _ => None,
        }
    }

    /// Where an invariant is in force: plans that are not over, and how many have an agent at work.
    pub fn reach(&self, id: InvariantId) -> (usize, usize) {
        let open = self.state.plans.values().filter(|p| !p.is_over());
        let reached: Vec<&Plan> = open
            .filter(|p| {
                let mut all = self.state.collect_for_plan(p).into_iter();
                all.any(|k| k.invariant.id == id)
            })
            .collect();
        let at_work = |plan: &&&Plan| {
            let mut sessions = self.state.sessions.values();
            sessions.any(|s| s.plan == plan.id && s.is_live())
        };
        (reached.len(), reached.iter().filter(at_work).count())
    }

    /// How many plans need a person.
    pub fn needing(&self) -> usize {
        let plans = self.state.plans.values();
        plans.filter(|p| self.standing(p).is_some()).count()
    }

    /// What the banner says about the shown plan; none when nothing is wrong.
    pub fn banner(&self) -> Option<(Tone, String)> {
        let plan = self.shown_plan()?;
        let (text, bad) = self.standing(plan)?;
        Some((if bad { Tone::Bad } else { Tone::Good }, text))
    }

    /// The scopes that an invariant can be given, the selected one first.
    pub fn scope_choices(&self) -> Vec<Scope> {
        let mut choices: Vec<Scope> = Vec::new();
        let selected = self.scopes.selected.as_ref().and_then(Node::scope);
        let home = self.home_project.clone().map(Scope::Project);
        let shown = self.shown_plan().map(|p| Scope::Project(p.project.clone()));
        let rest = self.tree.iter().filter_map(|r| r.node.scope());
        for scope in selected
            .into_iter()
            .chain([Scope::Global])
            .chain(shown)
            .chain(home)
            .chain(rest)
        {
            if !choices.contains(&scope) {
                choices.push(scope);
            }
        }
        choices
    }
}

/// The name of a row of the effective set: it stays when the row becomes shadowed or in force.
pub fn effective_key(row: &EffectiveRow) -> InvariantId {
    row.invariant().id
}
