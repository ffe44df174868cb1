//! The checks that every platform's adapter passes, over the long connection and over requests.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use watchfloor_channel::{ChannelId, Now, ShortMemory};
use watchfloor_feishu::{FeishuAdapter, FeishuConfig, Reconnect, Transport};
use watchfloor_sim::{
    FeishuSim,
    conformance::{Call, Lacks, Message, Place, Setup, Shown, Subject, Trouble},
    feishu::{
        self, ALICE, APP_ID, APP_SECRET, BOT_OPEN_ID, ENCRYPT_KEY, EventId, Fault, GROUP, MENTION, TOPICS,
        VERIFICATION_TOKEN,
    },
};

use self::bot::{BotUnderTest, Door};
use crate::desk::{PATIENCE, now_ms, tenant};

#[path = "../../../core/tests/support/bot.rs"]
mod bot;

mod over_the_long_connection {
    watchfloor_sim::conformance!(super::Feishu<false>);
}

mod over_requests {
    watchfloor_sim::conformance!(super::Feishu<true>);
}

const NO_CONNECTION: &str = "each event comes as a request of its own";
const ENDPOINT: &str = "endpoint";

struct Feishu<const REQUESTS: bool> {
    feishu: FeishuSim,
    bot: BotUnderTest,
}

fn setting(setup: Setup) -> feishu::FeishuConfig {
    match setup {
        Setup::Impatient => tenant(),
        Setup::Usual => feishu::FeishuConfig { patience: PATIENCE, ..feishu::FeishuConfig::default() },
        Setup::ShortDeadline => feishu::FeishuConfig { client_config: Some(json!({"PingInterval": 1})), ..tenant() },
    }
}

impl<const REQUESTS: bool> Feishu<REQUESTS> {
    fn room(&self, place: Place) -> String {
        match place {
            Place::Group => GROUP.to_owned(),
            Place::Private => self.feishu.p2p(ALICE),
            Place::Thread => TOPICS.to_owned(),
        }
    }
}

impl<const REQUESTS: bool> Subject for Feishu<REQUESTS> {
    type Bot = BotUnderTest;

    const LACKS: &'static [(&'static str, &'static str)] = if REQUESTS {
        &[("a_cut_connection_is_replaced", NO_CONNECTION), ("a_half_open_connection_is_noticed", NO_CONNECTION)]
    } else {
        &[]
    };

    async fn start(setup: Setup) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let feishu = FeishuSim::start(setting(setup)).await.unwrap();
        let transport = if REQUESTS {
            let (verification_token, encrypt_key) = (Some(VERIFICATION_TOKEN.into()), Some(ENCRYPT_KEY.into()));
            Transport::Webhook { verification_token, encrypt_key }
        } else {
            Transport::LongConnection
        };
        let (url, notes) = (feishu.base_url().parse().unwrap(), Arc::new(ShortMemory::default()));
        let (id, now) = (ChannelId::new("feishu"), Now::new(now_ms));
        let mut config = FeishuConfig::new(id, APP_ID.into(), APP_SECRET.into(), url, transport, notes, now);
        config.reconnect = Reconnect { first: Duration::from_millis(20), longest: Duration::from_millis(200) };
        if setup == Setup::ShortDeadline {
            config.inbound_deadline = Some(Duration::from_secs(2));
        }
        let adapter = Arc::new(FeishuAdapter::new(config).unwrap());
        let bot = if REQUESTS {
            let door = Door::open().await;
            let url = door.url.clone();
            let bot = BotUnderTest::start(adapter, Some(door)).await;
            feishu.subscribe(&url).await.unwrap();
            bot
        } else {
            BotUnderTest::start(adapter, None).await
        };
        Self { feishu, bot }
    }

    fn bot(&self) -> &BotUnderTest {
        &self.bot
    }

    async fn say(&self, place: Place, text: &str) -> Message {
        let room = self.room(place);
        let words = if place == Place::Private { text.to_owned() } else { format!("{MENTION} {text}") };
        let id = self.feishu.say(ALICE, &room, &words).await;
        Message { room, id }
    }

    async fn redeliver(&self, message: &Message) {
        self.feishu.redeliver(&message.id, EventId::New).await;
    }

    async fn cut(&self) -> Result<(), Lacks> {
        if REQUESTS {
            return Err(Lacks(NO_CONNECTION));
        }
        let opened = self.feishu.calls(ENDPOINT).len();
        self.feishu.cut_connections();
        self.feishu.wait_for_calls(ENDPOINT, opened + 1).await;
        self.feishu.connected(1).await;
        Ok(())
    }

    async fn go_silent(&self) -> Result<(), Lacks> {
        if REQUESTS {
            return Err(Lacks(NO_CONNECTION));
        }
        self.feishu.go_silent();
        self.feishu.connected(1).await;
        Ok(())
    }

    async fn tell_of(&self, kind: &str) {
        self.feishu.raw_event(json!({"header": {"event_type": kind}, "event": {}})).await;
    }

    async fn echo(&self, own: &Message) {
        for (sender_type, sender) in [("bot", BOT_OPEN_ID), ("app", APP_ID)] {
            self.feishu.echo(&own.id, sender_type, sender).await;
        }
    }

    fn unacknowledged(&self) -> usize {
        self.feishu.unacked().len()
    }

    async fn acknowledged(&self) {
        self.feishu.heard().await;
    }

    fn trouble(&self, call: Call, trouble: Trouble) {
        let fault = match trouble {
            Trouble::Limited(reset_secs) => Fault::RateLimited { reset_secs, http: 429 },
            Trouble::AnswerLost => Fault::DropResponse,
            Trouble::Slow(wait) => Fault::DelayBefore(wait),
        };
        self.feishu.fault(if call == Call::Post { "reply" } else { "edit" }, fault);
    }

    fn edits_asked(&self) -> usize {
        self.feishu.calls("edit").len() + self.feishu.calls("patch").len()
    }

    fn shown(&self, message: &Message) -> Shown {
        let buttons = self.feishu.buttons(&message.id).into_iter().map(|(label, _)| label).collect();
        let message = self.feishu.message(&message.id);
        Shown { text: message.text(), versions: message.edits.len(), buttons }
    }

    fn standing(&self, place: Place) -> Vec<String> {
        let messages = self.feishu.messages(&self.room(place)).into_iter();
        messages.filter(feishu::Message::is_of_bot).map(|message| message.text()).collect()
    }

    async fn delete_thread(&self, of: &Message) {
        self.feishu.delete_topic(&of.id);
    }

    async fn delete(&self, message: &Message) {
        self.feishu.recall(&message.id).await;
    }

    async fn press(&self, message: &Message, button: usize) -> String {
        let (_, value) = self.feishu.buttons(&message.id).remove(button);
        let pressed = self.feishu.press(ALICE, &message.id, &value).await;
        pressed.toast().unwrap_or_default().to_owned()
    }
}
