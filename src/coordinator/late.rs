//! Messages that reach us long after they were said: brought again after an outage, or read after a gap. Both times are in
//! the message's row, so that a restart forgets nothing. What is said about it is left to `turn` and `prompt`.

use std::time::Duration;

use watchfloor_channel::{Inbound, InboundKind};

use super::Services;
use crate::store::InboxRow;

/// When a message is late, and what becomes of it then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Late {
    /// `None`: never.
    pub after: Option<Duration>,
    pub policy: LatePolicy,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LatePolicy {
    /// Answered, and the answer says so.
    #[default]
    Note,
    /// Left alone.
    Skip,
}

impl Late {
    /// How late a message is, if it is. An edit tells when the message was said, not when it was changed.
    pub(super) fn by(&self, inbound: &Inbound, received_at: i64) -> Option<Duration> {
        let after = self.after.filter(|_| inbound.kind == InboundKind::Message)?;
        let by = Duration::from_millis(u64::try_from(received_at.saturating_sub(inbound.sent_at)).ok()?);
        (by > after).then_some(by)
    }
}

impl Services {
    pub(super) fn late_by(&self, row: &InboxRow, inbound: &Inbound) -> Option<Duration> {
        self.channels.get(&inbound.conversation.channel)?.access.late.by(inbound, row.received_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinator::testing::said_at;

    #[test]
    fn a_message_is_late_once_it_took_longer_than_the_channel_says() {
        let late = Late { after: Some(Duration::from_secs(300)), ..Late::default() };
        let table = [(0, None), (300_000, None), (300_001, Some(300_001)), (-5_000, None)];
        for (took, expected) in table {
            let message = said_at(1_000_000);
            assert_eq!(late.by(&message, 1_000_000 + took), expected.map(Duration::from_millis), "{took}");
            let edit = Inbound { kind: InboundKind::Edit, ..message.clone() };
            assert_eq!(late.by(&edit, 1_000_000 + took), None, "{took}");
            assert_eq!(Late::default().by(&message, 1_000_000 + took), None, "{took}");
        }
        assert_eq!(late.by(&said_at(i64::MAX), i64::MIN), None);
        assert!(late.by(&said_at(i64::MIN), i64::MAX).is_some());
    }
}
