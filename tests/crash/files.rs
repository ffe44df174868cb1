//! Killed while a file is read or a long answer goes up: nothing is fetched or posted twice.

use watchfloor_sim::{
    model::Rule,
    slack::{Fault, SimFile},
};

use crate::{
    bench::{Bench, NEVER, OPS, until},
    parts::{long, numbers},
};

const ANSWER: &str = "The pool is exhausted.";

fn log() -> SimFile {
    SimFile::text("checkout.log", "10:02 pool exhausted\n")
}

#[tokio::test]
async fn a_file_that_was_read_is_not_fetched_again() {
    let mut bench = Bench::started(vec![Rule::reply(ANSWER)]).await;
    bench.model.hold();
    let thread = bench.ask_with("why?", log()).await;
    bench.model.wait_for_open_streams(1).await;
    bench.kill().await;
    bench.model.wait_for_open_streams(0).await;
    bench.model.release();
    bench.start().await;
    bench.answered(&thread, &[ANSWER]).await;
    assert_eq!(bench.slack.downloads().len(), 1);
    let asked = bench.model.requests().pop().unwrap()["messages"].to_string();
    assert_eq!(asked.matches("pool exhausted").count(), 1, "{asked}");
    bench.stop().await;
}

#[tokio::test]
async fn a_file_that_was_being_fetched_is_fetched_after_the_restart() {
    let mut bench = Bench::started(vec![Rule::reply(ANSWER)]).await;
    bench.database.refuse("INSERT ON chat_messages WHEN NEW.kind = 'file'").await;
    let thread = bench.ask_with("why?", log()).await;
    bench.slack.wait_for_downloads(1).await;
    bench.kill().await;
    bench.database.refuse_nothing().await;
    bench.start().await;
    bench.answered(&thread, &[ANSWER]).await;
    let asked = bench.model.requests().pop().unwrap()["messages"].to_string();
    assert_eq!(asked.matches("pool exhausted").count(), 1, "{asked}");
    bench.stop().await;
}

/// Enough for more than five messages.
const PARAGRAPHS: usize = 80;

async fn uploading(method: &str, fault: Fault) -> (Bench, String) {
    let mut bench = Bench::started(vec![Rule::reply(long(PARAGRAPHS))]).await;
    bench.slack.fault(method, fault);
    let thread = bench.ask("why?").await;
    bench.slack.wait_for_calls(method, 1).await;
    (bench, thread)
}

async fn whole(bench: &mut Bench, thread: &str) {
    bench.at_rest().await;
    let texts = bench.texts(thread);
    assert_eq!((texts.len(), bench.requests(), bench.calls("chat.postMessage")), (2, 1, 1), "{texts:#?}");
    let [file] = &bench.slack.uploads()[..] else { panic!("{:?}", bench.slack.uploads()) };
    let content = String::from_utf8(file.content.to_vec()).unwrap();
    assert_eq!(numbers(&[content]), (1..=PARAGRAPHS).collect::<Vec<_>>());
    bench.nothing_odd();
}

#[tokio::test]
async fn an_upload_that_did_not_happen_happens_after_the_restart() {
    for method in ["files.getUploadURLExternal", "files.completeUploadExternal"] {
        let (mut bench, thread) = uploading(method, Fault::DelayBefore(NEVER)).await;
        bench.kill_and_start().await;
        whole(&mut bench, &thread).await;
        bench.stop().await;
    }
}

#[tokio::test]
async fn an_upload_that_was_not_written_down_is_found_and_not_repeated() {
    let (mut bench, thread) = uploading("files.completeUploadExternal", Fault::DelayAfter(NEVER)).await;
    let slack = bench.slack.clone();
    until("the upload", async || slack.uploads().len() == 1).await;
    bench.kill_and_start().await;
    whole(&mut bench, &thread).await;
    assert_eq!(bench.calls("files.completeUploadExternal"), 1);
    bench.stop().await;
}

#[tokio::test]
async fn a_file_that_stands_there_is_left_when_the_beginning_does_not() {
    let mut bench = Bench::started(vec![Rule::reply(long(PARAGRAPHS))]).await;
    bench.model.hold();
    let thread = bench.ask("why?").await;
    bench.slack.next_message(OPS).await;
    bench.slack.fault("chat.update", Fault::DelayBefore(NEVER));
    bench.model.release();
    bench.slack.wait_for_calls("chat.update", 1).await;
    bench.kill_and_start().await;
    whole(&mut bench, &thread).await;
    bench.stop().await;
}
