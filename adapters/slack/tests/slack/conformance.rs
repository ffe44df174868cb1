//! The checks that every platform's adapter passes, over sockets and over requests.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use watchfloor_channel::ChannelId;
use watchfloor_sim::{
    SlackSim,
    conformance::{Call, Lacks, Message, Place, Setup, Shown, Subject, Trouble},
    slack::{self, Author, BOT_TOKEN, EventId, Fault},
};
use watchfloor_slack::{Reconnect, SlackAdapter, SlackConfig};

use self::bot::{BotUnderTest, Door};
use crate::desk::{ALICE, OPS, SECRET, events, socket, workspace};

#[path = "../../../core/tests/support/bot.rs"]
mod bot;

mod over_sockets {
    watchfloor_sim::conformance!(super::Slack<false>);
}

mod over_requests {
    watchfloor_sim::conformance!(super::Slack<true>);
}

const NO_CONNECTION: &str = "each event comes as a request of its own";
const OPEN: &str = "apps.connections.open";

struct Slack<const REQUESTS: bool> {
    slack: SlackSim,
    bot: BotUnderTest,
    private: String,
}

fn setting(setup: Setup) -> slack::SlackConfig {
    match setup {
        Setup::Usual | Setup::ShortDeadline => workspace(),
        Setup::Impatient => slack::SlackConfig {
            ack_deadline: Duration::from_millis(300),
            redeliver_after: vec![Duration::from_millis(20); 3],
            ..workspace()
        },
    }
}

fn named(room: &str, id: String) -> Message {
    Message { room: room.to_owned(), id }
}

impl<const REQUESTS: bool> Slack<REQUESTS> {
    fn room(&self, place: Place) -> &str {
        if place == Place::Private { &self.private } else { OPS }
    }
}

impl<const REQUESTS: bool> Subject for Slack<REQUESTS> {
    type Bot = BotUnderTest;

    const LACKS: &'static [(&'static str, &'static str)] = if REQUESTS {
        &[("a_cut_connection_is_replaced", NO_CONNECTION), ("a_half_open_connection_is_noticed", NO_CONNECTION)]
    } else {
        &[]
    };

    async fn start(setup: Setup) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let slack = SlackSim::start(setting(setup)).await.unwrap();
        slack.add_person(ALICE, "Alice").await;
        slack.add_channel(OPS, "ops").await;
        let private = slack.open_dm(ALICE).await;
        let url = slack.api_url().parse().unwrap();
        let transport = if REQUESTS { events() } else { socket() };
        let mut config = SlackConfig::new(ChannelId::new("slack"), transport, BOT_TOKEN.into(), url);
        config.reconnect = Reconnect {
            first: Duration::from_millis(20),
            longest: Duration::from_millis(200),
            steady_after: Duration::from_secs(60),
        };
        if setup == Setup::ShortDeadline {
            config.inbound_deadline = Duration::from_secs(1);
        }
        let adapter = Arc::new(SlackAdapter::new(config).unwrap());
        let bot = if REQUESTS {
            let door = Door::open().await;
            let url = door.url.clone();
            let bot = BotUnderTest::start(adapter, Some(door)).await;
            slack.subscribe(&url, SECRET).await.unwrap();
            bot
        } else {
            BotUnderTest::start(adapter, None).await
        };
        Self { slack, bot, private }
    }

    fn bot(&self) -> &BotUnderTest {
        &self.bot
    }

    async fn say(&self, place: Place, text: &str) -> Message {
        let mention = format!("<@U0BOT> {text}");
        let id = match place {
            Place::Group => self.slack.say(ALICE, OPS, &mention).await,
            Place::Private => self.slack.say(ALICE, &self.private, text).await,
            Place::Thread => {
                let root = self.slack.say(ALICE, OPS, "checkout is slow").await;
                self.slack.reply(ALICE, OPS, &root, &mention).await
            }
        };
        named(self.room(place), id)
    }

    async fn redeliver(&self, message: &Message) {
        self.slack.redeliver(&message.id, EventId::Same).await;
    }

    async fn cut(&self) -> Result<(), Lacks> {
        if REQUESTS {
            return Err(Lacks(NO_CONNECTION));
        }
        let opened = self.slack.calls(OPEN).len();
        self.slack.cut_connections();
        self.slack.wait_for_calls(OPEN, opened + 1).await;
        self.slack.connected(1).await;
        Ok(())
    }

    async fn go_silent(&self) -> Result<(), Lacks> {
        if REQUESTS {
            return Err(Lacks(NO_CONNECTION));
        }
        self.slack.go_silent();
        self.slack.connected(1).await;
        Ok(())
    }

    async fn tell_of(&self, kind: &str) {
        self.slack.say_raw(json!({"type": kind, "user": ALICE, "event_ts": "1767226400.001000"})).await;
    }

    /// Slack tells of it by itself.
    async fn echo(&self, _: &Message) {}

    fn unacknowledged(&self) -> usize {
        self.slack.unheard()
    }

    async fn acknowledged(&self) {
        self.slack.heard().await;
    }

    fn trouble(&self, call: Call, trouble: Trouble) {
        let fault = match trouble {
            Trouble::Limited(seconds) => Fault::RateLimited { retry_after_secs: seconds, http_200: false },
            Trouble::AnswerLost => Fault::DropResponse,
            Trouble::Slow(wait) => Fault::DelayBefore(wait),
        };
        let method = if call == Call::Post { "chat.postMessage" } else { "chat.update" };
        self.slack.fault(method, fault);
    }

    fn edits_asked(&self) -> usize {
        self.slack.calls("chat.update").len()
    }

    fn shown(&self, message: &Message) -> Shown {
        let message = self.slack.message(&message.id);
        let blocks = message.blocks.clone().unwrap_or_default();
        let elements = blocks.as_array().into_iter().flatten().filter_map(|block| block["elements"].as_array());
        let buttons = elements.flatten().filter(|element| element["type"] == "button");
        let label = |button: &Value| button["text"]["text"].as_str().unwrap_or_default().to_owned();
        Shown { text: message.text().to_owned(), versions: message.edits.len(), buttons: buttons.map(label).collect() }
    }

    fn standing(&self, place: Place) -> Vec<String> {
        let messages = self.slack.messages(self.room(place), None).into_iter();
        messages.filter(|message| message.author == Author::Bot).map(|message| message.text().to_owned()).collect()
    }

    async fn delete_thread(&self, of: &Message) {
        let root = self.slack.message(&of.id).thread_ts.unwrap();
        self.slack.delete(OPS, &root).await;
    }

    async fn delete(&self, message: &Message) {
        self.slack.delete(&message.room, &message.id).await;
    }

    async fn press(&self, message: &Message, button: usize) -> String {
        self.slack.press(ALICE, &message.room, &message.id, ["yes", "no"][button]).await;
        self.slack.next_ephemeral(ALICE).await.text().to_owned()
    }
}
