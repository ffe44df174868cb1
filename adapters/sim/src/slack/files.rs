//! Files in the workspace: what people attach and the bot uploads, and the addresses at which bytes come and go. The Web API
//! methods are in `methods::files`.

use std::{collections::BTreeMap, collections::BTreeSet, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{Html, IntoResponse, Redirect, Response},
    routing::{get, post},
};
use bytes::Bytes;
use serde_json::{Value, json};

use super::{Shared, SlackSim, TEAM_ID, message::Message, teams::Team, world::World};

/// A file as somebody attaches it.
#[derive(Clone, Debug)]
pub struct SimFile {
    pub name: String,
    pub mimetype: String,
    pub content: Bytes,
    pub served: Served,
    /// What the event tells of its size; nothing = the truth.
    pub size: Option<u64>,
    /// The event names neither name nor address, as in channels shared with a partner: `files.info` does.
    pub behind_info: bool,
    /// Deleted before the event was sent.
    pub tombstone: bool,
}

/// What its address answers to the right token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    AsIs,
    /// A redirect to the file itself, this often.
    AfterRedirects(usize),
    RedirectTo(String),
    Status(u16),
    /// Status 200 and the page on which people sign in.
    SignInPage,
    /// The bytes without an announced length, over and over.
    Endless,
    /// No answer until the simulator ends.
    Never,
}

impl SimFile {
    pub fn new(name: &str, mimetype: &str, content: impl Into<Bytes>) -> Self {
        Self {
            name: name.to_owned(),
            mimetype: mimetype.to_owned(),
            content: content.into(),
            served: Served::AsIs,
            size: None,
            behind_info: false,
            tombstone: false,
        }
    }

    pub fn text(name: &str, content: &str) -> Self {
        Self::new(name, "text/plain", content.to_owned())
    }

    pub fn served(self, served: Served) -> Self {
        Self { served, ..self }
    }
}

/// A request for a file's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    pub name: String,
    /// The `Authorization` header was the bot's, of a workspace that sees the file.
    pub with_token: bool,
}

/// A file that people can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uploaded {
    pub name: String,
    pub title: String,
    pub content: Bytes,
    /// The message that shows it.
    pub ts: String,
}

#[derive(Debug, Default)]
pub(crate) struct Files {
    /// Of the server that hands them out.
    pub(crate) base: String,
    pub(crate) kept: BTreeMap<String, Kept>,
    pub(crate) downloads: Vec<Download>,
    pub(crate) lost_scopes: BTreeSet<String>,
    /// The `app_mention` copy of a message lacks its files.
    pub(crate) bare_mentions: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) file: SimFile,
    pub(crate) title: String,
    pub(crate) by: String,
    /// Announced and perhaps written, but shown nowhere.
    pub(crate) length: usize,
    pub(crate) written: bool,
    /// Channel and `ts` of each message that shows it.
    pub(crate) shares: Vec<(String, String)>,
}

impl Files {
    pub(crate) fn keep(&mut self, id: &str, file: SimFile, by: &str) {
        let (title, length) = (file.name.clone(), file.content.len());
        let kept = Kept { file, title, by: by.to_owned(), length, written: true, shares: Vec::new() };
        self.kept.insert(id.to_owned(), kept);
    }

    /// The file object, as `files.info` shows it.
    pub(crate) fn whole(&self, id: &str) -> Option<Value> {
        let kept = self.kept.get(id)?;
        let file = &kept.file;
        if file.tombstone {
            return Some(json!({"id": id, "mode": "tombstone"}));
        }
        let address = format!("{}/files-pri/{TEAM_ID}-{id}", self.base);
        let text = file.mimetype.starts_with("text/");
        let mut shares = serde_json::Map::new();
        for (channel, ts) in &kept.shares {
            shares.entry(channel.clone()).or_insert(json!([])).as_array_mut()?.push(json!({"ts": ts}));
        }
        let mut wire = json!({"id": id, "created": 1, "name": file.name, "title": kept.title,
            "mimetype": file.mimetype, "filetype": if text { "text" } else { "binary" },
            "size": file.size.unwrap_or(kept.length as u64), "user": kept.by,
            "mode": if text { "snippet" } else { "hosted" }, "file_access": "visible", "shares": {"public": shares}});
        if !address.is_empty() {
            wire["url_private"] = format!("{address}/{}", file.name).into();
            wire["url_private_download"] = format!("{address}/download/{}", file.name).into();
        }
        Some(wire)
    }

    /// The file object, as messages show it.
    pub(crate) fn wire(&self, id: &str) -> Option<Value> {
        if self.kept.get(id)?.file.behind_info {
            return Some(json!({"id": id, "mode": "file_access", "file_access": "check_file_info"}));
        }
        let mut wire = self.whole(id)?;
        wire.as_object_mut()?.remove("shares");
        Some(wire)
    }
}

impl World {
    /// A token sees what is shown in its own workspace, and what its bot brought.
    pub(crate) fn sees_file(&self, team: &Team, id: &str) -> bool {
        self.files.kept.get(id).is_some_and(|kept| {
            let is_shown = |(channel, _): &(String, String)| {
                self.channels.get(channel).is_some_and(|channel| channel.teams.contains(team))
            };
            kept.by == team.bot_user || kept.shares.iter().any(is_shown)
        })
    }
}

impl Shared {
    /// What the tokens may do.
    pub(crate) fn scopes(&self) -> String {
        let lost = self.world.look().files.lost_scopes.clone();
        let left: Vec<_> = self.config.scopes.split(',').filter(|scope| !lost.contains(*scope)).collect();
        left.join(",")
    }
}

impl SlackSim {
    /// Says something with files. The text is as on the wire: mentions as `<@U…>`.
    pub async fn share(
        &self,
        person: &str,
        channel: &str,
        thread: Option<&str>,
        text: &str,
        files: impl IntoIterator<Item = SimFile>,
    ) -> String {
        let message = self.compose(person, channel, thread, text);
        let message = self.shared.world.change(|world| {
            let mut wires = Vec::new();
            for file in files {
                let id = format!("F0{:06}", world.next_id());
                world.files.keep(&id, file, person);
                world.files.kept.entry(id.clone()).and_modify(|kept| {
                    kept.shares.push((channel.to_owned(), message.ts.clone()));
                });
                wires.extend(world.files.wire(&id));
            }
            with_files(message, wires)
        });
        self.publish(message)
    }

    /// From now on the tokens lack this scope: `files:read`, `files:write`, `channels:read` and `groups:read` are asked for.
    pub fn lose_scope(&self, scope: &str) {
        self.shared.world.change(|world| world.files.lost_scopes.insert(scope.to_owned()));
    }

    pub fn regain_scope(&self, scope: &str) {
        self.shared.world.change(|world| world.files.lost_scopes.remove(scope));
    }

    /// The `app_mention` copy of a message with files comes without them.
    pub fn bare_mentions(&self) {
        self.shared.world.change(|world| world.files.bare_mentions = true);
    }

    /// Every request for a file's bytes, oldest first.
    pub fn downloads(&self) -> Vec<Download> {
        self.shared.world.look().files.downloads.clone()
    }

    /// Waits until bytes were asked for this often.
    pub async fn wait_for_downloads(&self, count: usize) {
        let enough = |world: &World| world.files.downloads.len() >= count;
        if !self.shared.world.until(self.shared.config.patience, enough).await {
            panic!("waited in vain for {count} downloads; seen: {:?}", self.downloads());
        }
    }

    /// The bot's files that people can see, in the order in which they were shared.
    pub fn uploads(&self) -> Vec<Uploaded> {
        let world = self.shared.world.look();
        let ours = world.files.kept.values().filter(|kept| world.teams.iter().any(|team| kept.by == team.bot_user));
        let mut seen: Vec<_> = ours
            .flat_map(|kept| {
                kept.shares.iter().map(|(_, ts)| Uploaded {
                    name: kept.file.name.clone(),
                    title: kept.title.clone(),
                    content: kept.file.content.clone(),
                    ts: ts.clone(),
                })
            })
            .collect();
        seen.sort_by(|a, b| a.ts.cmp(&b.ts));
        seen
    }
}

pub(crate) fn with_files(mut message: Message, files: Vec<Value>) -> Message {
    message.extra.insert("subtype".into(), "file_share".into());
    message.extra.insert("upload".into(), false.into());
    message.extra.insert("files".into(), files.into());
    message
}

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/files-pri/{id}/{name}", get(download))
        .route("/files-pri/{id}/download/{name}", get(download_more))
        .route("/upload/{id}", post(upload))
        .with_state(shared)
}

async fn download_more(state: State<Arc<Shared>>, path: Path<(String, String)>, headers: HeaderMap) -> Response {
    download(state, path, headers).await
}

async fn download(
    State(shared): State<Arc<Shared>>,
    Path((id, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = token.and_then(|token| token.strip_prefix("Bearer ")).unwrap_or_default();
    let id = id.split_once('-').map_or(id.as_str(), |(_, id)| id).to_owned();
    let found = shared.world.change(|world| {
        let team = world.teams.iter().find(|team| team.bot_token == token);
        let with_token = team.is_some_and(|team| world.sees_file(team, &id));
        world.files.downloads.push(Download { name: name.clone(), with_token });
        let allowed = with_token && !world.revoked.contains(token) && !world.files.lost_scopes.contains("files:read");
        let kept = world.files.kept.get_mut(&id)?;
        let served = if allowed { kept.file.served.clone() } else { Served::SignInPage };
        if let Served::AfterRedirects(left) = &mut kept.file.served {
            *left = left.saturating_sub(1);
        }
        Some((kept.file.clone(), served))
    });
    let Some((file, served)) = found else { return StatusCode::NOT_FOUND.into_response() };
    let bytes = |body: Body| ([(header::CONTENT_TYPE, file.mimetype.clone())], body).into_response();
    match served {
        Served::AsIs | Served::AfterRedirects(0) => bytes(file.content.into()),
        Served::AfterRedirects(left) => {
            Redirect::temporary(&format!("/files-pri/{id}/{name}?hop={left}")).into_response()
        }
        Served::RedirectTo(address) => Redirect::temporary(&address).into_response(),
        Served::Status(status) => {
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR).into_response()
        }
        Served::SignInPage => {
            Html("<!DOCTYPE html><html><head><title>Sign in | Slack</title></head></html>").into_response()
        }
        Served::Endless => {
            let again = futures::stream::repeat_with(move || Ok::<_, std::convert::Infallible>(file.content.clone()));
            let body = Body::from_stream(again);
            ([(header::CONTENT_TYPE, file.mimetype)], body).into_response()
        }
        Served::Never => {
            shared.tasks.stop.cancelled().await;
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
    }
}

async fn upload(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    content: Bytes,
) -> Response {
    shared.world.change(|world| {
        if headers.contains_key(header::AUTHORIZATION) {
            world.oddities.push("the token was sent with an upload".to_owned());
        }
        match world.files.kept.get_mut(&id) {
            Some(kept) if !kept.written && kept.length == content.len() => {
                kept.written = true;
                kept.file.content = content;
                format!("OK - {}", kept.length).into_response()
            }
            Some(_) => StatusCode::BAD_REQUEST.into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        }
    })
}
