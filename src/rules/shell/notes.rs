//! What is noted while a line is walked: changes, what is not known, and the paths it names.

use std::path::PathBuf;

use super::{
    Found, Mention, RuleChange, Target, Unresolved,
    walk::Walker,
    world::{Field, World},
};

/// How many arguments that look like no path are looked for on disk.
const MAX_LOOKED_FOR: usize = 300;

impl Walker<'_> {
    pub(super) fn found(&mut self, target: Target, how: &str) {
        if !self.charge(self.links.len() * 8) {
            return;
        }
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
        if self.noted.insert(found.clone()) {
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
            for target in world.targets(field, false) {
                self.touch(target, how);
            }
        }
    }

    /// A file or folder goes.
    pub(super) fn delete(&mut self, field: &Field, world: &World, how: &str) {
        if !field.is_empty() {
            for target in world.targets(field, true) {
                self.touch(target, how);
            }
        }
    }

    /// Anything below a folder changes.
    pub(super) fn below(&mut self, field: &Field, world: &World, how: &str) {
        for target in world.targets(field, false) {
            match target {
                Target::Change(path) => self.found(Target::Below(path), how),
                target => self.touch(target, how),
            }
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
            if text.is_empty() || text.starts_with('-') || !self.charge(60) {
                continue;
            }
            let is_path = looks_like_path(&text);
            for target in world.targets(&Field::text(&text), false) {
                let Target::Change(path) = target else {
                    continue;
                };
                self.looked_for += usize::from(!is_path);
                let there = || {
                    self.looked_for <= MAX_LOOKED_FOR
                        && self.at.disk.exists(&path)
                        && !self.at.disk.is_dir(&path)
                };
                if is_path || there() {
                    let bytes = self.span.clone();
                    self.note_mention(Mention { path, bytes });
                }
            }
        }
    }

    pub(super) fn note_mention(&mut self, mention: Mention) {
        if self.mentioned.insert(mention.clone()) {
            self.out.mentions.push(mention);
        }
    }

    /// Notes everything in a text that could be a path.
    pub(super) fn mention_text(&mut self, text: &str, world: &World) {
        let cwd = world.cwd.known().map(PathBuf::from);
        let cwd = cwd.unwrap_or_else(|| self.at.cwd.to_owned());
        let apart = |c: char| c.is_whitespace() || "\"'`=<>|&;()[]{},:".contains(c);
        for word in text.split(apart).filter(|word| looks_like_path(word)) {
            if !self.charge(20) {
                return;
            }
            let path = cwd.join(word);
            let bytes = self.span.clone();
            self.note_mention(Mention { path, bytes });
        }
    }
}

/// A path of which too little is known to say where it lies.
fn is_vague(texts: &[String]) -> bool {
    let start = texts.first().map_or("", String::as_str);
    let end = texts.last().map_or("", String::as_str);
    start.is_empty() && end.trim_matches('/').is_empty()
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
