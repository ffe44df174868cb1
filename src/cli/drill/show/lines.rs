//! The threads as they develop, line by line: who wrote what, and each new text of a message that is edited.

use std::{collections::HashMap, time::Duration};

use super::{
    super::super::say,
    scene::{Scene, Shown},
};

#[derive(Default)]
pub(in super::super) struct Lines {
    title: Option<String>,
    /// When each message last changed, as it was printed.
    printed: HashMap<String, Duration>,
}

impl Lines {
    pub(super) fn new(title: String) -> Self {
        Self { title: Some(title), ..Self::default() }
    }

    /// What stands there already isn't news.
    pub(super) fn from(scene: &Scene) -> Self {
        let messages = scene.panes.iter().flat_map(|pane| &pane.messages);
        Self { title: None, printed: messages.map(|shown| (shown.id.clone(), shown.changed)).collect() }
    }

    pub(super) fn print(&mut self, scene: &Scene) {
        if let Some(title) = self.title.take() {
            say(format_args!("{title}\n"));
        }
        let mut news: Vec<(&str, bool, &Shown)> = Vec::new();
        for pane in &scene.panes {
            for (number, shown) in pane.messages.iter().enumerate() {
                if self.printed.insert(shown.id.clone(), shown.changed) != Some(shown.changed) {
                    news.push((&pane.title, number > 0, shown));
                }
            }
        }
        news.sort_by_key(|(.., shown)| shown.changed);
        for (pane, reply, shown) in news {
            tell(scene.began(), pane, reply, shown);
        }
    }
}

fn tell(began: Duration, pane: &str, reply: bool, shown: &Shown) {
    let room = pane.split(':').next().unwrap_or(pane);
    let place = if reply { "  └ ".to_owned() } else { format!("{room} ") };
    let sign = if shown.edits > 0 { " (edited)" } else { "" };
    let at = shown.changed.saturating_sub(began).as_secs_f64();
    say(format_args!("{at:>7.2} s  {place}{}{sign}", shown.author));
    for line in &shown.text {
        let text: String = line.iter().map(|piece| piece.text.as_str()).collect();
        if !text.trim().is_empty() {
            say(format_args!("             {text}"));
        }
    }
    for button in &shown.buttons {
        say(format_args!("             [ {button} ]"));
    }
    say("");
}
