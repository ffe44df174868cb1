//! What a store holds, counted: for drills, benchmarks and people who ask.

use super::{Store, StoreError, sql::read};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub turns: i64,
    pub open_turns: i64,
    /// Messages that were taken (a stop is one), and those of them that no turn has taken yet.
    pub messages: i64,
    pub waiting: i64,
    /// Answers of the model, workers' ones included.
    pub answers: i64,
    pub input_tokens: i64,
    pub cached_tokens: i64,
    pub output_tokens: i64,
    /// The tool of each call that ran, in order.
    pub calls: Vec<String>,
    /// The persona of each worker, in order.
    pub workers: Vec<String>,
}

impl Store {
    pub async fn tally(&self) -> Result<Tally, StoreError> {
        type Counts = (i64, i64, i64, i64, i64, i64, i64, i64);
        let counts: Counts = read!(self, |pool| sqlx::query_as(COUNTS).fetch_one(pool));
        let (turns, open_turns, messages, waiting, answers, input_tokens, cached_tokens, output_tokens) = counts;
        let calls: Vec<(String,)> = read!(self, |pool| sqlx::query_as(CALLS).fetch_all(pool));
        let workers: Vec<(String,)> = read!(self, |pool| sqlx::query_as(WORKERS).fetch_all(pool));
        let words = |rows: Vec<(String,)>| rows.into_iter().map(|(word,)| word).collect();
        Ok(Tally {
            turns,
            open_turns,
            messages,
            waiting,
            answers,
            input_tokens,
            cached_tokens,
            output_tokens,
            calls: words(calls),
            workers: words(workers),
        })
    }
}

const COUNTS: &str = "
    SELECT (SELECT COUNT(*) FROM turns),
           (SELECT COUNT(*) FROM turns WHERE status = 'running'),
           (SELECT COUNT(*) FROM inbox WHERE kind IN ('message', 'stop')),
           (SELECT COUNT(*) FROM inbox WHERE kind IN ('message', 'stop') AND state = 'pending'),
           (SELECT COUNT(*) FROM chat_messages WHERE kind = 'assistant'),
           (SELECT CAST(COALESCE(SUM(input_tokens), 0) AS BIGINT) FROM turns),
           (SELECT CAST(COALESCE(SUM(cached_tokens), 0) AS BIGINT) FROM turns),
           (SELECT CAST(COALESCE(SUM(output_tokens), 0) AS BIGINT) FROM turns)";

const CALLS: &str = "SELECT tool FROM chat_tool_calls ORDER BY started_at, id";

const WORKERS: &str = "SELECT agent_id FROM chat_sessions WHERE kind = 'worker' ORDER BY created_at, id";
