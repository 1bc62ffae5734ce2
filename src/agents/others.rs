//! Agents whose hooks are known from their documentation or from what others report, and that
//! nobody has run with invar: a table each, and the forms that they share with others.

use serde_json::{Map, Value, json};

use super::{
    answers::{
        Say, by_exit_code, decision, denies_by_decision, denies_by_exit, denies_like_claude,
        json_answer, like_claude, parsed, refuse_by_exit, say,
    },
    capabilities::{Capabilities, Evidence, Fails, Halts, Known},
    claude_code::CLAUDE_CODE,
    dialect::{Agent, COMMON, Fields, HookAnswer, Moment, Occasion, OwnPlaces, Refusal},
    settings::{Form, Install},
    tools::{SHELL, Tool},
};
use crate::engine::requests::HookReply;

/// What is assumed of an agent that nobody has run.
const THIN: Capabilities = Capabilities {
    can_halt: Halts::ByDenial,
    can_ask: false,
    reason_reaches_model: Known::Yes,
    on_crash: Fails::Open,
    on_timeout: Fails::Open,
    covers_mcp: Known::Yes,
    covers_subagents: Known::Unknown,
    has_call_id: true,
    tells_end: true,
    steers_unseen: false,
    hears_at: &[],
    evidence: Evidence::Documented,
    gaps: &["nobody has run it with invar yet"],
};

/// Factory's droid; two versions spell the fields differently.
pub static FACTORY_DROID: Agent = Agent {
    name: "factory-droid",
    title: "Factory droid",
    project_dir_variables: &["FACTORY_PROJECT_DIR"],
    pid_variable: None,
    process_names: &["droid"],
    own_places: OwnPlaces::NONE,
    events: CLAUDE_LIKE,
    event_of: None,
    fields: Fields {
        event: &["/hook_event_name", "/hookEventName"],
        session: &["/session_id", "/sessionId"],
        mode: &["/permission_mode", "/permissionMode"],
        ..COMMON
    },
    tools: &[
        ("Execute", SHELL),
        ("Bash", SHELL),
        ("Create", Tool::Change(&["file_path"])),
        ("Write", Tool::Change(&["file_path"])),
        ("Edit", Tool::Change(&["file_path"])),
        ("MultiEdit", Tool::Edits(&["file_path"])),
        ("ApplyPatch", Tool::Patch(&["input", "patch"])),
        ("Read", Tool::Read(&["file_path"])),
        ("LS", Tool::Read(&["path"])),
        ("Grep", Tool::Read(&["path"])),
        ("Glob", Tool::Read(&["path"])),
        ("Task", Tool::Spawn),
        ("TodoWrite", Tool::Harmless),
        ("WebSearch", Tool::Harmless),
        ("FetchUrl", Tool::Harmless),
    ],
    capabilities: Capabilities {
        can_halt: Halts::Native,
        hears_at: &[Moment::SessionStart, Moment::Prompt],
        ..THIN
    },
    // Claude Code's answers, its halt included.
    answer: CLAUDE_CODE.answer,
    refuse: refuse_by_exit,
    denies: denies_like_claude,
    install: Some(Install {
        user: ".factory/settings.json",
        home_variable: None,
        project: ".factory/settings.json",
        template: include_str!("../../assets/agents/factory-droid.json"),
        form: Form::Merged,
        after: "sessions that start from now on ask it",
    }),
};

/// Goose from 1.38 on.
pub static GOOSE: Agent = Agent {
    name: "goose",
    title: "Goose",
    project_dir_variables: &[],
    pid_variable: None,
    process_names: &["goose"],
    own_places: OwnPlaces::NONE,
    events: &[
        ("PreToolUse", Moment::Before),
        // It comes besides the one above.
        ("BeforeShellExecution", Moment::Before),
        ("PostToolUse", Moment::After),
        ("PostToolUseFailure", Moment::After),
        ("UserPromptSubmit", Moment::Quiet),
        ("SessionStart", Moment::SessionStart),
        ("SessionEnd", Moment::SessionEnd),
        ("Stop", Moment::Stop),
        ("PreToolUseResult", Moment::Quiet),
        ("AfterShellExecution", Moment::Quiet),
    ],
    event_of: None,
    fields: Fields {
        event: &["/event"],
        cwd: &["/working_dir"],
        call: &["/tool_call_id"],
        subagent: &[],
        mode: &[],
        prompt: &["/message"],
        cwd_may_lack: true,
        ..COMMON
    },
    tools: &[
        ("developer__shell", SHELL),
        ("developer__write", Tool::Change(&["path"])),
        ("developer__edit", Tool::Change(&["path"])),
        ("developer__text_editor", Tool::Change(&["path"])),
        ("developer__tree", Tool::Read(&["path"])),
    ],
    capabilities: THIN,
    answer: goose_answer,
    refuse: refuse_by_exit,
    denies: denies_by_decision,
    install: None,
};

/// Windsurf's Cascade, now Devin Desktop: the event says what is done.
pub static WINDSURF: Agent = Agent {
    name: "windsurf",
    title: "Windsurf",
    project_dir_variables: &[],
    pid_variable: None,
    process_names: &["windsurf"],
    own_places: OwnPlaces::NONE,
    events: &[
        ("pre_write_code", Moment::Before),
        ("pre_run_command", Moment::Before),
        ("pre_mcp_tool_use", Moment::Before),
        ("pre_read_code", Moment::Before),
        ("pre_user_prompt", Moment::Prompt),
        ("post_write_code", Moment::After),
        ("post_run_command", Moment::After),
        ("post_mcp_tool_use", Moment::After),
        ("post_read_code", Moment::Quiet),
        ("post_cascade_response", Moment::Stop),
        ("post_cascade_response_with_transcript", Moment::Quiet),
        ("post_setup_worktree", Moment::Quiet),
    ],
    event_of: None,
    fields: Fields {
        event: &["/agent_action_name"],
        session: &["/trajectory_id"],
        cwd: &["/tool_info/cwd"],
        tool: &["/tool_info/mcp_tool_name"],
        input: &["/tool_info/mcp_tool_arguments", "/tool_info"],
        call: &[],
        subagent: &[],
        mode: &[],
        stamp: &["/timestamp"],
        prompt: &["/tool_info/user_prompt"],
        cwd_may_lack: true,
        ..COMMON
    },
    tools: &[
        ("pre_write_code", Tool::Change(&["file_path"])),
        ("post_write_code", Tool::Change(&["file_path"])),
        ("pre_read_code", Tool::Read(&["file_path"])),
        ("pre_run_command", WINDSURF_SHELL),
        ("post_run_command", WINDSURF_SHELL),
    ],
    capabilities: Capabilities {
        has_call_id: false,
        ..THIN
    },
    answer: by_exit_code,
    refuse: refuse_by_exit,
    denies: denies_by_exit,
    install: Some(Install {
        user: ".codeium/windsurf/hooks.json",
        home_variable: None,
        project: ".windsurf/hooks.json",
        template: include_str!("../../assets/agents/windsurf.json"),
        form: Form::Merged,
        after: "start it again, then it asks",
    }),
};

const WINDSURF_SHELL: Tool = Tool::Shell {
    command: &["command_line"],
    dir: &["cwd"],
    language: None,
};

/// Kiro CLI 2.x, which names no session.
pub static KIRO: Agent = Agent {
    name: "kiro",
    title: "Kiro CLI",
    project_dir_variables: &[],
    pid_variable: None,
    process_names: &["kiro-cli", "kiro"],
    own_places: OwnPlaces::NONE,
    events: &[
        ("preToolUse", Moment::Before),
        ("postToolUse", Moment::After),
        ("userPromptSubmit", Moment::Prompt),
        ("agentSpawn", Moment::SessionStart),
        ("stop", Moment::Stop),
    ],
    event_of: None,
    fields: Fields {
        session: &[],
        call: &[],
        subagent: &[],
        mode: &[],
        ..COMMON
    },
    tools: &[
        ("execute_bash", SHELL),
        ("execute_cmd", SHELL),
        ("shell", SHELL),
        ("fs_write", Tool::Change(&["path"])),
        ("write", Tool::Change(&["path"])),
        ("fs_read", Tool::Read(&["path", "operations"])),
        ("read", Tool::Read(&["path", "operations"])),
        ("use_subagent", Tool::Spawn),
        ("todo_list", Tool::Harmless),
    ],
    capabilities: Capabilities {
        has_call_id: false,
        covers_subagents: Known::No,
        gaps: &[
            "all its sessions in one folder count as one",
            "nobody has run it with invar yet",
        ],
        ..THIN
    },
    answer: by_exit_code,
    refuse: refuse_by_exit,
    denies: denies_by_exit,
    install: None,
};

/// Cline, in the editor and as a command; silence is no answer.
pub static CLINE: Agent = Agent {
    name: "cline",
    title: "Cline",
    project_dir_variables: &[],
    pid_variable: None,
    process_names: &["cline"],
    own_places: OwnPlaces::NONE,
    events: &[
        ("PreToolUse", Moment::Before),
        ("tool_call", Moment::Before),
        ("PostToolUse", Moment::After),
        ("UserPromptSubmit", Moment::Prompt),
        ("TaskStart", Moment::SessionStart),
        ("TaskResume", Moment::SessionStart),
        ("TaskCancel", Moment::SessionEnd),
        ("TaskComplete", Moment::Stop),
        ("PreCompact", Moment::Quiet),
    ],
    event_of: None,
    fields: Fields {
        event: &["/hookName"],
        session: &["/taskId"],
        cwd: &["/workspaceRoots/0"],
        project: &["/workspaceRoots/0"],
        tool: &[
            "/preToolUse/toolName",
            "/postToolUse/toolName",
            "/tool_call/name",
        ],
        input: &[
            "/preToolUse/parameters",
            "/postToolUse/parameters",
            "/tool_call/input",
        ],
        call: &["/tool_call/id"],
        subagent: &[],
        parent: &[],
        mode: &[],
        stamp: &["/timestamp"],
        prompt: &[],
        cwd_may_lack: true,
    },
    tools: &[
        ("execute_command", SHELL),
        (
            "run_commands",
            Tool::Shell {
                command: &["commands", "command"],
                dir: &[],
                language: None,
            },
        ),
        ("write_to_file", Tool::Change(&["path"])),
        ("replace_in_file", Tool::Change(&["path"])),
        ("editor", Tool::Change(&["path"])),
        ("apply_patch", Tool::Patch(&["input", "patch"])),
        ("read_file", Tool::Read(&["path"])),
        ("list_files", Tool::Read(&["path"])),
        ("search_files", Tool::Read(&["path"])),
        ("list_code_definition_names", Tool::Read(&["path"])),
        ("browser_action", Tool::Harmless),
        ("ask_followup_question", Tool::Harmless),
        ("attempt_completion", Tool::Harmless),
        ("new_task", Tool::Harmless),
        ("plan_mode_respond", Tool::Harmless),
    ],
    capabilities: THIN,
    answer: |_, reply| {
        json_answer(&match say(reply) {
            Say::Nothing | Say::Context(_) => json!({"cancel": false}),
            Say::Deny(reason) | Say::Halt(reason) => {
                json!({"cancel": true, "errorMessage": reason})
            }
        })
    },
    refuse: |refusal: &Refusal| {
        json_answer(&json!({"cancel": true, "errorMessage": refusal.reason}))
    },
    denies: |answer: &HookAnswer| parsed(answer)["cancel"] == true,
    install: None,
};

/// Grok CLI, which also runs Claude Code's and Cursor's hook files.
pub static GROK: Agent = Agent {
    name: "grok",
    title: "Grok CLI",
    project_dir_variables: &[],
    pid_variable: None,
    process_names: &["grok"],
    own_places: OwnPlaces::NONE,
    events: CLAUDE_LIKE,
    event_of: None,
    fields: Fields {
        event: &["/hookEventName", "/hook_event_name"],
        session: &["/sessionId", "/session_id"],
        project: &["/workspaceRoot"],
        tool: &["/toolName", "/tool_name"],
        input: &["/toolInput", "/tool_input"],
        call: &["/toolUseId", "/tool_use_id"],
        mode: &[],
        cwd_may_lack: true,
        ..COMMON
    },
    tools: &[
        ("run_terminal_cmd", SHELL),
        ("bash", SHELL),
        ("write", Tool::Change(&["path", "file_path"])),
        ("edit", Tool::Change(&["path", "file_path"])),
        ("search_replace", Tool::Change(&["path", "file_path"])),
        ("create_file", Tool::Change(&["path", "file_path"])),
        ("str_replace_editor", Tool::Change(&["path", "file_path"])),
        (
            "delete_file",
            Tool::Delete(&["path", "file_path", "target_file"]),
        ),
        (
            "read_file",
            Tool::Read(&["path", "file_path", "target_file"]),
        ),
        ("view_file", Tool::Read(&["path", "file_path"])),
    ],
    capabilities: Capabilities {
        // Only actions have a hook that can say no.
        tells_end: false,
        gaps: &[
            "its hooks have 5 seconds unless the settings say otherwise",
            "nobody has run it with invar yet",
        ],
        ..THIN
    },
    answer: |occasion, reply| decision("deny", occasion, reply),
    refuse: refuse_by_exit,
    denies: denies_by_decision,
    install: Some(Install {
        user: ".grok/hooks/invar.json",
        home_variable: None,
        project: ".grok/hooks/invar.json",
        template: include_str!("../../assets/agents/grok.json"),
        form: Form::Merged,
        after: "sessions that start from now on ask it; for a project, type /hooks-trust first",
    }),
};

/// Antigravity's `agy`, which takes silence for a denial and names no event.
pub static ANTIGRAVITY: Agent = Agent {
    name: "antigravity",
    title: "Antigravity CLI",
    project_dir_variables: &[],
    pid_variable: None,
    process_names: &["agy"],
    own_places: OwnPlaces::NONE,
    events: &[("PreToolUse", Moment::Before)],
    event_of: Some(|fields: &Map<String, Value>| {
        fields
            .contains_key("toolCall")
            .then(|| "PreToolUse".to_owned())
    }),
    fields: Fields {
        event: &["/hookEventName"],
        session: &["/conversationId"],
        cwd: &["/toolCall/args/Cwd"],
        project: &["/workspacePaths/0"],
        tool: &["/toolCall/name"],
        input: &["/toolCall/args"],
        call: &[],
        subagent: &[],
        parent: &[],
        mode: &[],
        stamp: &["/stepIdx"],
        prompt: &[],
        cwd_may_lack: true,
    },
    tools: &[
        (
            "run_command",
            Tool::Shell {
                command: &["CommandLine"],
                dir: &["Cwd"],
                language: None,
            },
        ),
        ("write_to_file", Tool::Change(&["TargetFile"])),
        ("replace_file_content", Tool::Change(&["TargetFile"])),
        ("multi_replace_file_content", Tool::Change(&["TargetFile"])),
        ("view_file", Tool::Read(&["AbsolutePath"])),
        ("list_dir", Tool::Read(&["DirectoryPath"])),
        ("invoke_subagent", Tool::Spawn),
    ],
    capabilities: Capabilities {
        on_crash: Fails::Closed,
        on_timeout: Fails::Closed,
        covers_subagents: Known::No,
        tells_end: false,
        has_call_id: false,
        evidence: Evidence::Reported,
        ..THIN
    },
    answer: |_, reply| {
        json_answer(&match say(reply) {
            Say::Nothing | Say::Context(_) => json!({"decision": "allow"}),
            Say::Deny(reason) | Say::Halt(reason) => {
                json!({"decision": "deny", "reason": reason})
            }
        })
    },
    refuse: |refusal: &Refusal| json_answer(&json!({"decision": "deny", "reason": refusal.reason})),
    denies: |answer: &HookAnswer| parsed(answer)["decision"] != "allow",
    install: None,
};

/// Amp, by a plugin of the person's own.
pub static AMP: Agent = Agent {
    name: "amp",
    title: "Amp",
    project_dir_variables: &[],
    pid_variable: None,
    process_names: &["amp"],
    own_places: OwnPlaces::NONE,
    events: &[("tool.call", Moment::Before)],
    event_of: None,
    fields: Fields {
        event: &["/event"],
        session: &["/thread/id"],
        cwd: &["/input/cwd"],
        project: &["/input/cwd"],
        tool: &["/tool"],
        input: &["/input"],
        call: &["/toolUseID"],
        subagent: &[],
        parent: &[],
        mode: &[],
        stamp: &[],
        prompt: &[],
        cwd_may_lack: true,
    },
    tools: &[
        (
            "Bash",
            Tool::Shell {
                command: &["cmd", "command"],
                dir: &["cwd"],
                language: None,
            },
        ),
        ("edit_file", Tool::Change(&["path"])),
        ("create_file", Tool::Change(&["path"])),
        ("undo_edit", Tool::Change(&["path"])),
        ("Read", Tool::Read(&["path"])),
        ("Task", Tool::Spawn),
    ],
    capabilities: Capabilities {
        tells_end: false,
        on_crash: Fails::Unknown,
        on_timeout: Fails::Unknown,
        evidence: Evidence::Reported,
        ..THIN
    },
    answer: |_, reply| {
        json_answer(&match say(reply) {
            Say::Nothing | Say::Context(_) => json!({"action": "allow"}),
            Say::Deny(reason) | Say::Halt(reason) => {
                json!({"action": "reject-and-continue", "message": reason})
            }
        })
    },
    refuse: |refusal: &Refusal| {
        json_answer(&json!({"action": "reject-and-continue", "message": refusal.reason}))
    },
    denies: |answer: &HookAnswer| parsed(answer)["action"] != "allow",
    install: None,
};

/// Kimi Code.
pub static KIMI_CODE: Agent = Agent {
    name: "kimi-code",
    title: "Kimi Code",
    project_dir_variables: &[],
    pid_variable: None,
    process_names: &["kimi"],
    own_places: OwnPlaces::NONE,
    events: CLAUDE_LIKE,
    event_of: None,
    fields: COMMON,
    tools: &[
        ("Shell", SHELL),
        ("Bash", SHELL),
        ("WriteFile", Tool::Change(&["path", "file_path"])),
        ("StrReplaceFile", Tool::Change(&["path", "file_path"])),
        ("ReadFile", Tool::Read(&["path", "file_path"])),
        ("Task", Tool::Spawn),
    ],
    capabilities: THIN,
    answer: like_claude,
    refuse: refuse_by_exit,
    denies: denies_like_claude,
    install: None,
};

/// The agent mode of VS Code.
pub static VSCODE_COPILOT: Agent = Agent {
    name: "vscode-copilot",
    title: "VS Code agent mode",
    project_dir_variables: &[],
    pid_variable: None,
    process_names: &["code"],
    own_places: OwnPlaces::NONE,
    events: CLAUDE_LIKE,
    event_of: None,
    fields: Fields {
        event: &["/hookEventName", "/hook_event_name"],
        session: &["/sessionId", "/session_id"],
        ..COMMON
    },
    tools: &[
        ("runInTerminal", SHELL),
        ("run_in_terminal", SHELL),
        ("runTerminalCommand", SHELL),
        ("editFiles", Tool::Change(&["files", "filePath"])),
        ("createFile", Tool::Change(&["filePath", "path"])),
        ("create_file", Tool::Change(&["filePath", "path"])),
        (
            "replace_string_in_file",
            Tool::Change(&["filePath", "path"]),
        ),
        ("insert_edit_into_file", Tool::Change(&["filePath", "path"])),
        ("apply_patch", Tool::Patch(&["input", "patch"])),
        ("read_file", Tool::Read(&["filePath", "path"])),
        ("runSubagent", Tool::Spawn),
    ],
    capabilities: THIN,
    answer: like_claude,
    refuse: refuse_by_exit,
    denies: denies_like_claude,
    install: None,
};

/// Claude Code's names of events.
const CLAUDE_LIKE: &[(&str, Moment)] = &[
    ("PreToolUse", Moment::Before),
    ("PostToolUse", Moment::After),
    ("PostToolUseFailure", Moment::After),
    ("UserPromptSubmit", Moment::Prompt),
    ("SessionStart", Moment::SessionStart),
    ("SessionEnd", Moment::SessionEnd),
    ("Stop", Moment::Stop),
    ("SubagentStop", Moment::SubagentStop),
    ("SubagentStart", Moment::Quiet),
    ("Notification", Moment::Quiet),
    ("PreCompact", Moment::Quiet),
];

fn goose_answer(occasion: &Occasion, reply: &HookReply) -> HookAnswer {
    match (say(reply), occasion.moment) {
        (Say::Nothing | Say::Context(_), Moment::Before) => {
            json_answer(&json!({"decision": "allow"}))
        }
        _ => decision("block", occasion, reply),
    }
}
