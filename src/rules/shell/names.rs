//! What the line makes of names: functions and aliases, and variables that stay as they are.

use std::rc::Rc;

use super::{
    args::Args,
    stream::Stream,
    walk::Walker,
    world::{Callable, Field, World, merged},
    wrappers::quoted,
};

impl Walker<'_> {
    /// `readonly` and `declare -r`: what is set afterwards may fail.
    pub(super) fn fix(&mut self, name: &str, args: &[Field], world: &mut World) {
        let parsed = Args::parse(args, "", &[], false);
        // A function that is read-only cannot be defined again.
        self.restricted |= parsed.has(&["f"]);
        if name == "readonly" || parsed.has(&["r"]) {
            let names = parsed.operands.iter().map(|field| {
                let start = field.start();
                start.split('=').next().unwrap_or_default().to_owned()
            });
            world.fixed.extend(names);
        }
    }

    /// Runs what a name of the line may mean, each meaning by itself.
    pub(super) fn call_any(
        &mut self,
        meanings: &[Rc<Callable>],
        argv: &[Field],
        declared: &[(String, Vec<Field>)],
        world: World,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        let mut worlds = Vec::new();
        let mut last = Stream::default();
        for meaning in meanings {
            let (after, printed) = match &**meaning {
                Callable::Function { body, .. } => {
                    self.call(body, world.clone(), &argv[1..], stdin)
                }
                Callable::Alias(text) => {
                    let line = format!("{text} {}", quoted(&argv[1..]));
                    let mut inner = world.clone();
                    if let Some(name) = argv[0].known() {
                        inner.functions.remove(&name);
                    }
                    self.run_apart(&line, &inner, stdin);
                    (vec![world.clone()], Stream::unknown())
                }
                Callable::Plain => self.invoke_plain(argv, declared, world.clone(), stdin),
            };
            worlds = merged(worlds, after);
            last = printed;
        }
        match meanings.len() {
            1 => (worlds, last),
            _ => (worlds, Stream::unknown()),
        }
    }

    /// Runs a command that no function or alias of the line can stand for.
    pub(super) fn invoke_plain(
        &mut self,
        argv: &[Field],
        declared: &[(String, Vec<Field>)],
        mut world: World,
        stdin: &Stream,
    ) -> (Vec<World>, Stream) {
        let name = argv.first().and_then(Field::known).unwrap_or_default();
        let Some(hidden) = world.functions.remove(&name) else {
            return self.invoke(argv, declared, world, stdin);
        };
        let (mut after, printed) = self.invoke(argv, declared, world, stdin);
        for world in &mut after {
            let functions = &mut world.functions;
            functions
                .entry(name.clone())
                .or_insert_with(|| hidden.clone());
        }
        (after, printed)
    }
}
