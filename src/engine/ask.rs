//! How a call comes to its answer: what it is about is found out, it is decided, what the decision
//! lacked is found out, and it is decided again. All but the deciding happens on the thread of
//! whoever asks, so that a slow disk holds up its own caller and nobody else.

use std::sync::Arc;

use super::{
    Call, EngineError, ErrorKind,
    disk::Disk,
    facts::{Facts, Need},
    project_file::FileReading,
    step::Effects,
    writer::Answer,
};

/// A call with what is known of the disk for it.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub call: Arc<Call>,
    pub facts: Arc<Facts>,
}

/// What a decision came to.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It is decided. The effects are done before the answer is given.
    Done(Answer, Effects),
    /// It lacks a fact; nothing has changed.
    Needs(Need),
    /// It is a read that takes long, of the store as it stands; whoever asks makes it.
    Aside(Aside),
}

/// A read that is made beside the engine.
pub(crate) struct Aside(pub Box<dyn FnOnce() -> Answer + Send>);

impl std::fmt::Debug for Aside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Aside")
    }
}

/// Whoever decides: an engine, or the way to its thread.
pub(crate) trait Decider {
    /// Takes in project files that have changed.
    fn files_read(&mut self, readings: Vec<FileReading>);

    /// Decides a call.
    ///
    /// # Errors
    /// Nobody is there to decide it.
    fn decide(&mut self, ask: Ask) -> Result<Outcome, EngineError>;
}

/// How often a decision may lack something. Each kind of fact is asked for once or twice; more
/// than this is a fault.
const MAX_ROUNDS: usize = 12;

/// Asks a call, and does what follows from it on the disk.
///
/// # Errors
/// What the decision says, or what the disk reports while it is asked.
pub(crate) fn ask(disk: &Disk, call: Call, decider: &mut impl Decider) -> Answer {
    let dir = call.belongs_to().directory();
    // First of all, so that the call is decided on what the project's file says now.
    disk.look_at_files(dir, |readings| {
        if !readings.is_empty() {
            decider.files_read(readings);
        }
    });
    let mut facts = Arc::new(disk.facts(&call)?);
    let call = Arc::new(call);
    let answer = rounds(disk, &call, &mut facts, decider);
    // A look takes the changes that it found out of the tree. When no record of them was made, they
    // must go back, or nobody would ever report them.
    if let Err(error) = &answer
        && matches!(
            error.kind,
            ErrorKind::Store | ErrorKind::Busy | ErrorKind::Failed
        )
    {
        disk.give_back(Arc::unwrap_or_clone(facts));
    }
    answer
}

/// Decides until nothing is lacking. A decision that lacks a fact has changed nothing, so that it
/// can be made again from the beginning.
fn rounds(
    disk: &Disk,
    call: &Arc<Call>,
    facts: &mut Arc<Facts>,
    decider: &mut impl Decider,
) -> Answer {
    for _ in 0..MAX_ROUNDS {
        let ask = Ask {
            call: Arc::clone(call),
            facts: Arc::clone(facts),
        };
        match decider.decide(ask)? {
            // Before the answer: the tree must be watched when the agent's command starts.
            Outcome::Done(answer, effects) => {
                disk.perform(effects);
                return answer;
            }
            Outcome::Aside(read) => return (read.0)(),
            Outcome::Needs(need) => disk.supply(need, call, Arc::make_mut(facts))?,
        }
    }
    let message = format!(
        "the decision on {:?} asked for facts again and again",
        call.name()
    );
    Err(EngineError::failed(message).hint("please report it"))
}
