//! The simulated Slack: people and rooms have the scenario's own ids; a pane for each thread, and one for each message at top
//! level that has none.

use std::{io, time::Duration};

use async_trait::async_trait;
use serde_json::{Value, json};
use watchfloor_sim::{
    SlackSim,
    slack::{self, Author, BOT_USER, Message, SlackConfig},
};

use super::{
    super::{
        scenario::{BOT, Scenario},
        show::{Pane, Shown, Who},
    },
    Kind, Platform, Spoken, TITLE_CHARS, Version, Words, mrkdwn, short,
};

pub(super) struct Slack(SlackSim);

impl Slack {
    pub(super) async fn start(scenario: &Scenario) -> io::Result<Self> {
        let sim = SlackSim::start(SlackConfig::default()).await?;
        for person in &scenario.people {
            sim.add_person(&person.id, &person.name).await;
        }
        for room in &scenario.rooms {
            sim.add_channel(&room.id, &room.name).await;
        }
        Ok(Self(sim))
    }
}

#[async_trait]
impl Platform for Slack {
    fn kind(&self) -> Kind {
        Kind::Slack
    }

    fn configuration(&self) -> String {
        format!(
            r#"
[[channels]]
kind = "slack"
name = "slack"
app_token = "{app}"
bot_token = "{bot}"
api_url = "{url}"
allow_rooms = ["*"]
dm_policy = "open"
"#,
            app = slack::APP_TOKEN,
            bot = slack::BOT_TOKEN,
            url = self.0.api_url(),
        )
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    async fn say(&self, words: Words<'_>, thread: Option<&str>) -> Spoken {
        let Words { room, person, title, .. } = words;
        let text = words.text.replace(BOT, self.0.bot_mention());
        let id = match (person, thread) {
            (Some(person), Some(thread)) => self.0.reply(&person.id, &room.id, thread, &text).await,
            (Some(person), None) => self.0.say(&person.id, &room.id, &text).await,
            (None, _) => {
                let attachment = json!([{"id": 1, "color": "d00000", "title": title, "text": text, "fallback": title}]);
                self.0.alert(&room.id, attachment).await
            }
        };
        let thread = thread.unwrap_or(&id).to_owned();
        Spoken { id, thread }
    }

    fn unheard(&self) -> usize {
        self.0.unheard()
    }

    fn ours(&self, scenario: &Scenario) -> Vec<super::Message> {
        let all = scenario.rooms.iter().flat_map(|room| self.0.messages(&room.id, None));
        let ours = all.filter(|message| message.author == Author::Bot);
        ours.map(|message| super::Message {
            thread: message.thread_ts.clone().unwrap_or_default(),
            versions: message.edits.into_iter().map(|edit| Version { at: edit.at, text: edit.text }).collect(),
        })
        .collect()
    }

    fn panes(&self, scenario: &Scenario) -> Vec<Pane> {
        panes(scenario, &self.0)
    }

    fn complaints(&self) -> Vec<String> {
        self.0.unread()
    }

    fn api(&self) -> String {
        format!("{} with the token {}", self.0.api_url(), slack::BOT_TOKEN)
    }

    async fn stop(self: Box<Self>) {
        self.0.stop().await;
    }
}

fn panes(scenario: &Scenario, slack: &SlackSim) -> Vec<Pane> {
    let mut panes: Vec<(String, Pane)> = Vec::new();
    for room in &scenario.rooms {
        for message in slack.messages(&room.id, None) {
            let root = message.thread_ts.clone().unwrap_or_else(|| message.ts.clone());
            let shown = shown(scenario, &message);
            match panes.iter_mut().find(|(known, _)| *known == root) {
                Some((_, pane)) => pane.messages.push(shown),
                None => panes.push((root, Pane { title: title(&room.name, &shown), messages: vec![shown] })),
            }
        }
    }
    panes.sort_by(|(a, _), (b, _)| a.cmp(b));
    panes.into_iter().map(|(_, pane)| pane).collect()
}

fn title(room: &str, root: &Shown) -> String {
    let text: String = root.text.first().into_iter().flatten().map(|piece| piece.text.as_str()).collect();
    format!("Slack #{room}: {}", short(&text, TITLE_CHARS))
}

fn shown(scenario: &Scenario, message: &Message) -> Shown {
    let called = |id: &str| match id {
        BOT_USER => Some("watchfloor".to_owned()),
        id => {
            scenario.people.iter().chain(&scenario.rooms).find(|named| named.id == id).map(|named| named.name.clone())
        }
    };
    let (author, who) = match &message.author {
        Author::Person(id) => (called(id).unwrap_or_else(|| id.clone()), Who::Person),
        Author::Bot => ("watchfloor".to_owned(), Who::Us),
        Author::OtherBot(_) => ("alerts".to_owned(), Who::OtherBot),
    };
    let text =
        if message.text().is_empty() { without_repeats(&message.everything()) } else { message.text().to_owned() };
    let at = |edit: Option<&watchfloor_sim::slack::Edit>| edit.map(|edit| edit.at).unwrap_or_default();
    Shown {
        id: message.ts.clone(),
        author,
        who,
        at: at(message.edits.first()),
        changed: at(message.edits.last()),
        edits: message.edits.len().saturating_sub(1),
        text: mrkdwn::lines(&text, &called),
        buttons: buttons(message.blocks.as_ref()),
    }
}

/// An attachment's fallback says the same as its title.
fn without_repeats(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// What the elements of `actions` blocks are called.
fn buttons(blocks: Option<&Value>) -> Vec<String> {
    let blocks = blocks.and_then(Value::as_array).into_iter().flatten().filter(|block| block["type"] == "actions");
    let elements = blocks.flat_map(|block| block["elements"].as_array().into_iter().flatten());
    elements
        .map(|element| {
            let label = element.pointer("/text/text").or_else(|| element.pointer("/placeholder/text"));
            let label = label.and_then(Value::as_str).unwrap_or("…");
            label.chars().filter(|c| !c.is_control()).collect()
        })
        .collect()
}
