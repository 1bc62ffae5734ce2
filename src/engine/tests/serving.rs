//! The engine as a background task and over its socket.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::*;
use crate::{
    EngineHandle, Notice,
    client::Connection,
    handle::NOTICES,
    host::Host,
    link::{Link, LinkEvent},
    open_session,
};

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn host(world: &mut World) -> Host {
    Host::start(world.engine.take().unwrap()).unwrap()
}

fn add_call(world: &World, text: &str) -> Add {
    let invariant = NewInvariant::plain(Scope::Global, text);
    Add {
        invariant,
        cwd: world.root.clone(),
        plan: None,
    }
}

#[tokio::test]
async fn both_ways_in_answer_the_same_and_hear_of_each_other() {
    let mut w = World::new();
    let host = host(&mut w);
    let near = host.handle();
    let far = EngineHandle::connect(&w.locations.socket).await.unwrap();
    let mut heard_near = near.subscribe().await.unwrap();
    let mut heard_far = far.subscribe().await.unwrap();
    assert_eq!(heard_near.snapshot, heard_far.snapshot);

    far.ask(add_call(&w, "from afar")).await.unwrap();
    near.ask(add_call(&w, "from near")).await.unwrap();
    for heard in [&mut heard_near, &mut heard_far] {
        for text in ["from afar", "from near"] {
            let Some(Notice::Event(event)) = heard.notices.recv().await else {
                panic!()
            };
            let crate::model::EventKind::InvariantAdded { invariant, .. } = &event.kind else {
                panic!("{event:?}")
            };
            assert_eq!(invariant.text, text);
        }
    }
    let list = List {
        scope: None,
        plan: None,
        removed: false,
    };
    assert_eq!(
        near.ask(list.clone()).await.unwrap(),
        far.ask(list).await.unwrap()
    );
    let error = far
        .ask(Show {
            id: "nothing".into(),
        })
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound, "errors keep their kind");
}

#[tokio::test]
async fn a_blocking_client_uses_the_host_and_then_the_store() {
    let mut w = World::new();
    let host = host(&mut w);
    let (call, locations) = (add_call(&w, "through the socket"), w.locations.clone());
    let remote = tokio::task::spawn_blocking(move || {
        let mut session = open_session(&locations, soon()).unwrap();
        assert!(matches!(session, super::super::Session::Remote(_)));
        session.ask(&locations, call, soon()).unwrap()
    });
    assert_eq!(remote.await.unwrap().invariant.text, "through the socket");
    drop(host);
    assert!(
        Connection::open(&w.locations, soon()).is_none(),
        "the socket is gone"
    );
    assert!(!w.locations.owner_file().exists());
    let mut session = open_session(&w.locations, soon()).unwrap();
    assert!(matches!(session, super::super::Session::Local(_)));
    let list = List {
        scope: None,
        plan: None,
        removed: false,
    };
    let all = session.ask(&w.locations, list, soon()).unwrap();
    assert_eq!(all.len(), 1);
}

#[tokio::test]
async fn many_clients_at_once_lose_and_double_nothing() {
    let mut w = World::new();
    w.untouched(project(), "tests/t.py");
    let plan = w.use_plan("local/work").id;
    let host = host(&mut w);
    let mut tasks = Vec::new();
    for n in 0..64 {
        let (locations, add) = (w.locations.clone(), add_call(&w, &format!("rule {n}")));
        let attempt = w.attempt_on(&format!("tests/t.py/{}", n % 32));
        let root = w.root.clone();
        tasks.push(tokio::task::spawn_blocking(move || {
            let mut session = open_session(&locations, soon()).unwrap();
            session.ask(&locations, add, soon()).unwrap();
            let call = HookCall::new(
                "claude-code",
                &format!("s{n}"),
                &root,
                HookEvent::Attempt(attempt),
            );
            session.ask(&locations, call, soon()).unwrap();
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    drop(host);
    w.restart();
    let core = w.engine.as_ref().unwrap().core();
    assert_eq!(core.state().invariants.len(), 65);
    let counts: Vec<u32> = core.state().strikes_of(plan).map(|s| s.count).collect();
    assert_eq!(counts, [2; 32]);
    let report = w.ask(LogVerify { against: None }).unwrap();
    assert_eq!(report.first_fault, None);
}

#[tokio::test]
async fn a_slow_subscriber_is_told_how_much_it_missed() {
    let mut w = World::new();
    let host = host(&mut w);
    let near = host.handle();
    let mut heard = near.subscribe().await.unwrap();
    let extra = 10;
    let new = |n| ImportItem::New(NewInvariant::plain(Scope::Global, &format!("{n}")));
    let items = (0..NOTICES + extra).map(new).collect();
    near.ask(Import { items }).await.unwrap();
    for _ in 0..NOTICES {
        assert!(matches!(heard.notices.recv().await, Some(Notice::Event(_))));
    }
    // At once, and not with the next event: there may be none for a long time.
    assert_eq!(
        heard.notices.recv().await,
        Some(Notice::Lagged {
            missed: extra as u64
        })
    );
    near.ask(add_call(&w, "one more")).await.unwrap();
    assert!(matches!(heard.notices.recv().await, Some(Notice::Event(_))));
}

#[tokio::test]
async fn a_client_that_lives_takes_over_when_the_host_goes() {
    let mut w = World::new();
    let host = host(&mut w);
    let mut link = Link::start(w.locations.clone(), w.config.clone());
    let Some(LinkEvent::Up { hosting: false, .. }) = link.events.recv().await else {
        panic!()
    };
    tokio::task::spawn_blocking(move || drop(host))
        .await
        .unwrap();
    assert!(matches!(link.events.recv().await, Some(LinkEvent::Down)));
    let Some(LinkEvent::Up {
        handle, hosting, ..
    }) = link.events.recv().await
    else {
        panic!()
    };
    assert!(hosting);
    handle
        .ask(add_call(&w, "after the takeover"))
        .await
        .unwrap();
    link.close().await;
    w.restart();
    assert_eq!(
        w.engine.as_ref().unwrap().core().state().invariants.len(),
        1
    );
}

#[tokio::test]
async fn an_allowed_attempt_is_answered_at_once_and_written_soon() {
    let mut w = World::new();
    let host = host(&mut w);
    let near = host.handle();
    let mut heard = near.subscribe().await.unwrap();
    let call = |w: &World| {
        HookCall::new(
            "claude-code",
            "s",
            &w.root,
            HookEvent::Attempt(w.attempt_on("src/a.rs")),
        )
    };
    near.ask(call(&w)).await.unwrap();
    near.ask(call(&w)).await.unwrap();
    let mut attempts = 0;
    while attempts < 2 {
        let Some(Notice::Event(event)) = heard.notices.recv().await else {
            panic!()
        };
        attempts += usize::from(event.kind.name() == "ATTEMPTED");
    }
}

#[tokio::test]
async fn a_project_file_is_read_again_without_anyone_asking() {
    let mut w = World::new();
    let host = host(&mut w);
    let near = host.handle();
    let file = w.root.join("invar.toml");
    std::fs::write(&file, "[[invariants]]\ntext = \"one\"\n").unwrap();
    near.ask(ProjectOf {
        dir: w.root.clone(),
    })
    .await
    .unwrap();
    let mut heard = near.subscribe().await.unwrap();
    std::fs::write(&file, "[[invariants]]\ntext = \"another\"\n").unwrap();
    loop {
        let Some(Notice::Event(event)) = heard.notices.recv().await else {
            panic!()
        };
        if let crate::model::EventKind::InvariantEdited { invariant, .. } = &event.kind
            && invariant.text == "another"
        {
            break;
        }
    }
}

#[tokio::test]
async fn nonsense_on_the_socket_is_answered_and_harms_nobody() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let mut w = World::new();
    let host = host(&mut w);
    for (line, part) in [
        ("hello\n", "not understood"),
        (
            "{\"v\":2,\"id\":1,\"call\":{\"op\":\"fly\"}}\n",
            "not understood",
        ),
        (
            "{\"v\":99,\"id\":7,\"call\":{\"op\":\"ping\"}}\n",
            "speaks version 2",
        ),
    ] {
        let mut stream = tokio::net::UnixStream::connect(&w.locations.socket)
            .await
            .unwrap();
        stream.write_all(line.as_bytes()).await.unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).await.unwrap();
        assert!(answer.contains(part), "{answer}");
    }
    let pong = host.handle().ask(Ping {}).await.unwrap();
    assert_eq!(pong.pid, std::process::id());
}

#[tokio::test]
async fn the_configuration_is_read_again_and_a_broken_one_leaves_the_last_good_one_in_force() {
    let mut w = World::new();
    // Its folder is not there yet.
    let file = w.locations.config.clone();
    let host = host(&mut w);
    let near = host.handle();
    let mut heard = near.subscribe().await.unwrap();
    let read = async |heard: &mut crate::Subscription| loop {
        let Some(Notice::Event(event)) = heard.notices.recv().await else {
            panic!()
        };
        if let crate::model::EventKind::ConfigurationRead { fault } = &event.kind {
            break fault.clone();
        }
    };
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "[tree]\nrestore = true\n").unwrap();
    assert_eq!(read(&mut heard).await, None);
    assert!(near.ask(TakeSnapshot {}).await.unwrap().restores);

    std::fs::write(&file, "[tree]\nrestore = maybe\n").unwrap();
    let fault = read(&mut heard).await.unwrap();
    assert!(fault.contains("line 2, column 11"), "{fault}");
    let snapshot = near.ask(TakeSnapshot {}).await.unwrap();
    assert!(snapshot.restores, "what was read before is in force");
    assert_eq!(snapshot.config_fault.as_ref(), Some(&fault));

    std::fs::write(&file, "[tree]\nrestore = false\n").unwrap();
    assert_eq!(read(&mut heard).await, None);
    let snapshot = near.ask(TakeSnapshot {}).await.unwrap();
    assert_eq!((snapshot.restores, snapshot.config_fault), (false, None));
}

/// Nobody waits for a look at a tree but those who asked for it.
#[test]
fn a_look_at_a_tree_makes_nobody_else_wait() {
    let mut w = World::new();
    w.hook("s", HookEvent::SessionStart);
    let (disk, root) = (
        Arc::clone(w.engine.as_ref().unwrap().disk()),
        w.root.clone(),
    );
    let host = host(&mut w);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let looks = HookCall::new("claude-code", "s", &root, HookEvent::Stopped { turn: true });
    let waiting = disk.trees().hold(&root, || {
        let (near, asked) = (host.handle(), looks.clone());
        let waiting = runtime.spawn(async move { near.ask(asked).await });
        // Answered while the tree is held; with the engine's own lock it would never be.
        runtime.block_on(async {
            let near = host.handle();
            for _ in 0..50 {
                near.ask(Ping {}).await.unwrap();
                near.ask(PlanList {}).await.unwrap();
                let edit = HookEvent::Attempt(w.attempt_on("src/a.rs"));
                let edit = HookCall::new("claude-code", "other", &root, edit);
                near.ask(edit).await.unwrap();
            }
        });
        assert!(!waiting.is_finished(), "the look itself waits");
        waiting
    });
    runtime.block_on(waiting).unwrap().unwrap();
}
