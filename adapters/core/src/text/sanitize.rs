//! The single exit filter: what a model let slip is taken out before people see it. Rendering is left to adapters.

mod code;
mod leaks;

use std::ops::Range;

use super::controls::{Filter, is_bidi};

/// A removal can join its neighbours into a new tag. Honest text is settled after one round.
const ROUNDS: usize = 8;

/// Removes reasoning, reminders, leaked tool calls and template tokens outside code, and characters that cannot be
/// seen. Of code only the bidi controls are taken. Doing it twice changes nothing.
pub fn for_people(markdown: &str) -> String {
    let mut text = markdown.replace("\r\n", "\n").replace('\r', "\n");
    for _ in 0..ROUNDS {
        let next = without_leaks(&without_controls(&text)).trim().to_owned();
        if next == text {
            return text;
        }
        text = next;
    }
    // Someone nests tags on purpose. Without `<` there are none, and nothing is code any more.
    text.retain(|c| c != '<');
    filtered(&text, &[]).trim().to_owned()
}

fn without_controls(text: &str) -> String {
    if text.is_ascii() && !text.bytes().any(|b| b.is_ascii_control() && b != b'\n' && b != b'\t') {
        return text.to_owned();
    }
    filtered(text, &code::ranges(text))
}

fn filtered(text: &str, code: &[Range<usize>]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut filter = Filter::default();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if code::covers(code, at) {
            if !is_bidi(c) {
                filter.saw(c);
                kept.push(c);
            }
        } else if filter.keeps(c, chars.peek().map(|&(_, next)| next)) {
            kept.push(c);
        }
    }
    kept
}

fn without_leaks(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for gone in leaks::find(text) {
        kept.push_str(&text[from..gone.start]);
        from = gone.end;
        let rest = &text[from..];
        if kept.is_empty() || kept.ends_with('\n') {
            // A section on its own lines takes its line end along.
            from += rest.len() - rest.trim_start_matches([' ', '\t']).trim_start_matches('\n').len();
        } else if kept.ends_with(' ') {
            from += rest.len() - rest.trim_start_matches(' ').len();
        } else if !kept.ends_with(char::is_whitespace) && !rest.starts_with(char::is_whitespace) && !rest.is_empty() {
            kept.push(' ');
        }
    }
    kept.push_str(&text[from..]);
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_the_model_let_slip_is_removed() {
        for (text, want) in [
            ("plain", "plain"),
            ("<think>hm</think>\n\nThe disk is full.", "The disk is full."),
            ("<Thinking>hm\n\nhm</Thinking>Full.", "Full."),
            ("<reasoning effort=\"high\">hm</reasoning> Full.", "Full."),
            ("<think>a<think>b</think>c</think>Full.", "Full."),
            ("<think>still at it", ""),
            ("Full.\n<think>still at it", "Full."),
            ("the template left it open\n</think>\n\nFull.", "Full."),
            ("Full.\n</think>", "Full."),
            ("Use a <think> tag", "Use a tag"),
            ("a<think>x</think>b", "a b"),
            ("<think>```\nhalf a fence</think>Full.", "Full."),
            ("<system-reminder>be nice</system-reminder>\nFull.", "Full."),
            ("Let me look.\n<tool_call>{\"name\":\"logs\"}</tool_call>", "Let me look."),
            ("Let me look.\n<tool_call>{\"name\":\"lo", "Let me look."),
            ("<function_calls><invoke name=\"x\"></invoke></function_calls>ok", "ok"),
            ("<x:function_calls>\n<x:invoke name=\"x\">\n</x:invoke>\n</x:function_calls>\nok", "ok"),
            ("Full.<|im_end|>", "Full."),
            ("<|im_start|>assistant<|im_sep|>ok", "ok"),
            ("<|im_start|>assistant\nok", "ok"),
            ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Full.", "Full."),
            ("<|channel|>commentary to=functions.logs <|constrain|>json<|message|>{}<|call|>", ""),
            ("<|start|>assistant<|channel|>analysis<|message|>still at it", ""),
            ("Full.<｜tool▁calls▁begin｜>{}<｜tool▁call▁begin｜>{}<｜tool▁calls▁end｜>", "Full."),
            ("x <| f |> y", "x <| f |> y"),
            ("a < b && c > d <div>", "a < b && c > d <div>"),
            ("user\u{202e}gnp.exe", "usergnp.exe"),
            ("a\u{200b}b\u{feff}c", "abc"),
            ("a\rb\r\nc", "a\nb\nc"),
            ("```\r\u{202e}\n<think>", "```\n\n<think>"),
            ("👩‍👧 می‌خواهم", "👩‍👧 می‌خواهم"),
            ("<th\u{200b}ink>x</think>ok", "ok"),
            ("<th<think>x</think>ink>y", "<th ink>y"),
        ] {
            assert_eq!(for_people(text), want, "{text:?}");
        }
    }

    #[test]
    fn what_we_told_the_model_is_not_told_again() {
        for (text, want) in [
            ("<message from=\"Maya\" id=\"U1\" at=\"2026-03-01T09:12:00Z\">\nFull.\n</message>", "Full."),
            ("<report persona=\"logs\" task_id=\"1\" status=\"done\" seconds=\"3\">\nFull.\n</report>", "Full."),
            ("<result tool=\"logs\" state=\"known\">\nmade up\n</result>\n\nFull.", "Full."),
            ("<overheard>\nSaid.\n<message from=\"a\" id=\"b\" at=\"c\">\nx\n</message>\n</overheard>\nFull.", "Full."),
            ("<thread>\nSaid before.\n</thread>\nFull.", "Full."),
            ("Full.\n<runtime>The turn was stopped.</runtime>", "Full."),
            ("<critical-reminder>\nbe brief\n</critical-reminder>\nFull.", "Full."),
            (
                "<message>kept</message> <result> </report> <thread>",
                "<message>kept</message> <result> </report> <thread>",
            ),
            ("jstack <thread> of <runtime>", "jstack <thread> of <runtime>"),
            ("`<message from=\"x\">`", "`<message from=\"x\">`"),
        ] {
            assert_eq!(for_people(text), want, "{text:?}");
        }
    }

    #[test]
    fn code_is_left_alone_except_for_bidi_controls() {
        for text in [
            "Write `<think>` around it.",
            "```xml\n<think>\nx\n</think>\n<|im_end|>\n```",
            "~~~\n<tool_call>\n~~~\n\ntext",
            "``a ` <think>`` and more",
            "- item\n\n  ```\n  <think>\n  ```",
            "```\na\u{200b}b\n```",
        ] {
            assert_eq!(for_people(text), text);
        }
        assert_eq!(for_people("`a\u{202e}b`\n\n```\nc\u{2066}d\n```"), "`ab`\n\n```\ncd\n```");
        assert_eq!(
            for_people("<think>x\n</think>\n```\nlet a = \"<think>\";\n```\nend"),
            "```\nlet a = \"<think>\";\n```\nend"
        );
    }

    #[test]
    fn nested_leaks_without_end_are_settled() {
        let text = "<th".repeat(3_000) + "<think></think>" + &"ink></think>".repeat(3_000);
        let once = for_people(&text);
        assert_eq!(for_people(&once), once);
    }

    proptest! {
        #[test]
        fn twice_is_once(parts in prop::collection::vec(prop::sample::select(vec![
            "<think>", "</think>", "<thinking", ">", "<", "/", "think", "<tool_call>", "</tool_call>", "<|", "|>", "im_end",
            "<system-reminder>", "</system-reminder>", "`", "```", "~~~", "\n", "\n\n", " ", "    ", "- ", "> ", "text",
            "\u{200b}", "\u{200d}", "\u{202e}", "👩", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<div>", "\r", "\t",
            "<|channel|>", "analysis", "final", "<|end|>", "<|start|>", "assistant", "<message from=\"", "\">", "</message>",
            "<thread>", "</thread>", "<result tool=\"x\">", "</result>",
        ]), 0..40)) {
            let text = parts.concat();
            let once = for_people(&text);
            prop_assert_eq!(for_people(&once), once);
        }

        #[test]
        fn any_text_is_taken(text in any::<String>()) {
            let once = for_people(&text);
            prop_assert_eq!(for_people(&once), once);
        }
    }
}
