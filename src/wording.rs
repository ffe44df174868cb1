//! Every sentence that a person in a chat can read. Each says what happened and what she can do next.

use std::time::Duration;

pub fn placeholder() -> String {
    "Looking into it…".into()
}

pub fn waiting_for_slot(running: usize) -> String {
    format!("Looking into it as soon as one of the {running} investigations under way is done…")
}

pub fn resumed() -> String {
    "I was restarted and am going on where I was…".into()
}

/// Above the answer to a message that was brought long after it was said.
pub fn late(by: Duration) -> String {
    format!("Your message reached me {} late.", spell(by))
}

/// `by` is how the person is shown in this chat.
pub fn stopped(by: &str) -> String {
    format!("Stopped by {by}. Mention me again to start over.")
}

pub fn incomplete(limit: &Limit) -> String {
    match limit {
        Limit::ModelCalls(count) => format!(
            "This answer is incomplete: I reached my limit of {count} steps. Ask me to go on, or narrow the question."
        ),
        Limit::Time(limit) => format!(
            "This answer is incomplete: I reached my time limit of {}. Ask me to go on, or narrow the question.",
            spell(*limit)
        ),
        Limit::Filtered => {
            "This answer was cut by the model provider's content filter. Ask in other words, or ask for the rest."
                .into()
        }
        Limit::Length => "This answer was cut at the model's output limit. Ask me for the rest.".into(),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    ModelCalls(u32),
    Time(Duration),
    Length,
    Filtered,
}

pub fn finished_notice(mention: &str) -> String {
    format!("{mention} done: the answer is in my message above.")
}

pub fn no_answer() -> String {
    "The model gave no answer, twice. Ask again; if it stays so, an operator should look at the model's provider."
        .into()
}

pub fn model_not_configured(what: &str) -> String {
    format!("I can't think yet: {what}. An operator has to set it and restart me; then ask again.")
}

pub fn model_rate_limited() -> String {
    "The model's provider is limiting us and asked for a longer wait than I can make you sit through. Ask again in a few minutes.".into()
}

pub fn model_overloaded() -> String {
    "The model's provider is overloaded and did not recover in time. Ask again in a minute.".into()
}

pub fn model_unavailable() -> String {
    "I could not reach the model, also not on a second try. Ask again in a minute; operators find the reason in my log."
        .into()
}

pub fn model_refused_key() -> String {
    "The model's provider refuses our key. An operator has to mend it; then ask again.".into()
}

pub fn model_rejected() -> String {
    "The model's provider rejected the request; asking the same again won't help. Operators find the reason in my log."
        .into()
}

pub fn too_long() -> String {
    "This thread has grown too long for the model. Mention me in a new thread with what matters, and I start fresh."
        .into()
}

pub fn interrupted_too_often(times: i64) -> String {
    format!("I was interrupted {times} times while working on this and gave up. Ask again to start over.")
}

pub fn internal_error() -> String {
    "Something broke inside me while I worked on this. Ask again; operators find the reason in my log.".into()
}

pub fn not_allowed(whom: &str) -> String {
    format!("I'm not allowed to answer you here. {whom} can change that.")
}

/// What a platform's command menu says of `/stop`.
pub fn stop_command() -> String {
    "End what I am doing for this conversation".into()
}

/// A click on a button whose question is closed, or that nobody knows.
pub fn button_expired() -> String {
    "This button is no longer valid. Mention me in the thread if you still need what it was for.".into()
}

/// A slash command carries no thread, and the answer belongs into one. `question` is what she typed behind the command.
pub fn command_help(mention: &str, question: &str) -> String {
    let question = if question.is_empty() { "what you want to know" } else { question };
    format!(
        "I answer in threads. Send this as a message, in a channel or in the thread of an alert: {mention} {question}"
    )
}

/// Beneath the first thing that people of some platforms send to a bot.
pub fn greeting(private: bool) -> String {
    let how =
        if private { "ask me here in your own words" } else { "mention me with your question, in your own words" };
    format!("I look into what is going wrong and show what I found: {how}, and /stop ends what I am at.")
}

/// One of the platform's commands that nothing acts on.
pub fn command_without_effect(name: &str) -> String {
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(32).collect();
    format!(
        "/{plain} does nothing here: of all commands only /stop acts, and everything else you can ask me in your own words."
    )
}

/// In a drill that goes on after its last recorded answer.
pub fn recording_ends() -> String {
    "The recording has no answer to this. Start the drill with --live to let a real model answer.".into()
}

pub fn operators() -> String {
    "The people who run me".into()
}

/// Name of the file that holds a very long answer.
pub fn answer_file() -> String {
    "answer.md".into()
}

/// Beneath the beginning of a very long answer.
pub fn answer_goes_on(file: &str) -> String {
    format!("This is only the beginning: the whole answer is in the file {file} below.")
}

/// Above that file.
pub fn whole_answer() -> String {
    "The whole answer:".into()
}

/// Beside the answer: what each cited result was.
pub fn sources_heading() -> &'static str {
    "Sources"
}

/// Cited, but nothing that any tool showed.
pub fn no_such_evidence(ids: &str) -> String {
    format!("{ids}: no result of this conversation. Don't rely on what I said it shows.")
}

/// Beneath an answer: who thought it in place of the model that a persona names.
pub fn another_model(persona: &str, wanted: &str, ran: &str) -> String {
    format!("{persona} ran on {ran}: its own model {wanted} is not configured.")
}

/// In place of an answer that the platform takes in no form.
pub fn not_let_through(why: &str) -> String {
    format!(
        "I have an answer that I can't show here: {why}. Ask me for it in other words, or ask the people who run me."
    )
}

/// To the asker in private, where her room takes no answer.
pub fn could_not_answer_there(question: &str, why: &str) -> String {
    format!(
        "I can't answer in the room where you asked \u{201C}{question}\u{201D}: {why}. Once that is mended, ask me there again."
    )
}

/// A time span as a person says it: `90 s`, `15 min`, `2 h`.
pub fn spell(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_spelled_in_the_largest_fitting_unit() {
        let spelled: Vec<_> = [0, 90, 120, 900, 7200].map(|s| spell(Duration::from_secs(s))).into();
        assert_eq!(spelled, ["0 s", "90 s", "2 min", "15 min", "2 h"]);
    }
}
