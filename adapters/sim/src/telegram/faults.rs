//! Ways in which a method can fail on purpose. They queue per method and are used up in order.

use std::time::Duration;

use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This whole answer with this HTTP status; nothing happens.
    Answer(u16, Value),
    /// A gateway's HTML page; nothing happens.
    HtmlPage(u16),
    /// Takes effect; then a gateway's HTML page.
    HtmlPageAfter(u16),
    /// Status 200 and something that is no JSON; nothing happens.
    Garbage,
    /// Takes effect, then the connection closes without a byte of answer.
    DropResponse,
    /// The connection closes and nothing happens.
    DropRequest,
    /// Waits, then works as usual.
    DelayBefore(Duration),
    /// Takes effect at once, answers late.
    DelayAfter(Duration),
    /// Nothing happens and no answer comes.
    Hang,
    /// Takes effect, and no answer comes.
    HangAfter,
}

impl Fault {
    /// As Telegram refuses: `description` with its beginning, such as `Bad Request: chat not found`.
    pub fn error(code: u16, description: &str) -> Self {
        Self::Answer(code, json!({"ok": false, "error_code": code, "description": description}))
    }

    /// 429 with a wait.
    pub fn retry_after(seconds: u64) -> Self {
        let description = format!("Too Many Requests: retry after {seconds}");
        let parameters = json!({"retry_after": seconds});
        let body = json!({"ok": false, "error_code": 429, "description": description, "parameters": parameters});
        Self::Answer(429, body)
    }
}
