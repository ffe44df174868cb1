//! The environment's part: `WATCHFLOOR_A__B` sets the key `a.b`. Lists of tables are entered by an entry's name, as in
//! `WATCHFLOOR_CHANNELS__SLACK__BOT_TOKEN`. A variable without a double underscore is never an override.

use std::collections::BTreeMap;

use super::{
    error::ConfigError,
    tree::{Node, Origin, Table, Value},
};

/// The environment, as a value: nothing below looks it up by itself.
pub type Env = BTreeMap<String, String>;

const PREFIX: &str = "WATCHFLOOR_";

/// Sets every override in the tree. Whether the key exists is found later, as for the file's own keys. An empty variable
/// is one that isn't set.
pub(super) fn apply(table: &mut Table, env: &Env) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    for (variable, value) in env {
        let Some(rest) = variable.strip_prefix(PREFIX).filter(|rest| rest.contains("__") && !value.is_empty()) else {
            continue;
        };
        let segments: Vec<String> = rest.split("__").map(str::to_ascii_lowercase).collect();
        if let Err(problem) = set(table, &segments, variable, value) {
            errors.push(ConfigError {
                place: variable.clone(),
                line: None,
                path: segments.join("."),
                problem,
                hint: None,
            });
        }
    }
    errors
}

fn set(table: &mut Table, segments: &[String], variable: &str, value: &str) -> Result<(), String> {
    let Some((first, rest)) = segments.split_first() else { return Ok(()) };
    if first.is_empty() {
        return Err("expected key names between the double underscores".to_owned());
    }
    let key = table.keys().find(|key| same(key, first)).cloned().unwrap_or_else(|| first.clone());
    let origin = || Origin::Variable(variable.to_owned());
    if rest.is_empty() {
        // The newer word wins: `x` from the environment replaces the file's `x_file`, and the other way round.
        let twin = key.strip_suffix("_file").map_or_else(|| format!("{key}_file"), str::to_owned);
        if table.get(&twin).is_some_and(|node| !matches!(node.origin, Origin::Variable(_))) {
            table.remove(&twin);
        }
        table.insert(key, Node::text(value, origin()));
        return Ok(());
    }
    let node = table.entry(key.clone()).or_insert_with(|| Node::table(Table::new(), origin()));
    match &mut node.value {
        Value::Table(inner) => set(inner, rest, variable, value),
        Value::List(items) => {
            let named = items.iter_mut().find_map(|item| match &mut item.value {
                Value::Table(inner) if same(name_of(inner), &rest[0]) => Some(inner),
                _ => None,
            });
            match named {
                Some(_) if rest.len() == 1 => Err("expected one more `__` and the name of a key".to_owned()),
                Some(inner) => set(inner, &rest[1..], variable, value),
                None => Err(format!("no entry of {key} is named \"{}\"", rest[0])),
            }
        }
        _ => Err(format!("{key} is {}, not a table", node.kind())),
    }
}

/// An entry's name; a channel that has none is called after its kind.
fn name_of(table: &Table) -> &str {
    ["name", "kind"]
        .iter()
        .find_map(|key| match table.get(*key).map(|node| &node.value) {
            Some(Value::Text { text, .. }) if !text.is_empty() => Some(text.as_str()),
            _ => None,
        })
        .unwrap_or_default()
}

/// Variables have neither small letters nor hyphens.
fn same(key: &str, segment: &str) -> bool {
    key.to_ascii_lowercase().replace(['-', '.'], "_") == segment
}
