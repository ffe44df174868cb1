//! Examples, then the laws: Feishu can read it, nobody is notified, no word is lost, and what is measured is what is sent.

use proptest::{prelude::*, test_runner::TestCaseError};
use watchfloor_channel::text::split_within;

use super::*;
use crate::fuzzing::{fuzz, texts};

fn json(content: &Content) -> Value {
    serde_json::from_str(&content.json).unwrap()
}

/// A post's nodes, as `tag: text`.
fn nodes(text: &str) -> Vec<String> {
    let post = json(&Content::markdown(text, Form::Post));
    assert_eq!(post["zh_cn"]["title"], "");
    let paragraphs = post["zh_cn"]["content"].as_array().unwrap().clone();
    let node = |paragraph: &Value| {
        let [node] = paragraph.as_array().unwrap().as_slice() else { panic!("one node alone, not {paragraph}") };
        let language =
            node.get("language").map(|language| format!(" {}", language.as_str().unwrap())).unwrap_or_default();
        format!("{}{language}: {}", node["tag"].as_str().unwrap(), node["text"].as_str().unwrap())
    };
    paragraphs.iter().map(node).collect()
}

#[test]
fn an_answer_can_begin_with_a_mention_of_ours_and_hold_no_other() {
    let to = mention("ou_alice");
    let said = |form| Content::of(&Body::Addressed { to: to.clone(), text: format!("**Full.** {to}") }, form);
    let post = json(&said(Form::Post))["zh_cn"]["content"].clone();
    assert_eq!(post[0], serde_json::json!([{"tag": "at", "user_id": "ou_alice"}]));
    assert_eq!((post[1][0]["tag"].as_str(), post.as_array().unwrap().len()), (Some("md"), 2));
    for (form, at) in [(Form::Card, "<at id=ou_alice></at>"), (Form::Text, "<at user_id=\\\"ou_alice\\\"></at>")] {
        let content = said(form).json;
        assert_eq!((content.matches(at).count(), content.matches("<at").count()), (1, 1), "{content}");
    }
}

fn elements(text: &str) -> Vec<Value> {
    let card = json(&Content::markdown(text, Form::Card));
    assert_eq!((&card["schema"], &card["config"]["update_multi"]), (&json!("2.0"), &json!(true)));
    card["body"]["elements"].as_array().unwrap().clone()
}

/// The Markdown of a card that has nothing else.
fn card(text: &str) -> String {
    let elements = elements(text);
    let [element] = elements.as_slice() else { panic!("one element, not {elements:?}") };
    assert_eq!(element["tag"], "markdown");
    element["content"].as_str().unwrap().to_owned()
}

fn check(table: &[(&str, &str, &str)]) {
    for (text, in_post, in_card) in table {
        assert_eq!(nodes(text), [format!("md: {in_post}")], "{text}");
        assert_eq!(card(text), *in_card, "{text}");
    }
}

#[test]
fn styles_become_marks_of_feishu() {
    check(&[
        ("**a** *b* ~~c~~ `d<e`", "**a** *b* ~~c~~ `d<e`", "**a** *b* ~~c~~ `d<e`"),
        ("**bold _both_ `code` x**", "**bold** **both** `code` **x**", "**bold** **both** `code` **x**"),
        ("one\ntwo", "one\ntwo", "one<br>two"),
        ("~5 min to ~10 min", "∼5 min to ∼10 min", "&#126;5 min to &#126;10 min"),
        (
            r"\*no\* \_no\_ snake_case a&amp;lt;b",
            "*\u{2060}no* _\u{2060}no_ snake_case a&lt;b",
            "&#42;no&#42; &#95;no&#95; snake_case a&#38;lt;b",
        ),
        ("a < b <font color=red>", "a < b <font color=red>", "a &#60; b &#60;font color=red&#62;"),
        (r"\# no", "\u{2060}# no", "\u{2060}# no"),
        (r"1\. no, 1.5 is", "\u{2060}1. no, 1.5 is", "\u{2060}1. no, 1.5 is"),
    ]);
}

#[test]
fn blocks_keep_their_shape() {
    check(&[
        ("# A **b**\n## C\ntext", "#### A **b**\n\n##### C\n\ntext", "#### A **b**\n\n##### C\n\ntext"),
        (
            "- a\n- b\n  - c\n    1. d\n\nend",
            "- a\n- b\n    - c\n        1. d\n\nend",
            "- a\n- b\n    - c\n        1. d\n\nend",
        ),
        ("- [x] a\n- [ ] b", "- ☑ a\n- ☐ b", "- ☑ a\n- ☐ b"),
        ("- a\n\n  more\n- b", "- a\n    more\n- b", "- a\n    more\n- b"),
        ("a\n\n---\n\nb", "a\n\n---\n\nb", "a\n\n---\n\nb"),
        ("> a\n>\n> > b\n>\n> - c\n\nd", "> a\n> b\n> - c\n\nd", "> a\n> b\n> - c\n\nd"),
    ]);
}

#[test]
fn code_stands_alone() {
    assert_eq!(
        nodes("Log:\n\n```rust\nlet a;\n```\nend\n\n    indented\n\n```weird \"x\"\ny\n```"),
        ["md: Log:", "code_block RUST: let a;", "md: end", "code_block: indented", "code_block: y"]
    );
    assert_eq!(
        nodes("- a\n  - b\n    ```sh\n    ls\n    ```\n    after\n  - c\n- ```\n  x\n  ```\n- d"),
        ["md: - a\n    - b", "code_block SHELL: ls", "md: after\n- c", "code_block: x", "md: - d"]
    );
    assert_eq!(
        card("Log:\n\n```rust\nlet a = `b` + \"```\";\n```\n- x\n\n  ~~~\n  y\n  ~~~"),
        "Log:\n\n```rust\nlet a = `b` + \"``\u{2060}`\";\n```\n\n- x\n\n```\ny\n```"
    );
}

#[test]
fn links_lead_where_they_say() {
    check(&[
        ("[a [b]](https://e.org/x_(y))", "[a b](https://e.org/x_%28y%29)", "[a &#91;b&#93;](https://e.org/x_%28y%29)"),
        (
            "见https://e.org/_x。",
            "见[https://e.org/_x](https://e.org/_x)。",
            "见[https://e.org/&#95;x](https://e.org/_x)。",
        ),
        ("![graph](https://e.org/g.png)", "[graph](https://e.org/g.png)", "[graph](https://e.org/g.png)"),
        ("[x](docs/a.md) <a@e.org>", "x (docs/a.md) a@e.org", "x (docs/a.md) a@e.org"),
        (r"\[x\](y)", "[x]\u{2060}(y)", "&#91;x&#93;(y)"),
    ]);
}

#[test]
fn a_model_can_notify_nobody() {
    check(&[(
        "<at id=all></at> < AT user_id=\"all\"> <atlas>",
        "<\u{2060}at id=all><\u{2060}/at> <\u{2060} AT user_id=\"all\"> <atlas>",
        "&#60;at id=all&#62;&#60;/at&#62; &#60; AT user_id=\"all\"&#62; &#60;atlas&#62;",
    )]);
    assert_eq!(nodes("<<br>at id=all>"), ["md: <\u{2060}\nat id=all>"]);
    assert_eq!(nodes("```\n<at id=all>\n```"), ["code_block: <\u{2060}at id=all>"]);
    assert_eq!(card("`<at id=all>`"), "`<\u{2060}at id=all>`");
    let text = Content::markdown("**<at user_id=\"all\">** \u{E000}ou_1\u{E001}", Form::Text);
    assert_eq!(json(&text), json!({"text": "**<\u{2060}at user_id=\"all\">** ou_1"}));
}

#[test]
fn our_own_sentences_can_mention_a_person_and_nothing_else() {
    let said = format!("{}, stopped by <at id=all> **x**\nnow", mention("ou_abc1"));
    assert_eq!(
        json(&Content::plain(&said, Form::Post))["zh_cn"]["content"],
        json!([
            [{"tag": "at", "user_id": "ou_abc1"}, {"tag": "text", "text": ", stopped by <\u{2060}at id=all> **x**"}],
            [{"tag": "text", "text": "now"}],
        ])
    );
    let card = json(&Content::plain(&said, Form::Card));
    assert_eq!(
        card["body"]["elements"],
        json!([{"tag": "markdown", "content":
            "<at id=ou_abc1></at>, stopped by &#60;at id=all&#62; &#42;&#42;x&#42;&#42;<br>now"}])
    );
    assert_eq!(card["config"]["summary"]["content"], ", stopped by <\u{2060}at id=all> **x** now");
    assert_eq!(
        json(&Content::plain(&said, Form::Text))["text"],
        "<at user_id=\"ou_abc1\"></at>, stopped by <\u{2060}at id=all> **x**\nnow"
    );
    assert_eq!(mention("all"), "@all");
    assert_eq!(mention("ou_\"><at"), "@ou_\"><at");
}

const TABLE: &str = "| host | n |\n|---|--:|\n| [a](https://e.org) | 1 |\n| **b** | 22 |\n\n";

#[test]
fn the_first_tables_of_a_card_are_native_and_the_rest_is_code() {
    let elements = elements(&format!("start\n\n{}end", TABLE.repeat(5)));
    let tags: Vec<&str> = elements.iter().map(|element| element["tag"].as_str().unwrap()).collect();
    assert_eq!(tags, ["markdown", "table", "table", "table", "markdown"]);
    assert_eq!(
        elements[1],
        json!({"tag": "table", "page_size": 10, "row_height": "low",
            "columns": [
                {"name": "c0", "display_name": "host", "data_type": "lark_md", "horizontal_align": "left"},
                {"name": "c1", "display_name": "n", "data_type": "text", "horizontal_align": "right"},
            ],
            "rows": [{"c0": "[a](https://e.org)", "c1": "1"}, {"c0": "**b**", "c1": "22"}]})
    );
    let code = "```\nhost   n\n----  --\na      1\nb     22\n```";
    assert_eq!(elements[4]["content"], format!("{code}\n\n{code}\n\nend"));
    assert_eq!(nodes(TABLE), ["code_block: host   n\n----  --\na      1\nb     22"]);
}

#[test]
fn nothing_to_show_is_known_as_blank() {
    for form in [Form::Post, Form::Card, Form::Text] {
        for text in ["", " \n", "\0"] {
            let content = Content::markdown(text, form);
            assert!(content.is_blank() && Content::plain(text, form).is_blank(), "{content:?}");
            assert_eq!(content.size(), Size::of_text(LIMITS.length(0)));
        }
    }
    assert!(Content::markdown("```\n```", Form::Post).is_blank());
}

#[test]
fn a_long_answer_is_cut_by_the_bytes_of_its_json() {
    for form in [Form::Post, Form::Card] {
        let limits = Limits { text: LIMITS.length(4_000), bytes: 4_000, ..LIMITS };
        for text in ["错误率上升。".repeat(300), "\"\\<*".repeat(1_200), TABLE.repeat(100)] {
            let measure = |part: &str| Content::markdown(part, form).size();
            let parts = split_within(&text, &limits, measure);
            assert!(parts.len() > 1);
            assert!(parts.iter().all(|part| limits.hold(&measure(part)) && !measure(part).text.is_zero()));
        }
    }
}

/// Every string of the JSON.
fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| strings(value, found)),
        Value::Object(values) => values.values().for_each(|value| strings(value, found)),
        _ => {}
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
        "<",
        ">",
        "&",
        "&lt;",
        "/",
        "at",
        "AT ",
        "<at id=all>",
        "</at>",
        "<at",
        " user_id=\"all\"",
        "[",
        "](",
        ")",
        "!",
        "https://e.org",
        "| a | b |\n|---|---|\n",
        "|",
        "---\n",
        "错误",
        "👩‍👧",
        "\u{202e}",
        "\u{E000}ou_1\u{E001}",
        "<br>",
        "\0",
        "\"",
        "$",
    ]);
    prop_oneof![prop::collection::vec(words, 0..60).prop_map(|words| words.concat()), any::<String>()]
}

fn mentions(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.split('<').skip(1).any(|tag| {
        tag.trim_start()
            .trim_start_matches('/')
            .strip_prefix("at")
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "-_".contains(c)))
    })
}

/// Feishu can read it, and nobody is notified.
fn harmless(text: &str) -> Result<(), TestCaseError> {
    for form in [Form::Post, Form::Card, Form::Text] {
        for content in [Content::markdown(text, form), Content::plain(&escape::without_tokens(text), form)] {
            let mut found = Vec::new();
            strings(&json(&content), &mut found);
            for text in &found {
                prop_assert!(!mentions(text), "{text:?}");
                let controls = text.contains(['\u{202e}', '\0', '\r', '\u{E000}', '\u{E001}']);
                prop_assert!(!controls);
            }
            prop_assert!(content.is_blank() || content.size().bytes >= content.json.len());
            prop_assert!(!content.json.contains("\"tag\":\"at\""));
        }
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
    fn feishu_can_read_any_text_and_notifies_nobody(text in anything()) {
        harmless(&text)?;
    }

    #[test]
    fn no_word_is_lost(parts in prop::collection::vec(prop::sample::select(vec![
        "word", " ", "**", "*", "_", "~~x~~", "`x", "> ", "- ", "1. ", "# ", "\n", "\n\n", "    ", "- [ ] ", "\\", "|", "<",
        "| a | b |\n|---|---|\n| word | [word](https://e.org) |\n\n",
    ]), 0..60)) {
        let text = parts.concat();
        for form in [Form::Post, Form::Card, Form::Text] {
            let said = Content::markdown(&text, form).json;
            prop_assert!(said.matches("word").count() >= text.matches("word").count(), "{form:?} {said}");
        }
    }

    #[test]
    fn code_never_leaves_its_element(text in "[`~\n a-c>\\-*]{0,60}") {
        for element in elements(&text) {
            prop_assert_eq!(element["content"].as_str().unwrap().matches("```").count() % 2, 0, "{}", element);
        }
    }
}

proptest! {
    // Cutting is slow without optimisation.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn parts_say_in_order_what_the_whole_says(words in prop::collection::vec("[a-z]{1,9}( \\*\\*b\\*\\*| `c`|\n\n|\n- |, <|\n> )?", 0..60)) {
        let text = words.join(" ");
        for form in [Form::Post, Form::Card] {
            let limits = Limits { text: LIMITS.length(400), bytes: 400, ..LIMITS };
            let mut said = Vec::new();
            for part in split_within(&text, &limits, |part| Content::markdown(part, form).size()) {
                let content = Content::markdown(&part, form);
                prop_assert!(limits.hold(&content.size()), "{:?}", content);
                said.extend(said_in(&content));
            }
            prop_assert_eq!(said, said_in(&Content::markdown(&text, form)));
        }
    }
}

/// The words of the answer itself.
fn said_in(content: &Content) -> Vec<String> {
    let json = json(content);
    let mut found = Vec::new();
    match content.form {
        Form::Card => json["body"]["elements"]
            .as_array()
            .unwrap()
            .iter()
            .for_each(|element| strings(&element["content"], &mut found)),
        _ => json["zh_cn"]["content"].as_array().unwrap().iter().for_each(|node| strings(&node[0]["text"], &mut found)),
    }
    let text = found.join(" ").replace("<br>", " ").replace("&#60;", "<");
    let words = text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned());
    words.filter(|word| !word.is_empty()).collect()
}
