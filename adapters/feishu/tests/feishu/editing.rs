//! Edits of texts and removals: what Feishu refuses for good, and what only seemed to fail.

use std::time::Duration;

use watchfloor_channel::{Body, ChannelAdapter, RefusalKind, SendError};
use watchfloor_feishu::ReplyMode;
use watchfloor_sim::feishu::{Fault, GROUP, GROUP_MESSAGES};

use crate::desk::{Bot, refusal, tenant};

async fn bot() -> Bot {
    Bot::idle(tenant(), |config| config.call_timeout = Duration::from_secs(2)).await
}

#[tokio::test]
async fn an_edit_replaces_the_post_and_stays_a_post() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    let posted = bot.post(&question, "k1", "looking …").await.unwrap();
    assert_eq!(bot.edit(&posted, "the disk is full").await.unwrap(), posted);
    let kinds: Vec<_> = bot.feishu.edits(&posted.id).into_iter().map(|edit| (edit.text(), edit.kind)).collect();
    assert_eq!(kinds, [("looking …".into(), "post".into()), ("the disk is full".into(), "post".into())]);
}

#[tokio::test]
async fn the_twentieth_edit_is_the_last() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    let posted = bot.post(&question, "k1", "looking …").await.unwrap();
    for n in 0..bot.adapter.features().edit_budget.unwrap() {
        bot.edit(&posted, &format!("step {n}")).await.unwrap();
    }
    let refused = refusal(bot.edit(&posted, "found it").await);
    assert_eq!((refused.kind, refused.code.as_str()), (RefusalKind::NotEditable, "230072"));
    // An earlier process may have edited it for the twentieth time.
    assert_eq!(bot.feishu.calls("get").len(), 1);
}

#[tokio::test]
async fn a_last_edit_whose_answer_was_lost_is_looked_at_before_it_counts_as_refused() {
    let mut tenant = tenant();
    tenant.scopes.insert(GROUP_MESSAGES.to_owned());
    let bot = Bot::idle(tenant, |config| config.call_timeout = Duration::from_secs(2)).await;
    let question = bot.mention("why?").await;
    let posted = bot.post(&question, "k1", "looking …").await.unwrap();
    for n in 0..19 {
        bot.edit(&posted, &format!("step {n}")).await.unwrap();
    }
    let answer = "**db-1** is full: see [the runbook](https://example.org/r)\n\n- `df -h`\n- 97 %";
    bot.feishu.fault("edit", Fault::DropResponse);
    let lost = bot.edit(&posted, answer).await;
    assert!(matches!(lost, Err(SendError::Uncertain(_))), "{lost:?}");
    assert_eq!(bot.edit(&posted, answer).await.unwrap(), posted);
    assert_eq!(bot.feishu.calls("get").len(), 1);
    // Not what stands there.
    assert_eq!(refusal(bot.edit(&posted, "db-2 is full").await).kind, RefusalKind::NotEditable);
}

#[tokio::test]
async fn a_last_edit_before_a_restart_is_known_to_stand_there_after_it() {
    let mut tenant = tenant();
    tenant.scopes.insert(GROUP_MESSAGES.to_owned());
    let mut bot = Bot::idle(tenant, |_| {}).await;
    let question = bot.mention("why?").await;
    let posted = bot.post(&question, "k1", "looking …").await.unwrap();
    for n in 0..20 {
        bot.edit(&posted, &format!("step {n}")).await.unwrap();
    }
    bot.restarted(|_| {});
    assert_eq!(bot.edit(&posted, "step 19").await.unwrap(), posted);
    assert_eq!(refusal(bot.edit(&posted, "found it").await).kind, RefusalKind::NotEditable);
}

#[tokio::test]
async fn a_lost_edit_that_can_not_be_looked_at_counts_as_refused() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    let posted = bot.post(&question, "k1", "looking …").await.unwrap();
    bot.feishu.fault("edit", Fault::Hang);
    let lost = bot.edit(&posted, "found it").await;
    assert!(matches!(lost, Err(SendError::Uncertain(_))), "{lost:?}");
    bot.feishu.fault("edit", Fault::Code { code: 230_072, http: 400 });
    assert_eq!(refusal(bot.edit(&posted, "found it").await).kind, RefusalKind::NotEditable);
    assert_eq!(bot.feishu.calls("get").last().and_then(|call| call.code()), Some(230_027));
}

#[tokio::test]
async fn an_administrators_time_limit_means_that_a_new_message_is_needed() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    let posted = bot.post(&question, "k1", "looking …").await.unwrap();
    bot.feishu.close_edits();
    let refused = refusal(bot.edit(&posted, "found it").await);
    assert_eq!((refused.kind, refused.code.as_str()), (RefusalKind::NotEditable, "230075"));
    let next = bot.post(&question, "k2", "found it").await.unwrap();
    assert_eq!(bot.feishu.message(&next.id).kind(), "post");
}

#[tokio::test]
async fn what_is_gone_can_be_deleted_but_not_edited() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    let posted = bot.post(&question, "k1", "looking …").await.unwrap();
    for _ in 0..2 {
        assert_eq!(bot.delete(&posted).await.unwrap(), posted);
    }
    assert!(bot.feishu.message(&posted.id).recalled);
    assert_eq!(refusal(bot.edit(&posted, "found it").await).kind, RefusalKind::MessageGone);
}

#[tokio::test]
async fn what_can_not_be_recalled_any_more_stays_without_trouble() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    let posted = bot.post(&question, "k1", "looking …").await.unwrap();
    for code in [230_009, 230_026, 230_011, 230_110, 230_050, 99_992_354] {
        bot.feishu.fault("recall", Fault::Code { code, http: 400 });
        bot.delete(&posted).await.unwrap();
    }
    assert_eq!(bot.feishu.messages(GROUP).iter().filter(|message| message.id == posted.id).count(), 1);
}

#[tokio::test]
async fn a_text_gets_no_buttons_and_becomes_no_file() {
    let bot = bot().await;
    let question = bot.mention("why?").await;
    let posted = bot.post(&question, "k1", "looking …").await.unwrap();
    let refused = refusal(bot.edit_as(&posted, crate::cards::question()).await);
    assert_eq!(refused.kind, RefusalKind::NotEditable);
    assert_eq!(refusal(bot.edit_as(&posted, crate::files::answer()).await).kind, RefusalKind::NotEditable);
    assert_eq!(bot.feishu.calls("edit").len() + bot.feishu.calls("patch").len(), 0);
}

#[tokio::test]
async fn a_form_is_remembered_over_a_restart() {
    let mut bot = Bot::idle(tenant(), |config| config.reply_mode = ReplyMode::Text).await;
    let question = bot.mention("why?").await;
    let card = bot.post_as(&question, "k1", crate::cards::question()).await.unwrap();
    bot.restarted(|config| config.reply_mode = ReplyMode::Text);
    bot.edit_as(&card, Body::Markdown("no longer asked".into())).await.unwrap();
    assert_eq!((bot.feishu.calls("patch").len(), bot.feishu.calls("edit").len()), (1, 0));
    assert_eq!(bot.feishu.message(&card.id).text(), "no longer asked");
}
