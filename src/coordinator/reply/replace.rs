//! Another message in the place of one that stands there and can't be edited any more.

use watchfloor_channel::{Body, DeliveryKey, MessageId};

use super::{Owed, Placed, ReplyError, Route};

impl Route {
    /// The row names the new message before the old one is removed. After a crash in between, the same replacement is found
    /// by its key, and not posted again.
    pub(super) async fn replace(&self, owed: &Owed, old: MessageId, body: &Body) -> Result<Placed, ReplyError> {
        let placed = self.post_as(replacement(&owed.id, &old), owed.since, body).await?;
        self.place_is(owed, &placed).await?;
        self.clear_away(old).await;
        Ok(placed)
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
