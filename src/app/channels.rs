//! Each configured channel as an adapter, and who may talk there.

use std::sync::Arc;

use anyhow::Context;
use tokio::sync::watch;
use url::Url;
use watchfloor_channel::{ChannelAdapter, ChannelId, ChannelState, Notes, Now};
use watchfloor_feishu::{FeishuAdapter, FeishuConfig, ReplyMode};
use watchfloor_slack::{SlackAdapter, SlackConfig, Transport};
use watchfloor_telegram::{Intake, TelegramAdapter, TelegramConfig};

use crate::{
    clock::SharedClock,
    config::{self, ChannelConfig, Config, FeishuMode, Platform, SlackMode, TelegramMode},
    coordinator::{
        access::{Access, DmPolicy, IdList, ThreadFollow},
        late::{Late, LatePolicy},
    },
    http::{ChannelHealth, Figures},
    wording,
};

pub(crate) type Built = (ChannelConfig, Arc<dyn ChannelAdapter>);
/// Where the adapter of a channel keeps its notes.
pub(crate) type NotesOf<'a> = &'a dyn Fn(ChannelId) -> Arc<dyn Notes>;

/// Only what is configured. What lacks its tokens is off and was said to be.
pub(crate) fn adapters(config: &Config, clock: &SharedClock, notes: NotesOf<'_>) -> anyhow::Result<Vec<Built>> {
    let mut adapters = Vec::new();
    for channel in config.channels.iter().filter(|channel| channel.missing().is_empty()) {
        let id = ChannelId::new(&channel.name);
        let request_url = config.server.public_url.as_ref().and_then(|url| config::request_url(url, &channel.name));
        let adapter = match &channel.platform {
            Platform::Slack(config) => slack(id, config, clock),
            Platform::Telegram(config) => telegram(notes(id.clone()), id, config, request_url),
            Platform::Feishu(config) => feishu(notes(id.clone()), id, config, clock),
        };
        if let Some(adapter) = adapter.with_context(|| format!("channel {:?}", channel.name))? {
            adapters.push((channel.clone(), adapter));
        }
    }
    Ok(adapters)
}

fn slack(id: ChannelId, slack: &config::Slack, clock: &SharedClock) -> anyhow::Result<Option<Arc<dyn ChannelAdapter>>> {
    let Some((transport, bot_token)) = transport(slack, clock).zip(slack.bot_token.clone()) else { return Ok(None) };
    let limit = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let workspaces = slack.workspaces.iter().map(|workspace| watchfloor_slack::Workspace {
        label: workspace.label.clone(),
        bot_token: workspace.bot_token.clone(),
    });
    let config = SlackConfig {
        posts_per_minute: limit(slack.posts_per_minute),
        edits_per_minute: limit(slack.edits_per_minute),
        workspaces: workspaces.collect(),
        inbound_deadline: slack.inbound_deadline,
        ..SlackConfig::new(id, transport, bot_token, slack.api_url.clone())
    };
    Ok(Some(Arc::new(SlackAdapter::new(config)?)))
}

/// Where a platform sends its requests for this channel.
fn telegram(
    notes: Arc<dyn Notes>,
    id: ChannelId,
    telegram: &config::Telegram,
    request_url: Option<Url>,
) -> anyhow::Result<Option<Arc<dyn ChannelAdapter>>> {
    let Some(bot_token) = telegram.bot_token.clone() else { return Ok(None) };
    let intake = match (telegram.mode, &telegram.secret_token) {
        (TelegramMode::Polling, _) => Intake::Polling { poll_timeout: telegram.poll_timeout },
        (TelegramMode::Webhook, Some(secret)) => Intake::Webhook { secret_token: secret.clone(), url: request_url },
        (TelegramMode::Webhook, None) => return Ok(None),
    };
    let config = TelegramConfig {
        inbound_deadline: telegram.inbound_deadline,
        stop_description: wording::stop_command(),
        ..TelegramConfig::new(id, intake, bot_token, telegram.api_url.clone(), notes)
    };
    Ok(Some(Arc::new(TelegramAdapter::new(config)?)))
}

fn feishu(
    notes: Arc<dyn Notes>,
    id: ChannelId,
    feishu: &config::Feishu,
    clock: &SharedClock,
) -> anyhow::Result<Option<Arc<dyn ChannelAdapter>>> {
    let Some((app_id, app_secret)) = feishu.app_id.clone().zip(feishu.app_secret.clone()) else { return Ok(None) };
    let transport = match feishu.mode {
        FeishuMode::Socket => watchfloor_feishu::Transport::LongConnection,
        FeishuMode::Webhook => watchfloor_feishu::Transport::Webhook {
            verification_token: feishu.verification_token.clone(),
            encrypt_key: feishu.encrypt_key.clone(),
        },
    };
    let clock = clock.clone();
    let now = Now::new(move || clock.now_ms());
    let config = FeishuConfig {
        inbound_deadline: feishu.inbound_deadline,
        reply_mode: match feishu.reply_mode {
            config::ReplyMode::Auto => ReplyMode::Auto,
            config::ReplyMode::Text => ReplyMode::Text,
            config::ReplyMode::Card => ReplyMode::Card,
        },
        ..FeishuConfig::new(id, app_id, app_secret, feishu.base_url.clone(), transport, notes, now)
    };
    Ok(Some(Arc::new(FeishuAdapter::new(config)?)))
}

fn transport(slack: &config::Slack, clock: &SharedClock) -> Option<Transport> {
    Some(match slack.mode {
        SlackMode::Socket => Transport::Socket { app_token: slack.app_token.clone()? },
        SlackMode::Events => {
            let clock = clock.clone();
            let now = Now::new(move || clock.now_ms());
            Transport::Events { signing_secret: slack.signing_secret.clone()?, now }
        }
    })
}

/// A channel that somebody began to set up is a reason for health, one that nobody touched isn't.
pub(super) fn off(config: &Config) -> Vec<ChannelHealth> {
    let off = config.channels.iter().filter(|channel| channel.is_begun() && !channel.missing().is_empty());
    off.map(|channel| {
        let reason = format!("{} not set", channel.missing().join(", "));
        ChannelHealth {
            name: channel.name.clone(),
            kind: channel.kind().as_str(),
            state: watch::channel(ChannelState::Off(reason)).1,
            figures: Figures::default(),
        }
    })
    .collect()
}

pub(super) fn access(access: &config::Access, behaviour: &config::Behaviour) -> Access {
    Access {
        allow_rooms: IdList::new(access.allow_rooms.clone()),
        allow_from: IdList::new(access.allow_from.clone()),
        dm_policy: match access.dm_policy {
            config::DmPolicy::Pairing => DmPolicy::Pairing,
            config::DmPolicy::Allowlist => DmPolicy::Allowlist,
            config::DmPolicy::Open => DmPolicy::Open,
            config::DmPolicy::Disabled => DmPolicy::Disabled,
        },
        require_mention: behaviour.require_mention,
        thread_follow: match behaviour.thread_follow {
            config::ThreadFollow::Asker => ThreadFollow::Asker,
            config::ThreadFollow::All => ThreadFollow::All,
            config::ThreadFollow::Mention => ThreadFollow::Mention,
        },
        late: Late {
            after: behaviour.late_after,
            policy: match behaviour.late {
                config::Late::Note => LatePolicy::Note,
                config::Late::Skip => LatePolicy::Skip,
            },
        },
        admins: access.admins.clone(),
        operators: access.operators.clone(),
    }
}
