//! The resolver: what keeps a plan from going on, and the ways out of each.

use std::sync::Arc;

use super::model::Model;
use crate::{
    model::{
        Assent, AssentId, Invariant, InvariantId, Layer, LetterCheck, Origin, Plan, PlanId,
        Severity, Violation, ViolationId, visible,
    },
    rules::{conflict::Contradiction, merge::merge, normalise::KeyedInvariant},
};

/// How many lines of a change are on its card.
const MAX_CHANGE: usize = 12;

/// The resolver while it is open.
#[derive(Debug, Clone)]
pub struct Resolver {
    pub plan: PlanId,
    /// The row of [`items`] that is selected; past them lies "retry".
    pub item: usize,
    /// The way out that is selected.
    pub way: usize,
    /// The reason of a waiver or a refusal while it is typed.
    pub reason: Option<String>,
    /// The item that is selected, to find it again when others have come or gone; `None` before
    /// there was one.
    about: Option<About>,
}

/// What an item is about: the same as long as it is the same thing, however it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    Halt,
    Assent(AssentId),
    Violation(ViolationId),
    /// A contradiction, by the invariant that cannot be kept: it is in one at the most.
    Contradiction(InvariantId),
    /// An invariant that nobody has answered for.
    Unanswered(InvariantId),
    /// Nothing blocks any more.
    Retry,
}

impl Resolver {
    /// A resolver at its first item.
    pub fn new(plan: PlanId) -> Self {
        Self {
            plan,
            item: 0,
            way: 0,
            reason: None,
            about: None,
        }
    }

    /// Follows its item; when that is settled the next one comes, at its first way out.
    pub fn settle(&mut self, items: &[Item]) {
        let same = |item: &Item| Some(item.about) == self.about;
        if !items.get(self.item).is_some_and(same) {
            match items.iter().position(same) {
                Some(at) => self.item = at,
                None => {
                    self.item = self.item.min(items.len().saturating_sub(1));
                    self.way = 0;
                    self.reason = None;
                }
            }
        }
        self.show(items);
    }

    /// Moves to the next item or the one before.
    pub fn turn(&mut self, step: isize, items: &[Item]) {
        let count = items.len().max(1) as isize;
        self.item = (self.item as isize + step).rem_euclid(count) as usize;
        self.way = 0;
        self.show(items);
    }

    fn show(&mut self, items: &[Item]) {
        let item = items.get(self.item);
        self.about = item.map(|i| i.about);
        self.way = self
            .way
            .min(item.map_or(0, |i| i.offers.len().saturating_sub(1)));
    }
}

/// A way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// Lets the invariant allow these patterns.
    Allow(InvariantId, Vec<String>),
    /// Lets a change be made: once, or as often as it comes in the plan.
    Approve(AssentId, bool),
    /// Says no, with a reason.
    Refuse(AssentId),
    Edit(InvariantId),
    Remove(InvariantId),
    PutBack(ViolationId),
    Corrected(ViolationId),
    Waive(ViolationId),
    Resume,
    Cancel,
    Retry,
}

/// A way out as it is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub way: Way,
    pub label: String,
    /// Why it cannot be taken.
    pub disabled: Option<String>,
}

/// One thing that keeps the plan from going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub about: About,
    /// In a few words.
    pub title: String,
    /// What a person needs to decide, line by line.
    pub lines: Vec<String>,
    pub offers: Vec<Offer>,
}

/// What stands in the way of a plan. When nothing does, the one item is to go on.
pub fn items(model: &Model, plan: PlanId) -> Vec<Item> {
    let Some(plan) = model.state.plans.get(&plan) else {
        return Vec::new();
    };
    let mut items = Vec::new();
    if plan.is_halted() {
        items.push(halted(plan));
    }
    items.extend(model.state.waiting_assents(plan.id).map(question));
    let open: Vec<&Violation> = model
        .state
        .open_violations(plan.id)
        .filter(|v| v.severity == Severity::Error)
        .collect();
    for violation in &open {
        items.push(violated(model, violation));
    }
    let violating: Vec<InvariantId> = open.iter().map(|v| v.invariant_id).collect();
    for conflict in model.contradictions(plan) {
        items.push(contradiction(model, plan, &conflict));
    }
    if plan.state == crate::model::PhaseState::Blocked {
        let conflicting: Vec<InvariantId> = model
            .contradictions(plan)
            .iter()
            .flat_map(|c| c.stronger.iter().copied().chain([c.weaker]))
            .collect();
        let rest = plan
            .violated_ids
            .iter()
            .filter(|id| !violating.contains(id) && !conflicting.contains(id));
        for id in rest {
            items.extend(undecided(model, *id));
        }
    }
    if items.is_empty()
        && let Some(transition) = plan.blocked
    {
        items.push(Item {
            about: About::Retry,
            title: format!("nothing blocks {} any more", transition.verb()),
            lines: vec!["Everything that stood in the way is settled.".into()],
            offers: vec![Offer {
                way: Way::Retry,
                label: format!("retry {}", transition.verb()),
                disabled: None,
            }],
        });
    }
    items
}

fn halted(plan: &Plan) -> Item {
    let why = plan.halt_reason.as_deref().unwrap_or("it was halted");
    Item {
        about: About::Halt,
        title: "the run is halted".into(),
        lines: vec![
            visible(why).into_owned(),
            "Every action of the agent is denied until you decide.".into(),
        ],
        offers: vec![
            offer(Way::Resume, "resume: the count starts again", None),
            offer(Way::Cancel, "cancel the plan", None),
        ],
    }
}

/// The card of a change that waits for a person.
fn question(assent: &Assent) -> Item {
    let shown = |text: &str| visible(text).into_owned();
    let mut lines = vec![
        format!(
            "{} wants to change {} by {}",
            shown(&assent.agent),
            shown(&assent.path),
            shown(&assent.tool)
        ),
        format!("asked {}", assent.asked_at.strftime("%H:%M:%S")),
    ];
    let change: Vec<String> = assent.change.lines().map(shown).collect();
    let more = change.len().saturating_sub(MAX_CHANGE);
    lines.extend(change.into_iter().take(MAX_CHANGE));
    if more > 0 {
        lines.push(format!(
            "… {more} more lines: `invar assent list` shows them"
        ));
    }
    Item {
        about: About::Assent(assent.id),
        title: shown(&format!("assent: {}", assent.text.replace('\n', " "))),
        lines,
        offers: vec![
            offer(Way::Approve(assent.id, false), "approve once", None),
            offer(
                Way::Approve(assent.id, true),
                "approve this change for the whole plan",
                None,
            ),
            offer(
                Way::Refuse(assent.id),
                "refuse, with a reason that the model reads",
                None,
            ),
        ],
    }
}

fn violated(model: &Model, violation: &Violation) -> Item {
    let invariant = model.invariant(violation.invariant_id);
    let built_in = invariant.is_some_and(|i| i.origin == Origin::BuiltIn);
    let locked = built_in || invariant.is_some_and(Invariant::is_locked);
    let mut lines = vec![visible(&violation.details).into_owned()];
    if let Some(invariant) = invariant {
        lines.push(format!("of {}", visible(&invariant.scope.to_string())));
        if let Some(check) = invariant.layer.letter() {
            lines.push(format!("check: {}", check.sentence()));
        }
    }
    let mut offers = Vec::new();
    if let Some(found) = &violation.found {
        let path = visible(&found.path.to_string_lossy()).into_owned();
        let why = match found.before {
            None => Some(format!("it was not there before: remove {path} by hand")),
            Some(_) if !model.can_put_back => {
                Some("no copy was kept; set `[tree] restore = true`, or put it back by hand".into())
            }
            Some(_) => None,
        };
        offers.push(offer(
            Way::PutBack(violation.id),
            &format!("put {path} back as it was"),
            why,
        ));
    }
    offers.push(offer(Way::Corrected(violation.id), "it is put right", None));
    offers.push(offer(
        Way::Waive(violation.id),
        "waive it, with a reason",
        locked.then(|| "nobody may waive a non-overridable invariant".into()),
    ));
    offers.extend(changes(invariant, violation.invariant_id));
    Item {
        about: About::Violation(violation.id),
        title: visible(&violation.violated_text.replace('\n', " ")).into_owned(),
        lines,
        offers,
    }
}

fn undecided(model: &Model, id: InvariantId) -> Option<Item> {
    let invariant = model.invariant(id)?;
    Some(Item {
        about: About::Unanswered(id),
        title: visible(&invariant.text.replace('\n', " ")).into_owned(),
        lines: vec![
            format!("of {}", visible(&invariant.scope.to_string())),
            format!(
                "It is of the layer {}, and nobody has answered for it yet.",
                invariant.layer.kind().as_str()
            ),
        ],
        offers: changes(Some(invariant), id),
    })
}

fn contradiction(model: &Model, plan: &Plan, conflict: &Contradiction) -> Item {
    let name = |id: InvariantId| {
        let invariant = model.invariant(id);
        invariant.map_or(String::new(), |i| {
            visible(&i.text.replace('\n', " ")).into_owned()
        })
    };
    let members: Vec<InvariantId> = conflict
        .stronger
        .iter()
        .copied()
        .chain([conflict.weaker])
        .collect();
    let mut lines: Vec<String> = members
        .iter()
        .map(|id| {
            let scope = model.invariant(*id).map(|i| i.scope.to_string());
            format!("{} ({})", name(*id), visible(&scope.unwrap_or_default()))
        })
        .collect();
    lines.push(visible(&conflict.proof).into_owned());
    if let Some((own, theirs)) = &conflict.witnesses {
        lines.push(format!(
            "only \"{}\" allows {}, and only the {} {}",
            name(conflict.weaker),
            visible(&own.0),
            if conflict.stronger.len() > 1 {
                "others allow"
            } else {
                "other one allows"
            },
            visible(&theirs.0)
        ));
    }
    let mut offers = fixes(model, plan, &members);
    for id in members.iter().rev() {
        let mut edit = changes(model.invariant(*id), *id).remove(0);
        edit.label = format!("edit: {}", name(*id));
        offers.push(edit);
    }
    Item {
        about: About::Contradiction(conflict.weaker),
        title: match members.len() {
            2 => "two invariants contradict each other".into(),
            n => format!("{n} invariants contradict each other"),
        },
        lines,
        offers,
    }
}

/// Ways out of a contradiction in one key, each tried on the plan's set: it removes the
/// contradiction and brings no other one.
fn fixes(model: &Model, plan: &Plan, members: &[InvariantId]) -> Vec<Offer> {
    let collected = model.state.collect_for_plan(plan);
    let clash = |all: &[Arc<KeyedInvariant>]| -> Vec<InvariantId> {
        merge(all).unresolved.iter().map(|c| c.weaker).collect()
    };
    let before = clash(&collected);
    // The weaker one comes last. A fix helps when it clashes no more and nothing else begins to.
    let weaker = members.last();
    let helps = |after: Vec<InvariantId>| {
        after
            .iter()
            .all(|id| before.contains(id) && Some(id) != weaker)
    };
    let mut offers = Vec::new();
    for id in members.iter().rev() {
        let Some(invariant) = model.invariant(*id).filter(|i| i.origin != Origin::BuiltIn) else {
            continue;
        };
        let name = visible(&invariant.text.replace('\n', " ")).into_owned();
        // Allowing what the others allow as well.
        if let Some(LetterCheck::NoEditsOutside(own)) = invariant.layer.letter() {
            let mut patterns = own.clone();
            for other in members.iter().filter(|m| *m != id) {
                let other = model.invariant(*other).and_then(|i| i.layer.letter());
                if let Some(LetterCheck::NoEditsOutside(theirs)) = other {
                    patterns.extend(theirs.iter().filter(|p| !own.contains(p)).cloned());
                }
            }
            let mut wider = invariant.clone();
            wider.layer = Layer::Letter(LetterCheck::NoEditsOutside(patterns.clone()));
            let mut all = collected.clone();
            all.retain(|k| k.invariant.id != *id);
            all.push(KeyedInvariant::new(wider));
            if patterns.len() > own.len() && helps(clash(&all)) {
                let label = format!(
                    "allow {} as well in: {name}",
                    patterns[own.len()..].join(", ")
                );
                offers.push(offer(Way::Allow(*id, patterns), &visible(&label), None));
            }
        }
        let mut all = collected.clone();
        all.retain(|k| k.invariant.id != *id);
        if helps(clash(&all)) {
            offers.push(offer(Way::Remove(*id), &format!("remove: {name}"), None));
        }
    }
    offers
}

fn changes(invariant: Option<&Invariant>, id: InvariantId) -> Vec<Offer> {
    let why = match invariant {
        None => Some("it is gone already".to_owned()),
        Some(i) if i.origin == Origin::BuiltIn => Some("it is built in".to_owned()),
        Some(_) => None,
    };
    vec![
        offer(Way::Edit(id), "edit the invariant", why.clone()),
        offer(Way::Remove(id), "remove the invariant", why),
    ]
}

fn offer(way: Way, label: &str, disabled: Option<String>) -> Offer {
    Offer {
        way,
        label: label.to_owned(),
        disabled,
    }
}

/// What needs a person, in every plan: halted and blocked ones, and what can go on again.
pub fn inbox(model: &Model) -> Vec<(PlanId, String, bool)> {
    let plans = model.state.plans.values().rev();
    plans
        .filter_map(|plan| {
            let (text, bad) = model.standing(plan)?;
            Some((plan.id, text, bad))
        })
        .collect()
}
