//! Transcripts. Rows are only ever added; what they mean, and which later rows hide earlier ones, is the coordinator's
//! business.

use sqlx::{Database, Encode, QueryBuilder, Type};

use super::{
    Store, StoreError,
    sql::{clean, clean_option, new_id, read, row, transaction},
};

#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    pub kind: String,
    pub author: Option<String>,
    /// JSON, kept byte for byte.
    pub body: String,
}

row! {
    pub struct MessageRow, message_columns {
        pub id: String,
        pub session_id: String,
        pub seq: i64,
        pub turn_id: String,
        pub kind: String,
        pub author: Option<String>,
        pub body: String,
        pub created_at: i64,
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Messages<'a>(pub(super) &'a Store);

impl Messages<'_> {
    /// Returns the number of the first new message. With an epoch, fails with `LostLease` unless it is the session's.
    pub async fn append(
        &self,
        session_id: &str,
        turn_id: &str,
        epoch: Option<i64>,
        messages: Vec<NewMessage>,
        now_ms: i64,
    ) -> Result<i64, StoreError> {
        let first = transaction!(self.0, |tx| {
            let next: Option<i64> = sqlx::query_scalar(RESERVE)
                .bind(session_id)
                .bind(count(&messages))
                .bind(epoch)
                .bind(now_ms)
                .fetch_optional(&mut *tx)
                .await?;
            let Some(next) = next else { return Err(refusal(session_id, epoch)) };
            let first = next - count(&messages);
            insert!(tx, session_id, turn_id, first, messages, now_ms);
            first
        });
        Ok(first)
    }

    pub async fn transcript(&self, session_id: &str) -> Result<Vec<MessageRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(TRANSCRIPT).bind(session_id).fetch_all(pool)))
    }
}

/// Inserts messages whose numbers were reserved, inside a transaction.
macro_rules! insert {
    ($tx:ident, $session_id:expr, $turn_id:expr, $first:expr, $messages:expr, $now_ms:expr) => {{
        let mut seq = $first;
        for some in $messages.chunks($crate::store::messages::AT_ONCE) {
            $crate::store::messages::inserts::<Db>($session_id, $turn_id, seq, some, $now_ms)
                .build()
                .execute(&mut *$tx)
                .await?;
            seq += $crate::store::messages::count(some);
        }
    }};
}
pub(super) use insert;

/// Well below what either engine takes as parameters of one statement.
pub(super) const AT_ONCE: usize = 500;

pub(super) fn inserts<DB: Database>(
    session_id: &str,
    turn_id: &str,
    first: i64,
    messages: &[NewMessage],
    now_ms: i64,
) -> QueryBuilder<DB>
where
    String: for<'q> Encode<'q, DB> + Type<DB>,
    Option<String>: for<'q> Encode<'q, DB> + Type<DB>,
    i64: for<'q> Encode<'q, DB> + Type<DB>,
{
    let mut insert = QueryBuilder::new(concat!("INSERT INTO chat_messages (", message_columns!(), ") "));
    insert.push_values((first..).zip(messages), |mut row, (seq, message)| {
        row.push_bind(new_id(now_ms))
            .push_bind(session_id.to_owned())
            .push_bind(seq)
            .push_bind(turn_id.to_owned())
            .push_bind(message.kind.clone())
            .push_bind(clean_option(message.author.as_ref()).map(|author| author.into_owned()))
            .push_bind(clean(&message.body).into_owned())
            .push_bind(now_ms);
    });
    insert
}

pub(super) fn count(messages: &[NewMessage]) -> i64 {
    i64::try_from(messages.len()).unwrap_or(i64::MAX)
}

/// Why no number could be reserved.
pub(super) fn refusal(session_id: &str, epoch: Option<i64>) -> StoreError {
    match epoch {
        Some(_) => StoreError::LostLease,
        None => StoreError::Broken(format!("there is no session {session_id}")),
    }
}

/// Updating the session's row makes two writers of one transcript queue, on both engines.
pub(super) const RESERVE: &str = "
    UPDATE chat_sessions SET next_seq = next_seq + $2, updated_at = $4
    WHERE id = $1 AND lease_epoch = COALESCE($3, lease_epoch)
    RETURNING next_seq";

const TRANSCRIPT: &str =
    concat!("SELECT ", message_columns!(), " FROM chat_messages WHERE session_id = $1 ORDER BY seq");
