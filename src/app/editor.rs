//! The invariant editor: fields, what is wrong with them while they are typed, and the call
//! that saves them.

use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tui_textarea::TextArea;

use crate::{
    app::Ask,
    engine::requests::{Add, Edit},
    model::{
        Checkpoint, Invariant, InvariantId, InvariantPatch, Layer, LetterCheck, NewInvariant,
        Scope, Severity, clean_text,
    },
    rules::{
        glob::{self, Glob},
        hint::letter_forms,
    },
};

/// The fields, in the order of `Tab`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Text,
    Layer,
    Patterns,
    Checkpoint,
    Scope,
    Severity,
    NonOverridable,
}

/// The layers as the editor offers them: the two letter forms apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerChoice {
    Plain,
    NoEditsOutside,
    Untouched,
    Judgment,
    Assent,
}

impl LayerChoice {
    const ALL: [LayerChoice; 5] = [
        Self::Plain,
        Self::NoEditsOutside,
        Self::Untouched,
        Self::Judgment,
        Self::Assent,
    ];

    /// What the field shows.
    pub fn label(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::NoEditsOutside => "letter: no edits outside",
            Self::Untouched => "letter: untouched",
            Self::Judgment => "judgment",
            Self::Assent => "assent",
        }
    }

    fn of(layer: &Layer) -> Self {
        match layer {
            Layer::Plain => Self::Plain,
            Layer::Letter(LetterCheck::NoEditsOutside(_)) => Self::NoEditsOutside,
            Layer::Letter(LetterCheck::Untouched(_)) => Self::Untouched,
            Layer::Judgment { .. } => Self::Judgment,
            Layer::Assent { .. } => Self::Assent,
        }
    }

    fn has_patterns(self) -> bool {
        matches!(self, Self::NoEditsOutside | Self::Untouched | Self::Assent)
    }
}

/// An editor for one invariant, new or old.
pub struct Editor {
    /// The invariant and revision that is edited; `None` for a new one.
    pub editing: Option<(InvariantId, u32)>,
    pub text: TextArea<'static>,
    /// Patterns, one a line.
    pub patterns: TextArea<'static>,
    pub layer: LayerChoice,
    pub checkpoint: Checkpoint,
    pub scopes: Vec<Scope>,
    pub scope: usize,
    pub severity: Severity,
    pub non_overridable: bool,
    pub focus: Field,
    /// What the engine said to the last try to save.
    pub refused: Option<String>,
    /// A save is on its way.
    pub saving: bool,
    /// Home folder for `~/` in patterns.
    home: Option<PathBuf>,
    /// How it was opened, to know whether anything was changed.
    opened: Option<Form>,
}

/// The content of all fields at one moment.
#[derive(Debug, PartialEq, Eq)]
struct Form {
    text: Vec<String>,
    patterns: Vec<String>,
    layer: LayerChoice,
    checkpoint: Checkpoint,
    scope: usize,
    severity: Severity,
    non_overridable: bool,
}

impl Editor {
    /// An editor for a new invariant in the first of `scopes`.
    pub fn new(scopes: Vec<Scope>, home: Option<PathBuf>) -> Self {
        let mut editor = Self {
            editing: None,
            text: area(&[]),
            patterns: area(&[]),
            layer: LayerChoice::Plain,
            checkpoint: Checkpoint::default(),
            scopes,
            scope: 0,
            severity: Severity::Error,
            non_overridable: false,
            focus: Field::Text,
            refused: None,
            saving: false,
            home,
            opened: None,
        };
        editor.opened = Some(editor.form());
        editor
    }

    /// An editor for an invariant that is there.
    pub fn edit(invariant: &Invariant, mut scopes: Vec<Scope>, home: Option<PathBuf>) -> Self {
        scopes.retain(|s| *s != invariant.scope);
        scopes.insert(0, invariant.scope.clone());
        let mut editor = Self::new(scopes, home);
        editor.editing = Some((invariant.id, invariant.revision));
        let generated = invariant
            .layer
            .letter()
            .is_some_and(|c| c.sentence() == invariant.text);
        let lines: Vec<&str> = invariant.text.lines().collect();
        // A text that follows its check is shown as empty: it is written anew.
        editor.text = area(if generated { &[] } else { &lines });
        editor.layer = LayerChoice::of(&invariant.layer);
        let patterns: Vec<&str> = match &invariant.layer {
            Layer::Letter(check) => check.patterns().iter().map(String::as_str).collect(),
            Layer::Assent { when } => when.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        };
        editor.patterns = area(&patterns);
        if let Layer::Judgment { checkpoint } = &invariant.layer {
            editor.checkpoint = *checkpoint;
        }
        editor.severity = invariant.severity;
        editor.non_overridable = invariant.non_overridable;
        if generated {
            editor.focus = Field::Patterns;
        }
        editor.opened = Some(editor.form());
        editor
    }

    fn form(&self) -> Form {
        Form {
            text: self.text.lines().to_vec(),
            patterns: self.patterns.lines().to_vec(),
            layer: self.layer,
            checkpoint: self.checkpoint,
            scope: self.scope,
            severity: self.severity,
            non_overridable: self.non_overridable,
        }
    }

    /// Whether anything differs from how it was opened.
    pub fn is_changed(&self) -> bool {
        self.opened.as_ref() != Some(&self.form())
    }

    /// The fields that apply now.
    pub fn fields(&self) -> Vec<Field> {
        let mut fields = vec![Field::Text, Field::Layer];
        if self.layer.has_patterns() {
            fields.push(Field::Patterns);
        }
        if self.layer == LayerChoice::Judgment {
            fields.push(Field::Checkpoint);
        }
        fields.extend([Field::Scope, Field::Severity, Field::NonOverridable]);
        fields
    }

    /// The scope that is chosen.
    pub fn chosen_scope(&self) -> &Scope {
        // There is always a scope to choose: global.
        &self.scopes[self.scope.min(self.scopes.len() - 1)]
    }

    /// The letter check that says the same as the text, when it is prose that one can say.
    pub fn letter_form(&self) -> Option<LetterCheck> {
        let prose = matches!(self.layer, LayerChoice::Plain | LayerChoice::Judgment);
        let forms = prose.then(|| letter_forms(&self.text.lines().join(" ")))?;
        match forms.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        }
    }

    /// Takes the letter check that was offered, with its pattern filled in.
    pub fn take_letter_form(&mut self) {
        let Some(check) = self.letter_form() else {
            return;
        };
        self.layer = LayerChoice::of(&Layer::Letter(check.clone()));
        let patterns: Vec<&str> = check.patterns().iter().map(String::as_str).collect();
        self.patterns = area(&patterns);
        self.focus = Field::Patterns;
    }

    fn pattern_lines(&self) -> Vec<String> {
        let lines = self.patterns.lines().iter();
        lines
            .map(|l| l.trim().to_owned())
            .filter(|l| !l.is_empty())
            .collect()
    }

    fn chosen_layer(&self) -> Result<Layer, String> {
        let patterns = self.pattern_lines();
        Ok(match self.layer {
            LayerChoice::Plain => Layer::Plain,
            LayerChoice::Judgment => Layer::Judgment {
                checkpoint: self.checkpoint,
            },
            LayerChoice::Assent => Layer::Assent { when: patterns },
            LayerChoice::NoEditsOutside if patterns.is_empty() => {
                return Err("write a pattern, such as src/**".into());
            }
            LayerChoice::NoEditsOutside => Layer::Letter(LetterCheck::NoEditsOutside(patterns)),
            LayerChoice::Untouched => match patterns.as_slice() {
                [] => return Err("write a path or pattern, such as tests/test_sync.py".into()),
                [one] => Layer::Letter(LetterCheck::Untouched(one.clone())),
                _ => return Err("untouched takes one pattern; write two invariants".into()),
            },
        })
    }

    /// What is wrong with the fields as they stand; `None` when they can be saved.
    pub fn problem(&self) -> Option<String> {
        let layer = match self.chosen_layer() {
            Ok(layer) => layer,
            Err(problem) => return Some(problem),
        };
        let bindable = matches!(self.chosen_scope(), Scope::Action(_) | Scope::Plan(_));
        let patterns = if self.layer.has_patterns() {
            self.pattern_lines()
        } else {
            Vec::new()
        };
        for pattern in patterns {
            let mut text = pattern.clone();
            if bindable {
                let names = glob::parameters(&pattern);
                let any = names
                    .into_iter()
                    .map(|(n, _)| (n, "x".to_owned()))
                    .collect();
                text = glob::bind(&pattern, &any).unwrap_or(pattern);
            }
            if let Err(error) = Glob::parse(&text, self.home.as_deref()) {
                return Some(error.to_string());
            }
        }
        let text = self.text.lines().join("\n");
        if text.trim().is_empty() && layer.letter().is_some() {
            return None;
        }
        clean_text(&text).err().map(|e| e.to_string())
    }

    /// What saves the fields.
    ///
    /// # Errors
    /// What [`Editor::problem`] says.
    pub fn save(&self) -> Result<Ask, String> {
        if let Some(problem) = self.problem() {
            return Err(problem);
        }
        let layer = self.chosen_layer()?;
        let text = self.text.lines().join("\n");
        let text = if text.trim().is_empty() {
            None
        } else {
            Some(text)
        };
        let scope = self.chosen_scope().clone();
        Ok(match self.editing {
            None => Ask::Add(Box::new(Add {
                invariant: NewInvariant {
                    text,
                    scope,
                    layer,
                    severity: self.severity,
                    non_overridable: self.non_overridable,
                    on_invariant_breach: None,
                },
                cwd: PathBuf::new(),
                plan: None,
            })),
            Some((id, revision)) => Ask::Edit(Box::new(Edit {
                id: id.to_string(),
                patch: InvariantPatch {
                    // An emptied text of a letter invariant is written from its check.
                    text: Some(text.unwrap_or_default()),
                    scope: Some(scope),
                    layer: Some(layer),
                    severity: Some(self.severity),
                    non_overridable: Some(self.non_overridable),
                    expected_revision: Some(revision),
                },
            })),
        })
    }

    /// Puts another text into the text field, as one change.
    pub fn set_text(&mut self, text: &str) {
        let lines: Vec<&str> = text.trim_end_matches('\n').lines().collect();
        self.text = area(&lines);
        self.focus = Field::Text;
    }

    /// The patterns to count files for; none while they are wrong or not asked for.
    pub fn countable(&self) -> Option<Vec<String>> {
        let patterns = self.pattern_lines();
        let wanted = self.layer.has_patterns() && !patterns.is_empty();
        (wanted && self.problem().is_none()).then_some(patterns)
    }

    /// The invariant as it would be saved, to look for what it conflicts with.
    pub fn draft(&self) -> Option<Invariant> {
        if self.problem().is_some() {
            return None;
        }
        let layer = self.chosen_layer().ok()?;
        let typed = self.text.lines().join("\n");
        let text = match (typed.trim(), layer.letter()) {
            ("", Some(check)) => check.sentence(),
            _ => typed,
        };
        // The youngest there could be, unless it is there already.
        let id = match self.editing {
            Some((id, _)) => id,
            None => InvariantId(ulid::Ulid::max()),
        };
        let at = jiff::Timestamp::UNIX_EPOCH;
        let mut draft = Invariant::new(id, self.chosen_scope().clone(), layer, &text, at);
        draft.severity = self.severity;
        draft.non_overridable = self.non_overridable;
        Some(draft)
    }

    /// Takes a key that is not one of the editor's own (save, leave).
    pub fn key(&mut self, key: KeyEvent) {
        self.refused = None;
        let plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        match key.code {
            KeyCode::Tab => self.move_focus(1),
            KeyCode::BackTab => self.move_focus(-1),
            _ => match self.focus {
                Field::Text => {
                    self.text.input(key);
                }
                Field::Patterns => {
                    self.patterns.input(key);
                }
                _ if plain => match key.code {
                    KeyCode::Right | KeyCode::Char(' ' | 'l') | KeyCode::Enter => self.turn(1),
                    KeyCode::Left | KeyCode::Char('h') => self.turn(-1),
                    KeyCode::Down | KeyCode::Char('j') => self.move_focus(1),
                    KeyCode::Up | KeyCode::Char('k') => self.move_focus(-1),
                    _ => {}
                },
                _ => {}
            },
        }
    }

    /// Takes pasted text as one change.
    pub fn paste(&mut self, text: &str) {
        let clean: String = text
            .replace("\r\n", "\n")
            .replace('\r', "\n")
            .chars()
            .filter(|c| *c != '\u{1b}')
            .collect();
        match self.focus {
            Field::Text => self.text.insert_str(clean),
            Field::Patterns => self.patterns.insert_str(clean),
            _ => false,
        };
    }

    fn move_focus(&mut self, step: isize) {
        let fields = self.fields();
        let now = fields.iter().position(|f| *f == self.focus).unwrap_or(0);
        let next = (now as isize + step).rem_euclid(fields.len() as isize) as usize;
        self.focus = fields[next];
    }

    /// Changes the focused choice to the next or the one before.
    fn turn(&mut self, step: isize) {
        match self.focus {
            Field::Layer => self.layer = next_of(&LayerChoice::ALL, self.layer, step),
            Field::Scope => {
                let count = self.scopes.len() as isize;
                self.scope = (self.scope as isize + step).rem_euclid(count) as usize;
            }
            Field::Severity => self.severity = next_of(&Severity::ALL, self.severity, step),
            Field::NonOverridable => self.non_overridable = !self.non_overridable,
            Field::Checkpoint => self.checkpoint = next_checkpoint(self.checkpoint, step),
            Field::Text | Field::Patterns => {}
        }
    }
}

fn next_of<T: Copy + PartialEq>(all: &[T], now: T, step: isize) -> T {
    let at = all.iter().position(|x| *x == now).unwrap_or(0) as isize;
    all[(at + step).rem_euclid(all.len() as isize) as usize]
}

/// at_satisfaction, each_edit, then each_n_iterations with 1, 2, 3 and so on.
fn next_checkpoint(now: Checkpoint, step: isize) -> Checkpoint {
    let number = match now {
        Checkpoint::AtSatisfaction => 0,
        Checkpoint::EachEdit => 1,
        Checkpoint::EachNIterations(n) => 1 + n.get() as isize,
    };
    match (number + step).max(0) {
        0 => Checkpoint::AtSatisfaction,
        1 => Checkpoint::EachEdit,
        n => std::num::NonZeroU32::new((n - 1) as u32)
            .map_or(Checkpoint::EachEdit, Checkpoint::EachNIterations),
    }
}

fn area(lines: &[&str]) -> TextArea<'static> {
    let mut area = TextArea::new(lines.iter().map(|l| (*l).to_owned()).collect());
    area.set_wrap_mode(tui_textarea::WrapMode::WordOrGlyph);
    area.move_cursor(tui_textarea::CursorMove::Bottom);
    area.move_cursor(tui_textarea::CursorMove::End);
    area
}
