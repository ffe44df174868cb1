//! OpenAI's Python SDK as judge of the simulated model endpoint.

use serde_json::json;
use watchfloor_sim::{
    ModelSim,
    model::{API_KEY, ModelFault, Rule},
};

use crate::judge::{Judge, agree};

#[tokio::test]
async fn the_openai_client_understands_every_answer_and_every_failure() {
    let two = Rule::calls([("query", json!({"text": "a"})), ("query", json!({"text": "b \"quoted\" ✓"}))]);
    let model = ModelSim::start(vec![
        Rule::reply("All is well.").when_last_user_contains("whole").usage(100, 5, 40),
        Rule::reply("The pool is full, and the queue grows.").when_last_user_contains("stream").usage(100, 9, 0),
        Rule::reply("Done.").when_tool_result_contains("result 1"),
        two.when_last_user_contains("call"),
        Rule::fault(ModelFault::Status { status: 429, retry_after: Some(1) })
            .when_last_user_contains("busy once")
            .once(),
        Rule::reply("Here I am.").when_last_user_contains("busy once"),
        Rule::fault(ModelFault::Status { status: 429, retry_after: Some(1) }).when_last_user_contains("busy"),
        Rule::fault(ModelFault::Status { status: 503, retry_after: None }).when_last_user_contains("broken"),
        Rule::reply("Never heard.")
            .but(ModelFault::ErrorEvent("server_error".to_owned()))
            .when_last_user_contains("trouble"),
        Rule::reply("A longer text that is cut somewhere in its middle.")
            .but(ModelFault::CutAfterBytes(700))
            .when_last_user_contains("cut"),
    ])
    .await
    .unwrap();
    let base_url = model.base_url();
    let env = [("BASE_URL", base_url.as_str()), ("API_KEY", API_KEY)];
    let reports = Judge::python("openai_chat.py", &env).reports().await;
    let failed = |step: &str, error: &str, status: u16, code: Option<&str>| json!({"step": step, "error": error, "status": status, "code": code});
    let wanted = [
        json!({"step": "whole", "text": "All is well.", "finish": "stop", "usage": [100, 5, 105, 40]}),
        json!({"step": "stream", "role": "assistant", "finish": "stop", "text": "The pool is full, and the queue grows.",
            "usage": [100, 9, 109, 0], "several": true, "ids": 1}),
        json!({"step": "calls", "finish": "tool_calls", "text": null,
            "calls": [["query", {"text": "a"}], ["query", {"text": "b \"quoted\" ✓"}]]}),
        json!({"step": "results", "text": "Done."}),
        json!({"step": "repeated", "text": "Here I am."}),
        failed("a wrong key", "AuthenticationError", 401, Some("invalid_api_key")),
        failed("busy", "RateLimitError", 429, Some("rate_limit_exceeded")),
        failed("broken", "InternalServerError", 503, Some("server_error")),
        failed("orphan", "BadRequestError", 400, None),
        json!({"step": "an error in the stream", "error": "APIError"}),
        json!({"step": "cut off", "error": "APIConnectionError"}),
        json!({"step": "models", "ids": ["sim"]}),
    ];
    agree(&reports, &wanted);
}
