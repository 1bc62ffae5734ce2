use super::*;
use crate::{
    model::{InvariantPatch, Origin},
    project_file,
};

const FILE: &str = "# Rules of the house.\n\n[[invariants]]\nuntouched = \"tests/t.py\" # the agent's own test\n\n[[invariants]]\ntext = \"Log all changes\"\n";

fn write(w: &World, text: &str) {
    // Another length or another time: two writes within a moment differ in one of them.
    fs::write(w.root.join(project_file::NAME), text).unwrap();
}

fn file(w: &World) -> String {
    fs::read_to_string(w.root.join(project_file::NAME)).unwrap()
}

fn meet(w: &mut World) -> String {
    w.ask(ProjectOf {
        dir: w.root.join("src"),
    })
    .unwrap()
    .name
    .to_string()
}

fn active(w: &mut World) -> Vec<Invariant> {
    w.ask(List {
        scope: None,
        plan: None,
        removed: false,
    })
    .unwrap()
}

fn texts(w: &mut World) -> Vec<String> {
    active(w).into_iter().map(|i| i.text).collect()
}

#[test]
fn the_files_invariants_are_in_force_and_follow_it() {
    let mut w = World::new();
    write(&w, FILE);
    let reply = w.edit("s", "tests/t.py");
    assert_eq!(
        reply.verdict.verdict,
        VerdictKind::Deny,
        "the first attempt meets the file"
    );
    let before = active(&mut w);
    assert!(
        before
            .iter()
            .all(|i| i.origin == Origin::File && i.scope == project())
    );
    w.restart();
    write(
        &w,
        &FILE
            .replace("t.py", "other.py")
            .replace("Log all", "Note all"),
    );
    assert_eq!(
        texts(&mut w),
        ["tests/other.py is untouched", "Note all changes"]
    );
    let after = active(&mut w);
    assert_eq!(
        after[0].id, before[0].id,
        "an edit in the file keeps the id"
    );
    assert_eq!(after[0].revision, 2);
    assert_eq!(
        w.edit("s", "tests/t.py").verdict.verdict,
        VerdictKind::Allow
    );
    write(&w, "[[invariants]]\ntext = \"Note all changes\"\n");
    assert_eq!(texts(&mut w), ["Note all changes"]);
    fs::remove_file(w.root.join(project_file::NAME)).unwrap();
    w.restart();
    assert!(
        texts(&mut w).is_empty(),
        "a file that is gone takes its invariants with it"
    );
}

#[test]
fn a_file_that_is_being_written_changes_nothing_and_an_old_entry_comes_back_as_itself() {
    let mut w = World::new();
    write(&w, FILE);
    meet(&mut w);
    let before = active(&mut w);
    write(&w, "");
    assert_eq!(active(&mut w).len(), 2, "emptied only to be written");
    write(&w, "# another branch\n");
    assert!(active(&mut w).is_empty());
    write(&w, FILE);
    let ids = |all: &[Invariant]| all.iter().map(|i| i.id).collect::<Vec<_>>();
    assert_eq!(ids(&active(&mut w)), ids(&before));
}

#[test]
fn the_file_names_the_project() {
    let mut w = World::new();
    write(
        &w,
        "project = \"tide/water\"\n[[invariants]]\ntext = \"x\"\n",
    );
    assert_eq!(meet(&mut w), "tide/water");
    assert_eq!(active(&mut w)[0].scope.source(), "tide/water");
    let plan = w.edit("s", "src/a.rs").plan_id.unwrap();
    assert_eq!(w.plan(plan).project.as_str(), "tide/water");
}

#[test]
fn what_people_change_is_written_back_with_comments_and_order_kept() {
    let mut w = World::new();
    write(&w, FILE);
    meet(&mut w);
    let ids: Vec<String> = active(&mut w).iter().map(|i| i.id.to_string()).collect();
    let patch = InvariantPatch {
        text: Some("Log every change".into()),
        ..Default::default()
    };
    w.ask(Edit {
        id: ids[1].clone(),
        patch,
    })
    .unwrap();
    let edited = FILE.replace("Log all changes", "Log every change");
    assert_eq!(file(&w), edited);
    w.ask(Remove { id: ids[1].clone() }).unwrap();
    assert!(!file(&w).contains("Log every") && file(&w).contains("# the agent's own test"));
    w.undo().unwrap();
    assert_eq!(file(&w).trim_end(), edited.trim_end());
    w.undo().unwrap();
    assert_eq!(file(&w).trim_end(), FILE.trim_end());
    let new = w.add_plain(project(), "All API changes need tests");
    assert_eq!(new.origin, Origin::File);
    assert!(file(&w).contains("text = \"All API changes need tests\""));
    let global = w.add_plain(Scope::Global, "elsewhere");
    assert_eq!(global.origin, Origin::User);
    let count = active(&mut w).len();
    w.restart();
    meet(&mut w);
    assert_eq!(
        active(&mut w).len(),
        count,
        "what was written is what is read"
    );
}

#[test]
fn a_file_that_cannot_be_read_lets_nothing_through() {
    let mut w = World::new();
    write(&w, FILE);
    meet(&mut w);
    let plan = w.use_plan("local/work").id;
    write(&w, &format!("{FILE}[[invariants]]\nuntuched = \"a\"\n"));
    let reply = w.edit("s", "src/a.rs");
    assert_eq!(reply.verdict.verdict, VerdictKind::Deny);
    assert!(
        reply.verdict.reason.contains("invar.toml, line 9"),
        "{}",
        reply.verdict.reason
    );
    assert_eq!(active(&mut w).len(), 2, "the last good content stays");
    let error = w.transition(plan, Transition::StartStrategize).unwrap_err();
    assert!(
        matches!(error.kind, ErrorKind::InvariantLoad { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("untuched"), "{error}");
    write(
        &w,
        &format!("{FILE}[[invariants]]\nuntouched = \"src/[x\"\n"),
    );
    let reply = w.edit("s", "src/a.rs");
    assert!(
        reply.verdict.reason.contains("invariant 3"),
        "{}",
        reply.verdict.reason
    );
    write(&w, FILE);
    assert_eq!(w.edit("s", "src/a.rs").verdict.verdict, VerdictKind::Allow);
    w.transition(plan, Transition::StartStrategize).unwrap();
}

#[test]
fn agents_do_not_change_the_file() {
    let mut w = World::new();
    write(&w, FILE);
    for path in ["invar.toml", "src/../invar.toml", "sub/invar.toml"] {
        assert_eq!(
            w.edit("s", path).verdict.verdict,
            VerdictKind::Deny,
            "{path}"
        );
    }
}

#[test]
fn clones_of_one_project_add_up_and_say_nothing_twice() {
    let mut w = World::new();
    let clone = w.root.with_file_name("clone");
    fs::create_dir_all(clone.join(".git")).unwrap();
    write(&w, &format!("project = \"p\"\n{FILE}"));
    fs::write(
        clone.join("invar.toml"),
        "project = \"p\"\n[[invariants]]\ntext = \"x\"\n",
    )
    .unwrap();
    w.ask(ProjectOf {
        dir: w.root.clone(),
    })
    .unwrap();
    w.ask(ProjectOf { dir: clone.clone() }).unwrap();
    assert_eq!(active(&mut w).len(), 3);
    let seq = |w: &World| w.engine.as_ref().unwrap().core().state().seq;
    let before = seq(&w);
    for _ in 0..3 {
        w.restart();
        assert_eq!(active(&mut w).len(), 3);
    }
    assert_eq!(seq(&w), before, "reading again tells nothing");
    // A clone without the file takes its part with it; one that is away as a whole does not.
    fs::remove_file(clone.join("invar.toml")).unwrap();
    w.restart();
    assert_eq!(active(&mut w).len(), 2);
    let before = seq(&w);
    fs::rename(&w.root, w.root.with_file_name("away")).unwrap();
    w.restart();
    assert_eq!((active(&mut w).len(), seq(&w)), (2, before));
    let id = active(&mut w)[0].id.to_string();
    w.ask(Remove { id }).unwrap();
    assert_eq!(active(&mut w).len(), 1, "what is left over can be removed");
}

#[test]
fn undo_in_one_project_never_touches_the_file_of_another() {
    let mut w = World::new();
    write(&w, FILE);
    meet(&mut w);
    let ids: Vec<String> = active(&mut w).iter().map(|i| i.id.to_string()).collect();
    w.ask(Remove { id: ids[1].clone() }).unwrap();
    let changed = file(&w);
    let other = w.root.with_file_name("other");
    fs::create_dir_all(other.join(".git")).unwrap();
    fs::write(
        other.join(project_file::NAME),
        "[[invariants]]\ntext = \"Their own\"\n",
    )
    .unwrap();
    let undo_there = |expect| Undo {
        cwd: other.clone(),
        project: None,
        expect,
    };
    let error = w.ask(undo_there(None)).unwrap_err().to_string();
    assert_eq!(error, "there is nothing to undo in local/other");
    assert_eq!(file(&w), changed);
    // What belongs to no project can be taken back from everywhere.
    w.add_plain(Scope::Global, "everywhere");
    let last = w.engine.as_ref().unwrap().core().state().journal.next() - 1;
    let error = w.ask(undo_there(Some(last + 1))).unwrap_err().to_string();
    assert!(error.contains("not the one that was shown"), "{error}");
    let undone = w.ask(undo_there(Some(last))).unwrap();
    assert_eq!(undone[0].text, "everywhere");
    assert_eq!(file(&w), changed);
    w.undo().unwrap();
    assert_eq!(file(&w).trim_end(), FILE.trim_end());
}
