//! The scenarios that are part of the binary.

use super::scenario::Source;

/// What is played if nothing is named.
pub(super) const FIRST: &str = "checkout-502";

/// By name.
pub(super) const ALL: [(&str, &str); 4] = [
    (FIRST, include_str!("scenarios/checkout-502.yaml")),
    ("steer-and-stop", include_str!("scenarios/steer-and-stop.yaml")),
    ("metrics-down", include_str!("scenarios/metrics-down.yaml")),
    ("two-threads", include_str!("scenarios/two-threads.yaml")),
];

/// One line for each.
pub(super) fn list() -> Vec<String> {
    let widest = ALL.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let about = |name: &str| Source::find(name).and_then(|source| source.read()).map(|scenario| scenario.about);
    ALL.iter().map(|(name, _)| format!("{name:widest$}  {}", about(name).unwrap_or_default())).collect()
}
