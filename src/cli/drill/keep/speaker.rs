//! Who says the next words, and where: what was typed or ordered becomes a message in the simulated Slack.

use watchfloor_sim::SlackSim;

use super::super::{
    play::WasSaid,
    scenario::{BOT, Named, Scenario},
};

pub(super) const COMMANDS: &str = "/as NAME another person, /room NAME another room, /new a new thread, /quit";

/// What is to be said; what is absent is as it was last.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    pub text: String,
    pub person: Option<String>,
    pub room: Option<String>,
    /// A message's id in the scenario, a `ts`, or `new`.
    pub thread: Option<String>,
}

/// A message that was said.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct Said {
    pub ts: String,
    pub thread: String,
}

pub(super) struct Quit;

pub(super) struct Speaker<'a> {
    scenario: &'a Scenario,
    said: &'a WasSaid,
    person: &'a Named,
    room: &'a Named,
    /// Absent: the next words begin one.
    thread: Option<String>,
}

impl<'a> Speaker<'a> {
    /// Goes on where the scenario's last person spoke.
    pub(super) fn after(scenario: &'a Scenario, said: &'a WasSaid) -> Self {
        let last = scenario.say.iter().rev().find(|said| said.person.is_some());
        let named = |all: &'a [Named], name: Option<&String>| {
            all.iter().find(|named| Some(&named.name) == name).or_else(|| all.first())
        };
        Self {
            scenario,
            said,
            person: named(&scenario.people, last.and_then(|said| said.person.as_ref())).unwrap_or(&NOBODY),
            room: named(&scenario.rooms, last.map(|said| &said.room)).unwrap_or(&NOBODY),
            thread: said.last.clone(),
        }
    }

    pub(super) fn place(&self) -> String {
        let thread = if self.thread.is_some() { "in the thread" } else { "in a new thread" };
        format!("{} says it {thread} in #{}", self.person.name, self.room.name)
    }

    /// Says it, or tells what is wrong with the order.
    pub(super) async fn say(&mut self, slack: &SlackSim, words: &Words) -> Result<Said, String> {
        if words.text.trim().is_empty() {
            return Err("text is empty".to_owned());
        }
        if let Some(name) = &words.person {
            self.person = find("person", &self.scenario.people, name)?;
        }
        if let Some(name) = &words.room {
            self.enter(find("room", &self.scenario.rooms, name)?);
        }
        match words.thread.as_deref() {
            None => {}
            Some("new") => self.thread = None,
            Some(name) => self.thread = Some(self.said.named.get(name).cloned().unwrap_or_else(|| name.to_owned())),
        }
        let text = words.text.replace(BOT, slack.bot_mention());
        let ts = match &self.thread {
            Some(thread) => slack.reply(&self.person.id, &self.room.id, thread, &text).await,
            None => slack.say(&self.person.id, &self.room.id, &text).await,
        };
        let thread = self.thread.get_or_insert_with(|| ts.clone()).clone();
        Ok(Said { ts, thread })
    }

    /// A line from the keyboard. Answers with what there is to tell.
    pub(super) async fn typed(&mut self, slack: &SlackSim, line: &str) -> Result<Option<String>, Quit> {
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let changed = match word {
            "" => return Ok(None),
            "/quit" => return Err(Quit),
            "/new" => {
                self.thread = None;
                Ok(())
            }
            "/as" => find("person", &self.scenario.people, rest.trim()).map(|person| self.person = person),
            "/room" => find("room", &self.scenario.rooms, rest.trim()).map(|room| self.enter(room)),
            // `/stop` is for the bot.
            word if word.starts_with('/') && word != "/stop" => Err(COMMANDS.to_owned()),
            _ => {
                let words = Words { text: line.trim().to_owned(), ..Words::default() };
                return Ok(self.say(slack, &words).await.err());
            }
        };
        Ok(Some(changed.map_or_else(|problem| problem, |()| self.place())))
    }

    /// A thread belongs to its room.
    fn enter(&mut self, room: &'a Named) {
        if room.id != self.room.id {
            self.thread = None;
        }
        self.room = room;
    }
}

/// A scenario without people or rooms can't be played, so nobody ever speaks as this.
static NOBODY: Named = Named { id: String::new(), name: String::new() };

fn find<'a>(what: &str, all: &'a [Named], name: &str) -> Result<&'a Named, String> {
    let known = || all.iter().map(|named| named.name.as_str()).collect::<Vec<_>>().join(", ");
    let wanted = name.trim_start_matches(['@', '#']);
    let found = all.iter().find(|named| named.name.eq_ignore_ascii_case(wanted));
    found.ok_or_else(|| format!("there is no {what} {name:?}, only {}", known()))
}

#[cfg(test)]
mod tests {
    use watchfloor_sim::slack::SlackConfig;

    use super::*;
    use crate::cli::drill::scenario::Source;

    #[tokio::test]
    async fn words_go_to_the_last_thread_until_somebody_or_some_other_place_is_named() {
        let scenario = Source::find("two-threads").unwrap().read().unwrap();
        let slack = SlackSim::start(SlackConfig::default()).await.unwrap();
        for person in &scenario.people {
            slack.add_person(&person.id, &person.name).await;
        }
        for room in &scenario.rooms {
            slack.add_channel(&room.id, &room.name).await;
        }
        let page = slack.say("U0MAYA", "C0PAY", "page").await;
        let said = WasSaid { named: [("page".to_owned(), page.clone())].into(), last: None };
        let mut speaker = Speaker::after(&scenario, &said);
        assert_eq!(speaker.place(), "Sam says it in a new thread in #mail");

        let first = speaker.typed(&slack, "@watchfloor why?").await;
        assert!(matches!(first, Ok(None)));
        let begun = slack.messages("C0MAIL", None);
        assert_eq!((begun.len(), begun[0].text()), (1, "<@U0BOT> why?"));
        speaker.typed(&slack, "and now?").await.ok();
        assert_eq!(slack.messages("C0MAIL", Some(&begun[0].ts)).len(), 2);

        assert!(
            matches!(speaker.typed(&slack, "/as maya").await, Ok(Some(told)) if told.starts_with("Maya says it in the"))
        );
        assert!(
            matches!(speaker.typed(&slack, "/as Bob").await, Ok(Some(told)) if told == "there is no person \"Bob\", only Maya, Sam")
        );
        assert!(matches!(speaker.typed(&slack, "/what").await, Ok(Some(told)) if told == COMMANDS));
        let words = Words {
            text: "so?".into(),
            room: Some("payments".into()),
            thread: Some("page".into()),
            ..Words::default()
        };
        assert_eq!(speaker.say(&slack, &words).await.unwrap().thread, page);
        assert_eq!(slack.messages("C0PAY", Some(&page)).last().unwrap().text(), "so?");
        assert!(matches!(speaker.typed(&slack, "/quit").await, Err(Quit)));
        slack.stop().await;
    }
}
