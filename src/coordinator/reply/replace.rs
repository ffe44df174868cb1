//! Another message in the place of one that stands there and can't be edited any more.

use std::sync::atomic::Ordering;

use watchfloor_channel::{Body, DeliveryKey, MessageId};

use super::{Owed, Placed, ReplyError, Route};
use crate::store::{DeliveryKind, DeliveryState, StoreError};

impl Route {
    /// A row of its own names the old message before the placeholder's row names the new one, and both before the old one is
    /// removed. After a crash in between, the same replacement is found by its key, and the answer removes what was left.
    pub(super) async fn replace(&self, owed: &Owed, old: MessageId, body: &Body) -> Result<Placed, ReplyError> {
        let key = replacement(&owed.id, &old);
        let placed = self.post_as(key.clone(), owed.since, body).await?;
        let left = self.leave(&key, &old).await.inspect_err(|_| self.unsure.store(true, Ordering::Relaxed))?;
        self.place_is(owed, &placed).await?;
        if let Err(error) = self.remove(&left, old).await {
            tracing::warn!(turn.id = %self.turn_id, %error, "the end of a replaced message is not noted");
        }
        Ok(placed)
    }

    /// Removes what a crash left of replaced messages.
    pub(super) async fn clear_replaced(&self) -> Result<(), ReplyError> {
        let rows = self.services.store.deliveries().of_turn(&self.turn_id).await?;
        let is_open = |state| !matches!(state, DeliveryState::Settled | DeliveryState::Failed);
        for row in rows.iter().filter(|row| row.kind == DeliveryKind::Replaced && is_open(row.state)) {
            // One that nothing took the place of, after all, is no leftover.
            let stays = |other: &&_| Owed::from(*other).message == Owed::from(row).message;
            let is_used = rows.iter().filter(|other| other.kind != DeliveryKind::Replaced).any(|other| stays(&other));
            match Owed::from(row).message.filter(|_| !is_used) {
                Some(old) => self.remove(&row.id, old).await?,
                None => self.services.store.deliveries().settle(&row.id, self.services.now()).await?,
            }
        }
        Ok(())
    }

    /// Writes down that this message is to go. Doing it twice is one row.
    async fn leave(&self, key: &DeliveryKey, old: &MessageId) -> Result<String, StoreError> {
        let left = self.intend_as(format!("{}-old", key.0), DeliveryKind::Replaced, 0, "").await?;
        self.services.store.deliveries().sent(&left.id, &old.room, &old.id, self.services.now()).await?;
        Ok(left.id)
    }

    async fn remove(&self, row: &str, old: MessageId) -> Result<(), StoreError> {
        let (store, now) = (self.services.store.deliveries(), || self.services.now());
        match self.clear_away(old).await {
            true => store.settle(row, now()).await,
            false => store.fail(row, "it can't be removed", now()).await,
        }
    }
}

/// Derived from the row and the message it replaces, so that each attempt comes to the same. Short: some platforms take
/// 50 characters.
pub(super) fn replacement(row: &str, old: &MessageId) -> DeliveryKey {
    let bytes = old.room.bytes().chain([0]).chain(old.id.bytes());
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    DeliveryKey(format!("{row}-{hash:08x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_replaced_message_has_one_key() {
        let key = |room: &str, id: &str| {
            replacement(&uuid::Uuid::nil().to_string(), &MessageId { room: room.into(), id: id.into() }).0
        };
        assert_eq!(key("oc_1", "om_1"), key("oc_1", "om_1"));
        let keys = std::collections::BTreeSet::from([key("oc_1", "om_1"), key("oc_1", "om_2"), key("oc_1o", "m_1")]);
        assert!(keys.len() == 3 && keys.iter().all(|key| key.len() == 45), "{keys:?}");
    }
}
