//! What a message says and what is attached to it, whatever kind it is. Pure. Placeholders are `mentions`'.

use serde_json::Value;
use watchfloor_channel::FileRef;

use super::{
    mentions::{Mentions, Piece},
    wire::text,
};

/// How deep a card may nest before we stop looking.
const DEPTH: usize = 16;
/// Not shown in the chat.
const HIDDEN: [&str; 9] =
    ["config", "value", "behaviors", "tag", "element_id", "href", "url", "multi_url", "card_link"];

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) pieces: Vec<Piece>,
    pub(super) files: Vec<FileRef>,
}

/// `content` is JSON inside a string. What is not readable says nothing, but it is still a message.
pub(super) fn said(kind: &str, content: &str, mentions: &Mentions, message_id: &str) -> Said {
    let json: Value = serde_json::from_str(content).unwrap_or_default();
    let mut reader = Reader { mentions, message_id, said: Said::default() };
    match kind {
        "text" => mentions.pieces(text(&json, "/text"), &mut reader.said.pieces),
        "post" => reader.post(&json),
        "interactive" => reader.card(&json),
        "image" => reader.image(text(&json, "/image_key")),
        "file" | "audio" | "media" => reader.file(kind, &json),
        // The children have to be asked for.
        "merge_forward" => {}
        "location" => reader.name("location", &["/name"], &json),
        "share_chat" => reader.name("shared chat", &["/chat_name", "/chat_id"], &json),
        "share_user" => reader.name("shared contact", &["/user_id"], &json),
        "todo" | "vote" | "calendar" | "share_calendar_event" | "general_calendar" | "video_chat" => {
            reader.line(&format!("[{}]", kind.replace('_', " ")));
            reader.texts(&json, 0);
        }
        kind => reader.line(&format!("[{}]", kind.chars().take(40).collect::<String>().replace('_', " "))),
    }
    reader.said
}

struct Reader<'a> {
    mentions: &'a Mentions,
    message_id: &'a str,
    said: Said,
}

impl Reader<'_> {
    fn add(&mut self, text: &str) {
        match self.said.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.said.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    fn end_line(&mut self) {
        let ended = match self.said.pieces.last() {
            None => true,
            Some(Piece::Text(text)) => text.ends_with('\n'),
            Some(_) => false,
        };
        if !ended {
            self.add("\n");
        }
    }

    fn line(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.end_line();
            self.add(text);
        }
    }

    fn name(&mut self, what: &str, pointers: &[&str], json: &Value) {
        let name = pointers.iter().map(|pointer| text(json, pointer)).find(|name| !name.is_empty());
        self.line(&match name {
            Some(name) => format!("[{what}: {name}]"),
            None => format!("[{what}]"),
        });
    }

    fn attach(&mut self, key: &str, name: &str, media_type: &str) {
        if key.is_empty() {
            return;
        }
        self.said.files.push(FileRef {
            id: format!("{}/{key}", self.message_id),
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            // Not told.
            bytes: 0,
            url: None,
        });
    }

    fn image(&mut self, key: &str) {
        self.attach(key, "image", "image/*");
    }

    fn file(&mut self, kind: &str, json: &Value) {
        let (unnamed, media_type) = match kind {
            "audio" => ("voice message", "audio/*"),
            "media" => ("video", "video/*"),
            _ => ("file", ""),
        };
        let name = Some(text(json, "/file_name")).filter(|name| !name.is_empty()).unwrap_or(unnamed);
        let media_type = if media_type.is_empty() { media_type_of(name) } else { media_type };
        self.attach(text(json, "/file_key"), name, media_type);
    }

    fn post(&mut self, json: &Value) {
        let Some(post) = post_of(json, 0) else { return };
        self.line(text(post, "/title"));
        let paragraphs = |key: &str| post.get(key).and_then(Value::as_array).filter(|some| !some.is_empty());
        match (paragraphs("content").or(paragraphs("content_v2")), post.get("content_v2")) {
            (Some(paragraphs), _) => {
                for paragraph in paragraphs {
                    self.end_line();
                    match paragraph {
                        Value::Array(nodes) => nodes.iter().for_each(|node| self.node(node)),
                        node => self.node(node),
                    }
                }
            }
            (None, Some(Value::String(markdown))) => {
                self.end_line();
                self.mentions.pieces(markdown, &mut self.said.pieces);
            }
            _ => {}
        }
    }

    fn node(&mut self, node: &Value) {
        let said = text(node, "/text");
        match text(node, "/tag") {
            "at" => {
                let mention = self.mentions.node(text(node, "/user_id"), text(node, "/user_name"));
                self.said.pieces.push(mention);
            }
            "a" => {
                let href = text(node, "/href");
                match said.is_empty() || said == href {
                    true => self.add(href),
                    false => self.add(&format!("{said} ({href})")),
                }
            }
            "img" => self.image(text(node, "/image_key")),
            "media" => self.file("media", node),
            "emotion" => self.add(&format!(":{}:", text(node, "/emoji_type"))),
            "hr" => self.add("---"),
            "code_block" => {
                let language = text(node, "/language").to_ascii_lowercase();
                self.end_line();
                self.add(&format!("```{language}\n{}\n```", said.trim_end_matches('\n')));
            }
            "md" => self.mentions.pieces(said, &mut self.said.pieces),
            // Also what is invented next year.
            _ => self.add(said),
        }
    }

    /// In its reduced form, whose elements are those of a post, or as it was sent.
    fn card(&mut self, json: &Value) {
        match (json.get("title"), json.get("elements").and_then(Value::as_array)) {
            (Some(_), Some(paragraphs)) if paragraphs.iter().all(Value::is_array) => {
                self.line(text(json, "/title"));
                for nodes in paragraphs.iter().filter_map(Value::as_array) {
                    self.end_line();
                    nodes.iter().for_each(|node| self.node(node));
                }
            }
            _ => {
                let original = text(json, "/user_dsl");
                match serde_json::from_str::<Value>(original) {
                    Ok(original) => self.texts(&original, 0),
                    Err(_) => self.texts(json, 0),
                }
            }
        }
    }

    /// Everything that a reader could see.
    fn texts(&mut self, part: &Value, depth: usize) {
        if depth > DEPTH {
            return;
        }
        match part {
            Value::Array(parts) => parts.iter().for_each(|part| self.texts(part, depth + 1)),
            Value::Object(fields) => {
                // The head stands above, wherever it is written.
                let (head, rest): (Vec<_>, Vec<_>) =
                    fields.iter().partition(|(key, _)| matches!(key.as_str(), "header" | "title"));
                for (key, value) in head.into_iter().chain(rest) {
                    match value {
                        Value::String(text)
                            if matches!(key.as_str(), "content" | "text" | "title" | "subtitle" | "summary") =>
                        {
                            self.line(text)
                        }
                        _ if HIDDEN.contains(&key.as_str()) => {}
                        value => self.texts(value, depth + 1),
                    }
                }
            }
            _ => {}
        }
    }
}

/// A received post is flat; a sent one has a language level, and some are nested once more.
fn post_of(json: &Value, depth: usize) -> Option<&Value> {
    let has_content =
        |value: &Value| value.get("content").is_some_and(Value::is_array) || value.get("content_v2").is_some();
    if has_content(json) {
        return Some(json);
    }
    let languages = json.as_object()?;
    let preferred = ["en_us", "zh_cn"].into_iter().filter_map(|language| languages.get(language));
    let language = preferred.chain(languages.values()).find(|language| has_content(language));
    language.or_else(|| if depth == 0 { post_of(languages.get("post")?, 1) } else { None })
}

/// By the name's ending: the platform does not tell it.
fn media_type_of(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref().unwrap_or_default() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" | "tgz" => "application/gzip",
        "json" => "application/json",
        "csv" => "text/csv",
        "md" => "text/markdown",
        "txt" | "log" | "yaml" | "yml" | "toml" | "conf" | "ini" | "sql" => "text/plain",
        "mp4" | "mov" => "video/mp4",
        "mp3" | "opus" | "m4a" | "wav" => "audio/*",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{super::mentions, *};

    const US: &str = "ou_bot";

    fn read(kind: &str, content: &Value) -> (String, Vec<(String, String, String)>) {
        let list = json!([
            {"key": "@_user_1", "id": {"open_id": US}, "name": "Incident Bot"},
            {"key": "@_user_2", "id": {"open_id": "ou_wei"}, "name": "Wei"}]);
        let said = said(kind, &content.to_string(), &Mentions::of(Some(&list)), "om_1");
        let files = said.files.into_iter().map(|file| (file.id, file.name, file.media_type)).collect();
        (mentions::write(&said.pieces, US), files)
    }

    fn at(key: &str) -> Value {
        json!({"tag": "at", "user_id": key, "user_name": "whoever"})
    }

    #[test]
    fn a_post_is_read_in_every_shape_it_comes_in() {
        let content =
            json!([[at("@_user_1"), {"tag": "text", "text": " why slow?"}], [{"tag": "text", "text": "see"}]]);
        let flat = json!({"title": "", "content": content});
        for shape in [
            flat.clone(),
            json!({"zh_cn": flat}),
            json!({"xx_yy": flat}),
            json!({"post": {"zh_cn": flat}}),
            json!({"post": flat}),
            json!({"title": "", "content": [], "content_v2": content}),
            json!({"content_v2": "@_user_1 why slow?\nsee"}),
            json!({"content_v2": [[{"tag": "md", "text": "@_user_1 why slow?\nsee"}]]}),
        ] {
            assert_eq!(read("post", &shape).0, "why slow?\nsee", "{shape}");
        }
        assert_eq!(
            read("post", &json!({"title": "Checkout", "content": content})).0,
            "Checkout\n@Incident Bot why slow?\nsee"
        );
        assert_eq!(read("post", &json!({"title": "Checkout", "content": []})).0, "Checkout");
    }

    #[test]
    fn every_node_of_a_post_is_read() {
        let post = json!({"title": "", "content": [
            [{"tag": "text", "text": "look ", "style": ["bold"]}, {"tag": "a", "href": "https://e.org", "text": "here"},
                {"tag": "text", "text": " or "}, {"tag": "a", "href": "https://e.org", "text": "https://e.org"}],
            [at("@_user_2"), {"tag": "text", "text": " and "}, at("all"), {"tag": "emotion", "emoji_type": "SMILE"}],
            [{"tag": "img", "image_key": "img_1"}],
            [{"tag": "media", "file_key": "file_2", "image_key": "img_2"}],
            [{"tag": "hr"}],
            [{"tag": "code_block", "language": "SQL", "text": "select 1\n"}],
            [{"tag": "md", "text": "**md** @_user_2"}],
            [{"tag": "novelty", "text": "new"}, {"tag": "novelty"}, 7, null],
            {"tag": "text", "text": "bare"}]});
        let (text, files) = read("post", &post);
        let lines = [
            "look here (https://e.org) or https://e.org",
            "@Wei (ou_wei) and @all:SMILE:",
            "---",
            "```sql\nselect 1\n```",
            "**md** @Wei (ou_wei)",
            "new",
            "bare",
        ];
        assert_eq!(text, lines.join("\n"));
        let file = |id: &str, name: &str, kind: &str| (id.to_owned(), name.to_owned(), kind.to_owned());
        assert_eq!(files, [file("om_1/img_1", "image", "image/*"), file("om_1/file_2", "video", "video/*")]);
    }

    #[test]
    fn files_are_attached_and_other_kinds_named() {
        let file = |id: &str, name: &str, kind: &str| vec![(id.to_owned(), name.to_owned(), kind.to_owned())];
        for (kind, content, text, files) in [
            ("image", json!({"image_key": "img_1"}), "", file("om_1/img_1", "image", "image/*")),
            ("file", json!({"file_key": "f", "file_name": "app.log"}), "", file("om_1/f", "app.log", "text/plain")),
            ("file", json!({"file_key": "f"}), "", file("om_1/f", "file", "application/octet-stream")),
            ("audio", json!({"file_key": "f", "duration": 2000}), "", file("om_1/f", "voice message", "audio/*")),
            ("media", json!({"file_key": "f", "file_name": "a.mp4"}), "", file("om_1/f", "a.mp4", "video/*")),
            ("image", json!({}), "", vec![]),
            ("sticker", json!({"file_key": "f"}), "[sticker]", vec![]),
            ("folder", json!({"file_key": "f"}), "[folder]", vec![]),
            ("share_chat", json!({"chat_id": "oc_2"}), "[shared chat: oc_2]", vec![]),
            ("location", json!({"name": "Office", "longitude": "1"}), "[location: Office]", vec![]),
            (
                "todo",
                json!({"summary": {"title": "fix", "content": [[{"tag": "text", "text": "it"}]]}}),
                "[todo]\nfix\nit",
                vec![],
            ),
            ("invented_next_year", json!({}), "[invented next year]", vec![]),
        ] {
            assert_eq!(read(kind, &content), (text.to_owned(), files), "{kind} {content}");
        }
    }

    #[test]
    fn a_card_is_read_in_its_reduced_form_and_as_it_was_sent() {
        let reduced = json!({"title": "Alert", "elements": [[{"tag": "text", "text": "p99 is high"}],
            [{"tag": "a", "href": "https://e.org", "text": "graph"}, {"tag": "text", "text": "!"}]]});
        assert_eq!(read("interactive", &reduced).0, "Alert\np99 is high\ngraph (https://e.org)!");
        let sent = json!({"schema": "2.0", "config": {"summary": {"content": "hidden"}},
            "header": {"title": {"tag": "plain_text", "content": "Alert"}},
            "body": {"elements": [{"tag": "markdown", "content": "p99 is **high**"},
                {"tag": "button", "text": {"tag": "plain_text", "content": "Ack"}, "value": {"text": "hidden"}}]}});
        assert_eq!(read("interactive", &sent).0, "Alert\np99 is **high**\nAck");
        assert_eq!(read("interactive", &json!({"user_dsl": sent.to_string()})).0, "Alert\np99 is **high**\nAck");
    }

    #[test]
    fn what_is_not_readable_says_nothing() {
        for kind in ["text", "post", "interactive", "image", "file", "merge_forward"] {
            for content in ["", "not json", "[]", "7", "null", "{\"text\":7,\"content\":7,\"title\":[]}"] {
                assert_eq!(said(kind, content, &Mentions::default(), "om_1"), Said::default(), "{kind} {content}");
            }
        }
    }

    #[test]
    fn a_card_that_nests_without_an_end_is_read_to_a_depth() {
        let deep = "[".repeat(100) + &"]".repeat(100);
        said("interactive", &deep, &Mentions::default(), "om_1");
    }

    proptest! {
        #[test]
        fn any_content_is_read_without_panic(
            kind in "text|post|interactive|image|file|todo|\\PC{0,8}", content in "[\\[\\]{}\":,a-z@_0-9 ]{0,80}|\\PC{0,40}",
        ) {
            said(&kind, &content, &Mentions::default(), "om_1");
        }
    }
}
