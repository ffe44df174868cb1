//! What the platform takes for a card. Everything it can't build is 230099, with the useful part in the text.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{methods::Refused, world::World};

const MOST_ELEMENTS: usize = 200;
const DEEPEST: usize = 5;
const MOST_TABLES: usize = 5;
const MOST_TABLES_IN_ONE: usize = 4;

/// Keys at the top of a card of schema 2.0, where unknown ones are an error.
const TOP: [&str; 6] = ["schema", "config", "card_link", "header", "body", "i18n_header"];

/// Elements of schema 2.0. Some of 1.0, such as `note` and `action`, are not among them.
const TAGS: [&str; 38] = [
    "audio",
    "avatar",
    "button",
    "chart",
    "checker",
    "collapsible_panel",
    "column",
    "column_set",
    "custom_icon",
    "date_picker",
    "div",
    "form",
    "hr",
    "img",
    "img_combination",
    "input",
    "interactive_container",
    "lark_md",
    "markdown",
    "multi_select_person",
    "multi_select_static",
    "overflow",
    "person",
    "person_list",
    "picker_date",
    "picker_datetime",
    "picker_time",
    "plain_text",
    "raw",
    "repeat",
    "select_img",
    "select_person",
    "select_static",
    "standard_icon",
    "table",
    "text",
    "text_tag",
    "video",
];

/// Elements and tables in what was seen so far.
#[derive(Default)]
struct Count {
    elements: usize,
    tables: usize,
    ids: HashSet<String>,
}

pub(crate) fn check(world: &World, content: &str) -> Result<(), Refused> {
    let card: Map<String, Value> =
        serde_json::from_str(content).map_err(|_| unbuilt(200_621, "parse card json err"))?;
    if card.get("type").is_some_and(|kind| kind == "card" || kind == "template") {
        return Err(unbuilt(11_310, "the template or card entity is not visible"));
    }
    let mut count = Count::default();
    if card.get("schema").is_none_or(|schema| schema != "2.0") {
        // Read as 1.0.
        let elements = card.get("elements").filter(|elements| elements.is_array());
        let elements = elements.ok_or_else(|| unbuilt(200_621, "parse card json err: elements"))?;
        return walk(world, elements, 0, false, &mut count);
    }
    if let Some(unknown) = card.keys().find(|key| !TOP.contains(&key.as_str())) {
        return Err(unbuilt(200_621, &format!("parse card json err: unknown property {unknown}")));
    }
    let elements = card.get("body").map(|body| &body["elements"]).filter(|elements| elements.is_array());
    let elements = elements.ok_or_else(|| unbuilt(200_621, "parse card json err: body.elements"))?;
    if elements.as_array().is_some_and(Vec::is_empty) {
        return Err(unbuilt(200_621, "parse card json err: body is empty"));
    }
    if let Some(header) = card.get("header") {
        walk(world, header, 0, true, &mut count)?;
    }
    walk(world, elements, 0, true, &mut count)
}

/// 230099 with what could not be built.
pub(crate) fn unbuilt(code: i64, why: &str) -> Refused {
    Refused::because(230_099, &format!("Failed to create card content, ext=ErrCode: {code}; ErrMsg: {why}; "))
}

fn walk(world: &World, part: &Value, depth: usize, new: bool, count: &mut Count) -> Result<(), Refused> {
    match part {
        Value::Array(items) => items.iter().try_for_each(|item| walk(world, item, depth, new, count)),
        Value::Object(fields) => {
            let mut inner = depth;
            if let Some(tag) = fields.get("tag").and_then(Value::as_str) {
                element(world, tag, fields, new, count)?;
                let text = ["plain_text", "lark_md", "standard_icon", "custom_icon", "text_tag"].contains(&tag);
                inner += usize::from(!text);
                if inner > DEEPEST {
                    return Err(unbuilt(200_621, "parse card json err: nested too deep"));
                }
            }
            // A button's value is its own affair.
            let parts = fields.iter().filter(|(key, _)| !["value", "behaviors", "rows"].contains(&key.as_str()));
            parts.map(|(_, value)| value).try_for_each(|value| walk(world, value, inner, new, count))
        }
        _ => Ok(()),
    }
}

fn element(world: &World, tag: &str, fields: &Map<String, Value>, new: bool, count: &mut Count) -> Result<(), Refused> {
    if new && !TAGS.contains(&tag) {
        return Err(unbuilt(
            200_861,
            &format!("cards of schema V2 no longer support this capability; unsupported tag {tag}"),
        ));
    }
    count.elements += 1;
    if count.elements > MOST_ELEMENTS {
        return Err(unbuilt(11_310, "element exceeds the limit"));
    }
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    if let Some(id) = fields.get("element_id") {
        let id = id.as_str().unwrap_or_default();
        let letters = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !letters || !id.starts_with(|c: char| c.is_ascii_alphabetic()) || id.len() > 20 {
            return Err(unbuilt(200_621, &format!("parse card json err: element_id {id:?}")));
        }
        if !count.ids.insert(id.to_owned()) {
            return Err(unbuilt(300_301, &format!("duplicate element_id {id}")));
        }
    }
    let tables = match tag {
        "table" => 1,
        "markdown" => tables_in(text("content")),
        _ => 0,
    };
    count.tables += tables;
    if tables > MOST_TABLES_IN_ONE || count.tables > MOST_TABLES {
        return Err(unbuilt(11_310, "card table number over limit"));
    }
    if tag == "img" && !world.is_uploaded(text("img_key")) {
        return Err(unbuilt(200_570, "image key is invalid"));
    }
    if ["markdown", "lark_md"].contains(&tag) {
        let content = text("content");
        for inside in content.split("<at ").skip(1).filter_map(|rest| rest.split_once('>')).map(|(inside, _)| inside) {
            let ids = inside.trim().trim_start_matches("ids=").trim_start_matches("id=").trim_matches(['"', '\'', ' ']);
            if let Some(wrong) = ids.split(',').find(|id| !world.knows(id)) {
                return Err(unbuilt(100_290, &format!("invalid user resource: {wrong}")));
            }
        }
    }
    Ok(())
}

/// Pipe tables outside fences, by the line under their heads.
fn tables_in(markdown: &str) -> usize {
    let mut fenced = false;
    let rule = |line: &str| {
        let line = line.trim();
        line.contains('-') && line.contains('|') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
    };
    let mut tables = 0;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        tables += usize::from(!fenced && rule(line));
    }
    tables
}
