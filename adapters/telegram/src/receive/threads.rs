//! Which conversation a message belongs to: a topic, the chat itself, or in groups without topics the chain of replies. A reply
//! shows one level only, so what belongs to a chain is noted.

use std::sync::Arc;

use watchfloor_channel::{Addressed, ConversationId, Inbound, InboundKind, MessageId, Note, Notes, NotesError};

use super::{addressee, messages, rooms::Rooms, updates::Message};
use crate::thread::Thread;

pub(crate) struct Threads {
    notes: Arc<dyn Notes>,
    rooms: Arc<Rooms>,
}

/// Where a message belongs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// As conversations name them.
    pub(crate) room: String,
    pub(crate) thread: String,
    /// Nothing was said before it.
    pub(crate) opens: bool,
    /// It has to be noted: no later message would say so.
    unsaid: bool,
}

impl Threads {
    pub(crate) fn new(notes: Arc<dyn Notes>, rooms: Arc<Rooms>) -> Self {
        Self { notes, rooms }
    }

    /// A message of ours stands in this conversation: whoever answers it means that one.
    pub(crate) async fn posted(&self, conversation: &ConversationId, message: &MessageId) -> Result<(), NotesError> {
        if !matches!(Thread::parse(&conversation.thread), Some(Thread::Chain { .. })) {
            return Ok(());
        }
        self.notes.write(&[note(&message.room, &message.id, &conversation.thread)]).await
    }

    /// The thread that a message of a group without topics was noted for.
    pub(crate) async fn noted(&self, chat: i64, message: i32) -> Result<Option<String>, NotesError> {
        let noted = self.notes.read(&key(&chat.to_string(), &message.to_string())).await?;
        Ok(noted.filter(|thread| Thread::parse(thread).is_some()))
    }

    pub(crate) async fn place(&self, message: &Message) -> Result<Place, NotesError> {
        self.rooms.load().await?;
        let room = self.rooms.room_of(message.chat.id);
        let replied = addressee::reply(message);
        let plain =
            |thread: Thread, opens| Place { room: room.clone(), thread: thread.to_string(), opens, unsaid: false };
        // Private chats can have topics too.
        if let (true, Some(topic)) = (message.is_topic_message, message.message_thread_id) {
            return Ok(plain(Thread::Topic(topic), false));
        }
        if message.chat.is_private() {
            return Ok(plain(Thread::Room, replied.is_none()));
        }
        // General.
        if message.chat.is_forum {
            return Ok(plain(Thread::Room, false));
        }
        // Ids of a chat that has moved on never name a message of the one it has become.
        let moved = room != message.chat.id.to_string();
        let chain = |root| Thread::Chain { chat: moved.then_some(message.chat.id), root };
        let root = message.message_thread_id.or(replied.map(|replied| replied.message_id));
        let Some(root) = root.filter(|root| *root != message.message_id) else {
            return Ok(plain(chain(message.message_id), true));
        };
        let noted = match replied {
            Some(replied) => self.noted(message.chat.id, replied.message_id).await?,
            None => None,
        };
        let unsaid = message.message_thread_id.is_none() || noted.is_some();
        Ok(Place { room, thread: noted.unwrap_or_else(|| chain(root).to_string()), opens: false, unsaid })
    }

    /// What has to be durable before the message is taken.
    pub(crate) async fn keep(&self, message: &Message, place: &Place) -> Result<(), NotesError> {
        if !place.unsaid {
            return Ok(());
        }
        let (chat, id) = (message.chat.id.to_string(), message.message_id.to_string());
        self.notes.write(&[note(&chat, &id, &place.thread)]).await
    }

    /// A stop that answers nothing would begin a chain of its own and stop nothing: its author means what she asked last in
    /// the group. So that is noted.
    pub(crate) async fn follow(&self, inbound: &mut Inbound) -> Result<(), NotesError> {
        let at = &inbound.conversation;
        let in_chain = matches!(Thread::parse(&at.thread), Some(Thread::Chain { .. }));
        if !in_chain || inbound.kind != InboundKind::Message || inbound.addressed == Addressed::Overheard {
            return Ok(());
        }
        let key = format!("asked/{}/{}", at.room, inbound.author.id);
        if !messages::is_stop(&inbound.text) {
            return self.notes.write(&[Note::a_while(key, &at.thread)]).await;
        }
        if inbound.starts_thread
            && let Some(thread) = self.notes.read(&key).await?
        {
            inbound.conversation.thread = thread;
            inbound.starts_thread = false;
        }
        Ok(())
    }
}

/// For a piece of a message that came in several: answers to it belong where the whole belongs.
pub(crate) fn note(chat: &str, message: &str, thread: &str) -> Note {
    Note::a_while(key(chat, message), thread)
}

fn key(chat: &str, message: &str) -> String {
    format!("thread/{chat}/{message}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use watchfloor_channel::{ChannelId, ShortMemory};

    use super::*;

    fn threads() -> Threads {
        let notes: Arc<ShortMemory> = Arc::default();
        Threads::new(notes.clone(), Arc::new(Rooms::new(notes)))
    }

    async fn thread(threads: &Threads, message: Value) -> (String, bool) {
        let message: Message = serde_json::from_value(message).unwrap();
        let place = threads.place(&message).await.unwrap();
        threads.keep(&message, &place).await.unwrap();
        (place.thread, place.opens)
    }

    fn message(id: i32, chat: Value, more: Value) -> Value {
        let mut message = json!({"message_id": id, "chat": chat});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    }

    fn small() -> Value {
        json!({"id": -4001, "type": "group"})
    }

    fn reply_to(id: i32) -> Value {
        json!({"reply_to_message": {"message_id": id}})
    }

    /// B027, B028: the table of the reference.
    #[tokio::test]
    async fn each_kind_of_chat_has_its_threads() {
        let threads = threads();
        let forum = || json!({"id": -1001, "type": "supergroup", "is_forum": true});
        let ops = || json!({"id": -1002, "type": "supergroup"});
        for (chat, more, wanted) in [
            (json!({"id": 5001, "type": "private"}), json!({}), ("", true)),
            (json!({"id": 5001, "type": "private"}), reply_to(3), ("", false)),
            (
                json!({"id": 5001, "type": "private"}),
                json!({"message_thread_id": 77, "is_topic_message": true}),
                ("t77", false),
            ),
            (forum(), json!({"message_thread_id": 77, "is_topic_message": true}), ("t77", false)),
            (forum(), json!({}), ("", false)),
            (forum(), json!({"message_thread_id": 9, "reply_to_message": {"message_id": 9}}), ("", false)),
            (ops(), json!({}), ("m12", true)),
            (ops(), json!({"message_thread_id": 9, "reply_to_message": {"message_id": 10}}), ("m9", false)),
            (small(), json!({}), ("m12", true)),
            (small(), reply_to(9), ("m9", false)),
        ] {
            let seen = thread(&threads, message(12, chat.clone(), more.clone())).await;
            assert_eq!((seen.0.as_str(), seen.1), wanted, "{chat} {more}");
        }
    }

    #[tokio::test]
    async fn a_chain_of_replies_is_followed_to_its_root() {
        let threads = threads();
        assert_eq!(thread(&threads, message(20, small(), json!({}))).await, ("m20".into(), true));
        let conversation = ConversationId { channel: ChannelId::new("t"), room: "-4001".into(), thread: "m20".into() };
        threads.posted(&conversation, &MessageId { room: "-4001".into(), id: "21".into() }).await.unwrap();
        for (id, to) in [(22, 21), (23, 22), (24, 23), (25, 20)] {
            assert_eq!(thread(&threads, message(id, small(), reply_to(to))).await, ("m20".into(), false), "{id}");
        }
    }

    #[tokio::test]
    async fn an_answer_of_ours_that_lost_its_question_still_belongs_to_it() {
        let threads = threads();
        let conversation = ConversationId { channel: ChannelId::new("t"), room: "-1002".into(), thread: "m20".into() };
        threads.posted(&conversation, &MessageId { room: "-1002".into(), id: "21".into() }).await.unwrap();
        let ops = json!({"id": -1002, "type": "supergroup"});
        let reply = json!({"message_thread_id": 21, "reply_to_message": {"message_id": 21}});
        assert_eq!(thread(&threads, message(22, ops, reply)).await, ("m20".into(), false));
    }

    #[tokio::test]
    async fn ids_of_a_group_that_has_moved_are_told_apart() {
        let threads = threads();
        assert_eq!(thread(&threads, message(7, small(), json!({}))).await.0, "m7");
        threads.rooms.moved(-4001, -1009).await.unwrap();
        let now = json!({"id": -1009, "type": "supergroup"});
        assert_eq!(thread(&threads, message(7, now.clone(), json!({}))).await.0, "m-1009:7");
        let reply = json!({"message_thread_id": 7, "reply_to_message": {"message_id": 7}});
        assert_eq!(thread(&threads, message(8, now, reply)).await.0, "m-1009:7");
        assert_eq!(
            threads.place(&serde_json::from_value(message(9, small(), json!({}))).unwrap()).await.unwrap().room,
            "-4001"
        );
    }
}
