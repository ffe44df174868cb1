//! Users and chats: who is who, which kind a chat is of, and what the bot may do there.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{BOT_ID, message::Author, methods::Refused, world::World};
use crate::time;

#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) first_name: String,
    pub(crate) username: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Private,
    Group,
    Supergroup,
    Forum,
    Channel,
}

impl Kind {
    pub(crate) fn wire(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Group => "group",
            Self::Supergroup | Self::Forum => "supergroup",
            Self::Channel => "channel",
        }
    }
}

/// The bot in a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// In a private chat: its person has not started the bot.
    Never,
    Member,
    Admin,
    /// Sees everything, may not write.
    Muted,
    Kicked,
    /// In a private chat: blocked.
    Blocked,
}

impl Standing {
    pub(crate) fn is_in(self) -> bool {
        matches!(self, Self::Member | Self::Admin | Self::Muted)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Chat {
    pub(crate) id: i64,
    pub(crate) kind: Kind,
    pub(crate) title: String,
    pub(crate) bot: Standing,
    pub(crate) topics: BTreeMap<i64, Topic>,
    pub(crate) migrated_to: Option<i64>,
    last_message: i64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Topic {
    pub(crate) closed: bool,
    pub(crate) deleted: bool,
}

impl Chat {
    pub(crate) fn new(id: i64, kind: Kind, title: &str) -> Self {
        let bot = if kind == Kind::Channel { Standing::Admin } else { Standing::Member };
        // Ids of messages begin alike in every chat, as they are unique within one only. 1 is General's.
        Self { id, kind, title: title.to_owned(), bot, topics: BTreeMap::new(), migrated_to: None, last_message: 10 }
    }

    pub(crate) fn next_message(&mut self) -> i64 {
        self.last_message += 1;
        self.last_message
    }

    /// As the texts of refusals name it.
    fn noun(&self) -> &'static str {
        match self.kind {
            Kind::Private => "user",
            Kind::Group => "group chat",
            Kind::Supergroup | Kind::Forum => "supergroup chat",
            Kind::Channel => "channel chat",
        }
    }
}

impl World {
    /// The private chat with a user comes into being when it is first used.
    pub(crate) fn chat_mut(&mut self, id: i64) -> &mut Chat {
        if id > 0 && !self.chats.contains_key(&id) {
            assert!(self.users.contains_key(&id), "nobody has the id {id}: add_user first");
            let chat = Chat { bot: Standing::Never, ..Chat::new(id, Kind::Private, "") };
            self.chats.insert(id, chat);
        }
        self.chats.get_mut(&id).unwrap_or_else(|| panic!("there is no chat {id}"))
    }

    pub(crate) fn user_wire(&self, id: i64) -> Value {
        if id == BOT_ID {
            return self.bot_wire();
        }
        let mut wire = json!({"id": id, "is_bot": false, "first_name": "?"});
        if let Some(user) = self.users.get(&id) {
            wire["first_name"] = user.first_name.as_str().into();
            wire["language_code"] = "en".into();
            if let Some(username) = &user.username {
                wire["username"] = username.as_str().into();
            }
        }
        wire
    }

    pub(crate) fn chat_wire(&self, chat: &Chat) -> Value {
        let mut wire = json!({"id": chat.id, "type": chat.kind.wire()});
        if chat.kind == Kind::Private {
            let user = self.user_wire(chat.id);
            wire["first_name"] = user["first_name"].clone();
            if let Some(username) = user.get("username") {
                wire["username"] = username.clone();
            }
        } else {
            wire["title"] = chat.title.as_str().into();
        }
        if chat.kind == Kind::Forum {
            wire["is_forum"] = true.into();
        }
        wire
    }

    /// The chat of a call, if the bot may act there.
    pub(crate) fn open_chat(&self, id: i64) -> Result<&Chat, Refused> {
        let unknown = if self.users.contains_key(&id) {
            Refused::new(403, "Forbidden: bot can't initiate conversation with a user")
        } else {
            Refused::bad("chat not found")
        };
        let chat = self.chats.get(&id).ok_or(unknown)?;
        if let Some(new) = chat.migrated_to {
            let mut refused = Refused::bad("group chat was upgraded to a supergroup chat");
            refused.parameters = Some(json!({"migrate_to_chat_id": new}));
            return Err(refused);
        }
        match chat.bot {
            Standing::Member | Standing::Admin | Standing::Muted => Ok(chat),
            Standing::Blocked => Err(Refused::new(403, "Forbidden: bot was blocked by the user")),
            Standing::Kicked => Err(Refused::new(403, &format!("Forbidden: bot was kicked from the {}", chat.noun()))),
            Standing::Never => Err(Refused::new(403, "Forbidden: bot can't initiate conversation with a user")),
        }
    }

    /// Changes the bot's standing and tells it so.
    pub(crate) fn stand(&mut self, id: i64, by: i64, standing: Standing) {
        let chat = self.chat_mut(id);
        let before = std::mem::replace(&mut chat.bot, standing);
        if before == standing {
            return;
        }
        let chat = self.chat_wire(&self.chats[&id]);
        let update = json!({
            "chat": chat, "from": self.user_wire(by), "date": time::now().as_secs(),
            "old_chat_member": self.bot_member(before), "new_chat_member": self.bot_member(standing)});
        self.updates.push("my_chat_member", update);
    }

    pub(crate) fn bot_member(&self, standing: Standing) -> Value {
        let mut member = json!({"user": self.bot_wire()});
        let Value::Object(fields) = &mut member else { return member };
        let rights: &[&str] = match standing {
            Standing::Member => &[],
            Standing::Admin => &[
                "can_manage_chat",
                "can_delete_messages",
                "can_manage_video_chats",
                "can_restrict_members",
                "can_promote_members",
                "can_change_info",
                "can_invite_users",
                "can_post_stories",
                "can_edit_stories",
                "can_delete_stories",
                "can_pin_messages",
                "can_manage_topics",
                "can_post_messages",
                "can_edit_messages",
            ],
            Standing::Muted => &[
                "can_send_messages",
                "can_send_audios",
                "can_send_documents",
                "can_send_photos",
                "can_send_videos",
                "can_send_video_notes",
                "can_send_voice_notes",
                "can_send_polls",
                "can_send_other_messages",
                "can_add_web_page_previews",
                "can_change_info",
                "can_invite_users",
                "can_pin_messages",
                "can_manage_topics",
            ],
            Standing::Never | Standing::Kicked | Standing::Blocked => &[],
        };
        fields.extend(rights.iter().map(|&right| (right.to_owned(), (standing == Standing::Admin).into())));
        let status = match standing {
            Standing::Member => "member",
            Standing::Admin => {
                fields.insert("can_be_edited".into(), false.into());
                fields.insert("is_anonymous".into(), false.into());
                "administrator"
            }
            Standing::Muted => {
                fields.insert("is_member".into(), true.into());
                fields.insert("until_date".into(), 0.into());
                "restricted"
            }
            Standing::Never => "left",
            Standing::Kicked | Standing::Blocked => {
                fields.insert("until_date".into(), 0.into());
                "kicked"
            }
        };
        fields.insert("status".into(), status.into());
        member
    }

    /// A message of the service itself, such as a new topic's first.
    pub(crate) fn service(&mut self, chat: i64, author: Author, fields: Value) -> i64 {
        let version = self.version(String::new(), Vec::new(), None);
        let mut message = self.draft(chat, author, version);
        if let Value::Object(fields) = fields {
            if fields.contains_key("forum_topic_created") {
                message.topic = Some(message.id);
            }
            message.extra = fields;
        }
        self.publish(message)
    }
}
