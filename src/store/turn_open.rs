//! Opening a turn: everything that must be true before the first model call, in one transaction.

use super::{
    DeliveryRow, SessionRow, StoreError, TurnRow, Turns,
    deliveries::delivery_columns,
    inbox::{CONSUME_POSTGRES, CONSUME_SQLITE, TAKE_POSTGRES, TAKE_SQLITE},
    messages::{NewMessage, count, insert},
    sessions::session_columns,
    sql::{clean, clean_option, id_list, new_id, transaction},
    turns::turn_columns,
};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenTurn {
    pub turn_id: String,
    pub channel: String,
    pub room: String,
    pub thread: String,
    /// Empty unless each person has a conversation of their own in the thread.
    pub scope_user: String,
    pub asker_id: String,
    pub asker_name: Option<String>,
    /// Of a session that this turn creates.
    pub locale: String,
    /// Of a session that this turn creates: its first words.
    pub title: String,
    /// The process that works on the conversation from now on.
    pub owner: String,
    pub now_ms: i64,
    pub messages: Vec<NewMessage>,
    /// All of them must still wait, or nothing happens.
    pub inbox_ids: Vec<String>,
    pub overheard_ids: Vec<String>,
    /// Nobody waits for it: it has no placeholder, and its answer is a new message.
    pub follow_up: bool,
    /// Of the placeholder, which is intended here and sent afterwards.
    pub delivery_id: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OpenedTurn {
    pub session: SessionRow,
    pub turn: TurnRow,
    pub placeholder: DeliveryRow,
}

impl Turns<'_> {
    /// Finds or creates the conversation's session, takes its lease, and writes turn, messages and placeholder.
    /// `LostLease` if one of the inbox rows was taken already: whoever took it answers it.
    pub async fn open(&self, open: &OpenTurn) -> Result<OpenedTurn, StoreError> {
        let store = self.0;
        let take = store.dialect(TAKE_SQLITE, TAKE_POSTGRES);
        let consume = store.dialect(CONSUME_SQLITE, CONSUME_POSTGRES);
        let messages = count(&open.messages);
        let opened = transaction!(store, |tx| {
            let mut session: Option<SessionRow> = None;
            // Twice at most: a session that was made between the look and the insert is there to be found afterwards.
            for _ in 0..2 {
                session = sqlx::query_as(ENTER)
                    .bind(&open.channel)
                    .bind(&open.room)
                    .bind(&open.thread)
                    .bind(&open.scope_user)
                    .bind(&open.owner)
                    .bind(messages)
                    .bind(open.now_ms)
                    .fetch_optional(&mut *tx)
                    .await?;
                if session.is_some() {
                    break;
                }
                session = sqlx::query_as(CREATE)
                    .bind(new_id(open.now_ms))
                    .bind(&open.channel)
                    .bind(&open.room)
                    .bind(&open.thread)
                    .bind(&open.scope_user)
                    .bind(&open.asker_id)
                    .bind(&open.locale)
                    .bind(1 + messages)
                    .bind(&open.owner)
                    .bind(open.now_ms)
                    .bind(clean(&open.title))
                    .fetch_optional(&mut *tx)
                    .await?;
                if session.is_some() {
                    break;
                }
            }
            let Some(session) = session else { return Err(StoreError::LostLease) };

            let turn: TurnRow = sqlx::query_as(INSERT)
                .bind(&open.turn_id)
                .bind(&session.id)
                .bind(&open.asker_id)
                .bind(clean_option(open.asker_name.as_ref()))
                .bind(open.now_ms)
                .bind(open.follow_up)
                .fetch_one(&mut *tx)
                .await?;
            let first = session.next_seq - messages;
            insert!(tx, &session.id, &open.turn_id, first, open.messages, open.now_ms);

            if !open.inbox_ids.is_empty() {
                let ids = id_list(&open.inbox_ids);
                let taken = sqlx::query(take).bind(&open.turn_id).bind(ids).execute(&mut *tx).await?.rows_affected();
                if usize::try_from(taken) != Ok(open.inbox_ids.len()) {
                    return Err(StoreError::LostLease);
                }
            }
            if !open.overheard_ids.is_empty() {
                let ids = id_list(&open.overheard_ids);
                sqlx::query(consume).bind(&open.turn_id).bind(ids).execute(&mut *tx).await?;
            }
            let placeholder: DeliveryRow = sqlx::query_as(PLACEHOLDER)
                .bind(&open.delivery_id)
                .bind(&open.turn_id)
                .bind(&session.id)
                .bind(&open.channel)
                .bind(&open.room)
                .bind(&open.thread)
                .bind(open.now_ms)
                .fetch_one(&mut *tx)
                .await?;
            OpenedTurn { session, turn, placeholder }
        });
        Ok(opened)
    }
}

const ENTER: &str = concat!(
    "UPDATE chat_sessions SET
        lease_epoch = lease_epoch + CASE WHEN lease_owner = $5 THEN 0 ELSE 1 END, lease_owner = $5,
        status = 'running', next_seq = next_seq + $6, updated_at = $7
    WHERE id = (SELECT id FROM chat_sessions
                WHERE channel = $1 AND room = $2 AND thread = $3 AND scope_user = $4 AND parent_session_id IS NULL
                ORDER BY generation DESC LIMIT 1)
    RETURNING ",
    session_columns!()
);

const CREATE: &str = concat!(
    "INSERT INTO chat_sessions (id, channel, room, thread, scope_user, generation, user_id, agent_id, kind, locale,
                                status, next_seq, lease_owner, lease_epoch, created_at, updated_at, title)
    VALUES ($1, $2, $3, $4, $5, 1, $6, 'default', 'coordinator', $7, 'running', $8, $9, 1, $10, $10, $11)
    ON CONFLICT DO NOTHING
    RETURNING ",
    session_columns!()
);

const INSERT: &str = concat!(
    "INSERT INTO turns (id, session_id, asker_id, asker_name, status, attempts, opened_at, follow_up)
    VALUES ($1, $2, $3, $4, 'running', 1, $5, $6)
    RETURNING ",
    turn_columns!()
);

const PLACEHOLDER: &str = concat!(
    "INSERT INTO deliveries (id, turn_id, session_id, channel, room, thread, kind, part, state, text, created_at,
                             updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, 'placeholder', 0, 'intended', '', $7, $7)
    RETURNING ",
    delivery_columns!()
);
