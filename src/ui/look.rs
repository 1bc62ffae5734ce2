//! The configuration as the screen uses it: settings and the theme they name.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    str::FromStr,
};

use ratatui::style::{Color, Modifier, Style};

use super::theme::Theme;
use crate::{
    app::settings::{GlyphSet, Settings},
    engine::config::toml_fault,
};

const BUILT_IN: [(&str, &str); 3] = [
    ("dark", include_str!("../../assets/themes/dark.toml")),
    ("light", include_str!("../../assets/themes/light.toml")),
    (
        "high-contrast",
        include_str!("../../assets/themes/high-contrast.toml"),
    ),
];

/// Reads the configuration file at `path` and the theme it names; no file means the defaults.
///
/// # Errors
/// A sentence with file, line and column.
pub fn load(path: &Path) -> Result<(Settings, Theme), String> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(format!("{} cannot be read: {e}", path.display())),
    };
    let settings = Settings::parse(&text, path).map_err(|problem| problem.to_string())?;
    let theme = theme(&settings, path)?;
    Ok((settings, theme))
}

fn theme(settings: &Settings, config: &Path) -> Result<Theme, String> {
    let name = settings.ui.theme.as_str();
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
    let theme = match (no_colour, name, built_in) {
        (true, ..) => Theme::monochrome(),
        (_, "terminal", _) => Theme::colours(),
        (_, _, Some((name, text))) => styled(text, &PathBuf::from(*name))?,
        _ => {
            let file = config.parent().unwrap_or(Path::new("")).join(name);
            let text = std::fs::read_to_string(&file).map_err(|e| {
                let known: Vec<_> = BUILT_IN.iter().map(|(name, _)| *name).collect();
                format!(
                    "the theme {} cannot be read ({e}); use terminal, {}, or a file beside {}",
                    file.display(),
                    known.join(", "),
                    config.display()
                )
            })?;
            styled(&text, &file)?
        }
    };
    let ascii = match settings.ui.glyphs {
        GlyphSet::Auto => !Theme::speaks_unicode(),
        GlyphSet::Unicode => false,
        GlyphSet::Ascii => true,
    };
    Ok(if ascii { theme.ascii() } else { theme })
}

/// A theme from the text of its file. What it does not name is as in the terminal's own.
fn styled(text: &str, path: &Path) -> Result<Theme, String> {
    let lines: BTreeMap<String, toml::Spanned<String>> = toml::from_str(text)
        .map_err(|e| format!("{}, {}", path.display(), toml_fault(text, &e)))?;
    let mut theme = Theme::colours();
    for (name, value) in &lines {
        let place = || {
            let (line, column) = crate::engine::config::line_and_column(text, value.span().start);
            format!("{}, line {line}, column {column}", path.display())
        };
        let style = style(value.get_ref()).map_err(|word| {
            format!("{}: {word:?} is no colour and no modifier; write such as `red`, `#88c0d0`, `white on blue`, `bold`", place())
        })?;
        let Some(slot) = theme.slot(name) else {
            return Err(format!(
                "{}: a theme has no `{name}`; it has {}",
                place(),
                Theme::SLOTS.join(", ")
            ));
        };
        *slot = style;
    }
    // The background is laid once; what lies on it must not cover a selection.
    let background = theme.text.bg;
    for name in Theme::SLOTS.iter().filter(|name| **name != "text") {
        if let Some(slot) = theme.slot(name).filter(|s| s.bg == background) {
            slot.bg = None;
        }
    }
    Ok(theme)
}

/// Reads `white on blue bold`; the error is the word that means nothing.
fn style(text: &str) -> Result<Style, String> {
    let mut style = Style::new();
    let mut background = false;
    for word in text.split_whitespace() {
        let modifier = match word {
            "on" => {
                background = true;
                continue;
            }
            "bold" => Some(Modifier::BOLD),
            "dim" => Some(Modifier::DIM),
            "italic" => Some(Modifier::ITALIC),
            "underlined" => Some(Modifier::UNDERLINED),
            "reversed" => Some(Modifier::REVERSED),
            _ => None,
        };
        if let Some(modifier) = modifier {
            style = style.add_modifier(modifier);
            continue;
        }
        let colour = match word {
            "default" => Color::Reset,
            word => Color::from_str(word).map_err(|_| word.to_owned())?,
        };
        style = match std::mem::take(&mut background) {
            true => style.bg(colour),
            false => style.fg(colour),
        };
    }
    Ok(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_theme_that_comes_along_is_whole() {
        for (name, text) in BUILT_IN {
            styled(text, Path::new(name)).unwrap();
            for slot in Theme::SLOTS {
                assert!(text.contains(&format!("\n{slot} = ")), "{name}: {slot}");
            }
        }
    }

    #[test]
    fn an_own_theme_is_a_file_and_its_faults_have_a_place() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("config.toml");
        std::fs::write(&config, "[ui]\ntheme = \"mine.toml\"\n").unwrap();
        let error = load(&config).unwrap_err();
        assert!(
            error.contains("mine.toml") && error.contains("high-contrast"),
            "{error}"
        );
        let write = |text: &str| std::fs::write(dir.path().join("mine.toml"), text).unwrap();
        write("bad = \"red on white bold\"\n");
        let (_, theme) = load(&config).unwrap();
        assert_eq!(theme.bad.bg, Some(Color::White));
        write("bad = \"rouge\"\n");
        let error = load(&config).unwrap_err();
        assert!(
            error.contains("line 1, column 7") && error.contains("rouge"),
            "{error}"
        );
        write("worse = \"red\"\n");
        assert!(load(&config).unwrap_err().contains("no `worse`"));
    }
}
