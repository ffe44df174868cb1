//! What becomes of each of Slack's error codes, call by call, and of what it takes with a warning.

use std::time::Duration;

use serde_json::json;
use watchfloor_channel::{
    Body, ChannelAdapter, ChannelState, DeliveryKey, MessageId, Operation, ReceiveError, RefusalKind, SendError, Sign,
};
use watchfloor_sim::slack::Fault;

use crate::desk::{ALICE, Bot, OPS, conversation, workspace};

const POST: &str = "chat.postMessage";
const UPDATE: &str = "chat.update";

async fn bot() -> Bot {
    Bot::idle(workspace(), |config| config.call_timeout = Duration::from_secs(2)).await
}

fn outcome<T>(result: Result<T, SendError>) -> String {
    match result {
        Ok(_) => "done".into(),
        Err(SendError::RateLimited(wait)) => format!("wait {}", wait.as_secs()),
        Err(SendError::Unavailable(_)) => "unavailable".into(),
        Err(SendError::Uncertain(_)) => "uncertain".into(),
        Err(SendError::Refused(refusal)) => format!("{:?}", refusal.kind),
    }
}

/// Post, edit, delete, react, read.
async fn outcomes(bot: &Bot, thread: &str, ours: &MessageId, code: &'static str) -> [String; 5] {
    let fault = |method| bot.slack.fault(method, Fault::Error(code));
    fault(POST);
    let post = bot.post(thread, &format!("key {code}"), "looking …").await;
    fault(UPDATE);
    let edit = bot.edit(ours, "found it").await;
    fault("chat.delete");
    let delete = bot.send(thread, Operation::Delete(ours.clone()), Body::Plain(String::new())).await;
    fault("reactions.add");
    let react = bot.adapter.react(&MessageId { room: OPS.into(), id: thread.into() }, Sign::Taken).await;
    fault("conversations.replies");
    let read = bot.adapter.thread(&conversation(OPS, thread), 10).await;
    [outcome(post), outcome(edit), outcome(delete), outcome(react), outcome(read)]
}

#[tokio::test]
async fn every_code_means_the_right_thing_for_every_call() {
    let bot = bot().await;
    let thread = bot.mention("why?").await;
    let ours = bot.post(&thread, "k1", "looking …").await.unwrap();
    let table: &[(&[&str; 5], &[&'static str])] = &[
        (
            &["Credentials"; 5],
            &[
                "not_authed",
                "invalid_auth",
                "token_revoked",
                "token_expired",
                "account_inactive",
                "user_removed_from_team",
                "team_disabled",
                "org_login_required",
                "not_allowed_token_type",
            ],
        ),
        (
            &["Permission"; 5],
            &["missing_scope", "no_permission", "access_denied", "ekm_access_denied", "two_factor_setup_required"],
        ),
        (
            &["Room"; 5],
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
                "restricted_action_thread_locked",
                "cannot_reply_to_message",
                "posting_to_channel_denied",
            ],
        ),
        (&["done", "Room", "Room", "Room", "Room"], &["restricted_action_non_threadable_channel"]),
        (
            &["done", "done", "Content", "Content", "Content"],
            &["invalid_blocks", "invalid_blocks_format", "markdown_text_conflict", "block_mismatch"],
        ),
        (&["done", "done", "TooLong", "TooLong", "TooLong"], &["msg_blocks_too_long"]),
        (&["TooLong"; 5], &["msg_too_long"]),
        (
            &["Content"; 5],
            &[
                "no_text",
                "too_many_attachments",
                "invalid_attachments",
                "metadata_too_large",
                "invalid_metadata_format",
            ],
        ),
        (&["MessageGone", "MessageGone", "done", "MessageGone", "MessageGone"], &["message_not_found"]),
        (&["MessageGone"; 5], &["cant_update_message", "cant_delete_message", "edit_window_closed"]),
        (&["ThreadGone"; 5], &["thread_not_found"]),
        (&["wait 10"; 5], &["ratelimited", "rate_limited"]),
        (&["wait 60"; 5], &["message_limit_exceeded"]),
        (
            &["uncertain", "uncertain", "uncertain", "uncertain", "unavailable"],
            &["internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_access_not_granted"],
        ),
        (&["Other", "Other", "Other", "done", "Other"], &["already_reacted"]),
        (
            &["Other"; 5],
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
            ],
        ),
    ];
    for (expected, codes) in table {
        for code in *codes {
            assert_eq!(outcomes(&bot, &thread, &ours, code).await, **expected, "{code}");
        }
    }
}

#[tokio::test]
async fn an_edit_whose_blocks_are_refused_is_at_once_made_as_text_alone() {
    for code in
        ["invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "block_mismatch", "markdown_text_conflict"]
    {
        let bot = bot().await;
        let thread = bot.mention("why?").await;
        let ours = bot.post(&thread, "k1", "looking …").await.unwrap();
        bot.slack.fault(UPDATE, Fault::Error(code));
        assert_eq!(bot.edit(&ours, "**full**").await.unwrap(), ours, "{code}");
        let bodies: Vec<_> = bot.slack.calls(UPDATE).into_iter().map(|call| call.args).collect();
        assert_eq!((bodies[0]["blocks"].is_null(), bodies[1].get("blocks")), (false, None));
        let message = bot.slack.message(&ours.id);
        assert_eq!((message.text(), &message.blocks), ("*full*", &None));
        assert_eq!(bot.slack.calls(POST).len(), 1, "{code}");
    }
}

#[tokio::test]
async fn a_post_whose_blocks_are_refused_is_one_message_of_text() {
    let bot = bot().await;
    let thread = bot.mention("why?").await;
    bot.slack.fault(POST, Fault::Error("invalid_blocks"));
    let ours = bot.post(&thread, "k1", "**full**").await.unwrap();
    assert_eq!(bot.slack.message(&ours.id).blocks, None);
    assert_eq!(bot.slack.messages(OPS, Some(&thread)).len(), 2);
    assert_eq!(bot.adapter.find(&conversation(OPS, &thread), &DeliveryKey("k1".into())).await.unwrap(), Some(ours));
}

#[tokio::test]
async fn every_version_of_a_models_text_has_blocks_that_say_the_same_and_none_is_marked_as_edited() {
    let bot = bot().await;
    let thread = bot.mention("why?").await;
    let ours = bot.post(&thread, "k1", "looking …").await.unwrap();
    let log: Vec<_> = (0..70).map(|n| format!("{n:03} a < b waits for a connection")).collect();
    let long = format!(
        "# Cause\n\nIt is **full**.\n\n---\n\n```\n{}\n```\n\n| host | use |\n|-|-|\n| db | 97 % |",
        log.join("\n")
    );
    for text in ["looking at the pool", long.as_str(), "done"] {
        bot.edit(&ours, text).await.unwrap();
    }
    let message = bot.slack.message(&ours.id);
    assert_eq!((message.edits.len(), message.marked_edited.as_ref()), (4, None));
    for edit in &message.edits {
        assert!(edit.blocks.is_some() && edit.blocks_agree(), "{edit:#?}");
    }
    let kinds: Vec<_> =
        message.edits[2].blocks.as_ref().unwrap().as_array().unwrap().iter().map(|b| b["type"].clone()).collect();
    assert_eq!(kinds, ["section", "divider", "section"]);
}

#[tokio::test]
async fn our_own_sentences_are_text_alone() {
    let bot = bot().await;
    let thread = bot.mention("why?").await;
    let ours = bot.post(&thread, "k1", "looking …").await.unwrap();
    let stopped = format!("Stopped by {}.", bot.adapter.mention(ALICE));
    bot.send(&thread, Operation::Edit(ours.clone()), Body::Plain(stopped)).await.unwrap();
    let message = bot.slack.message(&ours.id);
    assert_eq!((message.text(), &message.blocks), ("Stopped by <@U0ALICE>.", &None));
}

#[tokio::test]
async fn a_text_that_slack_cut_is_taken_back_and_has_to_come_in_parts() {
    let bot = bot().await;
    let thread = bot.mention("why?").await;
    let beside = json!({"warning": "message_truncated", "response_metadata": {"warnings": ["message_truncated"]}});
    bot.slack.fault(POST, Fault::Besides(beside));
    assert_eq!(outcome(bot.post(&thread, "k1", "looking …").await), "TooLong");
    assert_eq!(bot.slack.messages(OPS, Some(&thread)).len(), 1);
    bot.slack.fault(POST, Fault::Besides(json!({"warning": "missing_charset"})));
    bot.post(&thread, "k2", "looking …").await.unwrap();
}

#[tokio::test]
async fn in_a_channel_without_threads_the_answer_stands_beside_the_question() {
    for lost in [false, true] {
        let bot = bot().await;
        let question = bot.mention("why?").await;
        bot.slack.fault(POST, Fault::Error("restricted_action_non_threadable_channel"));
        if lost {
            bot.slack.fault(POST, Fault::DropResponse);
        }
        let posted = bot.post(&question, "k1", "looking …").await;
        assert_eq!(outcome(posted), if lost { "uncertain" } else { "done" });
        let shown = bot.slack.next_message(OPS).await;
        let found = bot.adapter.find(&conversation(OPS, &question), &DeliveryKey("k1".into())).await.unwrap().unwrap();
        assert_eq!((shown.thread_ts, found.id.as_str()), (None, shown.ts.as_str()));
        bot.edit(&found, "found it").await.unwrap();
        assert_eq!(bot.slack.messages(OPS, None).len(), 2);
    }
}

#[tokio::test]
async fn a_missing_scope_is_named() {
    let bot = bot().await;
    let thread = bot.mention("why?").await;
    let answer = json!({"ok": false, "error": "missing_scope", "needed": "chat:write", "provided": "users:read"});
    bot.slack.fault(POST, Fault::Answer(answer));
    let Err(SendError::Refused(refusal)) = bot.post(&thread, "k1", "looking …").await else { panic!() };
    assert_eq!(refusal.kind, RefusalKind::Permission);
    assert_eq!(refusal.remedy, "the app lacks the scope chat:write: add it and install the app again");
}

#[tokio::test]
async fn a_token_that_is_revoked_at_work_ends_receiving() {
    let mut bot = Bot::connected(workspace(), |_| {}).await;
    let thread = bot.mention("why?").await;
    bot.slack.revoke_token().await;
    assert_eq!(outcome(bot.post(&thread, "k1", "looking …").await), "Credentials");
    let Err(ReceiveError::Refused(refusal)) = bot.ended().await else { panic!() };
    assert_eq!((refusal.kind, refusal.code.as_str()), (RefusalKind::Credentials, "token_revoked"));
    bot.state(|state| *state == ChannelState::Off(refusal.remedy.clone())).await;
}

#[tokio::test]
async fn one_method_that_does_not_take_our_token_does_not_end_receiving() {
    let bot = Bot::connected(workspace(), |_| {}).await;
    let thread = bot.mention("why?").await;
    bot.slack.fault("reactions.add", Fault::Error("not_allowed_token_type"));
    let message = MessageId { room: OPS.into(), id: thread };
    assert_eq!(outcome(bot.adapter.react(&message, Sign::Taken).await), "Credentials");
    bot.slack.wait_for_calls("auth.test", 2).await;
    bot.mention("still there?").await;
    bot.slack.wait_for_acks(2).await;
    assert_eq!(*bot.adapter.state().borrow(), ChannelState::Connected);
}
