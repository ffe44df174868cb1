//! The same on PostgreSQL: one story that crosses every table.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use watchfloor_sim::{model::Rule, slack::Fault};

use crate::{
    bench::{Bench, NEVER, OPS},
    database::Database,
};

const POSTGRES: &str = "WATCHFLOOR_TEST_POSTGRES_URL";
const ANSWER: &str = "The pool is full.";

#[tokio::test]
async fn postgres_too_resumes_a_turn_and_shows_a_stored_answer() {
    let server = std::env::var(POSTGRES).unwrap_or_else(|_| panic!("set {POSTGRES} (scripts/test does)"));
    let schema = format!("t_{}", uuid::Uuid::new_v4().simple());
    let mut connection = PgConnection::connect(&server).await.unwrap();
    connection.execute(AssertSqlSafe(format!("CREATE SCHEMA {schema}"))).await.unwrap();
    let separator = if server.contains('?') { '&' } else { '?' };
    let url = format!("{server}{separator}options[search_path]={schema}");
    let mut bench = Bench::prepared(&url, "", vec![Rule::reply(ANSWER)]).await;
    bench.start().await;
    bench.slack.connected(1).await;
    bench.database = Database::Postgres(PgConnection::connect(&url).await.unwrap());

    bench.slack.fault("chat.postMessage", Fault::DelayAfter(NEVER));
    bench.model.hold();
    let thread = bench.ask("why?").await;
    bench.slack.next_message(OPS).await;
    bench.model.wait_for_open_streams(1).await;
    bench.kill_and_start().await;
    bench.model.wait_for_open_streams(1).await;
    bench.slack.fault("chat.update", Fault::DelayBefore(NEVER));
    bench.model.release();
    bench.slack.wait_for_calls("chat.update", 1).await;
    bench.kill_and_start().await;
    bench.answered(&thread, &[ANSWER]).await;
    assert_eq!((bench.requests(), bench.calls("chat.postMessage")), (2, 1));

    bench.stop().await;
    connection.execute(AssertSqlSafe(format!("DROP SCHEMA {schema} CASCADE"))).await.unwrap();
    connection.close().await.unwrap();
}
