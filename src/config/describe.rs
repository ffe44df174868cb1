//! A configuration in a few lines for a terminal: what is on, what is off and why, who may talk where. No secrets.

use super::{ChannelConfig, Config, DmPolicy, FeishuMode, Platform, SlackMode, Source, TelegramMode, request_url};

pub fn describe(config: &Config) -> Vec<String> {
    let mut lines = vec![http(config), models(config), sources(config)];
    lines.extend(config.channels.iter().map(channel));
    lines.extend(config.channels.iter().filter_map(|channel| told_url(config, channel)));
    if config.channels.is_empty() {
        lines.push("channels: none".to_owned());
    }
    lines
}

fn http(config: &Config) -> String {
    let changes = match &config.hooks.changes_token {
        Some(_) => "open",
        None => "closed (hooks.changes_token not set)",
    };
    format!("http: {}; health; intake of changes: {changes}", config.server.listen)
}

fn models(config: &Config) -> String {
    let models = &config.models;
    let on: Vec<&str> = models
        .providers
        .iter()
        .filter(|(_, provider)| provider.is_configured())
        .map(|(name, _)| name.as_str())
        .collect();
    let on = if on.is_empty() { "none".to_owned() } else { on.join(", ") };
    format!("models: {}; providers that are on: {on}", models.default)
}

fn sources(config: &Config) -> String {
    let sources = &config.sources;
    let all = [
        ("prometheus", &sources.prometheus),
        ("loki", &sources.loki),
        ("tempo", &sources.tempo),
        ("alertmanager", &sources.alertmanager),
    ];
    let set: Vec<&str> = all.into_iter().filter(|(_, Source { url })| url.is_some()).map(|(name, _)| name).collect();
    format!("sources: {}", if set.is_empty() { "none".to_owned() } else { set.join(", ") })
}

fn channel(channel: &ChannelConfig) -> String {
    let head = format!("{} ({}, {})", channel.name, channel.kind().as_str(), channel.platform.mode());
    let missing = channel.missing();
    if !missing.is_empty() {
        return format!("{head}: off: {} not set", missing.join(", "));
    }
    format!("{head}: on: {}", who(channel))
}

/// Where the platform sends its events, if it sends them over HTTP: for its settings.
fn told_url(config: &Config, channel: &ChannelConfig) -> Option<String> {
    let over_http = match &channel.platform {
        Platform::Slack(slack) => slack.mode == SlackMode::Events,
        Platform::Telegram(telegram) => telegram.mode == TelegramMode::Webhook,
        Platform::Feishu(feishu) => feishu.mode == FeishuMode::Webhook,
    };
    if !over_http || !channel.missing().is_empty() {
        return None;
    }
    let name = &channel.name;
    Some(match config.server.public_url.as_ref().and_then(|public| request_url(public, name)) {
        Some(url) => format!("{name}: request URL: {url}"),
        None => format!("{name}: request URL: /channels/{name}/events (set server.public_url to see all of it)"),
    })
}

/// Who may talk to us where.
pub fn who(channel: &ChannelConfig) -> String {
    let access = &channel.access;
    let star = |list: &[String]| list.iter().any(|entry| entry == "*");
    let rooms = match access.allow_rooms.as_slice() {
        [] => "in no room (allow_rooms is empty)".to_owned(),
        rooms if star(rooms) => "in every room it is in".to_owned(),
        rooms => format!("in {}", rooms.join(", ")),
    };
    let people = match access.allow_from.as_slice() {
        [] => "everybody".to_owned(),
        people if star(people) => "everybody".to_owned(),
        people => people.join(", "),
    };
    let private = match access.dm_policy {
        DmPolicy::Disabled => "nobody",
        DmPolicy::Pairing | DmPolicy::Allowlist if access.allow_from.is_empty() => "nobody (allow_from is empty)",
        DmPolicy::Pairing | DmPolicy::Allowlist | DmPolicy::Open => &people,
    };
    format!("{people} {rooms}; private chats: {private}{}", rights(channel))
}

fn rights(channel: &ChannelConfig) -> String {
    let access = &channel.access;
    let lists = [("admins", &access.admins), ("operators", &access.operators), ("approvers", &access.approvers)];
    lists
        .into_iter()
        .filter(|(_, people)| !people.is_empty())
        .map(|(right, people)| format!("; {right}: {}", people.join(", ")))
        .collect()
}
