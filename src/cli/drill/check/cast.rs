//! Who speaks, where, and in which thread: names must lead to somebody, and somebody must ask the bot.

use std::collections::HashMap;

use super::{Node, Problem};
use crate::cli::drill::scenario::BOT;

pub(super) fn check(root: &Node<'_>, problems: &mut Vec<Problem>) {
    let people = names(root, "people", problems);
    let rooms = names(root, "rooms", problems);
    if let Some(node) = root.get("platforms")
        && node.value.as_sequence().is_some_and(Vec::is_empty)
    {
        problems.push(Problem::new(&node, "expected at least one platform"));
    }
    // Each named message with its room.
    let mut threads: HashMap<&str, Option<&str>> = HashMap::new();
    let said = root.list("say");
    for node in &said {
        let room = node.text_of("room");
        if let Some((name, place)) = &room
            && !rooms.contains(name)
        {
            let problem = Problem::new(place, format!("no room is named {name:?}"));
            problems.push(problem.meant(name, rooms.iter().copied()));
        }
        let named = node.text_of("alert").or_else(|| node.text_of("id"));
        match node.text_of("person") {
            Some((name, place)) if !people.contains(&name) => {
                let problem = Problem::new(&place, format!("nobody is named {name:?}"));
                problems.push(problem.meant(name, people.iter().copied()));
            }
            // One of another kind was told already.
            None if node.get("person").is_some() => {}
            None if named.is_none() && node.value.is_mapping() => {
                problems.push(Problem::new(node, "expected person, or alert for a message of an alert bot"));
            }
            None => {
                if let Some(place) = node.get("thread") {
                    problems.push(Problem::new(&place, "an alert begins a thread, it can't be said in one"));
                }
            }
            Some(_) => {}
        }
        if let Some((name, place)) = node.text_of("thread") {
            match threads.get(name) {
                None => {
                    let problem = Problem::new(&place, format!("no earlier message has the id {name:?}"));
                    problems.push(problem.meant(name, threads.keys().copied()));
                }
                Some(other) if *other != room.as_ref().map(|(name, _)| *name) => {
                    let other = other.unwrap_or_default();
                    problems.push(Problem::new(&place, format!("that message was said in another room, {other:?}")));
                }
                Some(_) => {}
            }
        }
        if let Some((name, place)) = named
            && threads.insert(name, room.map(|(name, _)| name)).is_some()
        {
            problems.push(Problem::new(&place, format!("an earlier message has the id {name:?} already")));
        }
    }
    let mentions = |node: &Node<'_>| node.text_of("text").is_some_and(|(text, _)| text.contains(BOT));
    if let Some(say) = root.get("say").filter(|say| say.value.is_sequence())
        && !said.iter().any(mentions)
    {
        problems.push(Problem::new(&say, format!("nobody mentions {BOT}, so nothing would happen")));
    }
}

/// The names of people or rooms.
fn names<'a>(root: &Node<'a>, key: &str, problems: &mut Vec<Problem>) -> Vec<&'a str> {
    let mut names = Vec::new();
    let mut ids = Vec::new();
    for node in root.list(key) {
        for (what, known) in [("name", &mut names), ("id", &mut ids)] {
            let Some((text, place)) = node.text_of(what) else { continue };
            if known.contains(&text) {
                problems.push(Problem::new(&place, format!("another one has the {what} {text:?}")));
            }
            known.push(text);
        }
    }
    names
}
