//! What is known while a line runs: words after expansion, and the shell's state.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    path::{Path, PathBuf},
    rc::Rc,
};

use brush_parser::ast::FunctionBody;

use super::{
    Surroundings, Target,
    bounds::{MAX_ITEMS, MAX_VALUE},
};

/// How many states of the shell are followed side by side.
const MAX_WORLDS: usize = 8;

/// In how many places a joined state may stand.
const MAX_PLACES: usize = 48;

/// A part of a word after expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    /// Unquoted pattern signs, with the text around them.
    Glob(String),
    /// Anything at all.
    Unknown,
}

/// One argument after expansion, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Field(pub Vec<Part>);

impl Field {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self(vec![Part::Text(text.into())])
    }

    pub(super) fn unknown() -> Self {
        Self(vec![Part::Unknown])
    }

    pub(super) fn push(&mut self, part: Part) {
        match (self.0.last_mut(), part) {
            (Some(Part::Text(before)), Part::Text(more)) => before.push_str(&more),
            (Some(Part::Unknown), Part::Unknown) => {}
            (_, Part::Text(text)) if text.is_empty() => {}
            (_, part) => self.0.push(part),
        }
    }

    pub(super) fn join(mut self, more: Self) -> Self {
        more.0.into_iter().for_each(|part| self.push(part));
        self
    }

    /// The whole text, when all of it is known. Pattern signs that were not expanded stand for
    /// themselves.
    pub(super) fn known(&self) -> Option<String> {
        self.0
            .iter()
            .try_fold(String::new(), |mut text, part| match part {
                Part::Text(more) | Part::Glob(more) => {
                    text.push_str(more);
                    Some(text)
                }
                Part::Unknown => None,
            })
    }

    /// The text before the first part that is not known.
    pub(super) fn start(&self) -> String {
        let known = self.0.iter().map_while(|part| match part {
            Part::Text(text) | Part::Glob(text) => Some(text.as_str()),
            Part::Unknown => None,
        });
        known.collect()
    }

    /// How many bytes of it are known.
    pub(super) fn len(&self) -> usize {
        let len = |part: &Part| match part {
            Part::Text(text) | Part::Glob(text) => text.len(),
            Part::Unknown => 0,
        };
        self.0.iter().map(len).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known().is_some_and(|text| text.is_empty())
    }

    /// Everything after the first `bytes` bytes of the known start.
    pub(super) fn skip(&self, bytes: usize) -> Self {
        let mut left = bytes;
        let mut out = Self::default();
        for part in &self.0 {
            match part {
                Part::Text(text) | Part::Glob(text) if left > 0 => {
                    let cut = left.min(text.len());
                    left -= cut;
                    out.push(Part::Text(text.get(cut..).unwrap_or_default().to_owned()));
                }
                part => out.push(part.clone()),
            }
        }
        out
    }

    /// What follows the last slash.
    pub(super) fn file_name(&self) -> Self {
        if let Some(text) = self.known() {
            let text = text.trim_end_matches('/');
            return Self::text(text.rsplit('/').next().unwrap_or(text));
        }
        match self.0.last() {
            Some(Part::Text(text) | Part::Glob(text)) => match text.rsplit_once('/') {
                Some((_, name)) => Self::text(name),
                None => Self(vec![Part::Unknown, Part::Text(text.clone())]),
            },
            _ => Self::unknown(),
        }
    }

    /// What lies before the last slash.
    pub(super) fn folder(&self) -> Self {
        match self.known() {
            Some(text) => match text.trim_end_matches('/').rsplit_once('/') {
                Some(("", _)) => Self::text("/"),
                Some((folder, _)) => Self::text(folder),
                None => Self::text("."),
            },
            None => Self::unknown(),
        }
    }
}

/// What a name stands for that the line gave a meaning of its own.
#[derive(Debug)]
pub(super) enum Callable {
    Function {
        body: Box<FunctionBody>,
        /// All of the body, to tell one from another.
        content: String,
    },
    Alias(String),
    /// Nothing of the line's: in one of the states that were joined it was not defined.
    Plain,
}

impl Callable {
    pub(super) fn function(body: &FunctionBody) -> Self {
        Self::Function {
            content: format!("{body:?}"),
            body: Box::new(body.clone()),
        }
    }
}

impl PartialEq for Callable {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Function { content: a, .. }, Self::Function { content: b, .. })
            | (Self::Alias(a), Self::Alias(b)) => a == b,
            (Self::Plain, Self::Plain) => true,
            _ => false,
        }
    }
}

impl Eq for Callable {}

/// A text that runs at some later moment, wherever the shell is then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trap {
    pub text: String,
    /// The bytes of the line that set it.
    pub bytes: Range<usize>,
}

/// One state that the shell may be in.
#[derive(Debug, Clone)]
pub(super) struct World {
    /// Absolute where it is known.
    pub cwd: Field,
    /// Where it may be, when that is known of each of the states that were joined.
    pub perhaps: Vec<Field>,
    pub vars: BTreeMap<String, Vec<Field>>,
    /// Any of what stands at a name may be what it means.
    pub functions: BTreeMap<String, Vec<Rc<Callable>>>,
    /// `$1` and so on; `None` when not known.
    pub positional: Option<Vec<Field>>,
    /// Variables that may be read-only.
    pub fixed: BTreeSet<String>,
    /// By signal.
    pub traps: BTreeMap<String, Vec<Trap>>,
    /// A command failed here that hardly ever does. What is done about it is read, and no more,
    /// unless that changes the shell.
    pub unlikely: bool,
}

impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        self.cwd == other.cwd
            && self.perhaps == other.perhaps
            && self.vars == other.vars
            && self.positional == other.positional
            && self.functions == other.functions
            && self.fixed == other.fixed
            && self.traps == other.traps
    }
}

impl World {
    pub(super) fn start(at: &Surroundings<'_>) -> Self {
        let path = |p: &Path| vec![Field::text(p.to_string_lossy())];
        let mut vars = BTreeMap::from([
            ("PWD".to_owned(), path(at.cwd)),
            ("TMPDIR".to_owned(), path(at.scratch)),
            ("IFS".to_owned(), vec![Field::text(" \t\n")]),
        ]);
        for name in [
            "CLAUDE_PROJECT_DIR",
            "GEMINI_PROJECT_DIR",
            "CRUSH_PROJECT_DIR",
        ] {
            vars.insert(name.to_owned(), path(at.root));
        }
        if let Some(home) = at.home {
            vars.insert("HOME".to_owned(), path(home));
        }
        Self {
            cwd: Field::text(at.cwd.to_string_lossy()),
            perhaps: Vec::new(),
            vars,
            functions: BTreeMap::new(),
            positional: None,
            fixed: BTreeSet::new(),
            traps: BTreeMap::new(),
            unlikely: false,
        }
    }

    /// Gives a name a meaning, in place of those that it had.
    pub(super) fn define(&mut self, name: &str, callable: Callable) {
        self.functions
            .insert(name.to_owned(), vec![Rc::new(callable)]);
    }

    /// The state of a shell below this one, which does not take over every trap.
    pub(super) fn below_this(&self) -> Self {
        let mut inner = self.clone();
        inner
            .traps
            .retain(|signal, _| matches!(signal.as_str(), "DEBUG" | "ERR" | "RETURN"));
        inner
    }

    /// One state in which all holds that holds in either: less is known, nothing is forgotten.
    fn join(&mut self, other: Self) {
        self.unlikely &= other.unlikely;
        if self.cwd != other.cwd || self.perhaps != other.perhaps {
            let mut places = self.places();
            union(&mut places, other.places());
            // An unknown one among them stays one: nothing is known of where that is.
            places.truncate(MAX_PLACES);
            self.perhaps = places;
            self.cwd = Field::unknown();
        }
        let unknown = || vec![Field::unknown()];
        for (name, value) in &mut self.vars {
            if other.vars.get(name) != Some(value) {
                *value = unknown();
            }
        }
        for name in other.vars.into_keys() {
            self.vars.entry(name).or_insert_with(unknown);
        }
        if self.positional != other.positional {
            self.positional = None;
        }
        let plain = || vec![Rc::new(Callable::Plain)];
        for (name, known) in &mut self.functions {
            if !other.functions.contains_key(name) {
                union(known, plain());
            }
        }
        for (name, more) in other.functions {
            union(self.functions.entry(name).or_insert_with(plain), more);
        }
        self.fixed.extend(other.fixed);
        for (signal, more) in other.traps {
            union(self.traps.entry(signal).or_default(), more);
        }
    }

    pub(super) fn set(&mut self, name: &str, value: Vec<Field>) {
        let bytes: usize = value.iter().map(Field::len).sum();
        // Setting a read-only one fails, and the script goes on. What has grown without end is
        // not kept either.
        let unknown = self.fixed.contains(name) || bytes > MAX_VALUE || value.len() > MAX_ITEMS;
        let value = match unknown {
            true => vec![Field::unknown()],
            false => value,
        };
        self.vars.insert(name.to_owned(), value);
    }

    /// Moves to `dir`, seen from where the shell stands.
    pub(super) fn enter(&mut self, dir: &Field) {
        self.set("OLDPWD", vec![self.cwd.clone()]);
        self.perhaps = match dir.start().starts_with('/') {
            true => Vec::new(),
            false => {
                let places = self.perhaps.iter();
                places
                    .map(|place| place.clone().join(Field::text("/")).join(dir.clone()))
                    .collect()
            }
        };
        self.cwd = self.absolute(dir);
        self.set("PWD", vec![self.cwd.clone()]);
    }

    /// Every place that it may stand in.
    fn places(&self) -> Vec<Field> {
        match self.perhaps.is_empty() {
            true => vec![self.cwd.clone()],
            false => self.perhaps.clone(),
        }
    }

    /// Roughly how much it is to copy this.
    pub(super) fn weight(&self) -> usize {
        let values: usize = self.vars.values().map(Vec::len).sum();
        let positional = self.positional.as_ref().map_or(0, Vec::len);
        let perhaps: usize = self.perhaps.iter().map(|place| 4 + place.len() / 16).sum();
        20 * (self.vars.len() + values + positional + perhaps + self.traps.len())
            + 40 * self.functions.len()
    }

    /// The path seen from where the shell stands; not cleaned.
    pub(super) fn absolute(&self, path: &Field) -> Field {
        match path.0.first() {
            Some(Part::Text(text) | Part::Glob(text)) if text.starts_with('/') => path.clone(),
            // It may begin with a slash.
            Some(Part::Unknown) => path.clone(),
            _ => self.cwd.clone().join(Field::text("/")).join(path.clone()),
        }
    }

    /// The absolute path, when all of it is known.
    pub(super) fn path(&self, field: &Field) -> Option<PathBuf> {
        let text = self.absolute(field).known()?;
        text.starts_with('/').then(|| PathBuf::from(text))
    }

    /// What changing the path means, from each place that the shell may stand in.
    pub(super) fn targets(&self, field: &Field, delete: bool) -> Vec<Target> {
        let fixed =
            matches!(field.0.first(), Some(Part::Unknown)) || field.start().starts_with('/');
        if self.perhaps.is_empty() || fixed {
            return vec![self.target(field, delete)];
        }
        let seen_from = |place: &Field| {
            let path = place.clone().join(Field::text("/")).join(field.clone());
            self.target(&path, delete)
        };
        // A loop may have gone on to places that were not followed.
        let anywhere = self.target(field, delete);
        let places = self.perhaps.iter().map(seen_from);
        places.chain([anywhere]).collect()
    }

    /// What changing the path means.
    fn target(&self, field: &Field, delete: bool) -> Target {
        match self.path(field) {
            Some(path) if delete => Target::Delete(path),
            Some(path) => Target::Change(path),
            None => Target::Partial {
                texts: texts(&self.absolute(field)),
                delete,
            },
        }
    }
}

/// The known texts, with an empty one where the beginning or the end is not known.
fn texts(field: &Field) -> Vec<String> {
    let mut texts = vec![String::new()];
    for part in &field.0 {
        match part {
            Part::Text(text) | Part::Glob(text) => {
                if let Some(last) = texts.last_mut() {
                    last.push_str(text);
                }
            }
            Part::Unknown => texts.push(String::new()),
        }
    }
    texts
}

fn union<T: PartialEq>(known: &mut Vec<T>, more: Vec<T>) {
    for one in more {
        if !known.contains(&one) {
            known.push(one);
        }
    }
}

/// Puts two lists of worlds together; too many become one in which less is known.
pub(super) fn merged(mut worlds: Vec<World>, more: Vec<World>) -> Vec<World> {
    more.into_iter().for_each(|world| add(&mut worlds, world));
    if worlds.len() <= MAX_WORLDS {
        return worlds;
    }
    let mut worlds = worlds.into_iter();
    let one = worlds.next().map(|mut one| {
        worlds.for_each(|world| one.join(world));
        one
    });
    one.into_iter().collect()
}

pub(super) fn add(worlds: &mut Vec<World>, world: World) {
    match worlds.iter_mut().find(|known| **known == world) {
        Some(known) => known.unlikely &= world.unlikely,
        None => worlds.push(world),
    }
}

/// The worlds that go on after a list of commands: an unlikely one only where there is no other.
pub(super) fn settled(mut worlds: Vec<World>) -> Vec<World> {
    if worlds.iter().any(|world| !world.unlikely) {
        worlds.retain(|world| !world.unlikely);
    }
    worlds
}
