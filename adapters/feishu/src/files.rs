//! Fetches what people attach. What to do with a file's bytes is left to the caller.

use bytes::Bytes;
use watchfloor_channel::{FileRef, RefusalKind, SendError};

use crate::{
    api::Api,
    call::Request,
    errors::{self, CallError},
};

/// `file.id` is `message_id/file_key`: Feishu hands a file out only with the message it came with.
pub(crate) async fn fetch(api: &Api, file: &FileRef, limit: usize) -> Result<Bytes, SendError> {
    let Some((message, key)) = file.id.split_once('/').filter(|(message, key)| !message.is_empty() && !key.is_empty())
    else {
        let remedy = "Feishu names no message that the file came with";
        return Err(SendError::Refused(errors::refused(RefusalKind::Unsupported, "no_message", remedy)));
    };
    if usize::try_from(file.bytes).is_ok_and(|bytes| bytes > limit) {
        let remedy = "the file is too long to be read";
        return Err(SendError::Refused(errors::refused(RefusalKind::TooLong, "file_too_long", remedy)));
    }
    let kind = if key.starts_with("img_") { "image" } else { "file" };
    let request = Request::messages([message, "resources", key]).query("type", kind);
    api.download(request, limit).await.map_err(CallError::of_read)
}
