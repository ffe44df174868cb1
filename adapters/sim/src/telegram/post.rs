//! A message as somebody composes it in an app: text with entities, topic, reply, file. Sending it is `people`'s.

use serde_json::{Map, Value, json};

use super::{
    entities::{self, Entity, utf16},
    files::SimFile,
};

/// Where the apps cut a long paste, in UTF-16 units.
const PASTE: usize = 4096;

/// A message that somebody is about to send.
#[derive(Clone, Debug, Default)]
pub struct Post {
    pub(super) text: String,
    entities: Vec<Entity>,
    pub(super) topic: Option<i64>,
    pub(super) reply_to: Option<i64>,
    pub(super) file: Option<SimFile>,
    pub(super) extra: Map<String, Value>,
}

impl Post {
    /// What is typed: code between backticks becomes an entity, as in the apps.
    pub fn text(text: &str) -> Self {
        let (text, entities) = entities::typed(text);
        Self { text, entities, ..Self::default() }
    }

    /// The text is its caption.
    pub fn file(file: SimFile, caption: &str) -> Self {
        Self { file: Some(file), ..Self::text(caption) }
    }

    #[must_use]
    pub fn in_topic(self, topic: i64) -> Self {
        Self { topic: Some(topic), ..self }
    }

    #[must_use]
    pub fn reply_to(self, id: i64) -> Self {
        Self { reply_to: Some(id), ..self }
    }

    /// Marks the first occurrence of `part` as a mention of a user without username.
    #[must_use]
    pub fn naming(self, part: &str, user: i64) -> Self {
        self.marked(part, "text_mention", json!({"user": {"id": user, "is_bot": false, "first_name": part}}))
    }

    /// Marks the first occurrence of `part` with any entity, known or not.
    ///
    /// # Panics
    /// If the text has no such part.
    #[must_use]
    pub fn marked(mut self, part: &str, kind: &str, more: Value) -> Self {
        let at = self.text.find(part).unwrap_or_else(|| panic!("no {part:?} in {:?}", self.text));
        let mut entity = Entity::new(kind, utf16(&self.text[..at]), utf16(part));
        if let Value::Object(more) = more {
            entity.more = more;
        }
        self.entities.push(entity);
        self
    }

    /// A further field of the message on the wire.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.extra.insert(field.to_owned(), value);
        self
    }

    pub(super) fn entities(&self) -> Vec<Value> {
        let mut all = self.entities.clone();
        all.extend(entities::found(&self.text, &self.entities));
        all.sort_by(|a, b| a.offset.cmp(&b.offset).then(b.length.cmp(&a.length)));
        all.iter().map(Entity::wire).collect()
    }
}

/// Cuts at the last line or word that begins in the last eighth, otherwise hard.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while utf16(rest) > PASTE {
        let mut units = 0;
        let fits = rest.char_indices().take_while(|(_, c)| {
            units += c.len_utf16();
            units <= PASTE
        });
        let end = fits.last().map_or(rest.len(), |(at, c)| at + c.len_utf8());
        let soft = rest[..end].rfind('\n').or(rest[..end].rfind(' ')).filter(|&at| at > end / 8 * 7);
        let (piece, after) = rest.split_at(soft.unwrap_or(end));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paste_loses_nothing_and_no_piece_is_too_long() {
        for text in ["word ".repeat(2000), "🔥".repeat(5000), "line of a log\n".repeat(700), "short".to_owned()] {
            let pieces = pieces(&text);
            assert_eq!(pieces.concat(), text);
            assert!(pieces.iter().all(|piece| utf16(piece) <= PASTE && !piece.is_empty()));
            assert!(pieces[..pieces.len() - 1].iter().all(|piece| utf16(piece) > 3400));
        }
    }
}
