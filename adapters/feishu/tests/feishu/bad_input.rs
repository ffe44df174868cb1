//! What comes from outside and makes no sense, and what must not be seen inside.

use std::{
    fmt::{self, Write},
    sync::{Arc, Mutex},
};

use serde_json::json;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};
use watchfloor_channel::{ChannelAdapter, ChannelState};
use watchfloor_sim::feishu::{APP_SECRET, Fault, HttpFault};

use crate::{
    desk::{Bot, tenant},
    webhook,
};

#[tokio::test]
async fn events_that_make_no_sense_are_acknowledged_and_harm_nobody() {
    let bot = Bot::connected(tenant(), |_| {}).await;
    let message = |message| json!({"header": {"event_type": "im.message.receive_v1"}, "event": {"message": message}});
    let mut odd = vec![
        json!({"header": {"event_type": "im.message.receive_v1"}}),
        json!({"header": {"event_type": "im.message.receive_v1"}, "event": []}),
        json!({"header": {"event_type": "im.message.recalled_v1"}, "event": {"message_id": 7}}),
        json!({"header": {"event_type": "card.action.trigger"}, "event": {"action": "x", "context": null}}),
        json!({"header": {"event_type": 7}, "event": 7}),
    ];
    odd.extend(
        [json!(null), json!("x"), json!({"message_id": "om_1"}), json!({"message_id": 1, "chat_id": []})].map(message),
    );
    let count = odd.len();
    for event in odd {
        bot.feishu.raw_event(event).await;
    }
    // A message that can't be read is still a message.
    for content in [json!("not json"), json!(7), json!(null), json!("{\"text\":[]}")] {
        let odd = json!({"message_id": "om_odd", "chat_id": "oc_p2p_alice", "chat_type": "p2p", "message_type": "text",
            "content": content, "mentions": "x", "create_time": "soon", "root_id": 7});
        bot.feishu.raw_event(message(odd)).await;
    }
    let acks = bot.feishu.wait_for_acks(count + 4).await;
    assert!(acks.iter().all(|ack| ack.code == 200), "{acks:?}");
    assert_eq!(bot.desk.texts(4).await, [""; 4]);
    bot.mention("still there?").await;
    assert_eq!(bot.desk.texts(5).await[4], "still there?");
    assert_eq!(bot.feishu.connections_so_far(), 1);
}

/// Everything that this thread logs, with its fields.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        attributes.record(&mut Line(&mut self.0.lock().unwrap()));
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut Line(&mut self.0.lock().unwrap()));
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        // The simulator plays the other side and knows its own secrets.
        if !event.metadata().target().starts_with("watchfloor_sim") {
            event.record(&mut Line(&mut self.0.lock().unwrap()));
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

struct Line<'l>(&'l mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        writeln!(self.0, "{field}={value:?}").unwrap();
    }
}

#[tokio::test]
async fn no_secret_is_logged_or_shown() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let mut states = String::new();
    let bot = Bot::connected(tenant(), |_| {}).await;
    bot.feishu.fault("endpoint", Fault::Http(500));
    bot.feishu.refuse_endpoint(10_014);
    bot.feishu.refuse_upgrade(500, None);
    bot.feishu.cut_connections();
    writeln!(states, "{:?}", bot.state(|state| matches!(state, ChannelState::Off(_))).await).unwrap();
    bot.state(|state| *state == ChannelState::Connected).await;
    bot.feishu.expire_tokens();
    let question = bot.mention("why?").await;
    bot.post(&question, "key-1", "Because.").await.unwrap();
    bot.feishu.refuse_upgrade(403, None);
    bot.feishu.close_connections();
    writeln!(states, "{:?}", bot.state(|state| matches!(state, ChannelState::Off(_))).await).unwrap();
    writeln!(states, "{:?} {:?}", bot.adapter, bot.adapter.doctor(&[]).await).unwrap();

    let by_webhook = webhook::connected(tenant()).await;
    by_webhook.feishu.http_fault(HttpFault::BadSignature);
    by_webhook.mention("why?").await;
    by_webhook.desk.inbound(1).await;

    let written = states + &log.0.lock().unwrap();
    assert!(written.contains("connection to Feishu lost"), "{written}");
    let calls = bot.feishu.calls("endpoint").into_iter().filter_map(|call| call.answer);
    let addresses: Vec<_> = calls.filter_map(|answer| Some(answer["data"]["URL"].as_str()?.to_owned())).collect();
    let tokens = bot.feishu.calls("token").into_iter().filter_map(|call| call.answer);
    let tokens: Vec<_> = tokens.filter_map(|answer| Some(answer["tenant_access_token"].as_str()?.to_owned())).collect();
    let tickets: Vec<_> = addresses.iter().filter_map(|url| url.split("ticket=").nth(1)).map(str::to_owned).collect();
    assert!(tickets.len() >= 3 && tokens.len() >= 2, "{tickets:?} {tokens:?}");
    let secrets = [APP_SECRET, watchfloor_sim::feishu::ENCRYPT_KEY, watchfloor_sim::feishu::VERIFICATION_TOKEN];
    for secret in tickets.iter().chain(&tokens).map(String::as_str).chain(secrets) {
        assert!(!written.contains(secret), "{secret} is written down: {written}");
    }
}
