//! What people do in the workspace. Everything is delivered to the bot as Slack would deliver it.

use serde_json::{Map, Value};

use super::{
    Mentions, SlackSim, events,
    message::{Author, Edit, Message},
    teams::Team,
    world::{Channel, ChannelKind, World},
};

impl SlackSim {
    pub async fn add_person(&self, id: &str, name: &str) {
        self.shared.world.change(|world| world.people.insert(id.to_owned(), name.to_owned()));
    }

    /// A channel with the bot in it. An id that begins with `G` makes it private.
    pub async fn add_channel(&self, id: &str, name: &str) {
        let kind = if id.starts_with('G') { ChannelKind::Private } else { ChannelKind::Public };
        let teams = vec![Team::default()];
        let channel =
            Channel { name: name.to_owned(), kind, archived: false, bot_is_in: true, teams, ext_shared: false };
        self.shared.world.change(|world| world.channels.insert(id.to_owned(), channel));
    }

    /// The id of the direct channel between the person and the bot.
    pub async fn open_dm(&self, person: &str) -> String {
        self.shared.world.change(|world| world.open_dm(person))
    }

    pub async fn archive(&self, channel: &str) {
        self.with_channel(channel, |channel| channel.archived = true);
    }

    /// Takes the bot out of the channel: no more events from there, and posts are refused.
    pub async fn kick_bot(&self, channel: &str) {
        self.with_channel(channel, |channel| channel.bot_is_in = false);
    }

    fn with_channel(&self, id: &str, change: impl FnOnce(&mut Channel)) {
        self.shared.world.change(|world| change(world.channels.get_mut(id).unwrap_or_else(|| no_channel(id))));
    }

    /// Says something at top level and returns its `ts`. The text is as on the wire: mentions as `<@U…>`.
    pub async fn say(&self, person: &str, channel: &str, text: &str) -> String {
        self.speak(person, channel, None, text)
    }

    /// Says something in a thread.
    pub async fn reply(&self, person: &str, channel: &str, thread_ts: &str, text: &str) -> String {
        self.speak(person, channel, Some(thread_ts), text)
    }

    fn speak(&self, person: &str, channel: &str, thread_ts: Option<&str>, text: &str) -> String {
        self.publish(self.compose(person, channel, thread_ts, text))
    }

    /// What a person is about to say.
    pub(super) fn compose(&self, person: &str, channel: &str, thread_ts: Option<&str>, text: &str) -> Message {
        self.shared.world.change(|world| {
            assert!(world.people.contains_key(person), "nobody is called {person}: add_person first");
            let mut message = world.draft(channel, Author::Person(person.to_owned()), text);
            let id = world.next_id();
            message.blocks = Some(events::rich_text(text, id));
            message.extra.insert("client_msg_id".into(), format!("c0000000-0000-4000-8000-{id:012}").into());
            message.extra.extend(world.origin(person));
            message.thread_ts = thread_ts.map(str::to_owned);
            if let Some(parent) = thread_ts.and_then(|ts| world.visible(channel, ts))
                && let Author::Person(author) = &parent.author
            {
                message.extra.insert("parent_user_id".into(), author.as_str().into());
            }
            message
        })
    }

    /// A message of an alert bot: empty text, everything in the attachments.
    pub async fn alert(&self, channel: &str, attachments: Value) -> String {
        let message = self.shared.world.change(|world| {
            let mut message = world.draft(channel, Author::OtherBot("B0ALERT".to_owned()), "");
            message.attachments = Some(attachments);
            message.extra = Map::from_iter([
                ("subtype".to_owned(), "bot_message".into()),
                ("username".to_owned(), "alerts".into()),
            ]);
            message
        });
        self.publish(message)
    }

    /// Delivers an event object as it is. A message in a known channel is also kept in its history.
    pub async fn say_raw(&self, event: Value) {
        self.shared.world.change(|world| world.keep_raw(&event));
        self.shared.deliver(event);
    }

    pub(super) fn publish(&self, message: Message) -> String {
        let (ts, pair) = self.shared.world.change(|world| {
            let channel = world.channels.get(&message.channel).unwrap_or_else(|| no_channel(&message.channel));
            assert!(!channel.archived, "{} is archived: people can't write there", message.channel);
            let plain = channel.bot_is_in.then(|| events::posted(&message, channel));
            let mut mention = events::mentioned(&message, channel, &message.ts);
            if world.files.bare_mentions
                && let Some(Value::Object(mention)) = &mut mention
            {
                mention.remove("files");
            }
            let ts = message.ts.clone();
            let pair = pair(world.mentions, plain, mention);
            world.messages.push(message);
            (ts, pair)
        });
        self.deliver_pair(pair);
        ts
    }

    fn deliver_pair(&self, (first, second): (Option<Value>, Option<Value>)) {
        if let Some(event) = first {
            self.shared.deliver(event);
        }
        let Some(event) = second else { return };
        let gap = self.shared.config.pair_gap;
        if gap.is_zero() {
            return self.shared.deliver(event);
        }
        let shared = self.shared.clone();
        let stop = self.shared.tasks.stop.clone();
        self.shared.tasks.tracker.spawn(async move {
            if stop.run_until_cancelled(tokio::time::sleep(gap)).await.is_some() {
                shared.deliver(event);
            }
        });
    }

    /// The author changes a text. If it mentions the bot, that is a new `app_mention` with the same `ts`.
    pub async fn edit(&self, channel: &str, ts: &str, new_text: &str) {
        let pair = self.shared.world.change(|world| {
            let (stamp, at, block_id) = (world.stamp(), world.started.elapsed(), world.next_id());
            let place = world.channels.get(channel).unwrap_or_else(|| no_channel(channel)).clone();
            let message = world.visible_mut(channel, ts).unwrap_or_else(|| no_message(channel, ts));
            let before = message.wire();
            message.blocks = Some(events::rich_text(new_text, block_id));
            message.edits.push(Edit { text: new_text.to_owned(), blocks: message.blocks.clone(), at });
            message.marked_edited = Some(stamp.clone());
            let plain = place.bot_is_in.then(|| events::changed(before, message, &place, &stamp));
            let mention = events::mentioned(message, &place, &stamp);
            pair(world.mentions, plain, mention)
        });
        self.deliver_pair(pair);
    }

    pub async fn delete(&self, channel: &str, ts: &str) {
        let event = self.shared.world.change(|world| {
            let stamp = world.stamp();
            let place = world.channels.get(channel).unwrap_or_else(|| no_channel(channel)).clone();
            let bury = self.shared.config.tombstones && !world.replies(channel, ts).is_empty();
            let message = world.visible_mut(channel, ts).unwrap_or_else(|| no_message(channel, ts));
            message.deleted = true;
            let event = if bury { events::buried } else { events::deleted };
            place.bot_is_in.then(|| event(message, &place, &stamp))
        });
        if let Some(event) = event {
            self.shared.deliver(event);
        }
    }
}

impl World {
    fn keep_raw(&mut self, event: &Value) {
        let text_of = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        let (channel, ts) = (text_of("channel"), text_of("ts"));
        let content = !matches!(event["subtype"].as_str(), Some("message_changed" | "message_deleted"));
        let new = !self.messages.iter().any(|m| m.ts == ts && m.channel == channel);
        if !(content && new && event["ts"].is_string() && self.channels.contains_key(&channel)) {
            return;
        }
        let author = match event["user"].as_str() {
            Some(user) => Author::Person(user.to_owned()),
            None => Author::OtherBot(text_of("bot_id")),
        };
        let mut message = self.draft(&channel, author, &text_of("text"));
        message.ts = ts;
        message.thread_ts = event["thread_ts"].as_str().map(str::to_owned);
        message.blocks = event.get("blocks").cloned();
        message.attachments = event.get("attachments").cloned();
        message.extra = event.as_object().cloned().unwrap_or_default();
        for key in ["channel", "channel_type", "event_ts"] {
            message.extra.remove(key);
        }
        self.messages.push(message);
    }
}

fn pair(order: Mentions, message: Option<Value>, mention: Option<Value>) -> (Option<Value>, Option<Value>) {
    match (order, mention) {
        // The order only matters where there are two.
        (_, None) => (message, None),
        (Mentions::MessageFirst, mention) => (message, mention),
        (Mentions::MentionFirst, mention) => (mention, message),
        (Mentions::OnlyMention, mention) => (mention, None),
        (Mentions::OnlyMessage, _) => (message, None),
    }
}

fn no_channel(id: &str) -> ! {
    panic!("there is no channel {id}: add_channel or open_dm first")
}

fn no_message(channel: &str, ts: &str) -> ! {
    panic!("there is no message {ts} in {channel}")
}
