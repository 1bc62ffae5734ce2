//! The order of one connection: its calls are decided one after the other, as they came, though
//! none has to be answered before the next one comes.
//!
//! Asking may wait for the disk, so that it is done on a thread for blocking work, which the
//! lane holds for as long as calls wait in it and no longer.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use super::{Call, handle::unfinished, writer::Answer};

/// Asks a call and waits for the answer.
pub(super) type Asks = dyn Fn(Call) -> Answer + Send + Sync;

/// Calls in their order.
pub(super) struct Lane(Arc<Shared>);

struct Shared {
    asks: Box<Asks>,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Job>,
    /// A thread works the queue off, and takes what is put to it from now on.
    at_work: bool,
}

enum Job {
    Ask(Box<Call>, oneshot::Sender<Answer>),
    /// Says that everything before it is done.
    Reached(oneshot::Sender<()>),
}

impl Lane {
    /// A lane whose calls are asked by `asks`.
    pub(super) fn new(asks: Box<Asks>) -> Self {
        let queue = Mutex::default();
        Self(Arc::new(Shared { asks, queue }))
    }

    /// Whether nothing waits and nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        !self.0.lock().at_work
    }

    /// Puts a call behind all others; what comes out of it is its answer.
    pub(super) fn put(&self, call: Call) -> oneshot::Receiver<Answer> {
        let (reply, answer) = oneshot::channel();
        self.push(Job::Ask(Box::new(call), reply));
        answer
    }

    /// Waits until all calls that were put to the lane are decided.
    pub(super) async fn caught_up(&self) {
        if self.is_idle() {
            return;
        }
        let (reached, all) = oneshot::channel();
        self.push(Job::Reached(reached));
        // A lane that ends has nothing under way either.
        let _ = all.await;
    }

    fn push(&self, job: Job) {
        let mut queue = self.0.lock();
        queue.waiting.push_back(job);
        if !std::mem::replace(&mut queue.at_work, true) {
            let shared = Arc::clone(&self.0);
            tokio::task::spawn_blocking(move || shared.work());
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        while let Some(job) = self.next() {
            match job {
                Job::Ask(call, reply) => {
                    // A fault in one call must not hold up those behind it.
                    let asked = catch_unwind(AssertUnwindSafe(|| (self.asks)(*call)));
                    let answer = asked.unwrap_or_else(|_| Err(unfinished()));
                    // Whoever left does not hear it.
                    let _ = reply.send(answer);
                }
                Job::Reached(all) => {
                    let _ = all.send(());
                }
            }
        }
    }

    /// The next job. Without one the work is over, as of the same look at the queue: what is
    /// put to it afterwards starts another thread.
    fn next(&self) -> Option<Job> {
        let mut queue = self.lock();
        let job = queue.waiting.pop_front();
        queue.at_work = job.is_some();
        job
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::requests::{Events, Ping, PlanList, Pong, Request};

    fn pong() -> Answer {
        Ok(Ping::into_reply(Pong { pid: 7 }))
    }

    #[tokio::test]
    async fn calls_are_asked_in_their_order_and_never_two_at_once() {
        let (asked, order) = mpsc::channel();
        let under_way = Mutex::new(());
        let lane = Lane::new(Box::new(move |call| {
            let _alone = under_way.try_lock().expect("another call is under way");
            let Call::Events(events) = call else { panic!() };
            asked.send(events.since).unwrap();
            pong()
        }));
        let calls = 500;
        let mut answers = Vec::new();
        for since in 0..calls {
            answers.push(lane.put(Events { since, limit: 1 }.into()));
            if since % 100 == 0 {
                lane.caught_up().await;
                assert!(answers.last_mut().unwrap().try_recv().is_ok());
            }
        }
        lane.caught_up().await;
        for (_, answer) in answers.into_iter().enumerate().filter(|(n, _)| n % 100 > 0) {
            assert!(answer.await.unwrap().is_ok());
        }
        let order: Vec<u64> = order.try_iter().collect();
        assert_eq!(order, (0..calls).collect::<Vec<u64>>());
    }

    #[tokio::test]
    async fn a_call_that_panics_is_answered_and_holds_nobody_up() {
        let lane = Lane::new(Box::new(|call| match call {
            Call::Ping(_) => pong(),
            _ => panic!("on purpose"),
        }));
        let broken = lane.put(PlanList {}.into());
        let good = lane.put(Ping {}.into());
        let error = broken.await.unwrap().unwrap_err().to_string();
        assert!(error.contains("please report it"), "{error}");
        assert!(good.await.unwrap().is_ok());
        lane.caught_up().await;
        while !lane.is_idle() {
            tokio::task::yield_now().await;
        }
    }
}
