//! Commands that an editor is given on its command line.

use super::{
    args::Args,
    stream::Stream,
    walk::Walker,
    world::{Field, World},
};

impl Walker<'_> {
    /// Reads `-c TEXT` and `+TEXT` of vi's kin, and the expressions that emacs is told to evaluate.
    pub(super) fn editor_texts(&mut self, parsed: &Args, world: &World) {
        let plus = parsed.operands.iter().filter_map(Field::known);
        let plus = plus.filter_map(|text| text.strip_prefix('+').map(str::to_owned));
        let texts: Vec<String> = parsed
            .values(&["c", "cmd"])
            .filter_map(Field::known)
            .chain(plus)
            .collect();
        for text in texts {
            self.mention_text(&text, world);
            text.split('|')
                .for_each(|command| self.ex_command(command, world));
        }
        for text in parsed.operands.iter().filter_map(Field::known) {
            if text.starts_with('(') {
                self.program("emacs", &text, world, &Stream::unknown());
            }
        }
    }

    /// One command of vi's command line: `w FILE`, `e FILE`, `!COMMAND`.
    fn ex_command(&mut self, command: &str, world: &World) {
        let range = |c: char| c.is_ascii_digit() || c.is_whitespace() || ":%,$.".contains(c);
        let command = command.trim_start_matches(range);
        if let Some(line) = command.strip_prefix('!') {
            self.run_apart(line, world, &Stream::unknown());
            return;
        }
        let verb: String = command.chars().take_while(|c| c.is_alphabetic()).collect();
        let rest = &command[verb.len()..];
        let (force, file) = match rest.strip_prefix('!') {
            Some(file) => (true, file.trim()),
            None => (false, rest.trim()),
        };
        const FILES: [&str; 12] = [
            "w", "wr", "write", "wq", "x", "sav", "saveas", "up", "e", "edit", "f", "file",
        ];
        match file.trim_start_matches('>').trim() {
            "" => {}
            // `w !command`
            file if file.starts_with('!') && !force => {
                self.run_apart(&file[1..], world, &Stream::unknown());
            }
            file if FILES.contains(&verb.as_str()) => {
                self.change(&Field::text(file), world, &format!("the editor's {verb}"));
            }
            _ => {}
        }
    }
}
