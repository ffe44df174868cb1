//! Tool calls of a transcript, written before they run: a restart finds the ones that never ended.

use super::{
    Store, StoreError,
    sql::{clean, read, row, transaction, write},
};

#[derive(Clone, Debug, PartialEq)]
pub struct NewCall {
    pub id: String,
    pub session_id: String,
    pub turn_id: String,
    /// The model's name for it, unique only within its step.
    pub call_id: String,
    pub tool: String,
    pub class: String,
    pub arguments: String,
    pub headline: String,
    pub started_at: i64,
}

row! {
    pub struct CallRow, call_columns {
        pub id: String,
        pub session_id: String,
        pub turn_id: String,
        pub call_id: String,
        pub tool: String,
        pub class: String,
        pub arguments: String,
        pub headline: String,
        /// `running`, then the word its end was given.
        pub state: String,
        pub found: Option<String>,
        pub evidence: Option<String>,
        pub started_at: i64,
        pub ended_at: Option<i64>,
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Calls<'a>(pub(super) &'a Store);

impl Calls<'_> {
    /// The calls of one step, all or none.
    pub async fn start(&self, calls: &[NewCall]) -> Result<(), StoreError> {
        if calls.is_empty() {
            return Ok(());
        }
        transaction!(self.0, |tx| {
            for call in calls {
                sqlx::query(START)
                    .bind(&call.id)
                    .bind(&call.session_id)
                    .bind(&call.turn_id)
                    .bind(&call.call_id)
                    .bind(&call.tool)
                    .bind(&call.class)
                    .bind(clean(&call.arguments))
                    .bind(clean(&call.headline))
                    .bind(call.started_at)
                    .execute(&mut *tx)
                    .await?;
            }
        });
        Ok(())
    }

    /// `id` is the row's, not the model's.
    pub async fn finish(
        &self,
        id: &str,
        state: &str,
        found: Option<&str>,
        evidence: Option<&str>,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let changed = write!(self.0, |pool| sqlx::query(FINISH)
            .bind(id)
            .bind(state)
            .bind(found)
            .bind(evidence)
            .bind(now_ms)
            .execute(pool));
        if changed == 1 { Ok(()) } else { Err(StoreError::Broken(format!("there is no call {id}"))) }
    }

    /// In the order they were started.
    pub async fn unfinished(&self, session_id: &str) -> Result<Vec<CallRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(UNFINISHED).bind(session_id).fetch_all(pool)))
    }

    /// Evidence ids of a coordinator's session and its workers, each with the headline of its call.
    pub async fn evidence(&self, session_id: &str) -> Result<Vec<(String, String)>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(EVIDENCE).bind(session_id).fetch_all(pool)))
    }

    /// In the order they were started.
    pub async fn of_session(&self, session_id: &str) -> Result<Vec<CallRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(OF_SESSION).bind(session_id).fetch_all(pool)))
    }

    pub async fn get(&self, id: &str) -> Result<Option<CallRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(GET).bind(id).fetch_optional(pool)))
    }
}

const START: &str = "
    INSERT INTO chat_tool_calls (id, session_id, turn_id, call_id, tool, class, arguments, headline, state, started_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'running', $9)";

const FINISH: &str = "UPDATE chat_tool_calls SET state = $2, found = $3, evidence = $4, ended_at = $5 WHERE id = $1";

const UNFINISHED: &str = concat!(
    "SELECT ",
    call_columns!(),
    " FROM chat_tool_calls WHERE session_id = $1 AND ended_at IS NULL ORDER BY started_at, id"
);

const OF_SESSION: &str =
    concat!("SELECT ", call_columns!(), " FROM chat_tool_calls WHERE session_id = $1 ORDER BY started_at, id");

const GET: &str = concat!("SELECT ", call_columns!(), " FROM chat_tool_calls WHERE id = $1");

const EVIDENCE: &str = "
    SELECT evidence, headline FROM chat_tool_calls
    WHERE evidence IS NOT NULL
      AND session_id IN (SELECT id FROM chat_sessions WHERE id = $1 OR parent_session_id = $1)
    ORDER BY started_at, id";
