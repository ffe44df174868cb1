//! What a failed call means. Slack's error codes are an open set, sorted here once; an unknown code is permanent for that
//! message and never a reason to crash.

use std::time::Duration;

use serde_json::Value;
use watchfloor_channel::{Refusal, RefusalKind, SendError};

/// Slack says "slow down" without saying for how long.
const DEFAULT_WAIT: Duration = Duration::from_secs(10);

/// Named by what to do next. Whether "unclear" matters depends on the call, so [`SendError`] is chosen by the caller.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("Slack asks to wait {} s", .0.as_secs())]
    RateLimited(Duration),
    /// The request never left: safe to repeat.
    #[error("Slack could not be reached: {0}")]
    NotSent(String),
    /// The request left; the answer was lost, late, unreadable, or said that Slack itself failed.
    #[error("no clear answer from Slack: {0}")]
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
        match self {
            Self::RateLimited(wait) => SendError::RateLimited(wait),
            Self::NotSent(why) | Self::Unclear(why) => SendError::Unavailable(why),
            Self::Refused(refusal) => SendError::Refused(refusal),
        }
    }

    /// The blocks are at fault; the same text without them may pass.
    pub(crate) fn is_about_blocks(&self) -> bool {
        let codes = [
            "invalid_blocks",
            "invalid_blocks_format",
            "msg_blocks_too_long",
            "block_mismatch",
            "markdown_text_conflict",
        ];
        codes.iter().any(|code| self.has_code(code))
    }

    pub(crate) fn has_code(&self, code: &str) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == code)
    }
}

/// HTTP 429.
pub(crate) fn rate_limited(retry_after: Option<Duration>) -> CallError {
    CallError::RateLimited(retry_after.unwrap_or(DEFAULT_WAIT))
}

/// An answer with `ok: false`. `needed` is the scope Slack names beside `missing_scope`.
pub(crate) fn from_code(code: &str, needed: Option<&str>) -> CallError {
    use RefusalKind::{Content, Credentials, MessageGone, Other, Permission, Room, ThreadGone, TooLong};

    let (kind, remedy) = match code {
        "ratelimited" | "rate_limited" => return rate_limited(None),
        "message_limit_exceeded" => return CallError::RateLimited(Duration::from_secs(60)),
        "internal_error" | "fatal_error" | "service_unavailable" | "request_timeout" | "team_access_not_granted" => {
            return CallError::Unclear(code.to_owned());
        }

        "not_allowed_token_type" => (
            Credentials,
            "this is the wrong kind of token: app_token begins with xapp-, bot_token with xoxb-".to_owned(),
        ),
        "not_authed"
        | "invalid_auth"
        | "token_revoked"
        | "token_expired"
        | "account_inactive"
        | "user_removed_from_team"
        | "team_disabled"
        | "forbidden_team" => (
            Credentials,
            "Slack does not accept the token: install the app again and put the new tokens in the configuration"
                .to_owned(),
        ),
        "org_login_required" => (
            Credentials,
            "the workspace is being moved into an organisation: wait for the end of that, then install the app again"
                .to_owned(),
        ),
        "team_added_to_org" => (
            Room,
            "the workspace joined an organisation, which ended its token: install the app again and replace the token"
                .to_owned(),
        ),
        "missing_scope" => (
            Permission,
            match needed {
                Some(scope) => format!("the app lacks the scope {scope}: add it and install the app again"),
                None => "the app lacks a scope: compare its scopes with the manifest and install it again".to_owned(),
            },
        ),
        "no_permission" | "access_denied" | "ekm_access_denied" | "two_factor_setup_required" => {
            (Permission, "the workspace does not allow this: ask its administrators".to_owned())
        }
        "channel_not_found" | "not_in_channel" => (Room, "the bot is not in this channel: invite it there".to_owned()),
        "is_archived" => (Room, "the channel is archived".to_owned()),
        "messages_tab_disabled" => {
            (Room, "people can't write to the app: switch on the messages tab of its home".to_owned())
        }
        "is_inactive"
        | "user_not_found"
        | "team_not_found"
        | "posting_to_channel_denied"
        | "cannot_reply_to_message" => (Room, "the bot can't write there".to_owned()),
        code if code.starts_with("restricted_action") => {
            (Room, "the channel's posting rules keep the bot from writing there".to_owned())
        }
        "thread_not_found" => (ThreadGone, "the message that began the thread was deleted".to_owned()),
        "message_not_found" | "cant_update_message" | "cant_delete_message" | "edit_window_closed" => {
            (MessageGone, "the message is gone or can't be changed any more".to_owned())
        }
        "msg_too_long" | "msg_blocks_too_long" => (TooLong, "the text is too long for one message".to_owned()),
        "no_text"
        | "too_many_attachments"
        | "invalid_blocks"
        | "invalid_blocks_format"
        | "invalid_attachments"
        | "markdown_text_conflict"
        | "metadata_too_large"
        | "invalid_metadata_format"
        | "block_mismatch" => (Content, "Slack does not take this content".to_owned()),
        code if is_about_arguments(code) => {
            (Other, "the bot called Slack wrongly: its log has the method and the reason".to_owned())
        }
        _ => (Other, "Slack refused the call".to_owned()),
    };
    CallError::Refused(Refusal { kind, code: code.to_owned(), remedy })
}

/// No person and no workspace brings it about: what we sent was wrong.
pub(crate) fn is_our_fault(refusal: &Refusal) -> bool {
    matches!(refusal.kind, RefusalKind::Content | RefusalKind::TooLong) || is_about_arguments(&refusal.code)
}

fn is_about_arguments(code: &str) -> bool {
    matches!(
        code,
        "invalid_arguments"
            | "invalid_arg_name"
            | "invalid_array_arg"
            | "invalid_form_data"
            | "invalid_post_type"
            | "invalid_json"
            | "json_not_object"
            | "missing_post_type"
            | "invalid_thread_ts"
            | "invalid_ts_latest"
            | "invalid_ts_oldest"
            | "invalid_cursor"
            | "invalid_limit"
            | "unknown_method"
    )
}

/// Pointers to what is wrong with a request.
pub(crate) fn hints(answer: &Value) -> Vec<&str> {
    strings(answer.pointer("/response_metadata/messages"))
}

/// Of an answer that says ok.
pub(crate) fn warnings(answer: &Value) -> Vec<&str> {
    let mut warnings = strings(answer.pointer("/response_metadata/warnings"));
    let listed = answer.get("warning").and_then(Value::as_str).unwrap_or_default();
    for warning in listed.split(',').map(str::trim).filter(|warning| !warning.is_empty()) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

fn strings(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Errors of a connect no retry can mend: the account itself is out.
pub(crate) fn is_fatal(refusal: &Refusal) -> bool {
    refusal.kind == RefusalKind::Credentials || refusal.code == "missing_scope"
}

/// Slack says so on the socket, not in an answer.
pub(crate) fn socket_mode_is_off() -> Refusal {
    refused(
        RefusalKind::Permission,
        "link_disabled",
        "Socket Mode is switched off for this app: switch it on in the app's settings",
    )
}

/// Said by us: sockets are for Socket Mode.
pub(crate) fn no_app_token() -> Refusal {
    refused(RefusalKind::Credentials, "no_app_token", "this channel receives over HTTP and has no app token")
}

/// Slack took a part of the text and calls it a warning. To a reader it is a text without its end.
pub(crate) fn cut_short() -> Refusal {
    refused(RefusalKind::TooLong, "message_truncated", "the text is too long for one message")
}

/// Slack does not say so: what was posted has no thread.
pub(crate) fn thread_gone() -> Refusal {
    refused(RefusalKind::ThreadGone, "thread_gone", "the message that began the thread was deleted")
}

pub(crate) fn refused(kind: RefusalKind, code: &str, remedy: &str) -> Refusal {
    Refusal { kind, code: code.to_owned(), remedy: remedy.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_sorted_by_what_to_do_next() {
        use RefusalKind::{Content, Credentials, MessageGone, Other, Permission, Room, ThreadGone, TooLong};

        let table: &[(RefusalKind, &[&str])] = &[
            (
                Credentials,
                &[
                    "not_authed",
                    "invalid_auth",
                    "token_revoked",
                    "token_expired",
                    "account_inactive",
                    "user_removed_from_team",
                    "team_disabled",
                    "org_login_required",
                    "forbidden_team",
                    "not_allowed_token_type",
                ],
            ),
            (
                Permission,
                &["missing_scope", "no_permission", "access_denied", "ekm_access_denied", "two_factor_setup_required"],
            ),
            (
                Room,
                &[
                    "channel_not_found",
                    "not_in_channel",
                    "is_archived",
                    "is_inactive",
                    "user_not_found",
                    "messages_tab_disabled",
                    "team_not_found",
                    "team_added_to_org",
                    "restricted_action",
                    "restricted_action_read_only_channel",
                    "restricted_action_thread_only_channel",
                    "restricted_action_non_threadable_channel",
                    "restricted_action_thread_locked",
                    "cannot_reply_to_message",
                    "posting_to_channel_denied",
                ],
            ),
            (MessageGone, &["message_not_found", "cant_update_message", "cant_delete_message", "edit_window_closed"]),
            (ThreadGone, &["thread_not_found"]),
            (TooLong, &["msg_too_long", "msg_blocks_too_long"]),
            (
                Content,
                &[
                    "no_text",
                    "too_many_attachments",
                    "invalid_blocks",
                    "invalid_blocks_format",
                    "invalid_attachments",
                    "markdown_text_conflict",
                    "metadata_too_large",
                    "invalid_metadata_format",
                    "block_mismatch",
                ],
            ),
            (
                Other,
                &[
                    "invalid_arguments",
                    "invalid_arg_name",
                    "invalid_json",
                    "missing_post_type",
                    "invalid_thread_ts",
                    "invalid_ts_latest",
                    "invalid_cursor",
                    "streaming_state_conflict",
                    "a_code_of_next_year",
                    "",
                ],
            ),
        ];
        for (kind, codes) in table {
            for code in *codes {
                match from_code(code, None) {
                    CallError::Refused(refusal) => {
                        assert_eq!((refusal.kind, refusal.code.as_str()), (*kind, *code));
                        assert!(!refusal.remedy.is_empty(), "{code}");
                    }
                    other => panic!("{code} is no refusal: {other:?}"),
                }
            }
        }
        let waits = [("ratelimited", 10), ("rate_limited", 10), ("message_limit_exceeded", 60)];
        for (code, seconds) in waits {
            let wait = Duration::from_secs(seconds);
            assert!(matches!(from_code(code, None), CallError::RateLimited(told) if told == wait), "{code}");
        }
        for code in
            ["internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_access_not_granted"]
        {
            assert!(matches!(from_code(code, None).of_write(), SendError::Uncertain(_)), "{code}");
            assert!(matches!(from_code(code, None).of_read(), SendError::Unavailable(_)), "{code}");
        }
    }

    #[test]
    fn what_slack_says_beside_an_answer_is_found_in_either_place() {
        let answer = serde_json::json!({"warning": "missing_charset,message_truncated", "response_metadata":
            {"warnings": ["missing_charset"], "messages": ["must be shorter [json-pointer:/blocks/0]", 3]}});
        assert_eq!(warnings(&answer), ["missing_charset", "message_truncated"]);
        assert_eq!(hints(&answer), ["must be shorter [json-pointer:/blocks/0]"]);
        let odd = serde_json::json!({"warning": 3, "response_metadata": "?"});
        assert_eq!((warnings(&odd), hints(&odd)), (vec![], vec![]));
    }

    #[test]
    fn a_rate_limit_in_a_good_http_answer_still_means_wait() {
        assert!(matches!(from_code("ratelimited", None), CallError::RateLimited(wait) if wait == DEFAULT_WAIT));
    }

    #[test]
    fn a_missing_scope_names_the_scope() {
        let CallError::Refused(refusal) = from_code("missing_scope", Some("groups:history")) else { panic!() };
        assert!(refusal.remedy.contains("groups:history"));
    }
}
