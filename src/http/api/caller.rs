//! Who asks, and what she may do: a bearer token, or, where no token is configured at all, a program on this machine.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    extract::{ConnectInfo, FromRequestParts},
    http::{HeaderMap, StatusCode, Uri, header, request::Parts},
};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use super::super::{Http, intake::bearer, problem::Problem};
use crate::coordinator::Role;

/// Who is let in.
#[derive(Clone, Debug, Default)]
pub struct Door {
    pub keys: Arc<[Key]>,
    /// Without any key, peers on loopback are admin.
    pub open_on_loopback: bool,
}

#[derive(Clone, Debug)]
pub struct Key {
    pub name: String,
    pub token: SecretString,
    pub role: Role,
}

#[derive(Debug)]
pub(super) struct Caller {
    pub role: Role,
}

impl Caller {
    pub(super) fn may(&self, needed: Role) -> Result<(), Problem> {
        if self.role >= needed {
            return Ok(());
        }
        let detail = format!("This needs the role {}; the token has {}.", needed.word(), self.role.word());
        Err(Problem::new(StatusCode::FORBIDDEN, "role", detail))
    }
}

impl FromRequestParts<Http> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, Problem> {
        let door = &http.door;
        if door.keys.is_empty() {
            let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
            let near = peer.is_some_and(|ConnectInfo(peer)| peer.ip().is_loopback());
            if door.open_on_loopback && near && is_of_this_machine(&parts.headers, &parts.uri) {
                return Ok(Self { role: Role::Admin });
            }
            let detail =
                "No token is configured. Set [[server.tokens]] and send it as `Authorization: Bearer <token>`.";
            return Err(Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail));
        }
        let sent = bearer(&parts.headers).unwrap_or_default().as_bytes();
        // All are compared, so that time tells nothing of which one was near.
        let matching = |key: &&Key| bool::from(sent.ct_eq(key.token.expose_secret().as_bytes()));
        let found: Vec<_> = door.keys.iter().filter(matching).collect();
        match found.first() {
            Some(key) => Ok(Self { role: key.role }),
            None => {
                let detail = "Send a token of [[server.tokens]] as `Authorization: Bearer <token>`.";
                Err(Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail))
            }
        }
    }
}

/// A page in a browser on this machine, or a proxy in front of us, comes from loopback, too, and speaks for somebody else.
fn is_of_this_machine(headers: &HeaderMap, uri: &Uri) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = text(header::HOST).or(uri.authority().map(|authority| authority.as_str()));
    let forwarded = ["forwarded", "x-forwarded-for", "x-real-ip", "via"].iter().any(|name| headers.contains_key(*name));
    let origin = text(header::ORIGIN).map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host));
    !forwarded && host.is_some_and(is_loopback_name) && origin.is_none_or(is_loopback_name)
}

fn is_loopback_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_its_own() {
        for (host, expected) in [
            ("localhost:8080", true),
            ("LOCALHOST", true),
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("127.0.0.1.example.org", false),
            ("localhost.example.org:8080", false),
            ("watchfloor.example.org", false),
            ("192.0.2.1", false),
            ("", false),
            ("?", false),
        ] {
            assert_eq!(is_loopback_name(host), expected, "{host}");
        }
    }
}
