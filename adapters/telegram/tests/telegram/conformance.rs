//! The checks that every platform's adapter passes, by polls and by requests.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use watchfloor_channel::{ChannelState, ShortMemory};
use watchfloor_sim::{
    TelegramSim,
    conformance::{Call, Lacks, Message, Place, Setup, Shown, Subject, Trouble},
    telegram::{self, ALICE, Author, BOT_ID, BOT_USERNAME, FORUM, Fault, OPS},
};
use watchfloor_telegram::{Intake, TelegramAdapter};

use self::bot::{BotUnderTest, Door};
use crate::desk;

#[path = "../../../core/tests/support/bot.rs"]
mod bot;

mod by_polls {
    watchfloor_sim::conformance!(super::Telegram<false>);
}

mod by_requests {
    watchfloor_sim::conformance!(super::Telegram<true>);
}

const NO_CONNECTION: &str = "each update comes as a request of its own";
const POLL: &str = "getUpdates";
const EDIT: &str = "editMessageText";

struct Telegram<const REQUESTS: bool> {
    telegram: TelegramSim,
    bot: BotUnderTest,
}

fn room(place: Place) -> i64 {
    match place {
        Place::Group => OPS,
        Place::Private => ALICE,
        Place::Thread => FORUM,
    }
}

fn number(message: &Message) -> (i64, i64) {
    (message.room.parse().unwrap(), message.id.parse().unwrap())
}

impl<const REQUESTS: bool> Telegram<REQUESTS> {
    fn message(&self, message: &Message) -> telegram::Message {
        let (chat, id) = number(message);
        self.telegram.message(chat, id)
    }
}

impl<const REQUESTS: bool> Subject for Telegram<REQUESTS> {
    type Bot = BotUnderTest;

    const LACKS: &'static [(&'static str, &'static str)] = if REQUESTS {
        &[("a_cut_connection_is_replaced", NO_CONNECTION), ("a_half_open_connection_is_noticed", NO_CONNECTION)]
    } else {
        &[]
    };

    /// Administrators delete topics; the asker is told in private.
    const INTO_A_DELETED_THREAD: &str = "Room";

    async fn start(setup: Setup) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut world = desk::world();
        if setup == Setup::Impatient {
            world.webhook_retry = Duration::from_millis(20);
        }
        let telegram = TelegramSim::start(world).await.unwrap();
        let mut config = desk::config(&telegram.api_url(), Arc::new(ShortMemory::default()));
        config.gather = Duration::from_millis(100);
        let door = if REQUESTS {
            let door = Door::open().await;
            let (secret_token, url) = ("example_secret-0123456789".into(), Some(door.url.parse().unwrap()));
            config.intake = Intake::Webhook { secret_token, url };
            Some(door)
        } else {
            let short = setup == Setup::ShortDeadline;
            config.intake = Intake::Polling { poll_timeout: Duration::from_secs(if short { 1 } else { 50 }) };
            if short {
                config.inbound_deadline = Duration::from_millis(200);
            }
            None
        };
        let bot = BotUnderTest::start(Arc::new(TelegramAdapter::new(config).unwrap()), door).await;
        Self { telegram, bot }
    }

    fn bot(&self) -> &BotUnderTest {
        &self.bot
    }

    async fn say(&self, place: Place, text: &str) -> Message {
        let chat = room(place);
        let mention = format!("@{BOT_USERNAME} {text}");
        let id = match place {
            Place::Group => self.telegram.say(ALICE, chat, &mention).await,
            Place::Private => self.telegram.say(ALICE, chat, text).await,
            Place::Thread => {
                let topic = self.telegram.new_topic(chat, "Checkout").await;
                self.telegram.say_in_topic(ALICE, chat, topic, &mention).await
            }
        };
        Message { room: chat.to_string(), id: id.to_string() }
    }

    /// What was confirmed last.
    async fn redeliver(&self, _: &Message) {
        self.telegram.redeliver();
    }

    async fn cut(&self) -> Result<(), Lacks> {
        if REQUESTS {
            return Err(Lacks(NO_CONNECTION));
        }
        let polls = self.telegram.calls(POLL).len();
        self.telegram.cut_connections();
        self.telegram.wait_for_calls(POLL, polls + 1).await;
        Ok(())
    }

    async fn go_silent(&self) -> Result<(), Lacks> {
        if REQUESTS {
            return Err(Lacks(NO_CONNECTION));
        }
        self.telegram.hang_polls(true);
        self.bot.state(|state| matches!(state, ChannelState::Disconnected(_))).await;
        self.telegram.hang_polls(false);
        self.bot.state(|state| *state == ChannelState::Connected).await;
        Ok(())
    }

    async fn tell_of(&self, kind: &str) {
        self.telegram.raw(json!({kind: {}})).await;
    }

    /// Telegram does not tell bots of their own messages, and nobody has promised that it stays so.
    async fn echo(&self, own: &Message) {
        let message = self.message(own);
        let kind = if message.chat == ALICE { "private" } else { "supergroup" };
        let from = json!({"id": BOT_ID, "is_bot": true, "first_name": "Ops bot", "username": BOT_USERNAME});
        let mut wire = json!({"message_id": message.id, "from": from, "chat": {"id": message.chat, "type": kind},
            "date": message.date, "text": message.text()});
        if let Some(topic) = message.topic {
            wire["message_thread_id"] = topic.into();
            wire["is_topic_message"] = true.into();
            wire["chat"]["is_forum"] = true.into();
        }
        self.telegram.raw(json!({"message": wire})).await;
    }

    fn unacknowledged(&self) -> usize {
        self.telegram.unread().len()
    }

    async fn acknowledged(&self) {
        self.telegram.heard().await;
    }

    fn trouble(&self, call: Call, trouble: Trouble) {
        let fault = match trouble {
            Trouble::Limited(seconds) => Fault::retry_after(seconds),
            Trouble::AnswerLost => Fault::DropResponse,
            Trouble::Slow(wait) => Fault::DelayBefore(wait),
        };
        self.telegram.fault(if call == Call::Post { "sendMessage" } else { EDIT }, fault);
    }

    fn edits_asked(&self) -> usize {
        self.telegram.calls(EDIT).len()
    }

    fn shown(&self, message: &Message) -> Shown {
        let message = self.message(message);
        Shown {
            text: message.text().to_owned(),
            versions: message.edits.len(),
            buttons: message.buttons().into_iter().map(|(label, _)| label).collect(),
        }
    }

    fn standing(&self, place: Place) -> Vec<String> {
        let messages = self.telegram.messages(room(place)).into_iter();
        messages.filter(|message| message.author == Author::Bot).map(|message| message.text().to_owned()).collect()
    }

    async fn delete_thread(&self, of: &Message) {
        let topic = self.message(of).topic.unwrap();
        self.telegram.delete_topic(FORUM, topic).await;
    }

    async fn delete(&self, message: &Message) {
        let (chat, id) = number(message);
        self.telegram.delete(chat, id).await;
    }

    async fn press(&self, message: &Message, button: usize) -> String {
        let (_, data) = self.message(message).buttons().remove(button);
        let (chat, id) = number(message);
        let press = self.telegram.press(ALICE, chat, id, &data).await;
        self.telegram.wait_for_answer(&press).await.text
    }
}
