//! The queue of accepted messages. A row is the claim of a message, made before its platform is acknowledged, and the
//! work itself until a turn has closed it: pending, then taken by a turn, then done.

use super::{
    Store, StoreError,
    sql::{clean, clean_option, id_list, new_id, read, row, transaction, words, write},
};

words! {
    pub enum InboxKind {
        Message = "message",
        Stop = "stop",
        /// A message that was claimed is gone from the chat.
        Retraction = "retraction",
        TaskNotification = "task_notification",
        ApprovalResult = "approval_result",
        /// Said near us, not to us: context for the next addressed message, never work of its own.
        Overheard = "overheard",
    }
}

words! {
    pub enum InboxState {
        Pending = "pending",
        Taken = "taken",
        Done = "done",
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewInbox {
    pub channel: String,
    /// The platform's identity of the message within this channel: the same for every event that tells of it.
    pub message_key: String,
    pub event_id: Option<String>,
    pub kind: InboxKind,
    pub room: String,
    pub thread: String,
    pub author_id: String,
    pub author_name: Option<String>,
    pub text: String,
    /// JSON, whatever the reader of the queue needs beside the text.
    pub payload: String,
    pub sent_at: i64,
    pub received_at: i64,
}

row! {
    pub struct InboxRow, inbox_columns {
        pub id: String,
        pub channel: String,
        pub message_key: String,
        pub event_id: Option<String>,
        pub kind: InboxKind,
        pub state: InboxState,
        pub turn_id: Option<String>,
        pub room: String,
        pub thread: String,
        pub author_id: String,
        pub author_name: Option<String>,
        pub text: String,
        pub payload: String,
        pub sent_at: i64,
        pub received_at: i64,
    }
}

/// How a payload says that its message has none. Within a text the quotes would be escaped.
const NO_FILES: &str = "\"files\":[]";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    Taken { id: String },
    Duplicate,
}

/// The parameters of [`CLAIM`].
macro_rules! bind_claim {
    ($query:expr, $id:expr, $new:expr) => {
        $query
            .bind($id)
            .bind(&$new.channel)
            .bind(&$new.message_key)
            .bind(&$new.event_id)
            .bind($new.kind.as_str())
            .bind(&$new.room)
            .bind(&$new.thread)
            .bind(&$new.author_id)
            .bind($crate::store::sql::clean_option($new.author_name.as_ref()))
            .bind($crate::store::sql::clean(&$new.text))
            .bind($crate::store::sql::clean(&$new.payload))
            .bind($new.sent_at)
            .bind($new.received_at)
    };
}
pub(super) use bind_claim;

#[derive(Clone, Copy, Debug)]
pub struct Inbox<'a>(pub(super) &'a Store);

impl Inbox<'_> {
    /// Of any number of attempts, also at once and from several processes, exactly one is told `Taken`. The row is on
    /// disk when this returns.
    pub async fn claim(&self, new: &NewInbox) -> Result<Claim, StoreError> {
        if new.kind == InboxKind::Overheard {
            return Err(StoreError::Broken("an overheard message is not claimed".to_owned()));
        }
        let id = new_id(new.received_at);
        let inserted = write!(self.0, |pool| bind_claim!(sqlx::query(CLAIM), &id, new).execute(pool));
        Ok(if inserted == 1 { Claim::Taken { id } } else { Claim::Duplicate })
    }

    /// Whether the message was claimed, also when it is done by now. Hearing it doesn't count.
    pub async fn seen(&self, channel: &str, message_key: &str) -> Result<bool, StoreError> {
        Ok(self.claimed_as(channel, message_key).await?.is_some())
    }

    /// As what the message was claimed.
    pub async fn claimed_as(&self, channel: &str, message_key: &str) -> Result<Option<InboxKind>, StoreError> {
        let found: Option<InboxKind> =
            read!(self.0, |pool| sqlx::query_scalar(CLAIMED_AS).bind(channel).bind(message_key).fetch_optional(pool));
        Ok(found)
    }

    /// Whether this person has spoken to us in this thread before.
    pub async fn has_mentioned(
        &self,
        channel: &str,
        room: &str,
        thread: &str,
        author_id: &str,
    ) -> Result<bool, StoreError> {
        let found: Option<i64> = read!(self.0, |pool| sqlx::query_scalar(HAS_MENTIONED)
            .bind(channel)
            .bind(room)
            .bind(thread)
            .bind(author_id)
            .fetch_optional(pool));
        Ok(found.is_some())
    }

    /// Turns that bots began here since a person last said something, or since `since`. What waits for a turn counts as one.
    pub async fn bot_turns_in_a_row(
        &self,
        channel: &str,
        room: &str,
        thread: &str,
        since: i64,
    ) -> Result<i64, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_scalar(BOT_TURNS)
            .bind(channel)
            .bind(room)
            .bind(thread)
            .bind(since)
            .fetch_one(pool)))
    }

    /// What waits for this conversation, in the order of arrival.
    pub async fn pending(&self, channel: &str, room: &str, thread: &str) -> Result<Vec<InboxRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(PENDING).bind(channel).bind(room).bind(thread).fetch_all(pool)))
    }

    /// (channel, room, thread) of every conversation with work, the one that waits longest first.
    pub async fn conversations_with_pending(&self) -> Result<Vec<(String, String, String)>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(WAITING).fetch_all(pool)))
    }

    /// What a turn has taken, in order of arrival.
    pub async fn of_turn(&self, turn_id: &str) -> Result<Vec<InboxRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(OF_TURN).bind(turn_id).fetch_all(pool)))
    }

    /// Messages with files that the turns of a session have taken or were told beside them, in order of arrival. What was
    /// removed from the chat is not among them.
    pub async fn with_files(&self, session_id: &str) -> Result<Vec<InboxRow>, StoreError> {
        let without = format!("%{NO_FILES}%");
        Ok(read!(self.0, |pool| sqlx::query_as(WITH_FILES).bind(session_id).bind(&without).fetch_all(pool)))
    }

    /// A message that was overheard is gone from the chat: no turn is told of it any more.
    pub async fn unhear(&self, channel: &str, message_key: &str) -> Result<(), StoreError> {
        write!(self.0, |pool| sqlx::query(UNHEAR).bind(channel).bind(message_key).execute(pool));
        Ok(())
    }

    /// A message was claimed by an event that came without its files; they go into the row that is there.
    pub async fn add_files(&self, channel: &str, message_key: &str, files: &str) -> Result<(), StoreError> {
        let files = format!("\"files\":{files}");
        write!(self.0, |pool| sqlx::query(ADD_FILES)
            .bind(channel)
            .bind(message_key)
            .bind(NO_FILES)
            .bind(clean(&files))
            .execute(pool));
        Ok(())
    }

    /// Ends rows that need no turn, such as a "stop" with nothing to stop.
    pub async fn finish(&self, ids: &[String]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let sql = self.0.dialect(FINISH_SQLITE, FINISH_POSTGRES);
        write!(self.0, |pool| sqlx::query(sql).bind(id_list(ids)).execute(pool));
        Ok(())
    }

    /// Forgets what is done and arrived before `older_than_ms`, and with it the memory of who has mentioned us and
    /// which messages were claimed. The caller keeps at least as long as platforms redeliver: 24 hours.
    pub async fn purge(&self, older_than_ms: i64) -> Result<u64, StoreError> {
        Ok(write!(self.0, |pool| sqlx::query(PURGE).bind(older_than_ms).execute(pool)))
    }

    /// Keeps a message nobody addressed to us; see `waiting`. An edit of it replaces the text. Only the newest `keep`
    /// that no turn has seen stay, per conversation. `new.kind` is not looked at.
    pub async fn overhear(&self, new: &NewInbox, keep: usize) -> Result<(), StoreError> {
        let keep = i64::try_from(keep).unwrap_or(i64::MAX);
        transaction!(self.0, |tx| {
            sqlx::query(super::overheard::KEEP)
                .bind(new_id(new.received_at))
                .bind(&new.channel)
                .bind(&new.message_key)
                .bind(&new.room)
                .bind(&new.thread)
                .bind(&new.author_id)
                .bind(clean_option(new.author_name.as_ref()))
                .bind(clean(&new.text))
                .bind(clean(&new.payload))
                .bind(new.sent_at)
                .bind(new.received_at)
                .execute(&mut *tx)
                .await?;
            sqlx::query(super::overheard::TRIM)
                .bind(&new.channel)
                .bind(&new.room)
                .bind(&new.thread)
                .bind(keep)
                .execute(&mut *tx)
                .await?;
        });
        Ok(())
    }

    /// What waits for this conversation and what was said in it since a turn last took that in, in the order of arrival. A
    /// message that was claimed after it was overheard comes once, as claimed.
    pub async fn waiting(&self, channel: &str, room: &str, thread: &str) -> Result<Vec<InboxRow>, StoreError> {
        let sql = super::overheard::WAITING;
        Ok(read!(self.0, |pool| sqlx::query_as(sql).bind(channel).bind(room).bind(thread).fetch_all(pool)))
    }
}

pub(super) const CLAIM: &str = "
    INSERT INTO inbox (id, channel, message_key, event_id, kind, state, room, thread, author_id, author_name, text,
                       payload, sent_at, received_at)
    VALUES ($1, $2, $3, $4, $5, 'pending', $6, $7, $8, $9, $10, $11, $12, $13)
    ON CONFLICT DO NOTHING";

const CLAIMED_AS: &str = "
    SELECT kind FROM inbox WHERE channel = $1 AND message_key = $2 AND kind <> 'overheard' LIMIT 1";

const HAS_MENTIONED: &str = "
    SELECT arrival FROM inbox
    WHERE channel = $1 AND room = $2 AND thread = $3 AND author_id = $4 AND kind IN ('message', 'stop') LIMIT 1";

// A payload says whether its author is a bot. Within a text the quotes would be escaped.
const BOT_TURNS: &str = r#"
    SELECT COUNT(DISTINCT COALESCE(turn_id, '')) FROM inbox
    WHERE channel = $1 AND room = $2 AND thread = $3 AND received_at >= $4 AND kind = 'message'
      AND payload LIKE '%"is_bot":true%'
      AND arrival > COALESCE((SELECT MAX(arrival) FROM inbox
                              WHERE channel = $1 AND room = $2 AND thread = $3 AND kind <> 'retraction'
                                AND payload LIKE '%"is_bot":false%'), 0)"#;

const PENDING: &str = concat!(
    "SELECT ",
    inbox_columns!(),
    " FROM inbox
    WHERE channel = $1 AND room = $2 AND thread = $3 AND state = 'pending' AND kind <> 'overheard'
    ORDER BY arrival"
);

const WAITING: &str = "
    SELECT channel, room, thread FROM inbox WHERE state = 'pending' AND kind <> 'overheard'
    GROUP BY channel, room, thread ORDER BY MIN(arrival)";

const FINISH_SQLITE: &str = "UPDATE inbox SET state = 'done' WHERE id IN (SELECT value FROM json_each($1))";
const FINISH_POSTGRES: &str =
    "UPDATE inbox SET state = 'done' WHERE id IN (SELECT jsonb_array_elements_text(CAST($1 AS jsonb)))";

const PURGE: &str = "DELETE FROM inbox WHERE state = 'done' AND received_at < $1";

/// A turn takes rows only if all of them still wait; the caller compares the count and rolls back.
pub(super) const TAKE_SQLITE: &str = "
    UPDATE inbox SET state = 'taken', turn_id = $1
    WHERE state = 'pending' AND id IN (SELECT value FROM json_each($2))";
pub(super) const TAKE_POSTGRES: &str = "
    UPDATE inbox SET state = 'taken', turn_id = $1
    WHERE state = 'pending' AND id IN (SELECT jsonb_array_elements_text(CAST($2 AS jsonb)))";

pub(super) const CONSUME_SQLITE: &str = "
    UPDATE inbox SET state = 'done', turn_id = $1 WHERE kind = 'overheard' AND id IN (SELECT value FROM json_each($2))";
pub(super) const CONSUME_POSTGRES: &str = "
    UPDATE inbox SET state = 'done', turn_id = $1
    WHERE kind = 'overheard' AND id IN (SELECT jsonb_array_elements_text(CAST($2 AS jsonb)))";

pub(super) const FINISH_TURN: &str = "UPDATE inbox SET state = 'done' WHERE turn_id = $1 AND state = 'taken'";

const OF_TURN: &str =
    concat!("SELECT ", inbox_columns!(), " FROM inbox WHERE turn_id = $1 AND kind <> 'overheard' ORDER BY arrival");

// That a retraction is not overheard goes without saying, but not for SQLite: it needs it to use the index of claims.
const WITH_FILES: &str = concat!(
    "SELECT ",
    inbox_columns!(),
    " FROM inbox
    WHERE turn_id IN (SELECT id FROM turns WHERE session_id = $1) AND payload NOT LIKE $2
      AND NOT EXISTS (SELECT 1 FROM inbox AS gone
                      WHERE gone.channel = inbox.channel AND gone.message_key = inbox.message_key || '/deleted'
                        AND gone.kind = 'retraction' AND gone.kind <> 'overheard')
    ORDER BY arrival"
);

const UNHEAR: &str = "
    DELETE FROM inbox WHERE channel = $1 AND message_key = $2 AND kind = 'overheard' AND state = 'pending'";

const ADD_FILES: &str = "
    UPDATE inbox SET payload = REPLACE(payload, $3, $4) WHERE channel = $1 AND message_key = $2 AND kind = 'message'";
