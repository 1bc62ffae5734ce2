//! Styles by what they mean, and the signs drawn. The terminal's own foreground and background
//! with ANSI accents; without colour, weight and words carry everything.

use ratatui::{
    style::{Color, Modifier, Style},
    symbols::border,
};

use crate::app::stream::Tone;

/// The look of the screen.
#[derive(Debug, Clone)]
pub struct Theme {
    pub text: Style,
    pub dim: Style,
    pub strong: Style,
    pub border: Style,
    pub border_focused: Style,
    pub selected: Style,
    pub selected_elsewhere: Style,
    pub accent: Style,
    pub good: Style,
    pub warning: Style,
    pub bad: Style,
    pub banner_bad: Style,
    pub banner_good: Style,
    pub glyphs: Glyphs,
}

/// The signs drawn.
#[derive(Debug, Clone, Copy)]
pub struct Glyphs {
    pub borders: border::Set<'static>,
    pub open: &'static str,
    pub closed: &'static str,
    pub lock: &'static str,
    pub shadow: &'static str,
    pub flag: &'static str,
    pub good: &'static str,
    pub bad: &'static str,
    pub warning: &'static str,
    pub running: &'static str,
    pub waiting: &'static str,
    pub live: &'static str,
    pub halted: &'static str,
}

const UNICODE: Glyphs = Glyphs {
    borders: border::PLAIN,
    open: "▾",
    closed: "▸",
    lock: "🔒",
    shadow: "┄",
    flag: "⚑",
    good: "✔",
    bad: "✖",
    warning: "▲",
    running: "▶",
    waiting: "○",
    live: "●",
    halted: "■",
};

const ASCII: Glyphs = Glyphs {
    borders: border::Set {
        top_left: "+",
        top_right: "+",
        bottom_left: "+",
        bottom_right: "+",
        vertical_left: "|",
        vertical_right: "|",
        horizontal_top: "-",
        horizontal_bottom: "-",
    },
    open: "v",
    closed: ">",
    lock: "#",
    shadow: "~",
    flag: "!",
    good: "+",
    bad: "x",
    warning: "^",
    running: ">",
    waiting: ".",
    live: "*",
    halted: "H",
};

impl Theme {
    /// Colours on the terminal's own background.
    pub fn colours() -> Self {
        let plain = Style::new();
        Self {
            text: plain,
            dim: plain.add_modifier(Modifier::DIM),
            strong: plain.add_modifier(Modifier::BOLD),
            border: plain.add_modifier(Modifier::DIM),
            border_focused: plain.fg(Color::Cyan),
            selected: plain.add_modifier(Modifier::REVERSED),
            selected_elsewhere: plain.add_modifier(Modifier::BOLD),
            accent: plain.fg(Color::Cyan),
            good: plain.fg(Color::Green),
            warning: plain.fg(Color::Magenta),
            bad: plain.fg(Color::Red),
            banner_bad: plain
                .fg(Color::Red)
                .add_modifier(Modifier::REVERSED | Modifier::BOLD),
            banner_good: plain
                .fg(Color::Green)
                .add_modifier(Modifier::REVERSED | Modifier::BOLD),
            glyphs: UNICODE,
        }
    }

    /// No colour at all (`NO_COLOR`).
    pub fn monochrome() -> Self {
        let strip = |style: Style| Style {
            fg: None,
            bg: None,
            ..style
        };
        let theme = Self::colours();
        Self {
            border_focused: strip(theme.border_focused).add_modifier(Modifier::BOLD),
            accent: strip(theme.accent).add_modifier(Modifier::BOLD),
            good: strip(theme.good),
            warning: strip(theme.warning).add_modifier(Modifier::BOLD),
            bad: strip(theme.bad).add_modifier(Modifier::BOLD),
            banner_bad: strip(theme.banner_bad),
            banner_good: strip(theme.banner_good),
            ..theme
        }
    }

    /// The same with signs that every terminal has.
    pub fn ascii(mut self) -> Self {
        self.glyphs = ASCII;
        self
    }

    /// The names of the styles, as a theme file spells them.
    pub const SLOTS: [&'static str; 13] = [
        "text",
        "dim",
        "strong",
        "border",
        "border_focused",
        "selected",
        "selected_elsewhere",
        "accent",
        "good",
        "warning",
        "bad",
        "banner_bad",
        "banner_good",
    ];

    /// The style of that name.
    pub fn slot(&mut self, name: &str) -> Option<&mut Style> {
        Some(match name {
            "text" => &mut self.text,
            "dim" => &mut self.dim,
            "strong" => &mut self.strong,
            "border" => &mut self.border,
            "border_focused" => &mut self.border_focused,
            "selected" => &mut self.selected,
            "selected_elsewhere" => &mut self.selected_elsewhere,
            "accent" => &mut self.accent,
            "good" => &mut self.good,
            "warning" => &mut self.warning,
            "bad" => &mut self.bad,
            "banner_bad" => &mut self.banner_bad,
            "banner_good" => &mut self.banner_good,
            _ => return None,
        })
    }

    /// Whether locale and terminal have the signs.
    pub fn speaks_unicode() -> bool {
        let set = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
        let locale = set("LC_ALL")
            .or_else(|| set("LC_CTYPE"))
            .or_else(|| set("LANG"));
        let speaks_unicode = locale.is_none_or(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        });
        let poor_terminal = set("TERM").is_some_and(|term| term == "linux" || term == "dumb");
        speaks_unicode && !poor_terminal
    }

    /// The style of a tone.
    pub fn tone(&self, tone: Tone) -> Style {
        match tone {
            Tone::Good => self.good,
            Tone::Warning => self.warning,
            Tone::Bad => self.bad,
        }
    }

    /// The sign of a tone.
    pub fn sign(&self, tone: Tone) -> &'static str {
        match tone {
            Tone::Good => self.glyphs.good,
            Tone::Warning => self.glyphs.warning,
            Tone::Bad => self.glyphs.bad,
        }
    }
}
