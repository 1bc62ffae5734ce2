//! The search for a path that lies in some sets and not in others.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, LazyLock},
};

use super::{
    Answer, PathSet, Space, Witness,
    table::{DEAD, FULL, NATURAL, Table},
};

/// How many states of a product are looked at before a question counts as not decided.
const MAX_PRODUCT: usize = 20_000;

/// A part of a valid path: not empty, not `.`, not `..`, no NUL.
const VALID_PART: &str = r"(?s-u:(?:[^/.\x00][^/\x00]*|\.[^/.\x00][^/\x00]*|\.\.[^/\x00]+))";

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
