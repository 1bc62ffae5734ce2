//! The parts whose cost grows with the number of rules. `cargo bench --bench parts`

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a bench fails by panicking"
)]

#[path = "support/mod.rs"]
mod support;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use invar::{
    engine::{EngineHandle, Locations, host::Host, requests::Ping, writer::Engine},
    rules::{
        filter::{Filter, FilterMode},
        merge::merge,
    },
};

fn merging(c: &mut Criterion) {
    let mut group = c.benchmark_group("merge");
    group.sample_size(20);
    for count in [1_000, 10_000, 100_000] {
        let collected = support::collected(count);
        group.bench_with_input(BenchmarkId::from_parameter(count), &collected, |b, all| {
            b.iter(|| black_box(merge(all)).effective.len());
        });
    }
    group.finish();
}

fn letter_check(c: &mut Criterion) {
    let set = support::letter_set(100);
    c.bench_function("letter check of one path against 100 patterns", |b| {
        b.iter(|| set.broken_by(black_box(support::place())));
    });
}

fn filtering(c: &mut Criterion) {
    let lines: Vec<String> = (0..100_000)
        .map(|n| format!("rule {n}: keep module {} as it is", n % 97))
        .collect();
    let filter = Filter::new("module 4[0-9] .*is$", FilterMode::Regex).unwrap();
    c.bench_function("filter of 100k rows", |b| {
        b.iter(|| {
            lines
                .iter()
                .filter(|l| filter.matches(black_box(l)))
                .count()
        });
    });
}

fn framing(c: &mut Criterion) {
    let mut group = c.benchmark_group("frame at 160x50");
    for count in [1_000, 100_000] {
        let mut screen = support::Screen::new(count);
        group.bench_with_input(BenchmarkId::from_parameter(count), &count, |b, _| {
            b.iter(|| screen.frame());
        });
    }
    group.finish();
}

fn socket(c: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let locations = Locations {
        store: dir.path().join("invar.redb"),
        config: dir.path().join("config.toml"),
        logs: dir.path().join("logs"),
        socket: dir.path().join("invar.sock"),
        home: dir.path().to_owned(),
    };
    let host = Host::start(Engine::open(&locations, &Default::default()).unwrap()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let far = runtime
        .block_on(EngineHandle::connect(&locations.socket))
        .unwrap();
    c.bench_function("socket round trip", |b| {
        b.iter(|| runtime.block_on(far.ask(Ping {})).unwrap());
    });
    drop(host);
}

criterion_group!(parts, merging, letter_check, filtering, framing, socket);
criterion_main!(parts);
