//! Several workspaces and several organisations around one bot.

use watchfloor_sim::{
    SlackSim,
    model::Rule,
    slack::{APP_TOKEN, BOT_TOKEN, SimFile, SlackConfig, Team},
};

use crate::{
    setting::Setting,
    stage::{ALICE, ROOM, Stage, by_step},
};

const EVE: &str = "U0EVE";
const MAYA: &str = "U0MAYA";

#[tokio::test]
async fn a_partner_in_a_shared_room_gets_no_answer_and_steers_nothing() {
    let stage = Stage::with(by_step()).await;
    stage.slack.add_person_of("T0FAR", None, EVE, "Eve").await;
    stage.slack.share_channel(ROOM).await;
    stage.ask(EVE, "how many customers are down?").await;
    stage.idle().await;
    assert_eq!(stage.tally().await.messages, 0);

    let asked = stage.ask(ALICE, "is it up?").await;
    assert_eq!(stage.answer().await, "One.");
    for said in ["and ours?", "stop"] {
        stage.ask_in(&asked, EVE, said).await;
    }
    let log = SimFile::text("eve.log", "500 on ours too\n");
    stage.slack.share(EVE, ROOM, Some(&asked), "we see it too", [log]).await;
    stage.idle().await;
    assert_eq!(stage.shown(&asked), ["One."]);
    stage.say_in(&asked, ALICE, "and now?").await;
    assert_eq!(stage.answer().await, "Two.");
    // What she said is context, and says whose it is.
    let request = stage.model.requests().pop().unwrap().to_string();
    assert_eq!(request.matches(r#"organisation=\"another\" at="#).count(), 3, "{request}");
    assert!(request.contains(", of another organisation, attached \\\"eve.log\\\""), "{request}");
    assert_eq!(stage.slack.calls("chat.postMessage").len(), 2);
    stage.done().await;
}

#[tokio::test]
async fn one_app_in_two_workspaces_answers_each_in_its_own() {
    let two = Team::new("T0TWO");
    let lines = format!(
        "workspaces = [{{ bot_token = \"{}\" }}]\nallow_rooms = [\"{ROOM}\", \"T0TWO/C0TWO\"]\n",
        two.bot_token
    );
    let setting = Setting::default().rules([Rule::reply("Yes.")]).channel(&lines);
    let stage = setting.slack(|slack| slack.teams.push(two.clone())).open().await;
    stage.slack.add_person_of("T0TWO", None, MAYA, "Maya").await;
    stage.slack.add_channel_of(&[&two], "C0TWO", "two").await;
    stage.slack.add_channel_of(&[&two], "C0OTHER", "other").await;
    stage.slack.say(MAYA, "C0OTHER", &format!("{} is it up?", two.mention())).await;
    stage.slack.say(MAYA, "C0TWO", &format!("{} is it up?", two.mention())).await;
    let answer = stage.slack.next_message("C0TWO").await;
    stage.slack.wait_for_text(&answer.ts, |text| text == "Yes.").await;
    let asked = stage.ask(ALICE, "is it up?").await;
    assert_eq!(stage.answer().await, "Yes.");
    assert_eq!(stage.shown(&asked), ["Yes."]);
    assert_eq!(stage.slack.calls("chat.postMessage").len(), 2);
    stage.done().await;
}

#[tokio::test]
async fn two_slacks_beside_each_other_do_not_mix() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let second = SlackSim::start(SlackConfig::default()).await.unwrap();
    second.add_person(ALICE, "Another Alice").await;
    second.add_channel(ROOM, "ops").await;
    let lines = format!(
        "allow_rooms = [\"*\"]\n[[channels]]\nkind = \"slack\"\nname = \"second\"\napp_token = \"{APP_TOKEN}\"\n\
         bot_token = \"{BOT_TOKEN}\"\napi_url = \"{}\"\nallow_rooms = [\"*\"]\n",
        second.api_url()
    );
    let rules = [("number one", "From the first."), ("number two", "From the second.")];
    let rules = rules.map(|(word, answer)| Rule::reply(answer).when_last_user_contains(word));
    let stage = Setting::default().rules(rules).channel(&lines).open().await;
    second.connected(1).await;
    let here = stage.ask(ALICE, "number one?").await;
    second.say(ALICE, ROOM, "<@U0BOT> number two?").await;
    assert_eq!(stage.answer().await, "From the first.");
    let answer = second.next_message(ROOM).await;
    second.wait_for_text(&answer.ts, |text| text == "From the second.").await;
    assert_eq!(stage.shown(&here), ["From the first."]);
    for slack in [&stage.slack, &second] {
        assert_eq!(slack.calls("chat.postMessage").len(), 1);
    }
    stage.done().await;
    assert_eq!(second.unread(), [""; 0]);
    second.stop().await;
}
