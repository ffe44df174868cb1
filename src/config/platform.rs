//! What the platforms have of their own: tokens, modes, addresses.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::{
    read::{Choice, Section},
    tree::{Node, Value},
};

const SLACK_SILENCE: Duration = Duration::from_secs(45);
const TELEGRAM_SILENCE: Duration = Duration::from_secs(10);
const SHORTEST_SILENCE: Duration = Duration::from_millis(100);
const LONGEST_SILENCE: Duration = Duration::from_secs(10 * 60);
/// Telegram counts in seconds, and holds no poll longer.
const SHORTEST_POLL: Duration = Duration::from_secs(1);
const LONGEST_POLL: Duration = Duration::from_secs(50);

const LONGEST_SECRET_TOKEN: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    Slack,
    Telegram,
    Feishu,
}

#[derive(Clone, Debug)]
pub enum Platform {
    Slack(Slack),
    Telegram(Telegram),
    Feishu(Feishu),
}

#[derive(Clone, Debug)]
pub struct Slack {
    pub mode: SlackMode,
    pub app_token: Option<SecretString>,
    pub bot_token: Option<SecretString>,
    /// Further workspaces of the same app. An entry whose token is empty is ignored.
    pub workspaces: Vec<SlackWorkspace>,
    pub signing_secret: Option<SecretString>,
    pub api_url: Url,
    /// New messages per room, and edits over all rooms.
    pub posts_per_minute: usize,
    pub edits_per_minute: usize,
    /// A socket that is silent for this long is dead.
    pub inbound_deadline: Duration,
}

#[derive(Clone, Debug)]
pub struct SlackWorkspace {
    /// Its name, or else its key's path within the channel.
    pub label: String,
    pub bot_token: SecretString,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlackMode {
    Socket,
    Events,
}

#[derive(Clone, Debug)]
pub struct Telegram {
    pub mode: TelegramMode,
    pub bot_token: Option<SecretString>,
    pub secret_token: Option<SecretString>,
    pub api_url: Url,
    /// How long Telegram holds a poll open when there is nothing new.
    pub poll_timeout: Duration,
    /// A poll that is silent for this long beyond that is dead.
    pub inbound_deadline: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TelegramMode {
    Polling,
    Webhook,
}

#[derive(Clone, Debug)]
pub struct Feishu {
    pub mode: FeishuMode,
    pub app_id: Option<String>,
    pub app_secret: Option<SecretString>,
    pub verification_token: Option<SecretString>,
    pub encrypt_key: Option<SecretString>,
    pub base_url: Url,
    pub reply_mode: ReplyMode,
    /// A connection that is silent for this long is dead; `None` = by the interval of pings that the server names.
    pub inbound_deadline: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeishuMode {
    Socket,
    Webhook,
}

/// Which of Feishu's two kinds of message, and so which way to edit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyMode {
    Auto,
    Text,
    Card,
}

impl ChannelKind {
    pub(super) fn of(node: &Node) -> Option<Self> {
        match &node.value {
            Value::Text { text, .. } => Self::WORDS.iter().find(|(word, _)| word == text).map(|(_, kind)| *kind),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        self.word()
    }
}

impl Choice for ChannelKind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("slack", Self::Slack), ("telegram", Self::Telegram), ("feishu", Self::Feishu)];
}

impl Choice for SlackMode {
    const WORDS: &'static [(&'static str, Self)] = &[("socket", Self::Socket), ("events", Self::Events)];
}

impl Choice for TelegramMode {
    const WORDS: &'static [(&'static str, Self)] = &[("polling", Self::Polling), ("webhook", Self::Webhook)];
}

impl Choice for FeishuMode {
    const WORDS: &'static [(&'static str, Self)] = &[("socket", Self::Socket), ("webhook", Self::Webhook)];
}

impl Choice for ReplyMode {
    const WORDS: &'static [(&'static str, Self)] = &[("auto", Self::Auto), ("text", Self::Text), ("card", Self::Card)];
}

impl Platform {
    pub fn kind(&self) -> ChannelKind {
        match self {
            Self::Slack(_) => ChannelKind::Slack,
            Self::Telegram(_) => ChannelKind::Telegram,
            Self::Feishu(_) => ChannelKind::Feishu,
        }
    }

    pub fn mode(&self) -> &'static str {
        match self {
            Self::Slack(slack) => slack.mode.word(),
            Self::Telegram(telegram) => telegram.mode.word(),
            Self::Feishu(feishu) => feishu.mode.word(),
        }
    }

    /// The keys that this mode can't do without, and whether they are set.
    pub(super) fn needs(&self) -> Vec<(&'static str, bool)> {
        match self {
            Self::Slack(slack) => {
                let other = match slack.mode {
                    SlackMode::Socket => ("app_token", slack.app_token.is_some()),
                    SlackMode::Events => ("signing_secret", slack.signing_secret.is_some()),
                };
                vec![("bot_token", slack.bot_token.is_some()), other]
            }
            Self::Telegram(telegram) => {
                let mut needs = vec![("bot_token", telegram.bot_token.is_some())];
                if telegram.mode == TelegramMode::Webhook {
                    needs.push(("secret_token", telegram.secret_token.is_some()));
                }
                needs
            }
            Self::Feishu(feishu) => {
                let mut needs = vec![("app_id", feishu.app_id.is_some()), ("app_secret", feishu.app_secret.is_some())];
                if feishu.mode == FeishuMode::Webhook {
                    let either = feishu.verification_token.is_some() || feishu.encrypt_key.is_some();
                    needs.push(("verification_token or encrypt_key", either));
                }
                needs
            }
        }
    }

    pub(super) fn read(kind: ChannelKind, section: &mut Section<'_>) -> Option<Self> {
        Some(match kind {
            ChannelKind::Slack => Self::Slack(Slack {
                mode: section.choice("mode", SlackMode::Socket),
                app_token: section.secret("app_token"),
                bot_token: section.secret("bot_token"),
                workspaces: workspaces(section),
                signing_secret: section.secret("signing_secret"),
                api_url: address(section, "api_url", "https://slack.com/api/")?,
                posts_per_minute: section.count("posts_per_minute", 60, 1..=100_000),
                edits_per_minute: section.count("edits_per_minute", 45, 1..=100_000),
                inbound_deadline: section.duration(
                    "inbound_deadline",
                    SLACK_SILENCE,
                    SHORTEST_SILENCE..=LONGEST_SILENCE,
                ),
            }),
            ChannelKind::Telegram => Self::Telegram(Telegram {
                mode: section.choice("mode", TelegramMode::Polling),
                bot_token: section.secret("bot_token"),
                secret_token: secret_token(section),
                api_url: address(section, "api_url", "https://api.telegram.org")?,
                poll_timeout: section.duration("poll_timeout", LONGEST_POLL, SHORTEST_POLL..=LONGEST_POLL),
                inbound_deadline: section.duration(
                    "inbound_deadline",
                    TELEGRAM_SILENCE,
                    SHORTEST_SILENCE..=LONGEST_SILENCE,
                ),
            }),
            ChannelKind::Feishu => Self::Feishu(Feishu {
                mode: section.choice("mode", FeishuMode::Socket),
                app_id: section.text("app_id"),
                app_secret: section.secret("app_secret"),
                verification_token: section.secret("verification_token"),
                encrypt_key: section.secret("encrypt_key"),
                base_url: address(section, "base_url", "https://open.feishu.cn")?,
                reply_mode: section.choice("reply_mode", ReplyMode::Auto),
                inbound_deadline: Some(section.duration(
                    "inbound_deadline",
                    Duration::ZERO,
                    Duration::ZERO..=LONGEST_SILENCE,
                ))
                .filter(|deadline| !deadline.is_zero()),
            }),
        })
    }
}

fn workspaces(section: &mut Section<'_>) -> Vec<SlackWorkspace> {
    let read = |mut section: Section<'_>| {
        let entry = (section.text("name"), section.secret("bot_token"));
        section.close();
        Some(entry)
    };
    let entries = section.sections("workspaces", read).unwrap_or_default().into_iter().enumerate();
    let set = entries.filter_map(|(index, (name, bot_token))| {
        Some(SlackWorkspace { label: name.unwrap_or_else(|| format!("workspaces[{index}]")), bot_token: bot_token? })
    });
    set.collect()
}

/// Telegram takes no other and would never deliver anything. What is written there is not repeated.
fn secret_token(section: &mut Section<'_>) -> Option<SecretString> {
    let secret = section.secret("secret_token")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let token = secret.expose_secret();
    if !(1..=LONGEST_SECRET_TOKEN).contains(&token.len()) || !token.bytes().all(plain) {
        let problem = format!("expected 1 to {LONGEST_SECRET_TOKEN} letters, digits, _ and -, got something else");
        section.wrong_with("secret_token", problem, Some("openssl rand -hex 32 makes one".to_owned()));
        return None;
    }
    Some(secret)
}

/// An address below which the platform's methods lie: with the closing slash that joining needs.
fn address(section: &mut Section<'_>, key: &str, default: &str) -> Option<Url> {
    let mut url = section.url(key).or_else(|| Url::parse(default).ok())?;
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Some(url)
}
