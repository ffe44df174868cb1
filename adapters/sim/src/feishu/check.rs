//! Whether the platform takes a text or a post, and whom it would notify. Cards are `card`'s.

use serde_json::{Map, Value};

use super::{BOT_OPEN_ID, card, message::Mention, methods::Refused, world::World};

/// Of the request's body.
const LONGEST_TEXT: usize = 150 * 1024;
const LONGEST_RICH: usize = 30 * 1024;

/// Language levels of a post.
const LANGUAGES: [&str; 12] =
    ["zh_cn", "zh_hk", "zh_tw", "en_us", "ja_jp", "ko_kr", "fr_fr", "de_de", "es_es", "pt_br", "it_it", "ru_ru"];

/// What is mentioned by it, or why it is refused.
pub(crate) fn content(world: &World, kind: &str, content: &str, request: usize) -> Result<Vec<Mention>, Refused> {
    let longest = if kind == "text" { LONGEST_TEXT } else { LONGEST_RICH };
    if request > longest {
        return Err(Refused::because(230_025, "The length of the message content reaches its limit."));
    }
    let json: Option<Map<String, Value>> = serde_json::from_str(content).ok();
    let not_json = || Refused::content("content is not a string in json format");
    let mut mentions = Vec::new();
    match kind {
        "text" => {
            let json = json.ok_or_else(not_json)?;
            let text = json.get("text").and_then(Value::as_str).ok_or_else(|| Refused::content("text is missing"))?;
            if text.trim().is_empty() {
                return Err(Refused::content("content is empty"));
            }
            tags(world, text, &mut mentions)?;
        }
        "post" => post(world, &json.ok_or_else(not_json)?, &mut mentions)?,
        "interactive" => card::check(world, content)?,
        "image" | "file" => {
            let json = json.ok_or_else(not_json)?;
            let key = json.get(&format!("{kind}_key")).and_then(Value::as_str).unwrap_or_default();
            uploaded(world, key)?;
        }
        _ => return Err(Refused::content(&format!("invalid msg_type {kind:?}"))),
    }
    Ok(mentions)
}

fn uploaded(world: &World, key: &str) -> Result<(), Refused> {
    match world.is_uploaded(key) {
        true => Ok(()),
        false => Err(Refused::because(230_017, "Bot is NOT the owner of the resource.")),
    }
}

fn post(world: &World, post: &Map<String, Value>, mentions: &mut Vec<Mention>) -> Result<(), Refused> {
    if post.is_empty() {
        return Err(Refused::content("content is empty"));
    }
    for (language, said) in post {
        // The outer `post` of group webhooks lands here too, and so does a post in its received shape.
        if !LANGUAGES.contains(&language.as_str()) {
            return Err(Refused::content(&format!("unknown language {language:?} in the post")));
        }
        let paragraphs = said["content"].as_array().ok_or_else(|| Refused::content("a post without content"))?;
        let mut told = said["title"].as_str().is_some_and(|title| !title.trim().is_empty());
        for paragraph in paragraphs {
            let nodes = paragraph.as_array().ok_or_else(|| Refused::content("a paragraph is no array of nodes"))?;
            for node in nodes {
                told |= self::node(world, node, nodes.len() == 1, mentions)?;
            }
        }
        if !told {
            return Err(Refused::content("content is empty"));
        }
    }
    Ok(())
}

/// Whether there is something to read in it.
fn node(world: &World, node: &Value, alone: bool, mentions: &mut Vec<Mention>) -> Result<bool, Refused> {
    let text = |key: &str| node[key].as_str().filter(|text| !text.is_empty());
    let wants = |key: &str| text(key).ok_or_else(|| Refused::content(&format!("a node without {key}: {node}")));
    let tag = node["tag"].as_str().unwrap_or_default();
    match tag {
        "text" | "code_block" => {
            let text = node["text"].as_str().ok_or_else(|| Refused::content("a text node without text"))?;
            Ok(!text.trim().is_empty())
        }
        "a" => wants("href").map(|_| text("text").is_some()),
        "at" => mention(world, wants("user_id")?, mentions).map(|()| true),
        "emotion" => wants("emoji_type").map(|_| true),
        "hr" => Ok(false),
        "md" | "img" | "media" if !alone => Err(Refused::content(&format!("{tag} must fill its paragraph alone"))),
        "md" => {
            let text = wants("text")?;
            tags(world, text, mentions)?;
            Ok(!text.trim().is_empty())
        }
        "img" => uploaded(world, wants("image_key")?).map(|()| true),
        "media" => uploaded(world, wants("file_key")?).map(|()| true),
        _ => Err(Refused::content(&format!("unknown tag {tag:?} in the post"))),
    }
}

/// `<at user_id="…">` in a text. Malformed tags are shown as they are.
fn tags(world: &World, text: &str, mentions: &mut Vec<Mention>) -> Result<(), Refused> {
    for tag in text.split("<at ").skip(1) {
        let Some((inside, _)) = tag.split_once('>') else { continue };
        let Some(id) = inside.trim().strip_prefix("user_id=") else { continue };
        mention(world, id.trim_matches(['"', '\'', ' ']), mentions)?;
    }
    Ok(())
}

pub(crate) fn mention(world: &World, id: &str, mentions: &mut Vec<Mention>) -> Result<(), Refused> {
    if id == "all" {
        // It takes the permission of the group's owner, which nobody gave.
        return Err(Refused::content("no permission to mention all"));
    }
    if !world.knows(id) {
        return Err(Refused::content(&format!("invalid user id {id}")));
    }
    let key = format!("@_user_{}", mentions.len() + 1);
    mentions.push(world.mention(key, id));
    Ok(())
}

impl World {
    /// Of somebody who is known.
    pub(crate) fn mention(&self, key: String, open_id: &str) -> Mention {
        if open_id == BOT_OPEN_ID {
            return Mention::of_bot(key);
        }
        let name = self.people.get(open_id).map_or(open_id, |person| &person.name).to_owned();
        Mention { key, open_id: open_id.to_owned(), name, bot: false, tenant: self.tenant_of(open_id) }
    }
}
