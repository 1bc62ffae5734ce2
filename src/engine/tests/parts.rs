//! The parts of the core on their own: what they keep, and for how long.

use std::sync::Arc;

use super::*;
use crate::core::sets::Sets;
use crate::{
    located::Root,
    model::{InvariantId, Layer},
    rules::normalise::KeyedInvariant,
};

fn rules(count: u64) -> Vec<Arc<KeyedInvariant>> {
    let rule = |n: u64| {
        let id = InvariantId(ulid::Ulid::from_parts(n, 1));
        let layer = Layer::Letter(LetterCheck::Untouched(format!("tests/t{n}.py")));
        let now = jiff::Timestamp::UNIX_EPOCH;
        KeyedInvariant::new(Invariant::new(
            id,
            Scope::Global,
            layer,
            &format!("rule {n}"),
            now,
        ))
    };
    (1..=count).map(rule).collect()
}

fn plan(n: u64) -> PlanId {
    PlanId(ulid::Ulid::from_parts(n, 2))
}

#[test]
fn plans_with_the_same_invariants_share_a_compiled_set_and_it_goes_with_the_last() {
    let root = Root {
        written: "/work/app".into(),
        resolved: "/work/app".into(),
        fold_case: false,
    };
    let mut sets = Sets::new(Vec::new(), Path::new("/home/me"));
    let first = sets.of_plan(plan(1), &root, || rules(4)).unwrap();
    let second = sets.of_plan(plan(2), &root, || rules(4)).unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    drop((first, second));
    sets.of_plan(plan(3), &root, || rules(5)).unwrap();
    assert_eq!((sets.held(), sets.merges()), (2, 3));
    sets.drop_plan(plan(1));
    assert_eq!(sets.held(), 2, "the second plan still has it");
    sets.drop_plan(plan(2));
    assert_eq!(sets.held(), 1);
    sets.drop_plan(plan(3));
    assert_eq!(sets.held(), 0);
}

#[test]
fn an_allowed_attempt_does_no_merge_and_an_ended_plan_leaves_nothing() {
    let mut w = World::new();
    w.untouched(project(), "tests/t.py");
    w.add(NewInvariant {
        layer: Layer::Assent {
            when: vec!["docs/**".into()],
        },
        ..NewInvariant::plain(project(), "A person sees each change of the docs")
    });
    let merges = |w: &World| w.engine.as_ref().unwrap().core().sets().merges();
    w.hook("s", HookEvent::SessionStart);
    assert!(w.edit("s", "src/a.rs").verdict.lets_through());
    let before = merges(&w);
    for _ in 0..20 {
        assert!(w.edit("s", "src/a.rs").verdict.lets_through());
    }
    assert_eq!(merges(&w), before);
    assert_eq!(w.engine.as_ref().unwrap().core().sets().held(), 1);
    w.hook("s", HookEvent::SessionEnd);
    assert_eq!(w.engine.as_ref().unwrap().core().sets().held(), 0);
}
