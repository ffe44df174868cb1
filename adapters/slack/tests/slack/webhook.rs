//! Signed requests: who is believed, and what each is answered.

use std::time::Duration;

use axum::body::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use http::{Request, Response, StatusCode};
use sha2::Sha256;
use watchfloor_channel::{ChannelAdapter, ChannelState, Inbox};
use watchfloor_sim::slack::{Fault, HttpFault};

use crate::desk::{Bot, SECRET, Wire, events, now_ms, workspace};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

fn signed(kind: &str, body: &str) -> Request<Bytes> {
    let timestamp = (now_ms() / 1000).to_string();
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(format!("v0:{timestamp}:{body}").as_bytes());
    let digits: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    Request::post("/")
        .header("Content-Type", kind)
        .header("X-Slack-Request-Timestamp", timestamp)
        .header("X-Slack-Signature", format!("v0={digits}"))
        .body(Bytes::copy_from_slice(body.as_bytes()))
        .unwrap()
}

async fn asked(bot: &Bot, request: Request<Bytes>) -> (u16, String) {
    let answer: Response<Bytes> = bot.adapter.webhook(request, &Inbox::new(bot.desk.clone())).await;
    (answer.status().as_u16(), String::from_utf8(answer.into_body().to_vec()).unwrap())
}

fn mention(ts: &str) -> String {
    format!(
        r#"{{"type":"event_callback","event_id":"Ev1","team_id":"T0SIM","event":{{"type":"app_mention",
        "user":"U0ALICE","text":"<@U0BOT> why?","ts":"{ts}","channel":"C0OPS"}}}}"#
    )
}

fn nothing(status: StatusCode) -> (u16, String) {
    (status.as_u16(), String::new())
}

#[tokio::test]
async fn what_a_signed_request_is_answered() {
    let bot = Bot::connected_by(Wire::Http, workspace()).await;
    let ok = nothing(StatusCode::OK);
    let bad = nothing(StatusCode::BAD_REQUEST);
    let challenge = r#"{"type":"url_verification","challenge":"abc123","token":"x"}"#;
    for (kind, body, wanted) in [
        (JSON, challenge, (200, "abc123".to_owned())),
        ("application/json; charset=utf-8", challenge, (200, "abc123".to_owned())),
        (JSON, r#"{"type":"invented_next_year"}"#, ok.clone()),
        (JSON, r#"{"type":"event_callback","event":{"type":"reaction_added"}}"#, ok.clone()),
        (JSON, "{}", ok.clone()),
        (JSON, "not json", bad.clone()),
        (JSON, "[]", bad.clone()),
        (JSON, "", bad.clone()),
        (FORM, "ssl_check=1&token=legacy", ok.clone()),
        (FORM, "payload=not+json", bad.clone()),
        (FORM, "payload=%7B%22type%22%3A%22view_closed%22%7D", ok.clone()),
        (FORM, "", ok.clone()),
        ("text/plain", challenge, bad.clone()),
    ] {
        assert_eq!(asked(&bot, signed(kind, body)).await, wanted, "{kind} {body}");
    }
    let said = mention("1767225600.000200");
    assert_eq!(asked(&bot, signed(JSON, &said)).await, ok);
    let mut retry = signed(JSON, &said);
    retry.headers_mut().insert("X-Slack-Retry-Num", "1".parse().unwrap());
    assert_eq!(asked(&bot, retry).await, ok);
    assert_eq!(bot.desk.texts(2).await, ["why?", "why?"]);
}

#[tokio::test]
async fn what_is_not_signed_by_slack_is_refused_and_told_to_nobody() {
    let bot = Bot::connected_by(Wire::Http, workspace()).await;
    let refused = nothing(StatusCode::UNAUTHORIZED);
    for header in ["X-Slack-Signature", "X-Slack-Request-Timestamp"] {
        for other in [None, Some("0"), Some("v0=00"), Some("1767225600")] {
            let mut request = signed(JSON, &mention("1767225600.000200"));
            request.headers_mut().remove(header);
            if let Some(other) = other {
                request.headers_mut().insert(header, other.parse().unwrap());
            }
            assert_eq!(asked(&bot, request).await, refused, "{header} {other:?}");
        }
    }
    let (head, _) = signed(JSON, &mention("1767225600.000200")).into_parts();
    let other = Request::from_parts(head, mention("1767225600.000300").into());
    assert_eq!(asked(&bot, other).await, refused);
    bot.mention("and now?").await;
    assert_eq!(bot.desk.texts(1).await, ["and now?"]);
}

#[tokio::test]
async fn a_forged_or_stale_delivery_is_refused_and_its_retry_taken() {
    let mut workspace = workspace();
    workspace.redeliver_after = vec![Duration::from_millis(20); 3];
    let bot = Bot::connected_by(Wire::Http, workspace).await;
    bot.slack.http_fault(HttpFault::BadSignature);
    bot.slack.http_fault(HttpFault::OldTimestamp(Duration::from_secs(301)));
    bot.mention("why?").await;
    let acks = bot.slack.wait_for_acks(1).await;
    assert_eq!(acks[0].attempt, 2);
    let statuses: Vec<_> = bot.slack.http_answers().iter().map(|answer| (answer.status, answer.no_retry)).collect();
    assert_eq!(statuses, [(401, false), (401, false), (200, false)]);
    assert_eq!(bot.desk.texts(1).await, ["why?"]);
}

#[tokio::test]
async fn b004_a_message_of_which_only_a_retry_comes_is_taken() {
    let mut workspace = workspace();
    workspace.redeliver_after = vec![Duration::from_millis(20); 3];
    let bot = Bot::connected_by(Wire::Http, workspace).await;
    bot.slack.http_fault(HttpFault::NeverArrives);
    bot.mention("why?").await;
    assert_eq!(bot.slack.wait_for_acks(1).await[0].attempt, 1);
    assert_eq!(bot.desk.texts(1).await, ["why?"]);
}

#[tokio::test]
async fn a_retry_after_a_lost_answer_carries_the_same_key() {
    let mut workspace = workspace();
    workspace.ack_deadline = Duration::from_secs(1);
    workspace.redeliver_after = vec![Duration::from_millis(20); 3];
    let bot = Bot::connected_by(Wire::Http, workspace).await;
    bot.slack.http_fault(HttpFault::ResponseLost);
    bot.mention("why?").await;
    assert_eq!(bot.slack.wait_for_acks(1).await[0].attempt, 1);
    let came = bot.desk.inbound(2).await;
    assert_eq!(came[0].message_key, came[1].message_key);
}

#[tokio::test]
async fn a_store_that_takes_too_long_is_answered_with_try_again_and_goes_on() {
    let mut workspace = workspace();
    workspace.redeliver_after = vec![Duration::from_millis(20); 3];
    let bot = Bot::connected_by(Wire::Http, workspace).await;
    bot.desk.hold("slow");
    bot.mention("slow").await;
    let answers = bot.slack.wait_for_http_answers(1).await;
    assert_eq!((answers[0].status, answers[0].no_retry), (503, false));
    bot.desk.release();
    bot.slack.wait_for_acks(1).await;
}

#[tokio::test]
async fn an_address_that_fails_verification_gets_nothing() {
    let mut bot = Bot::connected_by(Wire::Http, workspace()).await;
    let url = bot.serve().await;
    let failed = bot.slack.subscribe(&url, "another-secret").await;
    assert_eq!(failed, Err("the challenge was answered with 401 and \"\"".to_owned()));
    bot.mention("unheard").await;
    bot.slack.subscribe(&url, SECRET).await.unwrap();
    bot.mention("heard").await;
    assert!(bot.desk.texts(1).await.contains(&"heard".to_owned()));
}

#[tokio::test]
async fn before_it_is_signed_in_and_after_its_end_a_channel_asks_to_try_again() {
    let mut bot = Bot::idle(workspace(), |config| config.transport = events()).await;
    let again = nothing(StatusCode::SERVICE_UNAVAILABLE);
    let click = "payload=%7B%22type%22%3A%22block_actions%22%7D";
    assert_eq!(asked(&bot, signed(JSON, &mention("1767225600.000200"))).await, again);
    assert_eq!(asked(&bot, signed(FORM, click)).await, again);
    bot.slack.fault("auth.test", Fault::Http(500));
    bot.start();
    bot.state(|state| *state == ChannelState::Connected).await;
    assert_eq!(asked(&bot, signed(JSON, &mention("1767225600.000200"))).await, nothing(StatusCode::OK));
    bot.stop.cancel();
    bot.ended().await.unwrap();
    assert_eq!(asked(&bot, signed(JSON, &mention("1767225600.000300"))).await, again);
    assert_eq!(*bot.adapter.state().borrow(), ChannelState::Off("stopped".into()));
    assert_eq!(bot.slack.calls("apps.connections.open"), []);
}

#[tokio::test]
async fn a_refused_token_ends_receiving_over_http_too() {
    let mut bot = Bot::idle(workspace(), |config| config.transport = events()).await;
    bot.slack.fault("auth.test", Fault::Error("invalid_auth"));
    bot.start();
    assert!(bot.ended().await.is_err());
    assert_eq!(asked(&bot, signed(JSON, &mention("1767225600.000200"))).await.0, 503);
    bot.state(|state| matches!(state, ChannelState::Off(_))).await;
}

#[tokio::test]
async fn events_that_slack_holds_back_are_a_reason_to_look() {
    let bot = Bot::connected_by(Wire::Http, workspace()).await;
    let limited =
        r#"{"type":"app_rate_limited","minute_rate_limited":29456160,"team_id":"T0SIM","api_app_id":"A0SIM"}"#;
    assert_eq!(asked(&bot, signed(JSON, limited)).await, nothing(StatusCode::OK));
    bot.state(|state| matches!(state, ChannelState::Degraded(why) if why.contains("holds events back"))).await;
}

#[tokio::test]
async fn a_channel_on_sockets_has_no_webhook() {
    let bot = Bot::connected_by(Wire::Socket, workspace()).await;
    assert_eq!(asked(&bot, signed(JSON, "{}")).await, nothing(StatusCode::NOT_FOUND));
}

#[tokio::test]
async fn the_doctor_asks_for_no_app_token_where_none_is_needed() {
    let bot = Bot::connected_by(Wire::Http, workspace()).await;
    let findings = bot.adapter.doctor(&[]).await;
    assert!(findings.iter().all(|finding| finding.ok && !finding.what.contains("app token")), "{findings:?}");
    assert!(findings.iter().any(|finding| finding.what.contains("this channel's address")), "{findings:?}");
}
