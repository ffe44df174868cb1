//! An answer of more messages than anybody wants to read becomes a file in the thread. Its row comes before the upload, as with
//! every message of ours; where no file can be posted, the row says so and the answer goes on as messages.

use watchfloor_channel::{Body, File, RefusalKind, text::for_people};

use super::{Owed, ReplyError, Route};
use crate::{
    store::{DeliveryKind, DeliveryState},
    wording,
};

impl Route {
    /// Whether the whole answer is in the thread as a file.
    pub(super) async fn attach(&self, answer: &str) -> Result<bool, ReplyError> {
        if !self.outlet.features().files {
            return Ok(false);
        }
        let store = self.services.store.deliveries();
        let rows = store.of_turn(&self.turn_id).await?;
        let comment = wording::whole_answer();
        let owed: Owed = match rows.iter().find(|row| row.kind == DeliveryKind::File) {
            Some(row) if row.state == DeliveryState::Settled => return Ok(true),
            Some(row) if row.state == DeliveryState::Failed => return Ok(false),
            Some(row) => row.into(),
            // Begun as messages: it ends as messages.
            None if rows.iter().any(|row| row.kind == DeliveryKind::Part) => return Ok(false),
            None => self.intend(DeliveryKind::File, 0, &comment).await?,
        };
        let file = File {
            name: wording::answer_file(),
            media_type: "text/markdown".to_owned(),
            content: for_people(answer).into_bytes().into(),
            comment,
        };
        let Err(error) = self.place(&owed, &Body::File(file)).await else {
            store.settle(&owed.id, self.services.now()).await?;
            return Ok(true);
        };
        match error.refusal() {
            Some(refusal) if !is_final(refusal.kind) => {
                tracing::warn!(turn.id = %self.turn_id, code = %refusal.code, "the answer can't go up as a file and comes in parts: {}", refusal.remedy);
                store.fail(&owed.id, &refusal.to_string(), self.services.now()).await?;
                Ok(false)
            }
            _ => Err(error),
        }
    }
}

/// Where a file is refused like this, a message would be too.
fn is_final(kind: RefusalKind) -> bool {
    matches!(kind, RefusalKind::Credentials | RefusalKind::Room | RefusalKind::ThreadGone)
}
