//! The helper for HTTP judges: the question on stdin, the answer on stdout, as JSON. It speaks
//! OpenAI's chat completions and Anthropic's messages, without streaming. Keys stay in this
//! process, and the hook's program carries no TLS.

use std::{
    io::{self, Read, Write},
    time::Duration,
};

use invar_model::HttpSettings;
use serde_json::{Value, json};

/// The most that is read of a question and of an answer.
const MAX: u64 = 8 << 20;

/// The first pause before a call is tried again; each one is twice as long.
const PAUSE: Duration = Duration::from_millis(200);

const API_VERSION: &str = "2023-06-01";

fn main() {
    let answer = answer().unwrap_or_else(|error| json!({"error": error}));
    // When nobody reads it, there is nobody to tell.
    let _ = writeln!(io::stdout(), "{answer}");
}

fn answer() -> Result<Value, String> {
    let mut text = Vec::new();
    io::stdin()
        .take(MAX)
        .read_to_end(&mut text)
        .map_err(|e| format!("the question cannot be read: {e}"))?;
    let question: Value =
        serde_json::from_slice(&text).map_err(|e| format!("the question is not JSON: {e}"))?;
    let settings: HttpSettings = serde_json::from_value(question["http"].clone())
        .map_err(|e| format!("the question has no usable `http`: {e}"))?;
    let prompt = question["prompt"]
        .as_str()
        .ok_or("the question has no prompt")?;
    let key = key(&settings)?;
    let call = match settings.kind.as_str() {
        "openai" => openai(&settings, prompt, key.as_deref()),
        "anthropic" => anthropic(&settings, prompt, key.as_deref()),
        other => return Err(format!("the kind {other:?} is no HTTP judge")),
    };
    let reply = post(&call, &settings)?;
    match settings.kind.as_str() {
        "openai" => read_openai(&reply),
        _ => read_anthropic(&reply),
    }
}

struct Call {
    url: String,
    headers: Vec<(&'static str, String)>,
    body: Value,
}

fn key(settings: &HttpSettings) -> Result<Option<String>, String> {
    if settings.key_variable.is_empty() {
        return Ok(None);
    }
    match std::env::var(&settings.key_variable) {
        Ok(key) if !key.is_empty() => Ok(Some(key)),
        _ => Err(format!(
            "the variable {} that holds the key is not set where invar runs",
            settings.key_variable
        )),
    }
}

fn base(settings: &HttpSettings, usual: &str) -> String {
    let base = match settings.base_url.as_str() {
        "" => usual,
        base => base,
    };
    base.trim_end_matches('/').to_owned()
}

fn openai(settings: &HttpSettings, prompt: &str, key: Option<&str>) -> Call {
    let bearer = key.map(|key| ("authorization", format!("Bearer {key}")));
    Call {
        url: format!(
            "{}/chat/completions",
            base(settings, "https://api.openai.com/v1")
        ),
        headers: bearer.into_iter().collect(),
        body: json!({
            "model": settings.model,
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": settings.max_tokens,
            "temperature": 0,
            "stream": false,
            "response_format": {"type": "json_object"},
        }),
    }
}

fn anthropic(settings: &HttpSettings, prompt: &str, key: Option<&str>) -> Call {
    let mut headers = vec![("anthropic-version", API_VERSION.to_owned())];
    headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
    let base = base(settings, "https://api.anthropic.com");
    Call {
        url: format!("{}/v1/messages", base.trim_end_matches("/v1")),
        headers,
        body: json!({
            "model": settings.model,
            "max_tokens": settings.max_tokens,
            "messages": [{"role": "user", "content": prompt}],
            "tools": [{
                "name": "verdict",
                "description": "Give the verdict on the clause.",
                "input_schema": {
                    "type": "object",
                    "properties": {
                        "verdict": {"type": "string", "enum": ["holds", "broken"]},
                        "reason": {"type": "string"},
                    },
                    "required": ["verdict", "reason"],
                },
            }],
            "tool_choice": {"type": "tool", "name": "verdict"},
        }),
    }
}

/// Sends the call; again, with growing pauses, when the connection failed and not when the
/// endpoint answered.
fn post(call: &Call, settings: &HttpSettings) -> Result<Value, String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_secs(
            settings.timeout_seconds.max(1).into(),
        )))
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .into();
    let body = call.body.to_string();
    let mut pause = PAUSE;
    let mut tries = 0;
    loop {
        let mut request = agent
            .post(&call.url)
            .header("content-type", "application/json");
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        match request.send(body.as_bytes()) {
            Ok(mut reply) => {
                let status = reply.status().as_u16();
                let text = reply
                    .body_mut()
                    .with_config()
                    .limit(MAX)
                    .read_to_string()
                    .map_err(|e| format!("{} broke off: {e}", call.url))?;
                if !(200..300).contains(&status) {
                    let start: String = text.chars().take(300).collect();
                    return Err(format!("{} answered {status}: {start}", call.url));
                }
                return serde_json::from_str(&text)
                    .map_err(|e| format!("{} answered with no JSON: {e}", call.url));
            }
            Err(error) if tries >= settings.retries => {
                return Err(format!("{} cannot be reached: {error}", call.url));
            }
            Err(_) => {
                tries += 1;
                std::thread::sleep(pause);
                pause *= 2;
            }
        }
    }
}

/// The verdict that a model wrote as text; nothing but one object is read.
fn verdict_in(text: &str) -> Result<Value, String> {
    let bare = text.trim();
    let bare = bare
        .strip_prefix("```json")
        .or_else(|| bare.strip_prefix("```"))
        .unwrap_or(bare);
    let bare = bare.strip_suffix("```").unwrap_or(bare);
    serde_json::from_str(bare.trim())
        .map_err(|e| format!("the model did not answer with one JSON object: {e}"))
}

fn with_usage(verdict: &Value, input: &Value, output: &Value) -> Value {
    json!({
        "verdict": verdict["verdict"], "reason": verdict["reason"],
        "input_tokens": input.as_u64(), "output_tokens": output.as_u64(),
    })
}

fn read_openai(reply: &Value) -> Result<Value, String> {
    let message = &reply["choices"][0]["message"];
    if let Some(refusal) = message["refusal"].as_str() {
        return Err(format!("the model refused: {refusal}"));
    }
    let text = message["content"]
        .as_str()
        .ok_or("the answer has no message of the model")?;
    let usage = &reply["usage"];
    Ok(with_usage(
        &verdict_in(text)?,
        &usage["prompt_tokens"],
        &usage["completion_tokens"],
    ))
}

fn read_anthropic(reply: &Value) -> Result<Value, String> {
    if reply["stop_reason"] == "refusal" {
        return Err("the model refused".into());
    }
    let content = reply["content"]
        .as_array()
        .ok_or("the answer has no content")?;
    let used = content
        .iter()
        .find(|part| part["type"] == "tool_use" && part["name"] == "verdict");
    let verdict = match used {
        Some(part) => part["input"].clone(),
        None => {
            let text = content.iter().find_map(|part| part["text"].as_str());
            verdict_in(text.ok_or("the answer holds no verdict")?)?
        }
    };
    let usage = &reply["usage"];
    Ok(with_usage(
        &verdict,
        &usage["input_tokens"],
        &usage["output_tokens"],
    ))
}
