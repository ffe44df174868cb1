//! Posts a file of ours: an address to write to, the bytes, and the completion that makes it a message. Nobody sees the file
//! before the completion, so only that one can be in doubt; the delivery's key is part of the file's name and is found again
//! by it.

use std::time::Duration;

use serde_json::{Value, json};
use watchfloor_channel::{ConversationId, DeliveryKey, File, MessageId, Refusal, RefusalKind, SendError};

use crate::{
    api::Api,
    errors::{self, CallError},
    files::{Files, unreached},
    hosts::Trust,
    render,
    wire::{self, FileInfo, UploadUrl},
};

/// The completion may return before the message is there.
const LOOKS: u32 = 4;
const LOOK_AGAIN: Duration = Duration::from_millis(250);

impl Files {
    pub(crate) async fn upload(
        &self,
        api: &Api,
        to: &ConversationId,
        key: &DeliveryKey,
        file: &File,
    ) -> Result<MessageId, SendError> {
        if file.content.is_empty() {
            return Err(SendError::Refused(errors::refused(RefusalKind::Content, "empty_file", "the file is empty")));
        }
        // An earlier attempt got as far as the completion: perhaps it worked.
        let id = match self.uploaded.get(&key.0) {
            Some(id) => match message_of(api, &id, &to.room).await {
                Ok(Some(message)) => return Ok(message),
                Ok(None) | Err(CallError::Refused(_)) => id,
                Err(error) => return Err(error.of_read()),
            },
            None => self.write(api, key, file).await?,
        };
        self.uploaded.insert(key.0.clone(), id.clone());
        let mut request = json!({
            "files": [{"id": id, "title": file.name}],
            "channel_id": to.room,
        });
        if !to.thread.is_empty() {
            request["thread_ts"] = json!(to.thread);
        }
        if !file.comment.is_empty() {
            request["initial_comment"] = json!(render::plain(&file.comment));
        }
        match api.post::<Value>("files.completeUploadExternal", &request).await {
            Ok(_) => {}
            Err(CallError::Refused(refusal)) => {
                self.uploaded.invalidate(&key.0);
                return Err(SendError::Refused(match refusal.code.as_str() {
                    "invalid_thread_ts" => errors::thread_gone(),
                    // A message finds its way there.
                    "restricted_action_non_threadable_channel" => Refusal { kind: RefusalKind::Unsupported, ..refusal },
                    _ => refusal,
                }));
            }
            Err(error) => return Err(error.of_write()),
        }
        for look in 0..LOOKS {
            tokio::time::sleep(LOOK_AGAIN * look).await;
            match message_of(api, &id, &to.room).await {
                Ok(Some(message)) => return Ok(message),
                Err(CallError::Refused(_)) => break,
                Ok(None) | Err(_) => {}
            }
        }
        // It is there, but its message can't be named: without the scope to read files, for example.
        Ok(MessageId { room: to.room.clone(), id })
    }

    /// Nothing that anybody could see: every failure means that it did not happen.
    async fn write(&self, api: &Api, key: &DeliveryKey, file: &File) -> Result<String, SendError> {
        let (name, length) = (marked_name(&file.name, key), file.content.len().to_string());
        let arguments = [("filename", name.as_str()), ("length", length.as_str())];
        let place: UploadUrl = api.get("files.getUploadURLExternal", &arguments).await.map_err(CallError::of_read)?;
        let address = url::Url::parse(&place.upload_url).ok().filter(|at| self.hosts.trust(at) != Trust::Foreign);
        let Some(address) = address.filter(|_| !place.file_id.is_empty()) else {
            let remedy = "Slack named no address of its own to upload to";
            return Err(SendError::Refused(errors::refused(RefusalKind::Other, "bad_upload_url", remedy)));
        };
        // The address is the permission; the token stays here.
        let request = self
            .client
            .post(address)
            .header(reqwest::header::CONTENT_TYPE, "application/octet-stream")
            .body(file.content.clone())
            .timeout(self.call_timeout);
        let status = request.send().await.map_err(unreached)?.status();
        match status.is_success() {
            true => Ok(place.file_id),
            false => Err(SendError::Unavailable(format!("the upload was answered with HTTP {}", status.as_u16()))),
        }
    }
}

async fn message_of(api: &Api, id: &str, room: &str) -> Result<Option<MessageId>, CallError> {
    let info: FileInfo = api.get("files.info", &[("file", id)]).await?;
    let share = info.file.shares.values().find_map(|rooms| rooms.get(room)?.first());
    let share = share.filter(|share| !share.ts.is_empty());
    Ok(share.map(|share| MessageId { room: room.to_owned(), id: share.ts.clone() }))
}

/// People see the title; the name is what a listing shows beside it.
fn marked_name(name: &str, key: &DeliveryKey) -> String {
    match name.rsplit_once('.') {
        Some((stem, ending)) => format!("{stem}-{}.{ending}", key.0),
        None => format!("{name}-{}", key.0),
    }
}

/// Whether the file is what this delivery became.
pub(crate) fn is_marked(file: &wire::File, delivery: &DeliveryKey) -> bool {
    let stem = file.name.rsplit_once('.').map_or(file.name.as_str(), |(stem, _)| stem);
    stem.strip_suffix(delivery.0.as_str()).is_some_and(|rest| rest.ends_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_the_key_in_its_name() {
        let key = DeliveryKey("0192-ab".into());
        let named = |name: &str| wire::File { name: name.to_owned(), ..wire::File::default() };
        for name in ["answer.md", "a.b.png", "noending"] {
            assert!(is_marked(&named(&marked_name(name, &key)), &key), "{name}");
        }
        for name in ["answer.md", "answer-0192-abc.md", "0192-ab.md", ""] {
            assert!(!is_marked(&named(name), &key), "{name}");
        }
    }
}
