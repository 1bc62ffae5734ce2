//! The sentences that a model reads. Foreign text in them is marked and made visible.

use sha2::{Digest, Sha256};

use crate::model::{
    Assent, Breach, Invariant, LetterCheck, PlanId, Scope, VerdictKind, hex, visible,
};

/// What may be done instead of breaking a check.
pub fn allowed_instead(check: &LetterCheck) -> String {
    match check {
        LetterCheck::NoEditsOutside(patterns) => {
            format!("changes to files that match {}", patterns.join(", "))
        }
        LetterCheck::Untouched(_) => "changes to other files; leave this one as it is".to_owned(),
    }
}

/// The reason of a denial, a halt or a warning, from the breaches of one attempt.
pub fn reason(verdict: VerdictKind, tool: &str, plan: PlanId, breaches: &[Breach]) -> String {
    let tool = visible(tool);
    let mut out = match verdict {
        VerdictKind::Warn => format!("invar let this {tool} through, and it breaks an invariant:"),
        VerdictKind::Halt => format!("invar denied this {tool} and halted the run:"),
        _ => format!("invar denied this {tool}:"),
    };
    for breach in breaches {
        let source = match &breach.scope {
            Scope::Plan(_) => "plan".to_owned(),
            other => visible(&other.to_string()).into_owned(),
        };
        out.push_str(&format!(
            "\n- invariant: {} ({source})\n  path: \"{}\"\n  allowed: {}",
            breach.text,
            visible(&breach.path),
            breach.allowed,
        ));
        if let Some(why) = &breach.why {
            out.push_str(&format!("\n  why: {}", visible(why)));
        }
        if let (Some(limit), true) = (breach.limit, breach.strike > 0) {
            out.push_str(&format!("\n  strike {} of {limit}", breach.strike));
        }
    }
    match verdict {
        VerdictKind::Warn => {}
        VerdictKind::Halt => out.push_str(&format!(
            "\nEvery further action is denied until a person resumes it with `invar plan resume {plan}`. Stop here and say what you needed."
        )),
        _ => out.push_str(
            "\nDo not try the same change another way; each try on this path is a strike, and the last one halts the run.",
        ),
    }
    out
}

/// What a model reads when its command has changed what must stay. `command` is empty when it is
/// not known which one it was.
pub fn found(verdict: VerdictKind, command: &str, plan: PlanId, breaches: &[Breach]) -> String {
    let by = match command {
        "" => String::new(),
        command => format!(
            " by `{}`",
            visible(command.lines().next().unwrap_or_default())
        ),
    };
    let mut out = format!("invar found changes that break an invariant{by}:");
    for breach in breaches {
        out.push_str(&format!(
            "\n- invariant: {}\n  path: \"{}\"",
            breach.text,
            visible(&breach.path)
        ));
        if let Some(why) = &breach.why {
            out.push_str(&format!("\n  found: {}", visible(why)));
        }
        if let (Some(limit), true) = (breach.limit, breach.strike > 0) {
            out.push_str(&format!("\n  strike {} of {limit}", breach.strike));
        }
    }
    out.push_str(match verdict {
        VerdictKind::Halt => "\nThe run is halted. Stop here and say what you needed.",
        _ => "\nThe plan cannot be applied while this stands. Do not change these files again; tell the person what happened.",
    });
    if verdict == VerdictKind::Halt {
        out.push_str(&format!(
            " A person resumes it with `invar plan resume {plan}`."
        ));
    }
    out
}

/// What a model reads when a judge says that a clause is broken.
pub fn judged(verdict: VerdictKind, plan: PlanId, breaches: &[Breach]) -> String {
    let mut out = "invar's judge says that an invariant is broken:".to_owned();
    for breach in breaches {
        out.push_str(&format!("\n- invariant: {}", breach.text));
        if let Some(why) = &breach.why {
            out.push_str(&format!("\n  {}", visible(why)));
        }
        if let (Some(limit), true) = (breach.limit, breach.strike > 0) {
            out.push_str(&format!("\n  strike {} of {limit}", breach.strike));
        }
    }
    out.push_str(&match verdict {
        VerdictKind::Halt => format!(
            "\nThe run is halted. A person resumes it with `invar plan resume {plan}`. Stop here and say what you needed."
        ),
        _ => "\nPut it right, or tell the person why it has to be so.".to_owned(),
    });
    out
}

/// The reason for everything an agent tries in a halted plan.
pub fn halted(plan: PlanId, why: &str) -> String {
    format!(
        "invar: the run is halted ({why}). Nothing is allowed until a person resumes it with `invar plan resume {plan}`. Stop here."
    )
}

/// What a model reads of the effective set of its plan; `None` when nothing is in force.
pub fn context(plan: PlanId, effective: &[&Invariant]) -> Option<String> {
    if effective.is_empty() {
        return None;
    }
    let mut out = format!(
        "invar guards this run (plan {plan}). These invariants must stay true during the whole run:"
    );
    for invariant in effective {
        out.push_str(&format!("\n- {}", invariant.text.replace('\n', " ")));
        if let Some(check) = invariant.layer.letter() {
            let sentence = check.sentence();
            if sentence != invariant.text {
                out.push_str(&format!(" [{sentence}]"));
            }
        }
    }
    out.push_str(
        "\nAn action that breaks one is denied before it happens; the third try of the same action halts the run.",
    );
    Some(out)
}

/// Names an effective set by what a model reads of it: 16 hexadecimal digits, equal for equal sets,
/// over restarts as well.
pub fn digest(effective: &[&Invariant]) -> String {
    let mut hash = Sha256::new();
    for invariant in effective {
        hash.update(invariant.id.to_string());
        hash.update(invariant.text.as_bytes());
        hash.update(format!("\0{:?}\0", invariant.layer));
    }
    hex(&hash.finalize()[..8])
}

/// What a model reads in a running session, after the set has changed. `context` is the new set.
pub fn changed_context(context: Option<&str>) -> String {
    match context {
        Some(text) => format!("The invariants have changed; from now on only these hold.\n{text}"),
        None => "The invariants have changed: none is in force for this run any more.".to_owned(),
    }
}

/// What a model reads while a person has not answered.
pub fn asks(tool: &str, waiting: &[Assent]) -> String {
    let mut out = format!("invar: a person must approve this {} first:", visible(tool));
    for assent in waiting {
        out.push_str(&format!(
            "\n- invariant: {}\n  path: \"{}\"\n  a person answers with `invar assent approve {}`, with `invar assent refuse {} --reason …`, or on invar's screen",
            assent.text,
            visible(&assent.path),
            assent.id,
            assent.id
        ));
    }
    out.push_str("\nSay so to the person, and try exactly the same again once it is approved; another change asks anew.");
    out
}

/// Why a command that waits for input is denied.
pub fn waits(tool: &str, part: &str) -> String {
    format!(
        "invar denied this {}: `{}` waits for input, and what is typed into a running command comes by no hook. Give the commands at once: `sh -c '…'`, a here-document, an option such as `-c` or `-e`, or `cat` in place of a pager.",
        visible(tool),
        visible(part)
    )
}

/// A short reason for the plan's record and the screen: the breach whose strike was the last one.
pub fn halt_summary(breaches: &[Breach]) -> String {
    breaches
        .iter()
        .find(|b| b.limit == Some(b.strike))
        .map(|b| {
            let path = visible(&b.path);
            let text = b.text.trim_end_matches('.');
            format!("strike {} of {} on {path}: {text}", b.strike, b.strike)
        })
        .unwrap_or_default()
}
