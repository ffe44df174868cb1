//! Personas as JSON: read like files, with errors that name their field.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::super::{Code, Tools, patched, read_definition};

fn definition(more: Json) -> Json {
    let mut json =
        json!({"name": "disk", "description": "Disks.", "when_to_use": "When a disk is full.", "body": "Look.\n"});
    json.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json
}

fn faults(json: &Json) -> Vec<(Code, String)> {
    match read_definition(json) {
        Ok((loaded, _)) => loaded.warnings.into_iter().map(|problem| (problem.code, problem.field)).collect(),
        Err(problems) => problems.into_iter().map(|problem| (problem.code, problem.field)).collect(),
    }
}

#[test]
fn an_error_names_its_field() {
    for (more, code, field) in [
        (json!({"name": null}), Code::NameMissing, "name"),
        (json!({"name": 42}), Code::NameNotText, "name"),
        (json!({"name": "a b"}), Code::NameInvalid, "name"),
        (json!({"name": "Reload"}), Code::NameReserved, "name"),
        (json!({"description": ""}), Code::DescriptionMissing, "description"),
        (json!({"when_to_use": null}), Code::WhenToUseMissing, "when_to_use"),
        (json!({"when_to_use": "Disks:"}), Code::WhenToUseVague, "when_to_use"),
        (json!({"tools": {"a": 1}}), Code::WrongType, "tools"),
        (json!({"tools": ["a", 7]}), Code::WrongType, "tools"),
        (json!({"tools": []}), Code::ToolsEmpty, "tools"),
        (json!({"disallowed_tools": 7}), Code::WrongType, "disallowed_tools"),
        (json!({"permission_mode": "all"}), Code::PermissionModeUnknown, "permission_mode"),
        (json!({"max_turns": -1}), Code::OutOfRange, "max_turns"),
        (json!({"max_turns": "7"}), Code::WrongType, "max_turns"),
        (json!({"model": ["a"]}), Code::WrongType, "model"),
        (json!({"background": "yes"}), Code::WrongType, "background"),
        (json!({"metadata": {"os": 7}}), Code::WrongType, "metadata.os"),
        (json!({"body": 7}), Code::WrongType, "body"),
        (json!({"unknown_fields": []}), Code::WrongType, "unknown_fields"),
        (json!({"unknown_fields": {"tools": ["*"]}}), Code::WrongType, "unknown_fields.tools"),
        (json!({"disallowedTools": ["a"]}), Code::KeyMisspelt, "disallowedTools"),
        (json!({"body": "x".repeat(300 * 1024)}), Code::TooLarge, ""),
    ] {
        assert_eq!(faults(&definition(more.clone())), [(code, field.to_owned())], "{more}");
    }
    assert_eq!(faults(&json!([1])), [(Code::NotAMapping, String::new())]);
}

#[test]
fn null_is_absent_and_an_empty_list_is_none() {
    let tools = |value: Json| read_definition(&definition(json!({"tools": value}))).unwrap().0.persona.tools;
    assert_eq!(tools(Json::Null), Tools::Inherit);
    assert_eq!(tools(json!([])), Tools::Only(vec![]));
    assert_eq!(tools(json!("a, b")), Tools::Only(vec!["a".to_owned(), "b".to_owned()]));
}

#[test]
fn what_answers_add_is_ignored_and_what_is_unknown_is_kept() {
    let written = definition(json!({
        "source": "builtin", "shadows": ["disk"], "warnings": ["x"], "spawnable": true, "reason": "x", "path": "x",
        "unknown_fields": {"source": "builtin", "effort": "high"}, "owner": {"team": 7},
    }));
    let (loaded, kept) = read_definition(&written).unwrap();
    assert_eq!(loaded.persona.source.to_string(), "user:disk");
    let mut keys: Vec<_> = loaded.persona.unknown_fields.keys().filter_map(|key| key.as_str()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["effort", "owner", "source"]);
    assert_eq!(Json::Object(kept), definition(json!({"source": "builtin", "effort": "high", "owner": {"team": 7}})));
}

#[test]
fn a_patch_keeps_removes_and_replaces() {
    let kept =
        definition(json!({"tools": ["a"], "model": "x/y", "metadata": {"os": ["linux"], "team": 1}, "effort": 1}));
    let kept = kept.as_object().unwrap();
    let patch = json!({
        "name": "DISK", "tools": [], "model": null, "metadata": {"team": null, "room": 2},
        "unknown_fields": {"effort": null}, "source": "user",
    });
    let mut expected = definition(json!({"name": "DISK", "tools": [], "metadata": {"os": ["linux"], "room": 2}}));
    expected.as_object_mut().unwrap().remove("model");
    assert_eq!(Json::Object(patched(kept, &patch).unwrap()), expected);
    assert_eq!(patched(kept, &json!({})).unwrap(), *kept);
    for name in [json!("cpu"), Json::Null, json!(7)] {
        let problem = patched(kept, &json!({"name": name})).unwrap_err();
        assert_eq!((problem.code, problem.field.as_str()), (Code::NameInvalid, "name"), "{name}");
    }
}

proptest! {
    #[test]
    fn no_text_is_changed_on_its_way(body in "(.|\n|\r|---\n|\t){0,40}", description in "[^\u{0}-\u{20}\u{7f}-\u{a0}][ -~ü磁:#'\"]{0,20}[a-z]") {
        let (loaded, _) = read_definition(&definition(json!({"body": body, "description": description}))).unwrap();
        prop_assert_eq!(&loaded.persona.body, &body);
        prop_assert_eq!(loaded.persona.description.as_str(), description.trim());
    }

    #[test]
    fn no_definition_makes_the_reader_panic(key in "[a-z_<]{0,12}|name|tools|metadata|body|unknown_fields", text in any::<String>(), number in any::<f64>()) {
        for value in [json!(text), json!(number), json!([text]), json!({&text: text}), Json::Null] {
            let _ = read_definition(&definition(json!({&key: value})));
        }
    }
}
