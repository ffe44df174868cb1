//! The same text as blocks: sections, and a line where the author drew one. Edits with blocks are not marked as edited, and
//! a section can be kept from hiding its end. The text itself stays beside them, for notifications and as the plainer form.

use serde_json::{Value, json};
use watchfloor_channel::{
    Ask, TextUnit, Tone,
    text::{Limits, Size, shorten, split_within},
};

use super::{Rendered, render};

/// Slack takes 3,000 characters and does not say how it counts them.
const SECTION: Limits = Limits::of_text(TextUnit::Utf16.length(2_900));
/// Of a button, in characters.
const LABEL: usize = 75;
/// In one message.
const BLOCKS: usize = 50;

/// None where the text has no such form.
pub(crate) fn blocks(markdown: &str) -> Option<Value> {
    let whole = render(markdown);
    let parts: Vec<Rendered> = if fits(&whole) {
        vec![whole]
    } else {
        split_within(markdown, &SECTION, |part| size(&render(part))).iter().map(|part| render(part)).collect()
    };
    let mut blocks = Vec::new();
    for part in &parts {
        for (n, piece) in part.pieces.iter().enumerate() {
            if n > 0 {
                blocks.push(json!({"type": "divider"}));
            }
            blocks.push(section(piece));
        }
    }
    if blocks.len() > BLOCKS {
        blocks = parts.iter().filter(|part| !part.text.is_empty()).map(|part| section(&part.text)).collect();
    }
    let fits = parts.iter().all(fits) && (1..=BLOCKS).contains(&blocks.len());
    fits.then_some(Value::Array(blocks))
}

/// A mention before the first words.
pub(crate) fn addressed(to: &str, markdown: &str) -> Option<Value> {
    let mut blocks = blocks(markdown)?;
    let first = blocks.pointer_mut("/0/text/text")?;
    let text = format!("{} {}", super::plain(to), first.as_str()?);
    *first = json!(text);
    Some(blocks)
}

/// A question with its buttons. Where the text has no form as blocks, it is shortened to one section.
pub(crate) fn with_choices(ask: &Ask) -> Value {
    let mut blocks = match blocks(&ask.text) {
        Some(Value::Array(blocks)) if blocks.len() < BLOCKS => blocks,
        _ => vec![section(&shorten(&render(&ask.text).text, SECTION.text.get()))],
    };
    let buttons = ask.choices.iter().map(|choice| {
        let label = json!({"type": "plain_text", "text": shorten(&choice.label, LABEL), "emoji": true});
        let mut button = json!({"type": "button", "text": label, "action_id": choice.action, "value": choice.value});
        match choice.tone {
            Tone::Plain => {}
            Tone::Positive => button["style"] = json!("primary"),
            Tone::Danger => button["style"] = json!("danger"),
        }
        button
    });
    blocks.push(json!({"type": "actions", "elements": buttons.collect::<Vec<_>>()}));
    Value::Array(blocks)
}

/// Verbatim: names and addresses in it are made into nothing that we did not write ourselves.
fn section(text: &str) -> Value {
    json!({"type": "section", "expand": true, "text": {"type": "mrkdwn", "text": text, "verbatim": true}})
}

fn size(part: &Rendered) -> Size {
    Size::of_text(SECTION.measure(&part.text))
}

fn fits(part: &Rendered) -> bool {
    SECTION.hold(&size(part))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each section's text; a divider is a dash.
    fn shape(markdown: &str) -> Vec<String> {
        let blocks = blocks(markdown).unwrap();
        let shape = blocks.as_array().unwrap().iter().map(|block| match block["type"].as_str().unwrap() {
            "divider" => "-".to_owned(),
            _ => block["text"]["text"].as_str().unwrap().to_owned(),
        });
        shape.collect()
    }

    #[test]
    fn a_short_text_is_one_section_that_hides_nothing_and_guesses_nothing() {
        let section = json!({"type": "section", "expand": true,
            "text": {"type": "mrkdwn", "text": "*full*: a &lt; b", "verbatim": true}});
        assert_eq!(blocks("**full**: a < b"), Some(json!([section])));
    }

    #[test]
    fn a_rule_is_a_divider_between_what_it_divides() {
        assert_eq!(
            shape("# Cause\n\nfull\n\n---\n\nnext\n\n***\n---\nend"),
            ["*Cause*\n\nfull", "-", "next", "-", "end"]
        );
        assert_eq!(shape("---\n\na\n\n---"), ["a"]);
        assert_eq!(shape("> a\n>\n> ---\n>\n> b"), ["> a\n> b"]);
        assert_eq!(shape("```\n---\n```"), ["```\n---\n```"]);
    }

    #[test]
    fn a_long_text_is_several_sections_and_its_code_stays_code() {
        let lines: Vec<_> = (0..80).map(|n| format!("{n:03} waits for a connection of the pool")).collect();
        let sections = shape(&format!("The log:\n\n```\n{}\n```\n\nThat is all.", lines.join("\n")));
        assert_eq!(sections.len(), 2);
        for section in &sections {
            assert!(SECTION.text.holds(SECTION.measure(section)) && section.matches("```").count() == 2, "{section}");
        }
        let said = sections.join("\n");
        let kept: Vec<_> = said.lines().filter(|line| line.contains("waits")).collect();
        assert_eq!(kept, lines);
    }

    #[test]
    fn more_rules_than_blocks_can_hold_are_left_out() {
        let many = vec!["a"; 60].join("\n\n---\n\n");
        assert_eq!(shape(&many), [vec!["a"; 60].join("\n\n")]);
        assert_eq!(shape(&vec!["a"; 25].join("\n\n---\n\n")).len(), 49);
    }

    #[test]
    fn nothing_to_show_has_no_blocks() {
        assert_eq!([blocks(""), blocks("---"), blocks(" \n")], [None, None, None]);
    }

    proptest! {
        // Long texts are slow to cut without optimisation.
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_text_fits_and_says_in_blocks_what_it_says_as_text(
            parts in prop::collection::vec(prop::sample::select(vec![
                "word ", "**bold** ", "`a < b` ", "\n\n", "\n- item ", "\n\n---\n\n", "\n\n```\ncode\n```\n\n", "\n> quote ",
                "错误率", "😀 ", "[x](https://e.org/a?b=1&c=2) ", "\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n",
            ]), 0..500)
        ) {
            let text = parts.concat();
            let words = |text: &str| -> Vec<String> {
                let words = text.split_whitespace().map(|w| w.chars().filter(|c| c.is_alphanumeric()).collect::<String>());
                words.filter(|word| !word.is_empty()).collect()
            };
            let shown = super::super::markdown(&text);
            match blocks(&text) {
                None => prop_assert!(words(&shown).is_empty() || shown.trim().is_empty()),
                Some(_) => {
                    let sections: Vec<_> = shape(&text).into_iter().filter(|section| section != "-").collect();
                    prop_assert!(sections.iter().all(|section| SECTION.text.holds(SECTION.measure(section)) && !section.is_empty()));
                    let said = words(&sections.join("\n"));
                    let mut rest = said.iter();
                    // Heads of tables come again where one is cut; nothing is missing or out of order.
                    prop_assert!(words(&shown).iter().all(|word| rest.any(|said| said == word)));
                }
            }
        }
    }
}
