//! Which messages belong to which conversation. A topic has a name of its own that some events leave out, so each
//! conversation keeps the name under which it was first met, and the notes know its other names.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex as Guarded, PoisonError},
    time::Duration,
};

use moka::sync::Cache;
use tokio::{
    sync::{Mutex, Notify},
    time::timeout,
};
use tracing::warn;
use watchfloor_channel::{ConversationId, Note, Notes, NotesError};

/// Notes live 30 days from when they were last written; a conversation that goes on for longer keeps its names.
const WRITTEN_AGAIN_AFTER: Duration = Duration::from_secs(24 * 3600);
const REMEMBERED: u64 = 10_000;
/// What a message may wait for an answer of ours that is just being posted.
const MOMENT: Duration = Duration::from_millis(800);

pub(crate) struct Threads {
    notes: Arc<dyn Notes>,
    /// Two first messages of one conversation must not name it twice.
    naming: Mutex<()>,
    /// What was written of late.
    fresh: Cache<String, String>,
    under_way: UnderWay,
}

/// What an event says about where a message stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) private: bool,
    pub(super) message_id: &'a str,
    /// Empty where there is none, as the other ones.
    pub(super) root_id: &'a str,
    pub(super) thread_id: &'a str,
}

impl Threads {
    pub(crate) fn new(notes: Arc<dyn Notes>) -> Self {
        let fresh = Cache::builder().max_capacity(REMEMBERED).time_to_live(WRITTEN_AGAIN_AFTER).build();
        Self { notes, naming: Mutex::new(()), fresh, under_way: UnderWay::default() }
    }

    /// A message to reply to so that the reply lands in that conversation. `None`: the room itself.
    pub(crate) async fn anchor(&self, at: &ConversationId) -> Result<Option<String>, NotesError> {
        let name = &at.thread;
        if name.is_empty() {
            return Ok(None);
        }
        let anchor = self.read(&anchor_of(name)).await?;
        // A topic's own name is no message.
        Ok(anchor.or_else(|| Some(name.clone()).filter(|name| !is_topic(name))))
    }

    /// The topic's own name (`omt_…`), by which its history can be read. `None`: it has none that we know of.
    pub(crate) async fn topic(&self, at: &ConversationId) -> Result<Option<String>, NotesError> {
        match is_topic(&at.thread) {
            true => Ok(Some(at.thread.clone())),
            false if at.thread.is_empty() => Ok(None),
            false => self.read(&topic_of(&at.thread)).await,
        }
    }

    /// What the answer to a post taught us: the message is ours, it is in this conversation, and Feishu may have opened a
    /// topic for it.
    pub(crate) async fn posted(&self, at: &ConversationId, message_id: &str, thread_id: Option<&str>) {
        let _naming = self.naming.lock().await;
        let mut notes = vec![(sent(message_id), at.room.clone())];
        if !at.thread.is_empty() {
            notes.push((named(message_id), at.thread.clone()));
            let topic = thread_id.filter(|topic| !topic.is_empty() && *topic != at.thread);
            notes.extend(topic.into_iter().flat_map(|topic| names_of(topic, &at.thread)));
        }
        if let Err(error) = self.write(notes).await {
            warn!(%error, message.id = message_id, "a post of ours is not noted: an answer to it may not be known as one");
        }
    }

    /// To be held while something is posted in that room, until [`Threads::posted`] has noted it.
    pub(crate) fn posting(&self, room: &str) -> Posting<'_> {
        *self.under_way.rooms().entry(room.to_owned()).or_default() += 1;
        Posting { under_way: &self.under_way, room: room.to_owned() }
    }

    /// Some messages of ours come back as events, as if somebody else had said them, and that may be quicker than the
    /// answer to the post.
    pub(super) async fn settled(&self, room: &str, private: bool) {
        let settled = async {
            loop {
                let ended = self.under_way.ended.notified();
                if !self.under_way.reaches(room, private) {
                    return;
                }
                ended.await;
            }
        };
        // A post may take long; then only our ids tell.
        let _ = timeout(MOMENT, settled).await;
    }

    /// Did we send this message?
    pub(super) async fn is_ours(&self, message_id: &str) -> Result<bool, NotesError> {
        Ok(!message_id.is_empty() && self.read(&sent(message_id)).await?.is_some())
    }

    /// The conversation's name: `thread` of its [`ConversationId`]. With `keep`, what the event says is noted, so that later
    /// events that say less are of the same conversation.
    pub(super) async fn name(&self, place: Place<'_>, keep: bool) -> Result<String, NotesError> {
        let Place { private, message_id, root_id, thread_id } = place;
        if private {
            // The chat itself, or a topic in it.
            let name = thread_id.to_owned();
            if keep {
                let mut notes = vec![(named(message_id), name.clone())];
                if !name.is_empty() {
                    notes.push((anchor_of(&name), first(&[root_id, message_id])));
                }
                self.write(notes).await?;
            }
            return Ok(name);
        }
        let _naming = self.naming.lock().await;
        let root = first(&[root_id, message_id]);
        let mut name = match thread_id.is_empty() {
            true => None,
            false => self.read(&names_of_topic(thread_id)).await?,
        };
        if name.is_none() {
            name = self.read(&named(&root)).await?.filter(|name| !name.is_empty());
        }
        let name = name.unwrap_or_else(|| first(&[thread_id, &root]));
        let mut notes = Vec::new();
        if keep || !thread_id.is_empty() {
            notes.push((named(&root), name.clone()));
            if !thread_id.is_empty() {
                notes.extend(names_of(thread_id, &name));
            }
            if is_topic(&name) {
                notes.push((anchor_of(&name), root.clone()));
            }
        }
        if keep {
            notes.push((named(message_id), name.clone()));
        }
        self.write(notes).await?;
        Ok(name)
    }

    /// The conversation of a message that was addressed to us, or that we sent. `None`: not known.
    pub(super) async fn of_message(&self, message_id: &str) -> Result<Option<String>, NotesError> {
        self.read(&named(message_id)).await
    }

    async fn read(&self, key: &str) -> Result<Option<String>, NotesError> {
        match self.fresh.get(key) {
            Some(value) => Ok(Some(value)),
            None => self.notes.read(key).await,
        }
    }

    async fn write(&self, mut notes: Vec<(String, String)>) -> Result<(), NotesError> {
        notes.retain(|(key, value)| self.fresh.get(key).as_ref() != Some(value));
        if notes.is_empty() {
            return Ok(());
        }
        let written: Vec<_> = notes.iter().map(|(key, value)| Note::a_while(key, value)).collect();
        self.notes.write(&written).await?;
        for (key, value) in notes {
            self.fresh.insert(key, value);
        }
        Ok(())
    }
}

/// Posts whose message is not known yet, by room.
#[derive(Default)]
struct UnderWay {
    rooms: Guarded<HashMap<String, usize>>,
    ended: Notify,
}

impl UnderWay {
    /// A post to a person goes to a chat whose name only the answer tells.
    fn reaches(&self, room: &str, private: bool) -> bool {
        let rooms = self.rooms();
        rooms.contains_key(room) || (private && rooms.keys().any(|room| is_person(room)))
    }

    fn rooms(&self) -> std::sync::MutexGuard<'_, HashMap<String, usize>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Posting<'t> {
    under_way: &'t UnderWay,
    room: String,
}

impl Drop for Posting<'_> {
    fn drop(&mut self) {
        let mut rooms = self.under_way.rooms();
        if let Some(posts) = rooms.get_mut(&self.room) {
            *posts -= 1;
            if *posts == 0 {
                rooms.remove(&self.room);
            }
        }
        drop(rooms);
        self.under_way.ended.notify_waiters();
    }
}

/// A private chat that is named by its person.
pub(crate) fn is_person(room: &str) -> bool {
    room.starts_with("ou_")
}

fn is_topic(name: &str) -> bool {
    name.starts_with("omt_")
}

fn first(of: &[&str]) -> String {
    of.iter().find(|id| !id.is_empty()).copied().unwrap_or_default().to_owned()
}

fn sent(message_id: &str) -> String {
    format!("sent/{message_id}")
}

fn named(message_id: &str) -> String {
    format!("root/{message_id}")
}

fn names_of_topic(topic: &str) -> String {
    format!("thread/{topic}")
}

fn topic_of(name: &str) -> String {
    format!("topic/{name}")
}

fn anchor_of(name: &str) -> String {
    format!("anchor/{name}")
}

/// From the topic to the conversation's name and back.
fn names_of(topic: &str, name: &str) -> Vec<(String, String)> {
    let mut notes = vec![(names_of_topic(topic), name.to_owned())];
    if topic != name {
        notes.push((topic_of(name), topic.to_owned()));
    }
    notes
}

#[cfg(test)]
mod tests {
    use watchfloor_channel::{ChannelId, ShortMemory};

    use super::*;

    fn threads() -> (Threads, Arc<ShortMemory>) {
        let notes = Arc::new(ShortMemory::default());
        (Threads::new(notes.clone()), notes)
    }

    fn at(thread: &str) -> ConversationId {
        ConversationId { channel: ChannelId::new("feishu"), room: "oc_1".into(), thread: thread.into() }
    }

    async fn name(threads: &Threads, message_id: &str, root_id: &str, thread_id: &str) -> String {
        threads.name(Place { private: false, message_id, root_id, thread_id }, true).await.unwrap()
    }

    #[tokio::test]
    async fn a_first_message_without_its_topic_and_later_ones_with_it_are_one_conversation() {
        let (threads, notes) = threads();
        assert_eq!(name(&threads, "om_1", "", "").await, "om_1");
        assert_eq!(name(&threads, "om_2", "om_1", "omt_1").await, "om_1");
        assert_eq!(name(&threads, "om_3", "om_1", "").await, "om_1");
        // After a restart, too, and where only the topic is named.
        let threads = Threads::new(notes);
        assert_eq!(name(&threads, "om_4", "", "omt_1").await, "om_1");
        assert_eq!(threads.anchor(&at("om_1")).await.unwrap().as_deref(), Some("om_1"));
        assert_eq!(threads.of_message("om_2").await.unwrap().as_deref(), Some("om_1"));
        assert_eq!(threads.of_message("om_9").await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_first_message_with_its_topic_and_later_ones_without_it_are_one_conversation() {
        let (threads, _) = threads();
        assert_eq!(name(&threads, "om_1", "", "omt_1").await, "omt_1");
        assert_eq!(name(&threads, "om_2", "om_1", "").await, "omt_1");
        assert_eq!(name(&threads, "om_3", "om_1", "omt_1").await, "omt_1");
        assert_eq!(threads.anchor(&at("omt_1")).await.unwrap().as_deref(), Some("om_1"));
    }

    #[tokio::test]
    async fn a_topic_joined_in_the_middle_is_named_by_itself() {
        let (threads, _) = threads();
        assert_eq!(name(&threads, "om_5", "om_1", "omt_1").await, "omt_1");
        assert_eq!(name(&threads, "om_6", "om_1", "").await, "omt_1");
        assert_eq!(threads.anchor(&at("omt_1")).await.unwrap().as_deref(), Some("om_1"));
        assert_eq!(threads.anchor(&at("omt_9")).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_topic_that_our_answer_opened_is_the_same_conversation() {
        let (threads, _) = threads();
        assert_eq!(name(&threads, "om_1", "", "").await, "om_1");
        threads.posted(&at("om_1"), "om_2", Some("omt_1")).await;
        assert_eq!(name(&threads, "om_3", "om_2", "omt_1").await, "om_1");
        assert_eq!(name(&threads, "om_4", "", "omt_1").await, "om_1");
        assert!(threads.is_ours("om_2").await.unwrap() && !threads.is_ours("om_1").await.unwrap());
    }

    #[tokio::test]
    async fn an_answer_that_had_to_stand_alone_is_in_its_conversation() {
        let (threads, _) = threads();
        threads.posted(&at("om_1"), "om_9", None).await;
        assert_eq!(name(&threads, "om_10", "om_9", "").await, "om_1");
    }

    #[tokio::test]
    async fn questions_in_one_group_are_apart() {
        let (threads, _) = threads();
        let names = [name(&threads, "om_1", "", "").await, name(&threads, "om_2", "", "").await];
        assert_eq!(names, ["om_1", "om_2"]);
        assert_eq!(name(&threads, "om_4", "om_3", "").await, "om_3");
    }

    #[tokio::test]
    async fn a_private_chat_is_one_conversation_and_a_topic_in_it_another() {
        let (threads, _) = threads();
        let place = Place { private: true, message_id: "om_1", root_id: "", thread_id: "" };
        assert_eq!(threads.name(place, true).await.unwrap(), "");
        assert_eq!(threads.name(Place { root_id: "om_1", message_id: "om_2", ..place }, true).await.unwrap(), "");
        let topic = Place { thread_id: "omt_1", root_id: "om_1", message_id: "om_3", ..place };
        assert_eq!(threads.name(topic, true).await.unwrap(), "omt_1");
        assert_eq!(threads.of_message("om_1").await.unwrap().as_deref(), Some(""));
        assert_eq!(threads.anchor(&at("")).await.unwrap(), None);
        assert_eq!(threads.anchor(&at("omt_1")).await.unwrap().as_deref(), Some("om_1"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_from_a_private_chat_waits_for_a_post_to_whatever_person() {
        let (threads, _) = threads();
        let posting = threads.posting("ou_alice");
        let began = tokio::time::Instant::now();
        threads.settled("oc_group", false).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        let (waited, ()) = tokio::join!(
            async {
                threads.settled("oc_alice", true).await;
                began.elapsed()
            },
            async {
                tokio::time::sleep(MOMENT / 2).await;
                drop(posting);
            }
        );
        assert_eq!(waited, MOMENT / 2);
        threads.settled("oc_alice", true).await;
        assert_eq!(began.elapsed(), MOMENT / 2);
    }

    #[tokio::test]
    async fn what_is_only_overheard_is_not_noted() {
        let (threads, notes) = threads();
        let place = Place { private: false, message_id: "om_1", root_id: "", thread_id: "" };
        assert_eq!(threads.name(place, false).await.unwrap(), "om_1");
        assert_eq!(notes.read(&named("om_1")).await.unwrap(), None);
    }
}
