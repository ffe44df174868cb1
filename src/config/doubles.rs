//! What must not be configured twice, because Slack would hand each copy a part of what belongs together.

use secrecy::{ExposeSecret, SecretString};

use super::{
    channel::ChannelConfig,
    platform::{Platform, Slack, SlackMode},
};

/// Path, problem and remedy of each.
pub(super) fn find(channels: &[ChannelConfig]) -> Vec<(String, String, Option<String>)> {
    let slacks: Vec<_> = channels
        .iter()
        .enumerate()
        .filter_map(|(index, channel)| match &channel.platform {
            Platform::Slack(slack) => Some((index, slack)),
            Platform::Telegram(_) | Platform::Feishu(_) => None,
        })
        .collect();
    let mut found = Vec::new();
    for (nth, (index, slack)) in slacks.iter().enumerate() {
        if let Some((earlier, _)) = slacks[..nth].iter().find(|(_, earlier)| share_an_app(earlier, slack)) {
            found.push((
                format!("channels[{index}].app_token"),
                format!("the same as that of channels[{earlier}]: Slack would split the events between the two"),
                Some("list the other workspace's bot token in workspaces of one channel".to_owned()),
            ));
        }
        let mut tokens: Vec<&str> = slack.bot_token.iter().map(ExposeSecret::expose_secret).collect();
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
    }
    found
}

/// Of the same Slack: a simulated one has its own address.
fn share_an_app(one: &Slack, other: &Slack) -> bool {
    let token = |slack: &Slack| slack.app_token.as_ref().map(SecretString::expose_secret).map(str::to_owned);
    one.mode == SlackMode::Socket
        && other.mode == SlackMode::Socket
        && one.api_url == other.api_url
        && token(one).is_some()
        && token(one) == token(other)
}
