//! The engine's socket, spoken by hand: order, versions, and peers that misbehave.

use std::{
    fs,
    io::{BufRead, BufReader, ErrorKind, Write},
    os::unix::net::{UnixListener, UnixStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::*;
use crate::{
    EngineHandle, Notice,
    handle::NOTICES,
    host::{Host, Owner},
    link::{Link, LinkEvent},
    model::{Action, Event, EventKind},
    open_session,
    protocol::{ClientLine, EngineLine, PROTOCOL},
};

fn host(world: &mut World) -> Host {
    Host::start(world.engine.take().unwrap()).unwrap()
}

fn line(id: u64, call: impl Into<Call>) -> String {
    let line = ClientLine {
        v: PROTOCOL,
        id,
        subscribe: false,
        call: call.into(),
    };
    serde_json::to_string(&line).unwrap() + "\n"
}

/// The numbers of the next answers.
fn answered(stream: &UnixStream, count: usize) -> Vec<u64> {
    let lines = BufReader::new(stream).lines().take(count);
    lines
        .map(|line| match EngineLine::read(&line.unwrap()) {
            Ok(EngineLine::Ok { id, .. } | EngineLine::Err { id, .. }) => id,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn a_connection_is_worked_on_and_answered_in_its_order() {
    let mut w = World::new();
    // Starts that have a tree to look at take longer than ends.
    for n in 0..200 {
        fs::write(w.root.join(format!("src/{n}.rs")), "fn main() {}").unwrap();
    }
    w.add_plain(Scope::Global, "x");
    let host = host(&mut w);
    let mut stream = UnixStream::connect(&w.locations.socket).unwrap();
    let sessions = 50;
    let mut lines = String::new();
    for n in 0..sessions {
        for (moment, what) in [HookEvent::SessionStart, HookEvent::SessionEnd]
            .into_iter()
            .enumerate()
        {
            let call = HookCall::new("claude-code", &format!("s{n}"), &w.root, what);
            lines.push_str(&line(2 * n + 1 + moment as u64, call));
        }
    }
    let last = 2 * sessions + 1;
    lines.push_str(&line(last, LogVerify { against: None }));
    stream.write_all(lines.as_bytes()).unwrap();
    let ids = answered(&stream, last as usize);
    assert_eq!(ids, (1..=last).collect::<Vec<u64>>());
    drop(host);
    w.restart();
    let state = w.engine.as_ref().unwrap().core().state();
    let live = state.sessions.values().filter(|s| s.is_live()).count();
    assert_eq!(live, 0, "each session that started has ended");
}

#[test]
fn who_does_not_read_is_not_read_from() {
    let mut w = World::new();
    for n in 0..20 {
        w.add_plain(Scope::Global, &format!("{n} {}", "x".repeat(1900)));
    }
    let host = host(&mut w);
    let mut stream = UnixStream::connect(&w.locations.socket).unwrap();
    stream
        .set_write_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    let list = List {
        scope: None,
        plan: None,
        removed: false,
    };
    let line = line(1, list);
    // Less than all that would be answered fits between the two.
    let full = (0..100_000).find_map(|_| stream.write_all(line.as_bytes()).err());
    assert_eq!(full.unwrap().kind(), ErrorKind::WouldBlock);
    // Others do not notice.
    let mut session = open_session(&w.locations, Instant::now() + Duration::from_secs(60)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    session.ask(&w.locations, Ping {}, deadline).unwrap();
    drop(host);
}

#[test]
fn a_client_of_the_first_version_is_told_and_left_alone() {
    let mut w = World::new();
    let host = host(&mut w);
    let mut stream = UnixStream::connect(&w.locations.socket).unwrap();
    stream
        .write_all(b"{\"v\":1,\"id\":3,\"subscribe\":true,\"call\":{\"op\":\"snapshot\"}}\n")
        .unwrap();
    let lines: Vec<String> = BufReader::new(stream).lines().map(Result::unwrap).collect();
    assert_eq!(lines.len(), 1, "one sentence, and the connection ends");
    let line: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!((&line["line"], &line["id"]), (&"err".into(), &3.into()));
    let detail = line["error"]["detail"].as_str().unwrap();
    assert!(detail.contains("speaks version 2") && detail.contains("version 1"));
    drop(host);
}

/// An engine that answers every line with `answer`; how often somebody connected.
fn fake_engine(w: &mut World, answer: &'static str) -> Arc<AtomicUsize> {
    let socket = w.locations.socket.with_extension("fake");
    let listener = UnixListener::bind(&socket).unwrap();
    let owner = Owner { pid: 1, socket };
    let text = serde_json::to_vec(&owner).unwrap();
    fs::write(w.locations.owner_file(), text).unwrap();
    let connected = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connected);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
            let mut stream = stream.unwrap();
            let read = BufReader::new(stream.try_clone().unwrap());
            for line in read.lines() {
                if line.is_err() || stream.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    connected
}

const FIRST_VERSION: &str = "{\"line\":\"err\",\"id\":1,\"error\":{\"error\":\"failed\",\"detail\":\"the engine speaks version 1 and the caller 2; end the older one (process 7) and try again\"}}\n";
const NOT_UNDERSTOOD: &str = "{\"line\":\"err\",\"id\":0,\"error\":{\"error\":\"invalid\",\"detail\":\"the request is not understood: unknown variant\"}}\n";

#[tokio::test]
async fn a_link_meets_an_engine_of_another_version_once_and_says_so() {
    for answer in [FIRST_VERSION, NOT_UNDERSTOOD, "HTTP/1.1 400 Bad Request\n"] {
        let mut w = World::new();
        let connected = fake_engine(&mut w, answer);
        let mut link = Link::start(w.locations.clone(), w.config.clone());
        let Some(LinkEvent::Failed(error)) = link.events.recv().await else {
            panic!("the link goes on with {answer}")
        };
        assert!(error.to_string().contains("another version"), "{error}");
        assert!(link.events.recv().await.is_none(), "the link is over");
        assert_eq!(connected.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn a_command_meets_an_engine_of_another_version_once_and_says_so() {
    for answer in [FIRST_VERSION, NOT_UNDERSTOOD, "{}\n"] {
        let mut w = World::new();
        let connected = fake_engine(&mut w, answer);
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut session = open_session(&w.locations, deadline).unwrap();
        let error = session.ask(&w.locations, Ping {}, deadline).unwrap_err();
        assert!(error.to_string().contains("another version"), "{error}");
        assert_eq!(connected.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn a_subscriber_that_waits_for_an_answer_gets_it_though_it_reads_no_notices() {
    let (ours, theirs) = tokio::net::UnixStream::pair().unwrap();
    let far = EngineHandle::over(ours);
    let more = 10;
    let flood = NOTICES + more;
    let engine = async move {
        use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
        let (read, mut write) = theirs.into_split();
        let mut lines = tokio::io::BufReader::new(read).lines();
        let mut answer = async |line: EngineLine| {
            let line = line.to_line() + "\n";
            write.write_all(line.as_bytes()).await.unwrap();
        };
        lines.next_line().await.unwrap().unwrap();
        let reply = TakeSnapshot::into_reply(Snapshot::default());
        answer(EngineLine::Ok { id: 1, reply }).await;
        lines.next_line().await.unwrap().unwrap();
        for seq in 1..=flood as u64 {
            let action = Action {
                name: "local/work".parse().unwrap(),
                created_at: jiff::Timestamp::UNIX_EPOCH,
                active: true,
            };
            let event = Box::new(Event {
                seq,
                at: jiff::Timestamp::UNIX_EPOCH,
                kind: EventKind::ActionAdded { action },
            });
            answer(EngineLine::Event { event }).await;
        }
        let reply = Ping::into_reply(Pong { pid: 7 });
        answer(EngineLine::Ok { id: 2, reply }).await;
        std::future::pending::<()>().await;
    };
    let engine = tokio::spawn(engine);
    let mut heard = far.subscribe().await.unwrap();
    assert_eq!(far.ask(Ping {}).await.unwrap().pid, 7);
    for _ in 0..NOTICES {
        assert!(matches!(heard.notices.recv().await, Some(Notice::Event(_))));
    }
    let missed = more as u64;
    assert_eq!(heard.notices.recv().await, Some(Notice::Lagged { missed }));
    engine.abort();
}

#[test]
fn an_owner_file_that_is_no_small_file_is_not_read() {
    let w = World::new();
    let path = w.locations.owner_file();
    let owner = Owner {
        pid: 1,
        socket: w.locations.socket.clone(),
    };
    let good = serde_json::to_vec(&owner).unwrap();
    fs::write(&path, &good).unwrap();
    assert_eq!(Owner::read(&w.locations), Some(owner));

    let long = [good.clone(), vec![b' '; 5000]].concat();
    fs::write(&path, long).unwrap();
    assert_eq!(Owner::read(&w.locations), None);

    fs::remove_file(&path).unwrap();
    let beside = path.with_extension("beside");
    fs::write(&beside, good).unwrap();
    std::os::unix::fs::symlink(&beside, &path).unwrap();
    assert_eq!(Owner::read(&w.locations), None);

    fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    assert_eq!(
        Owner::read(&w.locations),
        None,
        "and nobody waits for a pipe"
    );
}

#[test]
fn a_hook_that_waits_is_told_only_of_its_own_questions() {
    let mut w = World::new();
    w.add(NewInvariant {
        layer: crate::model::Layer::Assent {
            when: vec!["src/**".into()],
        },
        ..NewInvariant::plain(project(), "ask before src changes")
    });
    let first = w.edit("s", "src/a.rs").waiting;
    let second = w.edit("t", "src/b.rs").waiting;
    assert_eq!((first.len(), second.len()), (1, 1));
    let ids = first.clone();
    assert_eq!(w.ask(StillWaiting { ids }).unwrap(), first);
    w.ask(AssentAnswer {
        id: first[0].to_string(),
        by: "ann".into(),
        answer: Ruling::Approve { for_plan: false },
    })
    .unwrap();
    let ids = [first, second.clone()].concat();
    assert_eq!(w.ask(StillWaiting { ids }).unwrap(), second);
}
