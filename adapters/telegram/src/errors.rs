//! What a failed call means. Telegram says it in English sentences that are no contract: they are matched in small letters by
//! a part that has lasted, here and nowhere else. An unknown one is permanent for that message, never a reason to crash.

use std::time::Duration;

use watchfloor_channel::{Refusal, RefusalKind, SendError};

/// Telegram says "slow down" without saying for how long.
const DEFAULT_WAIT: Duration = Duration::from_secs(10);
/// How much of an unknown description is kept.
const KEPT: usize = 120;

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
}

/// HTTP 429.
pub(crate) fn rate_limited(retry_after: Option<Duration>) -> CallError {
    CallError::RateLimited(retry_after.unwrap_or(DEFAULT_WAIT))
}

/// An answer with `ok: false`, without parameters.
pub(crate) fn from_description(status: u16, description: &str) -> CallError {
    let said = description.to_lowercase();
    match status {
        401 => refused(
            RefusalKind::Credentials,
            "unauthorized",
            "Telegram does not accept the token: ask BotFather for a new one and put it in the configuration",
        ),
        404 => refused(
            RefusalKind::Credentials,
            "not found",
            "Telegram does not know the token, or api_url is no Bot API: check both in the configuration",
        ),
        409 => CallError::Conflict(cut(description)),
        413 => refused(RefusalKind::TooLong, "request entity too large", "Telegram does not take a file of this size"),
        429 => rate_limited(None),
        500.. => CallError::Unclear(format!("HTTP {status}")),
        _ => refused(RefusalKind::Other, &said, "Telegram refused the call"),
    }
}

pub(crate) fn refused(kind: RefusalKind, code: &str, remedy: &str) -> CallError {
    CallError::Refused(Refusal { kind, code: code.to_owned(), remedy: remedy.to_owned() })
}

fn cut(description: &str) -> String {
    description.chars().take(KEPT).collect()
}
