//! Files that people attach and that the bot uploads.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{FeishuSim, message::Author, world::World};

/// A file or an image as the tenant keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimFile {
    pub key: String,
    /// `image` or `file`.
    pub kind: String,
    pub name: String,
    pub bytes: Vec<u8>,
    /// The message a person attached it to; nothing for the bot's own.
    pub message: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Files(HashMap<String, SimFile>);

impl Files {
    pub(crate) fn of_message(&self, key: &str, message: &str) -> Option<&SimFile> {
        self.0.get(key).filter(|file| file.message.as_deref() == Some(message))
    }
}

impl World {
    /// Whether the app has uploaded it.
    pub(crate) fn is_uploaded(&self, key: &str) -> bool {
        self.files.0.get(key).is_some_and(|file| file.message.is_none())
    }

    pub(crate) fn keep_file(&mut self, kind: &str, name: &str, bytes: &[u8], message: Option<&str>) -> String {
        let key = self.fresh(if kind == "image" { "img_v3" } else { "file_v3" });
        let (kind, name, bytes) = (kind.to_owned(), name.to_owned(), bytes.to_vec());
        let file = SimFile { key: key.clone(), kind, name, bytes, message: message.map(str::to_owned) };
        self.files.0.insert(key.clone(), file);
        key
    }
}

impl FeishuSim {
    /// A message that is nothing but a file.
    pub async fn attach(&self, person: &str, chat: &str, name: &str, bytes: &[u8]) -> String {
        self.attach_to(person, chat, None, "file", name, bytes)
    }

    /// A message that is nothing but an image.
    pub async fn image(&self, person: &str, chat: &str, bytes: &[u8]) -> String {
        self.attach_to(person, chat, None, "image", "image.png", bytes)
    }

    /// As [`FeishuSim::attach`], under another message.
    pub async fn attach_under(&self, person: &str, to: &str, name: &str, bytes: &[u8]) -> String {
        let chat = self.message(to).chat;
        self.attach_to(person, &chat, Some(to), "file", name, bytes)
    }

    /// A post that mentions the bot, says `text` and shows the image: how most clients send both at once.
    pub async fn say_with_image(&self, person: &str, chat: &str, text: &str, bytes: &[u8]) -> String {
        let message = self.shared.world.change(|world| {
            let author = Author::Person(person.to_owned());
            let mut message = world.draft(chat, author, "post", "");
            let key = world.keep_file("image", "image.png", bytes, Some(&message.id));
            let content = json!({"title": "", "content": [
                [{"tag": "at", "user_id": "@_user_1", "user_name": super::BOT_NAME, "style": []},
                    {"tag": "text", "text": format!(" {text}"), "style": []}],
                [{"tag": "img", "image_key": key, "width": 300, "height": 300}]]});
            message.mentions = vec![super::Mention::of_bot("@_user_1".to_owned())];
            if let Some(edit) = message.edits.last_mut() {
                edit.content = content.to_string();
            }
            message
        });
        self.publish(message, None, false)
    }

    fn attach_to(&self, person: &str, chat: &str, to: Option<&str>, kind: &str, name: &str, bytes: &[u8]) -> String {
        let message = self.shared.world.change(|world| {
            let mut message = world.draft(chat, Author::Person(person.to_owned()), kind, "");
            let key = world.keep_file(kind, name, bytes, Some(&message.id));
            let content = match kind {
                "image" => json!({"image_key": key}),
                _ => json!({"file_key": key, "file_name": name}),
            };
            if let Some(edit) = message.edits.last_mut() {
                edit.content = content.to_string();
            }
            message
        });
        self.publish(message, to, false)
    }

    /// The files and images in a message, of whoever sent it.
    pub fn files_of(&self, id: &str) -> Vec<SimFile> {
        let content = self.message(id).json();
        let world = self.shared.world.look();
        let mut found = Vec::new();
        keys(&content, &mut |key| found.extend(world.files.0.get(key).cloned()));
        found
    }
}

fn keys(part: &Value, found: &mut impl FnMut(&str)) {
    match part {
        Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match value.as_str().filter(|_| ["image_key", "file_key", "img_key"].contains(&key.as_str())) {
                    Some(key) => found(key),
                    None => keys(value, found),
                }
            }
        }
        _ => {}
    }
}
