//! What goes wrong on purpose: tokens, faults, hanging polls, floods, dead connections.

use serde_json::{Value, json};
use watchfloor_sim::telegram::{ALICE, Fault, OPS, TelegramConfig};

use crate::{
    support::http,
    telegram_support::{telegram, telegram_with},
};

#[tokio::test]
async fn a_wrong_token_and_a_broken_body_have_their_statuses() {
    let (sim, bot) = telegram().await;
    let ask = async |path: &str, body: &'static str| {
        let request = http().post(sim.api_url() + path).header("content-type", "application/json").body(body);
        request.send().await.unwrap().json::<Value>().await.unwrap()["description"].clone()
    };
    let stranger = "/bot1234:AAsomebody-elses-token-for-another-bot/getMe";
    assert_eq!(ask(stranger, "").await, "Unauthorized");
    assert_eq!(ask("/bot1:x/getMe", "").await, "Not Found");
    assert_eq!(ask("/", "").await, "Not Found");
    let known = format!("/bot{}/sendMessage", watchfloor_sim::telegram::BOT_TOKEN);
    assert_eq!(ask(&known, "{").await, "Bad Request: can't parse request");
    sim.revoke_token();
    assert_eq!(bot.refused("getMe", json!({})).await, "401 Unauthorized");
}

#[tokio::test]
async fn faults_are_used_up_in_order_and_say_what_took_effect() {
    let (sim, bot) = telegram().await;
    let text = |text: &str| json!({"chat_id": OPS, "text": text});
    sim.fault("sendMessage", Fault::retry_after(7));
    sim.fault("sendMessage", Fault::HtmlPage(502));
    sim.fault("sendMessage", Fault::Garbage);
    sim.fault("sendMessage", Fault::DropRequest);
    sim.fault("sendMessage", Fault::DropResponse);
    sim.fault("sendMessage", Fault::HtmlPageAfter(504));
    let limited = bot.send("sendMessage", text("1")).await.unwrap();
    assert_eq!((limited.status().as_u16(), &limited.headers()["retry-after"]), (429, &"7".parse().unwrap()));
    assert_eq!(limited.json::<Value>().await.unwrap()["parameters"], json!({"retry_after": 7}));
    let page = bot.send("SendMessage", text("2")).await.unwrap();
    assert_eq!((page.status().as_u16(), page.json::<Value>().await.is_err()), (502, true));
    assert!(bot.send("sendMessage", text("3")).await.unwrap().json::<Value>().await.is_err());
    assert!(bot.send("sendMessage", text("4")).await.is_err());
    assert!(bot.send("sendMessage", text("5, which arrives")).await.is_err());
    assert_eq!(bot.send("sendMessage", text("6, which arrives")).await.unwrap().status(), 504);
    bot.say(OPS, "7").await;
    let there: Vec<_> = sim.messages(OPS).iter().map(|message| message.text().to_owned()).collect();
    assert_eq!(there, ["5, which arrives", "6, which arrives", "7"]);
    let answered: Vec<_> = sim.calls("sendmessage").iter().map(|call| call.answer.is_some()).collect();
    assert_eq!(answered, [true, true, true, false, false, true, true]);
}

#[tokio::test]
async fn polls_that_hang_get_nothing_and_later_ones_do() {
    let (sim, bot) = telegram().await;
    sim.hang_polls(true);
    sim.say(ALICE, OPS, "hello?").await;
    let hanging = bot.send("getUpdates", json!({"timeout": 0}));
    tokio::select! {
        answer = hanging => panic!("an answer: {answer:?}"),
        () = async {
            sim.wait_for_calls("getUpdates", 1).await;
            // Another call is answered meanwhile.
            bot.ok("getMe", json!({})).await;
        } => {}
    }
    sim.hang_polls(false);
    assert_eq!(bot.ok("getUpdates", json!({})).await[0]["message"]["text"], "hello?");
}

#[tokio::test]
async fn a_server_that_is_down_cuts_and_refuses_until_it_is_back() {
    let (sim, bot) = telegram().await;
    let (poll, ()) = tokio::join!(bot.send("getUpdates", json!({"timeout": 30})), async {
        sim.wait_for_calls("getUpdates", 1).await;
        sim.down(true);
    });
    assert!(poll.is_err());
    assert!(bot.send("getMe", json!({})).await.is_err());
    sim.down(false);
    bot.ok("getMe", json!({})).await;
    sim.stop().await;
}

#[tokio::test]
async fn a_flooded_chat_refuses_alone_and_longer_under_calls() {
    let (sim, bot) = telegram().await;
    let ours = bot.say(OPS, "one").await;
    sim.flood(OPS, 100);
    let edit = json!({"chat_id": OPS, "message_id": ours, "text": "two"});
    assert_eq!(bot.refused("editMessageText", edit.clone()).await, "429 Too Many Requests: retry after 100");
    let (_, body) = bot.call("editMessageText", edit).await;
    assert_eq!(body["parameters"], json!({"retry_after": 200}));
    assert_eq!(sim.complaints(), [format!("sent to {OPS} before the wait was over")]);
    bot.say(watchfloor_sim::telegram::SMALL_GROUP, "elsewhere").await;
}

#[tokio::test]
async fn enforced_rates_count_edits_with_messages() {
    let (_sim, bot) = telegram_with(TelegramConfig { enforce_rates: true, ..TelegramConfig::default() }).await;
    let ours = bot.say(OPS, "0").await;
    let mut refused = None;
    for number in 1..=20 {
        let edit = json!({"chat_id": OPS, "message_id": ours, "text": number.to_string()});
        let (status, body) = bot.call("editMessageText", edit).await;
        if status == 429 {
            refused = Some(body["parameters"]["retry_after"].as_u64());
            break;
        }
    }
    assert!(refused.flatten().is_some());
}
