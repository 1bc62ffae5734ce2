use super::*;
use crate::model::{InvariantPatch, Layer, Origin, Severity};

fn texts(set: &EffectiveSet) -> Vec<&str> {
    set.invariants.iter().map(|i| i.text.as_str()).collect()
}

fn refused(world: &mut World, new: NewInvariant) -> String {
    let cwd = world.root.clone();
    world
        .ask(Add {
            invariant: new,
            cwd,
            plan: None,
        })
        .unwrap_err()
        .to_string()
}

#[test]
fn the_worked_example_comes_out_of_the_store() {
    let mut w = World::new();
    let plan = w.use_plan("local/work").id;
    w.add_plain(Scope::Global, "Never delete production data");
    w.add_plain(Scope::Global, "Log all changes");
    w.add_plain(project(), "All API changes need tests");
    w.add_plain(project(), "Log all changes");
    w.add_plain(Scope::Plan(plan), "Use Python 3.13 only");
    w.restart();
    let set = w.effective(plan);
    let expected = [
        "Use Python 3.13 only",
        "All API changes need tests",
        "Log all changes",
        "Never delete production data",
    ];
    assert_eq!(texts(&set), expected);
    assert_eq!(set.conflicts_resolved.len(), 1);
    assert_eq!(
        set.conflicts_resolved[0].rationale,
        "project scope > global scope"
    );
    assert!(
        set.built_in
            .iter()
            .all(|i| i.origin == Origin::BuiltIn && i.non_overridable)
    );
}

#[test]
fn what_is_not_well_formed_is_refused_with_a_sentence() {
    let mut w = World::new();
    let letter = |patterns: &[&str]| {
        let patterns = patterns.iter().map(|p| (*p).to_owned()).collect();
        NewInvariant::letter(Scope::Global, LetterCheck::NoEditsOutside(patterns))
    };
    let long = "x".repeat(2001);
    for (new, part) in [
        (NewInvariant::plain(Scope::Global, &long), "2001 characters"),
        (
            NewInvariant::plain(Scope::Global, " \n "),
            "the text is empty",
        ),
        (NewInvariant::plain(Scope::Global, "a\u{202e}b"), "U+202E"),
        (letter(&["src/[x"]), "column 5"),
        (letter(&[]), "at least one pattern"),
        (letter(&["{name}/x"]), "only an invariant of an action"),
        (
            NewInvariant::plain(
                Scope::Plan("01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap()),
                "x",
            ),
            "was not found",
        ),
    ] {
        let error = refused(&mut w, new);
        assert!(error.contains(part), "{error}");
    }
    let all = w
        .ask(List {
            scope: None,
            plan: None,
            removed: true,
        })
        .unwrap();
    assert!(all.is_empty(), "nothing refused is stored");
}

#[test]
fn removal_is_soft_and_restoring_brings_it_back() {
    let mut w = World::new();
    let invariant = w.add_plain(project(), "Log all changes");
    let plan = w.use_plan("local/work").id;
    let id = invariant.id.to_string();
    w.ask(Remove { id: id.clone() }).unwrap();
    assert!(w.effective(plan).invariants.is_empty());
    let error = w.ask(Remove { id: id.clone() }).unwrap_err().to_string();
    assert!(error.contains("invar restore"), "{error}");
    w.restart();
    w.ask(Restore { id: id.clone() }).unwrap();
    assert_eq!(w.effective(plan).invariants[0].id, invariant.id);
    let history = w.ask(History { id }).unwrap();
    assert_eq!(
        history
            .iter()
            .map(|i| (i.revision, i.active))
            .collect::<Vec<_>>(),
        [(1, true), (2, false), (3, true)]
    );
}

#[test]
fn an_edit_keeps_the_id_and_refuses_a_lost_update() {
    let mut w = World::new();
    let invariant = w.untouched(project(), "tests/a.py");
    let id = invariant.id.to_string();
    let layer = Layer::Letter(LetterCheck::Untouched("tests/b.py".into()));
    let patch = InvariantPatch {
        layer: Some(layer),
        severity: Some(Severity::Warning),
        expected_revision: Some(1),
        ..InvariantPatch::default()
    };
    let after = w
        .ask(Edit {
            id: id.clone(),
            patch: patch.clone(),
        })
        .unwrap();
    assert_eq!((after.id, after.revision), (invariant.id, 2));
    assert_eq!(
        after.text, "tests/b.py is untouched",
        "a written text follows its check"
    );
    let error = w.ask(Edit { id, patch }).unwrap_err().to_string();
    assert!(error.contains("changed meanwhile"), "{error}");
}

#[test]
fn changes_are_undone_and_done_again_over_restarts() {
    let mut w = World::new();
    let a = w.add_plain(Scope::Global, "one");
    let id = a.id.to_string();
    let text = |t: &str| InvariantPatch {
        text: Some(t.into()),
        ..InvariantPatch::default()
    };
    w.ask(Edit {
        id: id.clone(),
        patch: text("two"),
    })
    .unwrap();
    w.ask(Remove { id: id.clone() }).unwrap();
    let now = |w: &mut World| {
        let i = w.ask(Show { id: id.clone() }).unwrap();
        (i.text, i.active)
    };
    let mut steps = Vec::new();
    for step in ["undo", "undo", "undo", "redo", "redo", "undo"] {
        w.restart();
        match step {
            "undo" => w.undo().unwrap(),
            _ => w.redo().unwrap(),
        };
        steps.push(now(&mut w));
    }
    let expected = [
        ("two", true),
        ("one", true),
        ("one", false),
        ("one", true),
        ("two", true),
        ("one", true),
    ];
    assert_eq!(steps, expected.map(|(t, a)| (t.to_owned(), a)));
    w.ask(Edit {
        id: id.clone(),
        patch: text("three"),
    })
    .unwrap();
    let error = w.redo().unwrap_err().to_string();
    assert!(
        error.contains("nothing to redo"),
        "a new change ends what can be done again"
    );
    let history = w.ask(History { id: id.clone() }).unwrap();
    assert!(
        history.iter().zip(1..).all(|(i, n)| i.revision == n),
        "every step is a revision"
    );
}

#[test]
fn an_import_is_undone_as_a_whole() {
    let mut w = World::new();
    let new = |text: &str| ImportItem::New(NewInvariant::plain(Scope::Global, text));
    w.ask(Import {
        items: vec![new("a"), new("b")],
    })
    .unwrap();
    w.undo().unwrap();
    let list = List {
        scope: None,
        plan: None,
        removed: false,
    };
    assert_eq!(w.ask(list.clone()).unwrap(), []);
    w.redo().unwrap();
    let all = w.ask(list).unwrap();
    assert_eq!(all.len(), 2);
    w.undo().unwrap();
    let error = w.undo().unwrap_err().to_string();
    assert!(error.contains("nothing to undo"), "{error}");
}

#[test]
fn ids_are_found_by_prefix_and_never_guessed() {
    let mut w = World::new();
    let a = w.add_plain(Scope::Global, "a");
    let b = w.add_plain(Scope::Global, "b");
    let id = a.id.to_string();
    let shown = w.ask(Show {
        id: id.to_lowercase(),
    });
    assert_eq!(shown.unwrap(), a);
    let (common, _) = id
        .char_indices()
        .find(|(i, c)| b.id.to_string().as_bytes()[*i] != *c as u8)
        .unwrap();
    let error = w
        .ask(Show {
            id: id[..common].into(),
        })
        .unwrap_err();
    assert!(matches!(error.kind, ErrorKind::NotUnique { .. }), "{error}");
    let error = w.ask(Show { id: "01".into() }).unwrap_err().to_string();
    assert!(error.contains("at least 4 characters"), "{error}");
}

#[test]
fn built_in_invariants_cannot_be_changed() {
    let mut w = World::new();
    let plan = w.use_plan("local/work").id;
    let id = w.effective(plan).built_in[0].id.to_string();
    let error = w.ask(Remove { id }).unwrap_err().to_string();
    assert!(error.contains("built in"), "{error}");
}

#[test]
fn a_scope_that_cannot_be_non_overridable_is_told_so() {
    let mut w = World::new();
    let mut new = NewInvariant::plain(project(), "x");
    new.non_overridable = true;
    let cwd = w.root.clone();
    let Added { invariant, notes } = w
        .ask(Add {
            invariant: new,
            cwd,
            plan: None,
        })
        .unwrap();
    assert!(invariant.non_overridable);
    assert!(
        notes[0].contains("no effect on the project scope"),
        "{notes:?}"
    );
}
