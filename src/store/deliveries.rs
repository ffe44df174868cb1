//! What we owe the platforms: a row for each message of ours, from the intention to the last edit. After a crash the
//! rows that aren't settled say what may or may not stand in the chat.

use super::{
    Store, StoreError,
    sql::{clean, read, row, words, write},
};

words! {
    pub enum DeliveryKind {
        /// The message that is edited into the answer.
        Placeholder = "placeholder",
        /// A further message of an answer too long for one.
        Part = "part",
        Notice = "notice",
        /// The whole of an answer that is too long for messages.
        File = "file",
        /// One of ours that another message took the place of: to be removed.
        Replaced = "replaced",
    }
}

words! {
    pub enum DeliveryState {
        /// Perhaps posted: look before posting again.
        Intended = "intended",
        /// Posted, and still to become something else.
        Sent = "sent",
        /// `text` is what must stand there in the end; whether it does isn't known.
        Final = "final",
        Settled = "settled",
        Failed = "failed",
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewDelivery {
    pub id: String,
    pub turn_id: String,
    pub session_id: String,
    pub channel: String,
    pub room: String,
    pub thread: String,
    pub kind: DeliveryKind,
    /// 0 is the placeholder; parts count from 1.
    pub part: i64,
    pub text: String,
    pub now_ms: i64,
}

row! {
    pub struct DeliveryRow, delivery_columns {
        pub id: String,
        pub turn_id: String,
        pub session_id: String,
        pub channel: String,
        pub room: String,
        pub thread: String,
        pub kind: DeliveryKind,
        pub part: i64,
        pub state: DeliveryState,
        pub text: String,
        pub message_room: Option<String>,
        pub message_id: Option<String>,
        pub reason: Option<String>,
        pub created_at: i64,
        pub updated_at: i64,
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Deliveries<'a>(pub(super) &'a Store);

impl Deliveries<'_> {
    /// Before the message is posted. Doing it twice is one intention.
    pub async fn intend(&self, new: &NewDelivery) -> Result<(), StoreError> {
        write!(self.0, |pool| sqlx::query(INTEND)
            .bind(&new.id)
            .bind(&new.turn_id)
            .bind(&new.session_id)
            .bind(&new.channel)
            .bind(&new.room)
            .bind(&new.thread)
            .bind(new.kind.as_str())
            .bind(new.part)
            .bind(clean(&new.text))
            .bind(new.now_ms)
            .execute(pool));
        Ok(())
    }

    /// It stands in the chat as this message. A final text that was decided meanwhile stays decided.
    pub async fn sent(&self, id: &str, message_room: &str, message_id: &str, now_ms: i64) -> Result<(), StoreError> {
        one(
            id,
            write!(self.0, |pool| sqlx::query(SENT)
                .bind(id)
                .bind(message_room)
                .bind(message_id)
                .bind(now_ms)
                .execute(pool)),
        )
    }

    /// The text that must end up there, before the call that puts it there.
    pub async fn finalise(&self, id: &str, text: &str, now_ms: i64) -> Result<(), StoreError> {
        one(id, write!(self.0, |pool| sqlx::query(FINALISE).bind(id).bind(clean(text)).bind(now_ms).execute(pool)))
    }

    /// Nothing is owed any more.
    pub async fn settle(&self, id: &str, now_ms: i64) -> Result<(), StoreError> {
        one(id, write!(self.0, |pool| sqlx::query(SETTLE).bind(id).bind(now_ms).execute(pool)))
    }

    /// Given up, and why. A settled delivery stays settled.
    pub async fn fail(&self, id: &str, reason: &str, now_ms: i64) -> Result<(), StoreError> {
        one(id, write!(self.0, |pool| sqlx::query(FAIL).bind(id).bind(clean(reason)).bind(now_ms).execute(pool)))
    }

    /// The placeholder, then the parts in order, then notices.
    pub async fn of_turn(&self, turn_id: &str) -> Result<Vec<DeliveryRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(OF_TURN).bind(turn_id).fetch_all(pool)))
    }

    /// What is still owed, oldest first.
    pub async fn unsettled(&self) -> Result<Vec<DeliveryRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(UNSETTLED).fetch_all(pool)))
    }
}

fn one(id: &str, changed: u64) -> Result<(), StoreError> {
    if changed == 1 { Ok(()) } else { Err(StoreError::Broken(format!("there is no delivery {id}"))) }
}

const INTEND: &str = "
    INSERT INTO deliveries (id, turn_id, session_id, channel, room, thread, kind, part, state, text, created_at,
                            updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'intended', $9, $10, $10)
    ON CONFLICT (id) DO NOTHING";

const SENT: &str = "
    UPDATE deliveries SET state = CASE WHEN state IN ('intended', 'failed') THEN 'sent' ELSE state END,
                          message_room = $2, message_id = $3, updated_at = $4
    WHERE id = $1";

const FINALISE: &str = "UPDATE deliveries SET state = 'final', text = $2, updated_at = $3 WHERE id = $1";

const SETTLE: &str = "UPDATE deliveries SET state = 'settled', updated_at = $2 WHERE id = $1";

const FAIL: &str = "
    UPDATE deliveries SET reason = CASE WHEN state = 'settled' THEN reason ELSE $2 END,
                          state = CASE WHEN state = 'settled' THEN state ELSE 'failed' END, updated_at = $3
    WHERE id = $1";

const OF_TURN: &str = concat!(
    "SELECT ",
    delivery_columns!(),
    " FROM deliveries WHERE turn_id = $1
    ORDER BY CASE kind WHEN 'placeholder' THEN 0 WHEN 'part' THEN 1 ELSE 2 END, part, created_at, id"
);

const UNSETTLED: &str = concat!(
    "SELECT ",
    delivery_columns!(),
    " FROM deliveries WHERE state IN ('intended', 'sent', 'final') ORDER BY created_at, part, id"
);
