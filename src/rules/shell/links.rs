//! Links that the line itself makes: a change through one of them is a change of what it leads to.

use std::path::{Path, PathBuf};

use crate::path::clean;

use super::{
    Target,
    walk::Walker,
    world::{Field, World},
};

impl Walker<'_> {
    /// Notes what a new link leads to, so that a change through it counts there as well.
    pub(super) fn link(&mut self, to: &Field, from: &[Field], world: &World, symbolic: bool) {
        let Some(to) = world.path(to).map(|path| clean(&path)) else {
            return;
        };
        for source in from {
            let Some(text) = source.known() else { continue };
            let text = text.trim_end_matches('/');
            let is_dir = self.at.disk.is_dir(&to) || self.made.contains(&to);
            let link = match Path::new(text).file_name() {
                Some(name) if is_dir => to.join(name),
                _ => to.clone(),
            };
            // A symbolic link is read from where it lies.
            let source = match (symbolic, link.parent()) {
                (true, Some(folder)) => folder.join(text),
                _ => match world.path(source) {
                    Some(path) => path,
                    None => continue,
                },
            };
            self.links.push((link, clean(&source)));
        }
    }

    /// What a change through the links of this line changes.
    pub(super) fn behind_links(&self, target: &Target) -> Vec<Target> {
        let (path, delete) = match target {
            Target::Change(path) | Target::Below(path) => (clean(path), false),
            Target::Delete(path) => (clean(path), true),
            Target::Partial { texts, .. } => {
                let start = texts.first().map_or("", String::as_str);
                (clean(Path::new(start)), false)
            }
        };
        let through = |path: &Path| -> Vec<PathBuf> {
            let links = self.links.iter().filter_map(|(link, to)| {
                let rest = path.strip_prefix(link).ok()?;
                match rest.as_os_str().is_empty() {
                    // Removing a link leaves what it leads to.
                    true => (!delete).then(|| to.clone()),
                    false => Some(to.join(rest)),
                }
            });
            links.collect()
        };
        let mut all = through(&path);
        // A link to a link.
        let more: Vec<PathBuf> = all.iter().flat_map(|path| through(path)).collect();
        all.extend(more);
        let behind = all.into_iter().map(|path| match target {
            Target::Change(_) => Target::Change(path),
            Target::Delete(_) => Target::Delete(path),
            Target::Below(_) => Target::Below(path),
            Target::Partial { texts, .. } => match texts.first() {
                Some(start) if !start.ends_with('/') => {
                    Target::Below(path.parent().unwrap_or(&path).to_owned())
                }
                _ => Target::Below(path),
            },
        });
        behind.collect()
    }
}
