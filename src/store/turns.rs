//! Turns after they were opened: what steered them, what they answered, how they ended, and which of them a restart
//! must pick up.

use std::collections::HashMap;

use super::{
    SessionRow, Store, StoreError,
    inbox::{FINISH_TURN, TAKE_POSTGRES, TAKE_SQLITE},
    messages::{NewMessage, RESERVE, count, insert},
    sessions::session_columns,
    sql::{clean, clean_option, id_list, read, row, transaction, words, write},
};

words! {
    pub enum TurnStatus {
        Running = "running",
        Answered = "answered",
        Stopped = "stopped",
        Failed = "failed",
    }
}

row! {
    pub struct TurnRow, turn_columns {
        pub id: String,
        pub session_id: String,
        /// Author of the message that opened it.
        pub asker_id: String,
        pub asker_name: Option<String>,
        pub status: TurnStatus,
        /// 1 from the start, one more each time a process picked it up again.
        pub attempts: i64,
        /// Stored before it is shown.
        pub answer: Option<String>,
        /// False: an answer at a limit, from what was known by then.
        pub answer_complete: Option<bool>,
        pub reason: Option<String>,
        pub model_calls: i64,
        pub tool_calls: i64,
        pub input_tokens: i64,
        pub cached_tokens: i64,
        pub output_tokens: i64,
        /// Opened by a worker's report; its answer is posted once, when it is ready.
        pub follow_up: bool,
        pub opened_at: i64,
        pub closed_at: Option<i64>,
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub model_calls: i64,
    pub tool_calls: i64,
    pub input_tokens: i64,
    pub cached_tokens: i64,
    pub output_tokens: i64,
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.model_calls += other.model_calls;
        self.tool_calls += other.tool_calls;
        self.input_tokens += other.input_tokens;
        self.cached_tokens += other.cached_tokens;
        self.output_tokens += other.output_tokens;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resumed {
    pub attempts: i64,
    /// The lease's epoch for further writes.
    pub epoch: i64,
}

#[derive(Clone, Copy, Debug)]
pub struct Turns<'a>(pub(super) &'a Store);

impl Turns<'_> {
    /// Takes messages said meanwhile into the running turn. Returns the number of the first new message. `LostLease` if
    /// the epoch is not the session's any more or one of the inbox rows was taken already; then nothing happened.
    pub async fn steer(
        &self,
        turn_id: &str,
        session_id: &str,
        epoch: i64,
        inbox_ids: &[String],
        messages: Vec<NewMessage>,
        now_ms: i64,
    ) -> Result<i64, StoreError> {
        let take = self.0.dialect(TAKE_SQLITE, TAKE_POSTGRES);
        let first = transaction!(self.0, |tx| {
            let next: Option<i64> = sqlx::query_scalar(RESERVE)
                .bind(session_id)
                .bind(count(&messages))
                .bind(Some(epoch))
                .bind(now_ms)
                .fetch_optional(&mut *tx)
                .await?;
            let Some(next) = next else { return Err(StoreError::LostLease) };
            let first = next - count(&messages);
            insert!(tx, session_id, turn_id, first, messages, now_ms);
            if !inbox_ids.is_empty() {
                let ids = id_list(inbox_ids);
                let taken = sqlx::query(take).bind(turn_id).bind(ids).execute(&mut *tx).await?.rows_affected();
                if usize::try_from(taken) != Ok(inbox_ids.len()) {
                    return Err(StoreError::LostLease);
                }
            }
            first
        });
        Ok(first)
    }

    /// Keeps the final text before anybody is shown it: a restart then shows it instead of asking the model again.
    pub async fn answer(
        &self,
        turn_id: &str,
        text: &str,
        complete: bool,
        reason: Option<String>,
    ) -> Result<(), StoreError> {
        let changed = write!(self.0, |pool| sqlx::query(ANSWER)
            .bind(turn_id)
            .bind(clean(text))
            .bind(complete)
            .bind(clean_option(reason.as_ref()))
            .execute(pool));
        if changed == 1 { Ok(()) } else { Err(missing(turn_id)) }
    }

    /// Ends the turn and the inbox rows it took, and adds its tokens to the session. Closing a closed turn does nothing.
    pub async fn close(
        &self,
        turn_id: &str,
        status: TurnStatus,
        reason: Option<String>,
        totals: Totals,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        transaction!(self.0, |tx| {
            let session_id: Option<String> = sqlx::query_scalar(CLOSE)
                .bind(turn_id)
                .bind(status.as_str())
                .bind(clean_option(reason.as_ref()))
                .bind(totals.model_calls)
                .bind(totals.tool_calls)
                .bind(totals.input_tokens)
                .bind(totals.cached_tokens)
                .bind(totals.output_tokens)
                .bind(now_ms)
                .fetch_optional(&mut *tx)
                .await?;
            if let Some(session_id) = session_id {
                sqlx::query(ADD_TOTALS)
                    .bind(session_id)
                    .bind(totals.input_tokens)
                    .bind(totals.cached_tokens)
                    .bind(totals.output_tokens)
                    .bind(now_ms)
                    .execute(&mut *tx)
                    .await?;
                sqlx::query(FINISH_TURN).bind(turn_id).execute(&mut *tx).await?;
            }
        });
        Ok(())
    }

    /// Coordinators' turns that nobody closed, oldest first: what a restart must resume or explain.
    pub async fn running(&self) -> Result<Vec<(TurnRow, SessionRow)>, StoreError> {
        let turns: Vec<TurnRow> = read!(self.0, |pool| sqlx::query_as(RUNNING).fetch_all(pool));
        let sessions: Vec<SessionRow> = read!(self.0, |pool| sqlx::query_as(SESSIONS_OF_RUNNING).fetch_all(pool));
        let sessions: HashMap<_, _> = sessions.into_iter().map(|session| (session.id.clone(), session)).collect();
        Ok(turns
            .into_iter()
            .filter_map(|turn| sessions.get(&turn.session_id).cloned().map(|session| (turn, session)))
            .collect())
    }

    /// The turn of a conversation that nobody closed. There is one at most.
    pub async fn open_in(
        &self,
        channel: &str,
        room: &str,
        thread: &str,
    ) -> Result<Option<(TurnRow, SessionRow)>, StoreError> {
        let turn: Option<TurnRow> =
            read!(self.0, |pool| sqlx::query_as(OPEN_IN).bind(channel).bind(room).bind(thread).fetch_optional(pool));
        let Some(turn) = turn else { return Ok(None) };
        let session = self.0.sessions().get(&turn.session_id).await?;
        Ok(session.map(|session| (turn, session)))
    }

    /// Takes over a turn that another run of the program left. Counts the attempt first, so that a turn which brings
    /// the process down is not tried for ever. `LostLease` if it was closed meanwhile.
    pub async fn resume(&self, turn_id: &str, owner: &str, now_ms: i64) -> Result<Resumed, StoreError> {
        let resumed = transaction!(self.0, |tx| {
            let counted: Option<(i64, String)> =
                sqlx::query_as(COUNT_ATTEMPT).bind(turn_id).fetch_optional(&mut *tx).await?;
            let Some((attempts, session_id)) = counted else { return Err(StoreError::LostLease) };
            let epoch: i64 =
                sqlx::query_scalar(TAKE_LEASE).bind(session_id).bind(owner).bind(now_ms).fetch_one(&mut *tx).await?;
            Resumed { attempts, epoch }
        });
        Ok(resumed)
    }

    /// Takes back the count of an attempt that an orderly end cut short.
    pub async fn forgive(&self, turn_id: &str) -> Result<(), StoreError> {
        write!(self.0, |pool| sqlx::query(FORGIVE).bind(turn_id).execute(pool));
        Ok(())
    }

    pub async fn get(&self, turn_id: &str) -> Result<Option<TurnRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(GET).bind(turn_id).fetch_optional(pool)))
    }
}

fn missing(turn_id: &str) -> StoreError {
    StoreError::Broken(format!("there is no turn {turn_id}"))
}

const ANSWER: &str = "UPDATE turns SET answer = $2, answer_complete = $3, reason = COALESCE($4, reason) WHERE id = $1";

const CLOSE: &str = "
    UPDATE turns SET status = $2, reason = COALESCE($3, reason), model_calls = $4, tool_calls = $5, input_tokens = $6,
                     cached_tokens = $7, output_tokens = $8, closed_at = $9
    WHERE id = $1 AND status = 'running'
    RETURNING session_id";

const ADD_TOTALS: &str = "
    UPDATE chat_sessions SET input_tokens = input_tokens + $2, cached_tokens = cached_tokens + $3,
                             output_tokens = output_tokens + $4, status = 'idle', updated_at = $5
    WHERE id = $1";

const RUNNING: &str =
    concat!("SELECT ", turn_columns!(), " FROM turns WHERE status = 'running' ORDER BY opened_at, id");

const SESSIONS_OF_RUNNING: &str = concat!(
    "SELECT ",
    session_columns!(),
    " FROM chat_sessions
    WHERE parent_session_id IS NULL AND id IN (SELECT session_id FROM turns WHERE status = 'running')"
);

const COUNT_ATTEMPT: &str = "
    UPDATE turns SET attempts = attempts + 1 WHERE id = $1 AND status = 'running' RETURNING attempts, session_id";

const TAKE_LEASE: &str = "
    UPDATE chat_sessions SET lease_epoch = lease_epoch + CASE WHEN lease_owner = $2 THEN 0 ELSE 1 END,
                             lease_owner = $2, updated_at = $3
    WHERE id = $1
    RETURNING lease_epoch";

const GET: &str = concat!("SELECT ", turn_columns!(), " FROM turns WHERE id = $1");

const OPEN_IN: &str = concat!(
    "SELECT ",
    turn_columns!(),
    " FROM turns
    WHERE status = 'running' AND session_id IN
        (SELECT id FROM chat_sessions
         WHERE channel = $1 AND room = $2 AND thread = $3 AND parent_session_id IS NULL)
    ORDER BY opened_at, id LIMIT 1"
);

const FORGIVE: &str = "UPDATE turns SET attempts = attempts - 1 WHERE id = $1 AND status = 'running' AND attempts > 0";
