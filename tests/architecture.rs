//! Who may import whom: the table of `docs/ARCHITECTURE.md`, section 2, held against the sources. Inside one crate no
//! compiler keeps these walls.

#![expect(clippy::unwrap_used, reason = "a test's helpers may panic, and clippy sees only the test functions")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Each module and what it may name. `channel` is the crate watchfloor-channel. Time is a parameter, so `clock` is open to
/// whoever waits or stamps.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("clock", &[]),
    ("config", &[]),
    ("wording", &[]),
    ("lifecycle", &[]),
    ("telemetry", &[]),
    ("tool_names", &[]),
    ("model", &["clock"]),
    ("persona", &["clock", "tool_names"]),
    ("store", &["clock"]),
    ("workspace", &["clock"]),
    ("incidents", &["clock", "store"]),
    ("topology", &["clock", "store"]),
    ("knowledge", &["clock", "store"]),
    ("tools", &["clock", "tool_names", "model", "store", "incidents", "topology", "knowledge"]),
    ("coordinator", &["channel", "clock", "model", "persona", "workspace", "store", "tools", "wording"]),
    ("http", &["channel", "clock", "coordinator", "store", "persona"]),
];

/// The composition root and the ways into it: they may name everything below them.
const ROOT: &[&str] = &["app", "cli", "main", "lib"];

/// Names of vendors, and the modules that may say them.
const VENDORS: &[(&str, &[&str])] = &[
    ("watchfloor_slack", &["app"]),
    ("watchfloor_telegram", &["app"]),
    ("watchfloor_feishu", &["app"]),
    ("crate::model::openai", &["app"]),
    ("crate::model::anthropic", &["app"]),
    ("watchfloor_sim", &["cli", "drill"]),
];

#[test]
fn modules_import_only_what_the_architecture_allows() {
    let mut forbidden = BTreeSet::new();
    for source in sources() {
        for import in imports(&source.text, source.depth) {
            if import == source.module || ROOT.contains(&source.module.as_str()) {
                continue;
            }
            let Some((_, allowed)) = MAY_IMPORT.iter().find(|(module, _)| *module == source.module) else {
                forbidden.insert(format!("{}: the module has no row in MAY_IMPORT", source.module));
                continue;
            };
            if !allowed.contains(&import.as_str()) {
                forbidden.insert(format!("{} must not import {import} ({})", source.module, source.file));
            }
        }
    }
    assert_eq!(forbidden, BTreeSet::new());
}

#[test]
fn vendors_are_named_in_the_composition_root_alone() {
    let mut forbidden = BTreeSet::new();
    for source in sources() {
        for (vendor, allowed) in VENDORS {
            // A module may name itself in full.
            let own = vendor.strip_prefix("crate::").is_some_and(|path| path.starts_with(&source.module));
            if source.text.contains(vendor) && !own && !allowed.contains(&source.module.as_str()) {
                forbidden.insert(format!("{} must not name {vendor}", source.file));
            }
        }
    }
    assert_eq!(forbidden, BTreeSet::new());
}

#[test]
fn platforms_depend_on_the_contract_alone_and_the_simulators_on_nothing_of_ours() {
    let mut seen = Vec::new();
    for entry in fs::read_dir(root().join("adapters")).unwrap() {
        let adapter = entry.unwrap().file_name().into_string().unwrap();
        let Ok(text) = fs::read_to_string(root().join("adapters").join(&adapter).join("Cargo.toml")) else { continue };
        let manifest: toml::Table = text.parse().unwrap();
        let ours = |tables: &[&str]| -> BTreeSet<String> {
            let keys =
                tables.iter().filter_map(|table| manifest.get(*table)?.as_table()).flat_map(|table| table.keys());
            keys.filter(|name| name.starts_with("watchfloor")).cloned().collect()
        };
        match adapter.as_str() {
            "core" | "sim" => {
                assert_eq!(
                    ours(&["dependencies", "dev-dependencies", "build-dependencies"]),
                    BTreeSet::new(),
                    "{adapter}"
                );
            }
            _ => assert_eq!(ours(&["dependencies"]), BTreeSet::from(["watchfloor-channel".to_owned()]), "{adapter}"),
        }
        seen.push(adapter);
    }
    assert!(seen.iter().any(|adapter| adapter == "slack"), "{seen:?}");
}

#[test]
fn every_way_to_write_an_import_is_seen() {
    let table: &[(&str, usize, &[&str])] = &[
        ("use crate::store::Store;", 2, &["store"]),
        ("use crate::{clock::Clock, model::{self, Message}, store};", 1, &["clock", "model", "store"]),
        ("use crate::{\n    tools::{\n        Tool,\n    },\n    wording,\n};", 1, &["tools", "wording"]),
        ("fn f(x: crate::http::X) {}", 1, &["http"]),
        ("pub(crate) mod x; use watchfloor_channel::Inbox;", 1, &["channel"]),
        ("use super::store::Store;", 1, &["store"]),
        ("use super::{super::store::Store, near};", 2, &["store"]),
        ("use super::super::{store, model};", 2, &["model", "store"]),
        ("use super::near;", 2, &[]),
        ("// use crate::http;\n/// [`crate::http`]\nlet x = 1; // crate::http", 1, &[]),
        ("use other_crate::http; use my_crate::store;", 1, &[]),
        ("a();\n#[cfg(test)]\nmod tests {\n    use crate::http::X;\n}", 1, &[]),
    ];
    for (text, depth, expected) in table {
        let expected: BTreeSet<String> = expected.iter().map(|module| (*module).to_owned()).collect();
        assert_eq!(imports(&code(text), *depth), expected, "{text}");
    }
}

struct Source {
    file: String,
    module: String,
    /// How many `super::` lead to the crate's root.
    depth: usize,
    text: String,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every source of the root crate but its unit tests, which may use what they like.
fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            if name == "tests" {
                continue;
            } else if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push(source(&path, &name));
            }
        }
    }
    assert!(sources.len() > 5, "the sources were not found");
    sources
}

fn source(path: &Path, name: &str) -> Source {
    let inside = path.strip_prefix(root().join("src")).unwrap();
    let folders = inside.components().count() - 1;
    let module = inside.with_extension("").components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    let depth = match name {
        "mod" => folders,
        "lib" | "main" if folders == 0 => 0,
        _ => folders + 1,
    };
    let file = format!("src/{}", inside.display());
    Source { file, module, depth, text: code(&fs::read_to_string(path).unwrap()) }
}

/// The text without comments and without the test module at its end.
fn code(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).position(|pair| {
        pair[0].trim() == "#[cfg(test)]" && pair[1].trim_start().starts_with("mod ") && pair[1].ends_with('{')
    });
    let kept = &lines[..tests.unwrap_or(lines.len())];
    kept.iter().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The top-level modules that a text names, by whichever path.
fn imports(text: &str, depth: usize) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        if !text[..at].ends_with(is_word) {
            walk(&text[at + "crate::".len()..], 0, &mut found);
        }
    }
    for (at, _) in text.match_indices("super::") {
        if !text[..at].ends_with(is_word) && !text[..at].ends_with("super::") && depth > 0 {
            walk(&text[at + "super::".len()..], depth - 1, &mut found);
        }
    }
    if text.contains("watchfloor_channel") {
        found.insert("channel".to_owned());
    }
    found
}

/// Reads the path or the group of paths that `text` begins with. `up` more `super::` are needed to be at the root.
fn walk(text: &str, up: usize, found: &mut BTreeSet<String>) {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        let (mut level, mut start) = (0_usize, 0);
        for (at, c) in group.char_indices() {
            match c {
                '{' => level += 1,
                ',' if level == 0 => {
                    walk(&group[start..at], up, found);
                    start = at + 1;
                }
                '}' if level == 0 => return walk(&group[start..at], up, found),
                '}' => level -= 1,
                _ => {}
            }
        }
    } else if up > 0 {
        if let Some(rest) = text.strip_prefix("super::") {
            walk(rest, up - 1, found);
        }
    } else {
        let word: String = text.chars().take_while(|c| is_word(*c)).collect();
        // Types and functions of the root itself are nobody's secret; modules begin with a small letter.
        if word.starts_with(|c: char| c.is_ascii_lowercase()) && word != "self" {
            found.insert(word);
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
