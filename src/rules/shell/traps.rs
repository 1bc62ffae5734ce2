//! Traps: texts that run at some later moment, wherever the shell is then.

use std::collections::BTreeMap;

use super::{
    args::as_line,
    stream::Stream,
    walk::Walker,
    world::{Field, Trap, World},
};

impl Walker<'_> {
    /// `trap`: the text runs when the signal comes, wherever the shell is then.
    pub(super) fn trap(&mut self, args: &[Field], world: &mut World) {
        let args = match args.first().and_then(Field::known).as_deref() {
            Some("--") => &args[1..],
            Some(option) if option.len() > 1 && option.starts_with('-') => return,
            _ => args,
        };
        let Some((text, signals)) = args.split_first() else {
            return;
        };
        let line = as_line(std::slice::from_ref(text));
        if text.known().is_none() {
            self.mention_text(&line, world);
            // `trap "rm $f"` names its command; what comes from elsewhere may be any.
            if text.start().is_empty() || self.decoded > self.decoded_before {
                self.runs_unknown("what the trap runs");
            }
        }
        let known = |signal: &Field| match signal.known()?.to_uppercase().as_str() {
            "0" => Some("EXIT".to_owned()),
            name => Some(name.strip_prefix("SIG").unwrap_or(name).to_owned()),
        };
        for signal in signals {
            match (known(signal), line.as_str()) {
                (Some(name), "-" | "") => {
                    world.traps.remove(&name);
                }
                (None, "-" | "") => {}
                (name, _) => {
                    let trap = Trap {
                        text: line.clone(),
                        bytes: self.span.clone(),
                    };
                    let name = name.unwrap_or_else(|| "?".to_owned());
                    world.traps.insert(name, vec![trap]);
                }
            }
        }
    }

    /// Reads what the shell's traps would do in a state. They run at any later moment, so that
    /// each new state is asked about.
    pub(super) fn spring(&mut self, world: &World) {
        if world.traps.is_empty() || self.springing || self.sprung.contains(world) {
            return;
        }
        self.sprung.push(world.clone());
        self.springing = true;
        let span = self.span.clone();
        let quiet = World {
            traps: BTreeMap::new(),
            ..world.clone()
        };
        for trap in world.traps.values().flatten() {
            self.span = trap.bytes.clone();
            self.run_apart(&trap.text, &quiet, &Stream::default());
        }
        self.span = span;
        self.springing = false;
    }
}
