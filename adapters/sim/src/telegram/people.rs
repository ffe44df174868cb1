//! What people do. Everything is brought to the bot as Telegram would bring it.

use serde_json::{Value, json};

use super::{
    BOB, TelegramSim,
    chats::{Chat, Kind, Standing, Topic, User},
    files::SimFile,
    message::Author,
    post::{Post, pieces},
    world::World,
};
use crate::time;

impl TelegramSim {
    pub fn add_user(&self, id: i64, first_name: &str, username: Option<&str>) {
        let user = User { first_name: first_name.to_owned(), username: username.map(str::to_owned) };
        self.shared.world.change(|world| world.users.insert(id, user));
    }

    pub fn add_group(&self, id: i64, title: &str) {
        self.add_chat(id, Kind::Group, title);
    }

    pub fn add_supergroup(&self, id: i64, title: &str) {
        self.add_chat(id, Kind::Supergroup, title);
    }

    pub fn add_forum(&self, id: i64, title: &str) {
        self.add_chat(id, Kind::Forum, title);
    }

    /// A channel with the bot as administrator.
    pub fn add_channel(&self, id: i64, title: &str) {
        self.add_chat(id, Kind::Channel, title);
    }

    pub(super) fn add_chat(&self, id: i64, kind: Kind, title: &str) {
        self.shared.world.change(|world| world.chats.insert(id, Chat::new(id, kind, title)));
    }

    /// A new topic of a forum; its id is that of the message that creates it.
    pub async fn new_topic(&self, chat: i64, name: &str) -> i64 {
        self.shared.world.change(|world| {
            let fields = json!({"forum_topic_created": {"name": name, "icon_color": 7_322_096}});
            let id = world.service(chat, Author::User(BOB), fields);
            world.chat_mut(chat).topics.insert(id, Topic::default());
            id
        })
    }

    /// Says something: in a private chat with the bot if `chat` is the person, in General if it is a forum.
    pub async fn say(&self, user: i64, chat: i64, text: &str) -> i64 {
        self.post(user, chat, Post::text(text)).await
    }

    pub async fn say_in_topic(&self, user: i64, chat: i64, topic: i64, text: &str) -> i64 {
        self.post(user, chat, Post::text(text).in_topic(topic)).await
    }

    pub async fn reply(&self, user: i64, chat: i64, to: i64, text: &str) -> i64 {
        self.post(user, chat, Post::text(text).reply_to(to)).await
    }

    /// A document with a caption, which may be empty.
    pub async fn attach(&self, user: i64, chat: i64, file: SimFile, caption: &str) -> i64 {
        self.post(user, chat, Post::file(file, caption)).await
    }

    pub async fn photo(&self, user: i64, chat: i64, content: &[u8], caption: &str) -> i64 {
        self.post(user, chat, Post::file(SimFile::photo(content.to_vec()), caption)).await
    }

    /// Several files at once: a message each, and the caption on the first.
    pub async fn album(&self, user: i64, chat: i64, files: Vec<SimFile>, caption: &str) -> Vec<i64> {
        let group = format!("album-{}", self.shared.world.change(World::next_id));
        let mut ids = Vec::new();
        for (at, file) in files.into_iter().enumerate() {
            let post = Post::file(file, if at == 0 { caption } else { "" });
            ids.push(self.post(user, chat, post.with("media_group_id", group.as_str().into())).await);
        }
        ids
    }

    /// A long text as the apps send it: cut near the limit into messages that follow at once.
    pub async fn paste(&self, user: i64, chat: i64, text: &str) -> Vec<i64> {
        let mut ids = Vec::new();
        for piece in pieces(text) {
            ids.push(self.say(user, chat, piece).await);
        }
        ids
    }

    /// Any message of a person.
    pub async fn post(&self, user: i64, chat: i64, post: Post) -> i64 {
        self.publish(Author::User(user), chat, post)
    }

    /// An administrator writes as the group.
    pub async fn say_anonymously(&self, chat: i64, text: &str) -> i64 {
        self.publish(Author::Anonymous, chat, Post::text(text).with("author_signature", "lead".into()))
    }

    pub async fn channel_post(&self, channel: i64, text: &str) -> i64 {
        self.publish(Author::Channel, channel, Post::text(text))
    }

    fn publish(&self, author: Author, chat: i64, post: Post) -> i64 {
        self.shared.world.change(|world| {
            let version = world.version(post.text.clone(), post.entities(), None);
            let mut message = world.draft(chat, author, version);
            if let Author::User(user) = author {
                assert!(world.users.contains_key(&user), "nobody has the id {user}: add_user first");
            }
            // Who writes to the bot has started it.
            let place = world.chat_mut(chat);
            assert!(place.migrated_to.is_none(), "{chat} was upgraded: nobody can write there");
            if place.bot == Standing::Never {
                place.bot = Standing::Member;
            }
            if let Some(topic) = post.topic {
                let open = place.topics.get(&topic).is_some_and(|topic| !topic.deleted);
                assert!(open, "{chat} has no topic {topic}");
            }
            if let Some(mut file) = post.file {
                file.number = world.next_id();
                message.file = Some(file);
            }
            message.extra = post.extra;
            world.place(&mut message, post.topic, post.reply_to);
            world.publish(message)
        })
    }

    /// Changes a message of one's own.
    pub async fn edit(&self, user: i64, chat: i64, id: i64, text: &str) {
        let post = Post::text(text);
        self.edited(chat, id, |world| {
            let version = world.version(post.text.clone(), post.entities(), None);
            let message = world.message_mut(chat, id)?;
            assert_eq!(message.author, Author::User(user), "{id} is somebody else's message");
            message.edits.push(version);
            Some(())
        });
    }

    /// An edit that changes no text, as a link preview brings it.
    pub async fn touch(&self, chat: i64, id: i64) {
        self.edited(chat, id, |world| world.message(chat, id).map(|_| ()));
    }

    fn edited(&self, chat: i64, id: i64, change: impl FnOnce(&mut World) -> Option<()>) {
        self.shared.world.change(|world| {
            let there = change(world).and_then(|()| world.message_mut(chat, id));
            let message = there.unwrap_or_else(|| panic!("{chat} has no message {id}"));
            message.edit_date = Some(time::now().as_secs());
            let message = message.clone();
            if world.hears(&message) {
                let kind = if message.author == Author::Channel { "edited_channel_post" } else { "edited_message" };
                let wire = world.wire(&message);
                world.updates.push(kind, wire);
            }
        });
    }

    /// Removes a message. Bots are not told.
    pub async fn delete(&self, chat: i64, id: i64) {
        self.shared.world.change(|world| {
            let message = world.message_mut(chat, id).unwrap_or_else(|| panic!("{chat} has no message {id}"));
            message.deleted = true;
        });
    }

    /// Presses a button under a message; a modified app may send any `data`. Returns the id of the press.
    pub async fn press(&self, user: i64, chat: i64, message: i64, data: &str) -> String {
        self.shared.world.change(|world| {
            let query = format!("{}{}", time::now().as_secs(), world.next_id());
            world.callbacks.pressed(&query);
            let pressed = match world.message(chat, message) {
                Some(message) => world.wire(message),
                // No longer accessible.
                None => {
                    let chat = world.chats.get(&chat).map_or(Value::Null, |chat| world.chat_wire(chat));
                    json!({"chat": chat, "message_id": message, "date": 0})
                }
            };
            let from = world.user_wire(user);
            let update = json!({"id": query, "from": from, "message": pressed, "chat_instance": "-77", "data": data});
            world.updates.push("callback_query", update);
            query
        })
    }

    /// A basic group becomes a supergroup with a new id, which is returned. The old one is dead.
    pub async fn upgrade_group(&self, chat: i64) -> i64 {
        self.shared.world.change(|world| {
            let old = world.chat_mut(chat).clone();
            assert_eq!(old.kind, Kind::Group, "only basic groups are upgraded");
            let new = -1_009_876_543_210 + chat;
            world.chats.insert(new, Chat::new(new, Kind::Supergroup, &old.title));
            world.service(chat, Author::User(BOB), json!({"migrate_to_chat_id": new}));
            world.chat_mut(chat).migrated_to = Some(new);
            world.service(new, Author::Service, json!({"migrate_from_chat_id": chat}));
            new
        })
    }

    pub async fn close_topic(&self, chat: i64, topic: i64) {
        self.shared.world.change(|world| {
            world.topic_mut(chat, topic).closed = true;
            world.in_topic(chat, topic, json!({"forum_topic_closed": {}}));
        });
    }

    pub async fn reopen_topic(&self, chat: i64, topic: i64) {
        self.shared.world.change(|world| {
            world.topic_mut(chat, topic).closed = false;
            world.in_topic(chat, topic, json!({"forum_topic_reopened": {}}));
        });
    }

    /// Deletes a topic with its messages. Bots are not told.
    pub async fn delete_topic(&self, chat: i64, topic: i64) {
        self.shared.world.change(|world| {
            world.topic_mut(chat, topic).deleted = true;
            for message in world.messages.iter_mut().filter(|m| m.chat == chat && m.topic == Some(topic)) {
                message.deleted = true;
            }
        });
    }

    /// Takes the bot out of a group.
    pub async fn kick_bot(&self, chat: i64) {
        self.shared.world.change(|world| world.stand(chat, BOB, Standing::Kicked));
    }

    pub async fn add_bot(&self, chat: i64) {
        self.shared.world.change(|world| world.stand(chat, BOB, Standing::Member));
    }

    pub async fn promote_bot(&self, chat: i64) {
        self.shared.world.change(|world| world.stand(chat, BOB, Standing::Admin));
    }

    /// The bot may read but not write.
    pub async fn mute_bot(&self, chat: i64) {
        self.shared.world.change(|world| world.stand(chat, BOB, Standing::Muted));
    }

    pub async fn block_bot(&self, user: i64) {
        self.shared.world.change(|world| world.stand(user, user, Standing::Blocked));
    }

    pub async fn unblock_bot(&self, user: i64) {
        self.shared.world.change(|world| world.stand(user, user, Standing::Member));
    }

    /// Any update, of a known kind or not. It gets the next `update_id` if it has none, which is returned.
    pub async fn raw(&self, update: Value) -> u64 {
        self.shared.world.change(|world| world.updates.push_raw(update))
    }
}

impl World {
    fn topic_mut(&mut self, chat: i64, topic: i64) -> &mut Topic {
        let found = self.chat_mut(chat).topics.get_mut(&topic);
        found.unwrap_or_else(|| panic!("{chat} has no topic {topic}"))
    }

    fn in_topic(&mut self, chat: i64, topic: i64, fields: Value) {
        let version = self.version(String::new(), Vec::new(), None);
        let mut message = self.draft(chat, Author::User(BOB), version);
        message.topic = Some(topic);
        if let Value::Object(fields) = fields {
            message.extra = fields;
        }
        self.publish(message);
    }
}
