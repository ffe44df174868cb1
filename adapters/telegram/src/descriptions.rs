//! Telegram's refusals are English sentences that are no contract: they are matched in small letters by a part that has lasted,
//! here and nowhere else. An unknown one is permanent for that message, never a reason to crash.

use watchfloor_channel::{Refusal, RefusalKind};

use crate::errors::{
    CANT_PARSE, CallError, ENTITIES, NOT_MODIFIED, NOTHING_TO_DELETE, REPLY_GONE, rate_limited, refused,
};

/// How much of an unknown description is kept.
const KEPT: usize = 120;

const DELETED: &str = "the message was deleted";
const STANDS: &str = "the message can't be changed";
const TOO_LONG: &str = "the text is too long for one message";
const OUR_FAULT: &str = "Telegram finds fault with the content: the bot's log has the method and the reason";
const WRITE: &str =
    "the chat does not let the bot write: give it the right to send messages, or make it an administrator";
const NOT_THERE: &str = "the bot is not in this chat: add it there";
const FILES: &str = "the chat does not let the bot send files: give it the right to";
const TOPIC_GONE: &str = "the topic was deleted";
const SHUT: &str = "the person does not take messages from the bot: she has to open its chat and press Start";
const NO_FILE: &str = "Telegram does not know the file any more";

/// HTTP 400 and 403, first match.
const TABLE: &[(&str, RefusalKind, &str)] = {
    use RefusalKind::{Content, Credentials, MessageGone, NotEditable, Other, Permission, Room, TooLong, Unsupported};
    &[
        (NOT_MODIFIED, Other, "the message says that already"),
        ("message to edit not found", MessageGone, DELETED),
        (NOTHING_TO_DELETE, MessageGone, DELETED),
        ("message to react not found", MessageGone, DELETED),
        ("message_id_invalid", MessageGone, DELETED),
        ("message can't be edited", NotEditable, STANDS),
        ("message_author_required", NotEditable, STANDS),
        ("there is no text in the message to edit", NotEditable, STANDS),
        ("message can't be deleted", Other, "bots can delete their messages for 48 hours only"),
        (REPLY_GONE, Other, "the message that is answered was deleted"),
        // Topics are deleted by administrators: whoever asked in one still waits.
        ("message thread not found", Room, TOPIC_GONE),
        ("topic_deleted", Room, TOPIC_GONE),
        ("topic_id_invalid", Room, TOPIC_GONE),
        ("topic_closed", Room, "the topic is closed: open it again, or let the bot manage topics"),
        ("message text is empty", Content, "there is nothing to show"),
        ("must be non-empty", Content, "there is nothing to show"),
        (CANT_PARSE, Content, OUR_FAULT),
        (ENTITIES, Content, OUR_FAULT),
        ("button_", Content, OUR_FAULT),
        ("reply_markup", Content, OUR_FAULT),
        ("message is too long", TooLong, TOO_LONG),
        ("message_too_long", TooLong, TOO_LONG),
        ("text is too long", TooLong, TOO_LONG),
        ("caption is too long", TooLong, TOO_LONG),
        ("caption_too_long", TooLong, TOO_LONG),
        ("file is too big", TooLong, "Telegram does not move files of this size for bots"),
        ("wrong file", Content, NO_FILE),
        ("file_id", Content, NO_FILE),
        ("reaction", Unsupported, "the chat does not allow this reaction"),
        ("query is too old", Other, "the click was too long ago"),
        ("query id is invalid", Other, "the click was too long ago"),
        (
            "logged out",
            Credentials,
            "the bot was logged out of this Bot API server: put the right api_url in the configuration",
        ),
        ("rights to send documents", Permission, FILES),
        ("chat_send_docs_forbidden", Permission, FILES),
        ("chat_send_media_forbidden", Permission, FILES),
        ("not enough rights", Room, WRITE),
        ("no rights to send", Room, WRITE),
        ("need administrator rights", Room, WRITE),
        ("chat_write_forbidden", Room, WRITE),
        ("chat_send_plain_forbidden", Room, WRITE),
        ("chat_restricted", Room, WRITE),
        ("chat_admin_required", Room, WRITE),
        ("chat not found", Room, NOT_THERE),
        ("peer_id_invalid", Room, NOT_THERE),
        ("group chat was upgraded", Room, "the group has moved, and Telegram does not say where"),
        ("bot was kicked", Room, NOT_THERE),
        ("bot is not a member", Room, NOT_THERE),
        ("group chat was deleted", Room, "the group was deleted"),
        ("bot was blocked", Room, SHUT),
        ("bot can't initiate", Room, SHUT),
        ("user is deactivated", Room, "the person's account was deleted"),
        ("bot can't send messages to bots", Room, "bots can't write to each other"),
    ]
};

/// An answer with `ok: false`, without parameters.
pub(crate) fn sort(status: u16, description: &str) -> CallError {
    use RefusalKind::{Credentials, Other, Room, TooLong, Unsupported};

    let said = description.to_lowercase();
    let (kind, code, remedy) = match status {
        429 => return rate_limited(None),
        409 => return CallError::Conflict(cut(description)),
        // It says itself that it did nothing.
        503 => return CallError::NotSent("HTTP 503".to_owned()),
        500.. => return CallError::Unclear(format!("HTTP {status}")),
        401 => (
            Credentials,
            "unauthorized",
            "Telegram does not accept the token: ask BotFather for a new one and put it in the configuration",
        ),
        404 if said.contains("method") => {
            (Unsupported, "method not found", "the Bot API at api_url is too old for this")
        }
        404 => (
            Credentials,
            "not found",
            "Telegram does not know the token, or api_url is no Bot API: check both in the configuration",
        ),
        413 => (TooLong, "request entity too large", "Telegram does not take a file of this size"),
        // What Telegram calls forbidden for a reason of next year is a matter of the room all the same.
        _ => match TABLE.iter().find(|(part, ..)| said.contains(part)) {
            Some(&(part, kind, remedy)) => (kind, part, remedy),
            None if status == 403 => (Room, "forbidden", WRITE),
            None => return refused(Other, &cut(strip_class(&said)), "Telegram refused the call"),
        },
    };
    refused(kind, code, remedy)
}

/// No person and no group brings it about: what we sent was wrong.
pub(crate) fn is_our_fault(refusal: &Refusal) -> bool {
    matches!(refusal.kind, RefusalKind::Content | RefusalKind::TooLong)
        || (refusal.kind == RefusalKind::Other && TABLE.iter().all(|(part, ..)| *part != refusal.code))
}

fn strip_class(said: &str) -> &str {
    said.strip_prefix("bad request: ").unwrap_or(said)
}

/// For a log or an error: nobody reads more.
pub(crate) fn cut(description: &str) -> String {
    description.chars().take(KEPT).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use watchfloor_channel::SendError;

    use super::*;

    #[test]
    fn every_description_is_sorted_by_what_to_do_next() {
        use RefusalKind::{
            Content, Credentials, MessageGone, NotEditable, Other, Permission, Room, TooLong, Unsupported,
        };

        let table: &[(RefusalKind, u16, &[&str])] = &[
            (Credentials, 401, &["Unauthorized"]),
            (Credentials, 404, &["Not Found"]),
            (Credentials, 400, &["Logged out"]),
            (Unsupported, 404, &["Not Found: method not found"]),
            (Unsupported, 400, &["Bad Request: REACTION_INVALID"]),
            (
                MessageGone,
                400,
                &[
                    "Bad Request: message to edit not found",
                    "Bad Request: message to delete not found",
                    "Bad Request: message to react not found",
                    "Bad Request: MESSAGE_ID_INVALID",
                ],
            ),
            (
                NotEditable,
                400,
                &[
                    "Bad Request: message can't be edited",
                    "Bad Request: there is no text in the message to edit",
                    "Bad Request: MESSAGE_AUTHOR_REQUIRED",
                ],
            ),
            (
                Content,
                400,
                &[
                    "Bad Request: message text is empty",
                    "Bad Request: file must be non-empty",
                    "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 7",
                    "Bad Request: ENTITY_BOUNDS_INVALID",
                    "Bad Request: BUTTON_DATA_INVALID",
                    "Bad Request: BUTTON_URL_INVALID",
                    "Bad Request: wrong file identifier/HTTP URL specified",
                    "Bad Request: invalid file_id",
                ],
            ),
            (
                TooLong,
                400,
                &[
                    "Bad Request: message is too long",
                    "Bad Request: MESSAGE_TOO_LONG",
                    "Bad Request: text is too long",
                    "Bad Request: message caption is too long",
                    "Bad Request: file is too big",
                ],
            ),
            (TooLong, 413, &["Request Entity Too Large"]),
            (
                Room,
                400,
                &[
                    "Bad Request: message thread not found",
                    "Bad Request: TOPIC_DELETED",
                    "Bad Request: TOPIC_ID_INVALID",
                ],
            ),
            (
                Room,
                400,
                &[
                    "Bad Request: TOPIC_CLOSED",
                    "Bad Request: chat not found",
                    "Bad Request: group chat was upgraded to a supergroup chat",
                    "Bad Request: not enough rights to send text messages to the chat",
                    "Bad Request: CHAT_WRITE_FORBIDDEN",
                    "Bad Request: need administrator rights in the channel chat",
                ],
            ),
            (
                Room,
                403,
                &[
                    "Forbidden: bot was blocked by the user",
                    "Forbidden: user is deactivated",
                    "Forbidden: bot can't initiate conversation with a user",
                    "Forbidden: bot was kicked from the group chat",
                    "Forbidden: bot was kicked from the supergroup chat",
                    "Forbidden: bot was kicked from the channel chat",
                    "Forbidden: bot is not a member of the supergroup chat",
                    "Forbidden: the group chat was deleted",
                    "Forbidden: a sentence of next year",
                ],
            ),
            (
                Permission,
                400,
                &[
                    "Bad Request: not enough rights to send documents to the chat",
                    "Bad Request: CHAT_SEND_DOCS_FORBIDDEN",
                ],
            ),
            (
                Other,
                400,
                &[
                    "Bad Request: message is not modified: specified new message content and reply markup are exactly the same",
                    "Bad Request: message to be replied not found",
                    "Bad Request: message can't be deleted",
                    "Bad Request: query is too old and response timeout expired or query id is invalid",
                    "Bad Request: a sentence of next year",
                    "",
                ],
            ),
        ];
        for (kind, status, descriptions) in table {
            for description in *descriptions {
                match sort(*status, description) {
                    CallError::Refused(refusal) => {
                        assert_eq!(refusal.kind, *kind, "{description}");
                        assert!(!refusal.remedy.is_empty(), "{description}");
                    }
                    other => panic!("{description} is no refusal: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn whether_something_may_have_happened_depends_on_the_status() {
        assert!(
            matches!(sort(429, "Too Many Requests"), CallError::RateLimited(wait) if wait == Duration::from_secs(10))
        );
        assert!(matches!(sort(503, "Service Unavailable").of_write(), SendError::Unavailable(_)));
        for status in [500, 502, 504] {
            assert!(matches!(sort(status, "?").of_write(), SendError::Uncertain(_)), "{status}");
            assert!(matches!(sort(status, "?").of_read(), SendError::Unavailable(_)), "{status}");
        }
        let conflict = "Conflict: terminated by other getUpdates request";
        assert!(matches!(sort(409, conflict), CallError::Conflict(said) if said == conflict));
    }

    #[test]
    fn an_unknown_description_is_kept_short() {
        let CallError::Refused(refusal) = sort(400, &format!("Bad Request: {}", "É".repeat(500))) else { panic!() };
        assert_eq!(refusal.code, "é".repeat(KEPT));
        assert!(is_our_fault(&refusal));
    }
}
