//! Label sets as sources send them: printed the way people write them, and what several of them share said once.

use std::collections::BTreeMap;

pub(super) type Labels = BTreeMap<String, String>;

/// `name{a="x", b="y"}`.
pub(super) fn print(labels: &Labels) -> String {
    let name = labels.get("__name__").map(String::as_str).unwrap_or_default();
    let pairs: Vec<String> =
        labels.iter().filter(|(key, _)| *key != "__name__").map(|(key, value)| format!("{key}={value:?}")).collect();
    if !name.is_empty() && pairs.is_empty() { name.to_owned() } else { format!("{name}{{{}}}", pairs.join(", ")) }
}

/// What all of them have with the same value.
pub(super) fn common<'a>(mut sets: impl Iterator<Item = &'a Labels>) -> Labels {
    let mut common = sets.next().cloned().unwrap_or_default();
    for set in sets {
        common.retain(|key, value| set.get(key) == Some(value));
    }
    common
}

/// What a set has for itself.
pub(super) fn without(labels: &Labels, known: &Labels) -> Labels {
    labels.iter().filter(|(key, _)| !known.contains_key(*key)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// What an alert's author wrote for people, on one line.
pub(super) fn annotation(annotations: &Labels) -> Option<String> {
    let text = ["summary", "description", "message"].iter().find_map(|key| annotations.get(*key))?;
    Some(super::headline::shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "), 300))
}

/// The team's own instructions, if the alert names them.
pub(super) fn runbook(annotations: &Labels) -> Option<&str> {
    ["runbook_url", "runbook"].iter().find_map(|key| annotations.get(*key)).map(String::as_str)
}
