//! Presses on buttons: answered at once, whatever comes of them. What the answer says is the coordinator's.

use std::{sync::Arc, time::Duration};

use teloxide::{
    payloads::{AnswerCallbackQuery, AnswerCallbackQuerySetters},
    types::CallbackQueryId,
};
use tokio::time::timeout;
use tracing::{debug, warn};
use watchfloor_channel::{Act, Aside, Author, ConversationId, MessageId, text};

use super::{arrivals::Shared, updates::Press};
use crate::{keyboard, thread::Thread};

/// The coordinator answers within a moment; a person waits.
const SENTENCE: Duration = Duration::from_secs(2);
/// What Telegram shows.
const LONGEST: usize = 200;

impl Shared {
    /// Returns when the act is known; the person is told in the background, since nothing depends on it.
    pub(crate) async fn pressed(self: &Arc<Self>, press: Press) {
        let sentence = match self.click(&press).await {
            Some(aside) => timeout(SENTENCE, self.inbox.aside(aside)).await,
            None => Ok(String::new()),
        };
        let sentence = sentence.unwrap_or_else(|_| {
            warn!(channel.id = %self.config.id, "a click found no answer in time");
            String::new()
        });
        let Ok(place) = self.follow_ups.clone().try_acquire_owned() else {
            debug!(channel.id = %self.config.id, "too many clicks; this one is left unanswered");
            return;
        };
        let shared = self.clone();
        self.deliveries.spawn(async move {
            let _place = place;
            shared.give_up.run_until_cancelled(shared.tell(press.id, &sentence)).await;
        });
    }

    async fn tell(&self, press: String, sentence: &str) {
        let mut answer = AnswerCallbackQuery::new(CallbackQueryId(press));
        if !sentence.is_empty() {
            answer = answer.text(fitting(sentence));
        }
        if let Err(error) = self.api.call::<serde_json::Value>(&answer).await {
            // Mostly too late: the press waited while we were away.
            debug!(channel.id = %self.config.id, %error, "a click could not be answered");
        }
    }

    /// `None`: not under a message.
    async fn click(&self, press: &Press) -> Option<Aside> {
        let message = press.message.as_deref().filter(|message| message.chat.id != 0)?;
        let (chat, number) = (message.chat.id, message.message_id);
        let noted = self.threads.noted(chat, number).await.ok().flatten();
        let topic = message.message_thread_id.filter(|_| message.is_topic_message);
        let topic = topic.map(|topic| Thread::Topic(topic).to_string());
        let (action, value) = keyboard::read(&press.data);
        self.api.names.learn(&press.from.id.to_string(), &press.from.name().unwrap_or_default());
        Some(Aside {
            conversation: ConversationId {
                channel: self.config.id.clone(),
                room: self.rooms.room_of(chat),
                thread: topic.or(noted).unwrap_or_default(),
            },
            author: Author {
                id: press.from.id.to_string(),
                name: press.from.name(),
                is_bot: press.from.is_bot,
                is_self: press.from.id == self.own.id,
                is_outsider: false,
            },
            act: Act::Click {
                message: MessageId { room: chat.to_string(), id: number.to_string() },
                action: action.to_owned(),
                value: value.to_owned(),
            },
        })
    }
}

fn fitting(sentence: &str) -> String {
    let mut chars = LONGEST;
    loop {
        let cut = text::shorten(sentence, chars);
        // Characters outside the first plane count twice.
        if cut.encode_utf16().count() <= LONGEST || chars == 0 {
            return cut.into_owned();
        }
        chars -= 1;
    }
}
