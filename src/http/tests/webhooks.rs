//! Which request reaches which channel, and what it is answered.

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use watchfloor_channel::{
    Aside, ChannelAdapter, ChannelId, ConversationId, Deliver, DeliveryKey, Features, Gaps, Inbound, Inbox, InboxError,
    MessageId, Outbound, Overheard, ReceiveError, Repeats, SendError, Sign, TextUnit, Verdict, text::Limits,
};

use super::*;

/// Nothing is delivered here.
pub(super) struct Nobody;

#[async_trait]
impl Deliver for Nobody {
    async fn deliver(&self, _: Inbound) -> Result<Verdict, InboxError> {
        Ok(Verdict::Ignored)
    }

    async fn aside(&self, _: Aside) -> String {
        String::new()
    }
}

/// A channel that gives back what it gets, once it may.
pub(super) struct Echo {
    id: ChannelId,
    features: Features,
    came: Notify,
    may: Notify,
}

#[async_trait]
impl ChannelAdapter for Echo {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn features(&self) -> &Features {
        &self.features
    }

    fn state(&self) -> watch::Receiver<ChannelState> {
        watch::channel(ChannelState::Connected).1
    }

    async fn receive(&self, _: Inbox, _: CancellationToken) -> Result<(), ReceiveError> {
        Ok(())
    }

    async fn send(&self, _: &Outbound) -> Result<MessageId, SendError> {
        Err(SendError::Unavailable("an echo only answers".into()))
    }

    async fn webhook(&self, request: Request<Bytes>, _: &Inbox) -> http::Response<Bytes> {
        let signed = request.headers().get("x-signature").cloned();
        let mut answer = http::Response::new(request.into_body());
        match answer.body().as_ref() {
            b"wait" => {
                self.came.notify_one();
                self.may.notified().await;
            }
            _ if signed.is_none() => *answer.status_mut() = StatusCode::UNAUTHORIZED,
            _ => {}
        }
        answer
    }

    async fn find(&self, _: &ConversationId, _: &DeliveryKey) -> Result<Option<MessageId>, SendError> {
        Ok(None)
    }

    async fn thread(&self, _: &ConversationId, _: usize) -> Result<Vec<Overheard>, SendError> {
        Ok(Vec::new())
    }

    async fn react(&self, _: &MessageId, _: Sign) -> Result<(), SendError> {
        Ok(())
    }

    fn mention(&self, person: &str) -> String {
        person.to_owned()
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        vec![("calls_this_month", 1_841)]
    }
}

pub(super) fn echo() -> Arc<Echo> {
    let features = Features {
        limits: Limits::of_text(TextUnit::Chars.length(100)),
        edits: false,
        edit_budget: None,
        edit_gaps: Gaps::constant(Duration::ZERO),
        budgets: Vec::new(),
        typing: None,
        repeats: Repeats::Blind,
        threads: false,
        buttons: false,
        files: false,
        reactions: false,
    };
    let id = ChannelId::new("ops-slack");
    Arc::new(Echo { id, features, came: Notify::new(), may: Notify::new() })
}

async fn house(channel: &Arc<Echo>, closing: &CancellationToken) -> House {
    let mut house = House::new().await;
    let channels = [channel.clone() as Arc<dyn ChannelAdapter>];
    house.http.webhooks = Webhooks::new(channels, Inbox::new(Arc::new(Nobody)), closing.clone());
    house
}

fn event(name: &str, body: impl Into<Body>) -> Request<Body> {
    Request::post(format!("/channels/{name}/events")).header("x-signature", "v0").body(body.into()).unwrap()
}

#[tokio::test]
async fn a_request_reaches_the_channel_of_that_name_as_it_came() {
    let house = house(&echo(), &CancellationToken::new()).await;
    let answer = house.answer(event("ops-slack", "{\"a\" : 1}")).await;
    assert_eq!((answer.status, answer.text.as_str()), (StatusCode::OK, "{\"a\" : 1}"));
    let unsigned = Request::post("/channels/ops-slack/events").body(Body::from("x")).unwrap();
    assert_eq!(house.answer(unsigned).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_channel_that_is_not_there_is_a_problem() {
    let house = house(&echo(), &CancellationToken::new()).await;
    assert_eq!(house.answer(event("other", "{}")).await.problem(), (404, "not_found".into(), None));
    assert_eq!(house.get("/channels/ops-slack/events").await.problem(), (405, "method".into(), None));
}

#[tokio::test]
async fn a_body_may_be_large_but_not_endless() {
    let house = house(&echo(), &CancellationToken::new()).await;
    let large = house.answer(event("ops-slack", vec![b'x'; 1_500_000])).await;
    assert_eq!(large.status, StatusCode::OK);
    let endless = house.answer(event("ops-slack", vec![b'x'; super::super::webhooks::BODY_BYTES + 1])).await;
    assert_eq!(endless.problem(), (413, "too_large".into(), None));
    assert_eq!(house.http.webhooks.unread("ops-slack"), 1);
}

#[tokio::test]
async fn when_the_service_ends_what_is_under_way_is_finished_and_nothing_new_is_taken() {
    let (channel, closing) = (echo(), CancellationToken::new());
    let house = house(&channel, &closing).await;
    let under_way = house.answer(event("ops-slack", "wait"));
    let ending = async {
        channel.came.notified().await;
        closing.cancel();
        let refused = house.answer(event("ops-slack", "new")).await;
        channel.may.notify_one();
        refused
    };
    let (finished, refused) = tokio::join!(under_way, ending);
    assert_eq!((finished.status, finished.text.as_str()), (StatusCode::OK, "wait"));
    assert_eq!(refused.problem(), (503, "unavailable".into(), None));
}
