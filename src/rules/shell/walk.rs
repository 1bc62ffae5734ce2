//! Walking the parsed line as bash would run it.

use std::{
    collections::BTreeSet,
    ops::Range,
    path::{Path, PathBuf},
    rc::Rc,
};

use brush_parser::ast::{
    AndOr, AndOrList, Command, CompoundCommand, CompoundList, ExtendedTestExpr, FunctionBody,
    Pipeline, SourceLocation,
};

use super::{
    Found, Mention, Reading, RuleChange, Surroundings, Target, Unresolved, parse,
    stream::Stream,
    world::{Callable, Field, World},
};

/// How many commands are followed at most, those of loops and branches counted each time.
const BUDGET: usize = 5_000;

/// How many states of the shell are followed side by side.
const MAX_WORLDS: usize = 8;

/// How deeply texts that are commands are opened.
const MAX_DEPTH: usize = 24;

/// How many values of a loop are followed one by one.
const MAX_ROUNDS: usize = 40;

pub(super) struct Walker<'a> {
    pub at: Surroundings<'a>,
    pub out: Reading,
    /// The line, or the text inside it that is being walked.
    text: String,
    /// The bytes of the line that an inner text stands for.
    outer: Option<Range<usize>>,
    /// The bytes of the current command.
    pub span: Range<usize>,
    /// What comes out of the process substitution that the current command was given.
    pub fed: Option<Stream>,
    /// The line looks for invar's own process.
    pub seeks_invar: bool,
    /// How often the line put decoded text into a word, and how often before this command.
    pub decoded: usize,
    pub decoded_before: usize,
    /// Links that the line makes, each with what it leads to.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// Folders that the line makes.
    pub made: BTreeSet<PathBuf>,
    budget: usize,
    depth: usize,
}

/// Reads a whole line.
pub(super) fn walk(line: &str, at: Surroundings<'_>) -> Reading {
    let mut walker = Walker::new(line, at);
    walker.run(line, vec![World::start(&at)], &Stream::default());
    walker.out
}

/// Reads a program text in another language.
pub(super) fn program(language: &str, text: &str, at: Surroundings<'_>) -> Reading {
    let mut walker = Walker::new(text, at);
    walker.program(language, text, &World::start(&at), &Stream::default());
    walker.out
}

impl<'a> Walker<'a> {
    fn new(line: &str, at: Surroundings<'a>) -> Self {
        Self {
            at,
            out: Reading::default(),
            text: line.to_owned(),
            outer: None,
            span: 0..line.len(),
            fed: None,
            seeks_invar: false,
            decoded: 0,
            decoded_before: 0,
            links: Vec::new(),
            made: BTreeSet::new(),
            budget: BUDGET,
            depth: 0,
        }
    }
}

/// The reading of a line that cannot be parsed: anything that looks like a path is mentioned.
pub(super) fn unreadable(line: &str, at: Surroundings<'_>, why: &str) -> Reading {
    let mut out = Reading {
        opaque: true,
        ..Reading::default()
    };
    out.unresolved.push(Unresolved {
        bytes: 0..line.len(),
        why: why.to_owned(),
        hidden: false,
    });
    mention_words(line, at.cwd, &(0..line.len()), &mut out.mentions);
    out
}

/// Everything in a text that could be a path is mentioned.
pub(super) fn mention_words(text: &str, cwd: &Path, bytes: &Range<usize>, out: &mut Vec<Mention>) {
    let apart = |c: char| c.is_whitespace() || "\"'`=<>|&;()[]{},:".contains(c);
    for word in text.split(apart) {
        if looks_like_path(word) {
            let mention = Mention {
                path: cwd.join(word),
                bytes: bytes.clone(),
            };
            if !out.contains(&mention) {
                out.push(mention);
            }
        }
    }
}

/// Whether a text is more likely a path than anything else.
pub(super) fn looks_like_path(text: &str) -> bool {
    const MEDIA: [&str; 8] = [
        "text/",
        "application/",
        "image/",
        "audio/",
        "video/",
        "font/",
        "multipart/",
        "model/",
    ];
    let extension = text.rsplit_once('.').is_some_and(|(stem, ext)| {
        !stem.is_empty()
            && (1..=6).contains(&ext.len())
            && ext.chars().all(|c| c.is_ascii_alphanumeric())
            && ext.chars().any(|c| c.is_ascii_alphabetic())
            && !["com", "org", "net", "io", "dev"].contains(&ext)
    });
    let has_name = text.contains(|c: char| c.is_alphanumeric());
    let odd = text.contains(|c: char| "%\\*?^$@\n\t \"'`;|<>&=,".contains(c));
    has_name
        && !odd
        && !text.contains("://")
        && !text.starts_with('-')
        && !MEDIA.iter().any(|kind| text.starts_with(kind))
        && (text.contains('/') || extension)
}

impl<'a> Walker<'a> {
    /// Walks a program text in each of the worlds; what it prints is returned as well.
    pub(super) fn run(
        &mut self,
        text: &str,
        worlds: Vec<World>,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        if self.depth == MAX_DEPTH || parse::nesting(text) > parse::MAX_NESTING {
            self.unresolved("what it does, since it is nested too deeply");
            return (worlds, Stream::unknown());
        }
        let Some(program) = parse::program(text) else {
            let read = unreadable(
                text,
                self.at,
                "what it does, since it is no shell command that can be parsed",
            );
            self.out.opaque = true;
            let bytes = self.span.clone();
            self.out
                .mentions
                .extend(read.mentions.into_iter().map(|m| Mention {
                    bytes: bytes.clone(),
                    ..m
                }));
            self.unresolved("what it does, since it is no shell command that can be parsed");
            return (worlds, Stream::unknown());
        };
        self.depth += 1;
        let before = (
            std::mem::replace(&mut self.text, text.to_owned()),
            self.outer.clone(),
        );
        if self.depth > 1 {
            self.outer = Some(self.span.clone());
        }
        let mut worlds = worlds;
        let mut printed = Stream::default();
        let single = program.complete_commands.len() == 1;
        for list in &program.complete_commands {
            (worlds, printed) = self.list(list, worlds, stdin);
        }
        if !single {
            printed = Stream::unknown();
        }
        self.depth -= 1;
        (self.text, self.outer) = before;
        (worlds, printed)
    }

    /// Walks a command in other surroundings; what is read there is not noted here.
    pub(super) fn walk_inside(
        &mut self,
        command: &[Field],
        world: World,
        at: Surroundings<'_>,
        stdin: &Stream,
    ) -> Reading {
        if self.depth == MAX_DEPTH {
            self.unresolved("what it does, since it is nested too deeply");
            return Reading::default();
        }
        let mut inner = Walker {
            outer: Some(self.span.clone()),
            span: self.span.clone(),
            budget: self.budget,
            depth: self.depth + 1,
            ..Walker::new(&self.text, at)
        };
        inner.invoke(command, &[], world, stdin);
        self.budget = inner.budget;
        inner.out
    }

    /// Walks a text of which nothing comes back to this shell, such as that of `bash -c`.
    pub(super) fn run_apart(&mut self, text: &str, world: &World, stdin: &Stream) -> Stream {
        self.run(text, vec![world.clone()], stdin).1
    }

    /// What a command substitution becomes.
    pub(super) fn substitute(&mut self, text: &str, world: &World) -> Vec<Field> {
        let span = self.span.clone();
        let printed = self.run_apart(text, world, &Stream::default());
        self.span = span;
        self.decoded += usize::from(printed.decoded);
        match (printed.text, printed.items) {
            (Some(text), _) => vec![Field::text(text.trim_end_matches('\n'))],
            (None, Some(items)) if !items.is_empty() => items,
            _ => vec![Field::unknown()],
        }
    }

    fn place(&mut self, node: &impl SourceLocation) {
        if let Some(outer) = &self.outer {
            self.span = outer.clone();
        } else if let Some(bytes) = parse::node_bytes(&self.text, node) {
            self.span = bytes;
        }
    }

    pub(super) fn found(&mut self, target: Target, how: &str) {
        for behind in self.behind_links(&target) {
            self.note(behind, how);
        }
        self.note(target, how);
    }

    fn note(&mut self, target: Target, how: &str) {
        let found = Found {
            target,
            bytes: self.span.clone(),
            how: how.to_owned(),
        };
        if !self.out.found.contains(&found) {
            self.out.found.push(found);
        }
    }

    /// A file is written.
    pub(super) fn change(&mut self, field: &Field, world: &World, how: &str) {
        let text = field.known();
        let device = text.as_deref().is_some_and(|t| {
            ["/dev/", "/proc/self/fd/"].iter().any(|d| t.starts_with(d))
                && !t.starts_with("/dev/shm/")
        });
        if !device && text.as_deref() != Some("") {
            self.touch(world.target(field, false), how);
        }
    }

    /// A file or folder goes.
    pub(super) fn delete(&mut self, field: &Field, world: &World, how: &str) {
        if !field.is_empty() {
            self.touch(world.target(field, true), how);
        }
    }

    /// Anything below a folder changes.
    pub(super) fn below(&mut self, field: &Field, world: &World, how: &str) {
        match world.target(field, false) {
            Target::Change(path) => self.found(Target::Below(path), how),
            target => self.touch(target, how),
        }
    }

    fn touch(&mut self, target: Target, how: &str) {
        let unknown = matches!(&target, Target::Partial { texts, .. } if is_vague(texts));
        if unknown {
            self.unresolved(&format!("which file `{how}` changes"));
        } else {
            self.found(target, how);
        }
    }

    pub(super) fn unresolved(&mut self, why: &str) {
        self.add_unresolved(why, false);
    }

    /// A text that runs is not known; where the line decodes something, it is hidden.
    pub(super) fn runs_unknown(&mut self, why: &str) {
        match self.decoded > 0 {
            true => self.hidden(&format!("{why}, since it is decoded first")),
            false => self.unresolved(why),
        }
    }

    pub(super) fn hidden(&mut self, why: &str) {
        self.add_unresolved(why, true);
    }

    fn add_unresolved(&mut self, why: &str, hidden: bool) {
        self.out.opaque = true;
        let unresolved = Unresolved {
            bytes: self.span.clone(),
            why: why.to_owned(),
            hidden,
        };
        if !self.out.unresolved.contains(&unresolved) {
            self.out.unresolved.push(unresolved);
        }
    }

    pub(super) fn rule_change(&mut self, what: &str) {
        let change = RuleChange {
            bytes: self.span.clone(),
            what: what.to_owned(),
        };
        if !self.out.rule_changes.contains(&change) {
            self.out.rule_changes.push(change);
        }
    }

    /// Notes the paths that arguments name.
    pub(super) fn mention(&mut self, fields: &[Field], world: &World) {
        for field in fields {
            let Some(text) = field.known() else { continue };
            let text = match text.split_once('=') {
                // `--out=path` and `name=path`
                Some((name, value))
                    if !name.is_empty()
                        && name
                            .chars()
                            .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) =>
                {
                    value.to_owned()
                }
                _ => text,
            };
            let there = !text.starts_with('-')
                && !text.is_empty()
                && world
                    .path(&Field::text(&text))
                    .is_some_and(|path| self.at.disk.exists(&path) && !self.at.disk.is_dir(&path));
            if (looks_like_path(&text) || there)
                && let Some(path) = world.path(&Field::text(&text))
            {
                let mention = Mention {
                    path,
                    bytes: self.span.clone(),
                };
                self.note_mention(mention);
            }
        }
    }

    pub(super) fn note_mention(&mut self, mention: Mention) {
        if !self.out.mentions.contains(&mention) {
            self.out.mentions.push(mention);
        }
    }

    /// Notes everything in a text that could be a path.
    pub(super) fn mention_text(&mut self, text: &str, world: &World) {
        let cwd = world.cwd.known().map(PathBuf::from);
        let cwd = cwd.unwrap_or_else(|| self.at.cwd.to_owned());
        let span = self.span.clone();
        mention_words(text, &cwd, &span, &mut self.out.mentions);
    }

    pub(super) fn list(
        &mut self,
        list: &CompoundList,
        mut worlds: Vec<World>,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        let mut printed = Stream::default();
        for item in &list.0 {
            (worlds, printed) = self.and_or(&item.0, worlds, stdin);
        }
        if list.0.len() > 1 {
            printed = Stream::unknown();
        }
        (worlds, printed)
    }

    fn and_or(
        &mut self,
        list: &AndOrList,
        worlds: Vec<World>,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        // The worlds in which the last part succeeded, and those in which it failed.
        let (mut done, mut failed, mut printed) = self.pipeline(&list.first, worlds, stdin);
        for part in &list.additional {
            let (pipeline, runs, passes) = match part {
                AndOr::And(pipeline) => (pipeline, done, failed),
                AndOr::Or(pipeline) => (pipeline, failed, done),
            };
            let (good, bad, _) = self.pipeline(pipeline, runs, stdin);
            printed = Stream::unknown();
            (done, failed) = match part {
                AndOr::And(_) => (good, merged(bad, passes)),
                AndOr::Or(_) => (merged(good, passes), bad),
            };
        }
        (merged(done, failed), printed)
    }

    /// The worlds after success, those after failure, and what is printed.
    fn pipeline(
        &mut self,
        pipeline: &Pipeline,
        worlds: Vec<World>,
        stdin: &Stream,
    ) -> (Vec<World>, Vec<World>, Stream) {
        let (good, bad, printed) = match pipeline.seq.as_slice() {
            [one] => self.each(one, worlds, stdin),
            parts => {
                // Each part of a pipe runs in a shell of its own.
                let mut stream = stdin.clone();
                for part in parts {
                    let (_, _, printed) = self.each(part, worlds.clone(), &stream);
                    stream = printed;
                    stream.piped = true;
                }
                (worlds.clone(), worlds, stream)
            }
        };
        match pipeline.bang {
            true => (bad, good, printed),
            false => (good, bad, printed),
        }
    }

    /// One command in each world. A command that only reads may fail; the world is the same.
    fn each(
        &mut self,
        command: &Command,
        worlds: Vec<World>,
        stdin: &Stream,
    ) -> (Vec<World>, Vec<World>, Stream) {
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        let mut printed: Option<Stream> = None;
        for world in worlds {
            let before = world.clone();
            let (after, stream) = self.command(command, world, stdin);
            printed = Some(match printed {
                None => stream,
                Some(before) if before.text == stream.text && before.items == stream.items => {
                    stream
                }
                Some(before) => Stream {
                    decoded: before.decoded || stream.decoded,
                    ..Stream::unknown()
                },
            });
            let sure = surely_succeeds(command, &after, self);
            for world in &after {
                add(&mut good, world.clone());
            }
            if !sure {
                // A command that failed did nothing to the shell, or all it would have done.
                add(&mut bad, before);
                if !matches!(command, Command::Simple(_)) {
                    after.into_iter().for_each(|world| add(&mut bad, world));
                }
            }
        }
        (good, bad, printed.unwrap_or_default())
    }

    fn command(
        &mut self,
        command: &Command,
        mut world: World,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        if self.budget == 0 {
            self.unresolved("what it does, since it has too many commands to follow");
            return (vec![world], Stream::unknown());
        }
        self.budget -= 1;
        self.place(command);
        match command {
            Command::Simple(simple) => self.simple(simple, world, stdin),
            Command::Compound(compound, redirects) => {
                let mut stdin = stdin.clone();
                let mut printed_to_file = false;
                if let Some(redirects) = redirects {
                    for redirect in &redirects.0 {
                        printed_to_file |= self.redirect(redirect, &mut world, &mut stdin);
                    }
                }
                let (worlds, printed) = self.compound(compound, world, &stdin);
                match printed_to_file {
                    true => (worlds, Stream::default()),
                    false => (worlds, printed),
                }
            }
            Command::Function(function) => {
                let body = Callable::Function(Box::new(function.body.clone()));
                world
                    .functions
                    .insert(function.fname.value.clone(), Rc::new(body));
                (vec![world], Stream::default())
            }
            Command::ExtendedTest(test, redirects) => {
                let mut stdin = stdin.clone();
                if let Some(redirects) = redirects {
                    for redirect in &redirects.0 {
                        self.redirect(redirect, &mut world, &mut stdin);
                    }
                }
                self.test(&test.expr, &mut world);
                (vec![world], Stream::default())
            }
        }
    }

    /// Words of a test may hold substitutions.
    fn test(&mut self, expr: &ExtendedTestExpr, world: &mut World) {
        match expr {
            ExtendedTestExpr::And(a, b) | ExtendedTestExpr::Or(a, b) => {
                self.test(a, world);
                self.test(b, world);
            }
            ExtendedTestExpr::Not(a) | ExtendedTestExpr::Parenthesized(a) => self.test(a, world),
            ExtendedTestExpr::UnaryTest(_, a) => {
                self.expand_one(&a.value, world);
            }
            ExtendedTestExpr::BinaryTest(_, a, b) => {
                self.expand_one(&a.value, world);
                self.expand_one(&b.value, world);
            }
        }
    }

    fn compound(
        &mut self,
        compound: &CompoundCommand,
        mut world: World,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => {
                self.arithmetic(&arithmetic.expr.value, &mut world);
                (vec![world], Stream::default())
            }
            CompoundCommand::ArithmeticForClause(clause) => {
                for expr in [&clause.initializer, &clause.condition, &clause.updater]
                    .into_iter()
                    .flatten()
                {
                    self.arithmetic(&format!("{}=", expr.value), &mut world);
                }
                (
                    self.rounds(&clause.body.list, vec![world], stdin),
                    Stream::unknown(),
                )
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list, vec![world], stdin),
            CompoundCommand::Subshell(shell) => {
                let (_, printed) = self.list(&shell.list, vec![world.clone()], stdin);
                (vec![world], printed)
            }
            CompoundCommand::ForClause(clause) => {
                let values = match &clause.values {
                    Some(words) => {
                        let words: Vec<_> = words.iter().map(|w| w.value.clone()).collect();
                        words
                            .iter()
                            .flat_map(|w| self.expand(w, &mut world))
                            .collect()
                    }
                    None => world.positional.clone().unwrap_or(vec![Field::unknown()]),
                };
                let mut values: Vec<Field> = values;
                if values.len() > MAX_ROUNDS {
                    values = vec![common(&values)];
                }
                let mut worlds = vec![world];
                for value in values {
                    for world in &mut worlds {
                        world.set(&clause.variable_name, vec![value.clone()]);
                    }
                    let (after, _) = self.list(&clause.body.list, worlds.clone(), stdin);
                    worlds = merged(after, worlds);
                }
                (worlds, Stream::unknown())
            }
            CompoundCommand::CaseClause(clause) => {
                self.expand_one(&clause.value.value, &mut world);
                let mut worlds = vec![world];
                let before = worlds.clone();
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.expand_one(&pattern.value, &mut worlds[0]);
                    }
                    if let Some(list) = &case.cmd {
                        let (after, _) = self.list(list, before.clone(), stdin);
                        worlds = merged(worlds, after);
                    }
                }
                (worlds, Stream::unknown())
            }
            CompoundCommand::IfClause(clause) => {
                let (mut left, _) = self.list(&clause.condition, vec![world], stdin);
                let (mut worlds, _) = self.list(&clause.then, left.clone(), stdin);
                let mut otherwise = false;
                for part in clause.elses.iter().flatten() {
                    match &part.condition {
                        Some(condition) => left = self.list(condition, left, stdin).0,
                        None => otherwise = true,
                    }
                    let (after, _) = self.list(&part.body, left.clone(), stdin);
                    worlds = merged(worlds, after);
                }
                if !otherwise {
                    worlds = merged(worlds, left);
                }
                (worlds, Stream::unknown())
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                let mut worlds = vec![world];
                for _ in 0..2 {
                    let (tested, _) = self.list(&clause.0, worlds.clone(), stdin);
                    let (after, _) = self.list(&clause.1.list, tested.clone(), stdin);
                    worlds = merged(tested, after);
                }
                (worlds, Stream::unknown())
            }
            CompoundCommand::Coprocess(coprocess) => {
                self.command(&coprocess.body, world.clone(), &Stream::unknown());
                (vec![world], Stream::default())
            }
        }
    }

    /// A body that runs any number of times: what the first round sets, the second one sees.
    fn rounds(
        &mut self,
        list: &CompoundList,
        mut worlds: Vec<World>,
        stdin: &Stream,
    ) -> Vec<World> {
        for _ in 0..2 {
            let (after, _) = self.list(list, worlds.clone(), stdin);
            worlds = merged(worlds, after);
        }
        worlds
    }

    /// A function of the line, called.
    pub(super) fn call(
        &mut self,
        body: &FunctionBody,
        mut world: World,
        args: &[Field],
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        if self.depth == MAX_DEPTH {
            self.unresolved("what it does, since it is nested too deeply");
            return (vec![world], Stream::unknown());
        }
        self.depth += 1;
        let before = world.positional.replace(args.to_vec());
        let mut stdin = stdin.clone();
        if let Some(redirects) = &body.1 {
            for redirect in &redirects.0 {
                self.redirect(redirect, &mut world, &mut stdin);
            }
        }
        let span = self.span.clone();
        let (mut worlds, printed) = self.compound(&body.0, world, &stdin);
        self.span = span;
        self.depth -= 1;
        for world in &mut worlds {
            world.positional = before.clone();
        }
        (worlds, printed)
    }
}

/// A path of which too little is known to say where it lies.
fn is_vague(texts: &[String]) -> bool {
    let start = texts.first().map_or("", String::as_str);
    let end = texts.last().map_or("", String::as_str);
    start.is_empty() && end.trim_matches('/').is_empty()
}

/// Puts two lists of worlds together; too many become one in which less is known.
fn merged(mut worlds: Vec<World>, more: Vec<World>) -> Vec<World> {
    more.into_iter().for_each(|world| add(&mut worlds, world));
    if worlds.len() <= MAX_WORLDS {
        return worlds;
    }
    let mut worlds = worlds.into_iter();
    let Some(mut one) = worlds.next() else {
        return Vec::new();
    };
    for world in worlds {
        if world.cwd != one.cwd {
            one.cwd = Field::unknown();
        }
        for (name, value) in world.vars {
            let same = one.vars.get(&name) == Some(&value);
            if !same {
                one.vars.insert(name, vec![Field::unknown()]);
            }
        }
        one.functions.extend(world.functions);
        if one.positional != world.positional {
            one.positional = None;
        }
    }
    vec![one]
}

fn add(worlds: &mut Vec<World>, world: World) {
    if !worlds.contains(&world) {
        worlds.push(world);
    }
}

/// What many values have in common: their beginning.
fn common(values: &[Field]) -> Field {
    let starts: Vec<String> = values.iter().map(Field::start).collect();
    let first = starts.first().cloned().unwrap_or_default();
    let len = starts.iter().fold(first.len(), |len, other| {
        let same = first.bytes().zip(other.bytes()).take_while(|(a, b)| a == b);
        len.min(same.count())
    });
    let cut = (0..=len).rev().find(|cut| first.is_char_boundary(*cut));
    Field::text(&first[..cut.unwrap_or(0)]).join(Field::unknown())
}

/// Whether a command cannot fail, so that what follows it with `;` needs no second look. Only
/// `cd` into a folder that is there matters, and what never changes the shell.
fn surely_succeeds(command: &Command, after: &[World], walker: &Walker<'_>) -> bool {
    let Command::Simple(simple) = command else {
        return false;
    };
    let Some(name) = &simple.word_or_name else {
        return true;
    };
    match name.value.as_str() {
        "cd" | "pushd" | "popd" => after.iter().all(|world| {
            let path = world.cwd.known().map(PathBuf::from);
            path.is_some_and(|p| walker.at.disk.is_dir(&p) || walker.made.contains(&p))
        }),
        "export" | "declare" | "local" | "readonly" | "set" | "unset" | "shopt" => true,
        _ => false,
    }
}
