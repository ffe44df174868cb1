//! Whether a drill went as it should, expectation by expectation.

use std::collections::HashSet;

use super::{
    play::{Channel, Played},
    scenario::Expect,
};

/// One expectation and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub expected: String,
    /// What was instead, if it did not hold.
    pub failure: Option<String>,
}

impl Verdict {
    pub(super) fn held(&self) -> bool {
        self.failure.is_none()
    }
}

pub(super) fn verdicts(expect: &Expect, played: &Played) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for channel in &played.channels {
        let on = if played.channels.len() > 1 { format!("{}: ", channel.kind) } else { String::new() };
        shown(expect, channel, &mut |holds, expected, failure| {
            let failure = (!holds).then(|| format!("{on}{failure}"));
            verdicts.push(Verdict { expected: format!("{on}{expected}"), failure });
        });
    }
    let mut check = |holds: bool, expected: String, failure: String| {
        verdicts.push(Verdict { expected, failure: (!holds).then_some(failure) });
    };
    let on_each = if played.channels.len() > 1 { " on each platform" } else { "" };
    check(
        workers(expect, played),
        format!("the workers{on_each} are {:?}", expect.workers),
        format!("expected the workers {:?}{on_each}, there were {:?}", expect.workers, played.tally.workers),
    );
    for tool in &expect.tools {
        check(played.tally.calls.contains(tool), format!("{tool} is called"), format!("{tool} was not called"));
    }
    verdicts
}

/// In their order where there is one platform; several work at the same time.
fn workers(expect: &Expect, played: &Played) -> bool {
    let mut wanted = vec![expect.workers.as_slice(); played.channels.len()].concat();
    let mut were = played.tally.workers.clone();
    if played.channels.len() > 1 {
        wanted.sort();
        were.sort();
    }
    wanted == were
}

/// Whatever marks bold words and code on a platform.
fn says(text: &str, wanted: &str) -> bool {
    let bare = |text: &str| text.replace(['*', '_', '`', '~'], "");
    bare(text).contains(&bare(wanted))
}

/// What is to be seen on one platform.
fn shown(expect: &Expect, channel: &Channel, check: &mut dyn FnMut(bool, String, String)) {
    let messages = &channel.messages;
    if expect.placeholder {
        let became_something = messages.first().is_some_and(|message| message.versions.len() > 1);
        let failure = "there was no placeholder that became an answer".into();
        check(became_something, "a placeholder becomes the answer".into(), failure);
    }
    let earlier: Vec<&str> = messages
        .iter()
        .flat_map(|message| message.versions.split_last().map_or(&[][..], |(_, earlier)| earlier))
        .map(|version| version.text.as_str())
        .collect();
    for wanted in &expect.interim {
        let seen = earlier.iter().any(|text| says(text, wanted));
        check(seen, format!("{wanted:?} is shown meanwhile"), format!("no interim text contained {wanted:?}"));
    }
    let answer = channel.final_text();
    for wanted in &expect.final_contains {
        let failure = format!("the answer does not contain {wanted:?}");
        check(says(&answer, wanted), format!("the answer contains {wanted:?}"), failure);
    }
    if let Some(count) = expect.messages {
        let got = messages.len();
        let failure = format!("expected {count} messages of the bot, there were {got}");
        check(count == got, format!("the bot writes {count} messages"), failure);
    }
    let texts: HashSet<_> = messages.iter().map(|message| (&message.thread, message.text())).collect();
    let failure = "the same text stands in a thread twice".into();
    check(texts.len() == messages.len(), "no text stands in a thread twice".into(), failure);
}

/// One sentence for each thing that went wrong. What the simulators complain of counts always, expected or not.
pub(super) fn failures(verdicts: &[Verdict], played: &Played) -> Vec<String> {
    let failed = verdicts.iter().filter_map(|verdict| verdict.failure.clone());
    played.complaints.iter().cloned().chain(failed).collect()
}

impl Channel {
    /// What the bot's messages say in the end.
    pub(super) fn final_text(&self) -> String {
        self.messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n")
    }
}
