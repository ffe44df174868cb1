//! What only shows once the bag of tools is known: names of tools that don't exist, templates that can't be rendered.

use super::{
    Persona, Registry, Tools, name,
    place::{At, place_of},
    problem::{Code, ParseProblem},
    template, yaml,
};

/// Warnings for every persona in the registry, in the order of their names. What loading found is in `Registry::problems`.
pub fn check(registry: &Registry, tool_names: &[&str]) -> Vec<ParseProblem> {
    registry.personas().flat_map(|persona| check_one(persona, tool_names)).collect()
}

fn check_one(persona: &Persona, tool_names: &[&str]) -> Vec<ParseProblem> {
    let path = persona.source.to_string();
    let mut problems = Vec::new();
    let mut warn = |key: &str, entry: Option<&str>, code: Code, message: String, hint: String| {
        let at = entry.and_then(|entry| position(persona, key, entry)).map_or(At::Value, At::Item);
        let place = place_of(&persona.front_matter, key, at);
        problems.push(ParseProblem::new(&path, place, code, message, hint));
    };

    let known = |entry: &str| tool_names.iter().any(|tool| name::entry_means(entry, tool));
    let nearest = |entry: &str| name::nearest(entry, tool_names.iter().copied());
    if let Tools::Only(entries) = &persona.tools {
        for entry in entries.iter().filter(|entry| !known(entry)) {
            let message = format!("no tool is called `{entry}`; the persona runs without it");
            let hint = nearest(entry).map(|tool| format!("did you mean `{tool}`?")).unwrap_or_default();
            warn("tools", Some(entry), Code::UnknownTool, message, hint);
        }
    }
    // To forbid what doesn't exist is harmless, unless it was meant for something that does.
    for entry in persona.disallowed_tools.iter().filter(|entry| !entry.contains('*') && !known(entry)) {
        let close = nearest(entry).filter(|tool| strsim::damerau_levenshtein(entry, tool) <= 2);
        if let Some(tool) = close {
            let message = format!("no tool is called `{entry}`; it forbids nothing");
            warn("disallowed_tools", Some(entry), Code::UnknownTool, message, format!("did you mean `{tool}`?"));
        }
    }
    if let Some(Err(error)) = persona.initial_prompt.as_deref().map(template::check) {
        warn("initial_prompt", None, Code::TemplateBroken, error.to_string(), String::new());
    }
    problems
}

/// Which item of the list in the file it is; names are trimmed and listed once, so positions may differ from ours.
fn position(persona: &Persona, key: &str, entry: &str) -> Option<usize> {
    let front = yaml::read(&persona.front_matter).ok()?;
    front.get(key)?.as_sequence()?.iter().position(|item| item.as_str().is_some_and(|item| item.trim() == entry))
}
