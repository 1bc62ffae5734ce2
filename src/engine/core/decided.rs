//! Deduplicates one action that is delivered by two hooks: some agents run other agents' hook
//! files besides their own, or send two of their own events for one action. Each action counts
//! once, and both hooks get the same answer.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};

use crate::model::{Attempt, Verdict};

/// How long the second of two hooks may lag behind the first. Longer, and a second try of the
/// same action, which is a strike of its own, would pass for the first.
const WINDOW: SignedDuration = SignedDuration::from_secs(2);

/// How many attempts are remembered, of all sessions together.
const MAX_KEPT: usize = 64;

/// The attempts that were decided last.
#[derive(Debug, Default)]
pub(crate) struct Decided(VecDeque<One>);

#[derive(Debug)]
struct One {
    at: Timestamp,
    session: (String, String),
    via: String,
    attempt: Attempt,
    verdict: Verdict,
}

impl Decided {
    /// The verdict on the same action, when it was decided just now.
    pub fn again(
        &self,
        session: &(String, String),
        via: &str,
        attempt: &Attempt,
        now: Timestamp,
    ) -> Option<&Verdict> {
        // The names of the calls decide where both hooks give one. Without them two attempts are
        // one action only when they came by different hooks: the same hook runs once for each.
        let same = |one: &&One| {
            let calls = match (&one.attempt.call, &attempt.call) {
                (Some(a), Some(b)) => Some(a == b),
                _ => None,
            };
            let sent = one.attempt.nonce.is_some() && one.attempt.nonce == attempt.nonce;
            now.duration_since(one.at) < WINDOW
                && one.session == *session
                && one.attempt.effects == attempt.effects
                && (sent || calls == Some(true) || (calls.is_none() && one.via != via))
        };
        self.0.iter().rev().find(same).map(|one| &one.verdict)
    }

    /// Remembers a decided attempt and its verdict, in place of the oldest when there are too many.
    pub fn note(
        &mut self,
        session: (String, String),
        via: &str,
        attempt: Attempt,
        verdict: &Verdict,
        now: Timestamp,
    ) {
        self.0.push_back(One {
            at: now,
            session,
            via: via.to_owned(),
            attempt,
            verdict: verdict.clone(),
        });
        if self.0.len() > MAX_KEPT {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Effect;

    #[test]
    fn one_action_by_two_ways_is_one_and_two_tries_are_two() {
        let session = ("cursor".to_owned(), "s".to_owned());
        let attempt = |call: Option<&str>, path: &str| Attempt {
            effects: vec![Effect::Change { path: path.into() }],
            call: call.map(str::to_owned),
            ..Attempt::default()
        };
        let now = Timestamp::UNIX_EPOCH;
        let mut decided = Decided::default();
        decided.note(
            session.clone(),
            "preToolUse",
            attempt(Some("1"), "a"),
            &Verdict::deny("no"),
            now,
        );
        let again =
            |via: &str, attempt: Attempt| decided.again(&session, via, &attempt, now).is_some();
        assert!(
            again("preToolUse", attempt(Some("1"), "a")),
            "two hooks for one call"
        );
        assert!(
            again("beforeShellExecution", attempt(None, "a")),
            "two events for one call"
        );
        assert!(!again("preToolUse", attempt(Some("2"), "a")), "another try");
        assert!(!again("beforeShellExecution", attempt(Some("2"), "a")));
        assert!(
            !again("beforeShellExecution", attempt(None, "b")),
            "another action"
        );
        let mut without = Decided::default();
        without.note(
            session.clone(),
            "PreToolUse",
            attempt(None, "a"),
            &Verdict::deny("no"),
            now,
        );
        assert!(
            without
                .again(&session, "PreToolUse", &attempt(None, "a"), now)
                .is_none(),
            "an agent that names no calls tries again"
        );
        let later = now + WINDOW;
        let late = decided.again(&session, "preToolUse", &attempt(Some("1"), "a"), later);
        assert!(late.is_none(), "much later it is another try");
    }
}
