//! Whether a drill went as it should, expectation by expectation.

use std::collections::HashSet;

use super::{play::Played, scenario::Expect};

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
    let mut check = |holds: bool, expected: String, failure: String| {
        verdicts.push(Verdict { expected, failure: (!holds).then_some(failure) });
    };
    if expect.placeholder {
        let became_something = played.messages.first().is_some_and(|message| message.edits.len() > 1);
        let failure = "there was no placeholder that became an answer".into();
        check(became_something, "a placeholder becomes the answer".into(), failure);
    }
    let earlier: Vec<&str> = played
        .messages
        .iter()
        .flat_map(|message| message.edits.split_last().map_or(&[][..], |(_, earlier)| earlier))
        .map(|edit| edit.text.as_str())
        .collect();
    for wanted in &expect.interim {
        let seen = earlier.iter().any(|text| text.contains(wanted.as_str()));
        check(seen, format!("{wanted:?} is shown meanwhile"), format!("no interim text contained {wanted:?}"));
    }
    check(
        expect.workers == played.tally.workers,
        format!("the workers are {:?}", expect.workers),
        format!("expected the workers {:?}, there were {:?}", expect.workers, played.tally.workers),
    );
    for tool in &expect.tools {
        check(played.tally.calls.contains(tool), format!("{tool} is called"), format!("{tool} was not called"));
    }
    let answer = final_text(played);
    for wanted in &expect.final_contains {
        let failure = format!("the answer does not contain {wanted:?}");
        check(answer.contains(wanted.as_str()), format!("the answer contains {wanted:?}"), failure);
    }
    if let Some(count) = expect.messages {
        let got = played.messages.len();
        let failure = format!("expected {count} messages of the bot, there were {got}");
        check(count == got, format!("the bot writes {count} messages"), failure);
    }
    let texts: HashSet<_> = played.messages.iter().map(|message| (&message.thread_ts, message.text())).collect();
    let failure = "the same text stands in a thread twice".into();
    check(texts.len() == played.messages.len(), "no text stands in a thread twice".into(), failure);
    verdicts
}

/// One sentence for each thing that went wrong. What the simulators complain of counts always, expected or not.
pub(super) fn failures(verdicts: &[Verdict], played: &Played) -> Vec<String> {
    let failed = verdicts.iter().filter_map(|verdict| verdict.failure.clone());
    played.complaints.iter().cloned().chain(failed).collect()
}

/// What the bot's messages say in the end.
pub(super) fn final_text(played: &Played) -> String {
    played.messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n")
}
