//! Answers that grow, break or lose something on their way into Telegram's markup, each by the number of its fault.

use serde_json::json;
use watchfloor_sim::{
    model::{ModelFault, Rule},
    telegram::{ALICE, OPS},
};

use super::stage::Stage;
use crate::asked;

#[tokio::test]
async fn b016_many_tables_are_all_shown() {
    let table = |n: usize| format!("| pod | use |\n|---|---|\n| checkout-{n} | 97 % |\n");
    let stage = Stage::with([Rule::reply((0..8).map(table).collect::<Vec<_>>().join("\n"))]).await;
    stage.ask(ALICE, "which pods?").await;
    let answer = stage.answer_in(OPS).await;
    let cells = answer.marked("pre").concat();
    assert!((0..8).all(|n| cells.contains(&format!("checkout-{n}"))), "{}", answer.text());
    assert_eq!(stage.refused(), []);
    stage.done().await;
}

#[tokio::test]
async fn b018_a_fence_that_is_longer_than_a_message_is_code_in_every_part() {
    let lines: Vec<_> = (0..300).map(|n| format!("    at line {n}: connection refused")).collect();
    let text = format!("The log:\n\n```text\n{}\n```\nThat is all.", lines.join("\n"));
    let stage = Stage::with([Rule::reply(text)]).await;
    stage.ask(ALICE, "show me the log").await;
    stage.idle().await;
    let parts = stage.ours(OPS);
    assert!(parts.len() > 1);
    let mut expected = lines.iter();
    for code in parts.iter().flat_map(|part| part.marked("pre")) {
        for (nth, line) in code.lines().enumerate() {
            let mut expected = expected.next().unwrap().as_str();
            // Telegram takes away the blanks that a message begins with.
            if nth == 0 && line.starts_with("at ") {
                expected = expected.trim_start();
            }
            assert_eq!(line, expected);
        }
    }
    assert_eq!(expected.next(), None);
    stage.done().await;
}

#[tokio::test]
async fn b019_a_table_inside_a_fence_stays_as_it_is() {
    let fence = "| host | *use* |\n|---|---|\n| db-1 | **97 %** |";
    let stage = Stage::with([Rule::reply(format!("```text\n{fence}\n```"))]).await;
    stage.ask(ALICE, "show me the file").await;
    let answer = stage.answer_in(OPS).await;
    assert_eq!((answer.text(), answer.marked("pre")), (fence, vec![fence.to_owned()]));
    stage.done().await;
}

#[tokio::test]
async fn b020_b021_what_grows_on_its_way_is_split_by_what_is_really_sent() {
    for (text, counted) in
        [("!".repeat(4_097), "!"), ("&".repeat(8_000), "&"), ("😀".repeat(5_000), "😀"), ("<_*~`> ".repeat(900), "<")]
    {
        let count = text.matches(counted).count();
        let stage = Stage::with([Rule::reply(text)]).await;
        stage.ask(ALICE, "show me the file").await;
        stage.idle().await;
        let parts = stage.shown(OPS);
        assert!(parts.len() > 1 && parts.iter().all(|part| part.encode_utf16().count() <= 4_096), "{counted}");
        assert_eq!((parts.concat().matches(counted).count(), stage.refused()), (count, vec![]), "{counted}");
        stage.done().await;
    }
}

#[tokio::test]
async fn b022_emphasis_across_a_cut_and_lone_marks_break_nothing() {
    let bold = format!("**{}** and snake_case_names, 2 * 3 * 4, a_b, `un", "word ".repeat(1_200).trim());
    let stage = Stage::with([Rule::reply(bold)]).await;
    stage.ask(ALICE, "loudly, please").await;
    stage.idle().await;
    let whole = stage.shown(OPS).concat();
    assert_eq!(whole.matches("word").count(), 1_200);
    assert!(whole.ends_with("and snake_case_names, 2 * 3 * 4, a_b, `un"), "{whole}");
    assert_eq!(stage.refused(), []);
    stage.done().await;
}

#[tokio::test]
async fn b023_our_own_sentence_about_an_error_can_not_go_wrong_itself() {
    let look = Rule::call("query_promql", json!({"query": "x{a=\"_*`<"})).when_step(0);
    let stage = Stage::with([look, Rule::fault(ModelFault::Status { status: 400, retry_after: None })]).await;
    stage.ask(ALICE, "why *is* it _slow_ <here>?").await;
    let answer = stage.answer_in(OPS).await;
    assert!(answer.text().starts_with("The model's provider rejected the request"), "{}", answer.text());
    assert_eq!((answer.entities().len(), stage.refused()), (0, vec![]));
    stage.done().await;
}

#[tokio::test]
async fn b024_letters_of_several_bytes_are_never_cut_in_two() {
    let query = json!({"query": format!("up{{service=\"{}\"}}", "结账服务".repeat(100))});
    let rules = [
        Rule::call("query_promql", query).when_step(0),
        Rule::reply("连接池已满，结账很慢。".repeat(600)).when_step(1),
        Rule::reply("네, 지금도요.").when_step(2),
    ];
    let stage = Stage::with(rules).await;
    stage.ask(ALICE, &"为什么结账这么慢？".repeat(200)).await;
    let first = stage.placeholder().await;
    stage.idle().await;
    assert_eq!(stage.shown(OPS).concat().matches("连接池已满").count(), 600);
    stage.reply(ALICE, first.id, "그리고 지금은?").await;
    stage.idle().await;
    assert_eq!(stage.shown(OPS).last().unwrap(), "네, 지금도요.");
    stage.done().await;
}

#[tokio::test]
async fn b025_a_mention_behind_signs_of_several_units_is_found() {
    for text in ["🔥🔥 @ops_bot 支付失败", "⚠️ @ops_bot 支付失败", "👩‍🚒 @ops_bot 支付失败 https://e.org/a?b=1"]
    {
        let stage = Stage::with([Rule::reply("One.")]).await;
        stage.telegram.say(ALICE, OPS, text).await;
        assert_eq!(stage.answer().await, "One.");
        let said = asked::said(&stage.model.requests()[0]);
        let words = asked::words(&said[0]);
        assert!(words.contains("支付失败") && words.chars().next() == text.chars().next(), "{words}");
        stage.done().await;
    }
}
