//! Files that people attach and the bot sends, and the address at which their bytes are fetched.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{ConnectInfo, Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::{Shared, api, world::World};
use crate::server::Line;

/// Bots fetch no more than this, and send no more than that.
pub(crate) const DOWNLOAD_LIMIT: u64 = 20_000_000;
pub(crate) const UPLOAD_LIMIT: u64 = 50_000_000;
pub(crate) const PHOTO_LIMIT: u64 = 10_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimFile {
    pub name: String,
    pub mimetype: String,
    pub content: Bytes,
    /// Shown as a picture, in three sizes.
    pub photo: bool,
    pub served: Served,
    /// What the update tells of its size; nothing = the truth.
    pub size: Option<u64>,
    /// Given when it is sent.
    pub number: u64,
}

/// What its address answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    AsIs,
    Status(u16),
    /// Half of the bytes, then the connection breaks.
    Half,
    /// The bytes over and over, without an announced length.
    Endless,
    /// No answer until the simulator ends.
    Never,
}

impl SimFile {
    pub fn new(name: &str, mimetype: &str, content: impl Into<Bytes>) -> Self {
        let (name, mimetype, content) = (name.to_owned(), mimetype.to_owned(), content.into());
        Self { name, mimetype, content, photo: false, served: Served::AsIs, size: None, number: 0 }
    }

    pub fn photo(content: impl Into<Bytes>) -> Self {
        Self { photo: true, ..Self::new("photo.jpg", "image/jpeg", content) }
    }

    pub(crate) fn told_size(&self) -> u64 {
        self.size.unwrap_or(self.content.len() as u64)
    }

    /// `document` or `photo`, and its value.
    pub(crate) fn wire(&self) -> (&'static str, Value) {
        let number = self.number;
        if !self.photo {
            return (
                "document",
                json!({"file_name": self.name, "mime_type": self.mimetype, "file_id": self.id(),
                    "file_unique_id": format!("AgAD-{number}"), "file_size": self.told_size()}),
            );
        }
        let size = |letter: &str, width: u64, height: u64, bytes: u64| {
            json!({"file_id": format!("AgAC-sim-{number}{letter}"), "file_unique_id": format!("AQAD-{number}{letter}"),
                "width": width, "height": height, "file_size": bytes})
        };
        let bytes = self.told_size();
        ("photo", json!([size("s", 90, 67, bytes / 16), size("m", 320, 240, bytes / 4), size("", 1280, 960, bytes)]))
    }

    pub(crate) fn id(&self) -> String {
        format!("{}-sim-{}", if self.photo { "AgAC" } else { "BQAC" }, self.number)
    }

    pub(crate) fn path(&self) -> String {
        let folder = if self.photo { "photos" } else { "documents" };
        let ending = self.name.rsplit_once('.').map_or(String::new(), |(_, ending)| format!(".{ending}"));
        format!("{folder}/file_{}{ending}", self.number)
    }
}

impl World {
    pub(crate) fn file(&self, fits: impl Fn(&SimFile) -> bool) -> Option<&SimFile> {
        self.messages.iter().filter_map(|message| message.file.as_ref()).find(|file| fits(file))
    }
}

pub(crate) async fn download(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(line): ConnectInfo<Line>,
    Path((bot, path)): Path<(String, String)>,
) -> Response {
    let found = shared.world.change(|world| {
        world.downloads.push(path.clone());
        api::admit(world, &bot).map(|()| world.file(|file| file.path() == path).cloned())
    });
    let file = match found {
        Ok(Some(file)) => file,
        Ok(None) => return api::refuse(&super::methods::Refused::new(404, "Not Found")),
        Err(refused) => return api::refuse(&refused),
    };
    let kind = [(header::CONTENT_TYPE, "application/octet-stream")];
    match file.served {
        Served::AsIs => (kind, file.content).into_response(),
        Served::Status(status) => api::status(status).into_response(),
        Served::Half => {
            let half = file.content.slice(..file.content.len() / 2);
            let broken = stream::iter([Ok(half), Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset))]);
            (kind, Body::from_stream(broken)).into_response()
        }
        Served::Endless => {
            let content = if file.content.is_empty() { Bytes::from_static(&[0; 1024]) } else { file.content };
            (kind, Body::from_stream(stream::repeat(content).map(Ok::<_, std::io::Error>))).into_response()
        }
        Served::Never => {
            shared.tasks.stop.cancelled().await;
            line.cut();
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
    }
}
