//! What becomes of each of Feishu's codes, call by call.

use std::time::Duration;

use watchfloor_channel::{ChannelAdapter, MessageId, RefusalKind, SendError, Sign};
use watchfloor_sim::feishu::{Fault, GROUP, GROUP_MESSAGES, TOPICS};

use crate::desk::{Bot, conversation, refusal, tenant};

async fn bot() -> Bot {
    let mut tenant = tenant();
    tenant.scopes.insert(GROUP_MESSAGES.to_owned());
    Bot::idle(tenant, |config| config.call_timeout = Duration::from_secs(2)).await
}

fn outcome<T>(result: Result<T, SendError>) -> String {
    match result {
        Ok(_) => "done".into(),
        Err(SendError::RateLimited(wait)) => format!("wait {}", wait.as_secs()),
        Err(SendError::Unavailable(_)) => "unavailable".into(),
        Err(SendError::Uncertain(_)) => "uncertain".into(),
        Err(SendError::Refused(refusal)) => format!("{:?}", refusal.kind),
    }
}

/// The world in which codes are tried.
struct Stage {
    bot: Bot,
    question: String,
    post: MessageId,
    card: MessageId,
}

impl Stage {
    async fn set() -> Self {
        let bot = bot().await;
        let question = bot.mention("why?").await;
        let post = bot.post(&question, "p", "looking …").await.unwrap();
        let card = bot.post_as(&question, "c", crate::cards::question()).await.unwrap();
        Self { bot, question, post, card }
    }

    /// Reply, send, edit of a post, edit of a card, recall, sign.
    async fn outcomes(&self, code: i64) -> [String; 6] {
        let bot = &self.bot;
        // What a plainer form, another place or a new token may help against is said again there.
        let fault = |call: &str| {
            bot.feishu.clear_faults();
            bot.feishu.fault_times(call, Fault::Code { code, http: 400 }, 2);
        };
        let plain = || watchfloor_channel::Body::Plain("looking …".into());
        fault("reply");
        let reply = bot.post_as(&self.question, &format!("reply {code}"), plain()).await;
        fault("send");
        let send = bot.post_to(conversation(GROUP, ""), None, &format!("send {code}"), plain()).await;
        fault("edit");
        let edit = bot.edit(&self.post, "found it").await;
        fault("patch");
        let patch = bot.edit(&self.card, "found it").await;
        fault("recall");
        let recall = bot.delete(&self.post).await;
        fault("react");
        let question = MessageId { room: GROUP.into(), id: self.question.clone() };
        let react = bot.adapter.react(&question, Sign::Taken).await;
        bot.feishu.clear_faults();
        [outcome(reply), outcome(send), outcome(edit), outcome(patch), outcome(recall), outcome(react)]
    }
}

#[tokio::test]
async fn every_code_means_the_right_thing_for_every_call() {
    let table: &[(&[&str; 6], &[i64])] = &[
        (
            &["Credentials"; 6],
            &[99_991_661, 99_991_662, 99_991_663, 99_991_664, 99_991_665, 99_991_668, 99_991_671, 99_991_673],
        ),
        (&["Credentials"; 6], &[99_991_677, 99_991_543, 10_003, 10_014, 10_015]),
        (&["Permission"; 6], &[99_991_672, 99_991_401, 230_006, 230_036]),
        (&["Other"; 6], &[99_991_403, 99_992_402, 9_499, 99_991_301, 999_999]),
        (&["Room"; 6], &[99_992_361, 230_002, 230_013, 230_018, 230_029, 230_034, 230_035, 230_038, 230_053, 232_009]),
        (&["TooLong"; 6], &[230_025]),
        (&["Content"; 6], &[230_001, 230_017, 230_022, 230_028, 230_055, 230_099, 200_621, 300_305]),
        (&["wait 5"; 6], &[99_991_400]),
        (&["wait 1"; 6], &[230_020]),
        (&["unavailable"; 6], &[11_232, 11_233, 11_247, 230_049]),
        (&["uncertain"; 6], &[2_200, 1_500, 5_000]),
        // The message to answer is gone: the answer goes to the group. What to remove is gone already.
        (&["done", "MessageGone", "MessageGone", "MessageGone", "done", "done"], &[230_011, 230_110, 230_050]),
        (&["done", "MessageGone", "MessageGone", "MessageGone", "done", "done"], &[231_003, 231_008]),
        (&["done", "Other", "MessageGone", "MessageGone", "done", "done"], &[99_992_354]),
        // One number, other meanings.
        (&["done", "Other", "NotEditable", "NotEditable", "Other", "Other"], &[230_071, 230_072]),
        (&["Other", "Other", "NotEditable", "NotEditable", "Other", "Other"], &[230_073, 230_074]),
        (&["Room", "Room", "NotEditable", "NotEditable", "Room", "Room"], &[230_075]),
        (&["Content", "Content", "NotEditable", "NotEditable", "Content", "Content"], &[230_054]),
        (&["Permission", "Permission", "NotEditable", "NotEditable", "Permission", "Permission"], &[230_027]),
        (&["Other", "Other", "Other", "NotEditable", "Other", "Other"], &[230_031]),
        (&["done", "Other", "Other", "Other", "Other", "Other"], &[230_111]),
        (&["ThreadGone", "ThreadGone", "Other", "Other", "Other", "Other"], &[230_019]),
        (&["Other", "Other", "Other", "Other", "done", "Other"], &[230_009, 230_026]),
        (&["Unsupported", "Unsupported", "Unsupported", "Unsupported", "Unsupported", "done"], &[231_021]),
    ];
    for (expected, codes) in table {
        for code in *codes {
            let stage = Stage::set().await;
            assert_eq!(stage.outcomes(*code).await, **expected, "{code}");
        }
    }
}

#[tokio::test]
async fn a_code_counts_whatever_the_http_status_says() {
    let stage = Stage::set().await;
    for http in [200, 400, 403, 500] {
        stage.bot.feishu.fault("edit", Fault::Code { code: 230_075, http });
        let refused = refusal(stage.bot.edit(&stage.post, "found it").await);
        assert_eq!((refused.kind, refused.code.as_str()), (RefusalKind::NotEditable, "230075"), "{http}");
    }
}

#[tokio::test]
async fn a_rate_limit_says_how_long_to_wait() {
    let stage = Stage::set().await;
    for (reset_secs, wait) in [(7, 7), (0, 1), (1_000_000, 3_600)] {
        for http in [429, 400] {
            stage.bot.feishu.fault("edit", Fault::RateLimited { reset_secs, http });
            let limited = stage.bot.edit(&stage.post, "found it").await;
            assert!(
                matches!(limited, Err(SendError::RateLimited(told)) if told == Duration::from_secs(wait)),
                "{limited:?}"
            );
        }
    }
    stage.bot.feishu.fault("edit", Fault::Http(429));
    let limited = stage.bot.edit(&stage.post, "found it").await;
    assert!(matches!(limited, Err(SendError::RateLimited(_))), "{limited:?}");
}

#[tokio::test]
async fn an_answer_without_a_code_is_unclear_unless_its_status_is_a_sure_no() {
    let stage = Stage::set().await;
    for fault in [
        Fault::Http(200),
        Fault::Http(500),
        Fault::Http(503),
        Fault::Http(408),
        Fault::HtmlPage(200),
        Fault::HtmlPage(502),
        Fault::Hang,
        Fault::Answer { http: 200, body: serde_json::json!({"code": "0"}) },
        Fault::Answer { http: 200, body: serde_json::json!([]) },
    ] {
        stage.bot.feishu.fault("edit", fault.clone());
        let unclear = stage.bot.edit(&stage.post, "found it").await;
        assert!(matches!(unclear, Err(SendError::Uncertain(_))), "{fault:?}: {unclear:?}");
    }
    stage.bot.feishu.fault("edit", Fault::HtmlPage(404));
    assert_eq!(refusal(stage.bot.edit(&stage.post, "found it").await).code, "http_404");
}

#[tokio::test]
async fn a_post_that_feishu_does_not_name_is_unclear() {
    let stage = Stage::set().await;
    for data in [serde_json::json!({}), serde_json::json!(null), serde_json::json!({"message_id": ""})] {
        let body = serde_json::json!({"code": 0, "msg": "success", "data": data});
        stage.bot.feishu.fault("reply", Fault::Answer { http: 200, body });
        let unclear = stage.bot.post(&stage.question, "k1", "looking …").await;
        assert!(matches!(unclear, Err(SendError::Uncertain(_))), "{data}: {unclear:?}");
    }
}

#[tokio::test]
async fn history_that_is_refused_is_empty_but_a_lost_token_is_an_error() {
    let bot = bot().await;
    let root = bot.feishu.say(watchfloor_sim::feishu::ALICE, TOPICS, "checkout is slow").await;
    let topic = bot.feishu.message(&root).thread.unwrap();
    let at = conversation(TOPICS, &topic);
    for code in [230_002, 230_027, 230_073, 231_203, 99_991_672] {
        bot.feishu.fault("list", Fault::Code { code, http: 400 });
        assert_eq!(bot.adapter.thread(&at, 10).await.unwrap(), [], "{code}");
    }
    let table = [(99_991_400, "wait 5"), (2_200, "unavailable"), (99_991_668, "Credentials")];
    for (code, expected) in table {
        bot.feishu.fault("list", Fault::Code { code, http: 400 });
        assert_eq!(outcome(bot.adapter.thread(&at, 10).await), expected, "{code}");
    }
}

#[tokio::test]
async fn refusals_say_what_a_person_can_do() {
    let mut bot = bot().await;
    let question = bot.mention("why?").await;
    bot.feishu.kick_bot(GROUP).await;
    let refused = refusal(bot.post(&question, "k1", "looking …").await);
    assert_eq!(
        (refused.kind, refused.code.as_str(), refused.remedy.as_str()),
        (RefusalKind::Room, "230002", "the bot is not in this group: add it there")
    );
    bot.feishu.add_bot(GROUP).await;
    bot.feishu.set_monthly_calls(Some(0));
    let refused = refusal(bot.post(&question, "k2", "looking …").await);
    assert_eq!((refused.code.as_str(), refused.remedy.contains("month")), ("99991403", true));
    bot.feishu.set_monthly_calls(None);
    bot.post(&question, "k3", "the next turn tries again").await.unwrap();
    bot.feishu.take_away("im:message:send_as_bot");
    let refused = refusal(bot.post(&question, "k4", "looking …").await);
    assert_eq!(refused.kind, RefusalKind::Permission);
    assert!(refused.remedy.contains("scope"), "{}", refused.remedy);
    bot.restarted(|config| config.app_secret = "wrong".into());
    assert_eq!(refusal(bot.post(&question, "k5", "looking …").await).kind, RefusalKind::Credentials);
}
