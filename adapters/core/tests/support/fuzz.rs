//! Laws held for as long as `WATCHFLOOR_FUZZ_SECONDS` says, five seconds unless told otherwise. The crates' fuzz tests
//! include this file.

use std::time::{Duration, Instant};

use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

/// One round of laws after the other, until the time is up. Each law takes a runner of its own: one that has run is
/// spent.
pub(crate) fn fuzz(round: impl Fn(fn() -> TestRunner)) {
    let seconds = std::env::var("WATCHFLOOR_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(5);
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        round(|| TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(64) }));
    }
}

/// Texts of such words, with whatever bytes come between them.
#[allow(dead_code, reason = "who fuzzes what comes in has no texts")]
pub(crate) fn texts(words: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let bytes =
        prop::collection::vec(any::<u8>(), 0..400).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    prop::collection::vec(prop_oneof![3 => words, 1 => bytes], 1..4).prop_map(|texts| texts.concat())
}
