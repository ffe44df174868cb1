//! Examples, then the laws: Telegram can parse it, nobody is notified, no word is lost, and what is measured is what is sent.

use proptest::{prelude::*, test_runner::TestCaseError};
use watchfloor_channel::text::{Size, split_within};

use super::*;
use crate::fuzzing::{fuzz, texts};

mod strict;

fn check(table: &[(&str, &str)]) {
    for (text, expected) in table {
        let html = markdown(text);
        assert_eq!(html.as_str(), *expected, "{text}");
        strict::check(html.as_str()).unwrap();
    }
}

#[test]
fn an_answer_can_begin_with_a_mention_of_ours_and_hold_no_other() {
    let to = mention("5001", "Alice");
    let html = body(&Body::Addressed { to: to.clone(), text: format!("**Full.** {to}") });
    let rest = html.as_str().strip_prefix("<a href=\"tg://user?id=5001\">Alice</a> ").unwrap();
    assert!(rest.starts_with("<b>Full.</b>") && !rest.contains("tg://"), "{rest}");
    strict::check(html.as_str()).unwrap();
}

#[test]
fn styles_become_tags() {
    check(&[
        ("**a** *b* ~~c~~ `d<e`", "<b>a</b> <i>b</i> <s>c</s> <code>d&lt;e</code>"),
        ("**x_y*z**", "<b>x_y*z</b>"),
        ("**bold _both_ and `code`**", "<b>bold </b><b><i>both</i></b><b> and </b><code>code</code>"),
        ("a < b && c", "a &lt; b &amp;&amp; c"),
        ("&lt;script&gt; <script>x</script>&nbsp;y", "&lt;script&gt; &lt;script&gt;x&lt;/script&gt;\u{a0}y"),
        ("**错误率**上升\n次行", "<b>错误率</b>上升\n次行"),
        (r"\*not bold\*, lone _underscore", "*not bold*, lone _underscore"),
        ("one<br>two", "one\ntwo"),
    ]);
}

#[test]
fn blocks_keep_their_shape() {
    check(&[
        ("# A **bold** *heading*\ntext", "<b>A </b><b>bold</b> <b><i>heading</i></b>\n\ntext"),
        ("- a\n- b\n  - c\n    1. d\n\nend", "• a\n• b\n    • c\n        1. d\n\nend"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("- [x] done\n- [ ] open", "• ☑ done\n• ☐ open"),
        ("- a\n\n  more\n\n- b\n  c", "• a\n  more\n• b\n  c"),
        ("a\n\n---\n\nb", "a\n\n———\n\nb"),
        ("> quoted\n>\n> > deeper\n>\n> - list\n\nafter", "<blockquote>quoted\ndeeper\n• list</blockquote>\n\nafter"),
        ("> - a\n> - `b`", "<blockquote>• a\n• <code>b</code></blockquote>"),
        ("> ```\n> x\n> ```", "<blockquote><pre>x</pre></blockquote>"),
        ("- a\n  ```\n  x\n    y\n  ```\n- b", "• a\n<pre>x\n  y</pre>\n• b"),
        ("- a\n  > b\n- c", "• a\n<blockquote>b</blockquote>\n• c"),
        (">\n\na", "a"),
    ]);
}

#[test]
fn code_keeps_its_language_if_it_has_a_simple_name() {
    check(&[
        ("```rust\nlet a = &b;\n```", "<pre><code class=\"language-rust\">let a = &amp;b;</code></pre>"),
        ("```c++\nx\n```", "<pre><code class=\"language-c++\">x</code></pre>"),
        ("```c++ \"x\"\ny\n```", "<pre>y</pre>"),
        ("    indented", "<pre>indented</pre>"),
        ("```\nopen to the end", "<pre>open to the end</pre>"),
        ("```\n| a |\n|---|\n**b** @all\n```", "<pre>| a |\n|---|\n**b** @all</pre>"),
        ("```\n```", ""),
    ]);
}

#[test]
fn links_lead_where_they_say() {
    check(&[
        ("[a\"b](https://e.org/?q=\"1\"&r=<2>)", "<a href=\"https://e.org/?q=&quot;1&quot;&amp;r=&lt;2&gt;\">a\"b</a>"),
        ("**[`code` *x*](https://e.org)**", "<b><a href=\"https://e.org\">code x</a></b>"),
        (
            "![graph](https://e.org/g.png) ![](https://e.org/h.png)",
            "<a href=\"https://e.org/g.png\">graph</a> <a href=\"https://e.org/h.png\">https://e.org/h.png</a>",
        ),
        ("[![alt](https://e.org/i.png)](https://e.org)", "<a href=\"https://e.org\">alt</a>"),
        ("see https://e.org/_x?a&b.", "see https://e.org/_x?a&amp;b."),
        ("[runbook](docs/a.md) <a@e.org>", "runbook (docs/a.md) a@e.org"),
        ("[x](javascript:alert(1))", "x (javascript:alert(1))"),
    ]);
}

#[test]
fn a_model_can_notify_nobody() {
    check(&[
        ("@channel (@ops_bot) a@b.example 错@x", "@\u{2060}channel (@\u{2060}ops_bot) a@b.example 错@\u{2060}x"),
        ("@**channel** and 3 @ 5", "@\u{2060}<b>channel</b> and 3 @ 5"),
        ("[@all](https://e.org)", "<a href=\"https://e.org\">@\u{2060}all</a>"),
        ("[x](tg://user?id=7)", "x (tg://user?id=7)"),
        ("https://m.example/@ann", "<a href=\"https://m.example/@ann\">https://m.example/@\u{2060}ann</a>"),
        ("\u{E000}7\u{E002}Ann\u{E001}", "7Ann"),
        ("`@channel`", "<code>@channel</code>"),
    ]);
}

#[test]
fn our_own_sentences_can_mention_a_person_and_nothing_else() {
    let said = format!("{}: stopped by @bob <b>&", mention("7", "Ann <3"));
    assert_eq!(
        plain(&said).as_str(),
        "<a href=\"tg://user?id=7\">Ann &lt;3</a>: stopped by @\u{2060}bob &lt;b&gt;&amp;"
    );
    assert_eq!(plain(&mention("7", " ")).as_str(), "<a href=\"tg://user?id=7\">7</a>");
    assert_eq!(plain(&mention("@channel", "")).as_str(), "@\u{2060}channel");
    assert_eq!(plain("\u{E000}x\u{E002}y\u{E001} \u{E000}7").as_str(), "xy 7");
}

#[test]
fn a_table_is_code_or_lines() {
    check(&[
        (
            "| 服务 | n |\n|---|--:|\n| 支付 | 1 |\n| web | 22 |\n\nend",
            "<pre>服务   n\n----  --\n支付   1\nweb   22</pre>\n\nend",
        ),
        (
            "| host | run |\n|---|---|\n| a | [1](https://e.org) |\n| `b` | |",
            "<b>host</b>: a\n<b>run</b>: <a href=\"https://e.org\">1</a>\n\n<b>host</b>: <code>b</code>",
        ),
    ]);
    let wide = format!("| k | v |\n|---|---|\n| a | {} |\n", "long ".repeat(20).trim());
    check(&[(&wide, &format!("<b>k</b>: a\n<b>v</b>: {}", "long ".repeat(20).trim()))]);
}

#[test]
fn what_is_counted_is_what_telegram_counts() {
    for (text, text_units, marks) in [
        ("", 0, 0),
        ("**a** & 🔥", 6, 0),
        ("`a` `b`", 3, 2),
        ("```rust\nx < y\n```", 5, 1),
        ("> a\n\nb", 4, 1),
        ("[label](https://e.org/long)", 5, 1),
        ("https://e.org and ops@e.org, web-1.example or 0.5", 49, 3),
    ] {
        let html = markdown(text);
        assert_eq!(size(&html), Size { text: LIMITS.length(text_units), bytes: html.as_str().len(), marks }, "{text}");
    }
}

#[test]
fn the_same_without_markup_still_says_where_links_lead() {
    let html = markdown("**a** < [b](https://e.org/?x=1&y=2) `c`\n\n> d https://e.org [https://f.org](https://f.org)");
    assert_eq!(stripped(&html), "a < b (https://e.org/?x=1&y=2) c\n\nd https://e.org https://f.org");
    let many = markdown(&format!("{}end", "[x](https://e.org/a/long/way) ".repeat(200)));
    assert_eq!(stripped(&many), format!("{}end", "x ".repeat(200)));
}

#[test]
fn a_long_answer_is_cut_so_that_every_limit_holds() {
    for text in [
        "🔥".repeat(4_097),
        "!<&".repeat(4_096),
        "`a` and ".repeat(250),
        "[x](https://e.org/a/very/long/address/indeed/which/goes/on/and/on/for/ever?and=ever) ".repeat(250),
        format!("| a | b |\n|---|---|\n{}", "| `x` | [y](https://e.org) |\n".repeat(400)),
        format!("```sql\n{}```", "select '错误' from t where a < b;\n".repeat(400)),
    ] {
        let parts = split_within(&text, &LIMITS, |part| size(&markdown(part)));
        assert!(parts.len() > 1);
        for part in &parts {
            let html = markdown(part);
            assert!(LIMITS.hold(&size(&html)), "{:?}", size(&html));
            strict::check(html.as_str()).unwrap();
        }
    }
}

fn anything() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "word",
        " ",
        "**",
        "*",
        "_",
        "~~",
        "~",
        "`",
        "```",
        "```rust\n",
        "> ",
        "- ",
        "1. ",
        "# ",
        "\n",
        "\n\n",
        "    ",
        "- [x] ",
        "\\",
        "@",
        "@channel",
        "<",
        ">",
        "&",
        "&lt;",
        "\"",
        "<at id=all>",
        "<!here>",
        "[",
        "](",
        ")",
        "!",
        "https://e.org",
        "https://x/@all",
        "tg://user?id=1",
        "| a | b |\n|---|---|\n",
        "|",
        "---\n",
        "错误",
        "👩‍👧",
        "\u{202e}",
        "\u{E000}1\u{E002}a\u{E001}",
        "<br>",
        "</b>",
        "<a href=\"https://e.org\">",
        "\0",
        "e\u{301}",
    ]);
    prop_oneof![prop::collection::vec(words, 0..60).prop_map(|words| words.concat()), any::<String>()]
}

/// Telegram can parse it, and nobody is notified.
fn harmless(text: &str) -> Result<(), TestCaseError> {
    for html in [markdown(text), plain(text)] {
        let shown = strict::check(html.as_str());
        prop_assert!(shown.is_ok(), "{shown:?}");
        let shown = shown.unwrap();
        prop_assert!(!strict::mentions(&shown.prose), "{:?}", shown.prose);
        prop_assert_eq!(size(&html).text.get(), shown.text.encode_utf16().count());
        prop_assert_eq!(size(&html).bytes, html.as_str().len());
        let controls = html.as_str().contains(['\u{202e}', '\0', '\r', '\u{E000}', '\u{E001}', '\u{E002}']);
        prop_assert!(!controls);
        prop_assert!(html.as_str() != markdown(text).as_str() || shown.people == 0);
    }
    Ok(())
}

/// The same law for as long as it is told to hold, on whatever bytes come.
#[test]
#[ignore = "runs for WATCHFLOOR_FUZZ_SECONDS"]
fn fuzz_the_renderer() {
    fuzz(|runner| runner().run(&texts(anything()), |text| harmless(&text)).unwrap());
}

proptest! {
    #[test]
    fn telegram_can_parse_any_text_and_notifies_nobody(text in anything()) {
        harmless(&text)?;
    }

    #[test]
    fn no_word_is_lost(parts in prop::collection::vec(prop::sample::select(vec![
        "word", " ", "**", "*", "_", "~~x~~", "`x", "> ", "- ", "1. ", "# ", "\n", "\n\n", "    ", "- [ ] ", "\\", "|", "<",
        "| a | b |\n|---|---|\n| word | [word](https://e.org) |\n\n",
    ]), 0..60)) {
        let text = parts.concat();
        let html = markdown(&text);
        prop_assert!(stripped(&html).matches("word").count() >= text.matches("word").count(), "{:?}", html);
    }
}

proptest! {
    // Cutting is slow without optimisation.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn parts_say_in_order_what_the_whole_says(words in prop::collection::vec("[a-z]{1,9}( \\*\\*b\\*\\*| `c`|\n\n|\n- |, <|\n> )?", 0..80)) {
        let text = words.join(" ");
        let limits = watchfloor_channel::text::Limits { text: LIMITS.length(90), bytes: 200, marks: 4 };
        let mut said = Vec::new();
        for part in split_within(&text, &limits, |part| size(&markdown(part))) {
            let html = markdown(&part);
            prop_assert!(limits.hold(&size(&html)), "{:?}", html);
            said.extend(words_of(&stripped(&html)));
        }
        prop_assert_eq!(said, words_of(&stripped(&markdown(&text))));
    }
}

fn words_of(text: &str) -> Vec<String> {
    text.split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}
