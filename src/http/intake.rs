//! What all intakes have in common: a secret of their own, judged before a byte of the body is read, and a body that has
//! a limit. What the body means is left to each.

use axum::{
    body::Bytes,
    extract::{FromRequest, Request},
    http::{HeaderMap, StatusCode, header},
};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use super::problem::Problem;

/// Largest body of an intake.
pub(super) const BODY_BYTES: usize = 1 << 20;

/// `key` is where the secret stands in the configuration; without a secret the intake is closed.
pub(super) async fn open(secret: Option<&SecretString>, key: &str, request: Request) -> Result<Bytes, Problem> {
    let Some(secret) = secret else {
        let detail = format!("This intake is closed. Set {key} in the configuration to open it.");
        return Err(Problem::new(StatusCode::FORBIDDEN, "closed", detail));
    };
    let sent = bearer(request.headers()).unwrap_or_default();
    if !bool::from(sent.as_bytes().ct_eq(secret.expose_secret().as_bytes())) {
        let detail = format!("Send the header `Authorization: Bearer <{key}>`.");
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail));
    }
    Bytes::from_request(request, &()).await.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let detail = format!("The body is longer than {BODY_BYTES} bytes. Send it in parts.");
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
        }
        _ => Problem::new(StatusCode::BAD_REQUEST, "bad_body", "The body could not be read to its end. Send it again."),
    })
}

/// The word before the token is written as people like.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
