//! Writing an agent's hook settings: what is there stays, ours is added once.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// The events invar wants from Claude Code, and within how many seconds each is answered.
const CLAUDE_EVENTS: [(&str, u32); 10] = [
    ("PreToolUse", 20),
    ("PostToolUse", 20),
    ("PostToolUseFailure", 20),
    ("PostToolBatch", 20),
    ("UserPromptSubmit", 20),
    ("SessionStart", 20),
    ("SessionEnd", 10),
    ("Stop", 20),
    ("SubagentStop", 20),
    ("ConfigChange", 10),
];

/// Why settings could not be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}, {fault}; mend the file by hand first, nothing was changed", path.display())]
pub struct SettingsError {
    pub path: PathBuf,
    pub fault: String,
}

/// The settings file of Claude Code in a home or project folder.
pub fn claude_settings(folder: &Path) -> PathBuf {
    folder.join(".claude/settings.json")
}

/// Whether Claude Code's settings files run invar before each action, and what in them switches
/// all hooks off. Files that are not there or no JSON count for nothing, as for the agent.
pub fn claude_guard(home: Option<&Path>, project: &Path) -> (bool, Option<String>) {
    let mut files = vec![
        claude_settings(project),
        project.join(".claude/settings.local.json"),
    ];
    files.extend(home.map(claude_settings));
    let (mut hooked, mut fault) = (false, None);
    for path in files {
        let Some(settings) = std::fs::read(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
        else {
            continue;
        };
        let before = settings
            .pointer("/hooks/PreToolUse")
            .and_then(Value::as_array);
        hooked |= before.is_some_and(|list| list.iter().any(is_ours));
        if settings.get("disableAllHooks") == Some(&Value::Bool(true)) {
            fault = Some(format!("`disableAllHooks` is on in {}", path.display()));
        }
    }
    (hooked, fault)
}

/// The settings with invar's hooks in them. The same text comes back when they are there.
///
/// # Errors
/// Settings that are no JSON object, or hooks of another shape.
pub fn with_hooks(text: &str, path: &Path, binary: &Path) -> Result<String, SettingsError> {
    let mut settings = parse(text, path)?;
    let before = settings.clone();
    let hooks = object(&mut settings, "hooks", path)?;
    for (event, timeout) in CLAUDE_EVENTS {
        let entry = json!({
            "hooks": [{
                "type": "command",
                "command": command_line(binary),
                "timeout": timeout,
                "onFailure": "block",
            }]
        });
        let list = hooks.entry(event).or_insert_with(|| json!([]));
        let Value::Array(list) = list else {
            return Err(fault(path, &format!("hooks.{event} is not a list")));
        };
        match list.iter_mut().find(|e| is_ours(e)) {
            Some(ours) => *ours = entry,
            None => list.push(entry),
        }
    }
    Ok(if settings == before && !text.trim().is_empty() {
        text.to_owned()
    } else {
        print(&settings)
    })
}

/// The settings without invar's hooks; lists and objects that this leaves empty go too.
///
/// # Errors
/// Settings that are no JSON object.
pub fn without_hooks(text: &str, path: &Path) -> Result<String, SettingsError> {
    let mut settings = parse(text, path)?;
    let before = settings.clone();
    if let Some(Value::Object(hooks)) = settings.get_mut("hooks") {
        for list in hooks.values_mut().filter_map(Value::as_array_mut) {
            list.retain(|entry| !is_ours(entry));
        }
        hooks.retain(|_, list| list.as_array().is_none_or(|l| !l.is_empty()));
        if hooks.is_empty() {
            settings.shift_remove("hooks");
        }
    }
    Ok(if settings == before {
        text.to_owned()
    } else {
        print(&settings)
    })
}

fn parse(text: &str, path: &Path) -> Result<Map<String, Value>, SettingsError> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(fault(path, "it is not a JSON object")),
        Err(e) => Err(fault(
            path,
            &format!("line {}, column {}: {e}", e.line(), e.column()),
        )),
    }
}

fn fault(path: &Path, fault: &str) -> SettingsError {
    SettingsError {
        path: path.to_owned(),
        fault: fault.to_owned(),
    }
}

fn object<'a>(
    map: &'a mut Map<String, Value>,
    name: &str,
    path: &Path,
) -> Result<&'a mut Map<String, Value>, SettingsError> {
    match map.entry(name).or_insert_with(|| json!({})) {
        Value::Object(inner) => Ok(inner),
        _ => Err(fault(path, &format!("{name} is not an object"))),
    }
}

/// One line for a shell, which every version of the agent takes; older ones know no `args`.
fn command_line(binary: &Path) -> String {
    let path = binary.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    let quoted = match path.chars().all(plain) {
        true => path.into_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    };
    format!("{quoted} hook claude-code")
}

/// An entry that runs `… hook claude-code`, wherever the binary lies.
fn is_ours(entry: &Value) -> bool {
    let hooks = entry.get("hooks").and_then(Value::as_array);
    hooks.into_iter().flatten().any(|hook| {
        let command = hook
            .get("command")
            .and_then(Value::as_str)
            .unwrap_or_default();
        command
            .strip_suffix(" hook claude-code")
            .is_some_and(|binary| {
                let binary = binary.trim_matches('\'');
                Path::new(binary)
                    .file_name()
                    .is_some_and(|name| name == "invar")
            })
    })
}

fn print(settings: &Map<String, Value>) -> String {
    // A map of strings, numbers, lists and maps always prints.
    let mut text = serde_json::to_string_pretty(settings).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(text: &str) -> String {
        with_hooks(text, Path::new("settings.json"), Path::new("/opt/invar")).unwrap()
    }

    #[test]
    fn what_is_there_stays_and_ours_is_added_once() {
        let own = "{\n  \"model\": \"x\",\n  \"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}]}\n}\n";
        let once = install(own);
        let value: Value = serde_json::from_str(&once).unwrap();
        assert_eq!(value["model"], "x");
        assert_eq!(
            value["hooks"]["PreToolUse"][0]["hooks"][0]["command"],
            "mine"
        );
        let ours = &value["hooks"]["PreToolUse"][1]["hooks"][0];
        assert_eq!(
            (&ours["command"], &ours["onFailure"]),
            (&json!("/opt/invar hook claude-code"), &json!("block"))
        );
        assert_eq!(install(&once), once, "a second time changes nothing");
        let removed = without_hooks(&once, Path::new("s")).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&removed).unwrap(),
            serde_json::from_str::<Value>(own).unwrap()
        );
    }

    #[test]
    fn the_settings_tell_whether_they_run_invar() {
        let dir = tempfile::tempdir().unwrap();
        let (home, project) = (dir.path().join("home"), dir.path().join("w"));
        let guard = || claude_guard(Some(&home), &project);
        assert_eq!(guard(), (false, None));
        for (folder, text) in [(&home, install("")), (&project, "{no json".to_owned())] {
            std::fs::create_dir_all(folder.join(".claude")).unwrap();
            std::fs::write(claude_settings(folder), text).unwrap();
        }
        assert_eq!(guard(), (true, None));
        let local = project.join(".claude/settings.local.json");
        std::fs::write(local, "{\"disableAllHooks\": true}").unwrap();
        let (hooked, fault) = guard();
        assert!(hooked && fault.unwrap().contains("settings.local.json"));
    }

    #[test]
    fn a_moved_binary_replaces_the_old_entry() {
        let text = with_hooks(&install(""), Path::new("s"), Path::new("/new/invar")).unwrap();
        assert!(!text.contains("/opt/invar"));
        assert_eq!(text.matches("/new/invar").count(), CLAUDE_EVENTS.len());
        assert_eq!(without_hooks(&text, Path::new("s")).unwrap(), "{}\n");
    }

    #[test]
    fn a_path_with_spaces_is_quoted_for_the_shell() {
        let text = with_hooks("", Path::new("s"), Path::new("/my tools/it's/invar")).unwrap();
        assert!(
            text.contains(r"'/my tools/it'\\''s/invar' hook claude-code"),
            "{text}"
        );
        assert_eq!(without_hooks(&text, Path::new("s")).unwrap(), "{}\n");
    }

    #[test]
    fn settings_that_are_no_json_are_left_alone() {
        for (text, part) in [
            ("{,}", "line 1"),
            ("[]", "not a JSON object"),
            ("{\"hooks\": 3}", "hooks is not"),
        ] {
            let error = with_hooks(text, Path::new("s.json"), Path::new("/opt/invar")).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
