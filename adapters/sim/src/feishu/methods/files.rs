//! Files of messages, and uploads.

use serde_json::json;

use super::{Asked, Done, Outcome, Refused, history};
use crate::feishu::world::World;

const LONGEST_IMAGE: usize = 10 * 1024 * 1024;
const LONGEST_FILE: usize = 30 * 1024 * 1024;
const LONGEST_DOWNLOAD: usize = 100 * 1024 * 1024;

pub(super) fn resource(world: &mut World, asked: &Asked) -> Outcome {
    let (message, chat) = super::target(world, asked.id()).map_err(|refused| match refused.code {
        230_002 => Refused::because(234_004, "The bot is not in the chat."),
        _ => refused,
    })?;
    if chat.external {
        return Err(Refused::because(234_009, "External chats are not supported."));
    }
    history(world, chat)?;
    if !matches!(message.kind(), "post" | "image" | "file" | "audio" | "media") {
        return Err(Refused::because(234_043, "Unsupported message type."));
    }
    let key = asked.about.get(1).map_or("", String::as_str);
    let file = world.files.of_message(key, &message.id);
    let file = file.ok_or_else(|| Refused::because(234_003, "File not in msg."))?;
    if asked.query("type") != Some(file.kind.as_str()) {
        return Err(Refused::because(234_001, "Invalid request param: type."));
    }
    if file.bytes.len() > LONGEST_DOWNLOAD {
        return Err(Refused::because(234_037, "Downloaded file size exceeds limit."));
    }
    Ok(Done::Bytes(file.name.clone(), file.bytes.clone()))
}

pub(super) fn upload_image(world: &mut World, asked: &Asked) -> Outcome {
    let (form, invalid) = (form(asked), || Refused::because(234_001, "Invalid request param."));
    let field = |name: &str| form.iter().find(|part| part.name == name).map(|part| part.bytes.as_slice());
    if field("image_type") != Some(b"message") {
        return Err(invalid());
    }
    let bytes = sized(field("image").ok_or_else(invalid)?, LONGEST_IMAGE)?;
    let key = world.keep_file("image", "image", bytes, None);
    Ok(Done::Data(json!({"image_key": key})))
}

pub(super) fn upload_file(world: &mut World, asked: &Asked) -> Outcome {
    let (form, invalid) = (form(asked), || Refused::because(234_001, "Invalid request param."));
    let field = |name: &str| form.iter().find(|part| part.name == name).map(|part| part.bytes.as_slice());
    let kinds = ["opus", "mp4", "pdf", "doc", "xls", "ppt", "stream"].map(str::as_bytes);
    if !field("file_type").is_some_and(|kind| kinds.contains(&kind)) {
        return Err(invalid());
    }
    let name = field("file_name").and_then(|name| std::str::from_utf8(name).ok()).filter(|name| !name.is_empty());
    let bytes = sized(field("file").ok_or_else(invalid)?, LONGEST_FILE)?;
    let key = world.keep_file("file", name.ok_or_else(invalid)?, bytes, None);
    Ok(Done::Data(json!({"file_key": key})))
}

fn sized(bytes: &[u8], longest: usize) -> Result<&[u8], Refused> {
    match bytes.len() {
        0 => Err(Refused::because(234_010, "File's size can't be 0.")),
        size if size > longest => Err(Refused::because(234_006, "The file size exceed the max value.")),
        _ => Ok(bytes),
    }
}

struct Part {
    name: String,
    bytes: Vec<u8>,
}

/// The parts of a multipart body; nothing if it is none.
fn form(asked: &Asked) -> Vec<Part> {
    let boundary = asked.content_type.split("boundary=").nth(1).map(|boundary| boundary.trim_matches('"'));
    let Some(boundary) = boundary.filter(|boundary| !boundary.is_empty()) else { return Vec::new() };
    let (line, mut parts) = (format!("--{boundary}"), Vec::new());
    let mut rest = asked.raw.as_ref();
    let Some(first) = find(rest, line.as_bytes()) else { return parts };
    rest = &rest[first + line.len()..];
    let end = format!("\r\n--{boundary}");
    while let Some(at) = find(rest, end.as_bytes()) {
        let part = &rest[..at];
        rest = &rest[at + end.len()..];
        let Some(body) = find(part, b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&part[..body]);
        let name = head.split(" name=").nth(1).map(|name| name.split(['"', ';', '\r']).find(|part| !part.is_empty()));
        if let Some(Some(name)) = name {
            parts.push(Part { name: name.to_owned(), bytes: part[body + 4..].to_vec() });
        }
    }
    parts
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
