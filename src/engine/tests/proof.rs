//! The log proves the state: a row that is not as the events say is found and named.

use std::collections::BTreeMap;

use super::*;
use crate::{
    model::{Checkpoint, JudgeAnswer, JudgeCheck, Layer, Money},
    store::{
        LogReport, RowDifference,
        testing::{RawRow, rows, set_row},
    },
};

fn verified(w: &mut World) -> LogReport {
    w.ask(LogVerify { against: None }).unwrap()
}

/// A world with rows in every table that an engine writes.
fn full() -> World {
    let mut w = World::new();
    w.config.judge.kind = Some(crate::config::JudgeKind::Command);
    w.config.judge.command = vec!["true".into()];
    w.restart();
    w.ask(ActionAdd {
        name: "local/work".parse().unwrap(),
    })
    .unwrap();
    w.untouched(Scope::Global, "tests/**");
    let edited = w.add_plain(project(), "one");
    w.ask(Edit {
        id: edited.id.to_string(),
        patch: crate::model::InvariantPatch {
            text: Some("two".into()),
            ..Default::default()
        },
    })
    .unwrap();
    w.undo().unwrap();
    let asks = Layer::Assent {
        when: vec!["docs/**".into()],
    };
    let judged = Layer::Judgment {
        checkpoint: Checkpoint::EachEdit,
    };
    for (layer, text) in [(asks, "a person agrees"), (judged, "a judge agrees")] {
        w.add(NewInvariant {
            layer,
            ..NewInvariant::plain(project(), text)
        });
    }
    // A plan that ends, and one that goes on.
    for ends in [true, false] {
        let plan = w.use_plan("local/work");
        let own = w.add_plain(Scope::Plan(plan.id), "of this plan");
        let session = if ends { "past" } else { "now" };
        for path in ["src/a.rs", "tests/t.py", "docs/x.md"] {
            let mut attempt = w.attempt_on(path);
            attempt.change = Some(crate::model::Change {
                digest: "d".into(),
                shown: format!("+{session}"),
            });
            w.hook(session, HookEvent::Attempt(attempt));
        }
        w.ask(Enforce {
            plan: w.plan_ref(plan.id),
            violated: vec![own.id.to_string()],
            response: "found".into(),
        })
        .unwrap();
        let jobs = w.engine.as_mut().unwrap().take_jobs();
        let check = JudgeCheck {
            id: jobs[0].id,
            plan_id: plan.id,
            invariant_id: jobs[0].invariant_id,
            clause: "looked at".into(),
            judge: "command".into(),
            prompt_version: 1,
            digest: jobs[0].digest.clone(),
            upto: jobs[0].upto,
            actions: 1,
            answers: vec![JudgeAnswer {
                holds: Some(true),
                reason: "small".into(),
                cost: None,
                millis: 1,
            }],
            outcome: crate::model::CheckOutcome::Holds,
            reason: "small".into(),
            cost: Money(7),
            cached: false,
            at: jiff::Timestamp::now(),
        };
        w.engine.as_mut().unwrap().judged(check);
        w.hook(
            session,
            HookEvent::Attempt(Attempt {
                change: Some(crate::model::Change {
                    digest: "e".into(),
                    shown: "+y".into(),
                }),
                ..w.attempt_on("src/b.rs")
            }),
        );
        if ends {
            w.hook(session, HookEvent::SessionEnd);
            w.ask(PlanCancel {
                plan: w.plan_ref(plan.id),
            })
            .unwrap();
        }
    }
    w
}

/// A row of each table.
fn one_of_each(w: &World) -> BTreeMap<&'static str, RawRow> {
    let all = rows(&w.locations.store).unwrap();
    all.into_iter().map(|row| (row.0, row)).collect()
}

#[test]
fn a_changed_an_added_and_a_missing_row_of_any_table_are_found_and_named() {
    let mut w = full();
    let report = verified(&mut w);
    assert!(report.is_whole(), "{report:?}");
    assert!(report.rows > 40, "{report:?}");
    w.engine = None;
    let each = one_of_each(&w);
    let tables: Vec<&str> = each.keys().copied().collect();
    // The records of the first schema are held against its log in tests/it/stores.rs.
    assert_eq!(tables.len(), 25, "{tables:?}");
    let store = w.locations.store.clone();
    for (table, key, value) in each.values() {
        let mut changed = value.clone();
        match changed.last_mut() {
            Some(last) => *last ^= 1,
            None => changed.push(b'x'),
        }
        let mut other = key.clone();
        let end = other.len() - 1;
        other[end] ^= 0x40;
        for (what, key, now, expected) in [
            ("changed", key, Some(&changed), RowDifference::Changed),
            ("missing", key, None, RowDifference::Missing),
            ("added", &other, Some(value), RowDifference::Added),
        ] {
            let before = rows(&store).unwrap();
            let before = before.iter().find(|r| r.0 == *table && r.1 == *key);
            let before = before.map(|r| r.2.clone());
            set_row(&store, table, key, now.map(Vec::as_slice)).unwrap();
            let opened = invar_store::Store::open(&store).unwrap();
            let mut state = crate::State::whole();
            let view = opened.view().unwrap();
            let report = view.verify(|e| state.apply(e), None).unwrap();
            drop(opened);
            assert!(!report.is_whole(), "{table} {what}");
            let fault = &report.row_faults[0];
            assert_eq!((fault.table.as_str(), fault.difference), (*table, expected));
            assert!(!fault.row.contains("the row "), "{}", fault.row);
            set_row(&store, table, key, before.as_deref()).unwrap();
        }
    }
    let words: Vec<String> = {
        let (table, key, value) = &each["plans"];
        let plan = ulid::Ulid::from_bytes(key.as_slice().try_into().unwrap());
        let text = String::from_utf8(value[1..].to_vec()).unwrap();
        let value = [&[1], text.replace("processing", "applied").as_bytes()].concat();
        let value = match value == [&[1], text.as_bytes()].concat() {
            true => [&[1], text.replace("queued", "applied").as_bytes()].concat(),
            false => value,
        };
        set_row(&store, table, key, Some(&value)).unwrap();
        vec![format!("the plan {plan}")]
    };
    w.engine = Some(Engine::open(&w.locations, &w.config).unwrap());
    let report = verified(&mut w);
    let named: Vec<String> = report.row_faults.iter().map(|f| f.row.clone()).collect();
    assert_eq!(named, words);
}
