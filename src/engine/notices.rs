//! What a subscriber is told: a bounded queue that never holds its sender up. What does not fit
//! is counted, and the count is told as soon as the queue has been read empty, whether another
//! event comes or not.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::{
    self,
    error::{TryRecvError, TrySendError},
};

use crate::model::Event;

/// What a subscriber is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    Event(Arc<Event>),
    /// So many events did not fit; ask for a snapshot.
    Lagged {
        missed: u64,
    },
}

/// The subscriber went away.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Gone;

/// A queue of `capacity` notices between an engine and a subscriber.
pub(super) fn queue(capacity: usize) -> (Teller, Notices) {
    let (sender, queue) = mpsc::channel(capacity);
    let missed = Arc::new(Mutex::new(0));
    let teller = Teller {
        sender,
        missed: Arc::clone(&missed),
    };
    (teller, Notices { queue, missed })
}

/// The engine's end.
#[derive(Debug)]
pub(super) struct Teller {
    sender: mpsc::Sender<Notice>,
    /// How many events were missed since the queue was full. Both ends hold this lock while they
    /// look at the queue, so that no event slips in before a gap that it stands behind.
    missed: Arc<Mutex<u64>>,
}

impl Teller {
    /// Hands over a notice, or counts the events that it stands for.
    ///
    /// # Errors
    /// Nobody listens any more.
    pub(super) fn tell(&self, notice: Notice) -> Result<(), Gone> {
        let stands_for = match &notice {
            Notice::Event(_) => 1,
            Notice::Lagged { missed } => *missed,
        };
        let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        if *missed > 0 {
            *missed += stands_for;
            return match self.sender.is_closed() {
                true => Err(Gone),
                false => Ok(()),
            };
        }
        match self.sender.try_send(notice) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => {
                *missed = stands_for;
                Ok(())
            }
            Err(TrySendError::Closed(_)) => Err(Gone),
        }
    }
}

/// The subscriber's end.
#[derive(Debug)]
pub struct Notices {
    queue: mpsc::Receiver<Notice>,
    missed: Arc<Mutex<u64>>,
}

impl Notices {
    /// The next notice; `None` when the engine went away and all was told. Nothing is lost when
    /// the future is dropped.
    pub async fn recv(&mut self) -> Option<Notice> {
        if let Some(notice) = self.at_hand() {
            return notice;
        }
        // The queue was empty and nothing missed. An event can only be missed after others have
        // filled the queue, so that waiting for one is enough.
        self.queue.recv().await
    }

    /// What can be told without waiting.
    fn at_hand(&mut self) -> Option<Option<Notice>> {
        let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = match self.queue.try_recv() {
            Ok(notice) => return Some(Some(notice)),
            Err(TryRecvError::Disconnected) => true,
            Err(TryRecvError::Empty) => false,
        };
        match std::mem::take(&mut *missed) {
            0 => ended.then_some(None),
            missed => Some(Some(Notice::Lagged { missed })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ActionName, EventKind};

    fn event(seq: u64) -> Notice {
        let name: ActionName = "local/work".parse().unwrap();
        let action = crate::model::Action {
            name,
            created_at: jiff::Timestamp::UNIX_EPOCH,
            active: true,
        };
        let event = Event {
            seq,
            at: jiff::Timestamp::UNIX_EPOCH,
            kind: EventKind::ActionAdded { action },
        };
        Notice::Event(Arc::new(event))
    }

    #[tokio::test]
    async fn what_was_missed_is_told_without_another_event() {
        let (teller, mut notices) = queue(2);
        for seq in 1..=5 {
            teller.tell(event(seq)).unwrap();
        }
        for seq in 1..=2 {
            assert_eq!(notices.recv().await, Some(event(seq)));
        }
        assert_eq!(notices.recv().await, Some(Notice::Lagged { missed: 3 }));
        teller.tell(event(6)).unwrap();
        assert_eq!(notices.recv().await, Some(event(6)));
    }

    #[tokio::test]
    async fn an_event_behind_a_gap_does_not_come_before_it() {
        let (teller, mut notices) = queue(2);
        for seq in 1..=3 {
            teller.tell(event(seq)).unwrap();
        }
        // There is room again, and still the fourth belongs behind the third.
        assert_eq!(notices.recv().await, Some(event(1)));
        teller.tell(event(4)).unwrap();
        assert_eq!(notices.recv().await, Some(event(2)));
        assert_eq!(notices.recv().await, Some(Notice::Lagged { missed: 2 }));
    }

    #[tokio::test]
    async fn a_gap_that_was_told_before_keeps_its_place() {
        let (teller, mut notices) = queue(2);
        teller.tell(Notice::Lagged { missed: 7 }).unwrap();
        teller.tell(event(8)).unwrap();
        teller.tell(Notice::Lagged { missed: 2 }).unwrap();
        assert_eq!(notices.recv().await, Some(Notice::Lagged { missed: 7 }));
        assert_eq!(notices.recv().await, Some(event(8)));
        assert_eq!(notices.recv().await, Some(Notice::Lagged { missed: 2 }));
    }

    #[tokio::test]
    async fn the_end_is_told_after_what_was_missed() {
        let (teller, mut notices) = queue(1);
        teller.tell(event(1)).unwrap();
        teller.tell(event(2)).unwrap();
        drop(teller);
        assert_eq!(notices.recv().await, Some(event(1)));
        assert_eq!(notices.recv().await, Some(Notice::Lagged { missed: 1 }));
        assert_eq!(notices.recv().await, None);
        let (teller, notices) = queue(1);
        drop(notices);
        assert_eq!(teller.tell(event(1)), Err(Gone));
    }
}
