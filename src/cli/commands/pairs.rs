//! Contradictions that only the meaning shows: a judge is asked about each pair of statements
//! once, on demand.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::super::{Context, output::Failure};
use crate::{
    engine::{
        Config,
        judge::{self, JudgeJob},
    },
    model::{CheckId, CheckOutcome, Invariant, InvariantId, JudgedAction, Layer, Money, PlanId},
};

/// How many pairs are asked about at once.
const MAX_PAIRS: usize = 100;

const CLAUSE: &str = "The two statements below can both be kept at the same time by somebody who works on a software project. Say \"broken\" only if keeping one means breaking the other.";

/// What the judge said of a pair.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Answered {
    contradicts: bool,
    reason: String,
}

/// What came of asking.
#[derive(Default)]
pub(super) struct Asked {
    /// Pairs that contradict each other, the stronger one first, with the judge's reason.
    pub found: Vec<(InvariantId, InvariantId, String)>,
    /// How many were asked about now, and what it cost.
    pub asked: usize,
    pub cost: Money,
    /// Why not all could be asked about.
    pub left: Option<String>,
}

/// Asks about each pair of statements in force that was not asked about before.
pub(super) fn ask(context: &mut Context, invariants: &[Invariant]) -> Result<Asked, Failure> {
    context.check_caller()?;
    let config = Config::load(&context.locations.config)?.judge;
    if config.kind.is_none() {
        return Err(Failure::failed("no judge is configured")
            .hint("write `[judge]` with a kind into the configuration (docs/judges.md)"));
    }
    let path = known_path(context);
    let mut known: BTreeMap<String, Answered> = fs::read_to_string(&path)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let prose = |i: &&Invariant| matches!(i.layer, Layer::Plain | Layer::Judgment { .. });
    let statements: Vec<&Invariant> = invariants.iter().filter(prose).collect();
    let mut out = Asked::default();
    let bound = Money::of(config.day_bound);
    for (n, one) in statements.iter().enumerate() {
        for two in &statements[n + 1..] {
            let actions = [statement(one), statement(two)];
            let digest = pair_digest(&config.name(), &one.text, &two.text);
            if !known.contains_key(&digest) {
                let next = out.cost.plus(config.estimate());
                if out.asked == MAX_PAIRS {
                    out.left = Some(format!(
                        "{MAX_PAIRS} pairs were asked about; ask again for the rest"
                    ));
                    continue;
                }
                if bound > Money::default() && next > bound {
                    out.left = Some(format!(
                        "the bound of the day is {bound}; raise `[judge] day_bound`"
                    ));
                    continue;
                }
                let job = JudgeJob {
                    id: CheckId(ulid::Ulid::nil()),
                    plan_id: PlanId(ulid::Ulid::nil()),
                    invariant_id: one.id,
                    clause: CLAUSE.to_owned(),
                    actions: actions.to_vec(),
                    upto: 0,
                    digest: digest.clone(),
                };
                let check = judge::run(&job, &config);
                out.asked += 1;
                out.cost = out.cost.plus(check.cost);
                if check.outcome == CheckOutcome::Failed {
                    out.left = Some(check.reason);
                    continue;
                }
                let contradicts = check.outcome == CheckOutcome::Broken;
                let reason = check.reason;
                known.insert(
                    digest.clone(),
                    Answered {
                        contradicts,
                        reason,
                    },
                );
            }
            if let Some(answer) = known.get(&digest).filter(|a| a.contradicts) {
                out.found.push((one.id, two.id, answer.reason.clone()));
            }
        }
    }
    if out.asked > 0 {
        let text = serde_json::to_string(&known).unwrap_or_default();
        fs::write(&path, text).map_err(|e| {
            Failure::failed(format!("{} cannot be written", path.display()))
                .caused_by(e)
                .hint("check its folder")
        })?;
    }
    Ok(out)
}

fn statement(invariant: &Invariant) -> JudgedAction {
    JudgedAction {
        plan_id: PlanId(ulid::Ulid::nil()),
        seq: 0,
        tool: "statement".into(),
        paths: Vec::new(),
        change: invariant.text.clone(),
    }
}

/// The same for both orders of a pair.
fn pair_digest(judge: &str, one: &str, two: &str) -> String {
    let (first, second) = if one <= two { (one, two) } else { (two, one) };
    let mut hash = Sha256::new();
    hash.update(format!(
        "{}\0{judge}\0{first}\0{second}",
        judge::PROMPT_VERSION
    ));
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// The file beside the store that remembers.
fn known_path(context: &Context) -> PathBuf {
    let mut name = context.locations.store.clone().into_os_string();
    name.push(".pairs.json");
    name.into()
}
