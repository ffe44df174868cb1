//! The simulated Slack as panes: one for each thread, and one for each message at top level that has none.

use serde_json::Value;
use watchfloor_sim::{
    SlackSim,
    slack::{Author, BOT_USER, Message},
};

use super::{
    super::scenario::Scenario,
    mrkdwn,
    scene::{Pane, Shown, Who},
};

/// Wide enough to tell threads apart, short enough for a pane's frame.
const TITLE_CHARS: usize = 28;

/// Counts as looking at every message.
pub(in super::super) fn panes(scenario: &Scenario, slack: &SlackSim) -> Vec<Pane> {
    let mut panes: Vec<(String, Pane)> = Vec::new();
    for room in &scenario.rooms {
        for message in slack.messages(&room.id, None) {
            let root = message.thread_ts.clone().unwrap_or_else(|| message.ts.clone());
            let shown = shown(scenario, &message);
            match panes.iter_mut().find(|(known, _)| *known == root) {
                Some((_, pane)) => pane.messages.push(shown),
                None => panes.push((root, Pane { title: title(&room.name, &shown), messages: vec![shown] })),
            }
        }
    }
    panes.sort_by(|(a, _), (b, _)| a.cmp(b));
    panes.into_iter().map(|(_, pane)| pane).collect()
}

fn title(room: &str, root: &Shown) -> String {
    let text: String = root.text.first().into_iter().flatten().map(|piece| piece.text.as_str()).collect();
    let mut short: String = text.chars().take(TITLE_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("Slack #{room}: {short}")
}

fn shown(scenario: &Scenario, message: &Message) -> Shown {
    let called = |id: &str| match id {
        BOT_USER => Some("watchfloor".to_owned()),
        id => {
            scenario.people.iter().chain(&scenario.rooms).find(|named| named.id == id).map(|named| named.name.clone())
        }
    };
    let (author, who) = match &message.author {
        Author::Person(id) => (called(id).unwrap_or_else(|| id.clone()), Who::Person),
        Author::Bot => ("watchfloor".to_owned(), Who::Us),
        Author::OtherBot(_) => ("alerts".to_owned(), Who::OtherBot),
    };
    let text =
        if message.text().is_empty() { without_repeats(&message.everything()) } else { message.text().to_owned() };
    let at = |edit: Option<&watchfloor_sim::slack::Edit>| edit.map(|edit| edit.at).unwrap_or_default();
    Shown {
        id: message.ts.clone(),
        author,
        who,
        at: at(message.edits.first()),
        changed: at(message.edits.last()),
        edits: message.edits.len().saturating_sub(1),
        text: mrkdwn::lines(&text, &called),
        buttons: buttons(message.blocks.as_ref()),
    }
}

/// An attachment's fallback says the same as its title.
fn without_repeats(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// What the elements of `actions` blocks are called.
fn buttons(blocks: Option<&Value>) -> Vec<String> {
    let blocks = blocks.and_then(Value::as_array).into_iter().flatten().filter(|block| block["type"] == "actions");
    let elements = blocks.flat_map(|block| block["elements"].as_array().into_iter().flatten());
    elements
        .map(|element| {
            let label = element.pointer("/text/text").or_else(|| element.pointer("/placeholder/text"));
            let label = label.and_then(Value::as_str).unwrap_or("…");
            label.chars().filter(|c| !c.is_control()).collect()
        })
        .collect()
}
