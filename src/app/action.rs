//! Every operation of the terminal program, described once. Keys, help and hints come from
//! this table and from nowhere else.

use super::model::{Model, Pane};
use crate::model::{Origin, Transition};

/// An operation a person can ask for outside a text field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    Add,
    Edit,
    ExternalEdit,
    Remove,
    Undo,
    Redo,
    Open,
    Filter,
    FilterMode,
    NextPhase,
    Resume,
    Resolve,
    Inbox,
    Copy,
    Palette,
    NextPane,
    PreviousPane,
    ScopesPane,
    EffectivePane,
    PlanPane,
    BreachesPane,
    Zoom,
    Up,
    Down,
    Left,
    Right,
    HalfPageUp,
    HalfPageDown,
    PageUp,
    PageDown,
    First,
    Last,
    Back,
    Suspend,
    Help,
    Quit,
}

/// What is known about an action besides its name.
pub struct Description {
    pub action: Action,
    /// The name in configuration and documentation.
    pub id: &'static str,
    /// A word or two for the hint row.
    pub label: &'static str,
    /// A sentence for the help.
    pub help: &'static str,
    /// Keys, as [`super::keymap`] reads them.
    pub keys: &'static [&'static str],
    /// The panes whose hint row shows it, most wanted first in the table.
    pub hint: &'static [Pane],
}

const ALL: &[Pane] = &[Pane::Scopes, Pane::Effective, Pane::Plan, Pane::Breaches];
const LISTS: &[Pane] = &[Pane::Scopes, Pane::Effective, Pane::Breaches];
const NONE: &[Pane] = &[];

macro_rules! actions {
    ($($action:ident, $id:literal, $label:literal, $help:literal, $keys:expr, $hint:expr;)*) => {
        /// All actions, in the order of help and hints.
        pub const TABLE: &[Description] = &[$(Description {
            action: Action::$action,
            id: $id,
            label: $label,
            help: $help,
            keys: &$keys,
            hint: $hint,
        }),*];
    };
}

actions! {
    Add, "add", "add", "Add an invariant to the selected scope", ["a"], ALL;
    Edit, "edit", "edit", "Edit the selected invariant", ["e"], &[Pane::Effective];
    Remove, "remove", "remove", "Remove the selected invariant (asks first)", ["d"], &[Pane::Effective];
    Undo, "undo", "undo", "Take the last change of an invariant back", ["u"], &[Pane::Effective];
    Redo, "redo", "redo", "Do the change that was undone last again", ["ctrl-r"], NONE;
    ExternalEdit, "external_edit", "$EDITOR", "Edit the text of the selected invariant in $VISUAL or $EDITOR", ["E"], NONE;
    Resolve, "resolve", "resolve", "See what blocks the plan, and the ways out", ["b"], &[Pane::Plan];
    Inbox, "inbox", "needs you", "See everything that needs a person", ["i"], &[Pane::Scopes];
    Open, "open", "open", "Open the selected row, or fold it", ["enter"], ALL;
    NextPhase, "next_phase", "next phase", "Move the plan to its next phase, or retry a blocked one", ["n"], &[Pane::Plan];
    Resume, "resume", "resume", "Let a halted plan go on (asks first)", ["R"], &[Pane::Plan];
    Filter, "filter", "filter", "Filter the focused list; ! in front inverts", ["/"], LISTS;
    FilterMode, "filter_mode", "regex/fuzzy", "Switch the filter between regular expression and fuzzy", ["ctrl-t"], NONE;
    Copy, "copy", "copy", "Copy the selected row to the clipboard", ["y"], NONE;
    Palette, "palette", "commands", "Find any action by a few letters", [":", "ctrl-p"], ALL;
    Help, "help", "help", "Show or hide this help", ["?"], ALL;
    NextPane, "next_pane", "next pane", "Focus the next pane", ["tab"], ALL;
    PreviousPane, "previous_pane", "previous pane", "Focus the previous pane", ["backtab"], NONE;
    ScopesPane, "scopes_pane", "scopes", "Focus the scopes", ["1"], NONE;
    EffectivePane, "effective_pane", "effective set", "Focus the effective set", ["2"], NONE;
    PlanPane, "plan_pane", "plan", "Focus the plan", ["3"], NONE;
    BreachesPane, "breaches_pane", "breaches", "Focus the breaches", ["4"], NONE;
    Zoom, "zoom", "zoom", "Give the focused pane the whole screen, or take it back", ["z"], ALL;
    Up, "up", "up", "One row up", ["k", "up"], NONE;
    Down, "down", "down", "One row down", ["j", "down"], NONE;
    Left, "left", "fold", "Fold the selected scope", ["h", "left"], NONE;
    Right, "right", "unfold", "Unfold the selected scope", ["l", "right"], NONE;
    HalfPageUp, "half_page_up", "half page up", "Half a page up", ["ctrl-u"], NONE;
    HalfPageDown, "half_page_down", "half page down", "Half a page down", ["ctrl-d"], NONE;
    PageUp, "page_up", "page up", "One page up", ["pageup"], NONE;
    PageDown, "page_down", "page down", "One page down", ["pagedown"], NONE;
    First, "first", "first", "To the first row", ["g", "home"], NONE;
    Last, "last", "last", "To the last row; the breaches follow again", ["G", "end"], NONE;
    Back, "back", "back", "Leave the filter, the zoom or the open view", ["esc"], NONE;
    Suspend, "suspend", "suspend", "Put invar into the background of the shell", ["ctrl-z"], NONE;
    Quit, "quit", "quit", "Leave invar; ctrl-c leaves from everywhere", ["q"], ALL;
}

impl Action {
    /// What is known about it.
    pub fn description(self) -> &'static Description {
        // The table has every action; the test below holds it to that.
        TABLE.iter().find(|d| d.action == self).unwrap_or(&TABLE[0])
    }

    /// Whether it changes what others see.
    pub fn changes(self) -> bool {
        matches!(
            self,
            Action::Add
                | Action::Edit
                | Action::ExternalEdit
                | Action::Remove
                | Action::Undo
                | Action::Redo
                | Action::NextPhase
                | Action::Resume
        )
    }

    /// Why the action cannot be done now; `None` when it can.
    pub fn disabled(self, model: &Model) -> Option<String> {
        let plan = || model.shown_plan().ok_or("no plan is selected");
        if model.read_only && self.changes() {
            return Some("invar was started with --read-only".into());
        }
        let result: Result<(), String> = match self {
            Action::Edit | Action::ExternalEdit | Action::Remove => {
                match model.selected_invariant() {
                    _ if model.focus != Pane::Effective => {
                        Err("focus the effective set (2) and select an invariant".into())
                    }
                    None => Err("no invariant is selected".into()),
                    Some(i) if i.origin == Origin::BuiltIn => {
                        Err("it is built in: it keeps agents away from what guards them".into())
                    }
                    Some(_) => Ok(()),
                }
            }
            Action::NextPhase => plan().map_err(Into::into).and_then(|plan| {
                if plan.is_halted() {
                    Err("the plan is halted; resume it first".into())
                } else if plan.is_over() || next_transition(plan).is_none() {
                    Err(format!("the plan is {}", plan.state))
                } else {
                    Ok(())
                }
            }),
            Action::Resolve => plan().map_err(Into::into).and_then(|plan| {
                match super::resolver::items(model, plan.id).is_empty() {
                    true => Err("nothing blocks the plan".into()),
                    false => Ok(()),
                }
            }),
            Action::Copy if super::copy::text(model).is_none() => {
                Err("there is nothing selected to copy".into())
            }
            Action::Resume => plan()
                .map_err(Into::into)
                .and_then(|plan| match plan.is_halted() {
                    true => Ok(()),
                    false => Err(format!("the plan is {} and not halted", plan.state)),
                }),
            _ => Ok(()),
        };
        result.err()
    }
}

/// The transition that a person would ask for next: the blocked one again, else the one after
/// the current phase.
pub fn next_transition(plan: &crate::model::Plan) -> Option<Transition> {
    plan.blocked.or_else(|| Transition::after(plan.phase))
}
