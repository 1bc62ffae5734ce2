//! How long all findings take, from nothing and after one edit: the growth curve, and the
//! budgets of docs/performance.md. `cargo bench --bench conflicts`

#![allow(clippy::expect_used)] // a bench may stop at what cannot happen

use std::time::{Duration, Instant};

use invar::{
    model::{Invariant, InvariantId, Layer, LetterCheck, Scope},
    rules::{
        automaton::Surface,
        conflict::contradictions,
        findings::{Finder, Kind},
    },
};
use jiff::Timestamp;
use ulid::Ulid;

/// An invariant of a large project: what one team may edit, what somebody guards.
fn invariant(n: u64, salt: u64) -> Invariant {
    let patterns = 1 + n % 10;
    let check = match n % 2 {
        0 => {
            let own = (0..patterns).map(|p| match p % 4 {
                0 => format!("teams/t{}/**", (n + p + salt) % 97),
                1 => format!("lib/{}/*.rs", (n * 7 + p) % 211),
                2 => format!("**/m{}_*.toml", (n + p) % 53),
                _ => format!("docs/{}/[a-f]?/**/*.md", (n + p) % 31),
            });
            // All of them leave the same folder.
            LetterCheck::NoEditsOutside(own.chain(["shared/**".to_owned()]).collect())
        }
        _ => LetterCheck::Untouched(match n % 3 {
            0 => format!("shared/keep/{}.rs", n + salt),
            1 => format!("teams/t{}/gen/*.rs", n % 97),
            _ => format!("third/party/{n}/**"),
        }),
    };
    let id = InvariantId(Ulid::from_parts(n + 1, 0));
    let scope = match n % 5 {
        0 => Scope::Global,
        _ => Scope::Project("local/x".parse().expect("a name")),
    };
    Invariant::new(id, scope, Layer::Letter(check), "x", Timestamp::UNIX_EPOCH)
}

fn main() {
    // Cargo passes `--bench`; a filter means another bench.
    if std::env::args().skip(1).any(|a| !a.starts_with('-')) {
        return;
    }
    let mut good = true;
    println!(
        "{:>10} {:>14} {:>14} {:>14} {:>9}",
        "invariants", "contradictions", "all findings", "after an edit", "findings"
    );
    for count in [100u64, 1_000, 10_000] {
        // Another salt for each size, so that nothing is made beforehand.
        let salt = count * 1_000_003;
        let mut all: Vec<Invariant> = (0..count).map(|n| invariant(n, salt)).collect();
        let start = Instant::now();
        let mut finder = Finder::new(Surface::default());
        let refs: Vec<&Invariant> = all.iter().collect();
        let found = finder.findings(&refs, None);
        let whole = start.elapsed();
        let start = Instant::now();
        let none = contradictions(all.iter(), &Surface::default());
        let walk = start.elapsed();
        assert!(none.is_empty(), "{:?}", none.first());
        assert!(found.iter().any(|f| f.kind == Kind::Redundant));
        let mut slowest = Duration::ZERO;
        for round in 0..10 {
            let at = (round * 37) % count;
            all[at as usize] = invariant(at, salt + 1 + round);
            let start = Instant::now();
            let refs: Vec<&Invariant> = all.iter().collect();
            contradictions(all.iter(), &Surface::default());
            finder.findings(&refs, None);
            slowest = slowest.max(start.elapsed());
        }
        println!(
            "{count:>10} {walk:>14.2?} {whole:>14.2?} {slowest:>14.2?} {:>9}",
            found.len()
        );
        if count == 1_000 {
            good &= whole < Duration::from_secs(1) && slowest < Duration::from_millis(20);
        }
    }
    if !good {
        eprintln!("over the budget: 1,000 invariants in 1 s, after one edit 20 ms");
        std::process::exit(1);
    }
}
