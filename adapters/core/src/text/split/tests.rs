//! Examples first, then the laws: nothing lost, nothing too long, code stays code.

use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::outline::Outline;
use super::{Limits, Part, Size, split_within};
use crate::TextUnit::Chars;

/// Where only the text counts.
fn parts(text: &str, limit: usize, measure: &dyn Fn(&str) -> usize) -> Vec<Part> {
    super::parts(text, &Limits::of_text(Chars.length(limit)), &|part| Size::of_text(Chars.length(measure(part))))
}

/// The same as the caller gets them.
fn split(text: &str, limit: usize, measure: impl Fn(&str) -> usize) -> Vec<String> {
    let limits = Limits::of_text(Chars.length(limit));
    split_within(text, &limits, |part| Size::of_text(Chars.length(measure(part))))
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// What Slack counts: three characters cost more than they look.
fn escaped(text: &str) -> usize {
    text.chars().map(|c| if c == '&' { 5 } else { 1 + 3 * usize::from("<>".contains(c)) }).sum()
}

#[test]
fn short_text_is_one_part_and_blank_text_is_none() {
    for blank in ["", " ", "\n\n\t \r\n"] {
        assert_eq!(split(blank, 40, chars), Vec::<String>::new());
    }
    assert_eq!(split("\n\nall well\n", 40, chars), ["all well"]);
    assert_eq!(split("    indented code\n", 40, chars), ["    indented code"]);
    assert_eq!(split(&"x".repeat(4_000), 4_000, chars).len(), 1);
    assert_eq!(split(&"x".repeat(4_001), 4_000, chars), ["x".repeat(4_000), "x".to_owned()]);
}

#[test]
fn the_largest_unit_that_fits_is_kept_whole() {
    for (text, limit, want) in [
        ("One line here.\n\nTwo lines\nhere.", 26, vec!["One line here.", "Two lines\nhere."]),
        ("a\n\n# Head\n\nabout the head", 20, vec!["a\n\n# Head", "about the head"]),
        ("a b c d e\n\n# Head\n\nabout it", 20, vec!["a b c d e", "# Head\n\nabout it"]),
        ("- one\n- two\n- three four", 12, vec!["- one\n- two", "- three four"]),
        ("- one\n  more\n- two\n  more", 16, vec!["- one\n  more", "- two\n  more"]),
        ("First line.\nSecond line.", 15, vec!["First line.", "Second line."]),
        ("It is up. It is down. It is", 24, vec!["It is up. It is down.", "It is"]),
        ("one two three four", 11, vec!["one two", "three four"]),
        ("错误率上升。延迟正常。磁盘已满。", 12, vec!["错误率上升。延迟正常。", "磁盘已满。"]),
        ("aaaaaaaaaaaaaaaa", 10, vec!["aaaaaaaaaa", "aaaaaa"]),
        ("> quoted words here", 15, vec!["> quoted words", "> here"]),
        ("a **very bold** word", 12, vec!["a", "**very bold**", "word"]),
        ("up - down and so", 4, vec!["up -", "down", "and", "so"]),
        ("- a\n    - bb\n    - cc\n    - dd", 14, vec!["- a\n    - bb", "- cc\n- dd"]),
    ] {
        let limit = if text.contains("**") { 13 } else { limit };
        assert_eq!(split(text, limit, chars), want, "{text:?} at {limit}");
    }
}

#[test]
fn a_fence_is_closed_and_opened_again() {
    let log = "Log:\n\n```rust\nfn main() {\n    first();\n    second();\n}\n```\nend";
    assert_eq!(
        split(log, 44, chars),
        ["Log:\n\n```rust\nfn main() {\n    first();\n```", "```rust\n    second();\n}\n```\nend"]
    );
    let quoted = "> ~~~~log\n> one one one\n> two two two\n> ~~~~";
    assert_eq!(split(quoted, 32, chars), ["> ~~~~log\n> one one one\n> ~~~~", "> ~~~~log\n> two two two\n> ~~~~"]);
    let listed = "10. see\n\n    ```log\n    one one one\n      two two\n    ```\n    after";
    assert_eq!(
        split(listed, 44, chars),
        ["10. see\n\n    ```log\n    one one one\n    ```", "```log\n  two two\n```\nafter"]
    );
    assert_eq!(split("```\nnever closed", 40, chars), ["```\nnever closed\n```"]);
    assert_eq!(
        split("```sh\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n```", 40, chars),
        ["```sh\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n```", "```sh\naaaaaaaaaaaaaa\n```"]
    );
}

#[test]
fn a_table_gets_its_head_again() {
    let table = "| host | load |\n|---|---:|\n| web-1 | 0.5 |\n| web-2 | 9.1 |\n| web-3 | 0.4 |\n\nend";
    assert_eq!(
        split(table, 60, chars),
        [
            "| host | load |\n|---|---:|\n| web-1 | 0.5 |\n| web-2 | 9.1 |",
            "| host | load |\n|---|---:|\n| web-3 | 0.4 |\n\nend"
        ]
    );
}

#[test]
fn what_is_measured_is_what_is_sent() {
    let text = "<".repeat(4_096);
    let parts = split(&text, 4_000, escaped);
    assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [1_000, 1_000, 1_000, 1_000, 96]);
    let emoji = "😀".repeat(5_000);
    let parts = split(&emoji, 4_096, |text| text.encode_utf16().count());
    assert_eq!(parts.iter().map(|part| chars(part)).collect::<Vec<_>>(), [2_048, 2_048, 904]);
}

#[test]
fn all_limits_hold_together() {
    let limits = Limits { text: Chars.length(100), bytes: 60, marks: 3 };
    let measure = |part: &str| Size {
        text: Chars.measure(part),
        bytes: part.len(),
        marks: part.matches("](").count() + part.matches('`').count() / 2,
    };
    for text in
        ["错误率上升。".repeat(20), "`a` word ".repeat(30), "[x](https://e.org) and ".repeat(12), "w ".repeat(99)]
    {
        let parts = split_within(&text, &limits, measure);
        assert!(parts.iter().all(|part| limits.hold(&measure(part))), "{parts:?}");
        assert_eq!(without_space(&parts.concat()), without_space(&text));
    }
}

#[test]
fn what_shows_nothing_is_no_message() {
    // As a renderer that shows neither rules nor definitions of links.
    let shown = |part: &str| part.lines().filter(|line| *line != "---" && !line.contains("]: ")).map(chars).sum();
    let text = format!(
        "one two

---

{}

[a]: https://e.org",
        "x".repeat(10)
    );
    assert_eq!(split(&text, 10, shown), ["one two\n\n---", "xxxxxxxxxx\n\n[a]: https://e.org"]);
    let shown = |part: &str| if part.trim() == "---" { 0 } else { chars(part) };
    assert_eq!(split("---\n\nxxxxxxxxxx\n\n---", 10, shown), ["xxxxxxxxxx"]);
    assert_eq!(split("---", 10, shown), Vec::<String>::new());
}

#[test]
fn a_link_takes_its_address_along() {
    let text = "See [the runbook][1] first.\n\nThen the rest of it.\n\n[1]: https://e.org/runbook";
    assert_eq!(split(text, 200, chars), [text]);
    assert_eq!(split(text, 60, chars)[0], "See [the runbook](<https://e.org/runbook>) first.");
}

#[test]
fn prose_does_not_become_code_at_a_cut() {
    let text = format!("{} ``` {}", "word ".repeat(9).trim(), "more ".repeat(20).trim());
    for limit in 20..90 {
        let parts = split(&text, limit, chars);
        assert_eq!(parts.iter().map(|part| code(part)).collect::<String>(), "", "{parts:?}");
    }
}

#[test]
fn a_grapheme_is_cut_only_when_it_is_too_long_alone() {
    let family = "👩‍👩‍👧‍👦";
    assert_eq!(split(&family.repeat(3), 15, chars), [family.repeat(2), family.to_owned()]);
    assert_eq!(split(family, 3, chars).concat(), family);
    assert!(split(&("a".to_owned() + &"\u{301}".repeat(100)), 40, chars).iter().all(|part| chars(part) <= 40));
}

#[test]
fn a_limit_smaller_than_a_fence_still_ends() {
    let text = "```rust\nlet a = 1;\n```\n| a | b |\n|---|---|\n| 1 | 2 |";
    for limit in 0..20 {
        let parts = parts(text, limit, &chars);
        let body: String = parts.iter().map(|part| &part.text[part.lead..part.text.len() - part.close]).collect();
        assert_eq!(without_space(&body), without_space(text), "{limit}");
        assert!(parts.iter().all(|part| chars(&part.text) <= limit.max(1)), "{limit}: {parts:?}");
    }
}

#[test]
fn a_fence_longer_than_two_messages_is_whole_in_each() {
    let log: Vec<String> =
        (0..160).map(|n| format!("  12:{n:03} web-1 kernel: <4>out of memory, process {n}")).collect();
    let text = format!("## Evidence\n\nThe log says:\n\n```log\n{}\n```\n\nSo the *limit* is too low.", log.join("\n"));
    let parts = split(&text, 4_000, escaped);
    assert_eq!(parts.iter().map(|part| code(part)).collect::<String>(), code(&text));
    let lines: Vec<&str> =
        parts.iter().flat_map(|part| part.lines()).filter(|line| line.starts_with("  12:")).collect();
    assert_eq!(lines, log, "indentation and whole lines");
    let (first, last) = (&parts[0], &parts[parts.len() - 1]);
    assert!(first.starts_with("## Evidence\n\nThe log says:\n\n```log\n") && first.ends_with("\n```"), "{first}");
    assert!(last.starts_with("```log\n") && last.ends_with("```\n\nSo the *limit* is too low."), "{last}");
    assert_eq!(parts.len(), 3);
}

#[test]
fn a_long_answer_takes_no_quadratic_time() {
    let text = "The disk of web-1 is full. Logs grow by 2 GB an hour.\n\n```log\nno space left\n```\n\n".repeat(1_000);
    let measured = std::cell::Cell::new(0usize);
    let parts = split(&text, 4_000, |part| {
        measured.set(measured.get() + part.len());
        part.len()
    });
    assert!(parts.iter().all(|part| part.len() <= 4_000));
    assert!(measured.get() < 120 * text.len(), "{} bytes measured for {}", measured.get(), text.len());
}

fn without_space(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Everything in fences, without white space.
fn code(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let (mut code, mut inside) = (String::new(), false);
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => inside = true,
            Event::End(TagEnd::CodeBlock) => inside = false,
            Event::Text(text) if inside => code.push_str(&text),
            _ => {}
        }
    }
    without_space(&code)
}

fn line() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop::sample::select(vec![
            "disk",
            "is",
            "full.",
            "a<b",
            "&&",
            "`code span`",
            "**bold words**",
            "[link text](https://e.org/x)",
            "错误率上升。",
            "👩‍👧",
            "e\u{301}",
            "-",
            "1.",
            "#",
            "`",
            "```",
            "*",
            "https://example.org/a/very/long/path?with=query",
            "|",
            "x",
        ]),
        1..14,
    )
    .prop_map(|words| words.join(" "))
    // A line of prose, not a fence, whatever it is put into.
    .prop_map(|line| format!("w {line} w"))
}

fn code_line() -> impl Strategy<Value = String> {
    "( {0,6}[a-z<>{}()=;| *#]{1,70})|()|( {4}x [`~>-]{1,5} y)"
}

fn fence() -> impl Strategy<Value = String> {
    (
        prop::sample::select(vec!["```", "~~~", "````"]),
        prop::sample::select(vec!["", "rust", "log"]),
        prop::collection::vec(code_line(), 1..9),
    )
        .prop_map(|(mark, info, lines)| format!("{mark}{info}\n{}\n{mark}", lines.join("\n")))
}

fn table() -> impl Strategy<Value = String> {
    prop::collection::vec("[a-z]{1,9} \\| [a-z0-9 ]{1,9}", 1..9)
        .prop_map(|rows| format!("a | b\n---|--:\n{}", rows.join("\n")))
}

fn prefixed(block: &str, first: &str, others: &str) -> String {
    let lines = block.lines().enumerate();
    lines.map(|(at, line)| format!("{}{line}\n", if at == 0 { first } else { others })).collect()
}

fn block() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::collection::vec(line(), 1..5).prop_map(|lines| lines.join("\n")),
        fence(),
        table(),
        line().prop_map(|line| format!("## {line}")),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        let inner = prop::collection::vec(inner, 1..3).prop_map(|blocks| blocks.join("\n\n"));
        (inner, prop::sample::select(vec![("> ", "> "), ("- ", "  "), ("1. ", "   "), ("10. ", "    "), ("", "")]))
            .prop_map(|(block, (first, others))| prefixed(&block, first, others))
    })
}

fn answer() -> impl Strategy<Value = String> {
    prop::collection::vec(block(), 0..7).prop_map(|blocks| blocks.join("\n\n"))
}

fn measure(kind: u8) -> fn(&str) -> usize {
    match kind {
        0 => chars,
        1 => escaped,
        2 => |text| text.encode_utf16().count(),
        _ => |text| text.len(),
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_and_code_stays_code(text in answer(), limit in 60usize..400, kind in 0u8..4) {
        let measure = measure(kind);
        let parts = parts(&text, limit, &measure);
        let mut body = String::new();
        let mut coded = String::new();
        for part in &parts {
            prop_assert!(measure(&part.text) <= limit, "too long: {part:?}");
            prop_assert!(!part.text.trim().is_empty());
            prop_assert!(Outline::of(&part.text).open_fence(&part.text).is_none(), "left open: {part:?}");
            body.push_str(&part.text[part.lead..part.text.len() - part.close]);
            coded.push_str(&code(&part.text));
        }
        prop_assert_eq!(without_space(&body), without_space(&text));
        prop_assert_eq!(coded, code(&text), "{:#?}", parts);
    }

    #[test]
    fn any_text_is_cut_to_the_limit(text in any::<String>(), limit in 40usize..100) {
        let parts = parts(&text, limit, &chars);
        let mut body = String::new();
        for part in &parts {
            prop_assert!(chars(&part.text) <= limit);
            prop_assert!(!part.text.trim().is_empty());
            body.push_str(&part.text[part.lead..part.text.len() - part.close]);
        }
        prop_assert_eq!(without_space(&body), without_space(&text));
    }

    #[test]
    fn wild_markdown_is_cut_to_any_limit(
        text in "([`~>|:-]{1,4}|[a-zé👩\u{301}\u{200d} ]{1,6}|[0-9]\\. |\n|\n\n|    |\t|[*_#<&]){0,80}",
        limit in 0usize..60,
        kind in 0u8..4,
    ) {
        let measure = measure(kind);
        let mut body = String::new();
        for part in parts(&text, limit, &measure) {
            prop_assert!(limit < 8 || measure(&part.text) <= limit, "{part:?}");
            prop_assert!(!part.text.trim().is_empty());
            body.push_str(&part.text[part.lead..part.text.len() - part.close]);
        }
        prop_assert_eq!(without_space(&body), without_space(&text));
    }
}
