//! Personas as JSON: front-matter keys plus `body`. A definition is turned into the file it stands for and read as one, so
//! that the same rules hold for both.

use serde_json::{Map, Value as Json};
use serde_yaml::{Mapping, Value};

use super::{
    Loaded, Source,
    name::fold,
    parse::{self, KEYS},
    problem::{Code, ParseProblem, Place},
};

/// What answers add to a definition; written back, it says nothing.
const ANSWER_ONLY: [&str; 6] = ["source", "path", "shadows", "spawnable", "reason", "warnings"];
const UNKNOWN: &str = "unknown_fields";
const BODY: &str = "body";

/// Reads a definition as it was written by a client: the persona, and what is to be kept of it. Problems name their field.
pub fn read_definition(json: &Json) -> Result<(Loaded, Map<String, Json>), Vec<ParseProblem>> {
    let path = path_of(json);
    let kept = plain(json, &path, false).map_err(|problem| vec![problem])?;
    let loaded = read_kept(&kept)?;
    Ok((loaded, kept))
}

/// Reads a definition as it was kept under this folded name.
pub(super) fn read_stored(name: &str, definition: &str) -> Result<Loaded, Vec<ParseProblem>> {
    let path = Source::User(name.to_owned()).to_string();
    let wrong = |message: String| vec![ParseProblem::new(&path, Place::TOP, Code::WrongType, message, "write it anew")];
    let kept: Map<String, Json> = serde_json::from_str(definition)
        .map_err(|error| wrong(format!("the stored definition isn't JSON: {error}")))?;
    let loaded = read_kept(&kept).map_err(|mut problems| {
        problems.iter_mut().for_each(|problem| problem.path.clone_from(&path));
        problems
    })?;
    if fold(&loaded.persona.name) != fold(name) {
        return Err(wrong(format!("the stored definition is of `{}`", loaded.persona.name)));
    }
    Ok(loaded)
}

/// A kept definition with a merge patch over it: absent keeps, `null` removes, everything else replaces.
pub fn patched(kept: &Map<String, Json>, patch: &Json) -> Result<Map<String, Json>, ParseProblem> {
    let path = path_of(&Json::Object(kept.clone()));
    let patch = plain(patch, &path, true)?;
    let written = |map: &Map<String, Json>| map.get("name").and_then(Json::as_str).map(fold);
    if patch.contains_key("name") && written(&patch) != written(kept) {
        let message = "a persona can't be renamed";
        return Err(problem(&path, "name", Code::NameInvalid, message, "write a new one and delete this one"));
    }
    let mut result = kept.clone();
    merge(&mut result, patch);
    Ok(result)
}

fn merge(target: &mut Map<String, Json>, patch: Map<String, Json>) {
    for (key, value) in patch {
        match value {
            Json::Null => {
                target.remove(&key);
            }
            Json::Object(patch) => {
                let entry = target.entry(key).or_insert_with(|| Json::Object(Map::new()));
                if !entry.is_object() {
                    *entry = Json::Object(Map::new());
                }
                if let Json::Object(inner) = entry {
                    merge(inner, patch);
                }
            }
            value => {
                target.insert(key, value);
            }
        }
    }
}

/// One flat mapping of keys: without what only answers have, with unknown keys beside the known ones. `null` counts as
/// absent, except in a patch.
fn plain(json: &Json, path: &str, patch: bool) -> Result<Map<String, Json>, ParseProblem> {
    let Json::Object(map) = json else {
        return Err(problem(
            path,
            "",
            Code::NotAMapping,
            "a definition is a JSON object",
            "send front-matter keys and body",
        ));
    };
    let mut plain: Map<String, Json> = map.clone();
    for key in ANSWER_ONLY {
        plain.remove(key);
    }
    match plain.remove(UNKNOWN) {
        None | Some(Json::Null) => {}
        Some(Json::Object(unknown)) => {
            if let Some(key) =
                unknown.keys().find(|key| KEYS.contains(&key.as_str()) || *key == BODY || *key == UNKNOWN)
            {
                let field = format!("{UNKNOWN}.{key}");
                let message = format!("`{key}` is a known key");
                return Err(problem(path, &field, Code::WrongType, message, "write it beside `unknown_fields`"));
            }
            plain.extend(unknown);
        }
        Some(_) => return Err(problem(path, UNKNOWN, Code::WrongType, "`unknown_fields` isn't an object", "")),
    }
    if !patch {
        plain.retain(|_, value| !value.is_null());
    }
    Ok(plain)
}

pub(super) fn read_kept(kept: &Map<String, Json>) -> Result<Loaded, Vec<ParseProblem>> {
    let path = path_of(&Json::Object(kept.clone()));
    let mut front = Mapping::new();
    let mut body = "";
    for (key, value) in kept {
        match value {
            Json::String(text) if key == BODY => body = text,
            _ if key == BODY => return Err(vec![problem(&path, BODY, Code::WrongType, "`body` isn't text", "")]),
            value => {
                front.insert(Value::from(key.as_str()), yaml_of(value));
            }
        }
    }
    let yaml = serde_yaml::to_string(&front).map_err(|error| {
        vec![problem(&path, "", Code::YamlSyntax, format!("can't be written as YAML: {error}"), "")]
    })?;
    let name = kept.get("name").and_then(Json::as_str).map(fold).unwrap_or_default();
    let file = format!("---\n{yaml}---\n{body}");
    let mut loaded = parse::parse(Source::User(name), file.as_bytes()).map_err(unplaced)?;
    loaded.warnings = unplaced(loaded.warnings);
    Ok(loaded)
}

/// Whoever wrote JSON has never seen the lines of the file it stands for.
pub(super) fn unplaced(mut problems: Vec<ParseProblem>) -> Vec<ParseProblem> {
    for problem in &mut problems {
        (problem.line, problem.column) = (Place::TOP.line, Place::TOP.column);
    }
    problems
}

fn yaml_of(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(on) => Value::from(*on),
        Json::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), _, _) => Value::from(number),
            (_, Some(number), _) => Value::from(number),
            (_, _, number) => Value::from(number.unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::Sequence(items.iter().map(yaml_of).collect()),
        Json::Object(map) => {
            Value::Mapping(map.iter().map(|(key, value)| (Value::from(key.as_str()), yaml_of(value))).collect())
        }
    }
}

/// A value of a file as JSON; what JSON has no word for is said as text.
pub(super) fn json_of(yaml: &Value) -> Json {
    match yaml {
        Value::Null => Json::Null,
        Value::Bool(on) => Json::from(*on),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), _, _) => Json::from(number),
            (_, Some(number), _) => Json::from(number),
            (_, _, number) => number.and_then(serde_json::Number::from_f64).map_or(Json::Null, Json::Number),
        },
        Value::String(text) => Json::from(text.as_str()),
        Value::Sequence(items) => Json::Array(items.iter().map(json_of).collect()),
        Value::Mapping(mapping) => Json::Object(object_of(mapping)),
        Value::Tagged(tagged) => json_of(&tagged.value),
    }
}

pub(super) fn object_of(mapping: &Mapping) -> Map<String, Json> {
    let key = |key: &Value| match key {
        Value::String(text) => text.clone(),
        other => serde_yaml::to_string(other).unwrap_or_default().trim().to_owned(),
    };
    mapping.iter().map(|(name, value)| (key(name), json_of(value))).collect()
}

fn path_of(json: &Json) -> String {
    let name = json.get("name").and_then(Json::as_str).map(fold).unwrap_or_default();
    Source::User(name.chars().take(super::name::MAX_CHARS).collect()).to_string()
}

fn problem(path: &str, field: &str, code: Code, message: impl Into<String>, hint: &str) -> ParseProblem {
    ParseProblem::new(path, Place::TOP, code, message, hint).about(field)
}
