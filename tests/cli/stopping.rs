//! From the first signal to the exit code.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use watchfloor_sim::slack::{APP_TOKEN, BOT_TOKEN, SlackSim};

use crate::{
    channels::{channel, workspace},
    process::{Serving, Watchfloor},
};

#[tokio::test]
async fn a_first_signal_ends_it_in_order() {
    for signal in ["TERM", "INT"] {
        let slack = workspace().await;
        let mut serving = Watchfloor::new().file(&channel(&slack, "ops", APP_TOKEN, BOT_TOKEN)).serve().await;
        serving.line("ops: connected").await;
        serving.signal(signal).await;
        assert_eq!(serving.ended().await, Some(0), "{signal}");
        serving.log("stopped").await;
        // That a channel closes with it is no news.
        assert_eq!(
            serving.told().last().map(String::as_str),
            Some("ops: connected: everybody in C0OPS; private chats: nobody (allow_from is empty)")
        );
    }
}

#[tokio::test]
async fn a_client_that_never_finishes_its_request_does_not_keep_it() {
    let mut serving = Watchfloor::new().env("WATCHFLOOR_HOOKS__CHANGES_TOKEN", "t").serve().await;
    let mut client = TcpStream::connect(serving.address()).await.unwrap();
    let head = "POST /api/v1/hooks/changes HTTP/1.1\r\nhost: x\r\nauthorization: Bearer t\r\ncontent-length: 100\r\n\
                expect: 100-continue\r\n\r\n";
    client.write_all(head.as_bytes()).await.unwrap();
    // The server asks for the body, so it is waiting for it now.
    let mut answer = [0; 12];
    client.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100");
    serving.signal("TERM").await;
    assert_eq!(serving.ended().await, Some(0));
    serving.log("left behind").await;
}

/// A Slack, a bot that is in the middle of a turn there, and the connection on which it waits for its model.
async fn in_the_middle_of_a_turn() -> (SlackSim, Serving, TcpStream) {
    let model = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let slack = workspace().await;
    let file = format!(
        "models.default = \"local/m\"\n[models.providers.local]\nbase_url = \"http://{}/v1\"\n{}",
        model.local_addr().unwrap(),
        channel(&slack, "ops", APP_TOKEN, BOT_TOKEN)
    );
    let mut serving = Watchfloor::new().file(&file).serve().await;
    serving.line("ops: connected").await;
    slack.say("U0MAYA", "C0OPS", &format!("{} are you there?", slack.bot_mention())).await;
    let (question, _) = model.accept().await.unwrap();
    (slack, serving, question)
}

#[tokio::test]
async fn a_running_turn_still_answers_after_the_first_signal() {
    let (slack, mut serving, mut question) = in_the_middle_of_a_turn().await;
    serving.signal("TERM").await;
    serving.log("stopping: ").await;
    question.write_all(ANSWER.as_bytes()).await.unwrap();
    // Read to its end, or closing would break the answer off.
    question.shutdown().await.unwrap();
    question.read_to_end(&mut Vec::new()).await.unwrap();
    assert_eq!(serving.ended().await, Some(0), "{}", serving.everything());
    let message = slack.next_message("C0OPS").await;
    let message = slack.message(&message.ts);
    let text = message.text();
    assert!(text.contains("Here I am."), "{text}");
}

const ANSWER: &str = concat!(
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
    "data: {\"choices\": [{\"index\": 0, \"delta\": {\"role\": \"assistant\", \"content\": \"Here I am.\"}}]}\n\n",
    "data: {\"choices\": [{\"index\": 0, \"delta\": {}, \"finish_reason\": \"stop\"}]}\n\n",
    "data: [DONE]\n\n",
);

#[tokio::test]
async fn a_second_signal_ends_it_at_once_in_the_middle_of_a_turn() {
    let (_slack, mut serving, _question) = in_the_middle_of_a_turn().await;
    serving.signal("TERM").await;
    serving.log("stopping: ").await;
    // The turn gets its time: it is still there, and answers.
    serving.ready().await;
    serving.signal("TERM").await;
    assert_eq!(serving.ended().await, Some(1));
    serving.log("ended at once").await;
}
