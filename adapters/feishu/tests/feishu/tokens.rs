//! The app's token: one fetch for all, renewed early, dropped when Feishu doesn't take it any more.

use std::time::Duration;

use futures::future::join_all;
use watchfloor_channel::{ChannelAdapter, MessageId, RefusalKind, SendError, Sign};
use watchfloor_sim::feishu::{Fault, GROUP};

use crate::desk::{Bot, refusal, tenant};

async fn bot() -> Bot {
    Bot::idle(tenant(), |config| config.call_timeout = Duration::from_secs(2)).await
}

async fn sign(bot: &Bot, question: &str) -> Result<(), SendError> {
    bot.adapter.react(&MessageId { room: GROUP.into(), id: question.into() }, Sign::Taken).await
}

#[tokio::test]
async fn callers_that_wait_share_one_token() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    bot.feishu.hold("token");
    let calls = join_all((0..8).map(|_| sign(&bot, &question)));
    let let_go = async {
        bot.feishu.wait_for_calls("token", 1).await;
        bot.feishu.let_go("token");
    };
    let (signed, ()) = tokio::join!(calls, let_go);
    assert!(signed.iter().all(Result::is_ok), "{signed:?}");
    assert_eq!(bot.feishu.calls("token").len(), 1);
}

#[tokio::test]
async fn a_revoked_token_is_replaced_once_for_all_and_each_call_is_repeated() {
    for status in [400, 200] {
        let bot = bot().await;
        let question = bot.mention("why?").await;
        sign(&bot, &question).await.unwrap();
        bot.feishu.set_stale_status(status);
        bot.feishu.expire_tokens();
        let signed = join_all((0..8).map(|_| sign(&bot, &question))).await;
        assert!(signed.iter().all(Result::is_ok), "{status}: {signed:?}");
        assert_eq!(bot.feishu.calls("token").len(), 2, "{status}");
        let posted = bot.post(&question, "k1", "looking …").await.unwrap();
        bot.feishu.expire_tokens();
        bot.edit(&posted, "found it").await.unwrap();
        assert_eq!(bot.feishu.message(&posted.id).text(), "found it");
    }
}

#[tokio::test]
async fn a_token_that_is_never_taken_is_asked_for_twice_and_no_more() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    bot.feishu.fault_times("react", Fault::Code { code: 99_991_663, http: 400 }, 2);
    let refused = refusal(sign(&bot, &question).await);
    assert_eq!((refused.kind, bot.feishu.calls("react").len()), (RefusalKind::Credentials, 2));
}

#[tokio::test]
async fn a_token_with_less_than_half_an_hour_left_is_renewed_while_it_is_used() {
    let mut tenant = tenant();
    tenant.token_life = Duration::from_secs(1_700);
    let bot = Bot::idle(tenant, |_| {}).await;
    let question = bot.mention("why?").await;
    sign(&bot, &question).await.unwrap();
    bot.feishu.hold("token");
    sign(&bot, &question).await.unwrap();
    bot.feishu.wait_for_calls("token", 2).await;
    sign(&bot, &question).await.unwrap();
    bot.feishu.let_go("token");
    bot.feishu.wait_for_answers("token", 2).await;
}

#[tokio::test]
async fn a_failed_renewal_does_not_cost_the_token_that_still_works() {
    let mut tenant = tenant();
    tenant.token_life = Duration::from_secs(1_700);
    let bot = Bot::idle(tenant, |_| {}).await;
    let question = bot.mention("why?").await;
    sign(&bot, &question).await.unwrap();
    bot.feishu.fault("token", Fault::Http(503));
    for _ in 0..5 {
        sign(&bot, &question).await.unwrap();
    }
    bot.feishu.wait_for_answers("token", 2).await;
    sign(&bot, &question).await.unwrap();
    assert_eq!(bot.feishu.calls("token").len(), 2, "not asked again at once");
}

#[tokio::test]
async fn without_a_token_nothing_has_happened() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    for fault in [Fault::Http(503), Fault::DropResponse, Fault::Hang, Fault::HtmlPage(200)] {
        bot.feishu.fault("token", fault.clone());
        let sent = bot.post(&question, "k1", "looking …").await;
        assert!(matches!(sent, Err(SendError::Unavailable(_))), "{fault:?}: {sent:?}");
    }
    for code in [10_003, 10_014, 10_015, 99_991_543] {
        bot.feishu.fault("token", Fault::Code { code, http: 200 });
        assert_eq!(refusal(bot.post(&question, "k1", "looking …").await).kind, RefusalKind::Credentials, "{code}");
    }
    assert_eq!(bot.feishu.calls("reply").len(), 0);
}
