//! Faults that bots like this one had in the field, each by its number, as far as other stories do not tell them.

use serde_json::{Value, json};
use watchfloor_sim::{
    feishu::{ALICE, BOB, EventId, Fault, GROUP, MENTION, Message, TOPICS},
    model::{ModelFault, Rule},
};

use super::{setting::Setting, stage::Stage};
use crate::{asked, stage::by_step};

/// The nodes of a post with this tag.
fn nodes(message: &Message, tag: &str) -> Vec<Value> {
    let post = message.json();
    let paragraphs = post["zh_cn"]["content"].as_array().into_iter().flatten();
    let nodes = paragraphs.flat_map(|nodes| nodes.as_array().cloned().unwrap_or_default());
    nodes.filter(|node| node["tag"] == tag).collect()
}

fn tables(count: usize) -> String {
    let table = |n: usize| format!("Table {n}:\n\n| host | load |\n|---|---|\n| db-{n} | {n}0 % |\n");
    (1..=count).map(table).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn b012_b018_a_long_log_is_cut_into_fences_that_are_closed_and_opened_again() {
    let line = |n: usize| format!("10:02:{n:04} pool exhausted, waiting for a connection to db-1 \"now\"");
    let log: Vec<_> = (0..450).map(line).collect();
    let stage =
        Stage::with([Rule::reply(format!("The log:\n\n```json\n{}\n```\n\nThat is all.", log.join("\n")))]).await;
    let question = stage.ask(ALICE, "show me the log").await;
    stage.idle().await;
    let parts = stage.beneath(&question);
    assert!(parts.len() > 1, "{} parts", parts.len());
    let code: Vec<_> = parts.iter().flat_map(|part| nodes(part, "code_block")).collect();
    assert!(code.len() > 1 && code.iter().all(|node| node["language"] == "JSON"));
    let lines = code.iter().flat_map(|node| node["text"].as_str().unwrap().lines());
    assert_eq!(lines.collect::<Vec<_>>(), log);
    assert_eq!(stage.refused(), []);
    stage.done().await;
}

#[tokio::test]
async fn b013_an_answer_that_is_shown_already_is_not_shown_twice() {
    let tell = Rule::call("SendMessage", json!({"message": "The pool is full."})).when_step(0);
    let stage = Stage::with([tell, Rule::reply("The pool is full.").when_step(1)]).await;
    let question = stage.ask(ALICE, "why is it slow?").await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["The pool is full."]);
    stage.done().await;
}

#[tokio::test]
async fn b014_nothing_that_comes_after_an_answer_changes_it() {
    let stage = Setting::new(by_step()).hears_all().open().await;
    let question = stage.ask(ALICE, "why is it slow?").await;
    let answer = stage.feishu.next_message(GROUP).await;
    stage.idle().await;
    let edits = stage.feishu.edits(&answer.id).len();
    stage.feishu.reply(ALICE, &question, "stop").await;
    stage.feishu.redeliver(&question, EventId::New).await;
    stage.feishu.edit(&question, &format!("{MENTION} why is it slow today?"), true).await;
    stage.idle().await;
    stage.feishu.reply(ALICE, &question, "and now?").await;
    stage.idle().await;
    assert_eq!(
        (stage.shown(&question), stage.feishu.edits(&answer.id).len()),
        (vec!["One.".into(), "Two.".into()], edits)
    );
    stage.done().await;
}

#[tokio::test]
async fn b015_an_answer_that_is_ready_before_its_placeholder_stands_is_one_message() {
    for mode in ["text", "card"] {
        let stage = Setting::new(by_step()).line(&format!("reply_mode = \"{mode}\"")).open().await;
        stage.feishu.hold("reply");
        let question = stage.ask(ALICE, "why is it slow?").await;
        stage.feishu.wait_for_calls("reply", 1).await;
        stage.model.next_request().await;
        stage.model.wait_for_open_streams(0).await;
        stage.feishu.let_go("reply");
        stage.idle().await;
        assert_eq!(stage.shown(&question), ["One."]);
        stage.done().await;
    }
}

#[tokio::test]
async fn b016_tables_beyond_what_feishu_takes_are_shown_as_code() {
    for (mode, count) in [("card", 3), ("card", 4), ("card", 7), ("text", 7)] {
        let setting = Setting::new([Rule::reply(tables(count))]).line(&format!("reply_mode = \"{mode}\""));
        let stage = setting.open().await;
        let question = stage.ask(ALICE, "how loaded are the hosts?").await;
        stage.idle().await;
        assert_eq!(stage.refused(), []);
        let shown = stage.beneath(&question);
        assert_eq!(shown.len(), 1);
        for n in 1..=count {
            assert!(shown[0].content().contains(&format!("db-{n}")), "{mode}: {}", shown[0].content());
        }
        let native = shown[0].content().matches("\"tag\":\"table\"").count();
        assert_eq!(native, if mode == "card" { count.min(3) } else { 0 });
        stage.done().await;
    }
}

#[tokio::test]
async fn b016_a_card_that_is_refused_when_it_is_edited_ends_in_readable_text() {
    let stage = Setting::new([Rule::reply(tables(2))]).line("reply_mode = \"card\"").open().await;
    let (question, placeholder) = stage.ask_and_hold(GROUP, ALICE, "how loaded are the hosts?").await;
    stage.feishu.fault_times("patch", Fault::Code { code: 230_099, http: 400 }, 2);
    stage.feishu.fault("reply", Fault::Code { code: 230_099, http: 400 });
    stage.goes_on(&question).await;
    let shown = stage.beneath(&question);
    assert_eq!((shown.len(), shown[0].kind()), (1, "post"));
    assert!(shown[0].text().contains("db-1") && shown[0].text().contains("db-2"), "{}", shown[0].text());
    assert!(stage.feishu.message(&placeholder.id).recalled);
    stage.done().await;
}

#[tokio::test]
async fn b019_a_table_inside_a_fence_stays_as_it_is() {
    let inside = "| host | *use* |\n|---|---|\n| db-1 | **97 %** |";
    let stage = Stage::with([Rule::reply(format!("```text\n{inside}\n```"))]).await;
    let question = stage.ask(ALICE, "show me the file").await;
    stage.idle().await;
    let code = nodes(&stage.beneath(&question)[0], "code_block");
    assert_eq!(code.iter().map(|node| node["text"].as_str().unwrap()).collect::<Vec<_>>(), [inside]);
    stage.done().await;
}

#[tokio::test]
async fn b020_b021_what_grows_on_its_way_is_split_by_what_is_really_sent() {
    for (letter, count, mode) in [("\"", 8_000, "text"), ("😀", 7_500, "card")] {
        let setting = Setting::new([Rule::reply(letter.repeat(count))]).line(&format!("reply_mode = \"{mode}\""));
        let stage = setting.open().await;
        let question = stage.ask(ALICE, "show me the file").await;
        stage.idle().await;
        assert_eq!(stage.refused(), []);
        assert!(stage.shown(&question).len() > 1, "{letter} {mode}");
        stage.done().await;
    }
}

#[tokio::test]
async fn b022_b023_our_own_sentence_about_an_error_can_not_go_wrong_itself() {
    let query = json!({"query": "x{a=\"_*`<"});
    let look = Rule::call("query_promql", query).when_step(0);
    let stage = Stage::with([look, Rule::fault(ModelFault::Status { status: 400, retry_after: None })]).await;
    let question = stage.ask(ALICE, "why *is* it _slow_ <at user_id=\"all\">?").await;
    stage.idle().await;
    let shown = stage.beneath(&question);
    assert!(shown.len() == 1 && shown[0].text().starts_with("The model's provider rejected the request"), "{shown:?}");
    assert_eq!((nodes(&shown[0], "md"), stage.refused()), (vec![], vec![]));
    stage.done().await;
}

#[tokio::test]
async fn b024_letters_of_several_bytes_are_never_cut_in_two() {
    let query = json!({"query": format!("up{{service=\"{}\"}}", "结账服务".repeat(100))});
    let rules = [
        Rule::call("query_promql", query).when_step(0),
        Rule::reply("连接池已满，结账很慢。".repeat(1_000)).when_step(1),
        Rule::reply("네, 지금도요.").when_step(2),
    ];
    let stage = Stage::with(rules).await;
    let question = stage.ask(ALICE, &"为什么结账这么慢？".repeat(200)).await;
    stage.idle().await;
    assert_eq!(stage.shown(&question).concat().matches("连接池已满").count(), 1_000);
    stage.feishu.reply(ALICE, &question, &format!("{MENTION} 그리고 지금은?")).await;
    stage.idle().await;
    assert_eq!(stage.shown(&question).last().unwrap(), "네, 지금도요.");
    stage.done().await;
}

#[tokio::test]
async fn b028_b029_b031_everything_of_a_turn_goes_into_the_topic_it_was_asked_in() {
    let send = json!({"description": "look", "subagent_type": "looker", "prompt": "Errors?"});
    let long = "The pool is full.\n\n".to_owned() + &"word ".repeat(6_000);
    let setting = Setting::new([
        Rule::reply("20 % errors.").when_persona("looker"),
        Rule::calls([("SendMessage", json!({"message": "Looking."})), ("AgentTool", send)])
            .when_persona("default")
            .when_step(0),
        Rule::reply(long).when_persona("default").when_step(1),
    ]);
    let stage = setting.persona("looker", "query_promql").limit("notify_after = \"1ms\"").open().await;
    let questions = [stage.ask_at(TOPICS, ALICE, "why?").await, stage.ask_at(TOPICS, BOB, "and why here?").await];
    stage.idle().await;
    for question in &questions {
        let topic = stage.feishu.message(question).thread;
        let shown = stage.beneath(question);
        assert!(shown.len() > 2 && shown.iter().all(|message| message.thread == topic), "{shown:#?}");
    }
    let ours = stage.feishu.messages(TOPICS).into_iter().filter(Message::is_of_bot).count();
    assert_eq!(ours, questions.iter().map(|question| stage.beneath(question).len()).sum::<usize>());
    assert!(stage.feishu.calls("send").is_empty());
    stage.done().await;
}

#[tokio::test]
async fn b030_b047_a_question_of_its_own_begins_empty_also_beside_another() {
    let stage = Stage::with(by_step()).await;
    stage.model.hold();
    let first = stage.ask(ALICE, "why is checkout slow?").await;
    let second = stage.ask(BOB, "who deployed billing?").await;
    stage.model.wait_for_open_streams(2).await;
    stage.model.release();
    stage.idle().await;
    let third = stage.ask(ALICE, "a third thing?").await;
    stage.idle().await;
    for request in stage.model.requests() {
        assert_eq!((asked::said(&request).len(), asked::results(&request).len()), (1, 0));
    }
    for question in [&first, &second, &third] {
        assert_eq!(stage.shown(question), ["One."]);
    }
    stage.done().await;
}

#[tokio::test]
async fn b061_a_file_that_may_not_be_read_is_named_with_what_is_missing() {
    let stage = Stage::with([Rule::reply("I can't read files here.")]).await;
    stage.feishu.take_away("im:message:readonly");
    let chat = stage.feishu.p2p(ALICE);
    let question = stage.feishu.attach(ALICE, &chat, "checkout.log", b"pool exhausted").await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["I can't read files here."]);
    let said = asked::said(&stage.model.requests()[0]).join("\n");
    assert!(said.contains("checkout.log") && said.contains("Not read") && !said.contains("pool exhausted"), "{said}");
    stage.done().await;
}

#[tokio::test]
async fn b061_a_gateways_page_never_reaches_the_model() {
    let stage = Stage::with([Rule::reply("I can't read it.")]).await;
    stage.feishu.fault_times("resource", Fault::HtmlPage(200), 10);
    let chat = stage.feishu.p2p(ALICE);
    let question = stage.feishu.attach(ALICE, &chat, "checkout.log", b"pool exhausted").await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["I can't read it."]);
    let said = asked::said(&stage.model.requests()[0]).join("\n");
    assert!(said.contains("checkout.log") && said.contains("Not read") && !said.contains("Server Error"), "{said}");
    stage.feishu.clear_faults();
    // What a person attaches may be a page.
    let page = stage.feishu.attach(ALICE, &chat, "report.html", b"<!DOCTYPE html><p>pool exhausted</p>").await;
    stage.idle().await;
    assert_eq!(stage.shown(&page), ["I can't read it."]);
    assert!(asked::said(&stage.model.requests()[1]).join("\n").contains("pool exhausted"));
    stage.done().await;
}

#[tokio::test]
async fn a_log_that_is_attached_is_read() {
    let stage = Stage::with([Rule::reply("The pool is exhausted.")]).await;
    let chat = stage.feishu.p2p(ALICE);
    let question = stage.feishu.attach(ALICE, &chat, "checkout.log", b"10:02 pool exhausted\n").await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["The pool is exhausted."]);
    let said = asked::said(&stage.model.requests()[0]).join("\n");
    assert!(said.contains("10:02 pool exhausted"), "{said}");
    stage.done().await;
}

#[tokio::test]
async fn b006_what_was_shown_before_is_replaced_and_never_doubled() {
    let begins = "The pool is full.";
    let whole = format!("{begins} Since ten minutes.");
    for mode in ["text", "card"] {
        let rules = [
            Rule::call("SendMessage", json!({"message": begins})).with_text(begins).when_step(0),
            // Said once, broken off, and said again from the beginning.
            Rule::reply(whole.repeat(50)).but(ModelFault::CutAfterBytes(2_000)).when_step(1).once(),
            Rule::reply(whole.clone()).when_step(1),
        ];
        let stage = Setting::new(rules).line(&format!("reply_mode = \"{mode}\"")).open().await;
        let question = stage.ask(ALICE, "why is it slow?").await;
        stage.idle().await;
        assert_eq!(stage.shown(&question), [whole.as_str()]);
        let texts: Vec<_> =
            stage.feishu.edits(&stage.beneath(&question)[0].id).iter().map(|edit| edit.text()).collect();
        assert!(texts.iter().all(|text| text.matches(begins).count() <= 1), "{texts:#?}");
        stage.done().await;
    }
}

#[tokio::test]
async fn b034_what_feishu_tells_again_of_a_message_starts_nothing() {
    let stage = Setting::new(by_step()).hears_all().open().await;
    let parent = stage.feishu.say(BOB, GROUP, "checkout is slow").await;
    let question = stage.feishu.reply(ALICE, &parent, &format!("{MENTION} why is it slow?")).await;
    stage.idle().await;
    let answer = stage.beneath(&question).remove(0);
    // The same words under the same id, a reply under the parent, a sign on any of them.
    stage.feishu.edit(&question, &format!("{MENTION} why is it slow?"), true).await;
    stage.feishu.edit(&parent, "checkout is slow", true).await;
    stage.feishu.reply(BOB, &parent, "I see it too").await;
    for message in [&parent, &question, &answer.id] {
        stage.feishu.react(BOB, message, "THUMBSUP").await;
    }
    stage.idle().await;
    let tally = stage.tally().await;
    assert_eq!((stage.shown(&question), tally.turns), (vec!["One.".to_owned()], 1));
    stage.done().await;
}

#[tokio::test]
async fn b041_telling_the_asker_something_ends_neither_the_turn_nor_starts_another() {
    let tell = |step| Rule::call("SendMessage", json!({"message": format!("Step {step}.")})).when_step(step);
    let stage = Stage::with([tell(0), tell(1), Rule::reply("Done.").when_step(2)]).await;
    let question = stage.ask(ALICE, "why is it slow?").await;
    stage.idle().await;
    let tally = stage.tally().await;
    assert_eq!((stage.shown(&question), tally.turns, tally.messages), (vec!["Done.".to_owned()], 1, 1));
    stage.done().await;
}
