//! Whether a message that was read back says what we sent. Feishu turns markup into nodes of its own, so that only the words
//! are compared.

use serde_json::Value;

/// How deep content may nest before we stop looking.
const DEPTH: usize = 16;

pub(super) fn is_same(standing: &str, sent: &str) -> bool {
    let (standing, sent) = (words(standing), words(sent));
    !sent.is_empty() && standing == sent
}

fn words(content: &str) -> String {
    let mut said = String::new();
    match serde_json::from_str::<Value>(content) {
        Ok(content) => gather(&content, 0, &mut said),
        Err(_) => said.push_str(content),
    }
    said.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn gather(value: &Value, depth: usize, said: &mut String) {
    if depth > DEPTH {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| gather(item, depth + 1, said)),
        // A mention stands there under another id than the one we sent.
        Value::Object(node) if node.get("tag").and_then(Value::as_str) == Some("at") => {}
        Value::Object(node) => {
            for name in ["language", "text", "content", "href"] {
                match node.get(name) {
                    Some(Value::String(text)) => said.push_str(&without_mentions(text)),
                    Some(nested) => gather(nested, depth + 1, said),
                    None => {}
                }
            }
            let named = ["tag", "language", "text", "content", "href", "title", "style"];
            for (_, nested) in
                node.iter().filter(|(name, nested)| !named.contains(&name.as_str()) && !nested.is_string())
            {
                gather(nested, depth + 1, said);
            }
        }
        _ => {}
    }
}

fn without_mentions(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some((before, mention)) = rest.split_once("<at ") {
        kept.push_str(before);
        // What is never closed is text.
        rest = mention.split_once("</at>").map_or(mention, |(_, after)| after);
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn post(nodes: &str) -> String {
        format!(r#"{{"zh_cn":{{"title":"","content":[[{nodes}]]}}}}"#)
    }

    #[test]
    fn markup_that_came_back_as_nodes_says_the_same() {
        let sent = post(
            r#"{"tag":"md","text":"**db-1** is full, see [the runbook](https://example.org/r)\n```rust\nlet a = 1;\n```"}"#,
        );
        let back = r#"{"title":"","content":[[{"tag":"text","text":"db-1","style":["bold"]},
            {"tag":"text","text":" is full, see "},{"tag":"a","text":"the runbook","href":"https://example.org/r"}],
            [{"tag":"code_block","language":"RUST","text":"let a = 1;"}]]}"#;
        assert!(is_same(back, &sent));
        assert!(!is_same(&back.replace("full", "empty"), &sent));
    }

    #[test]
    fn a_mention_may_come_back_under_another_id() {
        let sent = post(r#"{"tag":"md","text":"<at user_id=\"ou_1\">Wei</at> done"}"#);
        assert!(is_same(
            r#"{"content":[[{"tag":"at","user_id":"@_user_1","user_name":"Wei"},{"tag":"text","text":" done"}]]}"#,
            &sent
        ));
    }

    #[test]
    fn nothing_says_nothing() {
        for (standing, sent) in [("", ""), ("{}", "{}"), ("not json", "{}"), (r#"{"text":"a"}"#, "")] {
            assert!(!is_same(standing, sent), "{standing:?} {sent:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd_to_be_compared_with_itself(text in "\\PC{0,40}[a-z]", other in "[0-9]{3}") {
            let sent = post(&json!({"tag": "md", "text": text}).to_string());
            let back = json!({"title": "", "content": [[{"tag": "text", "text": text}]]}).to_string();
            let changed = json!({"title": "", "content": [[{"tag": "text", "text": text + &other}]]}).to_string();
            prop_assert!(is_same(&back, &sent));
            prop_assert!(!is_same(&changed, &sent));
        }
    }
}
