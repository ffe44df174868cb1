//! Posts a file of ours. Nobody sees an upload, so that only the message after it can be in doubt; Feishu knows that one by
//! its key.

use bytes::Bytes;
use reqwest::multipart::{Form, Part};
use serde::Deserialize;
use serde_json::json;
use watchfloor_channel::{Body, File, MessageId, RefusalKind, SendError};

use super::{Outgoing, Placed, Places};
use crate::{
    call::{Call, Request},
    errors::{self, CallError},
};

const LONGEST_FILE: usize = 30 << 20;
const LONGEST_IMAGE: usize = 10 << 20;

/// Feishu's name for what was uploaded.
#[derive(Clone)]
pub(super) struct Uploaded {
    kind: &'static str,
    content: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Key {
    file_key: String,
    image_key: String,
}

impl Outgoing {
    pub(super) async fn post_file(
        &self,
        places: &mut Places<'_>,
        key: &str,
        file: &File,
    ) -> Result<MessageId, SendError> {
        let uploaded = match self.uploaded.get(key) {
            Some(uploaded) => uploaded,
            None => self.upload(file).await.map_err(CallError::of_write)?,
        };
        self.uploaded.insert(key.to_owned(), uploaded.clone());
        let comment = match file.comment.trim().is_empty() {
            true => None,
            // Files have no text of their own.
            false => Some(self.post_body(places, &comment_key(key), &Body::Plain(file.comment.clone())).await?),
        };
        match self.place(places, key, uploaded.kind, &uploaded.content).await {
            Ok(Placed { message, .. }) => Ok(message),
            Err(error) => {
                if matches!(error, CallError::Refused(_)) {
                    self.uploaded.invalidate(key);
                    if let Some(comment) = comment
                        && let Err(error) = self.delete(&comment).await
                    {
                        tracing::warn!(message.id = comment.id, %error, "a file's comment stays without its file");
                    }
                }
                Err(error.of_write())
            }
        }
    }

    /// Nothing that anybody could see: every failure means that it did not happen.
    async fn upload(&self, file: &File) -> Result<Uploaded, CallError> {
        let is_image = is_image(&file.media_type) && file.content.len() <= LONGEST_IMAGE;
        if file.content.is_empty() {
            return Err(CallError::Refused(errors::refused(RefusalKind::Content, "empty_file", "the file is empty")));
        }
        if file.content.len() > LONGEST_FILE {
            let remedy = "the file is longer than the 30 MB that Feishu takes";
            return Err(CallError::Refused(errors::refused(RefusalKind::TooLong, "file_too_long", remedy)));
        }
        let (name, content) = (file.name.clone(), file.content.clone());
        let (call, path, form): (_, _, Box<dyn Fn() -> Form + Send + Sync>) = if is_image {
            let form = move || Form::new().text("image_type", "message").part("image", part(&name, &content));
            (Call::UploadImage, "images", Box::new(form))
        } else {
            let kind = file_type(&name);
            let form = move || {
                let named = Form::new().text("file_type", kind).text("file_name", name.clone());
                named.part("file", part(&name, &content))
            };
            (Call::UploadFile, "files", Box::new(form))
        };
        let request = Request::to(["open-apis", "im", "v1", path]).form(form);
        let uploaded: Key = self.api.call(call, request).await.map_err(CallError::before_the_call)?;
        let (kind, field, key) = match is_image {
            true => ("image", "image_key", uploaded.image_key),
            false => ("file", "file_key", uploaded.file_key),
        };
        if key.is_empty() {
            return Err(CallError::NotSent("the answer does not name the file".to_owned()));
        }
        Ok(Uploaded { kind, content: json!({field: key}).to_string() })
    }
}

fn part(name: &str, content: &Bytes) -> Part {
    Part::stream(content.clone()).file_name(name.to_owned())
}

/// The comment is a message of its own.
fn comment_key(key: &str) -> String {
    super::shortened(&format!("{key} and the comment that stands above its file"))
}

fn is_image(media_type: &str) -> bool {
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff"];
    known.contains(&media_type)
}

/// Which of its viewers Feishu offers.
fn file_type(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    match ending.as_str() {
        "pdf" => "pdf",
        "doc" | "docx" => "doc",
        "xls" | "xlsx" => "xls",
        "ppt" | "pptx" => "ppt",
        "mp4" => "mp4",
        "opus" => "opus",
        _ => "stream",
    }
}
