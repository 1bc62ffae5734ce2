//! Reading what an agent sends: JSON of unknown shape, from which named places are asked.

use serde_json::{Map, Value};

/// The object in a payload.
///
/// # Errors
/// A sentence: the input is empty, no JSON, or no object.
pub(super) fn object(payload: &[u8], agent: &str) -> Result<Map<String, Value>, String> {
    let payload = payload.strip_prefix(b"\xef\xbb\xbf").unwrap_or(payload);
    if payload.trim_ascii().is_empty() {
        return Err(format!(
            "the hook's input is empty; see that the agent runs `invar hook {agent}` with its JSON on stdin"
        ));
    }
    // Bytes that are not UTF-8 become marks, and the payload is decided nevertheless: a stray
    // byte must be no way around the guard.
    let text = String::from_utf8_lossy(payload);
    let value = serde_json::from_str(&text).or_else(|error| match whole_escapes(&text) {
        Some(mended) => serde_json::from_str(&mended).map_err(|_| error),
        None => Err(error),
    });
    match value {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("the hook's input is not a JSON object".into()),
        Err(e) => Err(format!("the hook's input is not JSON ({e})")),
    }
}

/// The text with each half of a surrogate pair that stands alone replaced by a mark: agents
/// written in JavaScript cut emoji in two. `None` when there is none.
fn whole_escapes(text: &str) -> Option<String> {
    let half = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut out, mut at, mut mended) = (String::with_capacity(text.len()), 0, false);
    while let Some(next) = text[at..].find('\\') {
        out.push_str(&text[at..at + next]);
        at += next;
        let (kept, len) = match (half(at), half(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (&text[at..at + 12], 12),
            (Some(0xD800..=0xDFFF), _) => ("\\ufffd", 6),
            // A backslash and what it escapes.
            _ => {
                let escaped = text[at + 1..].chars().next().map_or(0, char::len_utf8);
                (&text[at..at + 1 + escaped], 1 + escaped)
            }
        };
        mended |= kept == "\\ufffd";
        out.push_str(kept);
        at += len;
    }
    out.push_str(&text[at..]);
    mended.then_some(out)
}

/// The first of several places (JSON pointers) that holds something.
pub(super) fn find<'a>(fields: &'a Map<String, Value>, places: &[&str]) -> Option<&'a Value> {
    places.iter().find_map(|place| at(fields, place))
}

/// The first of several places that holds a text which is not empty.
pub(super) fn text<'a>(fields: &'a Map<String, Value>, places: &[&str]) -> Option<&'a str> {
    let texts = places
        .iter()
        .filter_map(|place| at(fields, place)?.as_str());
    texts.into_iter().find(|text| !text.is_empty())
}

fn at<'a>(fields: &'a Map<String, Value>, place: &str) -> Option<&'a Value> {
    let mut names = place.strip_prefix('/')?.split('/');
    let first = fields.get(names.next()?)?;
    names.try_fold(first, |value, name| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        value => value.get(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn half_an_emoji_is_a_mark_and_a_whole_one_stays() {
        for (text, expected) in [
            (r#"{"a":"x\ud83d"}"#, "x\u{fffd}"),
            (r#"{"a":"\udc00y"}"#, "\u{fffd}y"),
            (r#"{"a":"\ud83d\ude00\ud83d z"}"#, "\u{1f600}\u{fffd} z"),
            (r#"{"a":"\\ud83d\ud83d"}"#, "\\ud83d\u{fffd}"),
        ] {
            assert_eq!(
                object(text.as_bytes(), "x").unwrap()["a"],
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_object_is_a_sentence() {
        for (payload, part) in [
            (&b" "[..], "is empty"),
            (b"hello", "not JSON"),
            (b"[1]", "not a JSON object"),
            (br#"{"a":"\ud83d"#, "not JSON"),
        ] {
            assert!(object(payload, "x").unwrap_err().contains(part));
        }
    }

    #[test]
    fn places_are_asked_in_their_order() {
        let Value::Object(fields) = json!({"a": {"b": ["", "c"]}, "d": "", "e": "f"}) else {
            unreachable!()
        };
        assert_eq!(
            text(&fields, &["/x", "/d", "/a/b/0", "/a/b/1", "/e"]),
            Some("c")
        );
        assert_eq!(find(&fields, &["/a/b/9", "/d"]), Some(&json!("")));
    }
}
