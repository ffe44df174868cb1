//! What ids look like on each platform. Names and titles can be taken over by anybody, so lists of people and rooms take
//! ids alone.

use super::{
    platform::ChannelKind,
    read::Section,
    tree::{Node, Value},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Rooms,
    People,
}

impl Section<'_> {
    /// A list of ids. `"*"` is everybody or everywhere; where that would be too much, `star` is false.
    pub(super) fn ids(&mut self, key: &str, kind: ChannelKind, of: Of, star: bool) -> Vec<String> {
        let mut ids = Vec::new();
        for (at, node) in self.list(key).unwrap_or_default() {
            match &node.value {
                Value::Text { text, .. } if (star && text == "*") || is_id(kind, of, text) => ids.push(text.clone()),
                _ => self.not_an_id(&at, &node, kind, of, star),
            }
        }
        ids
    }

    fn not_an_id(&self, at: &str, node: &Node, kind: ChannelKind, of: Of, star: bool) {
        let shape = match (kind, of) {
            (ChannelKind::Slack, Of::Rooms) => "the id of a Slack channel such as \"C0123456789\"",
            (ChannelKind::Slack, Of::People) => "the id of a Slack member such as \"U0123456789\"",
            (ChannelKind::Telegram, Of::Rooms) => "the number of a Telegram chat in quotes such as \"-1001234567890\"",
            (ChannelKind::Telegram, Of::People) => "the number of a Telegram user in quotes such as \"123456789\"",
            (ChannelKind::Feishu, Of::Rooms) => "the id of a Feishu chat such as \"oc_0123456789abcdef\"",
            (ChannelKind::Feishu, Of::People) => "the open id of a Feishu user such as \"ou_0123456789abcdef\"",
        };
        let expected = if star { format!("{shape}, or \"*\"") } else { shape.to_owned() };
        let hint = matches!(node.value, Value::Text { .. }).then(|| "names can be taken over, ids can't".to_owned());
        self.bad_with(at, node, &expected, hint);
    }
}

fn is_id(kind: ChannelKind, of: Of, text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let capitals = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
    let prefixed = |prefix: &str| {
        text.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
    };
    match (kind, of) {
        (ChannelKind::Slack, of) => {
            // In further workspaces of an app an id is written with its team, or with its organisation.
            let (home, id) = text.split_once('/').unwrap_or(("T0", text));
            let begins = if of == Of::Rooms { ['C', 'G', 'D'] } else { ['U', 'W', 'B'] };
            let is = |text: &str, begins: &[char]| text.len() > 1 && text.starts_with(begins) && capitals(text);
            is(home, &['T', 'E']) && is(id, &begins)
        }
        (ChannelKind::Telegram, Of::Rooms) => digits(text.strip_prefix('-').unwrap_or(text)),
        (ChannelKind::Telegram, Of::People) => digits(text),
        (ChannelKind::Feishu, Of::Rooms) => prefixed("oc_"),
        (ChannelKind::Feishu, Of::People) => prefixed("ou_"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_like_an_id_of_the_platform_is_one() {
        use ChannelKind::{Feishu, Slack, Telegram};
        let table = [
            (Slack, Of::Rooms, "C024BE91L", true),
            (Slack, Of::Rooms, "#incidents", false),
            (Slack, Of::Rooms, "incidents", false),
            (Slack, Of::Rooms, "T024BE7LD/C024BE91L", true),
            (Slack, Of::People, "E024BE7LD/W024BE7LH", true),
            (Slack, Of::Rooms, "C1/C2", false),
            (Slack, Of::Rooms, "T1/C2/C3", false),
            (Slack, Of::Rooms, "T1/", false),
            (Slack, Of::Rooms, "/C2", false),
            (Slack, Of::People, "U024BE7LH", true),
            (Slack, Of::People, "W1", true),
            (Slack, Of::People, "@alice", false),
            (Slack, Of::People, "Alice Ng", false),
            (Slack, Of::People, "Ursula", false),
            (Slack, Of::People, "C024BE91L", false),
            (Telegram, Of::Rooms, "-1001234567890", true),
            (Telegram, Of::People, "123456", true),
            (Telegram, Of::People, "-100123", false),
            (Telegram, Of::People, "@alice", false),
            (Telegram, Of::Rooms, "-", false),
            (Feishu, Of::Rooms, "oc_5ad11d72b830411d72b836c20", true),
            (Feishu, Of::People, "ou_7d8a6e6df7621556ce0d21922b676706ccs", true),
            (Feishu, Of::People, "oc_1", false),
            (Feishu, Of::People, "ou_", false),
            (Slack, Of::People, "*", false),
        ];
        for (kind, of, text, expected) in table {
            assert_eq!(is_id(kind, of, text), expected, "{kind:?} {of:?} {text}");
        }
    }
}
