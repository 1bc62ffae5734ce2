//! Sets of paths as automata: what a letter check allows, and whether a path lies in several
//! sets at once (semantics section 4).
//!
//! An automaton is made from the very expression that the matcher runs, so that both mean the
//! same by construction. Paths inside the project and outside it are two spaces that are looked
//! at one after the other. Where the project's place or the home folder is not known, an absolute
//! pattern might mean any path inside: it counts as all of them for a proof that nothing is
//! left, and as none of them for a witness.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use regex_automata::{
    Anchored, MatchKind,
    dfa::{Automaton, StartKind, dense},
    nfa::thompson,
    util::{primitives::StateID, start, syntax},
};

use unicode_normalization::UnicodeNormalization;

use super::glob::Glob;
use crate::model::LetterCheck;

/// The largest automaton of one side of a check, in bytes; a larger one is not decided.
const MAX_AUTOMATON: usize = 512 << 10;

/// How many states of a product are looked at before a question counts as not decided.
const MAX_PRODUCT: usize = 20_000;

/// How many sets are kept for the next question.
const MAX_CACHED: usize = 25_000;

/// A part of a valid path: not empty, not `.`, not `..`, no NUL.
const VALID_PART: &str = r"(?s-u:(?:[^/.\x00][^/\x00]*|\.[^/.\x00][^/\x00]*|\.\.[^/\x00]+))";

/// What patterns are read against.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Surface {
    /// The home folder, which stands for `~/`.
    pub home: Option<String>,
    /// The project's folder.
    pub root: Option<String>,
    /// Upper and lower case are one.
    pub fold_case: bool,
}

impl Surface {
    /// Nothing is known but how the file systems of this machine usually are.
    pub fn unknown() -> Self {
        Self {
            fold_case: cfg!(any(target_os = "macos", windows)),
            ..Self::default()
        }
    }
}

/// A path that proves something: relative to the project, or absolute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Witness(pub String);

/// The answer to "is there a path that …".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// There is: this one, the shortest.
    Found(Witness),
    /// There is none.
    None,
    /// The question is too large to be decided.
    Undecided,
}

impl Answer {
    /// Whether it is proven that there is none.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// A deterministic automaton over bytes.
#[derive(Debug)]
struct Table {
    classes: [u8; 256],
    width: usize,
    next: Vec<u32>,
    accepts: Vec<bool>,
    start: u32,
    /// From each state the byte and the state that lead to acceptance the shortest way.
    nearest: Vec<Option<(u8, u32)>>,
}

/// Nothing that follows is accepted.
const DEAD: u32 = 0;

/// Whatever follows is accepted.
const FULL: u32 = 1;

impl Table {
    fn build(regex: &str, fold_case: bool) -> Option<Self> {
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

    /// The states that can be reached, with bytes that lead to the same states as one class.
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
        // Bytes that lead to the same states everywhere are one class.
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
        let dead = reaching(&wide, &accepts);
        let refusing: Vec<bool> = accepts.iter().map(|a| !a).collect();
        let full = reaching(&wide, &refusing);
        // Numbered anew: all states without a way to accept are one, and so are those without
        // a way to refuse.
        let live: Vec<bool> = dead.iter().zip(&full).map(|(d, f)| *d && *f).collect();
        let mut number = FULL;
        let names: Vec<u32> = (0..rows.len())
            .map(|state| match (dead[state], full[state]) {
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

    /// The shortest way to acceptance from each state, found backwards.
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

    /// What has to follow in a state to be accepted, at least.
    fn tail(&self, mut state: u32) -> Vec<u8> {
        let mut tail = Vec::new();
        while let Some((byte, next)) = self.nearest[state as usize] {
            tail.push(byte);
            state = next;
        }
        tail
    }

    fn step(&self, state: u32, byte: u8) -> u32 {
        self.next[state as usize * self.width + usize::from(self.classes[usize::from(byte)])]
    }

    fn run(&self, from: u32, text: &[u8]) -> u32 {
        let mut state = from;
        for byte in text {
            if state <= FULL {
                break;
            }
            state = self.step(state, *byte);
        }
        state
    }

    /// The automaton of an expression; made once, since many checks share patterns.
    fn of(regex: &str, fold_case: bool) -> Option<Arc<Self>> {
        let key = (regex.to_owned(), fold_case);
        let lock = || TABLES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return known.clone();
        }
        let made = Self::build(regex, fold_case).map(Arc::new);
        let mut tables = lock();
        if tables.len() >= MAX_CACHED {
            tables.clear();
        }
        tables.insert(key, made.clone());
        made
    }
}

/// The states from which some state of `goals` can be reached, given where each class of bytes
/// leads.
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

/// One space of a set: the union of what its automata accept.
#[derive(Debug, Default)]
struct Side {
    tables: Vec<(Arc<Table>, u32)>,
    /// Some pattern might match anything here.
    vague: bool,
}

impl Side {
    fn matches(&self, path: &[u8]) -> bool {
        self.tables
            .iter()
            .any(|(table, start)| table.accepts[table.run(*start, path) as usize])
    }
}

/// The paths that one letter check allows to be changed.
#[derive(Debug)]
pub struct PathSet {
    inside: Side,
    outside: Side,
    /// What matches is forbidden instead (`untouched`).
    complement: bool,
    /// Too large to be decided.
    unknown: bool,
    /// The beginnings of what can match inside, and whether they are whole paths.
    prefixes: Vec<(String, bool)>,
    /// Paths inside that match, one a pattern.
    samples: Vec<String>,
    /// A path inside that is allowed.
    allowed: Option<String>,
}

type Cache = HashMap<(LetterCheck, Surface), Arc<PathSet>>;

type Tables = HashMap<(String, bool), Option<Arc<Table>>>;

static TABLES: LazyLock<Mutex<Tables>> = LazyLock::new(Mutex::default);

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);

impl PathSet {
    /// What a check allows; made once for each check and surface.
    pub fn of(check: &LetterCheck, surface: &Surface) -> Arc<Self> {
        let key = (check.clone(), surface.clone());
        let lock = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return Arc::clone(known);
        }
        let made = Arc::new(Self::build(check, surface));
        let mut cache = lock();
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(key, Arc::clone(&made));
        made
    }

    fn build(check: &LetterCheck, surface: &Surface) -> Self {
        let complement = matches!(check, LetterCheck::Untouched(_));
        let mut set = Self {
            inside: Side::default(),
            outside: Side::default(),
            complement,
            unknown: false,
            prefixes: Vec::new(),
            samples: Vec::new(),
            allowed: None,
        };
        let home = surface.home.as_deref().map(std::path::Path::new);
        let (mut relative, mut absolute) = (Vec::new(), Vec::new());
        let mut examples = Vec::new();
        for pattern in check.patterns() {
            let Ok(glob) = Glob::parse(pattern, home) else {
                // Below an unknown home folder, or not bound yet: it might mean anything.
                set.inside.vague = true;
                set.outside.vague = true;
                set.prefixes.push((String::new(), false));
                continue;
            };
            let mut regex = glob.regex.clone();
            if complement {
                regex.truncate(regex.len() - r"\z".len());
                regex.push_str(r"(?:/(?s-u:.)*)?\z");
            }
            if glob.absolute {
                absolute.push(regex);
                set.prefixes.push((String::new(), false));
            } else {
                let whole = glob.literal_prefix == glob.example;
                set.prefixes
                    .push((folded(&glob.literal_prefix, surface), whole && !complement));
                relative.push(regex);
                examples.push(glob.example);
            }
        }
        for regex in &relative {
            match Table::of(regex, surface.fold_case) {
                Some(table) => {
                    let start = table.start;
                    set.inside.tables.push((table, start));
                }
                None => set.unknown = true,
            }
        }
        for regex in &absolute {
            let Some(table) = Table::of(regex, surface.fold_case) else {
                set.unknown = true;
                continue;
            };
            match &surface.root {
                Some(root) => {
                    let folder = format!("{}/", root.trim_end_matches('/'));
                    let inside = table.run(table.start, folder.as_bytes());
                    set.inside.tables.push((Arc::clone(&table), inside));
                }
                None => set.inside.vague = true,
            }
            let start = table.start;
            set.outside.tables.push((table, start));
        }
        let matched = examples
            .into_iter()
            .filter(|e| set.inside.matches(e.as_bytes()));
        set.samples = matched.filter(|e| is_valid(e)).collect();
        let usual = ["x", "a", "src/x", "x/x/x"].map(str::to_owned);
        let mut known = usual.iter().chain(&set.samples);
        set.allowed = known.find(|path| set.allows(path)).cloned();
        set
    }

    /// Whether a path may be changed; relative to the project, or absolute for one outside.
    pub fn allows(&self, path: &str) -> bool {
        let side = if path.starts_with('/') {
            &self.outside
        } else {
            &self.inside
        };
        // Patterns are read in the composed form, and so is a path.
        let matches = match path.is_ascii() {
            true => side.matches(path.as_bytes()),
            false => side.matches(path.nfc().collect::<String>().as_bytes()),
        };
        matches != self.complement
    }

    /// Paths inside the project that its patterns match.
    pub fn samples(&self) -> &[String] {
        &self.samples
    }

    /// Whether a path is at hand that this set allows and `other` does not. That none is proves
    /// nothing.
    pub fn refutes_containment(&self, other: &Self) -> bool {
        let known = other
            .samples
            .iter()
            .chain(&self.allowed)
            .chain(&self.samples);
        let sure = !(self.inside.vague || other.inside.vague);
        sure && known
            .into_iter()
            .any(|path| self.allows(path) && !other.allows(path))
    }

    /// For what may be edited and an `untouched`: whether some path lies in both, as far as the
    /// beginning of the latter or a sample of it says so; `None` when only a search can tell.
    pub fn meets(&self, untouched: &Self) -> Option<bool> {
        let comparable = !self.complement
            && untouched.complement
            && !self.inside.vague
            && !untouched.inside.vague
            && self.outside.tables.is_empty()
            && !self.outside.vague;
        if !comparable || self.unknown || untouched.unknown {
            return None;
        }
        let bases = untouched.samples.iter().map(|s| format!("{s}/"));
        let prefixes = untouched.prefixes.iter().map(|(prefix, _)| prefix.clone());
        let mut alive = false;
        for base in prefixes.chain(bases) {
            for (table, start) in &self.inside.tables {
                let state = table.run(*start, base.as_bytes());
                if state == DEAD {
                    continue;
                }
                alive = true;
                let mut path = base.clone().into_bytes();
                path.extend(match table.tail(state) {
                    tail if tail.is_empty() && path.ends_with(b"/") => b"x".to_vec(),
                    tail => tail,
                });
                let text = String::from_utf8_lossy(&path);
                let matches = self.inside.matches(&path) && untouched.inside.matches(&path);
                if matches && is_valid(&text) {
                    return Some(true);
                }
            }
        }
        // Nothing that it guards begins in a way that leads anywhere.
        (!alive && untouched.prefixes.len() == 1).then_some(false)
    }

    /// Whether it is too large for anything to be decided about it.
    pub fn is_unknown(&self) -> bool {
        self.unknown
    }

    /// Whether it forbids instead of allowing.
    pub fn is_untouched(&self) -> bool {
        self.complement
    }

    /// Whether the beginnings of what both match already exclude each other. Each must allow
    /// only what it matches inside the project, which `no_edits_outside` with relative patterns
    /// does.
    fn are_apart(&self, other: &Self) -> bool {
        let apart = |a: &(String, bool), b: &(String, bool)| {
            let (short, long) = if a.0.len() <= b.0.len() {
                (a, b)
            } else {
                (b, a)
            };
            match short.1 {
                true if long.1 => short.0 != long.0,
                _ => !long.0.starts_with(&short.0),
            }
        };
        self.prefixes
            .iter()
            .all(|a| other.prefixes.iter().all(|b| apart(a, b)))
    }

    fn side(&self, space: Space) -> &Side {
        match space {
            Space::Inside => &self.inside,
            Space::Outside => &self.outside,
        }
    }
}

fn folded(text: &str, surface: &Surface) -> String {
    match surface.fold_case {
        true => caseless::default_case_fold_str(text),
        false => text.to_owned(),
    }
}

fn is_valid(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Space {
    Inside,
    Outside,
}

/// Which end of a vague set counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// As much as it might be: what is empty then is empty.
    Most,
    /// As little as it must be: what is found then is there.
    Least,
}

/// What a path must do to each set.
pub type Term<'a> = (&'a PathSet, bool);

/// Whether there is a valid path that lies in each set of `terms` that says `true` and in none
/// that says `false`: the shortest one, in letters that a person reads.
pub fn find(terms: &[Term<'_>]) -> Answer {
    if terms.iter().any(|(set, _)| set.unknown) {
        return Answer::Undecided;
    }
    // Two sets of `no_edits_outside` are mostly told apart by their beginnings.
    let edits = || terms.iter().filter(|(set, yes)| *yes && !set.complement);
    // So is what may be edited from what is untouched elsewhere, when that is to be touched.
    let forbidden = || terms.iter().filter(|(set, yes)| !*yes && set.complement);
    let matched = || edits().chain(forbidden());
    let apart =
        edits().any(|(a, _)| matched().any(|(b, _)| !std::ptr::eq(*a, *b) && a.are_apart(b)));
    let no_outside = edits().any(|(set, _)| set.outside.tables.is_empty() && !set.outside.vague);
    if apart && no_outside {
        return Answer::None;
    }
    let vague = |space| terms.iter().any(|(set, _)| set.side(space).vague);
    let mut open = false;
    for space in [Space::Inside, Space::Outside] {
        if space == Space::Outside && no_outside {
            continue;
        }
        match search(terms, space, Bound::Least) {
            Ok(Some(path)) => return Answer::Found(Witness(path)),
            Err(TooLarge) => open = true,
            Ok(None) if vague(space) => {
                open |= search(terms, space, Bound::Most) != Ok(None);
            }
            Ok(None) => {}
        }
    }
    if open {
        Answer::Undecided
    } else {
        Answer::None
    }
}

#[derive(Debug, PartialEq, Eq)]
struct TooLarge;

/// The bytes that a search tries, those that a person would choose first.
static NATURAL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let first = b"abcdefghijklmnopqrstuvwxyz/._-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ ";
    let rest = (0x21..=0xffu8)
        .chain(0x01..0x21)
        .filter(|b| !first.contains(b));
    first.iter().copied().chain(rest).collect()
});

static VALID: LazyLock<Option<[Arc<Table>; 2]>> = LazyLock::new(|| {
    let table = |regex: String| Table::build(&regex, false).map(Arc::new);
    let parts = format!("{VALID_PART}(?:/{VALID_PART})*");
    Some([
        table(format!(r"\A{parts}\z"))?,
        table(format!(r"\A/{parts}\z"))?,
    ])
});

/// One set in a product: its automata and where each stands.
struct Part<'a> {
    tables: Vec<&'a Table>,
    wanted: bool,
    /// Where the part's states lie in a state of the product.
    from: usize,
}

fn search(terms: &[Term<'_>], space: Space, bound: Bound) -> Result<Option<String>, TooLarge> {
    let Some(valid) = VALID.as_ref() else {
        return Err(TooLarge);
    };
    let valid = &valid[usize::from(space == Space::Outside)];
    let mut start = vec![valid.start];
    let mut parts = vec![Part {
        tables: vec![valid],
        wanted: true,
        from: 0,
    }];
    for (set, inside) in terms {
        let side = set.side(space);
        let wanted = *inside != set.complement;
        match (side.vague, wanted, bound) {
            // It may match whatever the path is.
            (true, true, Bound::Most) => continue,
            (true, false, Bound::Least) => return Ok(None),
            _ => {}
        }
        parts.push(Part {
            tables: side.tables.iter().map(|(table, _)| &**table).collect(),
            wanted,
            from: start.len(),
        });
        start.extend(side.tables.iter().map(|(_, from)| *from));
    }
    let accepts = |state: &[u32]| {
        parts.iter().all(|part| {
            let mut own = part.tables.iter().zip(&state[part.from..]);
            own.any(|(table, s)| table.accepts[*s as usize]) == part.wanted
        })
    };
    let is_dead = |state: &[u32]| {
        parts.iter().any(|part| {
            let own = &state[part.from..part.from + part.tables.len()];
            match part.wanted {
                true => own.iter().all(|s| *s == DEAD),
                false => own.contains(&FULL),
            }
        })
    };
    let bytes = representatives(&parts);
    let mut seen: HashSet<Vec<u32>> = HashSet::from([start.clone()]);
    // Each state with the one that it was reached from, and by which byte.
    let mut reached: Vec<(Vec<u32>, usize, u8)> = vec![(start, usize::MAX, 0)];
    let mut queue = VecDeque::from([0]);
    while let Some(at) = queue.pop_front() {
        if accepts(&reached[at].0) {
            return Ok(Some(path_to(&reached, at)));
        }
        for byte in &bytes {
            let state = &reached[at].0;
            let mut to = Vec::with_capacity(state.len());
            for part in &parts {
                let own = part.tables.iter().zip(&state[part.from..]);
                to.extend(own.map(|(table, s)| table.step(*s, *byte)));
            }
            if is_dead(&to) || !seen.insert(to.clone()) {
                continue;
            }
            if reached.len() >= MAX_PRODUCT {
                return Err(TooLarge);
            }
            reached.push((to, at, *byte));
            queue.push_back(reached.len() - 1);
        }
    }
    Ok(None)
}

/// One byte for each group that no automaton tells apart, the most natural of each.
fn representatives(parts: &[Part<'_>]) -> Vec<u8> {
    let mut seen = HashSet::new();
    let tables: Vec<&Table> = parts
        .iter()
        .flat_map(|p| p.tables.iter().copied())
        .collect();
    NATURAL
        .iter()
        .copied()
        .filter(|byte| {
            let group: Vec<u8> = tables
                .iter()
                .map(|t| t.classes[usize::from(*byte)])
                .collect();
            seen.insert(group)
        })
        .collect()
}

fn path_to(reached: &[(Vec<u32>, usize, u8)], mut at: usize) -> String {
    let mut bytes = Vec::new();
    while reached[at].1 != usize::MAX {
        bytes.push(reached[at].2);
        at = reached[at].1;
    }
    bytes.reverse();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rules::letter::{LetterSet, PatternEnv, Place};

    fn edits(patterns: &[&str]) -> LetterCheck {
        LetterCheck::NoEditsOutside(patterns.iter().map(|p| (*p).to_owned()).collect())
    }

    fn set(check: &LetterCheck) -> Arc<PathSet> {
        PathSet::of(check, &Surface::default())
    }

    fn found(terms: &[(&LetterCheck, bool)]) -> Option<String> {
        let sets: Vec<_> = terms.iter().map(|(check, _)| set(check)).collect();
        let terms: Vec<Term<'_>> = sets
            .iter()
            .zip(terms)
            .map(|(s, (_, yes))| (&**s, *yes))
            .collect();
        match find(&terms) {
            Answer::Found(Witness(path)) => Some(path),
            Answer::None => None,
            Answer::Undecided => panic!("undecided"),
        }
    }

    #[test]
    fn witnesses_read_as_paths() {
        let untouched = LetterCheck::Untouched("src/a".into());
        for (terms, expected) in [
            (vec![(edits(&["src/**"]), true)], Some("src/a")),
            (
                vec![(edits(&["src/**"]), true), (edits(&["**/*.rs"]), true)],
                Some("src/.rs"),
            ),
            (
                vec![(edits(&["src/**"]), true), (edits(&["docs/**"]), true)],
                None,
            ),
            (
                vec![(edits(&["src/**"]), true), (untouched.clone(), true)],
                Some("src/b"),
            ),
            (vec![(edits(&["src/a"]), true), (untouched, true)], None),
            (
                vec![(edits(&["src/*.rs"]), true), (edits(&["src/**"]), false)],
                None,
            ),
            (
                vec![(edits(&["src/**"]), true), (edits(&["src/*"]), false)],
                Some("src/a/a"),
            ),
            (
                vec![(edits(&["a?"]), true), (edits(&["ab"]), false)],
                Some("aa"),
            ),
            (
                vec![(edits(&["/etc/*"]), true), (edits(&["/etc/hosts"]), false)],
                Some("/etc/a"),
            ),
            (vec![(edits(&["[/]"]), true)], Some("[/]")),
        ] {
            let terms: Vec<_> = terms.iter().map(|(check, yes)| (check, *yes)).collect();
            assert_eq!(found(&terms).as_deref(), expected, "{terms:?}");
        }
    }

    #[test]
    fn what_is_not_known_proves_nothing() {
        let (one, home) = (edits(&["src/**"]), edits(&["~/app/docs/**"]));
        let answer = |surface: &Surface| {
            find(&[
                (&PathSet::of(&one, surface), true),
                (&PathSet::of(&home, surface), true),
            ])
        };
        assert_eq!(
            answer(&Surface::default()),
            Answer::Undecided,
            "the project might be ~/app/docs"
        );
        let placed = |root: &str| Surface {
            home: Some("/h".into()),
            root: Some(root.into()),
            fold_case: false,
        };
        assert_eq!(answer(&placed("/h/app")), Answer::None);
        assert_eq!(
            answer(&placed("/h/app/docs")),
            Answer::Found(Witness("src/a".into()))
        );
    }

    #[test]
    fn case_counts_where_the_file_system_counts_it() {
        let (one, two) = (edits(&["src/**"]), edits(&["SRC/**"]));
        let answer = |fold_case| {
            let surface = Surface {
                fold_case,
                ..Surface::default()
            };
            find(&[
                (&PathSet::of(&one, &surface), true),
                (&PathSet::of(&two, &surface), true),
            ])
        };
        assert!(answer(false).is_none() && !answer(true).is_none());
    }

    #[test]
    fn a_question_that_is_too_large_is_not_decided() {
        // Each of these multiplies the states of the product.
        let checks: Vec<LetterCheck> = (0..14)
            .map(|n| edits(&[&format!("**/{}x{}", "?".repeat(n), "?".repeat(13))]))
            .collect();
        let sets: Vec<_> = checks.iter().map(set).collect();
        let mut terms: Vec<Term<'_>> = sets.iter().map(|s| (&**s, true)).collect();
        let none = set(&edits(&["a/b"]));
        terms.push((&none, false));
        assert_ne!(find(&terms), Answer::None);
    }

    /// Patterns of all signs over a few letters.
    fn pattern() -> impl Strategy<Value = String> {
        let sign = prop_oneof![
            4 => "[abc]", 2 => Just("*".to_owned()), 1 => Just("?".to_owned()),
            1 => Just("[ab]".to_owned()), 1 => Just("[!a]".to_owned()), 1 => Just("{a,b/c}".to_owned()),
            1 => Just("{,.}".to_owned()), 1 => Just("é".to_owned()), 1 => Just(".".to_owned()),
        ];
        let part = prop_oneof![
            3 => proptest::collection::vec(sign, 1..4).prop_map(|s| s.concat()),
            1 => Just("**".to_owned()),
        ];
        let joined = proptest::collection::vec(part, 1..4).prop_map(|p| p.join("/"));
        (joined, prop_oneof![3 => Just(""), 1 => Just("/")])
            .prop_map(|(p, end)| format!("{p}{end}"))
    }

    fn path() -> impl Strategy<Value = String> {
        proptest::collection::vec("[abcé.]{1,3}", 1..5).prop_map(|parts| parts.join("/"))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_automaton_and_the_matcher_agree(
            patterns in proptest::collection::vec(pattern(), 1..4),
            paths in proptest::collection::vec(path(), 1..20),
            untouched in any::<bool>(),
        ) {
            let check = match untouched {
                true => LetterCheck::Untouched(patterns[0].clone()),
                false => LetterCheck::NoEditsOutside(patterns),
            };
            if let Ok(letters) = LetterSet::compile([&check], PatternEnv::default()) {
                let set = set(&check);
                for path in paths {
                    let place = Place {
                        relative: Some(path.as_bytes()),
                        absolute: b"/elsewhere/x",
                        scratch: false,
                        subtree: false,
                        holds_root: false,
                    };
                    let allowed = letters.broken_by(place).is_empty();
                    prop_assert_eq!(set.allows(&path), allowed, "{:?} {}", &check, path);
                }
            }
        }
    }
}
