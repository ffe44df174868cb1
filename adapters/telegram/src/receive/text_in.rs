//! From Telegram's text and entities to plain text: our own mention removed, other people and addresses written out. Entities
//! count in UTF-16 units, and whoever sends them may be wrong. Pure. Whom a message addresses is left to `addressee`.

use super::updates::Entity;

/// Who we are, as mentions name us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) id: i64,
    pub(crate) username: String,
}

/// A part of the text that an entity marks, at a place that exists.
#[derive(Clone, Debug)]
pub(crate) struct Mark<'t> {
    /// Bytes.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) text: &'t str,
    pub(crate) entity: &'t Entity,
}

impl Own {
    pub(crate) fn is_named(&self, username: &str) -> bool {
        !username.is_empty() && username.eq_ignore_ascii_case(&self.username)
    }
}

impl Mark<'_> {
    /// `None`: no mention of a person.
    pub(crate) fn mentions(&self, own: &Own) -> Option<bool> {
        match self.entity.kind.as_str() {
            "mention" => Some(self.text.strip_prefix('@').is_some_and(|name| own.is_named(name))),
            "text_mention" => self.entity.user.as_ref().map(|user| user.id == own.id),
            _ => None,
        }
    }

    /// A command's name, and for whom it is said to be.
    pub(crate) fn command(&self) -> Option<(&str, Option<&str>)> {
        let command = self.text.strip_prefix('/').filter(|_| self.entity.kind == "bot_command")?;
        Some(command.split_once('@').map_or((command, None), |(name, whose)| (name, Some(whose))))
    }
}

/// The marked parts in their order. Places that don't exist, or cut a character in two, are left out.
pub(crate) fn marks<'t>(text: &'t str, entities: &'t [Entity]) -> Vec<Mark<'t>> {
    if entities.is_empty() {
        return Vec::new();
    }
    let places = places(text);
    let byte_at = |unit: usize| places.get(unit).copied().flatten();
    let mut marks: Vec<_> = entities
        .iter()
        .filter_map(|entity| {
            let (start, end) = (byte_at(entity.offset)?, byte_at(entity.offset.checked_add(entity.length)?)?);
            Some(Mark { start, end, text: text.get(start..end)?, entity })
        })
        .collect();
    marks.sort_by_key(|mark| (mark.start, std::cmp::Reverse(mark.end)));
    marks
}

/// For each UTF-16 unit, and for the end, the byte where its character begins; `None` within one.
fn places(text: &str) -> Vec<Option<usize>> {
    let mut places = Vec::with_capacity(text.len() + 1);
    for (byte, character) in text.char_indices() {
        places.push(Some(byte));
        places.extend((1..character.len_utf16()).map(|_| None));
    }
    places.push(Some(text.len()));
    places
}

/// What a reader sees. `from` leaves out what stands before that byte.
pub(crate) fn resolve(text: &str, marks: &[Mark<'_>], own: &Own, from: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = from;
    for mark in marks {
        if mark.start < at {
            continue;
        }
        let Some(written) = written_out(mark, own) else { continue };
        out.push_str(&text[at..mark.start]);
        at = mark.end;
        if written.is_empty() && (out.is_empty() || out.ends_with(char::is_whitespace)) {
            // "hey @us look" must not keep two spaces.
            at += text[at..].chars().next().filter(|next| *next == ' ').map_or(0, char::len_utf8);
        }
        out.push_str(&written);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out.trim().to_owned()
}

/// `None`: as it stands.
fn written_out(mark: &Mark<'_>, own: &Own) -> Option<String> {
    if mark.mentions(own) == Some(true) {
        return Some(String::new());
    }
    match mark.entity.kind.as_str() {
        // Somebody without a name of the `@` kind.
        "text_mention" => {
            let id = mark.entity.user.as_ref()?.id;
            Some(format!("@{} ({id})", mark.text.trim_start_matches('@')))
        }
        "text_link" => {
            let url = mark.entity.url.as_deref().filter(|url| !url.is_empty())?;
            let shown = mark.text.trim_end_matches('/');
            let bare = url.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches('/');
            let same = shown == bare || shown == url.trim_end_matches('/');
            Some(if same { url.to_owned() } else { format!("{} ({url})", mark.text) })
        }
        "bot_command" => {
            let (name, whose) = mark.command()?;
            own.is_named(whose?).then(|| format!("/{name}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn own() -> Own {
        Own { id: 6000, username: "ops_bot".into() }
    }

    fn entity(kind: &str, offset: usize, length: usize) -> Entity {
        Entity { kind: kind.into(), offset, length, ..Entity::default() }
    }

    fn read(text: &str, entities: serde_json::Value) -> String {
        let entities: Vec<Entity> = serde_json::from_value(entities).unwrap();
        resolve(text, &marks(text, &entities), &own(), 0)
    }

    /// B025, and the vectors of the reference.
    #[test]
    fn offsets_are_utf16_units() {
        for (text, part, offset, length) in [
            ("@ops_bot why is checkout slow?", "@ops_bot", 0, 8),
            ("🔥🔥 @ops_bot 支付失败", "@ops_bot", 5, 8),
            ("👩‍🚒 /status@ops_bot eu", "/status@ops_bot", 6, 15),
            ("⚠️ @ops_bot", "@ops_bot", 3, 8),
            ("e\u{301}clair @ops_bot", "@ops_bot", 8, 8),
        ] {
            let entities = [entity("mention", offset, length)];
            let found: Vec<_> = marks(text, &entities).iter().map(|mark| mark.text).collect();
            assert_eq!(found, [part], "{text}");
        }
    }

    #[test]
    fn entities_become_what_a_reader_sees() {
        let us = |at: usize| json!({"type": "mention", "offset": at, "length": 8});
        for (text, entities, expected) in [
            ("@ops_bot why?", json!([us(0)]), "why?"),
            ("hey @OPS_bot look", json!([us(4)]), "hey look"),
            ("🔥🔥 @ops_bot 支付失败", json!([us(5)]), "🔥🔥 支付失败"),
            ("ask @bob_eu", json!([{"type": "mention", "offset": 4, "length": 7}]), "ask @bob_eu"),
            (
                "ask Bob now",
                json!([{"type": "text_mention", "offset": 4, "length": 3, "user": {"id": 5002}}]),
                "ask @Bob (5002) now",
            ),
            ("Ops bot hi", json!([{"type": "text_mention", "offset": 0, "length": 7, "user": {"id": 6000}}]), "hi"),
            (
                "see the runbook, example.org",
                json!([{"type": "text_link", "offset": 8, "length": 7, "url": "https://example.org/r"},
                    {"type": "text_link", "offset": 17, "length": 11, "url": "https://example.org/"}]),
                "see the runbook (https://example.org/r), https://example.org/",
            ),
            ("👩‍🚒 /status@ops_bot eu", json!([{"type": "bot_command", "offset": 6, "length": 15}]), "👩‍🚒 /status eu"),
            ("plain `@ops_bot`", json!([{"type": "code", "offset": 6, "length": 10}]), "plain `@ops_bot`"),
            ("due tomorrow", json!([{"type": "date_time", "offset": 4, "length": 8, "unix_time": 1}]), "due tomorrow"),
            ("out of reach", json!([us(5), us(400), {"type": "mention", "offset": 1}]), "out of reach"),
        ] {
            assert_eq!(read(text, entities), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_offsets_are_read_without_panic(
            text in "[@/a-zé🔥\u{301}\u{200d}👩支 ]{0,20}",
            places in prop::collection::vec((0_usize..30, prop_oneof![0_usize..30, Just(usize::MAX)], 0..6_usize), 0..6),
        ) {
            let kinds = ["mention", "text_mention", "text_link", "bot_command", "bold", "date_time"];
            let entities: Vec<_> = places
                .into_iter()
                .map(|(offset, length, kind)| Entity {
                    url: Some("https://example.org".into()),
                    user: Some(Default::default()),
                    ..entity(kinds[kind], offset, length)
                })
                .collect();
            let marks = marks(&text, &entities);
            for from in (0..=text.len()).filter(|from| text.is_char_boundary(*from)) {
                resolve(&text, &marks, &own(), from);
            }
        }

        #[test]
        fn entities_of_kinds_we_do_not_know_change_nothing(text in "\\PC{0,30}", offset in 0_usize..30, length in 0_usize..30) {
            let entities = [entity("shape_of_next_year", offset, length)];
            prop_assert_eq!(resolve(&text, &marks(&text, &entities), &own(), 0), text.trim());
        }
    }
}
