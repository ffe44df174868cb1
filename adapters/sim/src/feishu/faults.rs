//! Ways in which a call can fail on purpose. They queue per call and are used up in order.

use std::time::Duration;

use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// `code` with this HTTP status (mostly 400, sometimes 200); nothing happens.
    Code { code: i64, http: u16 },
    /// 99991400 with `x-ogw-ratelimit-reset`; HTTP 429, or 400 as old calls do.
    RateLimited { reset_secs: u64, http: u16 },
    /// This whole answer; nothing happens.
    Answer { http: u16, body: Value },
    /// A bare HTTP status; nothing happens.
    Http(u16),
    /// The call takes effect, then the answer is a bare HTTP status.
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
