//! Values that the official clients computed, for the tests of several parts.

use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::Value;

static ALL: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(include_str!("../../tests/vectors.json")).unwrap());

pub(super) fn all(of: &str) -> &'static [Value] {
    let all = ALL[of].as_array().unwrap();
    assert!(!all.is_empty());
    all
}

pub(super) fn one(of: &str) -> &'static Value {
    &ALL[of]
}

pub(super) fn named(of: &str, name: &str) -> &'static Value {
    all(of).iter().find(|vector| vector["name"] == name).unwrap()
}

pub(super) fn text<'v>(vector: &'v Value, key: &str) -> &'v str {
    vector[key].as_str().unwrap()
}

pub(super) fn bytes(hex: &str) -> Bytes {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}
