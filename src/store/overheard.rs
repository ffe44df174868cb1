//! Statements about messages that were said near us. They lie in the same table as the queue, in a key space of their
//! own, and only as many as a turn may be shown.

use super::inbox::inbox_columns;

/// No event id: hearing must not use up the one that a claim of the same message comes with.
pub(super) const KEEP: &str = "
    INSERT INTO inbox (id, channel, message_key, kind, state, room, thread, author_id, author_name, text, payload,
                       sent_at, received_at)
    VALUES ($1, $2, $3, 'overheard', 'pending', $4, $5, $6, $7, $8, $9, $10, $11)
    ON CONFLICT (channel, message_key) WHERE kind = 'overheard'
    DO UPDATE SET text = excluded.text, payload = excluded.payload";

/// Rows a turn has seen stay until they are purged: an event that comes again must not bring them back.
pub(super) const TRIM: &str = "
    DELETE FROM inbox
    WHERE channel = $1 AND room = $2 AND thread = $3 AND state = 'pending' AND kind = 'overheard'
      AND arrival NOT IN (SELECT arrival FROM inbox
                          WHERE channel = $1 AND room = $2 AND thread = $3 AND state = 'pending' AND kind = 'overheard'
                          ORDER BY arrival DESC LIMIT $4)";

/// What a conversation finds when it is woken: everything that waits for it, and what was overheard, in one look.
pub(super) const WAITING: &str = concat!(
    "SELECT ",
    inbox_columns!(),
    " FROM inbox
    WHERE channel = $1 AND room = $2 AND thread = $3 AND state = 'pending'
      AND (kind <> 'overheard'
           OR NOT EXISTS (SELECT 1 FROM inbox AS claimed
                          WHERE claimed.channel = inbox.channel AND claimed.message_key = inbox.message_key
                            AND claimed.kind <> 'overheard'))
    ORDER BY arrival"
);
