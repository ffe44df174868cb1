//! Answers as servers write them, in both wire formats, and what each must come to: whole, in any pieces, and cut anywhere.

mod anthropic;
mod openai;

use std::collections::VecDeque;

use proptest::prelude::*;

use super::{
    Completion, ModelError, ModelEvent, StopReason, ToolCall, Usage,
    decode::{Assemble, Decoder, broke_off},
    scrub::Scrub,
};

struct Case {
    /// What it shows.
    name: &'static str,
    format: Format,
    stream: String,
    expected: Result<Completion, ModelError>,
}

#[derive(Clone, Copy, Debug)]
enum Format {
    OpenAi,
    Anthropic,
}

fn cases() -> Vec<Case> {
    let openai = openai::cases();
    let anthropic = anthropic::cases();
    let with = |format| move |(name, stream, expected)| Case { name, format, stream, expected };
    openai.into_iter().map(with(Format::OpenAi)).chain(anthropic.into_iter().map(with(Format::Anthropic))).collect()
}

fn text(text: &str) -> Completion {
    Completion { text: text.into(), reasoning: vec![], calls: vec![], stop: StopReason::End, usage: Usage::default() }
}

fn calls(calls: &[(&str, &str, &str)]) -> Completion {
    let calls = calls.iter().map(|(id, name, arguments)| ToolCall {
        id: (*id).into(),
        name: (*name).into(),
        arguments: (*arguments).into(),
    });
    Completion { calls: calls.collect(), stop: StopReason::ToolCalls, ..text("") }
}

type Outcome = (Vec<ModelEvent>, Result<Completion, ModelError>);

fn play<'a>(format: Format, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    match format {
        Format::OpenAi => play_into(super::openai::Assembler::new("m".into()), pieces),
        Format::Anthropic => play_into(super::anthropic::Assembler::new("m".into()), pieces),
    }
}

fn play_into<'a>(assembler: impl Assemble, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut decoder = Decoder::new(assembler, Scrub::default());
    let mut out = VecDeque::new();
    for piece in pieces {
        if let Err(error) = decoder.push(piece, &mut out) {
            return (joined(out), Err(error));
        }
    }
    let end = decoder.end(&mut out).map(|mut completion| {
        // Made ids differ from run to run.
        for call in completion.calls.iter_mut().filter(|call| call.id.len() == "call_".len() + 32) {
            call.id = "made".into();
        }
        completion
    });
    (joined(out), end)
}

/// The events with their texts joined, so that they don't depend on how the stream was cut.
fn joined(events: VecDeque<ModelEvent>) -> Vec<ModelEvent> {
    let mut all: Vec<ModelEvent> = Vec::new();
    for event in events {
        match (all.last_mut(), event) {
            (Some(ModelEvent::Text(text)), ModelEvent::Text(more)) => text.push_str(&more),
            (_, event) => all.push(event),
        }
    }
    all
}

#[test]
fn every_stream_comes_to_its_answer() {
    let cases = cases();
    assert!(cases.len() >= 80, "there were {}", cases.len());
    for Case { name, format, stream, expected } in cases {
        assert_eq!(play(format, [stream.as_bytes()]).1, expected, "{format:?}: {name}");
    }
}

#[test]
fn the_events_are_the_answers_text_and_calls_in_order() {
    for Case { name, format, stream, .. } in cases() {
        let (events, end) = play(format, [stream.as_bytes()]);
        let Ok(end) = end else { continue };
        let text = Some(end.text).filter(|text| !text.is_empty()).map(ModelEvent::Text);
        let calls = end.calls.into_iter().map(|call| ModelEvent::CallStarted { name: call.name });
        assert_eq!(events, text.into_iter().chain(calls).collect::<Vec<_>>(), "{format:?}: {name}");
    }
}

#[test]
fn cut_into_two_pieces_at_any_byte_it_is_the_same() {
    for Case { name, format, stream, .. } in cases() {
        let whole = play(format, [stream.as_bytes()]);
        for at in 0..=stream.len() {
            let (a, b) = stream.as_bytes().split_at(at);
            assert_eq!(play(format, [a, b]), whole, "{format:?}: {name}, cut at {at}");
        }
        assert_eq!(play(format, stream.as_bytes().chunks(1)), whole, "{format:?}: {name}, byte by byte");
    }
}

#[test]
fn broken_off_at_any_byte_it_is_an_error_or_the_whole_answer() {
    for Case { name, format, stream, expected } in cases() {
        for at in 0..=stream.len() {
            match (play(format, [&stream.as_bytes()[..at]]).1, &expected) {
                // Token counts may be what was lost.
                (Ok(cut), Ok(whole)) => assert_eq!(&Completion { usage: whole.usage, ..cut }, whole, "{name}, {at}"),
                (Ok(cut), Err(_)) => panic!("{name}, broken off at {at}: {cut:?}"),
                (Err(error), expected) => {
                    assert!(error == broke_off() || expected.as_ref().err() == Some(&error), "{name}, {at}: {error}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_damage_to_a_stream_makes_it_panic(
        case in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let cases = cases();
        let Case { format, stream, .. } = case.get(&cases);
        let mut bytes = stream.clone().into_bytes();
        for (at, byte) in damage.iter().filter(|_| !bytes.is_empty()).collect::<Vec<_>>() {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        prop_assert_eq!(play(*format, bytes.chunks(3)), play(*format, [&bytes[..]]));
    }
}
