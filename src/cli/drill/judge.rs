//! Whether a drill went as it should. What the simulators complain of counts always, expected or not.

use std::collections::HashSet;

use super::{play::Played, scenario::Expect};

/// One sentence for each expectation that did not hold.
pub(super) fn failures(expect: &Expect, played: &Played) -> Vec<String> {
    let mut failures = played.complaints.clone();
    let mut check = |holds: bool, failure: String| {
        if !holds {
            failures.push(failure);
        }
    };
    let placeholder_became_something = played.messages.first().is_some_and(|message| message.edits.len() > 1);
    check(!expect.placeholder || placeholder_became_something, "there was no placeholder that became an answer".into());
    let earlier: Vec<&str> = played
        .messages
        .iter()
        .flat_map(|message| message.edits.split_last().map_or(&[][..], |(_, earlier)| earlier))
        .map(|edit| edit.text.as_str())
        .collect();
    for wanted in &expect.interim {
        let seen = earlier.iter().any(|text| text.contains(wanted.as_str()));
        check(seen, format!("no interim text contained {wanted:?}"));
    }
    check(
        expect.workers == played.tally.workers,
        format!("expected the workers {:?}, there were {:?}", expect.workers, played.tally.workers),
    );
    for tool in &expect.tools {
        check(played.tally.calls.contains(tool), format!("{tool} was not called"));
    }
    let answer = final_text(played);
    for wanted in &expect.final_contains {
        check(answer.contains(wanted.as_str()), format!("the answer does not contain {wanted:?}"));
    }
    if let Some(count) = expect.messages {
        let got = played.messages.len();
        check(count == got, format!("expected {count} messages of the bot, there were {got}"));
    }
    let texts: HashSet<_> = played.messages.iter().map(|message| (&message.thread_ts, message.text())).collect();
    check(texts.len() == played.messages.len(), "the same text stands in a thread twice".into());
    failures
}

/// What the bot's messages say in the end.
pub(super) fn final_text(played: &Played) -> String {
    played.messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n")
}
