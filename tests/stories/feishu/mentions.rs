//! Who is addressed, who may ask, and what the bot's own words start: nothing.

use watchfloor_sim::{
    feishu::{ALICE, BOB, EXTERNAL, GROUP, GUEST, MENTION},
    model::Rule,
};

use super::{
    setting::Setting,
    stage::{OTHER_BOT, Stage},
};
use crate::{asked, stage::by_step};

fn other_bot() -> String {
    format!("@{{{OTHER_BOT}}}")
}

/// Waits until all is heard: nothing was taken and nothing is shown.
async fn nothing_came_of_it(stage: &Stage) {
    stage.idle().await;
    let tally = stage.tally().await;
    assert_eq!((tally.messages, tally.turns), (0, 0));
}

#[tokio::test]
async fn b035_whom_a_question_is_about_reaches_the_model() {
    let stage = Stage::with([Rule::reply("I can't, but here is what happened.")]).await;
    stage.ask(ALICE, "remind @{ou_wei} about the deploy").await;
    stage.feishu.next_message(GROUP).await;
    stage.idle().await;
    let said = asked::said(&stage.model.requests()[0]);
    assert_eq!(asked::words(&said[0]), "remind @Wei (ou_wei) about the deploy");
    stage.done().await;
}

#[tokio::test]
async fn b036_each_of_two_bots_addressed_in_one_sentence_is_addressed() {
    for text in [format!("{MENTION} {} why?", other_bot()), format!("{} {MENTION} why?", other_bot())] {
        let stage = Stage::with(by_step()).await;
        let question = stage.feishu.say(ALICE, GROUP, &text).await;
        stage.idle().await;
        assert_eq!(stage.shown(&question), ["One."]);
        let said = asked::said(&stage.model.requests()[0]);
        assert!(asked::words(&said[0]).contains("@deployer (ou_deployer)"), "{said:?}");
        stage.done().await;
    }
}

#[tokio::test]
async fn b037_a_question_to_another_bot_is_not_ours() {
    let stage = Setting::new(by_step()).hears_all().open().await;
    stage.feishu.say(ALICE, GROUP, &format!("{} deploy it", other_bot())).await;
    nothing_came_of_it(&stage).await;
    // Nor in a conversation of ours that its asker goes on with.
    let question = stage.ask(ALICE, "why is it slow?").await;
    stage.idle().await;
    stage.feishu.reply(ALICE, &question, &format!("{} roll it back", other_bot())).await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["One."]);
    stage.done().await;
}

#[tokio::test]
async fn everybody_is_not_the_bot() {
    let stage = Setting::new(by_step()).hears_all().open().await;
    stage.feishu.say(ALICE, GROUP, "@{all} checkout is slow, why?").await;
    nothing_came_of_it(&stage).await;
    // Together with a mention of the bot it is no more than a word.
    let question = stage.feishu.say(ALICE, GROUP, &format!("@{{all}} {MENTION} why?")).await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["One."]);
    stage.done().await;
}

#[tokio::test]
async fn people_of_another_company_are_not_answered() {
    let stage = Setting::new(by_step()).hears_all().open().await;
    stage.ask_at(EXTERNAL, GUEST, "what are your alerts?").await;
    nothing_came_of_it(&stage).await;
    let question = stage.ask_at(EXTERNAL, ALICE, "why is it slow?").await;
    stage.idle().await;
    assert_eq!(stage.shown(&question), ["One."]);
    stage.done().await;
}

#[tokio::test]
async fn b039_b042_its_own_words_start_nothing_whoever_is_said_to_have_said_them() {
    let stage = Setting::new([Rule::reply("Ask <at user_id=\"ou_bot\"></at>, or me.")]).hears_all().open().await;
    let group = stage.ask(ALICE, "whom can I ask?").await;
    let private = stage.feishu.say(ALICE, &stage.feishu.p2p(ALICE), "whom can I ask?").await;
    stage.idle().await;
    for question in [&group, &private] {
        let answer = stage.beneath(question).remove(0);
        assert!(!answer.mentions.iter().any(|mention| mention.open_id == stage.feishu.bot()), "{answer:?}");
        for (kind, sender) in [("user", stage.feishu.bot()), ("app", stage.feishu.bot()), ("user", BOB)] {
            stage.feishu.echo(&answer.id, kind, sender).await;
        }
    }
    stage.idle().await;
    assert_eq!(stage.tally().await.messages, 2);
    stage.done().await;
}

#[tokio::test]
async fn b040_another_app_is_answered_only_where_it_is_listed() {
    for listed in [false, true] {
        let lines = format!("allow_from = [\"{ALICE}\", \"{OTHER_BOT}\"]");
        let setting = Setting::new(by_step()).line(if listed { &lines } else { "" });
        let scope = "im:message.group_at_msg.include_bot:readonly";
        let stage = setting.feishu(|feishu| _ = feishu.scopes.insert(scope.to_owned())).open().await;
        let question = stage.feishu.say_as_bot(OTHER_BOT, GROUP, &format!("{MENTION} done?")).await;
        stage.idle().await;
        assert_eq!(stage.shown(&question).len(), usize::from(listed));
        stage.done().await;
    }
}

#[tokio::test]
async fn b040_two_bots_that_answer_each_other_come_to_an_end() {
    let lines = format!("allow_from = [\"{ALICE}\", \"{OTHER_BOT}\"]");
    let setting = Setting::new([Rule::reply("So?")]).line(&lines).hears_all();
    let scope = "im:message.group_at_msg.include_bot:readonly";
    let stage = setting.feishu(|feishu| _ = feishu.scopes.insert(scope.to_owned())).open().await;
    let words = format!("{MENTION} so what?");
    let first = stage.feishu.say_as_bot(OTHER_BOT, GROUP, &words).await;
    stage.idle().await;
    for _ in 0..6 {
        let answer = stage.beneath(&first).pop().unwrap();
        stage.feishu.reply_as_bot(OTHER_BOT, &answer.id, &words).await;
        stage.idle().await;
    }
    assert_eq!(stage.shown(&first), ["So?"; 5]);
    // Until somebody who isn't a bot says something.
    stage.feishu.reply(ALICE, &first, &format!("{MENTION} is that useful?")).await;
    stage.idle().await;
    stage.feishu.reply_as_bot(OTHER_BOT, &first, &words).await;
    stage.idle().await;
    assert_eq!(stage.shown(&first), ["So?"; 7]);
    stage.done().await;
}
