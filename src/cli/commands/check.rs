//! check: changed paths against the letter invariants.

use std::{path::Path, process::Command};

use serde_json::json;

use super::{
    super::{
        Context,
        args::{CheckArgs, ExplainArgs},
        exit,
        output::{Done, Failure},
    },
    Outcome,
    conflicts::current,
    cwd, plan_ref, table,
};
use crate::{
    engine::{
        disk::project_root,
        requests::{
            Asked, Check, CheckPath, Checked, EffectiveOf, Explain, ExplainWhat, Explained,
            Offence, ReadEffect,
        },
    },
    model::{Severity, visible},
};

pub(super) fn check(context: &mut Context, args: CheckArgs) -> Outcome {
    let here = cwd()?;
    let root = project_root(&here);
    let mut paths: Vec<CheckPath> = args
        .path
        .iter()
        .map(|p| CheckPath {
            path: here.join(p),
            subtree: false,
        })
        .collect();
    if args.staged {
        paths.extend(changed(&root, &["--cached"])?);
    }
    if let Some(base) = &args.base {
        if base.starts_with('-') {
            return Err(Failure::usage(format!("{base:?} is no revision"))
                .hint("give a branch, tag or commit"));
        }
        paths.extend(changed(&root, &[base.as_str()])?);
        let untracked = git(&root, &["ls-files", "--others", "--exclude-standard", "-z"])?;
        let untracked = untracked.split('\0').filter(|p| !p.is_empty());
        paths.extend(untracked.map(|p| CheckPath {
            path: root.join(p),
            subtree: false,
        }));
    }
    let of = match args.plan {
        Some(plan) => EffectiveOf::Plan(plan_ref(plan)?),
        None => current(context)?,
    };
    let Checked { checked, offences } = context.ask(Check { of, root, paths })?;
    let blocking = offences.iter().any(|o| o.severity == Severity::Error);
    let row = |o: &Offence| {
        vec![
            o.path.clone(),
            o.severity.as_str().to_owned(),
            o.text.clone(),
            o.scope.to_string(),
        ]
    };
    let rows: Vec<_> = offences.iter().map(row).collect();
    let text = match offences.is_empty() {
        true => format!("{checked} changed paths keep to the invariants\n"),
        false => table(&["PATH", "SEVERITY", "INVARIANT", "SCOPE"], &rows),
    };
    let mut done = Done::new(text, json!({"checked": checked, "offences": offences}));
    if blocking {
        done.exit = exit::BLOCKED;
    }
    Ok(done)
}

pub(super) fn explain(context: &mut Context, args: ExplainArgs) -> Outcome {
    let here = cwd()?;
    let of = match args.plan {
        Some(plan) => EffectiveOf::Plan(plan_ref(plan)?),
        None => current(context)?,
    };
    let root = project_root(&here);
    let what = match (args.command, args.path) {
        (Some(line), _) => ExplainWhat::Command(line),
        (None, Some(path)) => ExplainWhat::Path(path),
        (None, None) => {
            return Err(
                Failure::usage("nothing to explain").hint("give `--path P` or `--command CMD`")
            );
        }
    };
    let request = Explain {
        of,
        root,
        cwd: here,
        what: what.clone(),
    };
    let explained = context.ask(request)?;
    let mut text = match &what {
        ExplainWhat::Path(_) => {
            let places: Vec<String> = explained
                .places
                .iter()
                .map(|p| visible(&p.to_string_lossy()).into_owned())
                .collect();
            format!(
                "a change of {} would be: {}\n",
                places.join(" and "),
                explained.verdict
            )
        }
        ExplainWhat::Command(line) => format!(
            "`{}` would be: {}\n{}\n",
            visible(line),
            explained.verdict,
            effects_text(&explained, line)
        ),
    };
    if explained.scratch {
        text.push_str("it lies in a scratch folder, which is nobody's business\n");
    }
    let row = |asked: &Asked| {
        let answer = if asked.holds { "holds" } else { "breaks" };
        vec![
            answer.to_owned(),
            asked.text.clone(),
            asked.scope.to_string(),
            visible(&asked.broken_by.join("; ")).into_owned(),
        ]
    };
    let rows: Vec<_> = explained.asked.iter().map(row).collect();
    text.push_str(&table(
        &["ANSWER", "INVARIANT", "SCOPE", "BROKEN BY"],
        &rows,
    ));
    Ok(Done::new(text, json!({"explained": explained})))
}

/// What was read out of a line, each with its bytes and the words that say it.
fn effects_text(explained: &Explained, line: &str) -> String {
    let row = |effect: &ReadEffect| {
        let (from, to) = effect.bytes.unwrap_or((0, line.len()));
        let words = line.get(from..to).unwrap_or_default();
        vec![
            effect.effect.clone(),
            visible(&effect.target).into_owned(),
            format!("{from}..{to}"),
            visible(words).into_owned(),
        ]
    };
    let rows: Vec<_> = explained.effects.iter().map(row).collect();
    let mut text = match (rows.is_empty(), explained.opaque) {
        (true, false) => "it only reads\n".to_owned(),
        (true, true) => String::new(),
        (false, _) => table(&["EFFECT", "TARGET", "BYTES", "WORDS"], &rows),
    };
    if explained.opaque {
        text.push_str("it may change more than its words say; the tree is looked at afterwards\n");
    }
    text
}

/// The paths that git says have changed; a rename counts on both sides.
fn changed(root: &Path, against: &[&str]) -> Result<Vec<CheckPath>, Failure> {
    let mut args = vec![
        "diff",
        "--name-status",
        "--find-renames",
        "--no-ext-diff",
        "-z",
    ];
    args.extend(against);
    args.push("--");
    Ok(parse_name_status(root, &git(root, &args)?))
}

/// Reads `git diff --name-status -z`: a status, then one path, or two after R and C.
fn parse_name_status(root: &Path, text: &str) -> Vec<CheckPath> {
    let mut fields = text.split('\0').filter(|f| !f.is_empty());
    let mut paths = Vec::new();
    while let Some(status) = fields.next() {
        let mut next = |subtree| {
            if let Some(path) = fields.next() {
                paths.push(CheckPath {
                    path: root.join(path),
                    subtree,
                });
            }
        };
        match status.as_bytes().first() {
            Some(b'R') => {
                next(true);
                next(false);
            }
            // What was copied from is as it was.
            Some(b'C') => {
                fields.next();
                if let Some(path) = fields.next() {
                    paths.push(CheckPath {
                        path: root.join(path),
                        subtree: false,
                    });
                }
            }
            Some(b'D') => next(true),
            _ => next(false),
        }
    }
    paths
}

fn git(root: &Path, args: &[&str]) -> Result<String, Failure> {
    let fail = |what: String| {
        Failure::failed(format!("git {}: {what}", args[0])).hint("see that this is a git work tree")
    };
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(args)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .map_err(|e| fail(format!("it cannot be run ({e})")))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(fail(text.lines().next().unwrap_or("it failed").to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renames_count_on_both_sides_and_copies_on_one() {
        let text = "M\0src/a.rs\0R100\0tests/t.py\0src/t.py\0C075\0a\0b\0D\0old\0";
        let paths: Vec<(String, bool)> = parse_name_status(Path::new("/w"), text)
            .into_iter()
            .map(|p| (p.path.display().to_string(), p.subtree))
            .collect();
        let expected = [
            ("/w/src/a.rs", false),
            ("/w/tests/t.py", true),
            ("/w/src/t.py", false),
            ("/w/b", false),
            ("/w/old", true),
        ];
        assert_eq!(paths, expected.map(|(p, s)| (p.to_owned(), s)));
    }
}
