//! An agent's hook settings: what is there stays as it is written, ours is added once. What is
//! added lies in `assets/agents/`, one template per agent.

use std::path::{Path, PathBuf};

use jsonc_parser::{
    ParseOptions,
    cst::{CstArray, CstInputValue, CstNode, CstRootNode},
};
use serde_json::Value;

use super::dialect::Agent;
use crate::model::{Problem, error_by_problem};

/// What stands for the binary in a template.
const MARK: &str = "{{INVAR}}";

/// How a plugin of ours begins.
const PLUGIN: &str = "// invar's guard for ";

/// Where an agent's settings lie and what is added to them.
#[derive(Debug, Clone, Copy)]
pub struct Install {
    /// Below the home folder.
    pub user: &'static str,
    /// A variable that moves the folder of the settings, and what lies in it.
    pub home_variable: Option<(&'static str, &'static str)>,
    /// Below the project's folder.
    pub project: &'static str,
    pub template: &'static str,
    pub form: Form,
    /// What a person has to do, or know, after it was written.
    pub after: &'static str,
}

/// How the template gets into the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// JSON; the entries of its lists are added to the lists that are there.
    Merged,
    /// A plugin: a whole file of ours.
    Whole,
}

/// Why settings could not be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    pub path: PathBuf,
    pub fault: String,
}

error_by_problem!(SettingsError);

impl SettingsError {
    /// What is wrong with which file, and what to do.
    pub fn problem(&self) -> Problem {
        Problem::new(format!("{}, {}", self.path.display(), self.fault))
            .hint("mend the file by hand first, nothing was changed")
    }
}

impl Install {
    /// The settings of a person; `variable` looks up the environment.
    pub fn user_path(&self, home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> PathBuf {
        let moved = self.home_variable.and_then(|(name, rest)| {
            let folder = variable(name).filter(|f| f.is_absolute())?;
            Some(folder.join(rest))
        });
        moved.unwrap_or_else(|| home.join(self.user))
    }

    /// The settings of a project.
    pub fn project_path(&self, project: &Path) -> PathBuf {
        project.join(self.project)
    }
}

/// The settings with invar's hooks in them; the same text comes back when they are there.
///
/// # Errors
/// An agent without settings of this kind, settings that are no JSON object, hooks of another
/// shape, a file in the place of our plugin.
pub fn with_hooks(
    agent: &Agent,
    text: &str,
    path: &Path,
    binary: &Path,
) -> Result<String, SettingsError> {
    let fault = |what: String| SettingsError {
        path: path.to_owned(),
        fault: what,
    };
    let Some(install) = agent.install else {
        return Err(fault(format!(
            "{} has no settings of this kind",
            agent.title
        )));
    };
    if install.form == Form::Whole {
        if !text.trim().is_empty() && !text.starts_with(PLUGIN) {
            return Err(fault("it is a file of somebody else".into()));
        }
        let quoted = Value::from(binary.to_string_lossy().into_owned()).to_string();
        return Ok(install.template.replace(MARK, &quoted));
    }
    let template: Value = serde_json::from_str(install.template)
        .map_err(|e| fault(format!("the template of {} is broken: {e}", agent.name)))?;
    let command = quoted_for_shell(binary);
    let root = parse(text, path)?;
    let object = root
        .object_value_or_create()
        .ok_or_else(|| fault("it is not a JSON object".into()))?;
    for (key, value) in template.as_object().into_iter().flatten() {
        if key != "hooks" && object.get(key).is_none() {
            object.append(key, input(value, &command));
        }
    }
    let hooks = object
        .object_value_or_create("hooks")
        .ok_or_else(|| fault("hooks is not an object".into()))?;
    for (event, entries) in template["hooks"].as_object().into_iter().flatten() {
        let list = hooks
            .array_value_or_create(event)
            .ok_or_else(|| fault(format!("hooks.{event} is not a list")))?;
        for entry in entries.as_array().into_iter().flatten() {
            put(&list, agent, filled(entry, &command));
        }
    }
    Ok(finished(&root, text))
}

/// The settings without invar's hooks; lists and objects that this leaves empty go too. Nothing
/// at all is left of a plugin.
///
/// # Errors
/// Settings that are no JSON object.
pub fn without_hooks(agent: &Agent, text: &str, path: &Path) -> Result<String, SettingsError> {
    if agent.install.is_some_and(|i| i.form == Form::Whole) {
        return Ok(match text.starts_with(PLUGIN) {
            true => String::new(),
            false => text.to_owned(),
        });
    }
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let root = parse(text, path)?;
    let Some(object) = root.object_value() else {
        return Err(SettingsError {
            path: path.to_owned(),
            fault: "it is not a JSON object".into(),
        });
    };
    let Some(hooks) = object.object_value("hooks") else {
        return Ok(text.to_owned());
    };
    let mut changed = false;
    for property in hooks.properties() {
        let Some(list) = property.array_value() else {
            continue;
        };
        for element in list.elements() {
            if is_ours(agent, &element.to_serde_value().unwrap_or_default()) {
                element.remove();
                changed = true;
            }
        }
        if changed && list.elements().is_empty() {
            property.remove();
        }
    }
    if !changed {
        return Ok(text.to_owned());
    }
    if hooks.properties().is_empty()
        && let Some(property) = object.get("hooks")
    {
        property.remove();
    }
    Ok(finished(&root, text))
}

/// The command lines in settings that run invar for the agent, each with its event.
pub fn commands(agent: &Agent, text: &str) -> Vec<(String, String)> {
    if text.starts_with(PLUGIN) {
        let told = text
            .lines()
            .find_map(|line| line.strip_prefix("const INVAR = "));
        let binary: Option<String> = told.and_then(|json| serde_json::from_str(json).ok());
        let line = |binary: String| {
            format!(
                "{} hook {}",
                quoted_for_shell(Path::new(&binary)),
                agent.name
            )
        };
        return binary
            .map(line)
            .map(|l| ("plugin".to_owned(), l))
            .into_iter()
            .collect();
    }
    let root = CstRootNode::parse(text, &options());
    let value = root
        .ok()
        .and_then(|r| r.to_serde_value())
        .unwrap_or_default();
    let mut found = Vec::new();
    for (event, list) in value["hooks"].as_object().into_iter().flatten() {
        for entry in list.as_array().into_iter().flatten() {
            let ours = strings(entry)
                .into_iter()
                .filter(|s| is_our_command(agent, s));
            found.extend(ours.map(|line| (event.clone(), line.to_owned())));
        }
    }
    found
}

/// The events whose hooks the template asks for.
pub fn events(agent: &Agent) -> Vec<String> {
    let Some(install) = agent.install.filter(|i| i.form == Form::Merged) else {
        return Vec::new();
    };
    let template: Value = serde_json::from_str(install.template).unwrap_or_default();
    let hooks = template["hooks"].as_object();
    hooks
        .into_iter()
        .flatten()
        .map(|(event, _)| event.clone())
        .collect()
}

/// Whether Claude Code's settings files run invar before each action, and what in them switches
/// all hooks off. Files that are not there or no JSON count for nothing, as for the agent.
pub fn claude_guard(home: Option<&Path>, project: &Path) -> (bool, Option<String>) {
    let agent = &super::claude_code::CLAUDE_CODE;
    let shared = ".claude/settings.json";
    let mut files = vec![
        project.join(shared),
        project.join(".claude/settings.local.json"),
    ];
    files.extend(home.map(|home| home.join(shared)));
    let (mut hooked, mut fault) = (false, None);
    for path in files {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let Ok(settings) = serde_json::from_str::<Value>(&text) else {
            continue;
        };
        let before = settings
            .pointer("/hooks/PreToolUse")
            .and_then(Value::as_array);
        hooked |= before.is_some_and(|list| list.iter().any(|entry| is_ours(agent, entry)));
        if settings.get("disableAllHooks") == Some(&Value::Bool(true)) {
            fault = Some(format!("`disableAllHooks` is on in {}", path.display()));
        }
    }
    (hooked, fault)
}

/// What the agents allow in their settings: comments and trailing commas, nothing looser.
fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        ..ParseOptions::default()
    }
}

fn parse(text: &str, path: &Path) -> Result<CstRootNode, SettingsError> {
    CstRootNode::parse(text, &options()).map_err(|e| SettingsError {
        path: path.to_owned(),
        fault: e.to_string(),
    })
}

/// Puts an entry into a list, in the place of an older one of ours.
fn put(list: &CstArray, agent: &Agent, entry: Value) {
    let ours: Vec<CstNode> = list
        .elements()
        .into_iter()
        .filter(|e| is_ours(agent, &e.to_serde_value().unwrap_or_default()))
        .collect();
    let there = |e: &CstNode| e.to_serde_value().as_ref() == Some(&entry);
    if ours.len() == 1 && ours.iter().all(there) {
        return;
    }
    ours.into_iter().for_each(CstNode::remove);
    list.ensure_multiline();
    list.append(input(&entry, ""));
}

/// The text of the tree, with a line end when it is new.
fn finished(root: &CstRootNode, before: &str) -> String {
    let mut text = root.to_string();
    if before.trim().is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn filled(value: &Value, command: &str) -> Value {
    match value {
        Value::String(text) => text.replace(MARK, command).into(),
        Value::Array(items) => items.iter().map(|i| filled(i, command)).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), filled(value, command)))
                .collect(),
        ),
        other => other.clone(),
    }
}

fn input(value: &Value, command: &str) -> CstInputValue {
    match filled(value, command) {
        Value::Null => CstInputValue::Null,
        Value::Bool(b) => CstInputValue::Bool(b),
        Value::Number(n) => CstInputValue::Number(n.to_string()),
        Value::String(s) => CstInputValue::String(s),
        Value::Array(items) => {
            CstInputValue::Array(items.iter().map(|i| input(i, command)).collect())
        }
        Value::Object(fields) => CstInputValue::Object(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), input(value, command)))
                .collect(),
        ),
    }
}

/// One word for a shell, which every version of every agent takes.
fn quoted_for_shell(binary: &Path) -> String {
    let path = binary.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    match path.chars().all(plain) {
        true => path.into_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

/// All texts in a value.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// An entry that runs `… hook <agent>`, wherever the binary lies.
fn is_ours(agent: &Agent, entry: &Value) -> bool {
    strings(entry)
        .iter()
        .any(|text| is_our_command(agent, text))
}

fn is_our_command(agent: &Agent, text: &str) -> bool {
    let binary = text
        .strip_suffix(agent.name)
        .and_then(|t| t.strip_suffix(" hook "));
    binary.is_some_and(|binary| {
        let name = Path::new(binary.trim_matches('\'')).file_name();
        name.is_some_and(|name| name == "invar")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::{agent, all};

    fn install(name: &str, text: &str, binary: &str) -> String {
        let agent = agent(name).unwrap();
        with_hooks(agent, text, Path::new("s.json"), Path::new(binary)).unwrap()
    }

    fn uninstall(name: &str, text: &str) -> String {
        without_hooks(agent(name).unwrap(), text, Path::new("s.json")).unwrap()
    }

    const OWN: &str = "{\n    // mine\n    \"model\": \"x\",   \"n\": 1.50,\n    \"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}]}\n}\n";

    #[test]
    fn what_is_there_stays_as_it_is_written_and_ours_is_added_once() {
        let once = install("claude-code", OWN, "/opt/invar");
        for kept in [
            "    // mine\n",
            "\"model\": \"x\",   \"n\": 1.50,",
            "\"command\": \"mine\"",
        ] {
            assert!(once.contains(kept), "{kept}\n{once}");
        }
        assert_eq!(
            once.matches("/opt/invar hook claude-code").count(),
            10,
            "{once}"
        );
        assert!(once.contains("\"onFailure\": \"block\""));
        assert_eq!(
            install("claude-code", &once, "/opt/invar"),
            once,
            "a second time changes nothing"
        );
        let moved = install("claude-code", &once, "/new/invar");
        assert!(!moved.contains("/opt/invar") && moved.contains("\"command\": \"mine\""));
        let gone = uninstall("claude-code", &moved);
        assert!(
            gone.contains("// mine") && gone.contains("\"command\": \"mine\""),
            "{gone}"
        );
        assert!(!gone.contains("invar"), "{gone}");
    }

    #[test]
    fn each_template_is_merged_found_again_and_taken_out() {
        for agent in all().filter(|a| a.install.is_some()) {
            let text = install(agent.name, "", "/my tools/it's/invar");
            let found = commands(agent, &text);
            assert!(!found.is_empty(), "{}: {text}", agent.name);
            for (_, line) in &found {
                assert_eq!(
                    *line,
                    format!(r"'/my tools/it'\''s/invar' hook {}", agent.name)
                );
            }
            let mut told: Vec<String> = found.into_iter().map(|(event, _)| event).collect();
            if agent.install.unwrap().form == Form::Merged {
                assert_eq!(told, events(agent), "{}", agent.name);
                told.retain(|event| !agent.events.iter().any(|(name, _)| name == event));
                assert!(
                    told.is_empty(),
                    "{} asks for events it does not read: {told:?}",
                    agent.name
                );
            }
            assert_eq!(install(agent.name, &text, "/my tools/it's/invar"), text);
            assert!(
                !uninstall(agent.name, &text).contains("hook"),
                "{}",
                agent.name
            );
        }
    }

    #[test]
    fn settings_of_another_shape_are_left_alone() {
        let agent = agent("claude-code").unwrap();
        for (text, part) in [
            ("{,}", "line 1"),
            ("[]", "not a JSON object"),
            ("{\"hooks\": 3}", "hooks is not"),
            (
                "{\"hooks\": {\"PreToolUse\": 3}}",
                "PreToolUse is not a list",
            ),
        ] {
            let error = with_hooks(agent, text, Path::new("s.json"), Path::new("/opt/invar"));
            let error = error.unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let plugin = super::super::agent("pi").unwrap();
        let error = with_hooks(
            plugin,
            "export default 1",
            Path::new("i.ts"),
            Path::new("/i"),
        );
        assert!(error.unwrap_err().to_string().contains("somebody else"));
    }

    #[test]
    fn the_settings_tell_whether_they_run_invar() {
        let dir = tempfile::tempdir().unwrap();
        let (home, project) = (dir.path().join("home"), dir.path().join("w"));
        let guard = || claude_guard(Some(&home), &project);
        assert_eq!(guard(), (false, None));
        let ours = install("claude-code", "", "/opt/invar");
        for (folder, text) in [(&home, ours), (&project, "{no json".to_owned())] {
            std::fs::create_dir_all(folder.join(".claude")).unwrap();
            std::fs::write(folder.join(".claude/settings.json"), text).unwrap();
        }
        assert_eq!(guard(), (true, None));
        let local = project.join(".claude/settings.local.json");
        std::fs::write(local, "{\"disableAllHooks\": true}").unwrap();
        let (hooked, fault) = guard();
        assert!(hooked && fault.unwrap().contains("settings.local.json"));
    }
}
