//! What a webhook's secrets prove: decryption, signature, token. Pure. Which of them a request needs is left to `webhook`.

use aes::Aes256;
use base64::{Engine, prelude::BASE64_STANDARD};
use cbc::{
    Decryptor,
    cipher::{BlockModeDecrypt, KeyIvInit, block_padding::Pkcs7},
};
use http::HeaderMap;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The last redelivery comes seven hours after the first; whether it is signed anew is not said. Repetitions within that time
/// are told apart by their message.
const GOOD_FOR: u64 = 8 * 3600;
const BLOCK: usize = 16;

/// Why a request isn't believed. The words name what an operator can look at, never what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Untrusted {
    #[error("it is not signed")]
    Unsigned,
    #[error("its time is more than eight hours off: check this machine's clock")]
    Stale,
    #[error("its signature is wrong: compare encrypt_key with the app's settings")]
    Forged,
    #[error("its token is wrong: compare verification_token with the app's settings")]
    WrongToken,
    #[error("it is not encrypted, but encrypt_key is set: set the same key in the app's settings")]
    Plain,
    #[error("it is encrypted, but encrypt_key is not set")]
    Encrypted,
    #[error("it is for another app: the same address is set for several")]
    OtherApp,
    #[error("no secret is set to know Feishu by: set encrypt_key or verification_token")]
    NoSecret,
}

/// `None`: not made with this key.
pub(super) fn decrypt(encrypt_key: &str, encrypted: &str) -> Option<Vec<u8>> {
    let bytes = BASE64_STANDARD.decode(encrypted).ok()?;
    let (iv, ciphertext) = bytes.split_at_checked(BLOCK)?;
    if ciphertext.is_empty() || !ciphertext.len().is_multiple_of(BLOCK) {
        return None;
    }
    let key = Sha256::digest(encrypt_key.as_bytes());
    let decryptor = Decryptor::<Aes256>::new_from_slices(&key, iv).ok()?;
    decryptor.decrypt_padded_vec::<Pkcs7>(ciphertext).ok()
}

/// Over the raw bytes: any other spelling of the same JSON has another signature.
pub(super) fn check(encrypt_key: &str, now: i64, headers: &HeaderMap, body: &[u8]) -> Result<(), Untrusted> {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let sent = header("x-lark-signature").ok_or(Untrusted::Unsigned)?;
    let timestamp = header("x-lark-request-timestamp").ok_or(Untrusted::Unsigned)?;
    let nonce = header("x-lark-request-nonce").ok_or(Untrusted::Unsigned)?;
    let seconds: i64 = timestamp.parse().map_err(|_| Untrusted::Unsigned)?;
    if now.abs_diff(seconds) > GOOD_FOR {
        return Err(Untrusted::Stale);
    }
    let made = sign(encrypt_key, timestamp, nonce, body).ok_or(Untrusted::NoSecret)?;
    if is_same(&made, sent) { Ok(()) } else { Err(Untrusted::Forged) }
}

/// `None`: there is no secret to sign with, and so nothing to believe.
fn sign(encrypt_key: &str, timestamp: &str, nonce: &str, body: &[u8]) -> Option<String> {
    if encrypt_key.is_empty() {
        return None;
    }
    let mut hash = Sha256::new();
    for part in [timestamp.as_bytes(), nonce.as_bytes(), encrypt_key.as_bytes(), body] {
        hash.update(part);
    }
    Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// In a time that tells nothing about where they differ.
pub(super) fn is_same(ours: &str, theirs: &str) -> bool {
    ours.as_bytes().ct_eq(theirs.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::vectors::{all, text},
        *,
    };

    fn headers(timestamp: &str, nonce: &str, signature: &str) -> HeaderMap {
        let value = |text: &str| http::HeaderValue::from_bytes(text.as_bytes()).unwrap();
        HeaderMap::from_iter([
            (http::HeaderName::from_static("x-lark-request-timestamp"), value(timestamp)),
            (http::HeaderName::from_static("x-lark-request-nonce"), value(nonce)),
            (http::HeaderName::from_static("x-lark-signature"), value(signature)),
        ])
    }

    #[test]
    fn what_official_clients_encrypt_is_read() {
        for vector in all("decrypt") {
            let plain = decrypt(text(vector, "encrypt_key"), text(vector, "encrypt"));
            let plain = plain.map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(plain.as_deref(), Some(text(vector, "plaintext")), "{}", text(vector, "name"));
        }
    }

    #[test]
    fn what_is_not_whole_or_not_of_this_key_is_refused() {
        for vector in all("decrypt_reject") {
            let plain = decrypt(text(vector, "encrypt_key"), text(vector, "encrypt"));
            assert_eq!(plain, None, "{}", text(vector, "name"));
        }
    }

    #[test]
    fn signatures_of_official_clients_are_believed_and_no_other_spelling() {
        for vector in all("signature") {
            let (key, body, name) = (text(vector, "encrypt_key"), text(vector, "body"), text(vector, "name"));
            let (timestamp, nonce, signature) =
                (text(vector, "timestamp"), text(vector, "nonce"), text(vector, "signature"));
            let now: i64 = timestamp.parse().unwrap();
            let checked = |key: &str, signature: &str, body: &str| {
                check(key, now, &headers(timestamp, nonce, signature), body.as_bytes())
            };
            assert_eq!(checked(key, signature, body), Ok(()), "{name}");
            assert_eq!(checked(key, signature, &format!("{body} ")), Err(Untrusted::Forged), "{name}");
            assert_eq!(checked("another-key", signature, body), Err(Untrusted::Forged), "{name}");
            assert_eq!(checked(key, &signature.to_uppercase(), body), Err(Untrusted::Forged), "{name}");
            assert_eq!(checked("", signature, body), Err(Untrusted::NoSecret), "{name}");
        }
    }

    #[test]
    fn a_signature_is_good_for_longer_than_the_redeliveries_take() {
        let signed = |now: i64| {
            let signature = sign("key", "1767225600", "n", b"{}").unwrap();
            check("key", now, &headers("1767225600", "n", &signature), b"{}")
        };
        for (off, wanted) in [
            (0, Ok(())),
            (7 * 3600, Ok(())),
            (8 * 3600, Ok(())),
            (-8 * 3600, Ok(())),
            (8 * 3600 + 1, Err(Untrusted::Stale)),
            (-8 * 3600 - 1, Err(Untrusted::Stale)),
        ] {
            assert_eq!(signed(1_767_225_600 + off), wanted, "{off}");
        }
        assert_eq!(signed(i64::MIN), Err(Untrusted::Stale));
    }

    #[test]
    fn without_its_headers_nothing_is_believed() {
        let signature = sign("key", "1767225600", "n", b"{}").unwrap();
        for name in ["x-lark-request-timestamp", "x-lark-request-nonce", "x-lark-signature"] {
            let mut without = headers("1767225600", "n", &signature);
            without.remove(name);
            assert_eq!(check("key", 1_767_225_600, &without, b"{}"), Err(Untrusted::Unsigned), "{name}");
        }
        for timestamp in ["", "soon", "1767225600.5", "99999999999999999999"] {
            let wrong = check("key", 1_767_225_600, &headers(timestamp, "n", &signature), b"{}");
            assert_eq!(wrong, Err(Untrusted::Unsigned), "{timestamp}");
        }
    }

    proptest! {
        #[test]
        fn anything_is_decrypted_without_panic(
            noise in proptest::collection::vec(any::<u8>(), 0..100), text in ".{0,60}", key in ".{0,20}",
        ) {
            decrypt(&key, &text);
            decrypt(&key, &BASE64_STANDARD.encode(noise));
        }
    }
}
