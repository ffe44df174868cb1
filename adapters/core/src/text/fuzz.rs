//! An answer's whole way, from the model's bytes to the parts of a message, for as long as it is told to.

use proptest::{prelude::*, test_runner::TestCaseError};

use super::{Limits, Size, blocks, for_people, split_within};
use crate::{
    TextUnit,
    fuzzing::{fuzz, texts},
};

const LIMITS: Limits = Limits { text: TextUnit::Utf16.length(120), bytes: 300, marks: 4 };

fn size(part: &str) -> Size {
    Size { text: LIMITS.measure(part), bytes: part.len(), marks: part.matches('`').count() / 2 }
}

fn holds(text: &str) -> Result<(), TestCaseError> {
    let clean = for_people(text);
    prop_assert_eq!(for_people(&clean), clean.clone());
    blocks::parse(&clean);
    for part in split_within(&clean, &LIMITS, size) {
        prop_assert!(!part.trim().is_empty());
        prop_assert!(LIMITS.hold(&size(&part)), "{part:?} is {:?}", size(&part));
    }
    Ok(())
}

fn anything() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "word",
        " ",
        "**",
        "_",
        "`",
        "```",
        "~~~",
        "> ",
        "- ",
        "1. ",
        "# ",
        "\n",
        "\n\n",
        "    ",
        "|",
        "| a | b |\n|---|---|\n",
        "[a]",
        "[a]: https://e.org\n",
        "](",
        ")",
        "<think>",
        "</think>",
        "<|channel|>analysis<|message|>",
        "<|end|>",
        "<message from=\"a\">",
        "</message>",
        "<thread>",
        "</thread>",
        "错误",
        "👩‍👧",
        "e\u{301}",
        "\u{202e}",
        "\u{200b}",
        "\r",
    ]);
    prop::collection::vec(words, 0..80).prop_map(|words| words.concat())
}

#[test]
#[ignore = "runs for WATCHFLOOR_FUZZ_SECONDS"]
fn fuzz_an_answer() {
    fuzz(|runner| runner().run(&texts(anything()), |text| holds(&text)).unwrap());
}
