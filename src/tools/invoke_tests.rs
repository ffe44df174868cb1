use std::sync::Mutex;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::{
    clock::FixedClock,
    tools::{
        Cut, Elsewhere, ReadResult, Role, Tool, redirects,
        testing::{NOW, context, store},
    },
};

/// Does what its argument says.
struct Puppet {
    begun: Mutex<Option<tokio::sync::oneshot::Sender<()>>>,
    limit: Duration,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Act {
    act: String,
}

impl Tool for Puppet {
    const NAME: &'static str = "query_puppet";
    const LOWEST: Class = Class::Read;
    type Args = Act;

    fn description(&self) -> String {
        "A puppet.".into()
    }

    fn class(&self, args: &Act) -> Class {
        if args.act.starts_with("write") { Class::Write } else { Class::Read }
    }

    fn headline(&self, args: &Act) -> String {
        assert_ne!(args.act, "panic early", "told to");
        format!("query_puppet: {}", args.act)
    }

    fn timeout(&self) -> Duration {
        self.limit
    }

    async fn call(&self, args: Act, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let found = |found, text: &str| Ok(ToolOutput { text: text.to_owned(), found });
        match args.act.as_str() {
            "hang" | "write and hang" => {
                if let Some(begun) = self.begun.lock().unwrap().take() {
                    let _ = begun.send(());
                }
                std::future::pending().await
            }
            "panic" => panic!("told to"),
            "mistake" => Err(ToolError::TellModel("1:5: parse error </result>".into())),
            "break" => Err(ToolError::Broken("no disk".into())),
            "nothing" => found(Found::Nothing, "no data"),
            "down" => found(Found::SourceDown, "source down: Puppet"),
            "secret" => found(Found::Something, "password=hunter2\0 job=\"x\""),
            "long" => found(Found::Something, &(0..400).map(|i| format!("line {i} é\n")).collect::<String>()),
            other => found(Found::Something, other),
        }
    }
}

struct Stage {
    invoker: Invoker,
    toolbox: Toolbox,
    context: ToolContext,
    begun: Option<tokio::sync::oneshot::Receiver<()>>,
}

async fn stage() -> Stage {
    stage_with(Duration::from_secs(30)).await
}

async fn stage_with(limit: Duration) -> Stage {
    let (sender, begun) = tokio::sync::oneshot::channel();
    let store = store().await;
    let cap = 1000;
    let all: Vec<SharedTool> = vec![
        Arc::new(Puppet { begun: Mutex::new(Some(sender)), limit }),
        Arc::new(ReadResult::new(store.clone(), cap)),
    ];
    let invoker = Invoker {
        store,
        clock: FixedClock::at(NOW),
        cap,
        policy: Policy::read_only(),
        asker: "U1".into(),
        persona: "default".into(),
    };
    let cut = Cut { role: Role::Operator, tools: None, disallowed_tools: &[], mode: &[Class::Read] };
    let toolbox = Toolbox::select(&all, &cut);
    Stage { invoker, toolbox, context: context(), begun: Some(begun) }
}

impl Stage {
    async fn call(&self, name: &str, arguments: serde_json::Value, evidence: Option<u32>) -> Invoked {
        let call = ToolCall { id: "c1".into(), name: name.into(), arguments: arguments.to_string() };
        invoke(&self.invoker, &call, &self.toolbox, &self.context, evidence, &|_| {}).await
    }

    async fn act(&self, act: &str) -> Invoked {
        self.call("query_puppet", json!({ "act": act }), Some(3)).await
    }

    async fn outcomes(&self) -> Vec<(String, String, String)> {
        let rows = self.invoker.store.audit().list("s1").await.unwrap();
        rows.into_iter().map(|row| (row.tool, row.decision, row.outcome)).collect()
    }

    async fn left_running(&self) -> usize {
        self.invoker.store.calls().unfinished("s1").await.unwrap().len()
    }
}

fn body(invoked: &Invoked) -> &str {
    let start = invoked.text.find('\n').unwrap() + 1;
    &invoked.text[start..invoked.text.len() - "\n</result>".len()]
}

#[tokio::test]
async fn an_answer_carries_its_number_and_is_stored() {
    let stage = stage().await;
    for (number, act, found) in
        [(1, "hello", Found::Something), (2, "nothing", Found::Nothing), (3, "down", Found::SourceDown)]
    {
        let invoked = stage.call("query_puppet", json!({ "act": act }), Some(number)).await;
        let text = match act {
            "nothing" => "no data",
            "down" => "source down: Puppet",
            other => other,
        };
        let word = found.word();
        assert_eq!(
            invoked,
            Invoked {
                text: format!(
                    "[E{number}] <result tool=\"query_puppet\" evidence=\"E{number}\" found=\"{word}\">\n{text}\n</result>"
                ),
                found: Some(found),
                headline: format!("query_puppet: {act}"),
                evidence: Some(format!("E{number}")),
                state: CallState::Answered,
                duration_ms: 0,
            }
        );
        let kept = stage.invoker.store.artifacts().by_evidence("s1", &format!("E{number}")).await.unwrap().unwrap();
        assert_eq!(kept.content, text);
    }
    assert_eq!(stage.left_running().await, 0);
    let audit = stage.invoker.store.audit().list("s1").await.unwrap();
    let last = audit.last().unwrap();
    assert_eq!(
        (
            last.asker.as_str(),
            last.persona.as_str(),
            last.class.as_str(),
            last.arguments.as_str(),
            last.evidence.as_deref()
        ),
        ("U1", "default", "read", r#"{"act":"down"}"#, Some("E3"))
    );
}

#[tokio::test]
async fn every_call_that_has_no_answer_gets_one_text_and_one_audit_line() {
    let stage = stage().await;
    for (name, arguments, state, part) in [
        (
            "query_pupet",
            json!({}),
            CallState::Unknown,
            "there is no tool \"query_pupet\". Nearest: query_puppet. Call one of these.",
        ),
        ("zzz", json!({}), CallState::Unknown, "Call one of these: query_puppet, read_result."),
        ("query_puppet", json!({"do": 1}), CallState::Mistaken, "were not understood: unknown field `do`"),
        (
            "query_puppet",
            json!({"act": "write"}),
            CallState::Refused,
            "not run: this call of query_puppet changes something",
        ),
        ("query_puppet", json!({"act": "mistake"}), CallState::Mistaken, "1:5: parse error &lt;/result>"),
        ("query_puppet", json!({"act": "break"}), CallState::Broken, "query_puppet failed: no disk."),
        ("query_puppet", json!({"act": "panic"}), CallState::Broken, "query_puppet failed: it panicked."),
        ("query_puppet", json!({"act": "panic early"}), CallState::Broken, "query_puppet failed: it panicked."),
    ] {
        let invoked = stage.call(name, arguments.clone(), Some(3)).await;
        assert_eq!((invoked.state, invoked.found, &invoked.evidence), (state, None, &None), "{arguments}");
        assert!(invoked.text.contains(part), "{}", invoked.text);
        assert!(
            invoked.text.starts_with(&format!("<result tool=\"{name}\" state=\"{}\">", state.word())),
            "{}",
            invoked.text
        );
    }
    assert_eq!(stage.left_running().await, 0);
    let expected = [
        ("query_pupet", "none", "unknown"),
        ("zzz", "none", "unknown"),
        ("query_puppet", "none", "mistaken"),
        ("query_puppet", "refused", "refused"),
        ("query_puppet", "allowed", "mistaken"),
        ("query_puppet", "allowed", "broken"),
        ("query_puppet", "allowed", "broken"),
        ("query_puppet", "none", "broken"),
    ];
    let expected: Vec<_> = expected.iter().map(|(a, b, c)| (a.to_string(), b.to_string(), c.to_string())).collect();
    let mut outcomes = stage.outcomes().await;
    let mut expected = expected;
    // All of them at the same millisecond.
    outcomes.sort();
    expected.sort();
    assert_eq!(outcomes, expected);
    assert!(stage.invoker.store.artifacts().by_evidence("s1", "E3").await.unwrap().is_none());
}

#[tokio::test]
async fn arguments_that_are_no_json_are_told() {
    let stage = stage().await;
    let call = ToolCall { id: "c1".into(), name: "query_puppet".into(), arguments: "{\"act\": ".into() };
    let invoked = invoke(&stage.invoker, &call, &stage.toolbox, &stage.context, None, &|_| {}).await;
    assert_eq!(
        (invoked.state, invoked.headline.as_str()),
        (CallState::Mistaken, "query_puppet: arguments not understood")
    );
    assert!(invoked.text.contains("Expected a JSON object: {\"act\": string, required}"), "{}", invoked.text);
}

#[tokio::test]
async fn a_call_over_its_time_is_source_down_and_names_the_limit() {
    let stage = stage_with(Duration::from_millis(20)).await;
    let invoked = stage.act("hang").await;
    assert_eq!((invoked.state, invoked.found), (CallState::TimedOut, Some(Found::SourceDown)));
    assert!(
        body(&invoked).starts_with("source down: query_puppet gave no answer within 20 ms, the limit"),
        "{}",
        invoked.text
    );
}

#[tokio::test]
async fn a_stop_ends_a_running_call_at_once() {
    let mut stage = stage().await;
    let begun = stage.begun.take().unwrap();
    let stop = async {
        begun.await.unwrap();
        stage.context.cancel.cancel();
    };
    let (invoked, ()) = futures::join!(stage.act("hang"), stop);
    assert_eq!((invoked.state, invoked.found, &invoked.evidence), (CallState::Stopped, None, &None));
    assert!(body(&invoked).starts_with("stopped by the user"), "{}", invoked.text);
    assert_eq!(stage.left_running().await, 0);
    let later = stage.act("hello").await;
    assert_eq!((later.state, body(&later)), (CallState::Stopped, "stopped by the user before it began"));
    assert_eq!(stage.outcomes().await.len(), 2);
}

#[tokio::test]
async fn secrets_are_gone_before_anything_is_stored() {
    let stage = stage().await;
    let invoked = stage.act("secret").await;
    assert_eq!(body(&invoked), "password=[redacted] job=\"x\"");
    let kept = stage.invoker.store.artifacts().by_evidence("s1", "E3").await.unwrap().unwrap();
    assert_eq!(kept.content, "password=[redacted] job=\"x\"");
    let said = stage.call("query_puppet", json!({"act": "token=canary"}), None).await;
    assert_eq!(said.headline, "query_puppet: token=[redacted]");
    for row in stage.invoker.store.audit().list("s1").await.unwrap() {
        assert!(!format!("{row:?}").contains("hunter2") && !format!("{row:?}").contains("canary"), "{row:?}");
    }
}

#[tokio::test]
async fn a_long_result_is_cut_and_its_pages_give_the_whole() {
    let stage = stage().await;
    let invoked = stage.act("long").await;
    let whole: String = (0..400).map(|i| format!("line {i} é\n")).collect();
    let shown = body(&invoked);
    assert!(shown.chars().count() <= stage.invoker.cap, "{}", shown.chars().count());
    let total = whole.chars().count();
    let notice = format!("… cut: 800 of {total} characters shown; read_result(id=\"E3\", offset=600) gives the rest …");
    let (head, tail) = shown.split_once(&format!("\n{notice}\n")).unwrap();
    assert!(whole.starts_with(head) && whole.ends_with(tail));

    let mut read = head.to_owned();
    loop {
        let offset = read.chars().count();
        let page = stage.call("read_result", json!({"id": "E3", "offset": offset}), None).await;
        assert_eq!((page.state, &page.evidence), (CallState::Answered, &None));
        let (heading, text) = body(&page).split_once('\n').unwrap();
        read.push_str(text);
        if heading.ends_with("this is the end") {
            break;
        }
    }
    assert_eq!(read, whole);
}

#[tokio::test]
async fn a_long_result_without_a_number_can_be_read_by_its_own_id() {
    let stage = stage().await;
    let invoked = stage.call("query_puppet", json!({"act": "long"}), None).await;
    assert_eq!(invoked.evidence, None);
    let id = body(&invoked).split("read_result(id=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let page = stage.call("read_result", json!({"id": id, "offset": 600}), None).await;
    assert!(body(&page).contains(", characters 600 to 1300 of "), "{}", page.text);
}

#[tokio::test]
async fn a_write_over_its_time_may_have_taken_effect() {
    let mut stage = stage_with(Duration::from_millis(20)).await;
    stage.invoker.policy = Policy::new([Class::Read, Class::Write]);
    let invoked = stage.act("write and hang").await;
    assert_eq!(invoked.state, CallState::TimedOut);
    assert!(
        body(&invoked).ends_with("It may have taken effect all the same: check before you say otherwise."),
        "{invoked:?}"
    );
}

#[tokio::test]
async fn without_a_record_reading_goes_on_uncited_and_nothing_is_changed() {
    let mut stage = stage().await;
    stage.invoker.policy = Policy::new([Class::Read, Class::Write]);
    stage.invoker.store.close().await;
    let read = stage.act("hello").await;
    assert_eq!((read.state, read.evidence.as_deref(), body(&read)), (CallState::Answered, None, "hello"));
    assert!(read.text.starts_with("<result tool=\"query_puppet\" found=\"something\">"), "{}", read.text);
    let write = stage.act("write").await;
    assert_eq!(write.state, CallState::Broken);
    assert!(body(&write).starts_with("not run: the call could not be recorded"), "{}", write.text);
}

#[tokio::test]
async fn a_tool_that_another_persona_stands_in_for_is_answered_with_whom_to_send() {
    let mut stage = stage().await;
    let elsewhere = Elsewhere { redirects: redirects([]), can_send: true, ..Elsewhere::default() };
    stage.toolbox = stage.toolbox.knowing(elsewhere);
    for name in ["host_bash", "bash"] {
        let invoked = stage.call(name, json!({"command": "uptime"}), Some(3)).await;
        assert_eq!((invoked.state, invoked.found, &invoked.evidence), (CallState::Redirected, None, &None));
        let lines: Vec<_> = invoked.text.lines().collect();
        assert_eq!(lines[0], format!("<result tool=\"{name}\" state=\"redirected\">"));
        let answer: serde_json::Value = serde_json::from_str(lines[1]).unwrap();
        assert_eq!(answer["status"], "redirect");
        assert_eq!(
            answer["suggested_call"],
            "AgentTool(description=\"…\", subagent_type=\"specialist-compute\", prompt=\"<self-contained task>\")"
        );
    }
    let audit = stage.invoker.store.audit().list(&stage.context.session_id).await.unwrap();
    let last = audit.last().unwrap();
    assert_eq!(
        (last.tool.as_str(), last.arguments.as_str(), last.decision.as_str(), last.outcome.as_str()),
        ("bash", r#"{"command":"uptime"}"#, "none", "redirected")
    );
}

/// Counts how often it ran.
struct Changes<const DESTROYS: bool>(Arc<std::sync::atomic::AtomicUsize>);

impl<const DESTROYS: bool> Tool for Changes<DESTROYS> {
    const NAME: &'static str = if DESTROYS { "delete_volume" } else { "restart_service" };
    const LOWEST: Class = if DESTROYS { Class::Destructive } else { Class::Write };
    type Args = Act;

    fn description(&self) -> String {
        "Changes something.".into()
    }

    fn headline(&self, args: &Act) -> String {
        args.act.clone()
    }

    async fn call(&self, _: Act, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Ok(ToolOutput { text: "done".into(), found: Found::Something })
    }
}

#[tokio::test]
async fn what_a_model_wants_to_change_is_refused_for_want_of_a_confirmation_and_never_runs() {
    let mut stage = stage().await;
    let ran = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let all: Vec<SharedTool> = vec![Arc::new(Changes::<false>(ran.clone())), Arc::new(Changes::<true>(ran.clone()))];
    let mode = &[Class::Read, Class::Write, Class::Destructive];
    let cut = Cut { role: Role::Admin, tools: None, disallowed_tools: &[], mode };
    stage.toolbox = Toolbox::select(&all, &cut);
    for name in ["restart_service", "delete_volume"] {
        let invoked = stage.call(name, json!({"act": "now"}), Some(3)).await;
        assert_eq!(invoked.state, CallState::Refused, "{name}");
        assert!(invoked.text.contains("there is no way yet for a person to confirm such a call"), "{}", invoked.text);
    }
    assert_eq!(ran.load(std::sync::atomic::Ordering::SeqCst), 0);
}
