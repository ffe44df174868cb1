//! From the rows of files to what a model is sent: rows name their pictures, and a model that takes pictures is shown them. The
//! rows stay small and fit every model.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use crate::{
    model::{Image, Message},
    store::{NewMessage, Store, StoreError},
};

/// Kind of a row that tells of one file.
pub(in super::super) const FILE: &str = "file";

const BLIND: &str = "\nThe picture is not shown to you: your model takes none. Say so if it matters.";
const LOST: &str = "\nThe picture is no longer kept.";
const REFUSED: &str = "\nThe picture is not shown to you: your model's server refused it. Say so if it matters.";

/// A message and the file that it tells of, as one row.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    #[serde(flatten)]
    message: Message,
    file: Told,
}

/// What a row knows of its file beyond the words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
    /// The platform's id.
    pub id: String,
    /// The message it came with: no row tells of the same file of the same message again.
    pub message: String,
    /// What it holds is known, also when it comes again. What could not be read is tried again then.
    pub read: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<Picture>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Picture {
    /// Where its base64 is kept.
    pub artifact: String,
    pub media_type: String,
    pub bytes: u64,
}

/// Told apart from other rows without reading their words.
#[derive(Deserialize)]
struct OnlyFile {
    file: Told,
}

pub(super) fn row(text: String, file: Told) -> NewMessage {
    let row = Row { message: Message::user(text), file };
    NewMessage { kind: FILE.to_owned(), author: None, body: serde_json::to_string(&row).unwrap_or_default() }
}

fn told(body: &str) -> Option<Told> {
    // Nearly all rows are words.
    if !body.contains("\"file\":") {
        return None;
    }
    serde_json::from_str::<OnlyFile>(body).ok().map(|row| row.file)
}

/// What a transcript tells of files, and the pictures among them as far as the model takes any.
#[derive(Debug, Default)]
pub(in super::super) struct Gallery {
    vision: bool,
    /// The server would not take them.
    refused: bool,
    images: HashMap<String, Image>,
    read: HashSet<String>,
    /// Files and messages.
    tried: HashSet<(String, String)>,
    pictures: usize,
    picture_bytes: u64,
}

impl Gallery {
    pub(in super::super) fn new(vision: bool) -> Self {
        Self { vision, ..Self::default() }
    }

    /// Learns of these rows.
    pub(in super::super) async fn hang<'a>(
        &mut self,
        store: &Store,
        bodies: impl Iterator<Item = &'a str> + Send,
    ) -> Result<(), StoreError> {
        for Told { id, message, read, picture } in bodies.filter_map(told) {
            if read {
                self.read.insert(id);
            } else {
                self.tried.insert((id, message));
            }
            let Some(Picture { artifact, media_type, bytes }) = picture else { continue };
            self.pictures += 1;
            self.picture_bytes = self.picture_bytes.saturating_add(bytes);
            if self.vision
                && !self.refused
                && let Some(kept) = store.artifacts().get(&artifact).await?
            {
                self.images.insert(artifact, Image { media_type, data: Arc::from(kept.content) });
            }
        }
        Ok(())
    }

    pub(super) fn knows(&self, id: &str, message_key: &str) -> bool {
        self.read.contains(id) || self.tried.contains(&(id.to_owned(), message_key.to_owned()))
    }

    /// How many pictures the rows name, and their bytes together.
    pub(super) fn pictures(&self) -> (usize, u64) {
        (self.pictures, self.picture_bytes)
    }

    /// A server refused a request with pictures: they are taken out of it, since a picture that can't be shown must not end
    /// this turn and every later one. False: there are none to blame.
    pub(in super::super) fn put_away(&mut self, history: &mut [Message]) -> bool {
        let mut some = false;
        for message in history {
            if let Message::User { text, images } = message
                && !images.is_empty()
            {
                images.clear();
                text.push_str(REFUSED);
                some = true;
            }
        }
        self.refused |= some;
        if some {
            self.images.clear();
        }
        some
    }

    /// A row as this model is sent it.
    pub(in super::super) fn read(&self, body: &str) -> Result<Message, serde_json::Error> {
        let message = serde_json::from_str(body)?;
        let Some(picture) = told(body).and_then(|told| told.picture) else { return Ok(message) };
        let Message::User { text, .. } = message else { return Ok(message) };
        Ok(match self.images.get(&picture.artifact) {
            Some(image) => Message::User { text, images: vec![image.clone()] },
            None => Message::user(text + self.why_not_shown()),
        })
    }

    fn why_not_shown(&self) -> &'static str {
        match (self.refused, self.vision) {
            (true, _) => REFUSED,
            (false, true) => LOST,
            (false, false) => BLIND,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::NewArtifact;

    async fn hung(vision: bool, rows: &[NewMessage]) -> Gallery {
        let store = Store::open("sqlite::memory:").await.unwrap();
        store.migrate().await.unwrap();
        let artifact = NewArtifact {
            id: "a1".into(),
            session_id: "s".into(),
            turn_id: "t".into(),
            call_id: "c".into(),
            tool: "picture".into(),
            evidence: None,
            content: "aGk=".into(),
            created_at: 1,
        };
        store.artifacts().put(&artifact).await.unwrap();
        let mut gallery = Gallery::new(vision);
        gallery.hang(&store, rows.iter().map(|row| row.body.as_str())).await.unwrap();
        gallery
    }

    fn picture(artifact: &str) -> NewMessage {
        let picture = Picture { artifact: artifact.into(), media_type: "image/png".into(), bytes: 2 };
        let told = Told { id: format!("F-{artifact}"), message: "m1".into(), read: true, picture: Some(picture) };
        row("a graph".into(), told)
    }

    #[tokio::test]
    async fn one_row_fits_a_model_that_sees_and_one_that_does_not() {
        let rows = [picture("a1"), picture("gone")];
        let seeing = hung(true, &rows).await;
        let image = Image { media_type: "image/png".into(), data: "aGk=".into() };
        assert_eq!(seeing.read(&rows[0].body).unwrap(), Message::User { text: "a graph".into(), images: vec![image] });
        assert_eq!(seeing.read(&rows[1].body).unwrap(), Message::user(format!("a graph{LOST}")));
        let blind = hung(false, &rows).await;
        assert_eq!(blind.read(&rows[0].body).unwrap(), Message::user(format!("a graph{BLIND}")));
        assert_eq!(blind.pictures(), (2, 4));
    }

    #[tokio::test]
    async fn a_file_that_was_read_is_known_for_good_and_another_until_it_comes_again() {
        let unread = Told { id: "F2".into(), message: "m1".into(), read: false, picture: None };
        let gallery = hung(false, &[picture("a1"), row("gone".into(), unread)]).await;
        let known = [("F-a1", "m1"), ("F-a1", "m2"), ("F2", "m1"), ("F2", "m2"), ("F3", "m1")]
            .map(|(file, message)| gallery.knows(file, message));
        assert_eq!(known, [true, true, true, false, false]);
    }

    #[tokio::test]
    async fn words_about_files_are_no_file() {
        let words = Message::user(r#"{"file":{"id":"F1"}} and "file": x"#);
        let body = serde_json::to_string(&words).unwrap();
        let gallery = hung(true, &[NewMessage { kind: "user".into(), author: None, body: body.clone() }]).await;
        assert_eq!(gallery.read(&body).unwrap(), words);
        assert!(!gallery.knows("F1", ""));
    }
}
