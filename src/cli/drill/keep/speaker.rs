//! Who says the next words, and where: what was typed or ordered becomes a message on a simulated platform.

use super::super::{
    platform::{self, Kind, Platform},
    play::WasSaid,
    scenario::{Named, Scenario},
};

pub(super) const COMMANDS: &str =
    "/as NAME another person, /room NAME another room, /on PLATFORM another platform, /new a new thread, /quit";

/// What is to be said; what is absent is as it was last.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    pub text: String,
    pub platform: Option<Kind>,
    pub person: Option<String>,
    pub room: Option<String>,
    /// A message's id in the scenario, a thread that was answered before, or `new`.
    pub thread: Option<String>,
}

/// A message that was said.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct Said {
    pub platform: Kind,
    pub id: String,
    pub thread: String,
}

pub(super) struct Quit;

pub(super) struct Speaker<'a> {
    scenario: &'a Scenario,
    platforms: &'a [Box<dyn Platform>],
    said: &'a [WasSaid],
    /// The one that is spoken on.
    on: usize,
    person: &'a Named,
    room: &'a Named,
    /// Absent: the next words begin one.
    thread: Option<String>,
}

impl<'a> Speaker<'a> {
    /// Goes on where the scenario's last person spoke.
    pub(super) fn after(scenario: &'a Scenario, platforms: &'a [Box<dyn Platform>], said: &'a [WasSaid]) -> Self {
        let last = scenario.say.iter().rev().find(|said| said.person.is_some());
        let named = |all: &'a [Named], name: Option<&String>| {
            all.iter().find(|named| Some(&named.name) == name).or_else(|| all.first())
        };
        Self {
            scenario,
            platforms,
            said,
            on: 0,
            person: named(&scenario.people, last.and_then(|said| said.person.as_ref())).unwrap_or(&NOBODY),
            room: named(&scenario.rooms, last.map(|said| &said.room)).unwrap_or(&NOBODY),
            thread: said.first().and_then(|said| said.last.clone()),
        }
    }

    pub(super) fn place(&self) -> String {
        let thread = if self.thread.is_some() { "in the thread" } else { "in a new thread" };
        let on = match self.platforms.get(self.on) {
            Some(platform) if self.platforms.len() > 1 => format!(" on {}", platform.kind()),
            _ => String::new(),
        };
        format!("{} says it {thread} in #{}{on}", self.person.name, self.room.name)
    }

    /// Says it, or tells what is wrong with the order.
    pub(super) async fn say(&mut self, words: &Words) -> Result<Said, String> {
        if words.text.trim().is_empty() {
            return Err("text is empty".to_owned());
        }
        if let Some(kind) = words.platform {
            self.go_to(kind)?;
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
            Some(name) => {
                self.thread = Some(
                    self.said
                        .get(self.on)
                        .and_then(|said| said.named.get(name))
                        .cloned()
                        .unwrap_or_else(|| name.to_owned()),
                )
            }
        }
        let Some(platform) = self.platforms.get(self.on) else { return Err("nothing is played".to_owned()) };
        let (scenario, room, person) = (self.scenario, self.room, Some(self.person));
        let words = platform::Words { scenario, room, person, title: None, text: &words.text };
        let spoken = platform.say(words, self.thread.as_deref()).await;
        self.thread = Some(spoken.thread.clone());
        Ok(Said { platform: platform.kind(), id: spoken.id, thread: spoken.thread })
    }

    /// A line from the keyboard. Answers with what there is to tell.
    pub(super) async fn typed(&mut self, line: &str) -> Result<Option<String>, Quit> {
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let changed = match word {
            "" => return Ok(None),
            "/quit" => return Err(Quit),
            "/new" => {
                self.thread = None;
                Ok(())
            }
            "/as" => find("person", &self.scenario.people, rest.trim()).map(|person| self.person = person),
            "/on" => match <Kind as clap::ValueEnum>::from_str(rest.trim(), true) {
                Ok(kind) => self.go_to(kind),
                Err(_) => Err(format!("there is no platform {:?}, only {}", rest.trim(), self.known_platforms())),
            },
            "/room" => find("room", &self.scenario.rooms, rest.trim()).map(|room| self.enter(room)),
            // `/stop` is for the bot.
            word if word.starts_with('/') && word != "/stop" => Err(COMMANDS.to_owned()),
            _ => {
                let words = Words { text: line.trim().to_owned(), ..Words::default() };
                return Ok(self.say(&words).await.err());
            }
        };
        Ok(Some(changed.map_or_else(|problem| problem, |()| self.place())))
    }

    /// A thread belongs to its platform.
    fn go_to(&mut self, kind: Kind) -> Result<(), String> {
        let known = self.platforms.iter().position(|platform| platform.kind() == kind);
        let on = known.ok_or_else(|| format!("{kind} is not played, only {}", self.known_platforms()))?;
        if on != self.on {
            self.on = on;
            self.thread = self.said.get(on).and_then(|said| said.last.clone());
        }
        Ok(())
    }

    fn known_platforms(&self) -> String {
        self.platforms.iter().map(|platform| platform.kind().word()).collect::<Vec<_>>().join(", ")
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
    use super::*;
    use crate::cli::drill::scenario::Source;

    /// Who says what in which pane.
    fn seen(platform: &dyn Platform, scenario: &Scenario) -> Vec<Vec<String>> {
        let line = |line: &crate::cli::drill::show::Line| line.iter().map(|piece| piece.text.as_str()).collect();
        let text =
            |shown: &crate::cli::drill::show::Shown| shown.text.iter().map(line).collect::<Vec<String>>().join("\n");
        let pane = |pane: crate::cli::drill::show::Pane| {
            pane.messages.iter().map(|shown| format!("{}: {}", shown.author, text(shown))).collect()
        };
        platform.panes(scenario).into_iter().map(pane).collect()
    }

    #[tokio::test]
    async fn words_go_to_the_last_thread_until_somebody_or_some_other_place_is_named() {
        let scenario = Source::find("two-threads").unwrap().read().unwrap();
        let platforms = vec![platform::start(Kind::Slack, &scenario).await.unwrap()];
        let (maya, payments) = (&scenario.people[0], &scenario.rooms[0]);
        assert_eq!((maya.name.as_str(), payments.name.as_str()), ("Maya", "payments"));
        let page =
            platform::Words { scenario: &scenario, room: payments, person: Some(maya), title: None, text: "page" };
        let page = platforms[0].say(page, None).await;
        let said = [WasSaid { named: [("page".to_owned(), page.thread.clone())].into(), ..WasSaid::default() }];
        let mut speaker = Speaker::after(&scenario, &platforms, &said);
        assert_eq!(speaker.place(), "Sam says it in a new thread in #mail");

        assert!(matches!(speaker.typed("@watchfloor why?").await, Ok(None)));
        speaker.typed("and now?").await.ok();
        let told = |told: Result<Option<String>, Quit>| told.ok().flatten().unwrap_or_default();
        assert!(told(speaker.typed("/as maya").await).starts_with("Maya says it in the"));
        assert_eq!(told(speaker.typed("/as Bob").await), "there is no person \"Bob\", only Maya, Sam");
        assert_eq!(told(speaker.typed("/on telegram").await), "Telegram is not played, only slack");
        assert_eq!(told(speaker.typed("/on irc").await), "there is no platform \"irc\", only slack");
        assert_eq!(told(speaker.typed("/what").await), COMMANDS);
        let words = Words {
            text: "so?".into(),
            room: Some("payments".into()),
            thread: Some("page".into()),
            ..Words::default()
        };
        assert_eq!(speaker.say(&words).await.unwrap().thread, page.thread);
        let threads = [["Maya: page", "Maya: so?"], ["Sam: @watchfloor why?", "Sam: and now?"]];
        assert_eq!(seen(&*platforms[0], &scenario), threads);
        assert!(matches!(speaker.typed("/quit").await, Err(Quit)));
        for platform in platforms {
            platform.stop().await;
        }
    }
}
