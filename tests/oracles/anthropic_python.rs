//! Anthropic's Python SDK as judge of the simulated model endpoint.

use serde_json::json;
use watchfloor_sim::{
    ModelSim,
    model::{API_KEY, ModelFault, Rule},
};

use crate::judge::{Judge, agree};

#[tokio::test]
async fn the_anthropic_client_understands_every_answer_and_every_failure() {
    let two = Rule::calls([("query", json!({"text": "a"})), ("query", json!({"text": "b \"quoted\" ✓"}))]);
    let status = |status, retry_after| Rule::fault(ModelFault::Status { status, retry_after });
    let model = ModelSim::start(vec![
        Rule::reply("All is well.").when_last_user_contains("whole").usage(100, 5, 40),
        Rule::reply("The pool is full, and the queue grows.").when_last_user_contains("stream").usage(100, 9, 0),
        Rule::reply("Done.").when_tool_result_contains("result 1"),
        two.with_text("Two questions.").thinking("I need both.").when_last_user_contains("call"),
        status(429, Some(1)).when_last_user_contains("busy once").once(),
        Rule::reply("Here I am.").when_last_user_contains("busy once"),
        status(429, Some(1)).when_last_user_contains("busy"),
        status(529, None).when_last_user_contains("overloaded"),
        status(500, None).when_last_user_contains("broken"),
        Rule::reply("Never heard.")
            .but(ModelFault::ErrorEvent("overloaded_error".to_owned()))
            .when_last_user_contains("trouble"),
        Rule::reply("A longer text that is cut somewhere in its middle.")
            .but(ModelFault::CutAfterBytes(700))
            .when_last_user_contains("cut"),
    ])
    .await
    .unwrap();
    let base_url = model.anthropic_base_url();
    let env = [("BASE_URL", base_url.as_str()), ("API_KEY", API_KEY)];
    let reports = Judge::python("anthropic_messages.py", &env).reports().await;
    let failed = |step: &str, error: &str, status: u16, kind: &str| json!({"step": step, "error": error, "status": status, "type": kind, "request": "req_sim"});
    let wanted = [
        json!({"step": "whole", "content": ["All is well."], "stop": "end_turn", "usage": [60, 40, 5]}),
        json!({"step": "stream", "content": ["The pool is full, and the queue grows."], "stop": "end_turn",
            "usage": [100, 0, 9], "first": "message_start", "last": "message_stop"}),
        json!({"step": "calls", "stop": "tool_use", "content": [["I need both.", true], "Two questions.",
            ["query", {"text": "a"}], ["query", {"text": "b \"quoted\" ✓"}]]}),
        json!({"step": "results", "content": ["Done."]}),
        failed("a forged thought", "BadRequestError", 400, "invalid_request_error"),
        json!({"step": "repeated", "content": ["Here I am."]}),
        failed("a wrong key", "AuthenticationError", 401, "authentication_error"),
        failed("busy", "RateLimitError", 429, "rate_limit_error"),
        failed("overloaded", "OverloadedError", 529, "overloaded_error"),
        failed("broken", "InternalServerError", 500, "api_error"),
        failed("orphan", "BadRequestError", 400, "invalid_request_error"),
        failed("no end", "BadRequestError", 400, "invalid_request_error"),
        failed("an error in the stream", "APIStatusError", 200, "overloaded_error"),
        json!({"step": "cut off", "error": "RemoteProtocolError"}),
    ];
    agree(&reports, &wanted);
}
