//! Commands said in a chat. Until there are more, only stop acts.

use watchfloor_channel::Inbound;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Stop,
    /// One of the platform's own that nothing acts on.
    Other(String),
}

pub(super) fn of(inbound: &Inbound) -> Option<Command> {
    match inbound.command.as_deref() {
        Some("stop") => Some(Command::Stop),
        Some(name) => Some(Command::Other(name.to_owned())),
        None => parse(&inbound.text),
    }
}

/// The text comes without our mention. A command is the whole message: "stop the deploy?" is a question.
fn parse(text: &str) -> Option<Command> {
    let word = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    matches!(word.as_str(), "stop" | "/stop").then_some(Command::Stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_is_the_whole_message_in_any_case() {
        for text in ["stop", "Stop", " /STOP ", "stop!", "STOP."] {
            assert_eq!(parse(text), Some(Command::Stop), "{text:?}");
        }
        for text in ["", "stop it", "don't stop", "stop\nthe deploy", "/stopp", "/stop now"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
