//! What the model was asked, in short.

use serde_json::Value;

fn text(message: &Value) -> String {
    let content = &message["content"];
    // With pictures the words are one part of several.
    content.as_str().or(content[0]["text"].as_str()).unwrap_or_default().to_owned()
}

/// The addresses of all pictures.
pub(crate) fn pictures(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap().iter();
    let parts = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
    parts.filter_map(|part| part["image_url"]["url"].as_str().map(str::to_owned)).collect()
}

fn of<'r>(request: &'r Value, role: &str) -> impl Iterator<Item = String> + use<'r> {
    let role = role.to_owned();
    let messages = request["messages"].as_array().unwrap().iter();
    messages.filter(move |message| message["role"] == role.as_str()).map(text)
}

/// Everything that came as a user message, without the runtime's reminders.
pub(crate) fn said(request: &Value) -> Vec<String> {
    of(request, "user").filter(|text| !text.starts_with("<system-reminder>")).collect()
}

pub(crate) fn system(request: &Value) -> String {
    of(request, "system").collect::<Vec<_>>().join("\n")
}

/// The results of all calls so far, in order.
pub(crate) fn results(request: &Value) -> Vec<String> {
    of(request, "tool").collect()
}

/// Role by role, without the reminders.
pub(crate) fn roles(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap().iter();
    let kept = messages.filter(|message| !text(message).starts_with("<system-reminder>"));
    kept.map(|message| message["role"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn tools(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().into_iter().flatten();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn reminders(request: &Value) -> Vec<String> {
    of(request, "user").filter(|text| text.starts_with("<system-reminder>")).collect()
}

/// What the person said, out of its envelope.
pub(crate) fn words(envelope: &str) -> &str {
    envelope.split_once(">\n").and_then(|(_, rest)| rest.rsplit_once("\n</")).map_or(envelope, |(words, _)| words)
}
