//! Searching for files on disk: what is found, and what is done to it.

use crate::path::clean;

use super::{
    stream::Stream,
    walk::Walker,
    world::{Field, World},
    wrappers::fill,
};

impl Walker<'_> {
    /// `find`: the commands it runs, what it deletes and what it prints.
    pub(super) fn find(&mut self, args: &[Field], world: &World) -> Stream {
        let is = |field: &Field, names: &[&str]| {
            field
                .known()
                .is_some_and(|text| names.contains(&text.as_str()))
        };
        let first = args.iter().position(|a| {
            let start = a.start();
            (start.starts_with('-') && start.len() > 2) || start == "(" || start == "!"
        });
        let roots = &args[..first.unwrap_or(args.len())];
        let mut roots: Vec<Field> = roots
            .iter()
            .filter(|r| !r.start().starts_with('-'))
            .cloned()
            .collect();
        if roots.is_empty() {
            roots.push(Field::text("."));
        }
        let tests = &args[first.unwrap_or(args.len())..];
        // What is known of the name narrows what is found.
        let (mut ends, mut is_any) = (vec![Field::default()], false);
        let named = tests.iter().position(|t| is(t, &["-name", "-iname"]));
        if let Some(at) = named
            && let Some(pattern) = tests.get(at + 1).and_then(Field::known)
        {
            let literal = pattern.rsplit(['*', '?', ']']).next().unwrap_or_default();
            let end = match pattern.contains(['*', '?', '[']) {
                true => literal.to_owned(),
                false => format!("/{pattern}"),
            };
            let any_case = is(&tests[at], &["-iname"]);
            ends = match (any_case, end.starts_with('/')) {
                // Any spelling of a whole name: more than can be listed.
                (true, true) => {
                    is_any = true;
                    vec![String::new()]
                }
                (true, false) => vec![end.to_lowercase(), end.to_uppercase(), end],
                (false, _) => vec![end],
            }
            .into_iter()
            .map(Field::text)
            .collect();
            ends.dedup();
        }
        let alone = !tests
            .iter()
            .any(|t| is(t, &["-o", "-or", "!", "-not", ","]));
        let whole = alone
            && ends
                .iter()
                .all(|end| end.start().starts_with('/') || is_any);
        let mut hits = Vec::new();
        for root in &roots {
            let trimmed = match (root.known(), world.path(root)) {
                // `/w/.` is no beginning of `/w/tests/t.py`, `/w` is.
                (Some(text), Some(path)) if whole && text.ends_with('.') => {
                    Field::text(clean(&path).to_string_lossy())
                }
                (Some(text), _) if text.len() > 1 => Field::text(text.trim_end_matches('/')),
                _ => root.clone(),
            };
            for end in &ends {
                let hit = match whole {
                    true => trimmed.clone(),
                    false => trimmed.clone().join(Field::text("/")),
                };
                let hit = hit.join(Field::unknown());
                hits.push(match alone {
                    true => hit.join(end.clone()),
                    false => hit,
                });
            }
        }
        hits.dedup();
        let mut at = 0;
        while let Some(test) = tests.get(at) {
            if is(test, &["-exec", "-execdir", "-ok", "-okdir"]) {
                let rest = &tests[at + 1..];
                let len = rest
                    .iter()
                    .position(|f| is(f, &[";", "+"]))
                    .unwrap_or(rest.len());
                let argv = fill(&rest[..len], &["{}"], &hits);
                self.invoke_plain(&argv, &[], world.clone(), &Stream::default());
                at += len + 1;
            } else if is(test, &["-delete"]) {
                hits.iter()
                    .for_each(|hit| self.delete(hit, world, "find -delete"));
            } else if is(test, &["-fprint", "-fprint0", "-fls", "-fprintf"])
                && let Some(file) = tests.get(at + 1)
            {
                self.change(file, world, "find -fprint");
                at += 1;
            }
            at += 1;
        }
        Stream::of_items(hits)
    }

    pub(super) fn fd(&mut self, args: &[Field], world: &World) -> Stream {
        let run = args.iter().position(|a| {
            matches!(
                a.known().as_deref(),
                Some("-x" | "-X" | "--exec" | "--exec-batch")
            )
        });
        let hit = Field::text("./").join(Field::unknown());
        if let Some(at) = run {
            let argv = &args[at + 1..];
            let marked = argv.iter().any(|f| f.start().contains('{'));
            let mut argv = fill(
                argv,
                &["{}", "{/}", "{//}", "{.}", "{/.}"],
                std::slice::from_ref(&hit),
            );
            if !marked {
                argv.push(hit.clone());
            }
            self.invoke_plain(&argv, &[], world.clone(), &Stream::default());
        }
        Stream::of_items(vec![hit])
    }
}
