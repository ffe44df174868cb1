//! What `content` says: read by people, and given back in another shape than it was sent in.

use serde_json::{Value, json};

/// Text, post or card as a reader reads it: one line per paragraph or element.
pub(crate) fn readable(kind: &str, content: &str) -> String {
    let json: Value = serde_json::from_str(content).unwrap_or_default();
    let mut lines = Vec::new();
    match kind {
        "text" => lines.push(json["text"].as_str().unwrap_or_default().to_owned()),
        "post" => {
            let post = language(&json);
            lines.extend(post["title"].as_str().filter(|title| !title.is_empty()).map(str::to_owned));
            let paragraphs = post["content"].as_array().into_iter().flatten();
            lines.extend(paragraphs.map(|nodes| nodes.as_array().into_iter().flatten().map(node_text).collect()));
        }
        "interactive" => card_texts(&json, &mut lines),
        _ => lines.push(format!("[{kind}]")),
    }
    lines.join("\n")
}

/// A post as it was sent has a language level, as it was received it has none.
fn language(post: &Value) -> &Value {
    if post["content"].is_array() {
        return post;
    }
    post.as_object().and_then(|languages| languages.values().next()).unwrap_or(post)
}

fn node_text(node: &Value) -> String {
    let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
    match node["tag"].as_str().unwrap_or_default() {
        "at" => format!("@{}", if node["user_name"].is_string() { text("user_name") } else { text("user_id") }),
        "a" => format!("[{}]({})", text("text"), text("href")),
        "hr" => "---".to_owned(),
        "img" | "media" => format!("[{}]", text("image_key")),
        "emotion" => format!(":{}:", text("emoji_type")),
        _ => text("text"),
    }
}

fn card_texts(part: &Value, lines: &mut Vec<String>) {
    match part {
        Value::Array(items) => items.iter().for_each(|item| card_texts(item, lines)),
        Value::Object(fields) => {
            if let Some(header) = fields.get("header") {
                card_texts(header, lines);
            }
            for (key, value) in fields {
                match value {
                    Value::String(text) if ["content", "text"].contains(&key.as_str()) => lines.push(text.clone()),
                    // Not shown in the chat itself.
                    _ if ["config", "header", "value", "behaviors"].contains(&key.as_str()) => {}
                    _ => card_texts(value, lines),
                }
            }
        }
        _ => {}
    }
}

/// The shape in which events and message calls give it.
pub(crate) fn received(kind: &str, content: &str) -> String {
    let Ok(json) = serde_json::from_str::<Value>(content) else { return content.to_owned() };
    match kind {
        "post" => {
            let post = language(&json);
            let title = post["title"].as_str().unwrap_or_default();
            let paragraphs = post["content"].as_array().into_iter().flatten().flat_map(paragraphs);
            json!({"title": title, "content": paragraphs.collect::<Vec<_>>()}).to_string()
        }
        "interactive" => {
            let mut lines = Vec::new();
            card_texts(&json["body"], &mut lines);
            card_texts(&json["elements"], &mut lines);
            let elements: Vec<_> = lines.iter().map(|line| json!([{"tag": "text", "text": line}])).collect();
            json!({"title": json["header"]["title"]["content"], "elements": elements}).to_string()
        }
        _ => content.to_owned(),
    }
}

/// `md` never comes back: it is turned into other nodes.
fn paragraphs(nodes: &Value) -> Vec<Value> {
    let nodes = nodes.as_array().cloned().unwrap_or_default();
    match nodes.iter().find(|node| node["tag"] == "md") {
        Some(md) => {
            let lines = md["text"].as_str().unwrap_or_default().lines();
            lines.map(|line| json!([{"tag": "text", "text": line, "style": []}])).collect()
        }
        None => vec![Value::Array(nodes)],
    }
}
