//! The search for a path that lies in some sets and not in others: a walk over the product of
//! their automata, breadth first, so that the first path found is the shortest.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, LazyLock},
};

use super::{
    PathSet, Search, Space, Witness,
    table::{DEAD, FULL, NATURAL, Table},
};

/// How many states of a product are looked at before a question counts as not decided. A product
/// of n automata can have as many states as their sizes multiplied; this bounds the time and the
/// memory of one question.
const MAX_PRODUCT: usize = 20_000;

/// A part of a valid path: not empty, not `.`, not `..`, no NUL. A witness that no file system
/// can have would prove nothing.
const VALID_PART: &str = r"(?s-u:(?:[^/.\x00][^/\x00]*|\.[^/.\x00][^/\x00]*|\.\.[^/\x00]+))";

/// How a vague set, of which it is not known what it matches, is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// Over-approximation: it may match anything. When nothing is found even then, there is
    /// nothing.
    Most,
    /// Under-approximation: it matches only what is certain. What is found is a real witness.
    Least,
}

/// A set, and whether the path must lie in it (`true`) or outside it.
pub type Term<'a> = (&'a PathSet, bool);

/// Whether there is a valid path that lies in each set of `terms` with `true` and in none with
/// `false`: the shortest one, in letters that a person would choose. Paths inside the project come
/// before those outside. Without terms every path fits.
pub fn find(terms: &[Term<'_>]) -> Search {
    if terms.iter().any(|(set, _)| set.unknown) {
        return Search::Undecided;
    }
    // Most questions need no search: two sets that must both match exclude each other by the
    // beginnings of their patterns. A path must match the patterns of a `no_edits_outside` that
    // it is to lie in, and those of an `untouched` that it is to break.
    let edits = || terms.iter().filter(|(set, yes)| *yes && !set.complement);
    let forbidden = || terms.iter().filter(|(set, yes)| !*yes && set.complement);
    let matched = || edits().chain(forbidden());
    let apart =
        edits().any(|(a, _)| matched().any(|(b, _)| !std::ptr::eq(*a, *b) && a.are_apart(b)));
    // A set with relative patterns only allows nothing outside the project.
    let no_outside = edits().any(|(set, _)| set.outside.tables.is_empty() && !set.outside.vague);
    if apart && no_outside {
        return Search::None;
    }
    let vague = |space| terms.iter().any(|(set, _)| set.side(space).vague);
    let mut open = false;
    for space in [Space::Inside, Space::Outside] {
        if space == Space::Outside && no_outside {
            continue;
        }
        match search(terms, space, Bound::Least) {
            Ok(Some(path)) => return Search::Found(Witness(path)),
            Err(TooLarge) => open = true,
            // Nothing is certain to be there. Only when nothing might be there either is it
            // proven that nothing is.
            Ok(None) if vague(space) => {
                open |= search(terms, space, Bound::Most) != Ok(None);
            }
            Ok(None) => {}
        }
    }
    if open {
        Search::Undecided
    } else {
        Search::None
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

/// One set in a product.
struct Part<'a> {
    /// Its automata, one a pattern; the set matches what any of them accepts.
    tables: Vec<&'a Table>,
    /// Whether the path must match.
    wanted: bool,
    /// Where the part's states lie in a state of the product.
    from: usize,
}

/// The shortest path of one space that fulfils all terms, breadth first. A state of the product
/// is one state of each automaton, in the order of the parts. Time and memory are bounded by
/// [`MAX_PRODUCT`] states with one step each per group of bytes.
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
            // It might match any path, so it excludes none.
            (true, true, Bound::Most) => continue,
            // It might match any path, so of none is it certain that it does not.
            (true, false, Bound::Least) => return Ok(None),
            // Otherwise the automata that are known say what is certain (wanted), or what is the
            // least that is excluded (not wanted).
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
    // States from which no path can be accepted any more are not followed: without that the
    // product of two patterns with a common beginning would be walked to its end.
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

/// One byte for each group of bytes that lead to the same states in every automaton, the most
/// natural of each. They stand for all 256, and are few: a search tries only these.
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
