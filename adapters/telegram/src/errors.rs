//! What a failed call means for whoever made it. Telegram's own sentences are sorted in `descriptions`.

use std::time::Duration;

use watchfloor_channel::{Refusal, RefusalKind, SendError};

/// Telegram says "slow down" without saying for how long.
const DEFAULT_WAIT: Duration = Duration::from_secs(10);

/// Named by what to do next. Whether "unclear" matters depends on the call, so [`SendError`] is chosen by the caller.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("Telegram asks to wait {} s", .0.as_secs())]
    RateLimited(Duration),
    /// The request never left: safe to repeat.
    #[error("Telegram could not be reached: {0}")]
    NotSent(String),
    /// The request left; the answer was lost, late, unreadable, or said that Telegram itself failed.
    #[error("no clear answer from Telegram: {0}")]
    Unclear(String),
    /// The group has another id from now on. Nothing was done.
    #[error("the group has moved to {0}")]
    Moved(i64),
    /// Somebody else polls with our token, or a webhook is set (HTTP 409).
    #[error("Telegram sees a conflict: {0}")]
    Conflict(String),
    #[error("{0}")]
    Refused(Refusal),
}

impl CallError {
    /// Of a call that changes something.
    pub(crate) fn of_write(self) -> SendError {
        match self {
            Self::Unclear(why) => SendError::Uncertain(why),
            other => other.of_read(),
        }
    }

    /// Of a call that only reads: nothing can have happened.
    pub(crate) fn of_read(self) -> SendError {
        match self {
            Self::RateLimited(wait) => SendError::RateLimited(wait),
            Self::NotSent(why) | Self::Unclear(why) | Self::Conflict(why) => SendError::Unavailable(why),
            Self::Moved(_) => SendError::Unavailable("the group has just moved".to_owned()),
            Self::Refused(refusal) => SendError::Refused(refusal),
        }
    }

    pub(crate) fn has_code(&self, code: &str) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == code)
    }

    /// The markup is at fault; the same text without it may pass.
    pub(crate) fn is_about_markup(&self) -> bool {
        self.has_code(CANT_PARSE) || self.has_code(ENTITIES)
    }
}

/// Of an edit: the message says so already.
pub(crate) const NOT_MODIFIED: &str = "message is not modified";
pub(crate) const NOTHING_TO_DELETE: &str = "message to delete not found";
/// Although a post says that it can do without the message it answers, Telegram can refuse it for that.
pub(crate) const REPLY_GONE: &str = "message to be replied not found";
/// Beside it, codes such as `ENTITY_BOUNDS_INVALID` and `ENTITIES_TOO_LONG`.
pub(crate) const CANT_PARSE: &str = "can't parse entities";
pub(crate) const ENTITIES: &str = "entit";

/// HTTP 429.
pub(crate) fn rate_limited(retry_after: Option<Duration>) -> CallError {
    CallError::RateLimited(retry_after.unwrap_or(DEFAULT_WAIT))
}

pub(crate) fn refused(kind: RefusalKind, code: &str, remedy: &str) -> CallError {
    CallError::Refused(refusal(kind, code, remedy))
}

pub(crate) fn refusal(kind: RefusalKind, code: &str, remedy: &str) -> Refusal {
    Refusal { kind, code: code.to_owned(), remedy: remedy.to_owned() }
}

/// Messages stay behind where a group moves away; new ones can take their place.
pub(crate) fn left_behind() -> Refusal {
    refusal(RefusalKind::NotEditable, "chat_moved", "the group has moved, and the message can't be reached there")
}

/// Said by us: the name of a room or a message that no Telegram chat can have.
pub(crate) fn not_ours(what: &str) -> Refusal {
    refusal(RefusalKind::Room, "not_telegram", &format!("{what} is nothing that Telegram knows"))
}
