//! Whether a message is for us, and whether it is a command. Pure. What comes of it is decided by the coordinator.

use watchfloor_channel::Addressed;

use super::{
    text_in::{self, Mark, Own},
    updates::Message,
};

/// What a message says, to whom, and how.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) addressed: Addressed,
    pub(crate) opens_with_other: bool,
    pub(crate) command: Option<String>,
    /// It names us, by mention or in a command.
    pub(crate) names_us: bool,
}

pub(crate) fn read(message: &Message, own: &Own) -> Said {
    let (text, entities) = message.said();
    let marks = text_in::marks(text, entities);
    let opening = opening(text, &marks, own);
    let named = |mark: &Mark<'_>| {
        mark.mentions(own) == Some(true)
            || mark.command().is_some_and(|(_, whose)| whose.is_some_and(|whose| own.is_named(whose)))
    };
    let names_us = marks.iter().any(named);
    let addressed = if message.chat.is_private() {
        Addressed::Direct
    } else if names_us || matches!(opening, Opening::Command { .. }) {
        Addressed::Mention
    } else if reply(message).is_some_and(|replied| replied.from.as_ref().is_some_and(|from| from.id == own.id)) {
        Addressed::Reply
    } else {
        Addressed::Overheard
    };
    let opens_with_other = matches!(opening, Opening::Other);
    match opening {
        Opening::Command { name, end } => {
            let rest = text_in::resolve(text, &marks, own, end);
            // What follows it is said to nobody: it stops whatever is at work.
            let text = if name == "stop" { name.clone() } else { rest };
            Said { text, addressed, opens_with_other, command: Some(name), names_us }
        }
        Opening::Us => {
            let text = text_in::resolve(text, &marks, own, 0);
            let text = text.trim_start_matches([':', ',']).trim_start().to_owned();
            Said { text, addressed, opens_with_other, command: None, names_us }
        }
        Opening::Other | Opening::Words => {
            Said { text: text_in::resolve(text, &marks, own, 0), addressed, opens_with_other, command: None, names_us }
        }
    }
}

/// The message a person chose to answer. In a topic, messages that answer nothing name the topic's first one.
pub(crate) fn reply(message: &Message) -> Option<&Message> {
    let replied = message.reply_to_message.as_deref()?;
    let is_topics_first = replied.forum_topic_created.is_some()
        || message.is_topic_message && Some(replied.message_id) == message.message_thread_id;
    (!is_topics_first).then_some(replied)
}

/// How a message begins.
enum Opening {
    Us,
    Other,
    Command { name: String, end: usize },
    Words,
}

fn opening(text: &str, marks: &[Mark<'_>], own: &Own) -> Opening {
    let mut at = 0;
    let mut opening = Opening::Words;
    for mark in marks {
        let begins = mark.start >= at
            && text[at..mark.start].trim_matches(|c: char| c.is_whitespace() || at > 0 && ":,".contains(c)).is_empty();
        if !begins {
            continue;
        }
        if let Some((name, whose)) = mark.command() {
            // A command for another bot is said to that bot.
            return match whose.is_none_or(|whose| own.is_named(whose)) {
                true => Opening::Command { name: name.to_lowercase(), end: mark.end },
                false => Opening::Other,
            };
        }
        match mark.mentions(own) {
            Some(true) => opening = Opening::Us,
            Some(false) if matches!(opening, Opening::Words) => return Opening::Other,
            Some(false) => return opening,
            None => continue,
        }
        at = mark.end;
    }
    opening
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(message: Value) -> Said {
        let own = Own { id: 6000, username: "ops_bot".into() };
        read(&serde_json::from_value(message).unwrap(), &own)
    }

    /// A message in a group, with its marks found as Telegram's apps find them.
    fn group(text: &str) -> Value {
        let mut entities = Vec::new();
        let mut offset = 0;
        for word in text.split_inclusive(char::is_whitespace) {
            let marked = word.trim_end().trim_end_matches([',', ':']);
            let kind = match marked.chars().next() {
                Some('@') => Some("mention"),
                Some('/') => Some("bot_command"),
                _ => None,
            };
            let length = marked.encode_utf16().count();
            entities.extend(kind.map(|kind| json!({"type": kind, "offset": offset, "length": length})));
            offset += word.encode_utf16().count();
        }
        json!({"message_id": 12, "chat": {"id": -4001, "type": "group"}, "text": text, "entities": entities})
    }

    fn addressed(message: Value) -> Addressed {
        said(message).addressed
    }

    #[test]
    fn a_group_message_is_ours_by_mention_command_or_reply() {
        for (text, wanted) in [
            ("@ops_bot why?", Addressed::Mention),
            ("why, @OPS_BOT", Addressed::Mention),
            ("@ops_bot2 why?", Addressed::Overheard),
            ("why?", Addressed::Overheard),
            ("/status", Addressed::Mention),
            ("/status@ops_bot", Addressed::Mention),
            ("please /status@ops_bot", Addressed::Mention),
            ("/status@other_bot", Addressed::Overheard),
            ("look at /var", Addressed::Overheard),
        ] {
            assert_eq!(addressed(group(text)), wanted, "{text}");
        }
        let mut reply = group("and now?");
        reply["reply_to_message"] = json!({"message_id": 11, "from": {"id": 6000, "is_bot": true}});
        assert_eq!(addressed(reply.clone()), Addressed::Reply);
        reply["reply_to_message"]["forum_topic_created"] = json!({"name": "Checkout"});
        assert_eq!(addressed(reply.clone()), Addressed::Overheard);
        reply["reply_to_message"] = json!({"message_id": 77, "from": {"id": 6000, "is_bot": true}});
        reply["message_thread_id"] = json!(77);
        reply["is_topic_message"] = json!(true);
        assert_eq!(addressed(reply), Addressed::Overheard);
        let mut private = group("why?");
        private["chat"] = json!({"id": 5001, "type": "private"});
        assert_eq!(addressed(private), Addressed::Direct);
    }

    #[test]
    fn a_mention_in_a_caption_counts() {
        let message = json!({"message_id": 12, "chat": {"id": -4001, "type": "group"}, "caption": "@ops_bot log attached",
            "caption_entities": [{"type": "mention", "offset": 0, "length": 8}], "document": {"file_id": "x"}});
        let read = said(message);
        assert_eq!((read.text.as_str(), read.addressed), ("log attached", Addressed::Mention));
    }

    #[test]
    fn a_command_opens_the_message_or_follows_our_mention() {
        let command = |name: &str| Some(name.to_owned());
        for (text, wanted) in [
            ("/Status@ops_bot eu-west", ("eu-west", command("status"))),
            ("/stop", ("stop", command("stop"))),
            ("@ops_bot /stop now", ("stop", command("stop"))),
            ("@ops_bot: /status eu", ("eu", command("status"))),
            ("@ops_bot: why?", ("why?", None)),
            ("@ops_bot, @ops_bot look", ("look", None)),
            ("why /stop", ("why /stop", None)),
            ("/stop@other_bot", ("/stop@other_bot", None)),
            ("@ops_bot @bob_eu says it is slow", ("@bob_eu says it is slow", None)),
        ] {
            let read = said(group(text));
            assert_eq!((read.text.as_str(), read.command), wanted, "{text}");
        }
    }

    #[test]
    fn a_message_that_opens_with_somebody_else_says_so() {
        let opens: Vec<_> = ["@bob_eu look", " @bob_eu", "@ops_bot @bob_eu", "look @bob_eu", "/stop@other_bot"]
            .map(|text| said(group(text)).opens_with_other)
            .into();
        assert_eq!(opens, [true, true, false, false, true]);
    }
}
