//! How a conversation's thread is written down: a forum topic, a chain of replies, or nothing. Which of them a message
//! belongs to is decided where messages are received.

use std::fmt;

/// The topic in which Telegram collects what belongs to no other. It must never be named in a call.
const GENERAL: i32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Thread {
    /// A private chat without topics, or General.
    Room,
    Topic(i32),
    /// A chain of replies in a group without topics, by the message that began it.
    Chain {
        /// Where that message stands; `None`: in the chat that gave the room its name.
        chat: Option<i64>,
        root: i32,
    },
}

impl Thread {
    /// `None`: not written by us.
    pub(crate) fn parse(written: &str) -> Option<Self> {
        let thread = match written.split_at_checked(1) {
            None => Self::Room,
            Some(("t", topic)) => Self::Topic(topic.parse().ok()?),
            Some(("m", chain)) => match chain.split_once(':') {
                Some((chat, root)) => Self::Chain { chat: Some(chat.parse().ok()?), root: root.parse().ok()? },
                None => Self::Chain { chat: None, root: chain.parse().ok()? },
            },
            Some(_) => return None,
        };
        // Only our own spelling: "t07" would be a second name for one topic.
        (thread.to_string() == written).then_some(thread)
    }

    /// As calls name it.
    pub(crate) fn topic(self) -> Option<i32> {
        match self {
            Self::Topic(topic) if topic != GENERAL => Some(topic),
            _ => None,
        }
    }
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Room => Ok(()),
            Self::Topic(topic) => write!(f, "t{topic}"),
            Self::Chain { chat: None, root } => write!(f, "m{root}"),
            Self::Chain { chat: Some(chat), root } => write!(f, "m{chat}:{root}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_again(topic: i32, chat: Option<i64>, root: i32) {
            for thread in [Thread::Room, Thread::Topic(topic), Thread::Chain { chat, root }] {
                prop_assert_eq!(Thread::parse(&thread.to_string()), Some(thread));
            }
        }

        #[test]
        fn whatever_is_read_is_our_own_spelling(written in "[tm]?[-+0-9:]{0,12}") {
            if let Some(thread) = Thread::parse(&written) {
                prop_assert_eq!(thread.to_string(), written);
            }
        }
    }

    #[test]
    fn threads_are_written_as_conversations_keep_them() {
        let table = [
            (Thread::Room, ""),
            (Thread::Topic(77), "t77"),
            (Thread::Chain { chat: None, root: 501 }, "m501"),
            (Thread::Chain { chat: Some(-1_001_234_567_890), root: 501 }, "m-1001234567890:501"),
        ];
        for (thread, written) in table {
            assert_eq!((thread.to_string().as_str(), Thread::parse(written)), (written, Some(thread)));
        }
        for foreign in ["77", "t", "m", "x77", "t07", "tt7", "m:5", "m5:", "é", "1767225600.000100"] {
            assert_eq!(Thread::parse(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn general_is_never_named() {
        assert_eq!(Thread::Topic(1).topic(), None);
        assert_eq!(Thread::Topic(77).topic(), Some(77));
        assert_eq!(Thread::Chain { chat: None, root: 5 }.topic(), None);
    }
}
