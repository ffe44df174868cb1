//! Slack's Python SDK as judge of files in the simulated workspace.

use serde_json::json;
use watchfloor_sim::slack::{BOT_TOKEN, SimFile};

use crate::{
    judge::{Judge, agree},
    slack_python::{ALICE, ROOM, workspace},
};

#[tokio::test]
async fn the_python_web_client_fetches_what_was_attached_and_uploads_its_own() {
    let slack = workspace().await;
    let log = "12:00 pool is full ✓\n";
    let thread = slack.share(ALICE, ROOM, None, "look at this", [SimFile::text("pool.log", log)]).await;
    let api_url = slack.api_url();
    let env = [("API_URL", api_url.as_str()), ("TOKEN", BOT_TOKEN), ("ROOM", ROOM), ("THREAD", &thread)];
    let reports = Judge::python("slack_files.py", &env).reports().await;
    let wanted = [
        json!({"step": "files.info", "name": "pool.log", "type": "text/plain", "size": log.len(), "same": true}),
        json!({"step": "fetched", "kind": "text/plain", "content": log}),
        json!({"step": "fetched without the token", "kind": "text/html", "page": true}),
        json!({"step": "uploaded", "title": "The answer"}),
        json!({"step": "seen", "text": "It was long.", "files": ["answer.md"]}),
        json!({"step": "no such file", "error": "file_not_found"}),
    ];
    agree(&reports, &wanted);
    let uploaded: Vec<_> = slack.uploads().into_iter().map(|file| (file.name, file.title, file.content)).collect();
    assert_eq!(uploaded, [("answer.md".to_owned(), "The answer".to_owned(), "# All of it ✓\n".into())]);
}
