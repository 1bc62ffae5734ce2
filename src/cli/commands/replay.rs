//! replay: what today's invariants would have refused in recorded sessions, and what each of
//! them would have cost.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{
    super::{
        Context,
        args::ReplayArgs,
        output::{Done, Failure},
    },
    Outcome,
    conflicts::current,
    plan_ref, table,
};
use crate::{
    agents::transcript::{Recorded, Transcript},
    engine::{
        disk::project_root,
        requests::{EffectiveOf, Replay},
    },
    model::{Breach, InvariantId, Signature, visible},
};

/// How many attempts go to the engine at once.
const BATCH: usize = 500;

/// How many refused attempts are listed for people.
const MAX_SHOWN: usize = 50;

/// What one invariant would have cost.
#[derive(Default)]
struct Cost {
    text: String,
    scope: String,
    /// Attempts that it would have refused, or warned of.
    refused: usize,
    targets: BTreeMap<Signature, u32>,
    /// The attempt, from 1, at which it would have halted a session.
    halts_at: Option<usize>,
}

pub(super) fn replay(context: &mut Context, args: ReplayArgs) -> Outcome {
    let of = match args.plan {
        Some(plan) => EffectiveOf::Plan(plan_ref(plan)?),
        None => current(context)?,
    };
    let (mut attempts, mut unread) = (Vec::new(), Vec::new());
    for file in &args.files {
        let transcript = read(file)?;
        attempts.extend(transcript.attempts);
        let name = visible(&file.to_string_lossy()).into_owned();
        unread.extend(
            transcript
                .unread
                .into_iter()
                .map(|(line, why)| format!("{name}, line {line}: {why}")),
        );
    }
    let mut costs: BTreeMap<InvariantId, Cost> = BTreeMap::new();
    let (mut rows, mut refused) = (Vec::new(), Vec::new());
    let mut halted: BTreeMap<String, usize> = BTreeMap::new();
    let mut strikes: BTreeMap<(String, InvariantId, Signature), u32> = BTreeMap::new();
    for (number, (recorded, breaches)) in judged(context, &of, &attempts)?.into_iter().enumerate() {
        let mut halts = false;
        for breach in &breaches {
            let key = (
                recorded.session.clone(),
                breach.invariant_id,
                breach.signature.clone(),
            );
            let count = strikes.entry(key).or_default();
            *count += 1;
            let cost = costs.entry(breach.invariant_id).or_default();
            cost.text.clone_from(&breach.text);
            cost.scope = breach.scope.to_string();
            cost.refused += 1;
            *cost.targets.entry(breach.signature.clone()).or_default() += 1;
            if breach.limit.is_some_and(|limit| *count >= limit) {
                halts = true;
                cost.halts_at.get_or_insert(number + 1);
            }
        }
        if halts {
            halted.entry(recorded.session.clone()).or_insert(number + 1);
        }
        if let Some(first) = breaches.first() {
            let verdict = match (halts, first.limit) {
                (true, _) => "halt",
                (false, Some(_)) => "deny",
                (false, None) => "warn",
            };
            rows.push(vec![
                (number + 1).to_string(),
                verdict.to_owned(),
                visible(&recorded.attempt.tool).into_owned(),
                visible(&first.path).into_owned(),
                first.text.clone(),
            ]);
            refused.push(json!({
                "attempt": number + 1, "agent": recorded.agent, "session": recorded.session,
                "line": recorded.line, "tool": recorded.attempt.tool, "verdict": verdict,
                "breaches": breaches,
            }));
        }
    }
    let mut text = format!(
        "{} attempts, {} of them would have been refused or warned of\n",
        attempts.len(),
        rows.len()
    );
    if !rows.is_empty() {
        let all = rows.len();
        rows.truncate(MAX_SHOWN);
        text.push_str(&table(
            &["ATTEMPT", "VERDICT", "TOOL", "PATH", "INVARIANT"],
            &rows,
        ));
        if all > MAX_SHOWN {
            text.push_str(&format!(
                "… and {} more; `--format json` has all\n",
                all - MAX_SHOWN
            ));
        }
    }
    text.push_str(&cost_table(&costs, attempts.len()));
    for (session, at) in &halted {
        text.push_str(&format!(
            "session {} would have been halted at attempt {at}\n",
            visible(session)
        ));
    }
    if !unread.is_empty() {
        text.push_str(&format!(
            "{} lines could not be read, the first: {}\n",
            unread.len(),
            unread[0]
        ));
    }
    let costs: Vec<_> = costs
        .iter()
        .map(|(id, c)| {
            json!({
                "id": id, "text": c.text, "scope": c.scope, "refused": c.refused,
                "targets": c.targets.len(), "halts_at": c.halts_at,
            })
        })
        .collect();
    Ok(Done::new(
        text,
        json!({
            "attempts": attempts.len(), "refused": refused, "costs": costs,
            "halted": halted, "unread": unread,
        }),
    ))
}

fn cost_table(costs: &BTreeMap<InvariantId, Cost>, attempts: usize) -> String {
    if costs.is_empty() {
        return String::new();
    }
    let row = |cost: &Cost| {
        let share = cost.refused as f64 * 100.0 / attempts.max(1) as f64;
        vec![
            cost.text.clone(),
            cost.scope.clone(),
            format!("{} ({share:.1} %)", cost.refused),
            cost.targets.len().to_string(),
            cost.halts_at
                .map_or("never".to_owned(), |at| format!("at attempt {at}")),
        ]
    };
    let rows: Vec<_> = costs.values().map(row).collect();
    format!(
        "\n{}",
        table(
            &["INVARIANT", "SCOPE", "REFUSED", "TARGETS", "HALTS"],
            &rows
        )
    )
}

/// Each attempt with what it would break, the sessions of one directory together.
fn judged<'a>(
    context: &mut Context,
    of: &EffectiveOf,
    attempts: &'a [Recorded],
) -> Result<Vec<(&'a Recorded, Vec<Breach>)>, Failure> {
    let mut out = Vec::new();
    for batch in attempts.chunk_by(|a, b| a.project_dir == b.project_dir) {
        // A directory of another machine stays as it is written.
        let dir = batch[0].project_dir.as_path();
        let root = if dir.is_dir() {
            project_root(dir)
        } else {
            dir.to_owned()
        };
        for part in batch.chunks(BATCH) {
            let request = Replay {
                of: of.clone(),
                root: root.clone(),
                attempts: part.iter().map(|r| r.attempt.clone()).collect(),
            };
            out.extend(part.iter().zip(context.ask(request)?));
        }
    }
    Ok(out)
}

fn read(path: &PathBuf) -> Result<Transcript, Failure> {
    let unreadable = |e: io::Error| {
        let shown = visible(&path.to_string_lossy()).into_owned();
        Failure::failed(format!("{shown} cannot be read"))
            .caused_by(e)
            .hint("give a transcript, or - for stdin")
    };
    let mut input: Box<dyn BufRead> = match path.as_path() == Path::new("-") {
        true => Box::new(BufReader::new(io::stdin())),
        false => Box::new(BufReader::new(File::open(path).map_err(unreadable)?)),
    };
    let mut transcript = Transcript::default();
    let (mut line, mut number) = (Vec::new(), 0);
    loop {
        line.clear();
        number += 1;
        if input.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            return Ok(transcript);
        }
        transcript.line(number, &String::from_utf8_lossy(&line));
    }
}
