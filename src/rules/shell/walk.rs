//! Walking the parsed line as bash would run it.

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
    path::PathBuf,
    rc::Rc,
};

use brush_parser::ast::{
    AndOr, AndOrList, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList,
    CompoundListItem, ExtendedTestExpr, FunctionBody, Pipeline, SeparatorOperator, SourceLocation,
};

use super::{
    Found, Mention, Reading, Surroundings,
    bounds::{COMMAND, MAX_LEVEL, TOO_DEEP, TOO_MUCH, WORK},
    parse::{self, Unparsed},
    stream::Stream,
    world::{Callable, Field, World, add, merged, settled},
};

/// How deeply texts that are commands are opened.
const MAX_DEPTH: usize = 24;

/// How many values of a loop are followed one by one.
const MAX_ROUNDS: usize = 40;

pub(super) struct Walker<'a> {
    pub at: Surroundings<'a>,
    pub out: Reading,
    /// All of the line, and where its characters begin when not all of it is ASCII.
    pub line: Rc<str>,
    starts: Option<Vec<usize>>,
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
    /// The line may have taken builtins away from the shell.
    pub restricted: bool,
    /// The states of the shell for which its traps have been read.
    pub sprung: Vec<World>,
    pub springing: bool,
    /// Links that the line makes, each with what it leads to.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// Folders that the line makes.
    pub made: BTreeSet<PathBuf>,
    /// The work that is left, and that it was not enough.
    pub work: usize,
    pub spent: bool,
    /// All that the line names has been noted.
    pub named_all: bool,
    /// What has been noted, to be found again at once.
    pub noted: HashSet<Found>,
    pub mentioned: HashSet<Mention>,
    /// How many disk look-ups there were for mere arguments.
    pub looked_for: usize,
    pub level: usize,
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
            line: line.into(),
            starts: None,
            outer: None,
            span: 0..line.len(),
            fed: None,
            seeks_invar: false,
            decoded: 0,
            decoded_before: 0,
            links: Vec::new(),
            made: BTreeSet::new(),
            restricted: false,
            sprung: Vec::new(),
            springing: false,
            work: WORK,
            spent: false,
            named_all: false,
            noted: HashSet::new(),
            mentioned: HashSet::new(),
            looked_for: 0,
            level: 0,
            depth: 0,
        }
    }
}

impl<'a> Walker<'a> {
    /// Walks a program text in each of the worlds; what it prints is returned as well.
    pub(super) fn run(
        &mut self,
        text: &str,
        worlds: Vec<World>,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        if !self.charge(3 * text.len() + COMMAND) {
            return (worlds, Stream::unknown());
        }
        let program = match self.depth {
            MAX_DEPTH => Err(Unparsed::TooDeep),
            _ => parse::program(text),
        };
        let program = match program {
            Ok(program) => program,
            Err(why) => {
                self.unparsed(text, why, &worlds);
                return (worlds, Stream::unknown());
            }
        };
        self.depth += 1;
        let outer = self.outer.clone();
        match self.depth {
            1 => self.starts = parse::starts(text),
            _ => self.outer = Some(self.span.clone()),
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
        self.outer = outer;
        (worlds, printed)
    }

    /// A text that runs and that there is no tree of.
    fn unparsed(&mut self, text: &str, why: Unparsed, worlds: &[World]) {
        for world in worlds {
            self.mention_text(text, world);
        }
        match why {
            Unparsed::Wrong => {
                self.unresolved("what it does, since it is no shell command that can be parsed");
            }
            Unparsed::TooDeep => self.not_followed(TOO_DEEP),
            Unparsed::TooMuch => self.not_followed(TOO_MUCH),
        }
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
            self.not_followed(TOO_DEEP);
            return Reading::default();
        }
        let mut inner = Walker {
            outer: Some(self.span.clone()),
            span: self.span.clone(),
            work: self.work,
            depth: self.depth + 1,
            level: self.level,
            ..Walker::new(&self.line, at)
        };
        inner.invoke(command, &[], world, stdin);
        self.work = inner.work;
        if inner.spent {
            self.give_up(TOO_MUCH);
        }
        inner.out
    }

    /// Walks a text of which nothing comes back to this shell, such as that of `bash -c`.
    pub(super) fn run_apart(&mut self, text: &str, world: &World, stdin: &Stream) -> Stream {
        self.run(text, vec![world.below_this()], stdin).1
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
        } else if let Some(bytes) = parse::node_bytes(self.line.len(), self.starts.as_deref(), node)
        {
            self.span = bytes;
        }
    }

    pub(super) fn list(
        &mut self,
        list: &CompoundList,
        mut worlds: Vec<World>,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        let mut printed = Stream::default();
        for item in &list.0 {
            if self.spent {
                break;
            }
            (worlds, printed) = self.item(item, worlds, stdin);
        }
        if list.0.len() > 1 {
            printed = Stream::unknown();
        }
        (worlds, printed)
    }

    fn item(
        &mut self,
        item: &CompoundListItem,
        worlds: Vec<World>,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        match item.1 {
            SeparatorOperator::Sequence => self.and_or(&item.0, worlds, stdin),
            // A shell of its own, in the background.
            SeparatorOperator::Async => {
                let inner = worlds.iter().map(World::below_this).collect();
                let (_, printed) = self.and_or(&item.0, inner, stdin);
                (worlds, printed)
            }
        }
    }

    fn and_or(
        &mut self,
        list: &AndOrList,
        worlds: Vec<World>,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        let (done, failed, printed) = self.branches(list, worlds, stdin);
        (settled(merged(done, failed)), printed)
    }

    /// The worlds in which the last part succeeded, those in which it failed, and what is printed.
    fn branches(
        &mut self,
        list: &AndOrList,
        worlds: Vec<World>,
        stdin: &Stream,
    ) -> (Vec<World>, Vec<World>, Stream) {
        let (mut done, mut failed, mut printed) = self.pipeline(&list.first, worlds, stdin);
        for part in &list.additional {
            if self.spent {
                break;
            }
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
        (done, failed, printed)
    }

    /// A condition: the worlds in which it holds, and those in which it does not.
    fn tested(
        &mut self,
        list: &CompoundList,
        mut worlds: Vec<World>,
        stdin: &Stream,
    ) -> (Vec<World>, Vec<World>) {
        let Some((last, before)) = list.0.split_last() else {
            return (worlds.clone(), worlds);
        };
        for item in before {
            worlds = self.item(item, worlds, stdin).0;
        }
        let (good, bad, _) = self.branches(&last.0, worlds, stdin);
        (good, bad)
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
            self.spring(&world);
            let before = world.clone();
            let (mut after, stream) = self.command(command, world, stdin);
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
            let likely = likely_succeeds(command, &before, &after, self);
            for world in &mut after {
                // It took a way of its own, on which more may follow.
                world.unlikely = before.unlikely && *world == before;
                self.spring(world);
            }
            // A command that failed did nothing to the shell, or all it would have done.
            let moves = matches!(command, Command::Simple(simple) if simple
                .word_or_name
                .as_ref()
                .is_some_and(|name| ["cd", "pushd", "popd"].contains(&name.value.as_str())));
            let halfway = after.iter().filter(|_| !moves).cloned();
            for world in std::iter::once(before).chain(halfway) {
                let unlikely = world.unlikely || likely;
                add(&mut bad, World { unlikely, ..world });
            }
            after.into_iter().for_each(|world| add(&mut good, world));
        }
        (good, bad, printed.unwrap_or_default())
    }

    fn command(&mut self, command: &Command, world: World, stdin: &Stream) -> (Vec<World>, Stream) {
        if !self.charge(COMMAND + world.weight()) {
            return (vec![world], Stream::unknown());
        }
        if self.level == MAX_LEVEL {
            self.not_followed(TOO_DEEP);
            return (vec![world], Stream::unknown());
        }
        self.level += 1;
        let after = self.command_here(command, world, stdin);
        self.level -= 1;
        after
    }

    fn command_here(
        &mut self,
        command: &Command,
        mut world: World,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
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
                let body = Callable::function(&function.body);
                world.define(&function.fname.value, body);
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
                let (_, printed) = self.list(&shell.list, vec![world.below_this()], stdin);
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
                let (good, mut left) = self.tested(&clause.condition, vec![world], stdin);
                let (mut worlds, _) = self.list(&clause.then, good, stdin);
                let mut otherwise = false;
                for part in clause.elses.iter().flatten() {
                    let runs = match &part.condition {
                        Some(condition) => {
                            let (good, bad) = self.tested(condition, left, stdin);
                            left = bad;
                            good
                        }
                        None => {
                            otherwise = true;
                            left.clone()
                        }
                    };
                    let (after, _) = self.list(&part.body, runs, stdin);
                    worlds = merged(worlds, after);
                }
                if !otherwise {
                    worlds = merged(worlds, left);
                }
                (worlds, Stream::unknown())
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                let until = matches!(compound, CompoundCommand::UntilClause(_));
                let (mut worlds, mut ended) = (vec![world], Vec::new());
                for _ in 0..2 {
                    let (good, bad) = self.tested(&clause.0, worlds, stdin);
                    let (runs, ends) = match until {
                        true => (bad, good),
                        false => (good, bad),
                    };
                    ended = merged(ended, ends);
                    worlds = self.list(&clause.1.list, runs, stdin).0;
                }
                (settled(merged(ended, worlds)), Stream::unknown())
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
            self.not_followed(TOO_DEEP);
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

/// Whether a command as good as never fails, so that what follows it with `;` needs no second
/// look. What is done when it fails is read all the same.
fn likely_succeeds(
    command: &Command,
    before: &World,
    after: &[World],
    walker: &Walker<'_>,
) -> bool {
    let simple = match command {
        Command::Simple(simple) => simple,
        Command::Function(_) => return !walker.restricted,
        _ => return false,
    };
    let items = || {
        let prefix = simple.prefix.iter().flat_map(|p| &p.0);
        prefix.chain(simple.suffix.iter().flat_map(|s| &s.0))
    };
    // A file that cannot be opened fails any command.
    if items().any(|item| matches!(item, Item::IoRedirect(_))) || walker.restricted {
        return false;
    }
    let Some(name) = &simple.word_or_name else {
        return true;
    };
    if before.functions.contains_key(&name.value) {
        return false;
    }
    match name.value.as_str() {
        ":" | "true" => true,
        // Into a folder that is there. More words than one are an error.
        "cd" | "pushd" | "popd" => {
            items().count() <= 1
                && after.iter().all(|world| {
                    let path = world.cwd.known().map(PathBuf::from);
                    path.is_some_and(|p| walker.at.disk.is_dir(&p) || walker.made.contains(&p))
                })
        }
        "export" | "declare" | "local" | "readonly" | "set" | "unset" | "shopt" | "trap" => true,
        _ => false,
    }
}
