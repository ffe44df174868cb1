//! One Telegram bot as a [`ChannelAdapter`]: which calls make up a post, an edit, a removal.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use serde::de::IgnoredAny;
use teloxide::{
    payloads::{DeleteMessage, SendChatAction, SetMessageReaction, SetMessageReactionSetters},
    types::{self, ChatAction, ChatId, ReactionType},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use watchfloor_channel::{
    Body, ChannelAdapter, ChannelId, ChannelState, ConversationId, Features, FileRef, Finding, Inbox, MessageId,
    Operation, Outbound, Overheard, ReceiveError, Refusal, SendError, Sign, text::Size,
};

use crate::{
    BuildError, TelegramConfig,
    api::Api,
    errors::{self, CallError},
    features, files,
    outgoing::{Content, Place, Posted},
    receive::{Receiver, Rooms},
    render,
};

pub struct TelegramAdapter {
    config: Arc<TelegramConfig>,
    features: Features,
    api: Arc<Api>,
    rooms: Arc<Rooms>,
    receiver: Receiver,
    state: watch::Sender<ChannelState>,
}

impl std::fmt::Debug for TelegramAdapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TelegramAdapter").field("id", &self.config.id).finish_non_exhaustive()
    }
}

impl TelegramAdapter {
    pub fn new(config: TelegramConfig) -> Result<Self, BuildError> {
        let api = Arc::new(Api::new(&config)?);
        let config = Arc::new(config);
        let rooms = Arc::new(Rooms::new(config.notes.clone()));
        Ok(Self {
            features: features::features(),
            receiver: Receiver::new(config.clone(), api.clone(), rooms.clone()),
            api,
            rooms,
            config,
            state: watch::Sender::new(ChannelState::Connecting),
        })
    }

    async fn post(&self, message: &Outbound) -> Result<MessageId, SendError> {
        let to = &message.conversation;
        let place = Place::of(to, message.question.as_ref()).map_err(SendError::Refused)?;
        let posted = match &message.body {
            Body::File(file) => {
                let upload = files::Upload::of(file).map_err(SendError::Refused)?;
                self.in_chat(&to.room, |chat| upload.post(&self.api, chat, &place)).await
            }
            body => {
                let content = Content::of(body).map_err(SendError::Refused)?;
                self.in_chat(&to.room, |chat| content.post(&self.api, chat, &place)).await
            }
        };
        let (chat, Posted { message_id }) = posted.map_err(CallError::of_write)?;
        if message_id == 0 {
            return Err(SendError::Uncertain("the answer does not name the message".to_owned()));
        }
        let posted = MessageId { room: chat.to_string(), id: message_id.to_string() };
        self.receiver.posted(to, &posted).await;
        Ok(posted)
    }

    async fn edit(&self, message: &MessageId, body: &Body) -> Result<(), SendError> {
        let content = Content::of(body).map_err(SendError::Refused)?;
        let Some((chat, id)) = self.reach(message).await? else {
            return Err(SendError::Refused(errors::left_behind()));
        };
        match content.edit::<IgnoredAny>(&self.api, chat, id).await {
            Err(CallError::Moved(now)) => {
                self.moved(chat, now).await;
                Err(SendError::Refused(errors::left_behind()))
            }
            Err(error) if !error.has_code(errors::NOT_MODIFIED) => Err(error.of_write()),
            _ => Ok(()),
        }
    }

    async fn delete(&self, message: &MessageId) -> Result<(), SendError> {
        let Some((chat, id)) = self.reach(message).await? else { return Ok(()) };
        match self.api.call::<IgnoredAny>(&DeleteMessage::new(ChatId(chat), types::MessageId(id))).await {
            Err(CallError::Moved(now)) => {
                self.moved(chat, now).await;
                Ok(())
            }
            Err(error) if !error.has_code(errors::NOTHING_TO_DELETE) => Err(error.of_write()),
            _ => Ok(()),
        }
    }

    /// A message as calls name it; `None`: it stayed behind when its group moved, and can't be reached any more.
    async fn reach(&self, message: &MessageId) -> Result<Option<(i64, i32)>, SendError> {
        let (Ok(chat), Ok(id)) = (message.room.parse(), message.id.parse()) else {
            return Err(SendError::Refused(errors::not_ours(&format!("the message {}/{}", message.room, message.id))));
        };
        let today = self.rooms.chat_of(&message.room).await;
        let today = today.map_err(|error| SendError::Unavailable(error.to_string()))?;
        Ok((today == chat).then_some((chat, id)))
    }

    /// Calls with today's id of a room. A group that moves just now is followed, once.
    async fn in_chat<A, F>(&self, room: &str, call: impl Fn(i64) -> F + Send + Sync) -> Result<(i64, A), CallError>
    where
        A: Send,
        F: Future<Output = Result<A, CallError>> + Send,
    {
        if room.parse::<i64>().is_err() {
            return Err(CallError::Refused(errors::not_ours(&format!("the room {room}"))));
        }
        let chat = self.rooms.chat_of(room).await.map_err(|error| CallError::NotSent(error.to_string()))?;
        match call(chat).await {
            Err(CallError::Moved(now)) => {
                self.moved(chat, now).await;
                call(now).await.map(|done| (now, done))
            }
            done => done.map(|done| (chat, done)),
        }
    }

    /// Where it can't be written down, Telegram will tell it again.
    async fn moved(&self, from: i64, to: i64) {
        info!(channel.id = %self.config.id, from, to, "a group has moved");
        if let Err(error) = self.rooms.moved(from, to).await {
            warn!(channel.id = %self.config.id, from, to, %error, "the move of a group could not be written down");
        }
    }
}

#[async_trait]
impl ChannelAdapter for TelegramAdapter {
    fn id(&self) -> &ChannelId {
        &self.config.id
    }

    fn features(&self) -> &Features {
        &self.features
    }

    fn state(&self) -> watch::Receiver<ChannelState> {
        self.state.subscribe()
    }

    async fn receive(&self, inbox: Inbox, stop: CancellationToken) -> Result<(), ReceiveError> {
        self.state.send_replace(ChannelState::Connecting);
        match self.receiver.receive(inbox, stop, &self.state).await {
            Ok(()) => {
                self.state.send_replace(ChannelState::Off("stopped".to_owned()));
                Ok(())
            }
            Err(refusal) => {
                warn!(channel.id = %self.config.id, code = refusal.code, remedy = refusal.remedy, "Telegram is off");
                self.state.send_replace(ChannelState::Off(refusal.remedy.clone()));
                Err(ReceiveError::Refused(refusal))
            }
        }
    }

    async fn send(&self, message: &Outbound) -> Result<MessageId, SendError> {
        match &message.operation {
            Operation::Post(_) => self.post(message).await,
            Operation::Edit(_) if matches!(message.body, Body::File(_)) => {
                Err(SendError::Refused(Refusal::unsupported("a message can't become a file")))
            }
            Operation::Edit(edited) => self.edit(edited, &message.body).await.map(|()| edited.clone()),
            Operation::Delete(deleted) => self.delete(deleted).await.map(|()| deleted.clone()),
        }
    }

    async fn webhook(&self, request: Request<Bytes>, _: &Inbox) -> Response<Bytes> {
        self.receiver.webhook(request).await
    }

    /// Telegram shows bots nothing of what was said before.
    async fn thread(&self, _: &ConversationId, _: usize) -> Result<Vec<Overheard>, SendError> {
        Ok(Vec::new())
    }

    async fn fetch(&self, _: &ConversationId, file: &FileRef, limit: usize) -> Result<Bytes, SendError> {
        files::fetch(&self.api, file, limit).await
    }

    async fn react(&self, to: &MessageId, sign: Sign) -> Result<(), SendError> {
        let Some((chat, id)) = self.reach(to).await? else {
            return Err(SendError::Refused(errors::left_behind()));
        };
        // Of the few that Telegram lets everybody use.
        let emoji = match sign {
            Sign::Taken => "👀",
            Sign::Done => "👌",
        };
        let request = SetMessageReaction::new(ChatId(chat), types::MessageId(id))
            .reaction([ReactionType::Emoji { emoji: emoji.to_owned() }]);
        self.api.call::<IgnoredAny>(&request).await.map(drop).map_err(CallError::of_write)
    }

    async fn typing(&self, conversation: &ConversationId) -> Result<(), SendError> {
        let place = Place::of(conversation, None).map_err(SendError::Refused)?;
        let show = async |chat| {
            let mut request = SendChatAction::new(ChatId(chat), ChatAction::Typing);
            request.message_thread_id = place.topic();
            self.api.call::<IgnoredAny>(&request).await
        };
        self.in_chat(&conversation.room, show).await.map(drop).map_err(CallError::of_write)
    }

    /// Her own id is that of her chat with us. She must have opened it.
    async fn private_chat(&self, person: &str) -> Result<ConversationId, SendError> {
        if !person.parse::<i64>().is_ok_and(|id| id > 0) {
            return Err(SendError::Refused(errors::not_ours(&format!("the person {person}"))));
        }
        Ok(ConversationId { channel: self.config.id.clone(), room: person.to_owned(), thread: String::new() })
    }

    fn is_private(&self, room: &str) -> bool {
        !room.starts_with('-')
    }

    fn measure(&self, body: &Body) -> Size {
        render::size(&render::body(body))
    }

    fn mention(&self, person: &str) -> String {
        render::mention(person, &self.api.names.of(person))
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        self.receiver.figures()
    }

    async fn doctor(&self, rooms: &[String]) -> Vec<Finding> {
        self.receiver.doctor(rooms).await
    }
}
