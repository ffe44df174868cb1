//! Files in and out. Telegram hands bots files up to 20 MB and takes files up to 50 MB; longer ones are refused before
//! anything is sent. What to do with a file's bytes is left to the caller.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::{
    Body, Response, StatusCode, header,
    multipart::{Form, Part},
};
use serde::Deserialize;
use serde_json::json;
use teloxide::{payloads::GetFile, types::FileId};
use watchfloor_channel::{File, FileRef, Refusal, RefusalKind, SendError, TextUnit, text::Length};

use crate::{
    api::{Api, unreached},
    errors::{self, CallError},
    outgoing::{Form as Text, Place, Posted, answers},
    render::{self, Html},
};

const MOST_DOWN: u64 = 20 * 1024 * 1024;
const MOST_UP: usize = 50 * 1024 * 1024;
const MOST_CAPTION: Length = TextUnit::Utf16.length(1_024);
/// Time that an upload gets beyond a call's: two megabytes a second.
const BYTES_A_MILLISECOND: u64 = 2_000;
/// How much of a body is looked at to tell a page from a file.
const SNIFF: usize = 512;

/// A file of ours that may be sent.
pub(crate) struct Upload<'a> {
    file: &'a File,
    comment: Html,
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    file_path: String,
    #[serde(default)]
    file_size: u64,
}

impl<'a> Upload<'a> {
    pub(crate) fn of(file: &'a File) -> Result<Self, Refusal> {
        if file.content.is_empty() {
            return Err(errors::refusal(RefusalKind::Content, "empty_file", "the file is empty"));
        }
        if file.content.len() > MOST_UP {
            let remedy = "the file is too long: Telegram takes 50 MB from bots";
            return Err(errors::refusal(RefusalKind::TooLong, "file_too_long", remedy));
        }
        let comment = render::plain(&file.comment);
        if !MOST_CAPTION.holds(render::size(&comment).text) {
            let remedy = "the sentence above the file is too long";
            return Err(errors::refusal(RefusalKind::TooLong, "message caption is too long", remedy));
        }
        Ok(Self { file, comment })
    }

    pub(crate) async fn post(&self, api: &Api, chat: i64, place: &Place<'_>) -> Result<Posted, CallError> {
        let answered = place.answered(chat);
        let mut sent = self.attempt(api, chat, place, answered, Text::rich(&self.comment)).await;
        if sent.as_ref().is_err_and(CallError::is_about_markup) {
            sent = self.attempt(api, chat, place, answered, Text::bare(&self.comment)).await;
        }
        match sent {
            Err(error) if answered.is_some() && error.has_code(errors::REPLY_GONE) => {
                self.attempt(api, chat, place, None, Text::rich(&self.comment)).await
            }
            sent => sent,
        }
    }

    async fn attempt(
        &self,
        api: &Api,
        chat: i64,
        place: &Place<'_>,
        answered: Option<i32>,
        caption: Text,
    ) -> Result<Posted, CallError> {
        let mut form = Form::new().percent_encode_noop().text("chat_id", chat.to_string());
        if let Some(topic) = place.topic() {
            form = form.text("message_thread_id", topic.0.0.to_string());
        }
        if let Some(answered) = answered {
            form = form.text("reply_parameters", json!(answers(answered)).to_string());
        }
        if !caption.text.is_empty() {
            form = form.text("caption", caption.text);
            if caption.parse_mode.is_some() {
                form = form.text("parse_mode", "HTML");
            }
        }
        let length = self.file.content.len() as u64;
        let limit = api.call_timeout + Duration::from_millis(length / BYTES_A_MILLISECOND);
        api.upload("sendDocument", form.part("document", part(self.file)), limit).await
    }
}

fn part(file: &File) -> Part {
    let plain = || {
        // A header ends with its line, and a name with its quotation mark.
        let harmless = |c| match c {
            '"' => '\'',
            '\\' => '_',
            c => c,
        };
        let name: String = file.name.chars().filter(|c| !c.is_control()).map(harmless).collect();
        Part::stream_with_length(Body::from(file.content.clone()), file.content.len() as u64).file_name(name)
    };
    plain().mime_str(&file.media_type).unwrap_or_else(|_| plain())
}

/// At most `limit` bytes; a longer file is refused as `TooLong`.
pub(crate) async fn fetch(api: &Api, file: &FileRef, limit: usize) -> Result<Bytes, SendError> {
    if file.bytes > MOST_DOWN {
        return Err(refused(RefusalKind::TooLong, "file_too_long", "Telegram hands bots files up to 20 MB only"));
    }
    if over(file.bytes, limit) {
        return Err(too_long());
    }
    let found: Found = api.call(&GetFile::new(FileId(file.id.clone()))).await.map_err(CallError::of_read)?;
    if over(found.file_size, limit) {
        return Err(too_long());
    }
    // A Bot API server of one's own can say where the file lies on its own disk.
    if found.file_path.is_empty() || found.file_path.starts_with('/') {
        let remedy = "the Bot API server at api_url keeps files to itself: run it without --local";
        return Err(refused(RefusalKind::Content, "no_address", remedy));
    }
    let announced = if found.file_size > 0 { found.file_size } else { file.bytes };
    tokio::time::timeout(api.call_timeout, download(api, &found.file_path, announced, limit))
        .await
        .unwrap_or_else(|_| Err(SendError::Unavailable("the file did not arrive in time".to_owned())))
}

async fn download(api: &Api, path: &str, announced: u64, limit: usize) -> Result<Bytes, SendError> {
    let response = api.download(path).await.map_err(CallError::of_read)?;
    let status = response.status();
    if !status.is_success() {
        return Err(of_status(status));
    }
    let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let says_page = content_type.is_some_and(|said| said.to_ascii_lowercase().starts_with("text/html"));
    let content = read(response, limit).await?;
    // A page of the person's own, such as what a proxy answered, has the length that was announced.
    if (says_page || looks_like_a_page(&content)) && u64::try_from(content.len()) != Ok(announced) {
        return Err(SendError::Unavailable("something else answered with a page of its own".to_owned()));
    }
    Ok(content)
}

/// Streams, so that a body without an announced end can't fill the memory.
async fn read(mut response: Response, limit: usize) -> Result<Bytes, SendError> {
    if response.content_length().is_some_and(|length| over(length, limit)) {
        return Err(too_long());
    }
    let mut content = BytesMut::new();
    while let Some(piece) = response.chunk().await.map_err(|error| unreached(error).of_read())? {
        if content.len() + piece.len() > limit {
            return Err(too_long());
        }
        content.extend_from_slice(&piece);
    }
    Ok(content.freeze())
}

fn over(length: u64, limit: usize) -> bool {
    usize::try_from(length).map_or(true, |length| length > limit)
}

fn looks_like_a_page(content: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&content[..content.len().min(SNIFF)]).to_ascii_lowercase();
    let start = start.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace());
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

fn of_status(status: StatusCode) -> SendError {
    match status {
        StatusCode::TOO_MANY_REQUESTS => errors::rate_limited(None).of_read(),
        StatusCode::NOT_FOUND | StatusCode::GONE => {
            refused(RefusalKind::MessageGone, "file_gone", "the file was deleted")
        }
        status if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT => {
            SendError::Unavailable(format!("HTTP {}", status.as_u16()))
        }
        status => refused(RefusalKind::Content, &format!("http_{}", status.as_u16()), "Telegram does not hand it out"),
    }
}

fn too_long() -> SendError {
    refused(RefusalKind::TooLong, "file_too_long", "the file is too long to be read")
}

fn refused(kind: RefusalKind, code: &str, remedy: &str) -> SendError {
    SendError::Refused(errors::refusal(kind, code, remedy))
}
