//! `chat_sessions`: one row for each generation of a conversation (the coordinator's) and one for each worker's run.
//! Coordinators' rows are made by opening a turn.

use super::{
    NewInbox, Store, StoreError, Totals,
    inbox::{CLAIM, bind_claim},
    messages::{NewMessage, count, insert},
    sql::{clean, new_id, read, row, transaction, words, write},
};

words! {
    pub enum SessionKind {
        Coordinator = "coordinator",
        Worker = "worker",
    }
}

words! {
    pub enum SessionStatus {
        /// A coordinator between two turns.
        Idle = "idle",
        /// A worker that waits for a place.
        Pending = "pending",
        Running = "running",
        Completed = "completed",
        Failed = "failed",
        Killed = "killed",
    }
}

row! {
    pub struct SessionRow, session_columns {
        pub id: String,
        pub channel: String,
        pub room: String,
        pub thread: String,
        /// Empty unless each person has a conversation of their own in the thread.
        pub scope_user: String,
        pub generation: i64,
        /// Who opened it.
        pub user_id: String,
        /// `default`, or the worker's persona.
        pub agent_id: String,
        pub parent_session_id: Option<String>,
        /// The turn a worker works for.
        pub turn_id: Option<String>,
        pub kind: SessionKind,
        pub title: String,
        pub locale: String,
        pub model: Option<String>,
        pub status: SessionStatus,
        /// Of a worker: its report goes into the queue.
        pub background: bool,
        pub attempts: i64,
        pub next_seq: i64,
        pub evidence_seq: i64,
        pub lease_owner: Option<String>,
        pub lease_until: Option<i64>,
        pub lease_epoch: i64,
        pub input_tokens: i64,
        pub cached_tokens: i64,
        pub output_tokens: i64,
        pub cost_micros: i64,
        pub created_at: i64,
        pub updated_at: i64,
    }
}

/// Channel, room, thread, person and locale are its parent's.
#[derive(Clone, Debug, PartialEq)]
pub struct NewWorker {
    pub id: String,
    pub parent_session_id: String,
    pub turn_id: String,
    pub persona: String,
    pub title: String,
    pub model: Option<String>,
    /// Nobody waits for its report: it goes into the queue.
    pub background: bool,
    pub first_messages: Vec<NewMessage>,
    pub now_ms: i64,
}

/// How a worker ended, and what the queue is told of it if nobody waits.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerEnd {
    pub id: String,
    pub status: SessionStatus,
    pub totals: Totals,
    /// `None`: whoever stopped it knows.
    pub report: Option<NewInbox>,
    pub now_ms: i64,
}

#[derive(Clone, Copy, Debug)]
pub struct Sessions<'a>(pub(super) &'a Store);

impl Sessions<'_> {
    /// The newest generation of a conversation.
    pub async fn find(
        &self,
        channel: &str,
        room: &str,
        thread: &str,
        scope_user: &str,
    ) -> Result<Option<SessionRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(FIND)
            .bind(channel)
            .bind(room)
            .bind(thread)
            .bind(scope_user)
            .fetch_optional(pool)))
    }

    pub async fn get(&self, id: &str) -> Result<Option<SessionRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(GET).bind(id).fetch_optional(pool)))
    }

    /// Coordinators' and workers', oldest first.
    pub async fn all(&self) -> Result<Vec<SessionRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(ALL).fetch_all(pool)))
    }

    /// Begins the conversation anew: the next generation, with an empty transcript. The old row stays for the audit.
    /// Asked twice for the same session it makes one new generation and returns it both times.
    pub async fn start_over(&self, session_id: &str, now_ms: i64) -> Result<SessionRow, StoreError> {
        let row = transaction!(self.0, |tx| {
            sqlx::query(START_OVER).bind(session_id).bind(new_id(now_ms)).bind(now_ms).execute(&mut *tx).await?;
            let next: Option<SessionRow> = sqlx::query_as(SUCCESSOR).bind(session_id).fetch_optional(&mut *tx).await?;
            let Some(next) = next else { return Err(missing(session_id)) };
            next
        });
        Ok(row)
    }

    /// The worker's row and its first messages, in one transaction.
    pub async fn create_worker(&self, new: &NewWorker) -> Result<SessionRow, StoreError> {
        let row = transaction!(self.0, |tx| {
            let row: Option<SessionRow> = sqlx::query_as(CREATE_WORKER)
                .bind(&new.id)
                .bind(&new.persona)
                .bind(&new.turn_id)
                .bind(clean(&new.title))
                .bind(&new.model)
                .bind(1 + count(&new.first_messages))
                .bind(new.now_ms)
                .bind(&new.parent_session_id)
                .bind(new.background)
                .fetch_optional(&mut *tx)
                .await?;
            let Some(row) = row else { return Err(missing(&new.parent_session_id)) };
            insert!(tx, &new.id, &new.turn_id, 1, new.first_messages, new.now_ms);
            row
        });
        Ok(row)
    }

    pub async fn set_status(&self, id: &str, status: SessionStatus, now_ms: i64) -> Result<(), StoreError> {
        let changed =
            write!(self.0, |pool| sqlx::query(SET_STATUS).bind(id).bind(status.as_str()).bind(now_ms).execute(pool));
        if changed == 1 { Ok(()) } else { Err(missing(id)) }
    }

    /// Those whose reports a turn waits for. Oldest first.
    pub async fn running_workers(&self, parent_session_id: &str) -> Result<Vec<SessionRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(RUNNING_WORKERS).bind(parent_session_id).fetch_all(pool)))
    }

    /// Those that nobody waits for, over all conversations: what a restart goes on with. Oldest first.
    pub async fn background_workers(&self) -> Result<Vec<SessionRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(BACKGROUND_WORKERS).fetch_all(pool)))
    }

    /// Oldest first, whatever became of them.
    pub async fn workers(&self, parent_session_id: &str) -> Result<Vec<SessionRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(WORKERS).bind(parent_session_id).fetch_all(pool)))
    }

    /// A worker begins, or begins again. Returns how often it did.
    pub async fn begin_worker(&self, id: &str, now_ms: i64) -> Result<i64, StoreError> {
        let attempts: i64 = transaction!(self.0, |tx| {
            let attempts: Option<i64> =
                sqlx::query_scalar(BEGIN_WORKER).bind(id).bind(now_ms).fetch_optional(&mut *tx).await?;
            let Some(attempts) = attempts else { return Err(missing(id)) };
            attempts
        });
        Ok(attempts)
    }

    /// An orderly end cut it short: the attempt doesn't count.
    pub async fn forgive_worker(&self, id: &str) -> Result<(), StoreError> {
        write!(self.0, |pool| sqlx::query(FORGIVE_WORKER).bind(id).execute(pool));
        Ok(())
    }

    /// One that has ended works again, from the transcript it has. False: it is at work.
    pub async fn reopen_worker(&self, id: &str, background: bool, now_ms: i64) -> Result<bool, StoreError> {
        let changed =
            write!(self.0, |pool| sqlx::query(REOPEN_WORKER).bind(id).bind(background).bind(now_ms).execute(pool));
        Ok(changed == 1)
    }

    /// Whether anybody waits for its report. False: it has ended by now, and nothing changed.
    pub async fn set_background(&self, id: &str, background: bool) -> Result<bool, StoreError> {
        let changed = write!(self.0, |pool| sqlx::query(SET_BACKGROUND).bind(id).bind(background).execute(pool));
        Ok(changed == 1)
    }

    /// A worker's end. If nobody waits for its report, that goes into the queue, in the same transaction, and what it used
    /// is its coordinator's. Returns whether it did. Ending what has ended does nothing.
    pub async fn end_worker(&self, end: &WorkerEnd) -> Result<bool, StoreError> {
        let queued = transaction!(self.0, |tx| {
            let ended: Option<(bool, String)> = sqlx::query_as(END_WORKER)
                .bind(&end.id)
                .bind(end.status.as_str())
                .bind(end.totals.input_tokens)
                .bind(end.totals.cached_tokens)
                .bind(end.totals.output_tokens)
                .bind(end.now_ms)
                .fetch_optional(&mut *tx)
                .await?;
            match (ended, &end.report) {
                (Some((true, parent)), report) => {
                    sqlx::query(ADD_WORKERS_TOTALS)
                        .bind(parent)
                        .bind(end.totals.input_tokens)
                        .bind(end.totals.cached_tokens)
                        .bind(end.totals.output_tokens)
                        .execute(&mut *tx)
                        .await?;
                    if let Some(report) = report {
                        bind_claim!(sqlx::query(CLAIM), new_id(end.now_ms), report).execute(&mut *tx).await?;
                    }
                    report.is_some()
                }
                _ => false,
            }
        });
        Ok(queued)
    }

    /// Reserves `n` evidence numbers and returns the first: 1 for a new session. No number is given twice.
    pub async fn reserve_evidence(&self, session_id: &str, n: u32) -> Result<u32, StoreError> {
        let last: i64 = transaction!(self.0, |tx| {
            let last: Option<i64> = sqlx::query_scalar(RESERVE_EVIDENCE)
                .bind(session_id)
                .bind(i64::from(n))
                .fetch_optional(&mut *tx)
                .await?;
            let Some(last) = last else { return Err(missing(session_id)) };
            last
        });
        u32::try_from(last - i64::from(n) + 1)
            .map_err(|_| StoreError::Broken(format!("session {session_id} has no evidence numbers left")))
    }
}

fn missing(id: &str) -> StoreError {
    StoreError::Broken(format!("there is no session {id}"))
}

const FIND: &str = concat!(
    "SELECT ",
    session_columns!(),
    " FROM chat_sessions
    WHERE channel = $1 AND room = $2 AND thread = $3 AND scope_user = $4 AND parent_session_id IS NULL
    ORDER BY generation DESC LIMIT 1"
);

const GET: &str = concat!("SELECT ", session_columns!(), " FROM chat_sessions WHERE id = $1");

const ALL: &str = concat!("SELECT ", session_columns!(), " FROM chat_sessions ORDER BY created_at, id");

const START_OVER: &str = "
    INSERT INTO chat_sessions (id, channel, room, thread, scope_user, generation, user_id, agent_id, kind, locale, model,
                               status, lease_owner, lease_epoch, created_at, updated_at)
    SELECT $2, channel, room, thread, scope_user, generation + 1, user_id, agent_id, kind, locale, model, 'idle',
           lease_owner, lease_epoch, $3, $3
    FROM chat_sessions WHERE id = $1 AND parent_session_id IS NULL
    ON CONFLICT DO NOTHING";

const SUCCESSOR: &str = concat!(
    "SELECT ",
    session_columns!(),
    " FROM chat_sessions
    WHERE parent_session_id IS NULL AND (channel, room, thread, scope_user, generation) =
        (SELECT channel, room, thread, scope_user, generation + 1 FROM chat_sessions WHERE id = $1)"
);

const CREATE_WORKER: &str = concat!(
    "INSERT INTO chat_sessions (id, channel, room, thread, scope_user, generation, user_id, agent_id,
                                parent_session_id, turn_id, kind, title, locale, model, status, next_seq,
                                created_at, updated_at, background)
    SELECT $1, channel, room, thread, scope_user, generation, user_id, $2, id, $3, 'worker', $4, locale, $5,
           'pending', $6, $7, $7, $9
    FROM chat_sessions WHERE id = $8
    RETURNING ",
    session_columns!()
);

const SET_STATUS: &str = "UPDATE chat_sessions SET status = $2, updated_at = $3 WHERE id = $1";

const RUNNING_WORKERS: &str = concat!(
    "SELECT ",
    session_columns!(),
    " FROM chat_sessions
    WHERE parent_session_id = $1 AND status IN ('pending', 'running') AND background = FALSE
    ORDER BY created_at, id"
);

const BACKGROUND_WORKERS: &str = concat!(
    "SELECT ",
    session_columns!(),
    " FROM chat_sessions
    WHERE kind = 'worker' AND status IN ('pending', 'running') AND background = TRUE
    ORDER BY created_at, id"
);

const WORKERS: &str =
    concat!("SELECT ", session_columns!(), " FROM chat_sessions WHERE parent_session_id = $1 ORDER BY created_at, id");

const BEGIN_WORKER: &str = "
    UPDATE chat_sessions SET status = 'running', attempts = attempts + 1, updated_at = $2
    WHERE id = $1 AND kind = 'worker'
    RETURNING attempts";

const FORGIVE_WORKER: &str = "UPDATE chat_sessions SET attempts = attempts - 1 WHERE id = $1 AND attempts > 0";

const REOPEN_WORKER: &str = "
    UPDATE chat_sessions SET status = 'pending', attempts = 0, background = $2, updated_at = $3
    WHERE id = $1 AND kind = 'worker' AND status NOT IN ('pending', 'running')";

const SET_BACKGROUND: &str = "
    UPDATE chat_sessions SET background = $2 WHERE id = $1 AND kind = 'worker' AND status IN ('pending', 'running')";

const END_WORKER: &str = "
    UPDATE chat_sessions SET status = $2, input_tokens = input_tokens + $3, cached_tokens = cached_tokens + $4,
                             output_tokens = output_tokens + $5, updated_at = $6
    WHERE id = $1 AND kind = 'worker' AND status IN ('pending', 'running')
    RETURNING background, parent_session_id";

const ADD_WORKERS_TOTALS: &str = "
    UPDATE chat_sessions SET input_tokens = input_tokens + $2, cached_tokens = cached_tokens + $3,
                             output_tokens = output_tokens + $4
    WHERE id = $1";

const RESERVE_EVIDENCE: &str =
    "UPDATE chat_sessions SET evidence_seq = evidence_seq + $2 WHERE id = $1 RETURNING evidence_seq";
