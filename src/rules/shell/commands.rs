//! Simple commands: their words, assignments and redirections.

use std::collections::BTreeMap;

use brush_parser::ast::{
    Assignment, AssignmentName, AssignmentValue, CommandPrefixOrSuffixItem as Item,
    IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, SimpleCommand, SubshellCommand,
};

use super::{
    stream::Stream,
    walk::Walker,
    world::{Field, World},
};

/// Variables that hold a command which a program runs.
const RUNS_AS_COMMAND: [&str; 10] = [
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH_COMMAND",
    "PROMPT_COMMAND",
];

impl Walker<'_> {
    pub(super) fn simple(
        &mut self,
        command: &SimpleCommand,
        mut world: World,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        let span = self.span.clone();
        self.decoded_before = self.decoded;
        let mut stdin = stdin.clone();
        let mut printed_to_file = false;
        let mut fields = Vec::new();
        let mut assigned: BTreeMap<String, Vec<Field>> = BTreeMap::new();
        let prefix = command.prefix.iter().flat_map(|p| &p.0);
        let suffix = command.suffix.iter().flat_map(|s| &s.0);
        for item in prefix {
            match item {
                Item::AssignmentWord(assignment, _) => {
                    let (name, value) = self.assignment(assignment, &mut world);
                    assigned.insert(name, value);
                }
                Item::IoRedirect(redirect) => {
                    printed_to_file |= self.redirect(redirect, &mut world, &mut stdin);
                }
                Item::Word(word) => fields.extend(self.expand(&word.value, &mut world)),
                Item::ProcessSubstitution(_, shell) => {
                    self.process(shell, &world);
                }
            }
        }
        if let Some(name) = &command.word_or_name {
            fields.extend(self.expand(&name.value, &mut world));
        }
        let mut declared = Vec::new();
        let mut fed = None;
        for item in suffix {
            match item {
                Item::AssignmentWord(assignment, word) => {
                    declared.push(self.assignment(assignment, &mut world));
                    fields.extend(self.expand(&word.value, &mut world));
                }
                Item::IoRedirect(redirect) => {
                    printed_to_file |= self.redirect(redirect, &mut world, &mut stdin);
                }
                Item::Word(word) => fields.extend(self.expand(&word.value, &mut world)),
                Item::ProcessSubstitution(_, shell) => {
                    fed = Some(self.process(shell, &world));
                    fields.push(Field::text("/dev/fd/63"));
                }
            }
        }
        self.span = span;
        let parts: usize = fields.iter().map(|field| 40 + field.len()).sum();
        if !self.charge(parts) {
            return (vec![world], Stream::unknown());
        }
        for (name, value) in &assigned {
            self.check_variable(name);
            if RUNS_AS_COMMAND.contains(&name.as_str())
                && let Some(text) = value.first().and_then(Field::known)
            {
                self.run_apart(&text, &world, &Stream::unknown());
            }
        }
        if fields.is_empty() {
            for (name, value) in assigned {
                world.set(&name, value);
            }
            return (vec![world], Stream::default());
        }
        // Assignments before a command are for it alone.
        let mut inner = world.clone();
        for (name, value) in &assigned {
            inner.set(name, value.clone());
        }
        self.fed = fed;
        let (mut worlds, printed) = self.invoke(&fields, &declared, inner, &stdin);
        self.fed = None;
        for world_after in &mut worlds {
            for name in assigned.keys() {
                match world.vars.get(name) {
                    Some(value) => world_after.set(name, value.clone()),
                    None => {
                        world_after.vars.remove(name);
                    }
                }
            }
        }
        match printed_to_file {
            true => (worlds, Stream::default()),
            false => (worlds, printed),
        }
    }

    fn process(&mut self, shell: &SubshellCommand, world: &World) -> Stream {
        let span = self.span.clone();
        let (_, printed) = self.list(&shell.list, vec![world.clone()], &Stream::unknown());
        self.span = span;
        printed
    }

    fn assignment(&mut self, assignment: &Assignment, world: &mut World) -> (String, Vec<Field>) {
        let mut value = match &assignment.value {
            AssignmentValue::Scalar(word) => vec![self.expand_one(&word.value, world)],
            AssignmentValue::Array(items) => {
                let words: Vec<_> = items.iter().map(|(_, word)| word.value.clone()).collect();
                words.iter().flat_map(|w| self.expand(w, world)).collect()
            }
        };
        let name = match &assignment.name {
            AssignmentName::VariableName(name) => name.clone(),
            AssignmentName::ArrayElementName(name, _) => {
                let mut all = world.vars.get(name).cloned().unwrap_or_default();
                all.append(&mut value);
                return (name.clone(), all);
            }
        };
        if assignment.append {
            let before = world.vars.get(&name).cloned().unwrap_or_default();
            value = match (&assignment.value, before.first()) {
                (AssignmentValue::Array(_), _) => before.into_iter().chain(value).collect(),
                (_, Some(first)) => {
                    let more = value.pop().unwrap_or_default();
                    vec![first.clone().join(more)]
                }
                (_, None) => value,
            };
        }
        (name, value)
    }

    /// Notes what a redirection writes; whether it takes the command's output.
    pub(super) fn redirect(
        &mut self,
        redirect: &IoRedirect,
        world: &mut World,
        stdin: &mut Stream,
    ) -> bool {
        match redirect {
            IoRedirect::File(fd, kind, target) => {
                use IoFileRedirectKind as K;
                let writes = !matches!(kind, K::Read | K::DuplicateInput);
                let how = kind.to_string();
                match target {
                    IoFileRedirectTarget::Filename(word) => {
                        for field in self.expand(&word.value, world) {
                            match writes {
                                true => self.change(&field, world, &how),
                                false => *stdin = Stream::unknown(),
                            }
                            if !writes {
                                self.mention(&[field], world);
                            }
                        }
                    }
                    IoFileRedirectTarget::Duplicate(word) => {
                        for field in self.expand(&word.value, world) {
                            let text = field.known().unwrap_or_default();
                            let is_fd = text
                                .trim_end_matches('-')
                                .chars()
                                .all(|c| c.is_ascii_digit());
                            if writes && !is_fd {
                                self.change(&field, world, &how);
                            }
                        }
                    }
                    IoFileRedirectTarget::ProcessSubstitution(_, shell) => {
                        let printed = self.process(shell, world);
                        if !writes {
                            *stdin = Stream {
                                piped: true,
                                ..printed
                            };
                        }
                    }
                    IoFileRedirectTarget::Fd(_) => return false,
                }
                writes && fd.is_none_or(|fd| fd == 1)
            }
            IoRedirect::OutputAndError(word, append) => {
                for field in self.expand(&word.value, world) {
                    self.change(&field, world, if *append { "&>>" } else { "&>" });
                }
                true
            }
            IoRedirect::HereDocument(_, document) => {
                let text = match document.requires_expansion {
                    true => self.expand_heredoc(&document.doc.value, world).known(),
                    false => Some(document.doc.value.clone()),
                };
                let text = text.unwrap_or_else(|| document.doc.value.clone());
                let text = match document.remove_tabs {
                    true => {
                        let lines = text.split_inclusive('\n');
                        lines.map(|l| l.trim_start_matches('\t')).collect()
                    }
                    false => text,
                };
                *stdin = Stream::of_text(text);
                false
            }
            IoRedirect::HereString(_, word) => {
                *stdin = match self.expand_one(&word.value, world).known() {
                    Some(text) => Stream::of_text(text),
                    None => Stream::unknown(),
                };
                false
            }
        }
    }
}
