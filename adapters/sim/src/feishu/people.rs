//! What people do in the tenant. Everything is delivered to the bot as the platform would deliver it.

use serde_json::{Value, json};

use super::{
    ALICE, BOT_OPEN_ID, FeishuSim, GROUP_MESSAGES, TENANT_KEY, events,
    message::{Author, Mention, Message, Reaction, union_id},
    world::{Chat, ChatKind, Person, World, p2p},
};

/// How the bot is mentioned in what people say here; any `@{ou_…}` is a mention, and `@{all}` is everybody.
pub const MENTION: &str = "@{ou_bot}";

impl FeishuSim {
    pub async fn add_person(&self, id: &str, name: &str) {
        self.add_person_of(id, name, TENANT_KEY).await;
    }

    pub async fn add_person_of(&self, id: &str, name: &str, tenant: &str) {
        let person = Person { name: name.to_owned(), tenant: tenant.to_owned() };
        self.shared.world.change(|world| {
            world.chats.insert(p2p(id), Chat::new(name, ChatKind::P2p));
            world.people.insert(id.to_owned(), person)
        });
    }

    pub async fn add_chat(&self, id: &str, chat: Chat) {
        self.shared.world.change(|world| world.chats.insert(id.to_owned(), chat));
    }

    /// Changes what a chat lets happen.
    pub async fn change_chat(&self, id: &str, change: impl FnOnce(&mut Chat)) {
        self.shared.world.change(|world| change(world.chats.get_mut(id).unwrap_or_else(|| no_chat(id))));
    }

    /// The id of the chat between the person and the bot.
    pub fn p2p(&self, person: &str) -> String {
        p2p(person)
    }

    /// Says something and returns its message id. Mentions are written `@{ou_…}`.
    pub async fn say(&self, person: &str, chat: &str, text: &str) -> String {
        let message = self.shared.world.change(|world| world.said(person, chat, text));
        self.publish(message, None, false)
    }

    /// Answers a message: inside its thread if it is in one, else as a quote.
    pub async fn reply(&self, person: &str, to: &str, text: &str) -> String {
        let chat = self.message(to).chat;
        let message = self.shared.world.change(|world| world.said(person, &chat, text));
        self.publish(message, Some(to), false)
    }

    /// Opens a thread under a message, or goes on in it.
    pub async fn reply_in_thread(&self, person: &str, to: &str, text: &str) -> String {
        let chat = self.message(to).chat;
        let message = self.shared.world.change(|world| world.said(person, &chat, text));
        self.publish(message, Some(to), true)
    }

    /// Says a post: an object with `title` and `content`, as it is received, with open_ids in its `at` nodes.
    pub async fn say_post(&self, person: &str, chat: &str, post: Value) -> String {
        let message = self.shared.world.change(|world| {
            let (mut post, mut mentions) = (post, Vec::new());
            world.number_ats(&mut post, &mut mentions);
            let mut message = world.draft(chat, Author::Person(person.to_owned()), "post", &post.to_string());
            message.mentions = mentions;
            message
        });
        self.publish(message, None, false)
    }

    /// Something of a kind that is neither text nor post, as received: `interactive`, `merge_forward`, `sticker`, …
    pub async fn say_kind(&self, person: &str, chat: &str, kind: &str, content: Value) -> String {
        let author = Author::Person(person.to_owned());
        let message = self.shared.world.change(|world| world.draft(chat, author, kind, &content.to_string()));
        self.publish(message, None, false)
    }

    /// Forwards messages together, wherever they were said.
    pub async fn forward(&self, person: &str, chat: &str, ids: &[&str]) -> String {
        let message = self.shared.world.change(|world| {
            let author = Author::Person(person.to_owned());
            let content = json!({"content": "Merged and Forwarded Message"}).to_string();
            let mut message = world.draft(chat, author, "merge_forward", &content);
            message.forwarded = ids.iter().map(|id| (*id).to_owned()).collect();
            message
        });
        self.publish(message, None, false)
    }

    /// Another app posts a card, as alerts are. It is not told to the bot, but people can answer it.
    pub async fn post_card(&self, bot: &str, chat: &str, card: Value) -> String {
        let author = Author::OtherBot(bot.to_owned());
        let message = self.shared.world.change(|world| world.draft(chat, author, "interactive", &card.to_string()));
        self.publish(message, None, false)
    }

    /// A person changes a text. Whether that sends an event again, under the same message id, is not agreed.
    pub async fn edit(&self, id: &str, text: &str, sends_event: bool) {
        let envelope = self.shared.world.change(|world| {
            let Some(mut message) = world.message(id).cloned() else { panic!("there is no message {id}") };
            let new = world.said("", &message.chat, text);
            message.mentions = new.mentions;
            message.edits.extend(new.edits);
            message.updated = new.created;
            let envelope = sends_event.then(|| {
                let event = events::received(world, &message);
                events::envelope(world, "im.message.receive_v1", event)
            });
            if let Some(place) = world.message_mut(id) {
                *place = message;
            }
            envelope
        });
        if let Some(envelope) = envelope {
            self.shared.deliver(envelope);
        }
    }

    /// Takes the bot out of the chat and tells it so: no more messages from there, and posts are refused.
    pub async fn kick_bot(&self, chat: &str) {
        self.change_chat(chat, |chat| chat.bot_is_in = false).await;
        self.about_chat(chat, "im.chat.member.bot.deleted_v1");
    }

    pub async fn add_bot(&self, chat: &str) {
        self.change_chat(chat, |chat| chat.bot_is_in = true).await;
        self.about_chat(chat, "im.chat.member.bot.added_v1");
    }

    /// The chat is no more.
    pub async fn dissolve(&self, chat: &str) {
        self.change_chat(chat, |chat| chat.dissolved = true).await;
        self.about_chat(chat, "im.chat.disbanded_v1");
    }

    fn about_chat(&self, id: &str, kind: &str) {
        let envelope = self.shared.world.change(|world| {
            let Some(chat) = world.chats.get(id).cloned() else { no_chat(id) };
            let event = json!({"chat_id": id, "operator_id": {"open_id": ALICE, "union_id": "on_alice"},
                "external": chat.external, "operator_tenant_key": TENANT_KEY, "name": chat.name});
            events::envelope(world, kind, event)
        });
        self.shared.deliver(envelope);
    }

    /// A person reacts to a message, which is told if the bot sent it.
    pub async fn react(&self, person: &str, id: &str, emoji: &str) {
        let envelope = self.shared.world.change(|world| {
            let (reaction, now) = (world.fresh("react"), world.stamp().to_string());
            let Some(message) = world.message_mut(id) else { panic!("there is no message {id}") };
            message.reactions.push(Reaction { id: reaction, emoji: emoji.to_owned(), by: person.to_owned() });
            let event = json!({"message_id": id, "reaction_type": {"emoji_type": emoji}, "operator_type": "user",
                "user_id": {"open_id": person, "union_id": union_id(person)}, "action_time": now});
            events::envelope(world, "im.message.reaction.created_v1", event)
        });
        self.shared.deliver(envelope);
    }

    /// Another app's bot says something.
    pub async fn say_as_bot(&self, bot: &str, chat: &str, text: &str) -> String {
        self.publish(self.words_of_bot(bot, chat, text), None, false)
    }

    /// As [`FeishuSim::say_as_bot`], in answer to a message.
    pub async fn reply_as_bot(&self, bot: &str, to: &str, text: &str) -> String {
        let chat = self.message(to).chat;
        self.publish(self.words_of_bot(bot, &chat, text), Some(to), false)
    }

    fn words_of_bot(&self, bot: &str, chat: &str, text: &str) -> Message {
        self.shared.world.change(|world| {
            let mut message = world.said(bot, chat, text);
            message.author = if bot == BOT_OPEN_ID { Author::Bot } else { Author::OtherBot(bot.to_owned()) };
            message
        })
    }

    /// A person takes a message back.
    pub async fn recall(&self, id: &str) {
        let event = self.shared.world.change(|world| {
            let now = world.stamp().to_string();
            let Some(message) = world.message_mut(id) else { panic!("there is no message {id}") };
            message.recalled = true;
            let event = json!({"message_id": id, "chat_id": message.chat, "recall_time": now,
                "recall_type": "message_owner"});
            events::envelope(world, "im.message.recalled_v1", event)
        });
        self.shared.deliver(event);
    }

    pub(super) fn publish(&self, mut message: Message, under: Option<&str>, in_thread: bool) -> String {
        let id = message.id.clone();
        let envelope = self.shared.world.change(|world| {
            let Some(chat) = world.chats.get(&message.chat).cloned() else { no_chat(&message.chat) };
            assert!(!chat.dissolved, "{} is dissolved: people can't write there", message.chat);
            match under {
                Some(parent) => world.put_under(&mut message, parent, in_thread || chat.kind.threaded()),
                None if chat.kind.threaded() => message.thread = Some(world.fresh("omt")),
                None => {}
            }
            world.messages.push(message.clone());
            let to_bot = chat.bot_is_in && world.is_delivered(&message, &chat);
            to_bot.then(|| {
                let event = events::received(world, &message);
                events::envelope(world, "im.message.receive_v1", event)
            })
        });
        if let Some(envelope) = envelope {
            self.shared.deliver(envelope);
        }
        id
    }
}

fn no_chat(id: &str) -> ! {
    panic!("there is no chat {id}: add_chat first")
}

impl World {
    /// Which messages arrive depends on scopes.
    fn is_delivered(&self, message: &Message, chat: &Chat) -> bool {
        let mentioned = message.mentions.iter().any(|mention| mention.open_id == BOT_OPEN_ID);
        let has = |scope: &str| self.scopes.contains(scope);
        match &message.author {
            // The bot's own messages are not told.
            Author::Bot => false,
            Author::OtherBot(_) => mentioned && has("im:message.group_at_msg.include_bot:readonly"),
            Author::Person(_) if chat.kind == ChatKind::P2p => has("im:message.p2p_msg:readonly"),
            Author::Person(_) => has(GROUP_MESSAGES) || mentioned && has("im:message.group_at_msg:readonly"),
        }
    }

    /// A text with its mentions as placeholders.
    pub(super) fn said(&mut self, person: &str, chat: &str, text: &str) -> Message {
        let (mut wire, mut mentions) = (String::new(), Vec::<Mention>::new());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("@{") {
            wire.push_str(before);
            let Some((id, after)) = after.split_once('}') else { break };
            wire.push_str(&self.place_holder(id, &mut mentions));
            rest = after;
        }
        wire.push_str(rest);
        let content = json!({"text": wire}).to_string();
        let mut message = self.draft(chat, Author::Person(person.to_owned()), "text", &content);
        message.mentions = mentions;
        message
    }

    /// Each mention has a number of its own, also of one who was mentioned before.
    fn place_holder(&self, id: &str, mentions: &mut Vec<Mention>) -> String {
        if id == "all" {
            return "@_all".to_owned();
        }
        let key = format!("@_user_{}", mentions.len() + 1);
        mentions.push(self.mention(key.clone(), id));
        key
    }

    fn number_ats(&self, part: &mut Value, mentions: &mut Vec<Mention>) {
        match part {
            Value::Array(items) => items.iter_mut().for_each(|item| self.number_ats(item, mentions)),
            Value::Object(fields) if fields.get("tag").is_some_and(|tag| tag == "at") => {
                let id = fields.get("user_id").and_then(Value::as_str).unwrap_or_default().to_owned();
                let key = self.place_holder(&id, mentions);
                if let Some(mention) = mentions.last().filter(|mention| mention.key == key) {
                    fields.insert("user_name".into(), mention.name.as_str().into());
                }
                fields.insert("user_id".into(), key.into());
            }
            Value::Object(fields) => fields.values_mut().for_each(|value| self.number_ats(value, mentions)),
            _ => {}
        }
    }
}
