//! What a message says: text or caption, its markup, and the buttons under it. Checked as strictly as the real server does.

use serde_json::{Value, json};

use super::Refused;
use crate::telegram::{
    args::Args,
    entities::{self, Entity, utf16},
    html,
    world::World,
};

const RAW_LIMIT: usize = 32_768;

/// Where a text stands, with the names of its arguments and its limit.
#[derive(Clone, Copy)]
pub(super) struct Form {
    text: &'static str,
    entities: &'static str,
    limit: usize,
    too_long: &'static str,
}

pub(super) const POST: Form = Form { text: "text", entities: "entities", limit: 4096, too_long: "message is too long" };
pub(super) const EDIT: Form = Form { too_long: "MESSAGE_TOO_LONG", ..POST };
pub(super) const CAPTION: Form =
    Form { text: "caption", entities: "caption_entities", limit: 1024, too_long: "message caption is too long" };

/// Text and entities as they are kept; an empty text is the caller's business.
pub(super) fn text(world: &mut World, args: &Args, form: Form) -> Result<(String, Vec<Value>), Refused> {
    let raw = args.text(form.text).unwrap_or_default();
    if raw.len() > RAW_LIMIT {
        return Err(Refused::bad("text is too long"));
    }
    let mode = args.text("parse_mode").unwrap_or_default();
    let (text, asked) = match mode.to_ascii_lowercase().as_str() {
        "" => (raw.to_owned(), given(raw, args.json(form.entities))?),
        "html" => html::parse(raw).map_err(|why| {
            world.complain(format!("markup that can't be parsed: {why}"));
            Refused::bad(&format!("can't parse entities: {why}"))
        })?,
        "markdown" | "markdownv2" => {
            world.complain(format!("this server knows HTML and entities, not {mode}"));
            return Err(Refused::bad("unsupported parse_mode"));
        }
        _ => return Err(Refused::bad("unsupported parse_mode")),
    };
    let (text, mut kept, dropped) = entities::settle(&text, asked);
    if dropped > 0 {
        world.complain(format!("{dropped} entities dropped: no more than 100 are kept"));
    }
    if text.chars().count() > form.limit {
        return Err(Refused::bad(form.too_long));
    }
    for entity in kept.iter_mut().filter(|entity| entity.kind == "text_mention") {
        let user = entity.more.get("user").and_then(|user| user["id"].as_i64()).unwrap_or_default();
        entity.more.insert("user".into(), world.user_wire(user));
    }
    kept.retain(|entity| {
        let stranger = |user: &Value| user["id"].as_i64().is_none_or(|id| !world.users.contains_key(&id));
        entity.kind != "text_mention" || !entity.more.get("user").is_some_and(stranger)
    });
    let invisible = |c: char| {
        c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{ad}')
    };
    if text.chars().all(invisible) {
        return Ok((String::new(), Vec::new()));
    }
    Ok((text, kept.iter().map(Entity::wire).collect()))
}

fn given(text: &str, entities: Option<Value>) -> Result<Vec<Entity>, Refused> {
    let list = match entities {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(Refused::bad("can't parse entities JSON object")),
    };
    let end = utf16(text);
    let mut entities = Vec::new();
    for value in &list {
        let entity = Entity::read(value).ok_or_else(|| Refused::bad("can't parse MessageEntity"))?;
        let Entity { offset, length, .. } = entity;
        if offset + length > end {
            let to = offset + length;
            return Err(Refused::bad(&format!(
                "entity beginning at UTF-16 offset {offset} ends after the end of the text at UTF-16 offset {to}"
            )));
        }
        entities.push(entity);
    }
    entities.sort_by(|a, b| a.offset.cmp(&b.offset).then(b.length.cmp(&a.length)));
    Ok(entities)
}

/// The inline keyboard of a call; nothing without one, and nothing for an empty one.
pub(super) fn keyboard(args: &Args) -> Result<Option<Value>, Refused> {
    let Some(markup) = args.json("reply_markup") else { return Ok(None) };
    if !markup.is_object() {
        return Err(Refused::bad("object expected as reply markup"));
    }
    let Some(rows) = markup.get("inline_keyboard") else { return Ok(None) };
    let unreadable = || Refused::bad("can't parse inline keyboard");
    let mut kept = Vec::new();
    for row in rows.as_array().ok_or_else(unreadable)? {
        let row = row.as_array().ok_or_else(unreadable)?;
        for button in row {
            check(button)?;
        }
        if !row.is_empty() {
            kept.push(Value::from(row.clone()));
        }
    }
    Ok((!kept.is_empty()).then(|| json!({"inline_keyboard": kept})))
}

fn check(button: &Value) -> Result<(), Refused> {
    let problem = |why: &str| Refused::bad(&format!("can't parse inline keyboard button: {why}"));
    let label = button["text"].as_str().ok_or_else(|| problem("Field \"text\" must be of type String"))?;
    if label.trim().is_empty() {
        return Err(problem("Button text must be non-empty"));
    }
    match (&button["callback_data"], &button["url"]) {
        (Value::String(data), _) if !(1..=64).contains(&data.len()) => Err(Refused::bad("BUTTON_DATA_INVALID")),
        (Value::String(_), _) => Ok(()),
        (_, Value::String(url)) if url.contains("://") && !url.contains(char::is_whitespace) => Ok(()),
        (_, Value::String(_)) => Err(Refused::bad("BUTTON_URL_INVALID")),
        _ => Err(problem("Text buttons are unallowed in the inline keyboard")),
    }
}
