//! Checks every chat-completions request as a strict provider would: calls and results must pair up. The sentence it
//! returns is the answer's error message.

use std::collections::HashSet;

use serde_json::Value;

/// Everything but the prefix, which needs memory.
pub(crate) fn check(body: &Value, unknown_tools: &[String]) -> Result<(), String> {
    let messages = body["messages"].as_array().ok_or("`messages` must be an array")?;
    if messages.is_empty() {
        return Err("`messages` must not be empty".to_owned());
    }
    let tools = check_tools(&body["tools"])?;
    let mut ids = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(index) = open.iter().position(|call| *call == id) else {
                return Err(match ids.contains(id) {
                    true => format!("messages[{at}]: a second result, or one in the wrong place, for call {id}"),
                    false => format!("messages[{at}]: a result for call {id}, which nobody made"),
                });
            };
            open.remove(index);
            check_content(message).map_err(|problem| format!("messages[{at}]: {problem}"))?;
            continue;
        }
        if let Some(call) = open.first() {
            return Err(format!("messages[{at}]: call {call} has no result before the next {role} message"));
        }
        match role {
            "assistant" => {
                open = check_assistant(message, &tools, unknown_tools, &mut ids)
                    .map_err(|problem| format!("messages[{at}]: {problem}"))?;
            }
            "system" | "developer" | "user" => {
                check_content(message).map_err(|problem| format!("messages[{at}]: {problem}"))?;
            }
            _ => return Err(format!("messages[{at}]: unknown role {}", message["role"])),
        }
    }
    match open.first() {
        Some(call) => Err(format!("call {call} has no result at the end of the request")),
        None => Ok(()),
    }
}

fn check_content(message: &Value) -> Result<(), String> {
    match &message["content"] {
        Value::String(_) => Ok(()),
        Value::Array(parts) if !parts.is_empty() && parts.iter().all(|part| part["type"].is_string()) => Ok(()),
        _ => Err(format!("content missing in a {} message", message["role"])),
    }
}

fn check_assistant<'m>(
    message: &'m Value,
    tools: &HashSet<&str>,
    unknown_tools: &[String],
    ids: &mut HashSet<&'m str>,
) -> Result<Vec<&'m str>, String> {
    let Some(calls) = message.get("tool_calls") else {
        check_content(message)?;
        return Ok(Vec::new());
    };
    let calls = calls.as_array().filter(|calls| !calls.is_empty()).ok_or("`tool_calls` must be a list with calls")?;
    let mut open = Vec::new();
    for call in calls {
        let id = call["id"].as_str().filter(|id| !id.is_empty()).ok_or("a call without an id")?;
        if !ids.insert(id) {
            return Err(format!("call id {id} is used twice"));
        }
        if call["type"] != "function" {
            return Err(format!("call {id} must be of type function"));
        }
        let name = call["function"]["name"].as_str().ok_or_else(|| format!("call {id} without a name"))?;
        if !fits(name) {
            return Err(format!("call {id}: expected a name that matches '^[a-zA-Z0-9_-]{{1,64}}$', got {name:?}"));
        }
        if !call["function"]["arguments"].is_string() {
            return Err(format!("the arguments of call {id} must be a string"));
        }
        if !tools.contains(name) && !unknown_tools.iter().any(|unknown| unknown == name) {
            return Err(format!("call {id} names {name}, which is not among the tools"));
        }
        open.push(id);
    }
    Ok(open)
}

fn fits(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn check_tools(tools: &Value) -> Result<HashSet<&str>, String> {
    let list = match tools {
        Value::Null => return Ok(HashSet::new()),
        Value::Array(list) if !list.is_empty() => list,
        _ => return Err("`tools` must be a list with tools, or absent".to_owned()),
    };
    let mut names = HashSet::new();
    for (at, tool) in list.iter().enumerate() {
        let function = &tool["function"];
        let name = function["name"].as_str().filter(|name| fits(name));
        let description = function.get("description").is_none_or(Value::is_string);
        let parameters = function.get("parameters").is_none_or(|schema| schema["type"] == "object");
        match name {
            Some(name) if tool["type"] == "function" && description && parameters => {
                if !names.insert(name) {
                    return Err(format!("tools[{at}]: {name} is listed twice"));
                }
            }
            _ => return Err(format!("tools[{at}] has the wrong shape")),
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> Value {
        json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}})
    }

    fn call(id: &str, name: &str) -> Value {
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}})
    }

    fn result(id: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": "ok"})
    }

    #[test]
    fn each_violation_is_named() {
        let user = json!({"role": "user", "content": "hi"});
        let assistant = |calls: Value| json!({"role": "assistant", "content": null, "tool_calls": calls});
        let one = assistant(json!([call("c1", "look")]));
        let two = assistant(json!([call("c1", "look"), call("c2", "look")]));
        let odd = |name: &str, arguments: Value| {
            assistant(json!([{"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}]))
        };
        for (messages, wanted) in [
            (json!([user]), ""),
            (json!([user, one, result("c1")]), ""),
            (json!([user, two, result("c2"), result("c1"), user]), ""),
            (json!([]), "must not be empty"),
            (json!([user, one]), "c1 has no result at the end"),
            (json!([user, two, result("c1"), user]), "c2 has no result before the next user message"),
            (json!([user, one, user, result("c1")]), "c1 has no result before"),
            (json!([user, result("c9")]), "which nobody made"),
            (json!([user, one, result("c1"), result("c1")]), "a second result"),
            (json!([user, one, result("c1"), one, result("c1")]), "used twice"),
            (json!([user, odd("shell", json!("{}")), result("c1")]), "not among the tools"),
            (json!([user, odd("made_up", json!("{}")), result("c1")]), ""),
            (json!([user, odd("look", json!({})), result("c1")]), "must be a string"),
            (json!([user, assistant(json!([]))]), "a list with calls"),
            (json!([{"role": "user"}]), "content missing"),
            (json!([{"role": "assistant", "content": null}]), "content missing"),
            (json!([{"role": "robot", "content": "x"}]), "unknown role"),
        ] {
            let body = json!({"messages": messages, "tools": [tool("look")]});
            let said = check(&body, &["made_up".to_owned()]).err().unwrap_or_default();
            assert!(if wanted.is_empty() { said.is_empty() } else { said.contains(wanted) }, "{messages}: {said}");
        }
    }

    #[test]
    fn tools_must_have_the_documented_shape() {
        let body = |tools: Value| json!({"messages": [{"role": "user", "content": "hi"}], "tools": tools});
        assert_eq!(check(&body(json!([tool("a"), tool("b")])), &[]), Ok(()));
        for tools in [
            json!([]),
            json!({}),
            json!([{"name": "a", "parameters": {"type": "object"}}]),
            json!([{"type": "function", "function": {"name": "with space"}}]),
            json!([{"type": "function", "function": {"name": "a", "parameters": {"type": "string"}}}]),
            json!([tool("a"), tool("a")]),
        ] {
            assert!(check(&body(tools.clone()), &[]).is_err(), "{tools}");
        }
    }
}
