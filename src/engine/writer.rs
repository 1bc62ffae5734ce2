//! A core with its store: calls are decided, what they write becomes durable in one
//! transaction, and only then are they answered. Used by the background task and, for a moment,
//! by a one-shot command.

use jiff::Timestamp;

use super::{
    Call, Config, EngineError, Locations, Reply,
    config::JudgeConfig,
    core::Core,
    judge::JudgeJob,
    prepare,
    requests::{DecisionNode, Decisions, Events, History, LogVerify, Request},
    state::{RECENT, State, is_notable},
    step::Step,
};
use crate::{
    model::{DecisionKind, Event, EventKind, JudgeCheck},
    store::{Batch, Store},
};

/// An engine that is driven by its caller's thread.
pub struct Engine {
    core: Core,
    store: Store,
    /// Decided and answered, not yet written: allowed attempts.
    pending: Batch,
    /// Set when a write failed and the state could not be read back.
    broken: Option<EngineError>,
    locations: Locations,
}

/// How far back events are looked for.
const SPAN: usize = 50_000;

/// The answer to one call of a batch, and whether it waited for the disk.
pub type Answer = Result<Reply, EngineError>;

impl Engine {
    /// Opens the store and loads it.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy) while another process has the store; what the store reports.
    pub fn open(locations: &Locations, config: &Config) -> Result<Self, EngineError> {
        let store = Store::open(&locations.store)?;
        let state = load(&store)?;
        Ok(Self {
            core: Core::new(state, locations, config, seed()),
            store,
            pending: Batch::default(),
            broken: None,
            locations: locations.clone(),
        })
    }

    /// Reads the last events that a person wants to see. An engine that only answers one call
    /// does without.
    ///
    /// # Errors
    /// What the store reports.
    pub fn recall(&mut self) -> Result<(), EngineError> {
        let recent = self
            .store
            .last_events(RECENT, SPAN, |e| is_notable(&e.kind))?;
        self.core.recall(recent);
        Ok(())
    }

    /// Where its store and socket lie.
    pub fn locations(&self) -> &Locations {
        &self.locations
    }

    /// The deciding part, for reads.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// Says whether somebody watches, so that a question may be answered soon.
    pub fn attend(&mut self, attended: bool) {
        self.core.attended = attended;
    }

    /// The checks that judges shall make now.
    pub fn take_jobs(&mut self) -> Vec<JudgeJob> {
        self.core.take_jobs()
    }

    /// How judges are asked.
    pub fn judge(&self) -> &JudgeConfig {
        &self.core.judge
    }

    /// Takes in what a judge answered, and makes it durable; the events of it.
    pub fn judged(&mut self, check: JudgeCheck) -> Vec<Event> {
        let mut batch = Batch::default();
        let step = &mut Step::new(Timestamp::now(), &mut batch);
        self.core.judged(check, step);
        self.pending.events.extend(batch.events);
        self.pending.rows.extend(batch.rows);
        self.flush().unwrap_or_else(|error| {
            tracing::error!(%error, "a judge's answer could not be recorded");
            Vec::new()
        })
    }

    /// Whether allowed attempts wait to be written.
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Decides the calls in order and writes what they change in one transaction. Returns the
    /// answers and the events that became durable. When the write fails, every call that
    /// changed something is answered with the failure and nothing of it counts.
    pub fn run(&mut self, calls: Vec<Call>) -> (Vec<Answer>, Vec<Event>) {
        if let Some(error) = &self.broken {
            return (
                calls.iter().map(|_| Err(error.clone())).collect(),
                Vec::new(),
            );
        }
        let mut answers = Vec::with_capacity(calls.len());
        let mut wrote = Vec::with_capacity(calls.len());
        let mut durable = false;
        let mut durable_events = Vec::new();
        for call in calls {
            if reads_store(&call) {
                // Reads see what was written before them.
                if let Ok(events) = self.flush() {
                    durable_events.extend(events);
                }
                answers.push(self.read(call));
                wrote.push(false);
                continue;
            }
            let mut batch = Batch::default();
            let step = &mut Step::new(Timestamp::now(), &mut batch);
            let answer = self.core.handle(call, step);
            durable |= batch.events.iter().any(|e| !may_wait(e));
            wrote.push(!batch.is_empty());
            self.pending.events.extend(batch.events);
            self.pending.rows.extend(batch.rows);
            answers.push(answer);
        }
        if durable {
            match self.flush() {
                Ok(events) => durable_events.extend(events),
                Err(error) => {
                    for (answer, wrote) in answers.iter_mut().zip(wrote) {
                        if wrote {
                            *answer = Err(error.clone());
                        }
                    }
                }
            }
        }
        (answers, durable_events)
    }

    /// Decides one call and makes it durable.
    ///
    /// # Errors
    /// As [`Core::handle`], and what the disk reports.
    pub fn call(&mut self, call: Call) -> Answer {
        let trees = std::sync::Arc::clone(self.core.trees());
        match prepare::need(&call) {
            prepare::Need::LookAtPlan => {
                if let Call::PlanTransition(asked) = &call
                    && let Ok(plan) = self.core.find_plan(&asked.plan)
                {
                    prepare::look_at(&trees, &self.core.roots_of(plan.id));
                }
            }
            need => prepare::prepare(&trees, &need)?,
        }
        let (mut answers, _) = self.run(vec![call]);
        self.flush()?;
        answers
            .pop()
            .unwrap_or_else(|| Err(EngineError::failed("a call had no answer")))
    }

    /// Writes what is pending; returns its events.
    ///
    /// # Errors
    /// What the disk reports. The state is then read back from the store.
    pub fn flush(&mut self) -> Result<Vec<Event>, EngineError> {
        if self.pending.is_empty() {
            return Ok(Vec::new());
        }
        let batch = std::mem::take(&mut self.pending);
        match self.store.commit(&batch) {
            Ok(()) => Ok(batch.events),
            Err(error) => {
                let error = EngineError::from(error);
                match load(&self.store) {
                    Ok(state) => self.core.reset(state),
                    Err(_) => self.broken = Some(error.clone()),
                }
                Err(error)
            }
        }
    }

    fn read(&self, call: Call) -> Answer {
        Ok(match call {
            Call::History(r) => {
                let id = self.core.find_invariant(&r.id)?.invariant.id;
                History::into_reply(self.store.history(id)?)
            }
            Call::Decisions(r) => {
                let plan = self.core.find_plan(&r.plan)?.id;
                let mut nodes = Vec::new();
                for decision in self.store.decisions(plan)? {
                    let enforcements = match decision.kind {
                        DecisionKind::InvariantEnforced => {
                            self.store.enforcements(plan, decision.id)?
                        }
                        DecisionKind::ConflictResolved => Vec::new(),
                    };
                    nodes.push(DecisionNode {
                        decision,
                        enforcements,
                    });
                }
                Decisions::into_reply(nodes)
            }
            Call::Events(r) => Events::into_reply(self.store.events(r.since, r.limit)?),
            Call::LogVerify(_) => LogVerify::into_reply(self.store.verify_log()?),
            other => {
                let message = format!("{:?} is no read", other.name());
                return Err(EngineError::failed(message).hint("please report it"));
            }
        })
    }
}

/// The chance that an engine's ids are made of.
fn seed() -> u64 {
    (ulid::Ulid::generate().random() & u128::from(u64::MAX)) as u64
}

fn load(store: &Store) -> Result<State, EngineError> {
    let loaded = store.load()?;
    Ok(State::from_loaded(loaded))
}

fn reads_store(call: &Call) -> bool {
    matches!(
        call,
        Call::History(_) | Call::Decisions(_) | Call::Events(_) | Call::LogVerify(_)
    )
}

/// Only an attempt that was let through may be answered before it is written.
fn may_wait(event: &Event) -> bool {
    matches!(&event.kind, EventKind::Attempted { verdict, .. } if verdict.lets_through())
}
