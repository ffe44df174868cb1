//! What a post or an edit carries, and where it goes. Where Telegram can't parse the markup, the same text goes without it at
//! once: the message must say it in one form or the other.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use teloxide::{
    payloads::{EditMessageText, EditMessageTextSetters, SendMessage, SendMessageSetters},
    requests::Payload,
    types::{
        self, ChatId, InlineKeyboardMarkup, LinkPreviewOptions, ParseMode, ReplyMarkup, ReplyParameters, ThreadId,
    },
};
use tracing::warn;
use watchfloor_channel::{Body, ConversationId, MessageId, Refusal, RefusalKind};

use crate::{
    api::Api,
    errors::{self, CallError},
    keyboard,
    render::{self, Html},
    thread::Thread,
};

/// A message in the form Telegram should show, and without markup.
pub(crate) struct Content {
    html: Html,
    keyboard: Option<InlineKeyboardMarkup>,
}

/// The text as one call carries it.
pub(crate) struct Form {
    pub(crate) text: String,
    pub(crate) parse_mode: Option<ParseMode>,
}

/// Where a post goes in its chat, whatever the chat's id is by then.
pub(crate) struct Place<'a> {
    room: &'a str,
    thread: Thread,
    question: Option<&'a MessageId>,
}

/// The answer to a post: no more of it is read than is needed, so that nothing new in it can make the post look lost.
#[derive(Deserialize)]
pub(crate) struct Posted {
    pub(crate) message_id: i32,
}

impl Content {
    pub(crate) fn of(body: &Body) -> Result<Self, Refusal> {
        let html = render::body(body);
        let size = render::size(&html);
        if size.text.is_zero() {
            return Err(errors::refusal(RefusalKind::Content, "message text is empty", "there is nothing to show"));
        }
        if !render::LIMITS.hold(&size) {
            let remedy = "the text is too long for one message";
            return Err(errors::refusal(RefusalKind::TooLong, "message is too long", remedy));
        }
        let keyboard = match body {
            Body::Ask(ask) => keyboard::of(ask)?,
            Body::Markdown(_) | Body::Addressed { .. } | Body::Plain(_) | Body::File(_) => None,
        };
        Ok(Self { html, keyboard })
    }

    pub(crate) async fn post(&self, api: &Api, chat: i64, place: &Place<'_>) -> Result<Posted, CallError> {
        let answered = place.answered(chat);
        let posted = self.post_as_answer(api, chat, place, answered).await;
        match posted {
            Err(error) if answered.is_some() && error.has_code(errors::REPLY_GONE) => {
                self.post_as_answer(api, chat, place, None).await
            }
            posted => posted,
        }
    }

    async fn post_as_answer(
        &self,
        api: &Api,
        chat: i64,
        place: &Place<'_>,
        answered: Option<i32>,
    ) -> Result<Posted, CallError> {
        let write = |form: Form| {
            let mut request = SendMessage::new(ChatId(chat), form.text).link_preview_options(no_preview());
            request.parse_mode = form.parse_mode;
            request.message_thread_id = place.topic();
            request.reply_parameters = answered.map(answers);
            request.reply_markup = self.keyboard.clone().map(ReplyMarkup::InlineKeyboard);
            request
        };
        in_either_form(api, &self.html, write).await
    }

    /// Without a keyboard it also takes away the one the message may have.
    pub(crate) async fn edit<A: DeserializeOwned>(&self, api: &Api, chat: i64, message: i32) -> Result<A, CallError> {
        let write = |form: Form| {
            let message = types::MessageId(message);
            let mut request = EditMessageText::new(ChatId(chat), message, form.text).link_preview_options(no_preview());
            request.parse_mode = form.parse_mode;
            request.reply_markup = self.keyboard.clone();
            request
        };
        in_either_form(api, &self.html, write).await
    }
}

/// A refusal is a sure no, so that the plainer form can't become a second message.
async fn in_either_form<P, A>(api: &Api, html: &Html, write: impl Fn(Form) -> P + Send + Sync) -> Result<A, CallError>
where
    P: Payload + Serialize + Send + Sync,
    A: DeserializeOwned,
{
    match api.call(&write(Form::rich(html))).await {
        Err(error) if error.is_about_markup() => {
            warn!(method = P::NAME, %error, "sent again as plain text");
            api.call(&write(Form::bare(html))).await
        }
        done => done,
    }
}

impl Form {
    pub(crate) fn rich(html: &Html) -> Self {
        Self { text: html.as_str().to_owned(), parse_mode: Some(ParseMode::Html) }
    }

    pub(crate) fn bare(html: &Html) -> Self {
        Self { text: render::stripped(html), parse_mode: None }
    }
}

impl<'a> Place<'a> {
    pub(crate) fn of(conversation: &'a ConversationId, question: Option<&'a MessageId>) -> Result<Self, Refusal> {
        let thread = Thread::parse(&conversation.thread);
        let thread = thread.ok_or_else(|| errors::not_ours(&format!("the thread {}", conversation.thread)))?;
        Ok(Self { room: &conversation.room, thread, question })
    }

    pub(crate) fn topic(&self) -> Option<ThreadId> {
        self.thread.topic().map(|topic| ThreadId(types::MessageId(topic)))
    }

    /// The message to answer: the question, else the one that began the chain. Only in its own chat does an id name it.
    pub(crate) fn answered(&self, chat: i64) -> Option<i32> {
        let question = self.question.filter(|question| question.room.parse() == Ok(chat));
        question.and_then(|question| question.id.parse().ok()).or_else(|| match self.thread {
            Thread::Chain { chat: Some(home), root } => (home == chat).then_some(root),
            Thread::Chain { chat: None, root } => (self.room.parse() == Ok(chat)).then_some(root),
            Thread::Room | Thread::Topic(_) => None,
        })
    }
}

/// A deleted question must not lose the answer.
pub(crate) fn answers(message: i32) -> ReplyParameters {
    ReplyParameters { allow_sending_without_reply: Some(true), ..ReplyParameters::new(types::MessageId(message)) }
}

fn no_preview() -> LinkPreviewOptions {
    LinkPreviewOptions {
        is_disabled: true,
        url: None,
        prefer_small_media: false,
        prefer_large_media: false,
        show_above_text: false,
    }
}

#[cfg(test)]
mod tests {
    use watchfloor_channel::ChannelId;

    use super::*;

    const OLD: i64 = -4_001;
    const NEW: i64 = -1_009_876_543_210;

    fn answered(thread: &str, question: Option<(i64, &str)>, chat: i64) -> Option<i32> {
        let conversation =
            ConversationId { channel: ChannelId::new("tg"), room: OLD.to_string(), thread: thread.to_owned() };
        let question = question.map(|(room, id)| MessageId { room: room.to_string(), id: id.to_owned() });
        Place::of(&conversation, question.as_ref()).unwrap().answered(chat)
    }

    #[test]
    fn a_post_answers_the_question_else_the_root_and_never_a_message_of_another_chat() {
        assert_eq!(answered("m5", Some((OLD, "9")), OLD), Some(9));
        assert_eq!(answered("m5", None, OLD), Some(5));
        // The group has moved since.
        assert_eq!(answered("m5", Some((OLD, "9")), NEW), None);
        assert_eq!(answered("m5", Some((NEW, "3")), NEW), Some(3));
        let moved = format!("m{NEW}:7");
        assert_eq!((answered(&moved, None, NEW), answered(&moved, None, OLD)), (Some(7), None));
        assert_eq!(answered("t77", Some((OLD, "9")), OLD), Some(9));
        assert_eq!((answered("t77", None, OLD), answered("", None, OLD)), (None, None));
        assert_eq!(answered("", Some((OLD, "not a number")), OLD), None);
    }

    #[test]
    fn nothing_empty_and_nothing_longer_than_a_message_is_sent() {
        let refused = |body: Body| Content::of(&body).err().map(|refusal| refusal.kind);
        for empty in ["", " \n"] {
            assert_eq!(refused(Body::Plain(empty.into())), Some(RefusalKind::Content), "{empty:?}");
        }
        assert_eq!(refused(Body::Markdown("🔥".repeat(2_048))), None);
        assert_eq!(refused(Body::Markdown("🔥".repeat(2_049))), Some(RefusalKind::TooLong));
        let codes = "`a` ".repeat(101);
        assert_eq!(refused(Body::Markdown(codes)), Some(RefusalKind::TooLong));
    }
}
