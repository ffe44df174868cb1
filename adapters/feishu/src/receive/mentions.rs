//! Who is mentioned, and a text with its placeholders written out. Pure. Which parts of a message are text is left to
//! `content`.

use serde_json::Value;

use super::wire::text;

const EVERYBODY: &str = "@_all";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// `@_user_1`, where the text has it.
    key: String,
    /// Empty for everybody.
    open_id: String,
    name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mentions(Vec<Mention>);

/// A piece of what was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Mention(Mention),
    Everybody,
}

impl Mentions {
    /// As events have them, or as messages that are read again do: there the id is plain text.
    pub(super) fn of(list: Option<&Value>) -> Self {
        let mention = |value: &Value| Mention {
            key: text(value, "/key").to_owned(),
            open_id: match value.get("id") {
                Some(Value::String(id)) => id.clone(),
                _ => text(value, "/id/open_id").to_owned(),
            },
            name: text(value, "/name").to_owned(),
        };
        Self(list.and_then(Value::as_array).into_iter().flatten().map(mention).collect())
    }

    /// Exactly this account, not one of the same name, and not everybody.
    pub(super) fn name(&self, open_id: &str) -> bool {
        !open_id.is_empty() && self.0.iter().any(|mention| mention.open_id == open_id && mention.key != EVERYBODY)
    }

    fn find(&self, key: &str) -> Option<Piece> {
        if key == EVERYBODY {
            return Some(Piece::Everybody);
        }
        self.0.iter().find(|mention| mention.key == key).cloned().map(Piece::Mention)
    }

    /// What an `at` node names: a placeholder, or in some places an id.
    pub(super) fn node(&self, user_id: &str, user_name: &str) -> Piece {
        if matches!(user_id, "all" | "@_all") {
            return Piece::Everybody;
        }
        let by_id = || self.0.iter().find(|mention| mention.open_id == user_id).cloned().map(Piece::Mention);
        self.find(user_id).or_else(by_id).unwrap_or_else(|| {
            let open_id = if user_id.starts_with("ou_") { user_id.to_owned() } else { String::new() };
            Piece::Mention(Mention { key: String::new(), open_id, name: user_name.to_owned() })
        })
    }

    /// Placeholders by the whole token: `@_user_1` is not the beginning of `@_user_10`.
    pub(super) fn pieces(&self, said: &str, pieces: &mut Vec<Piece>) {
        let mut plain = String::new();
        let mut rest = said;
        while let Some(at) = rest.find("@_") {
            let token = &rest[at..];
            let word = 2 + length(&token[2..], |c| c.is_ascii_alphanumeric() || c == '_');
            // A word may stand right behind the number.
            let number = token[..word].strip_prefix("@_user_").map(|rest| 7 + length(rest, |c| c.is_ascii_digit()));
            let all = token.starts_with(EVERYBODY).then_some(EVERYBODY.len());
            let found = [Some(word), number, all].into_iter().flatten().find_map(|end| {
                let piece = self.find(&token[..end])?;
                Some((end, piece))
            });
            plain.push_str(&rest[..at]);
            match found {
                Some((end, piece)) => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(piece);
                    rest = &token[end..];
                }
                None => {
                    plain.push_str("@_");
                    rest = &token[2..];
                }
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
    }
}

fn length(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

impl Piece {
    fn is_blank(&self) -> bool {
        matches!(self, Self::Text(text) if text.trim().is_empty())
    }

    fn is_of(&self, own: &str) -> bool {
        matches!(self, Self::Mention(mention) if !own.is_empty() && mention.open_id == own)
    }
}

/// The text as a reader sees it. Our own mention is gone where it opens or closes the message; inside it stays as a name, so
/// that a sentence about us keeps its meaning.
pub(super) fn write(mut pieces: &[Piece], own: &str) -> String {
    let is_address = |piece: &Piece| piece.is_of(own) || piece.is_blank();
    let mut addressed = false;
    while let Some((first, rest)) = pieces.split_first().filter(|(first, _)| is_address(first)) {
        addressed |= first.is_of(own);
        pieces = rest;
    }
    while let Some((_, rest)) = pieces.split_last().filter(|(last, _)| is_address(last)) {
        pieces = rest;
    }
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Everybody => out.push_str("@all"),
            Piece::Mention(Mention { open_id, name, .. }) if open_id.is_empty() || open_id == own => {
                out.push('@');
                out.push_str(name);
            }
            Piece::Mention(Mention { open_id, name, .. }) if name.is_empty() => {
                out.push('@');
                out.push_str(open_id);
            }
            Piece::Mention(Mention { open_id, name, .. }) => out.push_str(&format!("@{name} ({open_id})")),
        }
    }
    let said = out.trim();
    // "@us: why?" leaves "why?".
    let said = if addressed { said.trim_start_matches([':', ',', '：', '，', '、']).trim_start() } else { said };
    said.to_owned()
}

/// The text begins by mentioning somebody who isn't us.
pub(super) fn opens_with_other(pieces: &[Piece], own: &str) -> bool {
    let first = pieces.iter().find(|piece| !piece.is_blank());
    matches!(first, Some(piece @ Piece::Mention(_)) if !piece.is_of(own))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const US: &str = "ou_bot";

    fn mentions() -> Mentions {
        let mut list = vec![
            json!({"key": "@_user_1", "id": {"open_id": US}, "name": "Incident Bot", "mentioned_type": "bot"}),
            json!({"key": "@_user_2", "id": {"open_id": "ou_wei"}, "name": "Wei"}),
            json!({"key": "@_user_3", "id": {"open_id": "ou_quiet"}}),
            json!({"key": "@_user_4", "id": {"open_id": "ou_other"}, "name": "Incident Bot"}),
        ];
        let more = (5..13).map(
            |n| json!({"key": format!("@_user_{n}"), "id": {"open_id": format!("ou_{n}")}, "name": format!("P{n}")}),
        );
        list.extend(more);
        Mentions::of(Some(&json!(list)))
    }

    fn read(said: &str) -> (String, bool) {
        let mut pieces = Vec::new();
        mentions().pieces(said, &mut pieces);
        (write(&pieces, US), opens_with_other(&pieces, US))
    }

    #[test]
    fn b035_b036_placeholders_become_what_a_reader_sees() {
        for (said, expected) in [
            ("@_user_1 why is checkout slow?", "why is checkout slow?"),
            ("@_user_1: why?", "why?"),
            ("@_user_1，为什么慢？", "为什么慢？"),
            ("why? @_user_1", "why?"),
            (" @_user_1 @_user_1  ", ""),
            ("@_user_1 remind @_user_2 about the deploy", "remind @Wei (ou_wei) about the deploy"),
            ("ask @_user_1 and @_user_2", "ask @Incident Bot and @Wei (ou_wei)"),
            ("@_user_1 @_user_2", "@Wei (ou_wei)"),
            ("@_user_1 ask @_user_10, @_user_12 @_user_11", "ask @P10 (ou_10), @P12 (ou_12) @P11 (ou_11)"),
            ("@_user_2@_user_10x", "@Wei (ou_wei)@P10 (ou_10)x"),
            ("@_user_13 @_user_ @_x @ _", "@_user_13 @_user_ @_x @ _"),
            ("@_user_4 and @_user_3", "@Incident Bot (ou_other) and @ou_quiet"),
            ("@_all look", "@all look"),
            ("look @_all看", "look @all看"),
            (": not an address", ": not an address"),
        ] {
            assert_eq!(read(said).0, expected, "{said}");
        }
    }

    #[test]
    fn who_opens_a_message() {
        for (said, expected) in [
            ("@_user_2 can you look", true),
            (" @_user_2 @_user_1", true),
            ("@_user_1 ask @_user_2", false),
            ("hey @_user_2", false),
            ("@_all look", false),
            ("", false),
        ] {
            assert_eq!(read(said).1, expected, "{said}");
        }
    }

    #[test]
    fn only_the_exact_account_is_us() {
        let mentions = |list: Value| Mentions::of(Some(&list));
        assert!(mentions(json!([{"key": "@_user_1", "id": {"open_id": US}}])).name(US));
        assert!(mentions(json!([{"key": "@_user_1", "id": US, "id_type": "open_id"}])).name(US));
        for other in [
            json!([{"key": "@_user_1", "id": {"open_id": "ou_bot2"}, "name": "Incident Bot", "mentioned_type": "bot"}]),
            json!([{"key": "@_all", "id": {"open_id": "", "user_id": ""}, "name": "all"}]),
            json!([{"key": "@_all", "id": {"open_id": US}}]),
            json!([{"key": "@_user_1"}, {"key": "@_user_2", "id": null}, 7, null]),
            json!("@_user_1"),
            json!(null),
        ] {
            assert!(!mentions(other.clone()).name(US), "{other}");
        }
        assert!(!mentions(json!([{"key": "@_user_1", "id": {"open_id": ""}}])).name(""));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(said in "[@_userall0-9 é汉]{0,40}|\\PC{0,40}") {
            read(&said);
        }

        #[test]
        fn text_without_placeholders_is_kept(said in "[a-z0-9@_ äß汉]{0,40}") {
            prop_assume!(!said.contains("@_"));
            prop_assert_eq!(read(&said).0, said.trim());
        }
    }
}
