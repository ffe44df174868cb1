//! Everything a message says: its text, and what alert bots put into blocks and attachments instead. Pure.

use serde_json::Value;

use crate::{
    text_in,
    wire::{Attachment, Message},
};

/// How deep blocks may nest before we stop looking.
const DEPTH: usize = 12;

/// Everything a message says. `own` is our user id: mentions of it are removed.
pub(crate) fn text(message: &Message, own: &str) -> String {
    let mut said = Said { own, text: text_in::resolve(&message.text, own) };
    // People's blocks repeat the text; bots often say it there alone.
    if said.text.is_empty() || message.bot_id.is_some() {
        said.blocks(&message.blocks);
    }
    for attachment in &message.attachments {
        said.attachment(attachment);
    }
    said.text
}

struct Said<'a> {
    own: &'a str,
    text: String,
}

impl Said<'_> {
    fn add(&mut self, markup: &str) {
        let text = text_in::resolve(markup, self.own);
        if text.is_empty() || self.text.contains(&text) {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&text);
    }

    fn blocks(&mut self, blocks: &[Value]) {
        for block in blocks {
            let mut lines = Vec::new();
            block_lines(block, &mut lines);
            for line in lines {
                self.add(&line);
            }
        }
    }

    fn attachment(&mut self, attachment: &Attachment) {
        let Attachment { pretext, title, title_link, text, fallback, fields, blocks } = attachment;
        if [pretext, title, text].iter().all(|part| part.is_empty()) && fields.is_empty() && blocks.is_empty() {
            self.add(fallback);
            return;
        }
        self.add(pretext);
        match (title.is_empty(), title_link.is_empty()) {
            (false, false) => self.add(&format!("{title} ({title_link})")),
            _ => self.add(&format!("{title}{title_link}")),
        }
        self.add(text);
        for field in fields {
            match field.title.is_empty() {
                true => self.add(&field.value),
                false => self.add(&format!("{}: {}", field.title, field.value)),
            }
        }
        self.blocks(blocks);
    }
}

/// The text of one block, as markup, one entry a line.
fn block_lines(block: &Value, lines: &mut Vec<String>) {
    let text_of = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        object => object.get("text").and_then(Value::as_str).map(str::to_owned),
    };
    let list = |name: &str| block.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match block.get("type").and_then(Value::as_str).unwrap_or_default() {
        "rich_text" => {
            for element in list("elements") {
                let mut line = String::new();
                rich_text(element, 0, &mut line);
                lines.push(line.trim_end().to_owned());
            }
        }
        "context" => lines.extend(list("elements").iter().filter_map(text_of)),
        "image" => lines.extend(block.get("title").or(block.get("alt_text")).and_then(text_of)),
        "divider" | "actions" | "input" => {}
        _ => {
            lines.extend(block.get("text").and_then(text_of));
            lines.extend(list("fields").iter().filter_map(text_of));
        }
    }
}

fn rich_text(element: &Value, depth: usize, line: &mut String) {
    if depth > DEPTH {
        return;
    }
    let field = |name: &str| element.get(name).and_then(Value::as_str).unwrap_or_default();
    match field("type") {
        // Leaves hold raw characters; escaped here, they are unescaped again with the rest.
        "text" => line.push_str(&field("text").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")),
        "link" => line.push_str(&format!("<{}|{}>", field("url"), field("text"))),
        "user" => line.push_str(&format!("<@{}>", field("user_id"))),
        "usergroup" => line.push_str(&format!("<!subteam^{}>", field("usergroup_id"))),
        "channel" => line.push_str(&format!("<#{}>", field("channel_id"))),
        "broadcast" => line.push_str(&format!("<!{}>", field("range"))),
        "emoji" => line.push_str(&format!(":{}:", field("name"))),
        kind => {
            let items = element.get("elements").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            for item in items {
                rich_text(item, depth + 1, line);
                if kind == "rich_text_list" {
                    line.push('\n');
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const US: &str = "U0BOT";

    #[test]
    fn an_alert_that_lives_in_attachments_is_read() {
        let message: Message = serde_json::from_value(json!({
            "bot_id": "B0ALERT", "text": "",
            "attachments": [{"id": 1, "color": "d00000", "title": "[FIRING:1] HighErrorRate",
                "title_link": "https://example.org/a", "text": "5xx at 12 % on checkout",
                "fallback": "[FIRING:1] HighErrorRate", "fields": [{"title": "env", "value": "prod", "short": true}]},
                {"fallback": "only a fallback"}],
        }))
        .unwrap();
        assert_eq!(
            text(&message, US),
            "[FIRING:1] HighErrorRate (https://example.org/a)\n5xx at 12 % on checkout\nenv: prod\nonly a fallback"
        );
    }

    #[test]
    fn an_alert_that_lives_in_blocks_is_read() {
        let message: Message = serde_json::from_value(json!({
            "bot_id": "B0ALERT", "text": "Alert",
            "blocks": [
                {"type": "header", "text": {"type": "plain_text", "text": "Disk full"}},
                {"type": "section", "text": {"type": "mrkdwn", "text": "host <https://example.org/h|db-1>"},
                 "fields": [{"type": "mrkdwn", "text": "*use* 97 %"}]},
                {"type": "context", "elements": [{"type": "mrkdwn", "text": "since 10:00"}, {"type": "image"}]},
                {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
                    {"type": "text", "text": "a < b "}, {"type": "user", "user_id": "U0BOB"}]}]},
                {"type": "shape_of_next_year", "text": "still text"}, {"type": "divider"}, 7],
        }))
        .unwrap();
        assert_eq!(
            text(&message, US),
            "Alert\nDisk full\nhost db-1 (https://example.org/h)\n*use* 97 %\nsince 10:00\na < b @U0BOB\nstill text"
        );
    }

    #[test]
    fn a_persons_blocks_do_not_repeat_her_text() {
        let message: Message = serde_json::from_value(json!({
            "user": "U0ALICE", "text": "<@U0BOT> why?",
            "blocks": [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
                {"type": "user", "user_id": "U0BOT"}, {"type": "text", "text": " why?"}]}]}],
        }))
        .unwrap();
        assert_eq!(text(&message, US), "why?");
    }
}
