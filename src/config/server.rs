//! `[server]`: where we listen, who may use the API, where state lies.

use std::{net::SocketAddr, path::PathBuf};

use secrecy::SecretString;
use url::Url;

use super::read::{Choice, Section};

#[derive(Clone, Debug)]
pub struct Server {
    pub listen: SocketAddr,
    pub public_url: Option<Url>,
    pub state_dir: PathBuf,
    pub extra_ca_file: Option<PathBuf>,
    /// Without any token, peers on loopback are admin.
    pub open_on_loopback: bool,
    /// Only those that have a token: an entry whose token is empty is ignored.
    pub tokens: Vec<ApiToken>,
}

#[derive(Clone, Debug)]
pub struct ApiToken {
    pub name: String,
    pub token: SecretString,
    pub role: Role,
}

/// Ordered: each may do what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Tools of class read.
    Viewer,
    /// Read and write.
    Operator,
    /// All.
    Admin,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        self.word()
    }
}

impl Choice for Role {
    const WORDS: &'static [(&'static str, Self)] =
        &[("viewer", Self::Viewer), ("operator", Self::Operator), ("admin", Self::Admin)];
}

/// Where a channel's requests arrive, seen from outside.
pub fn request_url(public_url: &Url, channel: &str) -> Option<Url> {
    let mut url = public_url.clone();
    url.path_segments_mut().ok()?.pop_if_empty().extend(["channels", channel, "events"]);
    Some(url)
}

impl Server {
    pub(super) fn read(section: &mut Section<'_>) -> Self {
        let listen =
            section.parsed("listen", "an address and a port such as \"127.0.0.1:8080\"", |text| text.parse().ok());
        let tokens: Vec<ApiToken> = section.sections("tokens", ApiToken::read).unwrap_or_default();
        for (index, token) in tokens.iter().enumerate() {
            if tokens[..index].iter().any(|earlier| earlier.name == token.name) {
                section.wrong("tokens", format!("two tokens are named \"{}\", expected a name for each", token.name));
            }
        }
        Self {
            listen: listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8080))),
            public_url: section.url("public_url"),
            state_dir: section.path("state_dir").unwrap_or_else(|| section.reading.resolve("data")),
            extra_ca_file: section.path("extra_ca_file"),
            open_on_loopback: section.flag("open_on_loopback", true),
            tokens,
        }
    }
}

impl ApiToken {
    fn read(mut section: Section<'_>) -> Option<Self> {
        let name = section.text("name");
        let token = section.secret("token");
        let role = section.choice("role", Role::Viewer);
        if name.is_none() {
            section.wrong("name", "expected a name, got none");
        }
        section.close();
        Some(Self { name: name?, token: token?, role })
    }
}
