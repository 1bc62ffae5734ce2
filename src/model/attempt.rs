//! What an agent is about to do, and the answer to it.

use std::{fmt, path::PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{InvariantId, PlanId, Remedy, Scope, Severity, words::words};

/// One thing an attempt would do. Paths are as the agent wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "lowercase")]
pub enum Effect {
    /// Write or create a file.
    Change {
        path: PathBuf,
    },
    Delete {
        path: PathBuf,
    },
    Move {
        from: PathBuf,
        to: PathBuf,
    },
    Read {
        path: PathBuf,
    },
    /// A command or program; what it would change is read out of its text.
    Opaque {
        command: String,
        /// What it is written in; `None` for a shell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        language: Option<String>,
    },
}

impl Effect {
    /// The paths whose content or existence the effect changes.
    pub fn changed_paths(&self) -> Vec<&PathBuf> {
        match self {
            Self::Change { path } | Self::Delete { path } => vec![path],
            Self::Move { from, to } => vec![from, to],
            Self::Read { .. } | Self::Opaque { .. } => Vec::new(),
        }
    }
}

/// An action of an agent before it happens, reduced to effects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The agent's own name of the tool, such as `Edit`.
    pub tool: String,
    /// The directory that relative paths start from.
    pub cwd: PathBuf,
    pub effects: Vec<Effect>,
    /// The agent's own name of this call, where it gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The tool may change more than its effects say: a command, a foreign server's tool, a
    /// sub-agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_write: bool,
    /// It goes on after its call has been answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// The sub-agent that acts, when it is not the root agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// Made once per hook process, so that a call sent twice after a lost answer counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// What the tool was given, as a person reads it, and its digest; kept only where a judge or a
    /// person has to see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

/// What a tool was given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Like a diff, or the command; cut where it is long.
    pub shown: String,
    /// SHA-256 in hex over the whole of it.
    pub digest: String,
}

/// What an action changes, apart from how it is spelled: an edit of a file, a `sed -i` on it and
/// a script that writes it have one signature. Strikes are counted per signature, so that trying
/// the same change another way is the next strike and not a first one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signature(pub String);

impl Signature {
    /// The signature of a change to the file at `path`: relative to the project root where it
    /// lies inside, else absolute.
    pub fn of_path(path: &str) -> Self {
        Self(format!("path:{path}"))
    }

    /// The signature of a command, by its text with white space made even.
    pub fn of_command(text: &str) -> Self {
        let words: Vec<&str> = text.split_whitespace().collect();
        Self(format!("command:{}", words.join(" ")))
    }

    /// The signature of what a judge finds broken, whatever the actions were.
    pub fn of_judgment(id: InvariantId) -> Self {
        Self(format!("judgment:{id}"))
    }

    /// Whether it stands for what a judge found.
    pub fn is_judgment(&self) -> bool {
        self.0.starts_with("judgment:")
    }

    /// The target without its kind, for people.
    pub fn target(&self) -> &str {
        match self.0.split_once(':') {
            Some(("judgment", _)) => "the judge's verdict",
            Some((_, target)) => target,
            None => &self.0,
        }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One invariant that one attempt would break.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breach {
    pub invariant_id: InvariantId,
    /// The clause as the model reads it.
    pub text: String,
    #[serde(flatten)]
    pub scope: Scope,
    pub severity: Severity,
    pub remedy: Remedy,
    pub signature: Signature,
    /// The path that breaks it, as it is shown.
    pub path: String,
    /// What may be done instead.
    pub allowed: String,
    /// How the action reaches the path, where its words do not say it themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Which strike of this plan, invariant and signature this is; 0 when it counts none.
    pub strike: u32,
    /// The strike that halts; `None` when none does.
    pub limit: Option<u32>,
}

/// How often one action ran into one invariant within one plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strike {
    pub plan_id: PlanId,
    pub invariant_id: InvariantId,
    pub signature: Signature,
    pub count: u32,
    /// The count that halts; `None` when none does.
    #[serde(default)]
    pub limit: Option<u32>,
    pub last_at: Timestamp,
    /// The calls that were counted last, so that a repeated call is not counted again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nonces: Vec<String>,
}

/// The answer to an attempt in one word, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictKind {
    Allow,
    /// Allowed, with a sentence that the model reads.
    Warn,
    /// A person has to be asked first.
    Ask,
    Deny,
    Halt,
}

words!(VerdictKind { Allow = "allow", Warn = "warn", Ask = "ask", Deny = "deny", Halt = "halt" });

/// The answer to an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub verdict: VerdictKind,
    /// What the model reads; empty for a plain allow.
    #[serde(default)]
    pub reason: String,
    #[serde(default)]
    pub breaches: Vec<Breach>,
}

impl Verdict {
    /// Nothing stands against the attempt.
    pub fn allow() -> Self {
        Self {
            verdict: VerdictKind::Allow,
            reason: String::new(),
            breaches: Vec::new(),
        }
    }

    /// A denial that no single breach explains.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self {
            verdict: VerdictKind::Deny,
            reason: reason.into(),
            breaches: Vec::new(),
        }
    }

    /// Whether the attempt may happen.
    pub fn lets_through(&self) -> bool {
        matches!(self.verdict, VerdictKind::Allow | VerdictKind::Warn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_reads_without_its_kind() {
        assert_eq!(Signature::of_path("src/a:b.rs").target(), "src/a:b.rs");
        assert_eq!(Signature::of_command(" rm   x").target(), "rm x");
        let judged = Signature::of_judgment(InvariantId(ulid::Ulid::nil()));
        assert_eq!(judged.target(), "the judge's verdict");
        assert!(judged.is_judgment() && !Signature::of_path("judgment:").is_judgment());
    }
}
