//! What a persona asks of the place it runs in. Where that isn't met it stays visible, with the reason, and is never sent.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
};

use serde_yaml::Value;

/// The version of the persona format that is read here.
pub const FORMAT_VERSION: &str = "1.0.0";

/// Whose personas are ours.
const OUR_SCOPE: &str = "manager";

/// What is known of the place in which personas run.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// As `std::env::consts::OS` says it.
    pub os: String,
    /// Folders in which programs are looked for.
    pub path: Vec<PathBuf>,
    /// Dotted paths of the settings that are set.
    pub settings: BTreeSet<String>,
    /// Providers of models that can be asked.
    pub providers: BTreeSet<String>,
    /// Other names of models.
    pub aliases: BTreeMap<String, String>,
    /// Every tool of this build.
    pub tools: Vec<String>,
}

/// What `metadata` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Any of these; empty = any at all.
    pub os: Vec<String>,
    /// All of these programs.
    pub bins: Vec<String>,
    /// All of these settings, by their dotted paths.
    pub settings: Vec<String>,
    pub scope: Option<String>,
    pub format: Option<String>,
}

/// A value of another kind than the key takes.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) field: String,
    pub(super) found: Value,
    pub(super) expected: &'static str,
}

impl Needs {
    pub(super) fn read(metadata: &Value) -> Result<Self, Wrong> {
        let requires = mapping(metadata, "metadata", "requires")?;
        let ongrid = mapping(metadata, "metadata", "ongrid")?;
        Ok(Self {
            os: names(metadata, "metadata", "os")?,
            bins: names(&requires, "metadata.requires", "bins")?,
            settings: names(&requires, "metadata.requires", "config")?,
            scope: text(&ongrid, "metadata.ongrid", "scope")?,
            format: text(&ongrid, "metadata.ongrid", "min_ongrid_version")?,
        })
    }

    /// Why it can't be sent here; `None` = it can.
    pub(super) fn unmet(&self, here: &Surroundings) -> Option<String> {
        if let Some(scope) = self.scope.as_deref().filter(|scope| *scope != OUR_SCOPE) {
            return Some(format!("its scope is `{scope}`, here is `{OUR_SCOPE}`"));
        }
        let os = plain_os(&here.os);
        if !self.os.is_empty() && !self.os.iter().any(|wanted| plain_os(wanted) == os) {
            return Some(format!("it is for {}, here is {os}", self.os.join(", ")));
        }
        let missing: Vec<_> = self.bins.iter().filter(|bin| !here.has_program(bin)).map(String::as_str).collect();
        if !missing.is_empty() {
            return Some(format!("it needs {}, not found in PATH", missing.join(", ")));
        }
        let unset: Vec<_> =
            self.settings.iter().filter(|path| !here.settings.contains(*path)).map(String::as_str).collect();
        if !unset.is_empty() {
            return Some(format!("it needs the settings {}, not set", unset.join(", ")));
        }
        None
    }

    /// The version it asks for, if that is more than is read here, or nothing that can be compared.
    pub(super) fn newer_format(&self) -> Option<&str> {
        self.format.as_deref().filter(|wanted| compare(wanted, FORMAT_VERSION).is_none_or(Ordering::is_gt))
    }
}

impl Surroundings {
    fn has_program(&self, name: &str) -> bool {
        let runs = |path: PathBuf| {
            fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        };
        // A path is no program's name, and would lead out of PATH.
        !name.contains('/') && self.path.iter().any(|folder| runs(folder.join(name)))
    }
}

fn plain_os(os: &str) -> String {
    let os = os.to_ascii_lowercase();
    if os == "macos" { "darwin".to_owned() } else { os }
}

/// As numbers with dots between them; what is missing counts as 0.
fn compare(a: &str, b: &str) -> Option<Ordering> {
    let numbers = |text: &str| {
        let text = text.trim().trim_start_matches(['v', 'V']);
        let mut numbers = text.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u64>>>()?;
        while numbers.last() == Some(&0) {
            numbers.pop();
        }
        Some(numbers)
    };
    Some(numbers(a)?.cmp(&numbers(b)?))
}

fn find(within: &Value, parent: &str, key: &str) -> Result<Value, Wrong> {
    match within {
        Value::Null => Ok(Value::Null),
        Value::Mapping(mapping) => Ok(mapping.get(key).cloned().unwrap_or_default()),
        other => Err(Wrong { field: parent.to_owned(), found: other.clone(), expected: "a mapping" }),
    }
}

fn wrong(parent: &str, key: &str, found: Value, expected: &'static str) -> Wrong {
    Wrong { field: format!("{parent}.{key}"), found, expected }
}

fn mapping(within: &Value, parent: &str, key: &str) -> Result<Value, Wrong> {
    match find(within, parent, key)? {
        found @ (Value::Null | Value::Mapping(_)) => Ok(found),
        found => Err(wrong(parent, key, found, "a mapping")),
    }
}

/// A list of names, or names with commas between them.
fn names(within: &Value, parent: &str, key: &str) -> Result<Vec<String>, Wrong> {
    const EXPECTED: &str = "a list of names";
    let items = match find(within, parent, key)? {
        Value::Null => Vec::new(),
        Value::String(text) => text.split(',').map(Value::from).collect(),
        Value::Sequence(items) => items,
        found => return Err(wrong(parent, key, found, EXPECTED)),
    };
    let mut names = Vec::new();
    for item in items {
        match item {
            Value::String(name) if name.trim().is_empty() => {}
            Value::String(name) => names.push(name.trim().to_owned()),
            found => return Err(wrong(parent, key, found, EXPECTED)),
        }
    }
    Ok(names)
}

fn text(within: &Value, parent: &str, key: &str) -> Result<Option<String>, Wrong> {
    match find(within, parent, key)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        // `1.2` without quotes.
        Value::Number(number) if key == "min_ongrid_version" => Ok(Some(number.to_string())),
        found => Err(wrong(parent, key, found, "text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(yaml: &str) -> Needs {
        Needs::read(&serde_yaml::from_str(yaml).unwrap()).unwrap()
    }

    fn here() -> Surroundings {
        let bin = tempfile::tempdir().unwrap().keep();
        fs::write(bin.join("df"), "").unwrap();
        fs::set_permissions(bin.join("df"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(bin.join("notes"), "").unwrap();
        fs::set_permissions(bin.join("notes"), fs::Permissions::from_mode(0o644)).unwrap();
        let settings = BTreeSet::from(["sources.prometheus.url".to_owned()]);
        Surroundings { os: "linux".into(), path: vec![bin], settings, ..Surroundings::default() }
    }

    #[test]
    fn what_isnt_met_is_said() {
        let here = here();
        for (metadata, expected) in [
            ("", None),
            ("{}", None),
            ("{team: a, os: [], requires: {}, ongrid: {}}", None),
            ("os: [Linux, darwin]", None),
            ("os: linux", None),
            ("os: [windows, macos]", Some("it is for windows, macos, here is linux")),
            ("requires: {bins: [df], config: [sources.prometheus.url]}", None),
            ("requires: {bins: [df, notes, perf]}", Some("it needs notes, perf, not found in PATH")),
            ("requires: {bins: /bin/sh}", Some("it needs /bin/sh, not found in PATH")),
            (
                "requires: {config: [sources.loki.url, sources.prometheus.url]}",
                Some("it needs the settings sources.loki.url, not set"),
            ),
            ("ongrid: {scope: manager}", None),
            ("ongrid: {scope: edge}", Some("its scope is `edge`, here is `manager`")),
        ] {
            assert_eq!(needs(metadata).unmet(&here).as_deref(), expected, "{metadata}");
        }
    }

    #[test]
    fn versions_compare_by_their_numbers() {
        for (wanted, newer) in [
            ("1", false),
            ("1.0", false),
            ("v1.0.0", false),
            ("0.99", false),
            ("1.0.1", true),
            ("1.10", true),
            ("x", true),
        ] {
            let needs = Needs { format: Some(wanted.to_owned()), ..Needs::default() };
            assert_eq!(needs.newer_format().is_some(), newer, "{wanted}");
        }
        assert_eq!(needs("ongrid: {min_ongrid_version: 1.5}").newer_format(), Some("1.5"));
    }

    #[test]
    fn a_gate_that_cant_be_read_is_no_gate_that_stands_open() {
        for (metadata, field) in [
            ("7", "metadata"),
            ("os: 7", "metadata.os"),
            ("os: [linux, 7]", "metadata.os"),
            ("requires: [df]", "metadata.requires"),
            ("requires: {bins: {df: true}}", "metadata.requires.bins"),
            ("ongrid: {scope: [edge]}", "metadata.ongrid.scope"),
        ] {
            let read = Needs::read(&serde_yaml::from_str(metadata).unwrap());
            assert_eq!(read.unwrap_err().field, field, "{metadata}");
        }
    }
}
