//! What happens beside the engine's loop before it decides: looking at a project's tree.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    Call,
    places::OwnDisk,
    requests::{HookCall, HookEvent},
    state::project_root,
    tree::{NotWatched, Trees},
};
use crate::{
    model::{Attempt, Effect, Transition},
    rules::shell::{self, Surroundings},
};

/// How long a hook waits for the first look at a large project; well inside its deadline.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// What a call needs of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Need {
    Nothing,
    /// That there is something to compare with later.
    Snapshot(PathBuf),
    /// A look at what changed.
    Look(PathBuf),
    /// A look at the trees of a plan, which the engine knows.
    LookAtPlan,
}

/// What a call needs before it is decided.
pub(super) fn need(call: &Call) -> Need {
    let root = |call: &HookCall| project_root(&call.project_dir);
    match call {
        Call::HookCall(hook) => match &hook.what {
            HookEvent::SessionStart => Need::Look(root(hook)),
            // Nobody says when its last command ended: that is now, at the latest.
            HookEvent::Attempt(_) if !hook.traits.tells_end => Need::Look(root(hook)),
            HookEvent::Attempt(attempt) if may_write(attempt) => Need::Snapshot(root(hook)),
            HookEvent::Ran(attempt) if may_write(attempt) => Need::Look(root(hook)),
            HookEvent::Stopped { .. } => Need::Look(root(hook)),
            _ => Need::Nothing,
        },
        Call::TreeState(asked) => Need::Snapshot(asked.root.clone()),
        Call::PlanTransition(asked) if asked.transition == Transition::ApplyPlan => {
            Need::LookAtPlan
        }
        _ => Need::Nothing,
    }
}

/// Whether files may be other ones after the attempt. A command that is known to read is looked
/// through here already, since most are.
fn may_write(attempt: &Attempt) -> bool {
    let temporary = std::env::temp_dir();
    let only_reads = |effect: &Effect| match effect {
        Effect::Opaque { command, language } => {
            let at = Surroundings {
                cwd: &attempt.cwd,
                root: &attempt.cwd,
                home: None,
                scratch: &temporary,
                disk: &OwnDisk,
            };
            match language {
                None => shell::read(command, at).only_reads(),
                Some(language) => shell::read_program(language, command, at).only_reads(),
            }
        }
        _ => false,
    };
    attempt.may_write && (attempt.effects.is_empty() || !attempt.effects.iter().all(only_reads))
}

/// Does what is needed, on this thread.
///
/// # Errors
/// [`NotWatched::NotYet`], when there is no snapshot yet and a command must wait for one. A tree
/// that is not watched at all is no error here: `plan check` tells it.
pub(super) fn prepare(trees: &Arc<Trees>, need: &Need) -> Result<(), NotWatched> {
    let done = match need {
        Need::Nothing | Need::LookAtPlan => Ok(()),
        Need::Snapshot(root) => trees.ensure(root, FIRST_LOOK),
        Need::Look(root) => trees.refresh(root, FIRST_LOOK),
    };
    match (done, need) {
        (Err(NotWatched::NotYet), Need::Snapshot(_)) => Err(NotWatched::NotYet),
        _ => Ok(()),
    }
}

/// Looks at several trees.
pub(super) fn look_at(trees: &Arc<Trees>, roots: &[PathBuf]) {
    for root in roots
        .iter()
        .map(PathBuf::as_path)
        .filter(|r: &&Path| r.is_dir())
    {
        // What cannot be watched is told by `plan check`.
        let _ = trees.refresh(root, FIRST_LOOK);
    }
}
