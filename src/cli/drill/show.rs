//! The thread as it develops, line by line: who wrote what, and each new text of a message that is edited.

use std::{collections::HashMap, time::Duration};

use watchfloor_sim::{
    SlackSim,
    slack::{Author, Message},
};

use super::{super::say, scenario::Scenario};

pub(super) enum Show {
    Thread(Thread),
    Nothing,
}

#[derive(Default)]
pub(super) struct Thread {
    names: HashMap<String, String>,
    rooms: Vec<(String, String)>,
    /// How many texts of a message were shown.
    shown: HashMap<String, usize>,
    began: Option<Duration>,
}

impl Show {
    pub(super) fn begin(&mut self, scenario: &Scenario) {
        if let Self::Thread(thread) = self {
            let pair = |named: &super::scenario::Named| (named.id.clone(), named.name.clone());
            thread.names = scenario.people.iter().map(pair).collect();
            thread.rooms = scenario.rooms.iter().map(pair).collect();
            say(format_args!("{}: {}\n", scenario.name, scenario.about));
        }
    }

    /// Shows what is new.
    pub(super) fn look(&mut self, slack: &SlackSim) {
        if let Self::Thread(thread) = self {
            let mut news: Vec<_> = Vec::new();
            for (room, name) in thread.rooms.clone() {
                for message in slack.messages(&room, None) {
                    let seen = thread.shown.entry(message.ts.clone()).or_default();
                    for (number, edit) in message.edits.iter().enumerate().skip(*seen) {
                        news.push((edit.at, number > 0, name.clone(), message.clone(), edit.text.clone()));
                    }
                    *seen = message.edits.len();
                }
            }
            news.sort_by_key(|(at, ..)| *at);
            for (at, edited, room, message, text) in news {
                thread.print(at, edited, &room, &message, &text);
            }
        }
    }
}

impl Thread {
    fn print(&mut self, at: Duration, edited: bool, room: &str, message: &Message, text: &str) {
        let began = *self.began.get_or_insert(at);
        let author = match &message.author {
            Author::Person(id) => self.names.get(id).map_or(id.as_str(), String::as_str),
            Author::Bot => "watchfloor",
            Author::OtherBot(_) => "alerts",
        };
        let place = if message.thread_ts.is_some() { "  └ ".to_owned() } else { format!("#{room} ") };
        let sign = if edited { " (edited)" } else { "" };
        say(format_args!("{:>7.2} s  {place}{author}{sign}", at.saturating_sub(began).as_secs_f64()));
        let text = if text.is_empty() { message.everything() } else { text.to_owned() };
        let mut last = "";
        for line in text.trim().lines().filter(|line| !line.trim().is_empty()) {
            if line != last {
                say(format_args!("             {}", self.readable(line)));
            }
            last = line;
        }
        say("");
    }

    /// Ids as names.
    fn readable(&self, line: &str) -> String {
        let mut line = line.replace(watchfloor_sim::slack::bot_mention(), super::scenario::BOT);
        for (id, name) in &self.names {
            line = line.replace(&format!("<@{id}>"), &format!("@{name}"));
        }
        line.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    }
}
