//! The simulated Feishu: each room is a group, a thread is opened under its first message. A pane for each of them.

use std::{io, time::Duration};

use async_trait::async_trait;
use watchfloor_sim::{
    FeishuSim,
    feishu::{self, Author, Chat, ChatKind, FeishuConfig, Message},
};

use super::{
    super::{
        scenario::{BOT, Named, Scenario},
        show::{Pane, Shown, Who},
    },
    Kind, Platform, Spoken, Version, Words, markdown, short,
};

const ALERTS: &str = "ou_alerts";

pub(super) struct Feishu(FeishuSim);

impl Feishu {
    pub(super) async fn start(scenario: &Scenario) -> io::Result<Self> {
        let mut config = FeishuConfig::default();
        // What is said in a thread without a mention is context.
        config.scopes.insert(feishu::GROUP_MESSAGES.to_owned());
        let sim = FeishuSim::start(config).await?;
        sim.add_person(ALERTS, "alerts").await;
        for person in &scenario.people {
            sim.add_person(&id("ou", person), &person.name).await;
        }
        for room in &scenario.rooms {
            sim.add_chat(&id("oc", room), Chat::new(&room.name, ChatKind::Group)).await;
        }
        Ok(Self(sim))
    }
}

/// Ids of Slack become ids of Feishu.
fn id(prefix: &str, named: &Named) -> String {
    format!("{prefix}_{}", named.id.to_lowercase())
}

#[async_trait]
impl Platform for Feishu {
    fn kind(&self) -> Kind {
        Kind::Feishu
    }

    fn configuration(&self) -> String {
        format!(
            r#"
[[channels]]
kind = "feishu"
name = "feishu"
app_id = "{app}"
app_secret = "{secret}"
base_url = "{url}"
allow_rooms = ["*"]
dm_policy = "open"
"#,
            app = feishu::APP_ID,
            secret = feishu::APP_SECRET,
            url = self.0.base_url(),
        )
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    async fn say(&self, words: Words<'_>, thread: Option<&str>) -> Spoken {
        let room = id("oc", words.room);
        let text = words.text.replace(BOT, feishu::MENTION);
        let said = match (words.person, thread) {
            (Some(person), Some(thread)) => self.0.reply_in_thread(&id("ou", person), thread, &text).await,
            (Some(person), None) => self.0.say(&id("ou", person), &room, &text).await,
            (None, _) => {
                let title = words.title.map(|title| format!("{title}\n")).unwrap_or_default();
                self.0.say_as_bot(ALERTS, &room, &format!("{title}{text}")).await
            }
        };
        Spoken { thread: thread.unwrap_or(&said).to_owned(), id: said }
    }

    fn unheard(&self) -> usize {
        self.0.unacked().len()
    }

    fn ours(&self, scenario: &Scenario) -> Vec<super::Message> {
        let all = scenario.rooms.iter().flat_map(|room| self.0.messages(&id("oc", room)));
        let ours = all.filter(Message::is_of_bot);
        ours.map(|message| super::Message {
            thread: root(&message),
            versions: message.edits.iter().map(|edit| Version { at: edit.at, text: edit.text() }).collect(),
        })
        .collect()
    }

    fn panes(&self, scenario: &Scenario) -> Vec<Pane> {
        let mut panes: Vec<(String, Pane)> = Vec::new();
        for room in &scenario.rooms {
            for message in self.0.messages(&id("oc", room)) {
                let root = root(&message);
                let shown = shown(scenario, &message, self.0.buttons(&message.id));
                match panes.iter_mut().find(|(known, _)| *known == root) {
                    Some((_, pane)) => pane.messages.push(shown),
                    None => {
                        let title = format!("Feishu {}: {}", room.name, short(&message.text(), super::TITLE_CHARS));
                        panes.push((root, Pane { title, messages: vec![shown] }));
                    }
                }
            }
        }
        panes.into_iter().map(|(_, pane)| pane).collect()
    }

    fn complaints(&self) -> Vec<String> {
        [self.0.complaints(), self.0.unread()].concat()
    }

    fn api(&self) -> String {
        format!("{} with app_id {} and app_secret {}", self.0.base_url(), feishu::APP_ID, feishu::APP_SECRET)
    }

    async fn stop(self: Box<Self>) {
        self.0.stop().await;
    }
}

fn root(message: &Message) -> String {
    message.root.clone().unwrap_or_else(|| message.id.clone())
}

fn shown(scenario: &Scenario, message: &Message, buttons: Vec<(String, serde_json::Value)>) -> Shown {
    let (author, who) = match &message.author {
        Author::Bot => ("watchfloor".to_owned(), Who::Us),
        Author::OtherBot(_) => ("alerts".to_owned(), Who::OtherBot),
        Author::Person(open_id) => {
            let person = scenario.people.iter().find(|person| id("ou", person) == *open_id);
            (person.map_or_else(|| open_id.clone(), |person| person.name.clone()), Who::Person)
        }
    };
    // What people say has its mentions as numbers.
    let mut text = message.text();
    for mention in message.mentions.iter().rev() {
        text = text.replace(&mention.key, &format!("@{}", mention.name));
    }
    let at = |edit: Option<&feishu::Edit>| edit.map(|edit| edit.at).unwrap_or_default();
    Shown {
        id: format!("feishu {}", message.id),
        author,
        who,
        at: at(message.edits.first()),
        changed: at(message.edits.last()),
        edits: message.edits.len().saturating_sub(1),
        text: markdown::lines(&text),
        buttons: buttons.into_iter().map(|(label, _)| label).collect(),
    }
}
