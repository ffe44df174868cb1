//! From stored rows to what a model is sent. Whatever happened to a turn (a stop, a crash, a late result), the request is
//! valid: each call has exactly one result, directly behind it, and nothing answers a call that was not made.
//!
//! Rendering depends on the rows alone, so that an earlier request stays a prefix of every later one.

use std::collections::HashMap;

use super::files::Gallery;
use crate::model::{Message, ToolCall};

/// What stands in for a result that was never written.
const NO_RESULT: &str = "No result: the call was interrupted. Call again if you still need it.";

/// Kind of the row that holds what stood in a thread before the first mention. It is read after the mention was written
/// down, and shown before it: the question comes last.
pub(super) const THREAD: &str = "thread";

/// Kind of the row that holds what a worker was told while it worked. It may be written before the results of calls that run,
/// and is shown behind them.
pub(super) const LETTER: &str = "letter";

/// Rows of `chat_messages` in order, each as its kind and body. A row that can't be read is left out: better a gap than a
/// conversation that can never go on.
pub(super) fn parse<'a>(rows: impl Iterator<Item = (&'a str, &'a str)> + Clone, gallery: &Gallery) -> Vec<Message> {
    let is_thread = |(kind, _): &(&str, &str)| *kind == THREAD;
    let thread_first = rows.clone().filter(is_thread).chain(rows.filter(|row| !is_thread(row)));
    behind_results(thread_first)
        .into_iter()
        .filter_map(|(_, body)| match gallery.read(body) {
            Ok(message) => Some(message),
            Err(error) => {
                tracing::error!(%error, "a transcript row can't be read and is left out");
                None
            }
        })
        .collect()
}

fn behind_results<'a>(rows: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
    let (mut ordered, mut letters) = (Vec::new(), Vec::new());
    for row in rows {
        match row {
            (LETTER, _) => letters.push(row),
            ("tool", _) => ordered.push(row),
            _ => {
                ordered.append(&mut letters);
                ordered.push(row);
            }
        }
    }
    ordered.append(&mut letters);
    ordered
}

/// Pairs calls and results.
pub(super) fn pair(rows: Vec<Message>) -> Vec<Message> {
    let mut paired = Vec::with_capacity(rows.len());
    let mut rows = rows.into_iter().peekable();
    while let Some(row) = rows.next() {
        let Message::Assistant { text, reasoning, calls } = row else {
            // A result without its call says nothing that a model could place.
            if !matches!(row, Message::Tool { .. }) {
                paired.push(row);
            }
            continue;
        };
        let mut results: HashMap<String, String> = HashMap::new();
        while let Some(Message::Tool { .. }) = rows.peek() {
            if let Some(Message::Tool { call_id, text, .. }) = rows.next() {
                results.entry(call_id).or_insert(text);
            }
        }
        if text.is_empty() && calls.is_empty() {
            continue;
        }
        let answers: Vec<_> = calls
            .iter()
            .map(|ToolCall { id, name, .. }| Message::Tool {
                call_id: id.clone(),
                name: name.clone(),
                text: results.remove(id).unwrap_or_else(|| NO_RESULT.to_owned()),
            })
            .collect();
        paired.push(Message::Assistant { text, reasoning, calls });
        paired.extend(answers);
    }
    paired
}

/// Ids of calls must differ within a transcript, and some servers count from one in every answer.
pub(super) fn rename_repeated_calls(history: &[Message], calls: &mut [ToolCall]) {
    let mut used: std::collections::HashSet<String> = history
        .iter()
        .filter_map(|message| match message {
            Message::Assistant { calls, .. } => Some(calls),
            _ => None,
        })
        .flatten()
        .map(|call| call.id.clone())
        .collect();
    for call in calls {
        if call.id.is_empty() || !used.insert(call.id.clone()) {
            call.id = format!("call_{}", uuid::Uuid::now_v7().simple());
            used.insert(call.id.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn user(text: &str) -> Message {
        Message::user(text)
    }

    fn asks(ids: &[&str]) -> Message {
        let calls = ids
            .iter()
            .map(|id| ToolCall { id: (*id).into(), name: "query_promql".into(), arguments: "{}".into() })
            .collect();
        Message::Assistant { text: String::new(), reasoning: Vec::new(), calls }
    }

    fn result(id: &str, text: &str) -> Message {
        Message::Tool { call_id: id.into(), name: "query_promql".into(), text: text.into() }
    }

    #[test]
    fn a_call_that_a_crash_left_open_gets_a_result_in_its_place() {
        let rows = vec![user("why?"), asks(&["a", "b"]), result("b", "up = 0"), user("and now?")];
        assert_eq!(
            pair(rows),
            [user("why?"), asks(&["a", "b"]), result("a", NO_RESULT), result("b", "up = 0"), user("and now?")]
        );
    }

    #[test]
    fn what_a_worker_was_told_while_its_calls_ran_stands_behind_their_results() {
        let rows = [
            ("assistant", "1"),
            (LETTER, "2"),
            ("tool", "3"),
            ("tool", "4"),
            (LETTER, "5"),
            ("assistant", "6"),
            (LETTER, "7"),
        ];
        let order: Vec<_> = behind_results(rows.into_iter()).into_iter().map(|(_, body)| body).collect();
        assert_eq!(order, ["1", "3", "4", "2", "5", "6", "7"]);
    }

    #[test]
    fn results_without_a_call_and_second_results_are_left_out() {
        let rows = vec![result("x", "?"), asks(&["a"]), result("a", "1"), result("a", "2"), result("y", "?")];
        assert_eq!(pair(rows), [asks(&["a"]), result("a", "1")]);
    }

    #[test]
    fn repeated_ids_are_renamed_and_others_kept() {
        let history = [asks(&["call_1"])];
        let Message::Assistant { mut calls, .. } = asks(&["call_1", "call_2", "call_2", ""]) else { unreachable!() };
        rename_repeated_calls(&history, &mut calls);
        assert_eq!(calls[1].id, "call_2");
        let ids: std::collections::HashSet<_> = calls.iter().map(|call| call.id.as_str()).collect();
        assert!(ids.len() == 4 && !ids.contains("call_1") && !ids.contains(""), "{calls:?}");
    }

    #[derive(Clone, Debug)]
    enum Step {
        Say,
        Ask(Vec<u8>),
        Answer(u8),
        Crash,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            Just(Step::Say),
            proptest::collection::vec(0..6u8, 0..4).prop_map(Step::Ask),
            (0..6u8).prop_map(Step::Answer),
            Just(Step::Crash),
        ];
        proptest::collection::vec(step, 0..40)
    }

    fn rows(steps: &[Step]) -> Vec<Message> {
        let mut rows = Vec::new();
        for step in steps {
            match step {
                Step::Say => rows.push(user("more")),
                Step::Ask(ids) => {
                    let mut calls: Vec<_> = ids
                        .iter()
                        .map(|id| ToolCall { id: format!("c{id}"), name: "t".into(), arguments: "{}".into() })
                        .collect();
                    rename_repeated_calls(&rows, &mut calls);
                    rows.push(Message::Assistant { text: String::new(), reasoning: Vec::new(), calls });
                }
                Step::Answer(id) => rows.push(result(&format!("c{id}"), "r")),
                // What was not written yet is lost; what comes next starts anew.
                Step::Crash => {}
            }
        }
        rows
    }

    fn assert_valid(messages: &[Message]) {
        let mut seen = std::collections::HashSet::new();
        let mut open: Vec<&str> = Vec::new();
        for message in messages {
            match message {
                Message::Tool { call_id, .. } => {
                    assert_eq!(open.first(), Some(&call_id.as_str()), "results stand in the order of their calls");
                    open.remove(0);
                }
                other => {
                    assert!(open.is_empty(), "unanswered: {open:?}");
                    if let Message::Assistant { calls, .. } = other {
                        open = calls.iter().map(|call| call.id.as_str()).collect();
                        assert!(calls.iter().all(|call| seen.insert(call.id.clone())), "repeated id");
                    }
                }
            }
        }
        assert!(open.is_empty(), "unanswered at the end: {open:?}");
    }

    proptest! {
        #[test]
        fn any_interleaving_of_calls_results_stops_and_crashes_is_a_valid_request(steps in steps()) {
            assert_valid(&pair(rows(&steps)));
        }

        #[test]
        fn an_earlier_request_is_a_prefix_of_a_later_one(steps in steps(), cut in 0..40usize) {
            // A request is made between whole batches: behind a user message or a complete batch of results.
            let all = rows(&steps);
            let mut cut = cut.min(all.len());
            while cut < all.len() && matches!(all[cut], Message::Tool { .. }) {
                cut += 1;
            }
            let earlier = pair(all[..cut].to_vec());
            let later = pair(all);
            prop_assert_eq!(&later[..earlier.len()], &earlier[..]);
        }
    }
}
