//! How webhook requests are encrypted and signed, if an Encrypt Key is set.

use aes::cipher::{BlockModeEncrypt, KeyIvInit, block_padding::Pkcs7};
use base64::{Engine, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha256};

/// AES-256-CBC under the hash of the key, the start value in front, in base64.
pub fn encrypt(key: &str, iv: [u8; 16], plaintext: &[u8]) -> String {
    let key: [u8; 32] = Sha256::digest(key.as_bytes()).into();
    let cipher = cbc::Encryptor::<aes::Aes256>::new(&key.into(), &iv.into());
    let mut out = iv.to_vec();
    out.extend(cipher.encrypt_padded_vec::<Pkcs7>(plaintext));
    BASE64_STANDARD.encode(out)
}

/// A plain hash over the body as it is sent, encrypted or not.
pub fn sign(timestamp: &str, nonce: &str, key: &str, body: &[u8]) -> String {
    let mut hash = Sha256::new();
    for part in [timestamp, nonce, key] {
        hash.update(part.as_bytes());
    }
    hash.update(body);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the start values of texts that an official SDK encrypted.
    #[test]
    fn texts_are_encrypted_as_the_official_sdks_do() {
        let key = "example-encrypt-key";
        for (key, plaintext, encrypted) in [
            ("test key", "hello world", "LCIDkf+QVLOkWsYL87ZNEejr4kbw17kfsGohziN/hAc="),
            (key, "", "9D42ZjRq5qcDHivPMdMcM85FHaMEZqdBrDXmOOygKZM="),
            (key, "123456789012345", "JB8bM0Ckcy7Ys86eyKZOlcpT/b6J86rO2dtXOC185SI="),
            (key, "1234567890123456", "pGl34uHwGoXEagTzgVPUANJFQvFFbrr9l7A7AgMafNdrDSyUFlDLoYEPjvhn6Pqv"),
        ] {
            let iv = BASE64_STANDARD.decode(encrypted).unwrap()[..16].try_into().unwrap();
            assert_eq!(encrypt(key, iv, plaintext.as_bytes()), encrypted, "{plaintext}");
        }
    }

    #[test]
    fn bodies_are_signed_as_the_official_sdks_do() {
        for (timestamp, nonce, key, body, signature) in [
            (
                "1767225600",
                "nonce-0002",
                "example-encrypt-key",
                r#""#,
                "1c56e1a3223c256d79dc07c595757c72f95102234368099f82fadff77779a869",
            ),
            (
                "1767225600",
                "",
                "example-encrypt-key",
                r#"{"a":1}"#,
                "f54e88733e12572d4108d242840d66ccfc4f95d06ea0423f5e46199051800bb9",
            ),
            (
                "1767225600",
                "nonce-0003",
                "example-encrypt-key",
                r#"{"a":1,"b":"x"}"#,
                "b1a1b7eef3f4fbafa9d9eeaecbe2ac7f2118b7d9be3dd98ebdebc9252c4f1328",
            ),
        ] {
            assert_eq!(sign(timestamp, nonce, key, body.as_bytes()), signature, "{body}");
        }
    }
}
