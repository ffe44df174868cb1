//! Whether a request was signed by Slack, lately. Pure: the time is handed in.

use hmac::{Hmac, KeyInit, Mac};
use http::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// A signature is good for so many seconds, in both directions: clocks differ.
const GOOD_FOR: u64 = 300;

/// Why a request isn't believed. The words name what an operator can look at, never what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Untrusted {
    #[error("it is not signed")]
    Unsigned,
    #[error("its time is more than five minutes off: check this machine's clock")]
    Stale,
    #[error("its signature is wrong: compare signing_secret with the app's settings")]
    Forged,
}

/// Over the raw bytes: any other spelling of the same JSON has another signature.
pub(crate) fn check(secret: &SecretString, now: i64, headers: &HeaderMap, body: &[u8]) -> Result<(), Untrusted> {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let sent = header("x-slack-signature").ok_or(Untrusted::Unsigned)?;
    let timestamp = header("x-slack-request-timestamp").ok_or(Untrusted::Unsigned)?;
    let seconds: i64 = timestamp.parse().map_err(|_| Untrusted::Unsigned)?;
    if now.abs_diff(seconds) > GOOD_FOR {
        return Err(Untrusted::Stale);
    }
    let made = sign(secret, timestamp, body).ok_or(Untrusted::Forged)?;
    if bool::from(made.as_bytes().ct_eq(sent.as_bytes())) { Ok(()) } else { Err(Untrusted::Forged) }
}

/// `None`: there is no secret to sign with, and so nothing to believe.
fn sign(secret: &SecretString, timestamp: &str, body: &[u8]) -> Option<String> {
    let secret = secret.expose_secret().as_bytes();
    if secret.is_empty() {
        return None;
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    for part in [b"v0:".as_slice(), timestamp.as_bytes(), b":", body] {
        mac.update(part);
    }
    let digits: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("v0={digits}"))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "example-signing-secret-0123456789ab";
    const SENT: i64 = 1_767_225_600;
    const CHALLENGE: &str = r#"{"type":"url_verification","challenge":"abc123","token":"x"}"#;
    const SIGNED: &str = "v0=cef70376a1af2c183b2d883301e8f78694495cb590c7b7b9e85a64a48ca49eb1";

    fn headers(timestamp: &str, signature: &str) -> HeaderMap {
        let value = |text: &str| HeaderValue::from_bytes(text.as_bytes()).unwrap();
        HeaderMap::from_iter([
            (http::HeaderName::from_static("x-slack-request-timestamp"), value(timestamp)),
            (http::HeaderName::from_static("x-slack-signature"), value(signature)),
        ])
    }

    fn checked(now: i64, signature: &str, body: &[u8]) -> Result<(), Untrusted> {
        check(&SECRET.into(), now, &headers("1767225600", signature), body)
    }

    #[test]
    fn what_slack_signs_is_believed() {
        let table = [
            (CHALLENGE, SIGNED),
            (
                "command=%2Fincident&text=checkout+latency&team_id=T0EXAMPLE1",
                "v0=188739371506d82b9776bbb4e3eec438bf2607135f2c122f130a6151a31fd2fd",
            ),
            ("", "v0=cbe81d37ce5ad3ce46da1b71786aec51949051dd21fc37609c760d937150c431"),
            ("{\"text\":\"故障 ⚠\"}", "v0=b293fc43e83b3b905711ad9c3507fa0da7ef77431b76ac3f852c522303334abe"),
        ];
        for (body, signature) in table {
            assert_eq!(checked(SENT, signature, body.as_bytes()), Ok(()), "{body}");
        }
    }

    #[test]
    fn a_signature_is_good_for_five_minutes_in_both_directions() {
        for (off, wanted) in [
            (0, Ok(())),
            (300, Ok(())),
            (-300, Ok(())),
            (301, Err(Untrusted::Stale)),
            (-301, Err(Untrusted::Stale)),
            (i64::MAX - SENT, Err(Untrusted::Stale)),
            (i64::MIN, Err(Untrusted::Stale)),
        ] {
            assert_eq!(checked(SENT + off, SIGNED, CHALLENGE.as_bytes()), wanted, "{off}");
        }
    }

    #[test]
    fn any_other_spelling_is_refused() {
        let reserialised =
            serde_json::to_string(&serde_json::from_str::<serde_json::Value>(CHALLENGE).unwrap()).unwrap() + "\n";
        assert_eq!(checked(SENT, SIGNED, reserialised.as_bytes()), Err(Untrusted::Forged));
        let digits = SIGNED.trim_start_matches("v0=");
        for signature in [&SIGNED.to_uppercase(), &format!("v0={}", digits.to_uppercase()), digits, "v0=", "", "v1=0"] {
            assert_eq!(checked(SENT, signature, CHALLENGE.as_bytes()), Err(Untrusted::Forged), "{signature}");
        }
        let other = check(&"another-secret".into(), SENT, &headers("1767225600", SIGNED), CHALLENGE.as_bytes());
        assert_eq!(other, Err(Untrusted::Forged));
    }

    #[test]
    fn without_its_headers_or_a_secret_nothing_is_believed() {
        let both = headers("1767225600", SIGNED);
        for name in ["x-slack-request-timestamp", "x-slack-signature"] {
            let mut without = both.clone();
            without.remove(name);
            assert_eq!(check(&SECRET.into(), SENT, &without, CHALLENGE.as_bytes()), Err(Untrusted::Unsigned));
        }
        for timestamp in ["", "soon", "1767225600.5", "99999999999999999999", "\u{e9}"] {
            let wrong = check(&SECRET.into(), SENT, &headers(timestamp, SIGNED), CHALLENGE.as_bytes());
            assert_eq!(wrong, Err(Untrusted::Unsigned), "{timestamp}");
        }
        let nothing = sign(&"".into(), "1767225600", b"");
        assert_eq!(nothing, None);
        assert_eq!(check(&"".into(), SENT, &both, CHALLENGE.as_bytes()), Err(Untrusted::Forged));
    }

    proptest! {
        #[test]
        fn a_body_of_which_one_byte_was_changed_is_refused(
            body in proptest::collection::vec(any::<u8>(), 1..200), at in any::<prop::sample::Index>(), by in 1_u8..,
        ) {
            let signature = sign(&SECRET.into(), "1767225600", &body).unwrap();
            prop_assert_eq!(checked(SENT, &signature, &body), Ok(()));
            let mut changed = body.clone();
            let at = at.index(body.len());
            changed[at] = changed[at].wrapping_add(by);
            prop_assert_eq!(checked(SENT, &signature, &changed), Err(Untrusted::Forged));
        }
    }
}
