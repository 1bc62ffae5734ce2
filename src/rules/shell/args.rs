//! Options and operands of a command, as `getopt` tells them apart.

use super::world::{Field, Part};

/// What a command was called with.
#[derive(Debug, Default)]
pub(super) struct Args {
    /// Each option without its dashes, with its value where it takes one.
    pub options: Vec<(String, Option<Field>)>,
    pub operands: Vec<Field>,
}

impl Args {
    /// Sorts the arguments. `short` holds the letters that take a value, `long` the names. With
    /// `stop` set, everything from the first operand on is an operand.
    pub(super) fn parse(args: &[Field], short: &str, long: &[&str], stop: bool) -> Self {
        let mut out = Self::default();
        let mut args = args.iter();
        while let Some(field) = args.next() {
            let start = field.start();
            if start == "--" && field.known().is_some() {
                out.operands.extend(args.cloned());
                break;
            }
            if let Some(name) = start.strip_prefix("--") {
                let (name, value) = match name.split_once('=') {
                    Some((name, _)) => (name, Some(field.skip(name.len() + 3))),
                    None => (name, None),
                };
                // Long names may be cut short.
                let full = long
                    .iter()
                    .find(|l| **l == name)
                    .or_else(|| long.iter().find(|l| name.len() >= 3 && l.starts_with(name)));
                let value = match (value, full) {
                    (None, Some(_)) => args.next().cloned(),
                    (value, _) => value,
                };
                let name = full.map_or(name, |full| *full);
                out.options.push((name.to_owned(), value));
            } else if start.len() > 1 && start.starts_with('-') {
                out.cluster(field, &start, short, &mut args);
            } else {
                out.operands.push(field.clone());
                if stop {
                    out.operands.extend(args.cloned());
                    break;
                }
            }
        }
        out
    }

    fn cluster<'a>(
        &mut self,
        field: &Field,
        start: &str,
        short: &str,
        args: &mut impl Iterator<Item = &'a Field>,
    ) {
        for (at, letter) in start.char_indices().skip(1) {
            if !short.contains(letter) {
                self.options.push((letter.to_string(), None));
                continue;
            }
            let rest = field.skip(at + letter.len_utf8());
            let value = match rest.0.is_empty() || rest.is_empty() {
                true => args.next().cloned(),
                false => Some(rest),
            };
            self.options.push((letter.to_string(), value));
            break;
        }
    }

    /// Whether one of the options is there.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options
            .iter()
            .any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The values of an option under its names, in order.
    pub(super) fn values<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a Field> {
        self.options
            .iter()
            .filter(move |(name, _)| names.contains(&name.as_str()))
            .filter_map(|(_, value)| value.as_ref())
    }

    /// The last value of an option under its names.
    pub(super) fn value<'a>(&'a self, names: &'a [&str]) -> Option<&'a Field> {
        self.values(names).last()
    }
}

/// `a b c` as one known text; what is not known becomes a mark that no command has.
pub(super) fn as_line(fields: &[Field]) -> String {
    let text = |field: &Field| {
        let parts = field.0.iter().map(|part| match part {
            Part::Text(text) | Part::Glob(text) => text.as_str(),
            Part::Unknown => "$_unknown_",
        });
        parts.collect::<String>()
    };
    fields.iter().map(text).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_told_from_operands() {
        let fields: Vec<Field> = ["-rt", "dir", "--suf=x", "a", "-", "--", "-b"]
            .map(Field::text)
            .into();
        let args = Args::parse(&fields, "t", &["suffix"], false);
        assert!(args.has(&["r"]));
        assert_eq!(args.value(&["t"]), Some(&Field::text("dir")));
        assert_eq!(args.value(&["suffix"]), Some(&Field::text("x")));
        assert_eq!(args.operands, ["a", "-", "-b"].map(Field::text));
        let args = Args::parse(&[Field::text("-tdir")], "t", &[], false);
        assert_eq!(args.value(&["t"]), Some(&Field::text("dir")));
    }
}
