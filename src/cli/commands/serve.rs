//! serve and events: the commands that stay.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::{
    super::{
        Context,
        args::{EventsArgs, Format, ServeArgs},
        output::{self, Done, Failure, Output, escape_hidden},
    },
    Outcome,
};
use crate::{
    engine::{
        Config, EngineError, ErrorKind, Notice,
        host::{Host, Owner},
        link::{Link, LinkEvent},
        requests::Events,
        writer::Engine,
    },
    model::{
        AssentStatus, CheckOutcome, Effect, Event, EventKind, PlanChange, VerdictKind, visible,
    },
};

/// How often a host that shall end by itself looks whether it may.
const LOOK: Duration = Duration::from_secs(2);

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::failed("no runtime could be started").caused_by(e))
}

pub(super) fn serve(context: &mut Context, args: ServeArgs) -> Outcome {
    let locations = context.locations.clone();
    let config = Config::load(&locations.config)?;
    let hosted = |error: EngineError| match Owner::read(&locations) {
        Some(Owner { pid, .. }) if error.kind == ErrorKind::Busy => {
            error.remark(format!("process {pid} hosts it already"))
        }
        _ => error,
    };
    let engine = Engine::open(&locations, &config).map_err(hosted)?;
    let host = Host::start(engine)?;
    output::complain(
        "note",
        &format!("the engine of {} is served", locations.store.display()),
    );
    let idle = args
        .idle_exit
        .map(|minutes| Duration::from_secs(u64::from(minutes) * 60));
    runtime()?.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).map_err(signal_failure)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(signal_failure)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(signal_failure)?;
        let detached = idle.is_some();
        let mut last = (host.calls(), std::time::Instant::now());
        loop {
            tokio::select! {
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                // Left behind by a hook: the agent's terminal is none of its business.
                _ = hangup.recv(), if !detached => break,
                () = tokio::time::sleep(LOOK), if detached => {
                    if host.calls() != last.0 {
                        last = (host.calls(), std::time::Instant::now());
                    }
                    let tired = idle.is_some_and(|idle| last.1.elapsed() >= idle);
                    if tired || !host.store_exists() {
                        break;
                    }
                }
            }
        }
        Ok::<(), Failure>(())
    })?;
    drop(host);
    Ok(Done::new(String::new(), json!({"store": locations.store})))
}

fn signal_failure(error: std::io::Error) -> Failure {
    Failure::failed("signals cannot be caught").caused_by(error)
}

/// How many events one read asks for.
const PAGE: usize = 1000;

pub(super) fn events(context: &mut Context, args: EventsArgs, output: &Output) -> Outcome {
    if args.follow {
        return follow(context, args.since, output);
    }
    let mut since = args.since.unwrap_or(0);
    let mut all = Vec::new();
    loop {
        let page = context.ask(Events { since, limit: PAGE })?;
        let Some(last) = page.last() else { break };
        since = last.seq;
        match output.format {
            Format::Json => all.extend(page),
            format => page.iter().for_each(|event| print_event(event, format)),
        }
    }
    if output.format == Format::Ndjson {
        // The lines are all there is; an envelope would be one more.
        return Err(Failure::Silent);
    }
    Ok(Done::new(String::new(), json!({"events": all})))
}

fn follow(context: &mut Context, since: Option<u64>, output: &Output) -> Outcome {
    let locations = context.locations.clone();
    let config = Config::load(&locations.config)?;
    let format = output.format;
    runtime()?.block_on(async {
        let mut link = Link::start(locations, config);
        let mut terminate = signal(SignalKind::terminate()).map_err(signal_failure)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(signal_failure)?;
        // The last event that was printed; nothing is printed twice or left out.
        let mut printed = since;
        let failure = loop {
            let event = tokio::select! {
                _ = terminate.recv() => break None,
                _ = interrupt.recv() => break None,
                event = link.events.recv() => event,
            };
            match event {
                Some(LinkEvent::Up { handle, snapshot, .. }) => {
                    let from = *printed.get_or_insert(snapshot.seq);
                    if let Err(error) = catch_up(&handle, from, &mut printed, format).await {
                        break Some(error.into());
                    }
                }
                Some(LinkEvent::Notice(Notice::Event(event))) => {
                    if printed.is_none_or(|seq| event.seq > seq) {
                        printed = Some(event.seq);
                        print_event(&event, format);
                    }
                }
                Some(LinkEvent::Notice(Notice::Lagged { missed })) => {
                    output::complain("note", &format!("{missed} events came too fast and are left out; `invar events --since {}` has them", printed.unwrap_or(0)));
                }
                Some(LinkEvent::Down) => {}
                Some(LinkEvent::Failed(error)) => break Some(Failure::from(error)),
                None => break None,
            }
        };
        link.close().await;
        Err(failure.unwrap_or(Failure::Silent))
    })
}

async fn catch_up(
    handle: &crate::engine::EngineHandle,
    mut from: u64,
    printed: &mut Option<u64>,
    format: Format,
) -> Result<(), EngineError> {
    loop {
        let page = handle
            .ask(Events {
                since: from,
                limit: PAGE,
            })
            .await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        from = last.seq;
        page.iter().for_each(|event| print_event(event, format));
        *printed = Some(from);
    }
}

fn print_event(event: &Event, format: Format) {
    match format {
        Format::Json | Format::Ndjson => {
            let json = serde_json::to_string(&Arc::new(event)).unwrap_or_default();
            output::print(&(escape_hidden(&json) + "\n"));
        }
        _ => output::print(&event_line(event)),
    }
}

/// One line about an event, safe for a terminal.
fn event_line(event: &Event) -> String {
    let what = match &event.kind {
        EventKind::InvariantAdded { invariant, .. }
        | EventKind::InvariantEdited { invariant, .. }
        | EventKind::InvariantRemoved { invariant, .. }
        | EventKind::InvariantRestored { invariant, .. } => {
            format!("{} {}: {}", invariant.id, invariant.scope, invariant.text)
        }
        EventKind::ProjectBound { project } => project.name.to_string(),
        EventKind::ActionAdded { action } | EventKind::ActionRemoved { action } => {
            action.name.to_string()
        }
        EventKind::PlanCreated { plan } => format!("{} in {}", plan.id, plan.project),
        EventKind::PlanChanged { plan, change } => {
            let why = match change {
                PlanChange::Blocked { transition } => {
                    let fault = plan.fault.as_ref();
                    let why = fault.map_or(String::new(), |fault| format!(": {fault}"));
                    format!(" at {}{why}", transition.verb())
                }
                PlanChange::Unblocked { transition } => {
                    format!("; nothing blocks {} any more", transition.verb())
                }
                PlanChange::Halted { reason } => format!(": {reason}"),
                _ => String::new(),
            };
            format!("{} is {} {}{why}", plan.id, plan.phase, plan.state)
        }
        EventKind::SessionStarted { session }
        | EventKind::SessionChanged { session }
        | EventKind::SessionEnded { session } => {
            format!(
                "{} {} in plan {}",
                session.agent, session.session, session.plan
            )
        }
        EventKind::Attempted {
            attempt, verdict, ..
        } => {
            let targets: Vec<String> = attempt
                .effects
                .iter()
                .flat_map(|effect| match effect {
                    Effect::Opaque { command, .. } => vec![format!("`{command}`")],
                    effect => {
                        let paths = effect.changed_paths().into_iter();
                        paths.map(|p| p.display().to_string()).collect()
                    }
                })
                .collect();
            let strikes: Vec<String> = verdict
                .breaches
                .iter()
                .filter(|b| b.strike > 0)
                .map(|b| {
                    format!(
                        "strike {}/{} of \"{}\"",
                        b.strike,
                        b.limit.unwrap_or(0),
                        b.text
                    )
                })
                .collect();
            let kind = verdict.verdict;
            let word = if kind == VerdictKind::Allow {
                "allow"
            } else {
                kind.as_str()
            };
            format!(
                "{word} {} {} {}",
                attempt.tool,
                targets.join(" "),
                strikes.join(", ")
            )
        }
        EventKind::ChangeFound {
            command, verdict, ..
        } => {
            let found: Vec<String> = verdict
                .breaches
                .iter()
                .map(|b| format!("{} breaks \"{}\"", b.path, b.text))
                .collect();
            let after = match command.is_empty() {
                true => String::new(),
                false => format!(" after `{command}`"),
            };
            format!("{}{after}: {}", verdict.verdict, found.join(", "))
        }
        EventKind::CommandEnded { call, session, .. } => {
            format!("{} of {session}", call.as_deref().unwrap_or("all"))
        }
        EventKind::ChangeNotAttributed { path, text, .. } => {
            format!("{path} breaks \"{text}\"; no agent's command ran then")
        }
        EventKind::ConfigurationRead { fault: None } => "read again, and in force".to_owned(),
        EventKind::ConfigurationRead { fault: Some(fault) } => {
            format!("not used, so that what was read before stays in force: {fault}")
        }
        EventKind::JudgeChecked { check } => {
            let outcome = match check.outcome {
                CheckOutcome::Holds => "holds",
                CheckOutcome::Broken => "is broken",
                CheckOutcome::Failed => "could not be judged",
            };
            format!(
                "\"{}\" {outcome}: {} (cost {})",
                check.clause, check.reason, check.cost
            )
        }
        EventKind::AssentChanged { assent } => {
            let what = match &assent.status {
                AssentStatus::Waiting => "waits for a person's assent".to_owned(),
                AssentStatus::Delegated => "is asked by the agent's own prompt".to_owned(),
                AssentStatus::Approved { by, used: true, .. } => {
                    format!("was made; {by} approved it")
                }
                AssentStatus::Approved { by, .. } => format!("is approved by {by}"),
                AssentStatus::Refused { by, reason, .. } => format!("is refused by {by}: {reason}"),
            };
            format!("{} {} {what}", assent.tool, assent.path)
        }
        EventKind::InvariantViolated { violation, .. } => {
            format!("\"{}\": {}", violation.violated_text, violation.details)
        }
        EventKind::InvariantEnforced { record, .. } => {
            format!("{}: {}", record.invariant_id, record.actor_response)
        }
        EventKind::InvariantReconciled {
            plan_id,
            success,
            effective,
            ..
        } => {
            let word = if *success { "holds" } else { "blocked" };
            format!("plan {plan_id} {word}, {effective} in force")
        }
        EventKind::LogArchived { first, last, file } => {
            format!("entries {first} to {last} went to {file}")
        }
        EventKind::StoreMigrated { from, to, .. } => {
            format!("the store went from schema {from} to {to}")
        }
        EventKind::CorrectionApplied { violation, .. } => {
            format!("\"{}\"", violation.violated_text)
        }
    };
    let what = what.replace('\n', " ");
    format!(
        "{} {} {} {}\n",
        event.seq,
        event.at,
        event.kind.name(),
        visible(what.trim_end())
    )
}
