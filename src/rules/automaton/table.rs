//! One deterministic automaton, made small from the expression that the matcher runs: bytes in
//! classes, and all states that can no longer change their answer merged into two.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use regex_automata::{
    Anchored, MatchKind,
    dfa::{Automaton, StartKind, dense},
    nfa::thompson,
    util::{primitives::StateID, start, syntax},
};

use super::MAX_CACHED;

/// The largest automaton of one pattern, in bytes. Determinizing can make exponentially many
/// states; a pattern that needs more is not decided.
const MAX_AUTOMATON: usize = 512 << 10;

/// The bytes that a search tries, those that a person would choose first: of two witnesses of one
/// length the first one found counts, and it should read like a path.
pub(super) static NATURAL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let first = b"abcdefghijklmnopqrstuvwxyz/._-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ ";
    let rest = (0x21..=0xffu8)
        .chain(0x01..0x21)
        .filter(|b| !first.contains(b));
    first.iter().copied().chain(rest).collect()
});

/// By expression and whether case is folded; `None` for one that is too large, so that it is not
/// tried again.
type Tables = HashMap<(String, bool), Option<Arc<Table>>>;

static TABLES: LazyLock<Mutex<Tables>> = LazyLock::new(Mutex::default);

/// A deterministic automaton over bytes.
#[derive(Debug)]
pub(super) struct Table {
    /// The class of each byte: bytes of one class lead to the same states from everywhere.
    pub(super) classes: [u8; 256],
    /// How many classes there are.
    width: usize,
    /// Where each class leads from each state: `state * width + class`.
    next: Vec<u32>,
    /// Whether a path that ends in a state is accepted.
    pub(super) accepts: Vec<bool>,
    pub(super) start: u32,
    /// From each state the byte and the state that lead to acceptance the shortest way.
    nearest: Vec<Option<(u8, u32)>>,
}

/// Nothing that follows is accepted.
pub(super) const DEAD: u32 = 0;

/// Whatever follows is accepted.
pub(super) const FULL: u32 = 1;

impl Table {
    /// The automaton of an anchored expression; `None` when it does not compile or is too large.
    pub(super) fn build(regex: &str, fold_case: bool) -> Option<Self> {
        let dfa = dense::Builder::new()
            .configure(
                dense::Config::new()
                    .start_kind(StartKind::Anchored)
                    .match_kind(MatchKind::All)
                    .dfa_size_limit(Some(MAX_AUTOMATON))
                    .determinize_size_limit(Some(4 * MAX_AUTOMATON)),
            )
            .syntax(
                syntax::Config::new()
                    .utf8(false)
                    .case_insensitive(fold_case),
            )
            .thompson(thompson::Config::new().utf8(false))
            .build(regex)
            .ok()?;
        let first = dfa
            .start_state(&start::Config::new().anchored(Anchored::Yes))
            .ok()?;
        Some(Self::copied(&dfa, first))
    }

    /// Copies the states that can be reached from `first`, in four steps: number them as they are
    /// met, join bytes with equal columns into classes, find the states whose answer is settled,
    /// and number what is left behind [`DEAD`] and [`FULL`].
    fn copied(dfa: &dense::DFA<Vec<u32>>, first: StateID) -> Self {
        let place = |id: StateID| id.as_usize() >> dfa.stride2();
        let mut ids: Vec<Option<u32>> = vec![None; place(first) + 1];
        ids[place(first)] = Some(0);
        let mut states = vec![first];
        let mut rows: Vec<Vec<u32>> = Vec::new();
        let mut at = 0;
        while at < states.len() {
            let row = (0..=255u8).map(|byte| {
                let to = dfa.next_state(states[at], byte);
                let slot = place(to);
                if slot >= ids.len() {
                    ids.resize(slot + 1, None);
                }
                *ids[slot].get_or_insert_with(|| {
                    states.push(to);
                    states.len() as u32 - 1
                })
            });
            rows.push(row.collect());
            at += 1;
        }
        // Neighbouring bytes are mostly alike, so the column before is compared first, which is
        // cheaper than to hash each of the 256 columns.
        let mut columns: HashMap<Vec<u32>, u8> = HashMap::new();
        let mut classes = [0; 256];
        let mut wide: Vec<Vec<u32>> = Vec::new();
        for byte in 0..256 {
            let column: Vec<u32> = rows.iter().map(|row| row[byte]).collect();
            if byte > 0 && wide.last() == Some(&column) {
                classes[byte] = (wide.len() - 1) as u8;
                continue;
            }
            classes[byte] = *columns.entry(column.clone()).or_insert_with(|| {
                wide.push(column);
                (wide.len() - 1) as u8
            });
        }
        let accepts: Vec<bool> = states
            .iter()
            .map(|s| dfa.is_match_state(dfa.next_eoi_state(*s)))
            .collect();
        let can_accept = reaching(&wide, &accepts);
        let refusing: Vec<bool> = accepts.iter().map(|a| !a).collect();
        let can_refuse = reaching(&wide, &refusing);
        // All states without a way to accept become one, and so do those without a way to refuse:
        // the search recognises both by their number.
        let both = can_accept.iter().zip(&can_refuse);
        let live: Vec<bool> = both.map(|(accept, refuse)| *accept && *refuse).collect();
        let mut number = FULL;
        let names: Vec<u32> = (0..rows.len())
            .map(|state| match (can_accept[state], can_refuse[state]) {
                (false, _) => DEAD,
                (true, false) => FULL,
                (true, true) => {
                    number += 1;
                    number
                }
            })
            .collect();
        let width = wide.len();
        let kept = number as usize;
        let mut next = vec![DEAD; (kept + 1) * width];
        next[width..2 * width].fill(FULL);
        for (class, column) in wide.iter().enumerate() {
            for state in (0..column.len()).filter(|s| live[*s]) {
                let to = names[column[state] as usize];
                next[names[state] as usize * width + class] = to;
            }
        }
        let mut accepting = vec![false, true];
        let own = accepts.iter().zip(&live).filter(|(_, live)| **live);
        accepting.extend(own.map(|(accepts, _)| *accepts));
        let mut table = Self {
            classes,
            width,
            next,
            accepts: accepting,
            start: names[0],
            nearest: Vec::new(),
        };
        table.nearest = table.ways();
        table
    }

    /// The first step of the shortest way to acceptance from each state: breadth first, backwards
    /// from the accepting states. `None` for those that accept and those that never do.
    fn ways(&self) -> Vec<Option<(u8, u32)>> {
        let mut bytes: Vec<Option<u8>> = vec![None; self.width];
        for byte in NATURAL.iter() {
            bytes[usize::from(self.classes[usize::from(*byte)])].get_or_insert(*byte);
        }
        let mut before: Vec<Vec<(u32, u8)>> = vec![Vec::new(); self.accepts.len()];
        for state in 0..self.accepts.len() {
            for (class, byte) in bytes.iter().enumerate() {
                if let Some(byte) = byte {
                    let to = self.next[state * self.width + class];
                    before[to as usize].push((state as u32, *byte));
                }
            }
        }
        let mut ways = vec![None; self.accepts.len()];
        let mut done = self.accepts.clone();
        let accepting = (0..self.accepts.len()).filter(|s| self.accepts[*s]);
        let mut queue: VecDeque<usize> = accepting.collect();
        while let Some(at) = queue.pop_front() {
            for (from, byte) in &before[at] {
                let from = *from as usize;
                if !done[from] {
                    done[from] = true;
                    ways[from] = Some((*byte, at as u32));
                    queue.push_back(from);
                }
            }
        }
        ways
    }

    /// The shortest text that leads from a state to acceptance; empty for one that accepts, and
    /// for one that never does.
    pub(super) fn tail(&self, mut state: u32) -> Vec<u8> {
        let mut tail = Vec::new();
        while let Some((byte, next)) = self.nearest[state as usize] {
            tail.push(byte);
            state = next;
        }
        tail
    }

    /// Where a byte leads from a state.
    pub(super) fn step(&self, state: u32, byte: u8) -> u32 {
        self.next[state as usize * self.width + usize::from(self.classes[usize::from(byte)])]
    }

    /// Where a text leads from a state.
    pub(super) fn run(&self, from: u32, text: &[u8]) -> u32 {
        let mut state = from;
        for byte in text {
            // Nothing that follows can change the answer.
            if state <= FULL {
                break;
            }
            state = self.step(state, *byte);
        }
        state
    }

    /// The automaton of an expression, kept for the whole process since many checks share
    /// patterns; `None` as [`Table::build`].
    pub(super) fn of(regex: &str, fold_case: bool) -> Option<Arc<Self>> {
        let key = (regex.to_owned(), fold_case);
        let lock = || TABLES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return known.clone();
        }
        // Made without the lock: others may build theirs meanwhile. Two that build the same get
        // equal tables, and the later one stays.
        let made = Self::build(regex, fold_case).map(Arc::new);
        let mut tables = lock();
        if tables.len() >= MAX_CACHED {
            tables.clear();
        }
        tables.insert(key, made.clone());
        made
    }
}

/// The states from which some state of `goals` can be reached. `columns` says, for each class of
/// bytes, where it leads from each state. Linear in the number of transitions.
fn reaching(columns: &[Vec<u32>], goals: &[bool]) -> Vec<bool> {
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); goals.len()];
    for column in columns {
        for (from, to) in column.iter().enumerate() {
            before[*to as usize].push(from as u32);
        }
    }
    let mut found = goals.to_vec();
    let mut queue: Vec<usize> = (0..goals.len()).filter(|s| found[*s]).collect();
    while let Some(state) = queue.pop() {
        for from in &before[state] {
            if !found[*from as usize] {
                found[*from as usize] = true;
                queue.push(*from as usize);
            }
        }
    }
    found
}
