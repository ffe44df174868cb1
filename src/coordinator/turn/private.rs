//! Where a room takes no words of ours, the asker is told in private: whoever asked should not wait for nothing. The answer
//! itself stays in the store.

use std::time::Duration;

use tokio::time::timeout;
use watchfloor_channel::{Body, DeliveryKey, Operation, Outbound, Refusal, RefusalKind, Urgency};

use super::{
    super::{outlet::Trace, reply::Route},
    Turn,
};
use crate::wording;

/// It is a courtesy: the turn does not stay open for it.
const WITHIN: Duration = Duration::from_secs(15);
const QUESTION_CHARS: usize = 120;

impl Turn {
    /// Only where the room is at fault. Who took the thread away wants no answer, and without an account nothing is said.
    pub(super) async fn tell_in_private(&self, route: &Route, refusal: &Refusal) {
        let Some(opener) = self.said.first() else { return };
        if refusal.kind != RefusalKind::Room || opener.private || opener.author.is_bot {
            return;
        }
        match timeout(WITHIN, self.tell(route, refusal, &opener.text)).await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => tracing::warn!(turn.id = %self.turn.id, why, "the asker can't be told in private either"),
            Err(_) => tracing::warn!(turn.id = %self.turn.id, "the asker could not be told in private in time"),
        }
    }

    async fn tell(&self, route: &Route, refusal: &Refusal, question: &str) -> Result<(), String> {
        let conversation = match route.outlet.adapter().private_chat(&self.turn.asker_id).await {
            Ok(chat) => chat,
            Err(error) => return Err(error.to_string()),
        };
        let question = watchfloor_channel::text::one_line(question, QUESTION_CHARS);
        let post = Outbound {
            conversation,
            question: None,
            operation: Operation::Post(DeliveryKey(format!("told-{}", self.turn.id))),
            body: Body::Plain(wording::could_not_answer_there(&question, &refusal.remedy)),
            urgency: Urgency::Final,
        };
        // Perhaps an earlier process got this far.
        if self.resumed && matches!(route.outlet.look_up(&post).await, Ok(Trace::Posted(_))) {
            return Ok(());
        }
        route.outlet.send(&post).await.map(|_| ()).map_err(|error| error.to_string())
    }
}
