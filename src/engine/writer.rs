//! A core with its store: calls are decided, what they write becomes durable in one
//! transaction, and only then are they answered. Used by the background task and, for a moment,
//! by a one-shot command.

use jiff::Timestamp;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Call, Config, EngineError, Locations, Reply,
    ask::{self, Ask, Decider, Outcome},
    config::JudgeConfig,
    core::Core,
    disk::Disk,
    facts::Facts,
    judge::JudgeJob,
    judging,
    project_file::FileReading,
    reads,
    requests::{Ping, Pong, Request, Snapshot},
    state::{State, is_breach},
    step::{Effects, Step, Stop},
    visit,
};
use crate::{
    model::{Event, EventKind, JudgeCheck},
    store::{Batch, Row, Store},
};

/// An engine that is driven by its caller's thread.
///
/// What it has decided becomes part of its state at once, and goes to others only when it is
/// durable: a call is answered, and an event handed out, after the commit that holds it. When a
/// commit fails, the state is read back from the store, so that nothing of it is left. Only an
/// allowed attempt may be answered before it is written.
pub struct Engine {
    core: Core,
    disk: Arc<Disk>,
    store: Store,
    /// Decided, not yet written.
    pending: Batch,
    /// Whether what is pending takes records out of what is at hand; they are nowhere until it
    /// is written.
    leaving: bool,
    /// Written, not yet handed out.
    durable: Vec<Event>,
    /// The number of the last event that is durable.
    written: u64,
    /// The breaches among the durable events.
    breaches: u64,
    /// Whether the last notable events are kept at hand.
    recalls: bool,
    /// Why the state is not the store's: a write failed, and the state could not be read back.
    /// Each call tries again, so that the engine heals when the disk does.
    broken: Option<EngineError>,
    locations: Locations,
}

/// The answer to one call.
pub type Answer = Result<Reply, EngineError>;

/// The outcomes of one batch.
#[derive(Default)]
struct Outcomes {
    given: Vec<Outcome>,
    /// Those that hold only if the next commit succeeds: their calls changed something, or saw
    /// a change that is not durable yet.
    unsettled: Vec<usize>,
}

impl Outcomes {
    /// Every answer that has nothing durable to stand on becomes the failure.
    fn settle(&mut self, outcome: &Result<(), EngineError>) {
        let unsettled = std::mem::take(&mut self.unsettled);
        if let Err(error) = outcome {
            for index in unsettled {
                self.given[index] = done(Err(error.clone()));
            }
        }
    }
}

impl Engine {
    /// Opens the store and loads it.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy) while another process has the store; what the store reports.
    pub fn open(locations: &Locations, config: &Config) -> Result<Self, EngineError> {
        Self::over(Store::open(&locations.store)?, locations, config)
    }

    /// An engine over a store that is open.
    ///
    /// # Errors
    /// What the store reports.
    pub fn over(store: Store, locations: &Locations, config: &Config) -> Result<Self, EngineError> {
        let state = load(&store)?;
        let roots = state.projects.values().flat_map(|p| &p.roots);
        Ok(Self {
            disk: Arc::new(Disk::new(locations, config, roots)),
            written: state.seq,
            core: Core::new(state, locations, config, seed()),
            store,
            pending: Batch::default(),
            leaving: false,
            durable: Vec::new(),
            breaches: 0,
            recalls: false,
            broken: None,
            locations: locations.clone(),
        })
    }

    /// Reads the last events that a person wants to see, and keeps them at hand from here on.
    /// An engine that only answers one call does without.
    ///
    /// # Errors
    /// What the store reports.
    pub fn recall(&mut self) -> Result<(), EngineError> {
        let (recent, checks) = self.last_seen()?;
        self.core.recall(recent, checks);
        self.breaches = self.core.state().breaches;
        self.recalls = true;
        Ok(())
    }

    fn last_seen(&self) -> Result<(Vec<Event>, Vec<JudgeCheck>), EngineError> {
        let checks = self.store.last_checks(judging::RECENT)?;
        Ok((self.store.last_notable()?, checks))
    }

    /// Where its store and socket lie.
    pub fn locations(&self) -> &Locations {
        &self.locations
    }

    /// The deciding part, for reads. What it shows need not be durable yet.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// Says whether somebody watches, so that a question may be answered soon.
    pub fn attend(&mut self, attended: bool) {
        self.core.attend(attended);
    }

    /// The checks that judges shall make now.
    pub fn take_jobs(&mut self) -> Vec<JudgeJob> {
        self.core.take_jobs()
    }

    /// How judges are asked.
    pub fn judge(&self) -> &JudgeConfig {
        self.core.judge()
    }

    /// Takes in what a judge answered, and makes it durable; the events that became so.
    pub fn judged(&mut self, check: JudgeCheck) -> Vec<Event> {
        let recorded = self.heal().and_then(|()| self.take_check(check.clone()));
        if let Err(error) = recorded {
            // What the judge was asked about stays due.
            self.core.give_up(&check);
            tracing::error!(%error, "a judge's answer could not be recorded");
        }
        std::mem::take(&mut self.durable)
    }

    fn take_check(&mut self, check: JudgeCheck) -> Result<(), EngineError> {
        // The plan may have ended meanwhile, and what was found still counts.
        self.write()?;
        let plan = check.plan_id;
        if !self.core.state().goes_on(plan) {
            self.core.visit(self.store.past_of(plan)?);
        }
        let mut batch = Batch::default();
        at_once(&self.store, &Facts::default(), &mut batch, |step| {
            self.core.judged(check, step);
        });
        self.put_off(batch);
        self.core.let_go();
        self.write()
    }

    /// Whether allowed attempts wait to be written.
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// All that a screen shows, durable as a whole. Events that became so meanwhile are handed
    /// out by the next [`Engine::run`] or [`Engine::flush`].
    ///
    /// # Errors
    /// What the disk reports.
    pub fn snapshot(&mut self) -> Result<Box<Snapshot>, EngineError> {
        self.heal()?;
        self.write()?;
        Ok(Box::new(reads::snapshot(&self.core, &self.store)?))
    }

    /// Decides the calls in order and writes what they change in one transaction. Returns the
    /// answers and the events that became durable. When the write fails, every call that changed
    /// something, or that saw such a change, is answered with the failure, and nothing of it
    /// counts.
    pub(crate) fn run(&mut self, asked: Vec<Ask>) -> (Vec<Outcome>, Vec<Event>) {
        let mut answers = Outcomes::default();
        // Something waits that may be answered only when it is written.
        let mut durable = false;
        for Ask { call, facts } in asked {
            if let Err(error) = self.heal() {
                answers.given.push(done(Err(error)));
                continue;
            }
            if let Call::Ping(_) = *call {
                let pong = Pong {
                    pid: std::process::id(),
                };
                answers.given.push(done(Ok(Ping::into_reply(pong))));
                continue;
            }
            if reads::shows_durable(&call) || self.leaving {
                let written = self.write();
                answers.settle(&written);
                durable = false;
                if let Err(error) = written {
                    answers.given.push(done(Err(error)));
                    continue;
                }
            }
            let read = match self.visit(&call) {
                Ok(()) if reads::shows_durable(&call) => {
                    Some(reads::read(&self.core, &self.store, &call, &facts))
                }
                Ok(()) => None,
                Err(error) => Some(Err(error)),
            };
            if let Some(read) = read {
                self.core.let_go();
                let outcome = read.unwrap_or_else(|error| {
                    if self.lost_the_disk(&error) {
                        answers.settle(&Err(error.clone()));
                        durable = false;
                    }
                    done(Err(error))
                });
                answers.given.push(outcome);
                continue;
            }
            let mut batch = Batch::default();
            let (decided, effects) = at_once(&self.store, &facts, &mut batch, |step| {
                let decided = self.core.handle(Call::clone(&call), step);
                (decided, std::mem::take(&mut step.effects))
            });
            self.core.let_go();
            // Whoever asks may see on its own that nobody else holds the facts any more.
            drop((call, facts));
            let outcome = match decided {
                Ok(reply) => Outcome::Done(Ok(reply), effects),
                Err(Stop::Refused(error)) => Outcome::Done(Err(error), effects),
                Err(Stop::Needs(need)) => Outcome::Needs(need),
            };
            durable |= batch.events.iter().any(|e| !may_wait(e));
            if durable || !batch.is_empty() {
                answers.unsettled.push(answers.given.len());
            }
            self.put_off(batch);
            answers.given.push(outcome);
        }
        if durable {
            let written = self.write();
            answers.settle(&written);
        }
        (answers.given, std::mem::take(&mut self.durable))
    }

    /// Has at hand what a call may be about and what is over.
    fn visit(&mut self, call: &Call) -> Result<(), EngineError> {
        let past = visit::visitors(call, self.core.state(), &self.store)?;
        self.core.visit(past);
        Ok(())
    }

    /// Works by another configuration from now on, or says why it cannot; what was read before
    /// then stays in force.
    pub(crate) fn configure(&mut self, config: Result<Box<Config>, String>) {
        let mut batch = Batch::default();
        if let Ok(config) = &config {
            self.disk.configure(config);
        }
        at_once(&self.store, &Facts::default(), &mut batch, |step| {
            self.core.configure(config, step);
        });
        self.put_off(batch);
        if let Err(error) = self.write() {
            tracing::error!(%error, "a change of the configuration could not be recorded");
        }
    }

    /// Asks one call on this thread, and makes it durable.
    ///
    /// # Errors
    /// As [`Core::handle`], and what the disk reports.
    pub fn call(&mut self, call: Call) -> Answer {
        let disk = Arc::clone(&self.disk);
        let answer = ask::ask(&disk, call, self);
        self.flush()?;
        answer
    }

    /// The disk as it and those who ask it see it.
    pub(crate) fn disk(&self) -> &Arc<Disk> {
        &self.disk
    }

    /// Writes what is pending; returns the events that became durable.
    ///
    /// # Errors
    /// What the disk reports. The state is then read back from the store.
    pub fn flush(&mut self) -> Result<Vec<Event>, EngineError> {
        self.write()?;
        Ok(std::mem::take(&mut self.durable))
    }

    fn put_off(&mut self, batch: Batch) {
        self.leaving |= batch.rows.iter().any(|row| matches!(row, Row::Past(_)));
        self.pending.events.extend(batch.events);
        self.pending.rows.extend(batch.rows);
    }

    /// Writes what is pending. When that fails, the state becomes the store's again.
    fn write(&mut self) -> Result<(), EngineError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.pending);
        self.leaving = false;
        match self.store.commit(&batch) {
            Ok(()) => {
                self.hand_out(batch.events);
                Ok(())
            }
            Err(error) => {
                let error = EngineError::from(error);
                // Even the last good state must not be decided on before it is sure again.
                self.broken = Some(error.clone());
                if let Err(again) = self.heal() {
                    tracing::error!(%again, "the state could not be read back; each call tries again");
                }
                Err(error)
            }
        }
    }

    /// Whether a read failed because the disk did. What is pending cannot be written then, and
    /// nothing is sure any more.
    fn lost_the_disk(&mut self, error: &EngineError) -> bool {
        if self.store.works() {
            return false;
        }
        self.pending = Batch::default();
        self.leaving = false;
        self.broken = Some(error.clone());
        true
    }

    /// Takes in events that are durable.
    fn hand_out(&mut self, events: Vec<Event>) {
        self.written = events.last().map_or(self.written, |e| e.seq);
        self.breaches += events.iter().filter(|e| is_breach(&e.kind)).count() as u64;
        self.durable.extend(events);
    }

    /// Reads the state back from the store, when a failure left it unsure.
    fn heal(&mut self) -> Result<(), EngineError> {
        if self.broken.is_none() {
            return Ok(());
        }
        let healed = self.read_back();
        self.broken = healed.as_ref().err().cloned();
        healed
    }

    fn read_back(&mut self) -> Result<(), EngineError> {
        self.store.reopen()?;
        let state = load(&self.store)?;
        // A commit may have reached the disk although it was reported to have failed. Its
        // callers were told of the failure; what it holds is true nevertheless.
        let landed = self.store.events(self.written, usize::MAX)?;
        let (recent, checks) = match self.recalls {
            true => self.last_seen()?,
            false => (Vec::new(), Vec::new()),
        };
        self.hand_out(landed);
        self.core.reset(state);
        self.disk.forget_files();
        self.core.recall(recent, checks);
        self.core.count_breaches(self.breaches);
        Ok(())
    }

    /// Its store, for tests of what is durable.
    #[cfg(test)]
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }
}

impl Decider for Engine {
    fn files_read(&mut self, readings: Vec<FileReading>) {
        let mut batch = Batch::default();
        at_once(&self.store, &Facts::default(), &mut batch, |step| {
            self.core.files_read(readings, step);
        });
        self.put_off(batch);
        if let Err(error) = self.write() {
            tracing::error!(%error, "what the project files say could not be recorded");
        }
    }

    fn decide(&mut self, ask: Ask) -> Result<Outcome, EngineError> {
        let (mut outcomes, events) = self.run(vec![ask]);
        // The caller's next flush hands them out.
        self.durable.splice(0..0, events);
        outcomes
            .pop()
            .ok_or_else(|| EngineError::failed("a call had no answer").hint("please report it"))
    }
}

/// An answer that nothing has to be done for.
fn done(answer: Answer) -> Outcome {
    Outcome::Done(answer, Effects::default())
}

/// Runs one step at this moment.
fn at_once<T>(
    store: &Store,
    facts: &Facts,
    batch: &mut Batch,
    run: impl FnOnce(&mut Step<'_>) -> T,
) -> T {
    let started = Instant::now();
    let late = |seconds: u32| started.elapsed() > Duration::from_secs(seconds.into());
    // One that cannot be read is written out again, which harms nobody.
    let knows_set = |digest: &str| matches!(store.set(digest), Ok(Some(_)));
    run(&mut Step::new(
        Timestamp::now(),
        facts,
        &late,
        &knows_set,
        batch,
    ))
}

/// The chance that an engine's ids are made of.
fn seed() -> u64 {
    (ulid::Ulid::generate().random() & u128::from(u64::MAX)) as u64
}

fn load(store: &Store) -> Result<State, EngineError> {
    let loaded = store.load()?;
    Ok(State::from_loaded(loaded))
}

/// Only an attempt that was let through may be answered before it is written.
fn may_wait(event: &Event) -> bool {
    matches!(&event.kind, EventKind::Attempted { verdict, .. } if verdict.lets_through())
}
