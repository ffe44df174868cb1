//! The simulated Telegram: each room is a supergroup with topics, an alert opens a topic. A pane for each topic, and one for
//! what is said outside of them.

use std::{collections::BTreeMap, io, time::Duration};

use async_trait::async_trait;
use serde_json::Value;
use watchfloor_sim::{
    TelegramSim,
    telegram::{self, Author, Message, TelegramConfig},
};

use super::{
    super::{
        scenario::{BOT, Named, Scenario},
        show::{Line, Look, Pane, Piece, Shown, Who},
    },
    Kind, Platform, Spoken, Version, Words, short,
};

const ALERTS: i64 = 5_100;
const FIRST_PERSON: i64 = 5_101;
const FIRST_ROOM: i64 = -1_001_000_000_001;
const TOPIC_CHARS: usize = 60;

pub(super) struct Telegram(TelegramSim);

impl Telegram {
    pub(super) async fn start(scenario: &Scenario) -> io::Result<Self> {
        let config = TelegramConfig { can_read_all_group_messages: true, ..TelegramConfig::default() };
        let sim = TelegramSim::start(config).await?;
        sim.add_user(ALERTS, "alerts", None);
        for (person, id) in scenario.people.iter().zip(FIRST_PERSON..) {
            sim.add_user(id, &person.name, None);
        }
        for (room, nth) in scenario.rooms.iter().zip(0..) {
            sim.add_forum(FIRST_ROOM - nth, &room.name);
        }
        Ok(Self(sim))
    }

    fn messages(&self, chat: i64) -> Vec<Message> {
        // Opening a topic is a message of the platform itself.
        self.0
            .messages(chat)
            .into_iter()
            .filter(|message| !message.text().is_empty() || message.file.is_some())
            .collect()
    }
}

#[async_trait]
impl Platform for Telegram {
    fn kind(&self) -> Kind {
        Kind::Telegram
    }

    fn configuration(&self) -> String {
        format!(
            r#"
[[channels]]
kind = "telegram"
name = "telegram"
bot_token = "{token}"
api_url = "{url}"
allow_rooms = ["*"]
dm_policy = "open"
"#,
            token = telegram::BOT_TOKEN,
            url = self.0.api_url(),
        )
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    async fn say(&self, words: Words<'_>, thread: Option<&str>) -> Spoken {
        let people = &words.scenario.people;
        let chat = chat(words.scenario, words.room);
        let text = words.text.replace(BOT, &format!("@{}", telegram::BOT_USERNAME));
        let nth =
            words.person.and_then(|person| people.iter().zip(FIRST_PERSON..).find(|(one, _)| one.id == person.id));
        let user = nth.map_or(ALERTS, |(_, id)| id);
        let topic = match (words.person, thread.and_then(|thread| thread.parse().ok())) {
            (None, _) => Some(self.0.new_topic(chat, &short(words.title.unwrap_or(&text), TOPIC_CHARS)).await),
            (Some(_), topic) => topic,
        };
        let id = match topic {
            Some(topic) => self.0.say_in_topic(user, chat, topic, &text).await,
            None => self.0.say(user, chat, &text).await,
        };
        Spoken { id: id.to_string(), thread: topic.map(|topic| topic.to_string()).unwrap_or_default() }
    }

    fn unheard(&self) -> usize {
        self.0.unread().len()
    }

    fn ours(&self, scenario: &Scenario) -> Vec<super::Message> {
        let all = scenario.rooms.iter().flat_map(|room| self.messages(chat(scenario, room)));
        let ours = all.filter(|message| message.author == Author::Bot);
        ours.map(|message| super::Message {
            thread: format!("{} {:?}", message.chat, message.topic),
            versions: message.edits.into_iter().map(|edit| Version { at: edit.at, text: edit.text }).collect(),
        })
        .collect()
    }

    fn panes(&self, scenario: &Scenario) -> Vec<Pane> {
        let mut panes: BTreeMap<(i64, Option<i64>), Pane> = BTreeMap::new();
        for room in &scenario.rooms {
            for message in self.messages(chat(scenario, room)) {
                let pane = panes.entry((message.chat, message.topic)).or_insert_with(|| Pane {
                    title: format!("Telegram {}: {}", room.name, short(message.text(), super::TITLE_CHARS)),
                    messages: Vec::new(),
                });
                pane.messages.push(shown(scenario, &message));
            }
        }
        panes.into_values().collect()
    }

    fn complaints(&self) -> Vec<String> {
        [self.0.complaints(), self.0.unseen()].concat()
    }

    fn api(&self) -> String {
        format!("{} with the token {}", self.0.api_url(), telegram::BOT_TOKEN)
    }

    async fn stop(self: Box<Self>) {
        self.0.stop().await;
    }
}

fn chat(scenario: &Scenario, room: &Named) -> i64 {
    let nth = scenario.rooms.iter().zip(0..).find(|(one, _)| one.id == room.id);
    FIRST_ROOM - nth.map_or(0, |(_, nth)| nth)
}

fn shown(scenario: &Scenario, message: &Message) -> Shown {
    let (author, who) = match message.author {
        Author::Bot => ("watchfloor".to_owned(), Who::Us),
        Author::User(ALERTS) => ("alerts".to_owned(), Who::OtherBot),
        Author::User(id) => {
            let nth = usize::try_from(id - FIRST_PERSON).ok();
            let person = nth.and_then(|nth| scenario.people.get(nth));
            (person.map_or_else(|| id.to_string(), |person| person.name.clone()), Who::Person)
        }
        Author::Anonymous | Author::Channel | Author::Service => ("the group".to_owned(), Who::OtherBot),
    };
    let at = |version: Option<&telegram::Version>| version.map(|version| version.at).unwrap_or_default();
    Shown {
        id: format!("telegram {}/{}", message.chat, message.id),
        author,
        who,
        at: at(message.edits.first()),
        changed: at(message.edits.last()),
        edits: message.edits.len().saturating_sub(1),
        text: lines(message.text(), message.entities()),
        buttons: message.buttons().into_iter().map(|(label, _)| label).collect(),
    }
}

/// The looks of a text, unit by unit, as its entities say.
fn lines(text: &str, entities: &[Value]) -> Vec<Line> {
    let mut looks = vec![Look::default(); text.encode_utf16().count()];
    for entity in entities {
        let number = |key: &str| entity[key].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or_default();
        let (from, length) = (number("offset"), number("length"));
        for look in looks.iter_mut().skip(from).take(length) {
            match entity["type"].as_str().unwrap_or_default() {
                "bold" => look.bold = true,
                "italic" => look.italic = true,
                "strikethrough" => look.struck = true,
                "code" | "pre" => look.code = true,
                "text_link" | "url" | "text_mention" => look.link = true,
                "blockquote" => look.quote = true,
                _ => {}
            }
        }
    }
    let mut lines = vec![Line::new()];
    let mut unit = 0;
    for c in text.chars() {
        let look = looks.get(unit).copied().unwrap_or_default();
        unit += c.len_utf16();
        if c == '\n' {
            lines.push(Line::new());
            continue;
        }
        let Some(line) = lines.last_mut() else { continue };
        match line.last_mut().filter(|piece| piece.look == look) {
            Some(piece) => piece.text.push(c),
            None => line.push(Piece { text: c.to_string(), look }),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entities_count_in_utf16_and_may_lie_upon_each_other() {
        let piece = |text: &str, look: Look| Piece { text: text.to_owned(), look };
        let (plain, bold) = (Look::default(), Look { bold: true, ..Look::default() });
        let entities = [
            json!({"type": "bold", "offset": 3, "length": 4}),
            json!({"type": "code", "offset": 6, "length": 3}),
            json!({"type": "new_kind", "offset": 900, "length": 9}),
        ];
        assert_eq!(
            lines("🔥 up\nnow", &entities),
            [
                vec![piece("🔥 ", plain), piece("up", bold)],
                vec![piece("n", Look { code: true, ..bold }), piece("ow", Look { code: true, ..plain })],
            ]
        );
    }
}
