//! Ways in which a method can fail on purpose. They queue per method and are used up in order.

use std::time::Duration;

use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 429 with `Retry-After`, or the other form seen in the field: 200, `ratelimited`, no wait time.
    RateLimited { retry_after_secs: u64, http_200: bool },
    /// `{"ok":false,"error":…}`; nothing happens.
    Error(&'static str),
    /// This whole answer; nothing happens.
    Answer(Value),
    /// Takes effect; the answer gets these fields besides its own.
    Besides(Value),
    /// A bare HTTP status; nothing happens.
    Http(u16),
    /// The method takes effect, then the answer is a bare HTTP status.
    HttpAfter(u16),
    /// A gateway's HTML page; nothing happens.
    HtmlPage(u16),
    /// Waits, then works as usual.
    DelayBefore(Duration),
    /// Takes effect at once, answers late.
    DelayAfter(Duration),
    /// Takes effect, then the connection closes without a byte of answer.
    DropResponse,
    /// Nothing happens and no answer comes.
    Hang,
}
