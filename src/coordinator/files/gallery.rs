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
    /// The platform's id: no row tells of the same file again.
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<Picture>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Picture {
    /// Where its base64 is kept.
    pub artifact: String,
    pub media_type: String,
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
    images: HashMap<String, Image>,
    ids: HashSet<String>,
    pictures: usize,
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
        for Told { id, picture } in bodies.filter_map(told) {
            self.ids.insert(id);
            let Some(Picture { artifact, media_type }) = picture else { continue };
            self.pictures += 1;
            if self.vision
                && let Some(kept) = store.artifacts().get(&artifact).await?
            {
                self.images.insert(artifact, Image { media_type, data: Arc::from(kept.content) });
            }
        }
        Ok(())
    }

    pub(super) fn knows(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// How many pictures the rows name.
    pub(super) fn pictures(&self) -> usize {
        self.pictures
    }

    /// A row as this model is sent it.
    pub(in super::super) fn read(&self, body: &str) -> Result<Message, serde_json::Error> {
        let message = serde_json::from_str(body)?;
        let Some(picture) = told(body).and_then(|told| told.picture) else { return Ok(message) };
        let Message::User { text, .. } = message else { return Ok(message) };
        Ok(match self.images.get(&picture.artifact) {
            Some(image) => Message::User { text, images: vec![image.clone()] },
            None => Message::user(text + if self.vision { LOST } else { BLIND }),
        })
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
        let picture = Picture { artifact: artifact.into(), media_type: "image/png".into() };
        row("a graph".into(), Told { id: format!("F-{artifact}"), picture: Some(picture) })
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
        assert_eq!((blind.pictures(), blind.knows("F-a1"), blind.knows("F2")), (2, true, false));
    }

    #[tokio::test]
    async fn words_about_files_are_no_file() {
        let words = Message::user(r#"{"file":{"id":"F1"}} and "file": x"#);
        let body = serde_json::to_string(&words).unwrap();
        let gallery = hung(true, &[NewMessage { kind: "user".into(), author: None, body: body.clone() }]).await;
        assert_eq!(gallery.read(&body).unwrap(), words);
        assert!(!gallery.knows("F1"));
    }
}
