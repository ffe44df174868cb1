//! What a failed call means. The same code means different things on different calls, so codes are sorted by both; an
//! unknown one is permanent for that message and never a reason to crash.

use std::time::Duration;

use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;
use watchfloor_channel::{Refusal, RefusalKind, SendError};

use crate::{call::Call, exchange};

/// Feishu says "slow down" without saying for how long.
const DEFAULT_WAIT: Duration = Duration::from_secs(5);
/// Too fast for one room or one message: the limit is by the second.
const SHORT_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);
/// The token is not taken: it may have been revoked before its time. A new one settles it, or shows that something is wrong
/// with the app.
const STALE_TOKEN: [&str; 5] = ["99991663", "99991661", "99991664", "99991665", "99991671"];

/// The month's calls are used up.
pub(crate) const USED_UP: &str = "99991403";

/// Named by what to do next. Whether "unclear" matters depends on the call, so [`SendError`] is chosen by the caller.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("Feishu asks to wait {} s", .0.as_secs())]
    RateLimited(Duration),
    /// The request never left, or Feishu turned it away unread: safe to repeat.
    #[error("Feishu could not be reached: {0}")]
    NotSent(String),
    /// The request left; the answer was lost, late, unreadable, or said that Feishu itself failed.
    #[error("no clear answer from Feishu: {0}")]
    Unclear(String),
    #[error("{0}")]
    Refused(Refusal),
}

impl CallError {
    /// Of a call that changes something.
    pub(crate) fn of_write(self) -> SendError {
        match self {
            Self::RateLimited(wait) => SendError::RateLimited(wait),
            Self::NotSent(why) => SendError::Unavailable(why),
            Self::Unclear(why) => SendError::Uncertain(why),
            Self::Refused(refusal) => SendError::Refused(refusal),
        }
    }

    /// Of a call that only reads: nothing can have happened.
    pub(crate) fn of_read(self) -> SendError {
        self.before_the_call().of_write()
    }

    /// What failed comes before the call that matters, which has not been made.
    pub(crate) fn before_the_call(self) -> Self {
        match self {
            Self::Unclear(why) => Self::NotSent(why),
            error => error,
        }
    }

    pub(crate) fn kind(&self) -> Option<RefusalKind> {
        match self {
            Self::Refused(refusal) => Some(refusal.kind),
            _ => None,
        }
    }

    pub(crate) fn has_code(&self, codes: &[&str]) -> bool {
        matches!(self, Self::Refused(refusal) if codes.contains(&refusal.code.as_str()))
    }

    pub(crate) fn is_stale_token(&self) -> bool {
        self.has_code(&STALE_TOKEN)
    }
}

/// What stands beside a failure: what support asks for, and how long to wait.
pub(crate) struct Complaint {
    log_id: String,
    reset: Option<Duration>,
}

impl Complaint {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        Self {
            log_id: text("x-tt-logid").unwrap_or_default().to_owned(),
            reset: text("x-ogw-ratelimit-reset").and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs),
        }
    }

    pub(crate) fn sort(self, call: Call, code: i64, status: StatusCode, answer: &Value) -> CallError {
        let error = sort(call, code, status, self.reset, answer);
        let (call, log_id) = (call.name(), self.log_id);
        match &error {
            CallError::Refused(refusal) if is_our_fault(refusal) => {
                let said = answer.get("msg").and_then(Value::as_str).unwrap_or_default();
                let said: String = said.chars().take(200).collect();
                tracing::error!(call, code, log_id, said, "Feishu finds fault with our request");
            }
            // Said once a day, by whoever counts.
            CallError::Refused(refusal) if refusal.code == USED_UP => {
                tracing::debug!(call, code, log_id, "Feishu turned a call away");
            }
            CallError::Refused(_) => tracing::warn!(call, code, log_id, "Feishu refused a call"),
            _ => tracing::debug!(call, code, log_id, "Feishu turned a call away"),
        }
        error
    }

    pub(crate) fn without_code(self, call: Call, status: StatusCode) -> CallError {
        let error = match (exchange::of_status(status), self.reset) {
            (CallError::RateLimited(_), Some(reset)) => rate_limited(Some(reset)),
            (error, _) => error,
        };
        let (call, status, log_id) = (call.name(), status.as_u16(), self.log_id);
        match &error {
            CallError::Refused(_) => tracing::warn!(call, status, log_id, "Feishu's answer has no code"),
            // Repeated, and told by whoever gives up.
            _ => tracing::debug!(call, status, log_id, "Feishu's answer has no code"),
        }
        error
    }
}

fn sort(call: Call, code: i64, status: StatusCode, reset: Option<Duration>, answer: &Value) -> CallError {
    let (kind, remedy) = match code {
        99_991_400 => return rate_limited(reset),
        230_020 => return CallError::RateLimited(reset.unwrap_or(SHORT_WAIT)),
        11_232 | 11_233 | 11_247 | 230_049 => return CallError::NotSent(format!("Feishu is too busy ({code})")),
        2_200 | 1_500 | 5_000 => return CallError::Unclear(format!("Feishu failed ({code})")),
        // The connection's codes are its own; whoever connects knows them.
        _ if call == Call::Endpoint => (RefusalKind::Other, "Feishu grants no long connection".to_owned()),
        _ => match meaning(call, code) {
            Some((kind, remedy)) => (kind, remedy.to_owned()),
            None if code == 99_991_672 => (RefusalKind::Permission, missing_scope(answer)),
            None if status == StatusCode::TOO_MANY_REQUESTS => return rate_limited(reset),
            None if call == Call::Reply && says_withdrawn(answer) => {
                (RefusalKind::MessageGone, "the message to answer was recalled".to_owned())
            }
            None if status.is_server_error() => return CallError::Unclear(format!("Feishu failed ({code})")),
            None => (RefusalKind::Other, "Feishu refused the call".to_owned()),
        },
    };
    CallError::Refused(Refusal { kind, code: code.to_string(), remedy })
}

/// `None`: not known.
fn meaning(call: Call, code: i64) -> Option<(RefusalKind, &'static str)> {
    use Call::{Edit, History, Message, Patch, React, Recall, Reply, Send};
    use RefusalKind::{
        Content, Credentials, MessageGone, NotEditable, Other, Permission, Room, ThreadGone, TooLong, Unsupported,
    };

    let is_edit = matches!(call, Edit | Patch);
    Some(match code {
        99_991_661 | 99_991_663 | 99_991_664 | 99_991_665 | 99_991_668 | 99_991_671 | 99_991_677 => {
            (Credentials, "Feishu does not take the token it gave us: check app_id and app_secret")
        }
        99_991_543 | 10_015 | 10_003 => {
            (Credentials, "Feishu does not know this app: check app_id, app_secret and base_url (Feishu or Lark)")
        }
        99_991_662 | 99_991_673 | 10_014 => {
            (Credentials, "the app is disabled or not published: enable it in the console")
        }
        99_991_401 => {
            (Permission, "this host's address is not on the app's list of allowed addresses: add it in the console")
        }
        99_991_403 => {
            (Other, "the month's calls are used up: buy more in the admin console or wait for the next month")
        }
        99_992_361 => (Room, "this person's id belongs to another app"),
        99_992_354 if is_edit || matches!(call, Message | Recall) => (MessageGone, "there is no such message"),
        99_992_354 if matches!(call, Reply | React) => (MessageGone, "the message to answer does not exist"),

        230_011 | 230_110 | 230_050 | 231_003 | 231_008 => {
            (MessageGone, "the message was recalled or can't be seen by the bot")
        }
        230_071 | 230_072 | 230_111 if call == Reply => (MessageGone, "this message can't be answered by a reply"),
        230_019 if matches!(call, Send | Reply) => (ThreadGone, "the topic does not exist any more"),
        230_072 if is_edit => (NotEditable, "the message was edited 20 times, which is all Feishu allows"),
        230_075 if is_edit => (NotEditable, "the company's time limit for edits has passed: an administrator sets it"),
        230_031 if call == Patch => (NotEditable, "the card is older than 14 days"),
        230_071 if is_edit => (NotEditable, "the message is not the bot's own"),
        230_073 | 230_074 if is_edit => {
            (NotEditable, "messages of this chat can't be edited: it is secret or encrypted")
        }
        230_054 if is_edit => (NotEditable, "messages of this kind can't be edited"),
        230_027 if is_edit => (
            NotEditable,
            "Feishu does not let the bot edit here: the group has members of other companies, or the app lacks the scope im:message:update",
        ),
        230_027 if call == History => {
            (Permission, "reading a group's history needs the scopes im:message:readonly and im:message.group_msg")
        }
        230_027 => (Permission, "the app lacks a scope for this, or the group has members of other companies"),
        230_073 if call == History => (Permission, "the group hides from the bot what came before it"),
        231_203 if call == History => (Unsupported, "chats of this kind have no history"),
        230_075 => (Room, "the chat is encrypted, the bot can't write there"),

        230_002 => (Room, "the bot is not in this group: add it there"),
        230_006 => (Permission, "the app's bot is switched off: add the bot capability and publish a version"),
        230_013 => (Room, "this person may not use the app: widen its availability in the console"),
        230_018 | 230_035 => (Room, "the group's settings keep the bot from writing there"),
        230_029 | 230_034 | 230_038 | 230_053 => (Room, "the bot can't write to this chat or person"),
        232_009 => (Room, "the group was dissolved"),
        232_006 => (Room, "there is no such group: compare its id with the one in the group's settings"),
        232_010 => (Room, "the group belongs to another company"),
        232_011 => (Room, "the bot is not in this group: add it there"),
        232_025 => (Permission, "the app's bot is switched off: add the bot capability and publish a version"),
        232_033 => (Room, "the group has members of other companies: switch on the app's external sharing"),
        232_034 => (Permission, "the app is not installed or not enabled here: an administrator has to enable it"),
        230_036 => (Permission, "the company's encryption key was deleted"),
        231_021 => (Unsupported, "chats with other companies have no reactions"),

        230_025 => (TooLong, "the text is too long for one message"),
        230_022 | 230_028 => (
            Content,
            "the company's rules do not let this text pass: it holds words, numbers or addresses that they bar",
        ),
        230_054 => (Content, "this kind of chat takes no messages of this kind"),
        230_001 | 230_017 | 230_055 | 230_099 => (Content, "Feishu does not take this content"),
        200_000..=200_999 | 300_000..=300_999 => (Content, "Feishu does not take this card"),

        234_037 => (TooLong, "the file is too long for Feishu to hand it out"),
        234_003 | 234_043 => (Unsupported, "Feishu does not hand out files of this kind of message"),
        234_004 => (Room, "the bot is not in the group of the file"),
        234_009 | 234_038 => (Permission, "the group does not let the bot have its files"),

        99_992_402 | 9_499 | 99_991_301 => {
            (Other, "the bot called Feishu wrongly: its log has the call and the reason")
        }
        _ => return None,
    })
}

/// The words change without notice, but this refusal was met under numbers that nobody has written down.
fn says_withdrawn(answer: &Value) -> bool {
    let said = answer.get("msg").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    said.contains("withdrawn") || said.contains("recalled")
}

/// Feishu names the scopes of which one would do.
fn missing_scope(answer: &Value) -> String {
    let violations = answer.pointer("/error/permission_violations").and_then(Value::as_array);
    let scopes: Vec<&str> = violations
        .into_iter()
        .flatten()
        .filter_map(|violation| violation.get("subject").and_then(Value::as_str))
        .filter(|scope| scope.len() <= 80 && scope.chars().all(|c| c.is_ascii_alphanumeric() || ":._-".contains(c)))
        .take(5)
        .collect();
    match scopes.is_empty() {
        true => "the app lacks a scope: compare its scopes with the guide, add what is missing and publish a version"
            .to_owned(),
        false => format!("the app lacks a scope: add {} in the console and publish a version", scopes.join(" or ")),
    }
}

/// No person and no company brings it about: what we sent was wrong.
fn is_our_fault(refusal: &Refusal) -> bool {
    matches!(
        refusal.code.as_str(),
        "230001" | "230055" | "230099" | "230025" | "99992402" | "9499" | "99991301" | "99992354"
    )
}

pub(crate) fn rate_limited(reset: Option<Duration>) -> CallError {
    CallError::RateLimited(reset.unwrap_or(DEFAULT_WAIT).clamp(SHORT_WAIT, LONGEST_WAIT))
}

pub(crate) fn refused(kind: RefusalKind, code: &str, remedy: &str) -> Refusal {
    Refusal { kind, code: code.to_owned(), remedy: remedy.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sorted(call: Call, code: i64, answer: Value) -> CallError {
        sort(call, code, StatusCode::BAD_REQUEST, None, &answer)
    }

    #[test]
    fn a_missing_scope_names_the_scopes_of_which_one_would_do() {
        let violation = |subject: &str| json!({"type": "action_scope_required", "subject": subject});
        let violations =
            json!([violation("im:message"), violation("im:message:send_as_bot"), violation("<b>x</b>"), 3]);
        let answer = json!({"error": {"permission_violations": violations}});
        let CallError::Refused(refusal) = sorted(Call::Send, 99_991_672, answer) else { panic!() };
        assert_eq!(
            refusal.remedy,
            "the app lacks a scope: add im:message or im:message:send_as_bot in the console and publish a version"
        );
        for odd in [json!(null), json!({"error": 7}), json!({"error": {"permission_violations": []}})] {
            let CallError::Refused(refusal) = sorted(Call::Send, 99_991_672, odd) else { panic!() };
            assert_eq!(refusal.kind, RefusalKind::Permission);
        }
    }

    #[test]
    fn a_withdrawn_question_is_known_under_any_number_but_only_by_a_reply() {
        let answer = || json!({"msg": "The message was withdrawn."});
        assert_eq!(sorted(Call::Reply, 777_777, answer()).kind(), Some(RefusalKind::MessageGone));
        assert_eq!(sorted(Call::Send, 777_777, answer()).kind(), Some(RefusalKind::Other));
        assert_eq!(sorted(Call::Reply, 230_025, answer()).kind(), Some(RefusalKind::TooLong));
    }

    #[test]
    fn whoever_connects_gets_the_connections_code() {
        for code in [403, 514, 1_000_040_351] {
            let CallError::Refused(refusal) = sorted(Call::Endpoint, code, json!({})) else { panic!() };
            assert_eq!((refusal.kind, refusal.code), (RefusalKind::Other, code.to_string()));
        }
    }
}
