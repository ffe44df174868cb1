use proptest::{prelude::*, test_runner::TestCaseError};

use super::*;
use crate::fuzzing::{fuzz, texts};

fn check(table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(markdown(text), *expected, "{text}");
    }
}

#[test]
fn styles_become_slacks_marks() {
    check(&[
        ("**a** *b* ~~c~~", "*a* _b_ ~c~"),
        ("**bold _both_**", "*bold _both_*"),
        ("`x < y`", "`x &lt; y`"),
        ("**the `code` inside**", "*the* `code` *inside*"),
        ("**`code`**", "`code`"),
        ("**two\nlines**", "*two*\n*lines*"),
        ("# A **bold** heading\ntext", "*A bold heading*\n\ntext"),
    ]);
}

#[test]
fn an_answer_can_begin_with_a_mention_of_ours_and_hold_no_other() {
    let said = "<@U0ALICE> *Full.* &lt;@U0BOB&gt;";
    let to = mention("U0ALICE");
    let addressed = Body::Addressed { to: to.clone(), text: format!("**Full.** <@U0BOB>{}", '\u{E000}') };
    assert_eq!(body(&addressed), said);
    assert_eq!(super::addressed(&to, addressed.text()).unwrap()[0]["text"]["text"], said);
}

#[test]
fn a_style_beside_a_letter_gets_a_boundary() {
    check(&[
        ("**错误率**上升", "*错误率*\u{200B}上升"),
        ("服务`api`正常", "服务\u{200B}`api`\u{200B}正常"),
        ("foo**bar**", "foo\u{200B}*bar*"),
        ("(**bar**).", "(*bar*)."),
    ]);
}

#[test]
fn special_characters_are_escaped_once_and_marks_in_words_do_nothing() {
    check(&[
        ("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"),
        ("already &lt; escaped", "already &lt; escaped"),
        (r"\*not bold\*", "*\u{200B}not bold*"),
        ("GET /_cat/indices, *args", "GET /_cat/indices, *args"),
        ("snake_case_name and 2 * 3", "snake_case_name and 2 * 3"),
        ("<b>html</b>", "&lt;b&gt;html&lt;/b&gt;"),
        ("one<br>two", "one\ntwo"),
    ]);
}

#[test]
fn a_model_can_notify_nobody() {
    check(&[
        ("<!channel>", "&lt;!channel&gt;"),
        ("hi <@U0ALICE> <!here|here>", "hi &lt;@U0ALICE&gt; &lt;!here|here&gt;"),
        ("[x](!channel)", "x (!channel)"),
        ("[x](<!subteam^S0>)", "x (!subteam^S0)"),
        ("[<!here>](https://e.org)", "<https://e.org|!here>"),
        ("\u{E000}U0ALICE\u{E001}", "U0ALICE"),
    ]);
}

#[test]
fn our_own_sentences_can_mention_a_person_and_nothing_else() {
    assert_eq!(plain(&format!("{} a < b & *c*", mention("U0ALICE"))), "<@U0ALICE> a &lt; b &amp; *c*");
    assert_eq!(plain(&mention("!channel")), "@!channel");
    assert_eq!(plain("\u{E000}!channel\u{E001} \u{E000}U0"), "!channel U0");
}

#[test]
fn links_lead_where_they_say() {
    check(&[
        ("[x|y](https://e.org/?a=1&b=2)", "<https://e.org/?a=1&amp;b=2|xy>"),
        ("![graph](https://e.org/g.png)", "<https://e.org/g.png|graph>"),
        ("<https://e.org/a>", "<https://e.org/a>"),
        ("<a@e.org>", "<mailto:a@e.org|a@e.org>"),
        ("see https://e.org/_x, then", "see <https://e.org/_x>, then"),
        ("见https://e.org/x。然后", "见<https://e.org/x>。然后"),
        ("[runbook](docs/a.md)", "runbook (docs/a.md)"),
        ("[![alt](https://e.org/i.png)](https://e.org)", "<https://e.org|alt>"),
        ("**[bold](https://e.org)**", "*<https://e.org|bold>*"),
    ]);
}

#[test]
fn blocks_keep_their_shape() {
    check(&[
        ("- a\n- b\n  - c\n\nend", "• a\n• b\n    • c\n\nend"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("- [x] done\n- [ ] open", "• ☑ done\n• ☐ open"),
        ("- a\n\n  more\n\n- b", "• a\n  more\n• b"),
        ("> quoted\n> text\n\nafter", "> quoted\n> text\n\nafter"),
        ("a\n\n---\n\nb", "a\n\nb"),
        ("```rust\nlet a = &b;\n```", "```\nlet a = &amp;b;\n```"),
        ("```\nopen to the end", "```\nopen to the end\n```"),
        ("````\n```\n````", "```\n``\u{200B}`\n```"),
        ("- a\n  ```\n  x\n  ```\n- b", "• a\n```\nx\n```\n• b"),
    ]);
}

#[test]
fn a_table_becomes_aligned_code() {
    check(&[(
        "| host | use | note |\n|---|---|---|\n| db-1 | **97 %** | `full` |\n| web-12 | 3 % | |\n\nend",
        "```\nhost    use   note\n------  ----  ----\ndb-1    97 %  full\nweb-12  3 %\n```\n\nend",
    )]);
}

#[test]
fn nothing_to_show_renders_as_nothing() {
    check(&[("", ""), ("---", ""), ("   \n\n", "")]);
}

/// Every bare angle is that of a link.
fn harmless(text: &str) -> Result<(), TestCaseError> {
    let mut rest = markdown(text);
    let holds_tokens = rest.contains(['\u{E000}', '\u{E001}']);
    prop_assert!(!holds_tokens);
    while let Some(open) = rest.find('<') {
        let inner = rest[open + 1..].to_owned();
        let lower = inner.to_ascii_lowercase();
        prop_assert!(
            ["http://", "https://", "mailto:", "tel:"].iter().any(|scheme| lower.starts_with(scheme)),
            "{text:?} became {rest:?}"
        );
        let close = inner.find('>');
        prop_assert!(close.is_some_and(|close| !inner[..close].contains('<')), "{rest:?}");
        rest = inner[close.unwrap_or_default()..].to_owned();
    }
    Ok(())
}

fn anything() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "word",
        " ",
        "**",
        "*",
        "_",
        "~~",
        "`",
        "```",
        "> ",
        "- ",
        "1. ",
        "# ",
        "\n",
        "\n\n",
        "    ",
        "- [x] ",
        "\\",
        "<",
        ">",
        "|",
        "&",
        "<!here>",
        "<@U1>",
        "[",
        "](",
        ")",
        "!",
        "https://e.org",
        "| a | b |\n|---|---|\n",
        "---\n",
        "错误",
        "👩‍👧",
        "\u{E000}U1\u{E001}",
        "<br>",
    ]);
    prop::collection::vec(words, 0..60).prop_map(|words| words.concat())
}

/// The same law for as long as it is told to hold, on whatever bytes come.
#[test]
#[ignore = "runs for WATCHFLOOR_FUZZ_SECONDS"]
fn fuzz_the_renderer() {
    fuzz(|runner| runner().run(&texts(anything()), |text| harmless(&text)).unwrap());
}

proptest! {
    #[test]
    fn any_text_renders_and_only_links_hold_a_bare_angle(
        text in "[<>@!#|*_~`\\[\\]()&\n \\-+.:/a-zU0汉\u{E000}\u{E001}]{0,80}|(\\[[^\\]]{0,5}\\]\\([^)]{0,12}\\)|https?://[!-~]{0,12}|\\PC| ){0,12}"
    ) {
        harmless(&text)?;
    }

    #[test]
    fn code_fences_are_always_balanced(text in "[`~\n a-c>\\-*]{0,60}") {
        let rendered = markdown(&text);
        prop_assert_eq!(rendered.matches("```").count() % 2, 0, "{:?}", rendered);
    }

    #[test]
    fn our_own_sentences_hold_only_mentions_of_people(text in "[<>@!&a-zU0W\u{E000}\u{E001} ]{0,60}") {
        let rendered = plain(&text);
        for token in rendered.split('<').skip(1) {
            prop_assert!(token.starts_with("@U") || token.starts_with("@W"), "{:?}", rendered);
        }
    }
}
