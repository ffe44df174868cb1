//! What must not be configured twice, because the platform would hand each copy a part of what belongs together.

use secrecy::ExposeSecret;

use super::{
    channel::ChannelConfig,
    platform::{FeishuMode, Platform, Slack, SlackMode, TelegramMode},
};

/// Path, problem and remedy of each.
pub(super) fn find(channels: &[ChannelConfig]) -> Vec<(String, String, Option<String>)> {
    let mut found = Vec::new();
    for (index, channel) in channels.iter().enumerate() {
        let source = source(&channel.platform);
        let earlier =
            channels[..index].iter().position(|earlier| source.is_some() && self::source(&earlier.platform) == source);
        if let (Some(earlier), Some(source)) = (earlier, &source) {
            found.push((
                format!("channels[{index}].{}", source.key),
                format!("the same as that of channels[{earlier}]: {}", source.would),
                source.hint.map(str::to_owned),
            ));
        }
        if let Platform::Slack(slack) = &channel.platform {
            found.extend(workspaces_there_twice(index, slack));
        }
    }
    found
}

/// Where a channel's events come from, if only one may ask for them.
#[derive(PartialEq, Eq)]
struct Source<'a> {
    key: &'static str,
    /// Of the same platform: a simulated one has its own address.
    at: &'a str,
    secret: &'a str,
    would: &'static str,
    hint: Option<&'static str>,
}

fn source(platform: &Platform) -> Option<Source<'_>> {
    Some(match platform {
        Platform::Slack(slack) if slack.mode == SlackMode::Socket => Source {
            key: "app_token",
            at: slack.api_url.as_str(),
            secret: slack.app_token.as_ref()?.expose_secret(),
            would: "Slack would split the events between the two",
            hint: Some("list the other workspace's bot token in workspaces of one channel"),
        },
        Platform::Telegram(telegram) if telegram.mode == TelegramMode::Polling => Source {
            key: "bot_token",
            at: telegram.api_url.as_str(),
            secret: telegram.bot_token.as_ref()?.expose_secret(),
            would: "the two would take turns at breaking off each other's polls",
            hint: Some("one channel serves every chat of a bot"),
        },
        Platform::Feishu(feishu) if feishu.mode == FeishuMode::Socket => Source {
            key: "app_id",
            at: feishu.base_url.as_str(),
            secret: feishu.app_id.as_deref()?,
            would: "Feishu would split the events between the two",
            hint: Some("one channel serves every chat of an app"),
        },
        Platform::Slack(_) | Platform::Telegram(_) | Platform::Feishu(_) => return None,
    })
}

fn workspaces_there_twice(index: usize, slack: &Slack) -> Vec<(String, String, Option<String>)> {
    let mut tokens: Vec<&str> = slack.bot_token.iter().map(ExposeSecret::expose_secret).collect();
    let mut found = Vec::new();
    for workspace in &slack.workspaces {
        let token = workspace.bot_token.expose_secret();
        if tokens.contains(&token) {
            found.push((
                format!("channels[{index}].workspaces"),
                format!("the bot token of {} is there twice, expected one for each workspace", workspace.label),
                None,
            ));
        }
        tokens.push(token);
    }
    found
}
