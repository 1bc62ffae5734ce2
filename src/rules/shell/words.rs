//! Expanding words: quotes, tildes, variables, substitutions, braces, patterns.

use std::path::{Path, PathBuf};

use brush_parser::word::{
    self, BraceExpressionMember, BraceExpressionOrText, Parameter, ParameterExpr, SpecialParameter,
    TildeExpr, WordPiece, WordPieceWithSource,
};
use regex::Regex;

use super::{
    parse::options,
    walk::Walker,
    world::{Field, Part, World},
};

/// The most words that one word may become.
const MAX_WORDS: usize = 64;

/// What a word costs, and spelling a pattern out to files.
const WORD: usize = 100;
const PATTERN: usize = 10_000;

/// The longest text that is trimmed by a pattern, which is tried at each place of it.
const MAX_TRIMMED: usize = 1_024;

/// The most files that a pattern is spelled out to.
const MAX_FILES: usize = 500;

/// A word while it is put together.
#[derive(Default)]
struct Draft {
    done: Vec<Field>,
    current: Field,
    /// Something was there, if only an empty quote.
    open: bool,
    /// What parts an unquoted value, when the line says so.
    ifs: Option<String>,
}

impl Draft {
    fn push(&mut self, part: Part) {
        self.open = true;
        self.current.push(part);
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            self.done.push(std::mem::take(&mut self.current));
        }
    }

    /// An unquoted value: split at white space or what `IFS` holds, patterns in it count.
    fn split(&mut self, value: &Field) {
        let ifs = self.ifs.clone();
        let apart = |c: char| {
            ifs.as_ref()
                .map_or(c.is_whitespace(), |ifs| ifs.contains(c))
        };
        for part in &value.0 {
            let (Part::Text(text) | Part::Glob(text)) = part else {
                self.push(Part::Unknown);
                continue;
            };
            if text.starts_with(apart) {
                self.close();
            }
            let mut words = text.split(apart).filter(|w| !w.is_empty()).peekable();
            while let Some(word) = words.next() {
                self.push(literal_or_pattern(word));
                if words.peek().is_some() {
                    self.close();
                }
            }
            if text.ends_with(apart) {
                self.close();
            }
        }
    }
}

fn literal_or_pattern(text: &str) -> Part {
    let extended = ["@(", "!(", "+("].iter().any(|sign| text.contains(sign));
    // A lone bracket, as in the command `[`, is no class.
    let class = text
        .find('[')
        .is_some_and(|at| text[at + 1..].contains(']'));
    match text.contains(['*', '?']) || class || extended {
        true => Part::Glob(text.to_owned()),
        false => Part::Text(text.to_owned()),
    }
}

impl Walker<'_> {
    /// All arguments that a word becomes.
    pub(super) fn expand(&mut self, text: &str, world: &mut World) -> Vec<Field> {
        let mut fields = Vec::new();
        for text in braces(text) {
            if !self.charge(WORD + 2 * text.len()) {
                fields.push(Field::unknown());
                break;
            }
            let Ok(pieces) = word::parse(&text, &options()) else {
                fields.push(Field::unknown());
                continue;
            };
            let mut draft = Draft {
                ifs: world.vars.get("IFS").and_then(|v| v.first()?.known()),
                ..Draft::default()
            };
            self.pieces(&pieces, false, world, &mut draft);
            draft.close();
            for field in draft.done {
                self.spell_out(field, world, &mut fields);
            }
        }
        fields
    }

    /// The one value that a word becomes where no splitting happens.
    pub(super) fn expand_one(&mut self, text: &str, world: &mut World) -> Field {
        if !self.charge(WORD + 2 * text.len()) {
            return Field::unknown();
        }
        match word::parse(text, &options()) {
            Ok(pieces) => {
                let mut draft = Draft::default();
                self.pieces(&pieces, true, world, &mut draft);
                draft.current
            }
            Err(_) => Field::unknown(),
        }
    }

    /// The text of a heredoc.
    pub(super) fn expand_heredoc(&mut self, text: &str, world: &mut World) -> Field {
        match word::parse_heredoc(text, &options()) {
            Ok(pieces) => {
                let mut draft = Draft::default();
                self.pieces(&pieces, true, world, &mut draft);
                draft.current
            }
            Err(_) => Field::unknown(),
        }
    }

    fn pieces(
        &mut self,
        pieces: &[WordPieceWithSource],
        quoted: bool,
        world: &mut World,
        draft: &mut Draft,
    ) {
        for piece in pieces {
            match &piece.piece {
                WordPiece::Text(text) if quoted => draft.push(Part::Text(text.clone())),
                WordPiece::Text(text) => draft.push(literal_or_pattern(text)),
                WordPiece::SingleQuotedText(text) => draft.push(Part::Text(text.clone())),
                WordPiece::AnsiCQuotedText(text) => draft.push(Part::Text(ansi_c(text))),
                WordPiece::EscapeSequence(text) => {
                    let text = text.strip_prefix('\\').unwrap_or(text);
                    // A backslash before a line's end takes both away.
                    if text != "\n" {
                        draft.push(Part::Text(text.to_owned()));
                    }
                }
                WordPiece::DoubleQuotedSequence(inner)
                | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    draft.open = true;
                    self.pieces(inner, true, world, draft);
                }
                WordPiece::TildeExpansion(tilde) => {
                    let value = self.tilde(tilde, world);
                    value.0.into_iter().for_each(|part| draft.push(part));
                }
                WordPiece::ParameterExpansion(expr) => {
                    let values = self.parameter(expr, world);
                    put(values, quoted, draft);
                }
                WordPiece::CommandSubstitution(text)
                | WordPiece::BackquotedCommandSubstitution(text) => {
                    let text = match &piece.piece {
                        WordPiece::BackquotedCommandSubstitution(text) => {
                            text.replace("\\`", "`").replace("\\\\", "\\")
                        }
                        _ => text.clone(),
                    };
                    let value = self.substitute(&text, world);
                    put(value, quoted, draft);
                }
                WordPiece::ArithmeticExpression(expr) => {
                    self.arithmetic(&expr.value, world);
                    draft.push(Part::Unknown);
                }
            }
        }
    }

    /// Substitutions in arithmetic run as well, and assignments in it count.
    pub(super) fn arithmetic(&mut self, text: &str, world: &mut World) {
        if text.contains("$(") || text.contains('`') {
            self.expand_one(text, world);
        }
        let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        if text.contains('=') || text.contains("++") || text.contains("--") {
            for name in names.filter(|n| n.starts_with(|c: char| !c.is_ascii_digit())) {
                if world.vars.contains_key(name) {
                    world.set(name, vec![Field::unknown()]);
                }
            }
        }
    }

    fn tilde(&self, tilde: &TildeExpr, world: &World) -> Field {
        let var = |name: &str| {
            let value = world.vars.get(name).and_then(|v| v.first());
            value.cloned().unwrap_or_else(Field::unknown)
        };
        match tilde {
            TildeExpr::Home => var("HOME"),
            TildeExpr::WorkingDir => world.cwd.clone(),
            TildeExpr::OldWorkingDir => var("OLDPWD"),
            TildeExpr::UserHome(user) => {
                let own = self.at.home.and_then(Path::file_name);
                match own.is_some_and(|name| name.to_str() == Some(user)) {
                    true => var("HOME"),
                    false if user == "root" => Field::text("/root"),
                    false => Field::text(format!("/home/{user}")),
                }
            }
            TildeExpr::NthDirFromTopOfDirStack { .. }
            | TildeExpr::NthDirFromBottomOfDirStack { .. } => Field::unknown(),
        }
    }

    fn value_of(&self, parameter: &Parameter, world: &World) -> Option<Vec<Field>> {
        match parameter {
            Parameter::Named(name) => world.vars.get(name).map(|v| v[..v.len().min(1)].to_vec()),
            Parameter::NamedWithAllIndices { name, .. } => world.vars.get(name).cloned(),
            Parameter::NamedWithIndex { name, index } => {
                let index: usize = index.parse().ok()?;
                world.vars.get(name)?.get(index).map(|f| vec![f.clone()])
            }
            Parameter::Positional(n) => {
                let all = world.positional.as_ref()?;
                let index = usize::try_from(*n).ok()?.checked_sub(1)?;
                Some(all.get(index).cloned().into_iter().collect())
            }
            Parameter::Special(SpecialParameter::AllPositionalParameters { .. }) => {
                world.positional.clone()
            }
            Parameter::Special(_) => None,
        }
    }

    fn parameter(&mut self, expr: &ParameterExpr, world: &mut World) -> Vec<Field> {
        use ParameterExpr as E;
        let unknown = || vec![Field::unknown()];
        match expr {
            E::Parameter {
                parameter,
                indirect: false,
            } => self.value_of(parameter, world).unwrap_or_else(unknown),
            E::Parameter {
                parameter,
                indirect: true,
            } => {
                let name = self.value_of(parameter, world);
                let name = name.and_then(|v| v.first()?.known());
                let value = name.and_then(|name| world.vars.get(&name).cloned());
                value.unwrap_or_else(unknown)
            }
            // Unset most likely: nothing in the line set it.
            E::UseDefaultValues {
                parameter,
                default_value,
                ..
            }
            | E::AssignDefaultValues {
                parameter,
                default_value,
                ..
            } => {
                let set = self.value_of(parameter, world);
                if let Some(set) = set.filter(|v| v.iter().any(|f| !f.is_empty())) {
                    return set;
                }
                let value = self.expand_one(default_value.as_deref().unwrap_or_default(), world);
                if let (E::AssignDefaultValues { .. }, Parameter::Named(name)) = (expr, parameter) {
                    world.set(name, vec![value.clone()]);
                }
                vec![value]
            }
            E::IndicateErrorIfNullOrUnset { parameter, .. } => {
                self.value_of(parameter, world).unwrap_or_else(unknown)
            }
            E::UseAlternativeValue {
                parameter,
                alternative_value,
                ..
            } => {
                let value =
                    self.expand_one(alternative_value.as_deref().unwrap_or_default(), world);
                match self.value_of(parameter, world) {
                    Some(_) => vec![value],
                    None => Vec::new(),
                }
            }
            E::RemoveSmallestSuffixPattern {
                parameter, pattern, ..
            } => self.trimmed(parameter, pattern.as_deref(), world, false, false),
            E::RemoveLargestSuffixPattern {
                parameter, pattern, ..
            } => self.trimmed(parameter, pattern.as_deref(), world, false, true),
            E::RemoveSmallestPrefixPattern {
                parameter, pattern, ..
            } => self.trimmed(parameter, pattern.as_deref(), world, true, false),
            E::RemoveLargestPrefixPattern {
                parameter, pattern, ..
            } => self.trimmed(parameter, pattern.as_deref(), world, true, true),
            E::ReplaceSubstring {
                parameter,
                pattern,
                replacement,
                match_kind,
                ..
            } => {
                let replacement = self
                    .expand_one(replacement.as_deref().unwrap_or_default(), world)
                    .known();
                let pattern = self.expand_one(pattern, world).known();
                let text = self
                    .value_of(parameter, world)
                    .and_then(|v| v.first()?.known());
                let (Some(text), Some(pattern), Some(replacement)) = (text, pattern, replacement)
                else {
                    return unknown();
                };
                use word::SubstringMatchKind as M;
                let (before, after) = match match_kind {
                    M::Prefix => ("^", ""),
                    M::Suffix => ("", "$"),
                    M::FirstOccurrence | M::Anywhere => ("", ""),
                };
                let Some(regex) = pattern_regex(&pattern, true, before, after) else {
                    return unknown();
                };
                let replacement = regex::NoExpand(&replacement);
                vec![Field::text(match match_kind {
                    M::Anywhere => regex.replace_all(&text, replacement),
                    _ => regex.replace(&text, replacement),
                })]
            }
            E::UppercasePattern {
                parameter, pattern, ..
            } if pattern.as_deref().unwrap_or_default().is_empty() => {
                self.cased(parameter, world, |text| text.to_uppercase())
            }
            E::LowercasePattern {
                parameter, pattern, ..
            } if pattern.as_deref().unwrap_or_default().is_empty() => {
                self.cased(parameter, world, |text| text.to_lowercase())
            }
            _ => unknown(),
        }
    }

    fn cased(
        &self,
        parameter: &Parameter,
        world: &World,
        change: impl Fn(&str) -> String,
    ) -> Vec<Field> {
        let text = self
            .value_of(parameter, world)
            .and_then(|v| v.first()?.known());
        vec![text.map_or_else(Field::unknown, |text| Field::text(change(&text)))]
    }

    fn trimmed(
        &mut self,
        parameter: &Parameter,
        pattern: Option<&str>,
        world: &mut World,
        prefix: bool,
        largest: bool,
    ) -> Vec<Field> {
        let pattern = self.expand_one(pattern.unwrap_or_default(), world).known();
        let text = self
            .value_of(parameter, world)
            .and_then(|v| v.first()?.known());
        let cut = || {
            let text = text.filter(|text| text.len() <= MAX_TRIMMED)?;
            let pattern = pattern?;
            let regex = pattern_regex(&pattern, true, "^", "$")?;
            let mut cuts: Vec<usize> = text.char_indices().map(|(i, _)| i).collect();
            cuts.push(text.len());
            // From the whole text down for the largest prefix and the smallest suffix.
            if prefix == largest {
                cuts.reverse();
            }
            let hit = cuts.into_iter().find(|cut| match prefix {
                true => regex.is_match(&text[..*cut]),
                false => regex.is_match(&text[*cut..]),
            });
            Some(match (hit, prefix) {
                (None, _) => text,
                (Some(cut), true) => text[cut..].to_owned(),
                (Some(cut), false) => text[..cut].to_owned(),
            })
        };
        vec![cut().map_or_else(Field::unknown, Field::text)]
    }

    /// Spells a pattern out to the files that it matches now.
    fn spell_out(&mut self, field: Field, world: &World, out: &mut Vec<Field>) {
        let has_pattern = field.0.iter().any(|p| matches!(p, Part::Glob(_)));
        if !has_pattern {
            out.push(field);
            return;
        }
        let known = field.0.iter().all(|p| *p != Part::Unknown);
        if !self.charge(PATTERN) {
            out.push(with_gaps(&field));
            return;
        }
        match world.path(&field) {
            Some(path) if known => match self.files(&field, &path) {
                // Nothing matches now; a command of this line may change that.
                Some(files) if files.is_empty() => out.push(with_gaps(&field)),
                Some(files) => out.extend(files),
                None => out.push(with_gaps(&field)),
            },
            _ => out.push(with_gaps(&field)),
        }
    }

    fn files(&self, field: &Field, absolute: &Path) -> Option<Vec<Field>> {
        // Quoted signs are literal: they are escaped for the expression, part by part.
        let mut pattern = String::new();
        for part in &field.0 {
            match part {
                Part::Text(text) => {
                    for c in text.chars() {
                        if "*?[]!@+()\\|".contains(c) {
                            pattern.push('\\');
                        }
                        pattern.push(c);
                    }
                }
                Part::Glob(text) => pattern.push_str(text),
                Part::Unknown => return None,
            }
        }
        let base = match pattern.starts_with('/') {
            true => PathBuf::from("/"),
            false => {
                let relative = field.known()?;
                let text = absolute.to_str()?;
                PathBuf::from(text.strip_suffix(relative.as_str())?)
            }
        };
        let mut found = vec![(String::new(), base)];
        if pattern.starts_with('/') {
            found[0].0.push('/');
        }
        for component in pattern.split('/').filter(|c| !c.is_empty()) {
            let mut next = Vec::new();
            let plain = !component.contains(['*', '?', '[', '(']);
            for (text, dir) in found {
                let add = |name: &str, next: &mut Vec<(String, PathBuf)>| {
                    let slash = if text.is_empty() || text.ends_with('/') {
                        ""
                    } else {
                        "/"
                    };
                    next.push((format!("{text}{slash}{name}"), dir.join(name)));
                };
                if plain {
                    let name = component.replace('\\', "");
                    if self.at.disk.exists(&dir.join(&name)) {
                        add(&name, &mut next);
                    }
                    continue;
                }
                let regex = pattern_regex(component, false, "^", "$")?;
                if !self.at.disk.is_dir(&dir) {
                    continue;
                }
                for name in self.at.disk.names(&dir, MAX_FILES * 10)? {
                    let hidden = name.starts_with('.') && !component.starts_with('.');
                    if !hidden && regex.is_match(&name) {
                        add(&name, &mut next);
                    }
                }
                if next.len() > MAX_FILES {
                    return None;
                }
            }
            found = next;
        }
        Some(
            found
                .into_iter()
                .map(|(text, _)| Field::text(text))
                .collect(),
        )
    }
}

fn put(values: Vec<Field>, quoted: bool, draft: &mut Draft) {
    let count = values.len();
    for (index, value) in values.into_iter().enumerate() {
        match quoted {
            true => {
                draft.open = true;
                value.0.into_iter().for_each(|part| draft.push(part));
            }
            false => draft.split(&value),
        }
        // `"$@"` and `"${list[@]}"` stay apart.
        if index + 1 < count {
            draft.close();
        }
    }
}

/// The pattern's signs as gaps.
fn with_gaps(field: &Field) -> Field {
    let mut out = Field::default();
    for part in &field.0 {
        let Part::Glob(text) = part else {
            out.push(part.clone());
            continue;
        };
        let mut plain = String::new();
        for c in text.chars() {
            if "*?[](|)!@+".contains(c) {
                out.push(Part::Text(std::mem::take(&mut plain)));
                out.push(Part::Unknown);
            } else {
                plain.push(c);
            }
        }
        out.push(Part::Text(plain));
    }
    out
}

/// A shell pattern as an expression. Extended patterns are none that is known.
fn pattern_regex(pattern: &str, crosses: bool, before: &str, after: &str) -> Option<Regex> {
    if ["@(", "!(", "+(", "?(", "*("]
        .iter()
        .any(|sign| pattern.contains(sign))
    {
        return None;
    }
    let any = if crosses { "(?s:." } else { "(?:[^/]" };
    let mut out = format!("{before}(?:");
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '*' => out.push_str(&format!("{any}*)")),
            '?' => out.push_str(&format!("{any})")),
            '\\' => out.push_str(&regex::escape(&chars.next().unwrap_or('\\').to_string())),
            '[' => {
                let mut class = String::from("[");
                if chars.next_if(|c| matches!(c, '!' | '^')).is_some() {
                    class.push('^');
                }
                let mut first = true;
                loop {
                    match chars.next()? {
                        ']' if !first => break,
                        c @ ('[' | ']' | '\\' | '&' | '~') => {
                            class.push('\\');
                            class.push(c);
                        }
                        c => class.push(c),
                    }
                    first = false;
                }
                out.push_str(&class);
                out.push(']');
            }
            c => out.push_str(&regex::escape(&c.to_string())),
        }
    }
    out.push(')');
    out.push_str(after);
    Regex::new(&out).ok()
}

/// All words that the braces of a word stand for; the word itself when there are too many.
fn braces(text: &str) -> Vec<String> {
    if !text.contains('{') {
        return vec![text.to_owned()];
    }
    let Ok(Some(parts)) = word::parse_brace_expansions(text, &options()) else {
        return vec![text.to_owned()];
    };
    let words = sequence(&parts);
    match words.len() {
        1..=MAX_WORDS => words,
        // Too many to follow: what they start with is known, and no more.
        _ => {
            let start = text.split('{').next().unwrap_or_default();
            vec![format!("{start}$_many_")]
        }
    }
}

fn sequence(parts: &[BraceExpressionOrText]) -> Vec<String> {
    let mut words = vec![String::new()];
    for part in parts {
        let choices = match part {
            BraceExpressionOrText::Text(text) => vec![text.clone()],
            BraceExpressionOrText::Expr(members) => members.iter().flat_map(member).collect(),
        };
        let mut next = Vec::new();
        for word in &words {
            for choice in &choices {
                next.push(format!("{word}{choice}"));
                if next.len() > MAX_WORDS {
                    return next;
                }
            }
        }
        words = next;
    }
    words
}

fn member(member: &BraceExpressionMember) -> Vec<String> {
    let steps = |start: i64, end: i64, increment: i64| -> Vec<i64> {
        let step = increment.unsigned_abs().max(1);
        let count = (start.abs_diff(end) / step).min(MAX_WORDS as u64);
        let sign = if end < start { -1 } else { 1 };
        (0..=count)
            .filter_map(|n| i64::try_from(n.checked_mul(step)?).ok()?.checked_mul(sign))
            .filter_map(|offset| start.checked_add(offset))
            .collect()
    };
    match member {
        BraceExpressionMember::Child(parts) => sequence(parts),
        BraceExpressionMember::NumberSequence {
            start,
            end,
            increment,
        } => steps(*start, *end, *increment)
            .iter()
            .map(ToString::to_string)
            .collect(),
        BraceExpressionMember::CharSequence {
            start,
            end,
            increment,
        } => steps(
            i64::from(u32::from(*start)),
            i64::from(u32::from(*end)),
            *increment,
        )
        .iter()
        .filter_map(|n| char::from_u32(u32::try_from(*n).ok()?))
        .map(|c| c.to_string())
        .collect(),
    }
}

/// The text of `$'…'`.
pub(super) fn ansi_c(text: &str) -> String {
    let mut out = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let push = |out: &mut Vec<u8>, c: char| {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        };
        if c != '\\' {
            push(&mut out, c);
            continue;
        }
        let mut digits = |radix: u32, most: usize| {
            let mut value = None;
            for _ in 0..most {
                let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else {
                    break;
                };
                chars.next();
                value = Some(value.unwrap_or(0) * radix + digit);
            }
            value
        };
        if let Some(value) = digits(8, 3) {
            out.push((value & 0xff) as u8);
            continue;
        }
        match chars.next() {
            Some('n') => out.push(b'\n'),
            Some('t') => out.push(b'\t'),
            Some('r') => out.push(b'\r'),
            Some('a') => out.push(7),
            Some('b') => out.push(8),
            Some('e' | 'E') => out.push(27),
            Some('f') => out.push(12),
            Some('v') => out.push(11),
            Some('x') => {
                let mut value = None;
                for _ in 0..2 {
                    let Some(digit) = chars.peek().and_then(|c| c.to_digit(16)) else {
                        break;
                    };
                    chars.next();
                    value = Some(value.unwrap_or(0) * 16 + digit);
                }
                out.push(value.unwrap_or(u32::from(b'x')) as u8);
            }
            Some(kind @ ('u' | 'U')) => {
                let most = if kind == 'u' { 4 } else { 8 };
                let mut value = 0_u32;
                for _ in 0..most {
                    let Some(digit) = chars.peek().and_then(|c| c.to_digit(16)) else {
                        break;
                    };
                    chars.next();
                    value = value.wrapping_mul(16).wrapping_add(digit);
                }
                push(&mut out, char::from_u32(value).unwrap_or('\u{fffd}'));
            }
            Some('c') => {
                let c = chars.next().unwrap_or('@');
                out.push((c.to_ascii_uppercase() as u32 as u8) ^ 0x40);
            }
            Some(other) => push(&mut out, other),
            None => out.push(b'\\'),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
