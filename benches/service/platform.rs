//! The simulated platforms behind one face: somebody asks in a conversation of its own, and the answer is watched for.

use std::{collections::BTreeMap, time::Duration};

use watchfloor_sim::{
    FeishuSim, SlackSim, TelegramSim,
    feishu::{self, FeishuConfig},
    slack::{self, SlackConfig},
    telegram::{self, TelegramConfig},
};

const ROOM: &str = "C0OPS";
const ASKER: &str = "U0ALICE";
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Slack,
    Telegram,
    Feishu,
}

pub(crate) enum Platform {
    Slack(SlackSim),
    Telegram(TelegramSim),
    Feishu(FeishuSim),
}

/// Where a question was asked, and the message that asks it.
pub(crate) struct Question {
    room: String,
    message: String,
}

/// When the bot's message came and when it was changed, on the platform's clock.
pub(crate) struct Answer {
    pub(crate) versions: Vec<Duration>,
}

impl Platform {
    pub(crate) async fn start(kind: Kind) -> Self {
        match kind {
            Kind::Slack => {
                let sim = SlackSim::start(SlackConfig { patience: PATIENCE, ..SlackConfig::default() }).await.unwrap();
                sim.add_person(ASKER, "Alice").await;
                sim.add_channel(ROOM, "ops").await;
                Self::Slack(sim)
            }
            Kind::Telegram => {
                let config = TelegramConfig { patience: PATIENCE, ..TelegramConfig::default() };
                Self::Telegram(TelegramSim::start(config).await.unwrap())
            }
            Kind::Feishu => {
                let config = FeishuConfig { patience: PATIENCE, ..FeishuConfig::default() };
                Self::Feishu(FeishuSim::start(config).await.unwrap())
            }
        }
    }

    /// Slack's budgets can be lifted, and are: what is measured is the service, not the platform's patience.
    pub(crate) fn configuration(&self, lifted: bool) -> String {
        let keys = match self {
            Self::Slack(sim) => {
                let budgets = if lifted { "posts_per_minute = 100000\nedits_per_minute = 100000\n" } else { "" };
                format!(
                    "kind = \"slack\"\napp_token = \"{}\"\nbot_token = \"{}\"\napi_url = \"{}\"\n{budgets}",
                    slack::APP_TOKEN,
                    slack::BOT_TOKEN,
                    sim.api_url()
                )
            }
            Self::Telegram(sim) => {
                format!(
                    "kind = \"telegram\"\nbot_token = \"{}\"\napi_url = \"{}\"\n",
                    telegram::BOT_TOKEN,
                    sim.api_url()
                )
            }
            Self::Feishu(sim) => format!(
                "kind = \"feishu\"\napp_id = \"{}\"\napp_secret = \"{}\"\nbase_url = \"{}\"\n",
                feishu::APP_ID,
                feishu::APP_SECRET,
                sim.base_url()
            ),
        };
        format!("[[channels]]\n{keys}allow_rooms = [\"*\"]\nallow_from = [\"*\"]\ndm_policy = \"open\"\n")
    }

    pub(crate) async fn connected(&self) {
        match self {
            Self::Slack(sim) => sim.connected(1).await,
            Self::Telegram(sim) => drop(sim.wait_for_calls("getUpdates", 1).await),
            Self::Feishu(sim) => sim.connected(1).await,
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        match self {
            Self::Slack(sim) => sim.elapsed(),
            Self::Telegram(sim) => sim.elapsed(),
            Self::Feishu(sim) => sim.elapsed(),
        }
    }

    /// Between two questions, so that no budget that can't be lifted makes a turn wait.
    pub(crate) fn pause(&self) -> Duration {
        Duration::from_millis(if matches!(self, Self::Slack(_)) { 20 } else { 400 })
    }

    /// In a thread on Slack, in somebody's private chat elsewhere: budgets of rooms would bound what is measured.
    pub(crate) async fn ask(&self, number: u32) -> Question {
        match self {
            Self::Slack(_) => self.ask_in_group().await,
            Self::Telegram(sim) => {
                let person = 10_000 + i64::from(number);
                sim.add_user(person, "Alice", None);
                let message = sim.say(person, person, "why is checkout slow?").await;
                Question { room: person.to_string(), message: message.to_string() }
            }
            Self::Feishu(sim) => {
                let person = format!("ou_person{number}");
                sim.add_person(&person, "Alice").await;
                let room = sim.p2p(&person);
                let message = sim.say(&person, &room, "why is checkout slow?").await;
                Question { room, message }
            }
        }
    }

    pub(crate) async fn ask_in_group(&self) -> Question {
        match self {
            Self::Slack(sim) => {
                let message = sim.say(ASKER, ROOM, "<@U0BOT> why is checkout slow?").await;
                Question { room: ROOM.to_owned(), message }
            }
            Self::Telegram(sim) => {
                let message = sim.say(telegram::ALICE, telegram::OPS, "@ops_bot why is checkout slow?").await;
                Question { room: telegram::OPS.to_string(), message: message.to_string() }
            }
            Self::Feishu(sim) => {
                let text = format!("{} why is checkout slow?", feishu::MENTION);
                let message = sim.say(feishu::ALICE, feishu::GROUP, &text).await;
                Question { room: feishu::GROUP.to_owned(), message }
            }
        }
    }

    /// The answer to that question, if its final text is there.
    fn answer(&self, question: &Question) -> Option<Answer> {
        let versions = match self {
            Self::Slack(sim) => {
                let thread = sim.messages(&question.room, Some(&question.message));
                let ours = thread.into_iter().find(|m| m.author == slack::Author::Bot && m.text().contains("pool"))?;
                ours.edits.iter().map(|edit| edit.at).collect()
            }
            Self::Telegram(sim) => {
                let chat = sim.messages(question.room.parse().unwrap());
                let ours = chat.into_iter().find(|m| m.author == telegram::Author::Bot && m.text().contains("pool"))?;
                ours.edits.iter().map(|edit| edit.at).collect()
            }
            Self::Feishu(sim) => {
                let chat = sim.messages(&question.room);
                let ours = chat.into_iter().find(|m| m.is_of_bot() && m.text().contains("pool"))?;
                ours.edits.iter().map(|edit| edit.at).collect()
            }
        };
        Some(Answer { versions })
    }

    pub(crate) async fn answered(&self, question: &Question) -> Answer {
        loop {
            if let Some(answer) = self.answer(question) {
                return answer;
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    }

    /// Waits until so many placeholders were asked for.
    pub(crate) async fn posted(&self, count: usize) {
        match self {
            Self::Slack(sim) => drop(sim.wait_for_calls("chat.postMessage", count).await),
            Self::Telegram(sim) => drop(sim.wait_for_calls("sendMessage", count).await),
            Self::Feishu(sim) => drop(sim.wait_for_calls("reply", count).await),
        }
    }

    /// How often each method was called so far.
    pub(crate) fn calls(&self) -> BTreeMap<String, usize> {
        let names: Vec<String> = match self {
            Self::Slack(sim) => sim.all_calls().into_iter().map(|call| call.method).collect(),
            Self::Telegram(sim) => sim.all_calls().into_iter().map(|call| call.method).collect(),
            Self::Feishu(sim) => sim.all_calls().into_iter().map(|call| call.name).collect(),
        };
        let mut calls = BTreeMap::new();
        for name in names {
            *calls.entry(name).or_default() += 1;
        }
        calls
    }

    /// Of Feishu's monthly quota.
    pub(crate) fn counted(&self) -> Option<u64> {
        match self {
            Self::Feishu(sim) => Some(sim.call_count()),
            Self::Slack(_) | Self::Telegram(_) => None,
        }
    }
}
