//! sqlite3: its database, and the files that its own commands write.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    stream::Stream,
    walk::Walker,
    world::{Field, World},
};

/// What in a text writes files besides the database.
static WRITES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?im)^\s*\.(?:o|once|save|backup|clone|sh|sy|log|trace|ar|excel)|\binto\s+'|\battach\b|writefile")
        .ok()
});

/// A single statement that only asks.
static ASKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?is)^\s*(?:(?:select|explain)\b[^;]*;?|\.(?:tables|schema|indexes|databases|dump)\b[^\n]*)\s*$")
        .ok()
});

impl Walker<'_> {
    pub(super) fn sqlite(&mut self, args: &[Field], world: &World, stdin: &Stream) {
        // Its long options have one dash, or two.
        const VALUES: [&str; 9] = [
            "cmd",
            "init",
            "separator",
            "newline",
            "nullvalue",
            "maxsize",
            "mmap",
            "vfs",
            "key",
        ];
        let (mut words, mut flags, mut first) = (Vec::new(), Vec::new(), Vec::new());
        let mut rest = args.iter();
        while let Some(word) = rest.next() {
            let start = word.start();
            if !start.starts_with('-') {
                words.push(word.clone());
                continue;
            }
            let flag = start.trim_start_matches('-').to_owned();
            if VALUES.contains(&flag.as_str()) {
                first.extend(rest.next().filter(|_| flag == "cmd").cloned());
            }
            flags.push(flag);
        }
        let Some((database, texts)) = words.split_first() else {
            return;
        };
        let fed = stdin.piped && texts.is_empty();
        let known: Option<Vec<String>> = first.iter().chain(texts).map(Field::known).collect();
        let asks = !fed
            && known.as_ref().is_some_and(|texts| {
                !texts.is_empty()
                    && texts.iter().all(|text| {
                        ASKS.as_ref().is_some_and(|r| r.is_match(text))
                            && WRITES.as_ref().is_some_and(|r| !r.is_match(text))
                    })
            });
        let reads = |flag: &String| ["readonly", "version", "help"].contains(&flag.as_str());
        if !asks && !flags.iter().any(reads) {
            self.change(database, world, "sqlite3");
        }
        for text in known.into_iter().flatten().chain(stdin.text.clone()) {
            if WRITES.as_ref().is_none_or(|r| r.is_match(&text)) {
                self.mention_text(&text, world);
                self.unresolved("which files the text for sqlite3 changes");
            }
        }
    }
}
