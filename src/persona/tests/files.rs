//! A table of good, odd and broken files; then what a good one means, and that no file whatever can do harm.

use proptest::prelude::*;
use serde_yaml::Value;

use super::{
    super::{Code, Code::*, Loaded, MAX_BYTES, PermissionMode, Tools},
    read,
};

const HEAD: &str = "---\nname: a\ndescription: b\n";
/// Below the other keys, so that these begin on line 4.
const WHEN: &str = "when_to_use: For what it is for.\n";

/// Loaded with these warnings, or refused with these errors; each with its line and column.
#[derive(Debug, PartialEq)]
enum Outcome {
    Loaded(Vec<(Code, usize, usize)>),
    Refused(Vec<(Code, usize, usize)>),
}

use Outcome::{Loaded as Ok_, Refused};

fn outcome(text: impl AsRef<[u8]>) -> Outcome {
    let found = |problems: Vec<_>| {
        problems.into_iter().map(|p: super::super::ParseProblem| (p.code, p.line, p.column)).collect::<Vec<_>>()
    };
    match read(text) {
        Ok(loaded) => Ok_(found(loaded.warnings)),
        Err(problems) => Refused(found(problems)),
    }
}

/// The usual head, more keys, an end.
fn with(keys: &str) -> String {
    let when = if keys.contains("when_to_use:") { "" } else { WHEN };
    format!("{HEAD}{keys}\n{when}---\nbody\n")
}

#[test]
fn each_file_of_the_table_is_loaded_or_refused_at_the_right_place() {
    let table = [
        // markers
        ("---\nname: a\ndescription: b\nwhen_to_use: For what it is for.\n---\nbody", Ok_(vec![])),
        ("---\nname: a\ndescription: b\nwhen_to_use: For what it is for.\n---", Ok_(vec![])),
        ("\u{feff}---\nname: a\ndescription: b\nwhen_to_use: For what it is for.\n---\n", Ok_(vec![])),
        ("---\r\nname: a\r\ndescription: b\r\nwhen_to_use: For what it is for.\r\n---\r\nbody\r\n", Ok_(vec![])),
        ("---\nname: a\r\ndescription: b\nwhen_to_use: For what it is for.\n--- \t\r\nbody\r\n", Ok_(vec![])),
        ("---  \nname: a\ndescription: b\nwhen_to_use: For what it is for.\n---  \nbody", Ok_(vec![])),
        ("---\nname: a\ndescription: x --- y\nwhen_to_use: For what it is for.\n---\none\n---\ntwo", Ok_(vec![])),
        ("---\nname: a\ndescription: |\n  one\n  ---\n  two\nwhen_to_use: For what it is for.\n---\n", Ok_(vec![])),
        ("", Refused(vec![(NoFrontMatter, 1, 1)])),
        ("# a\n\nbody\n", Refused(vec![(NoFrontMatter, 1, 1)])),
        ("\n---\nname: a\n---\n", Refused(vec![(NoFrontMatter, 1, 1)])),
        ("----\nname: a\n----\n", Refused(vec![(NoFrontMatter, 1, 1)])),
        ("---\nname: a\ndescription: b\n", Refused(vec![(FrontMatterOpen, 1, 1)])),
        ("---\nname: a\ndescription: b\n ---\n", Refused(vec![(FrontMatterOpen, 1, 1)])),
        // YAML
        ("---\nname: a\ndescription: one: two\n---\n", Refused(vec![(UnquotedColon, 3, 17)])),
        ("---\r\nname: a\r\ndescription: one: two\r\n---\r\n", Refused(vec![(UnquotedColon, 3, 17)])),
        ("---\nname: a\ndescription: \"one: two\"\nwhen_to_use: For what it is for.\n---\n", Ok_(vec![])),
        ("---\nname: a\ndescription: b\nmetadata:\n\tos: linux\n---\n", Refused(vec![(TabIndent, 5, 1)])),
        ("---\nname: a\ndescription: b\nname: c\n---\n", Refused(vec![(DuplicateKey, 4, 1)])),
        ("---\nname: a\ndescription: b\nmetadata:\n  x: 1\n  x: 2\n---\n", Refused(vec![(DuplicateKey, 6, 3)])),
        ("---\nname: a\ndescription: [b\n---\n", Refused(vec![(YamlSyntax, 4, 1)])),
        ("---\nname: a\ndescription: 'b\n---\n", Refused(vec![(YamlSyntax, 4, 1)])),
        ("---\nname: a\ndescription: @b\n---\n", Refused(vec![(YamlSyntax, 3, 14)])),
        ("---\nname: a\ndescription: b\u{0}c\n---\n", Refused(vec![(YamlSyntax, 3, 15)])),
        ("---\nname: a\ndescription: *nobody\n---\n", Refused(vec![(YamlSyntax, 3, 14)])),
        ("---\n- name\n- description\n---\n", Refused(vec![(NotAMapping, 2, 1)])),
        ("---\njust text\n---\n", Refused(vec![(NotAMapping, 2, 1)])),
        ("---\nname: a\n...\ndescription: b\n---\n", Refused(vec![(YamlSyntax, 2, 1)])),
        ("---\nname: a\ndescription: b\nmetadata: &x [*x]\n---\n", Refused(vec![(TooMuchYaml, 4, 11)])),
        // names and descriptions
        ("---\n---\n", Refused(vec![(NameMissing, 1, 1), (DescriptionMissing, 1, 1), (WhenToUseMissing, 1, 1)])),
        (
            "---\n# nothing\n---\n",
            Refused(vec![(NameMissing, 1, 1), (DescriptionMissing, 1, 1), (WhenToUseMissing, 1, 1)]),
        ),
        ("---\nname:\ndescription: b\nwhen_to_use: For what it is for.\n---\n", Refused(vec![(NameMissing, 2, 6)])),
        ("---\ndescription: b\nname: 42\nwhen_to_use: For what it is for.\n---\n", Refused(vec![(NameNotText, 3, 7)])),
        (
            "---\nname: true\ndescription: b\nwhen_to_use: For what it is for.\n---\n",
            Refused(vec![(NameNotText, 2, 7)]),
        ),
        ("---\nname: \"42\"\ndescription: b\nwhen_to_use: For what it is for.\n---\n", Ok_(vec![(NameDiffers, 2, 7)])),
        ("---\nname: no\ndescription: b\nwhen_to_use: For what it is for.\n---\n", Ok_(vec![(NameDiffers, 2, 7)])),
        ("---\nname: a b\ndescription: b\nwhen_to_use: For what it is for.\n---\n", Refused(vec![(NameInvalid, 2, 7)])),
        (
            "---\nname: ../a\ndescription: b\nwhen_to_use: For what it is for.\n---\n",
            Refused(vec![(NameInvalid, 2, 7)]),
        ),
        (
            "---\nname: Reload\ndescription: b\nwhen_to_use: For what it is for.\n---\n",
            Refused(vec![(NameReserved, 2, 7)]),
        ),
        (
            "---\nname: warnings\ndescription: b\nwhen_to_use: For what it is for.\n---\n",
            Refused(vec![(NameReserved, 2, 7)]),
        ),
        (
            "---\nname: custom\ndescription: b\nwhen_to_use: For what it is for.\n---\n",
            Refused(vec![(NameReserved, 2, 7)]),
        ),
        ("---\nname: a\ndescription: >\n  one\n  two\nwhen_to_use: For what it is for.\n---\n", Ok_(vec![])),
        ("---\nname: a\ndescription: 7\nwhen_to_use: For what it is for.\n---\n", Refused(vec![(WrongType, 3, 14)])),
        (
            "---\nname: a\ndescription: ''\nwhen_to_use: For what it is for.\n---\n",
            Refused(vec![(DescriptionMissing, 3, 14)]),
        ),
    ];
    for (text, expected) in table {
        assert_eq!(outcome(text), expected, "{text:?}");
    }
}

#[test]
fn each_key_of_the_table_is_taken_or_refused_at_the_right_place() {
    let table = [
        ("tools: []", Ok_(vec![(ToolsEmpty, 4, 8)])),
        ("tools:", Ok_(vec![(ToolsEmpty, 4, 7)])),
        ("tools: ' , '", Ok_(vec![(ToolsEmpty, 4, 8)])),
        ("tools: {query_promql: true}", Refused(vec![(WrongType, 4, 8)])),
        ("tools:\n  - query_promql\n  - 7", Refused(vec![(WrongType, 6, 5)])),
        ("tools: true", Refused(vec![(WrongType, 4, 8)])),
        ("disallowed_tools: []", Ok_(vec![])),
        ("disallowed_tools:", Ok_(vec![])),
        ("permission_mode: readonly", Refused(vec![(PermissionModeUnknown, 4, 18)])),
        ("permission_mode: [read-only]", Refused(vec![(WrongType, 4, 18)])),
        ("max_turns: 0", Ok_(vec![])),
        ("max_turns: -1", Refused(vec![(OutOfRange, 4, 12)])),
        ("max_turns: 2.5", Refused(vec![(OutOfRange, 4, 12)])),
        ("max_turns: 1000000000000", Refused(vec![(OutOfRange, 4, 12)])),
        ("max_turns: '3'", Refused(vec![(WrongType, 4, 12)])),
        ("background: yes", Refused(vec![(WrongType, 4, 13)])),
        ("omit_claude_md: 1", Refused(vec![(WrongType, 4, 17)])),
        ("model: [a]", Refused(vec![(WrongType, 4, 8)])),
        ("model: !secret a", Refused(vec![(WrongType, 4, 8)])),
        ("when_to_use: 'Ask:'", Ok_(vec![(WhenToUseVague, 4, 14)])),
        ("when_to_use: Disk questions", Ok_(vec![(WhenToUseVague, 4, 14)])),
        ("when_to_use: 磁盘满或变慢", Ok_(vec![])),
        ("tool: [query_promql]", Ok_(vec![(KeyMisspelt, 4, 1)])),
        ("disallowedTools: [query_promql]", Ok_(vec![(KeyMisspelt, 4, 1)])),
        ("Permission-Mode: read-only", Ok_(vec![(KeyMisspelt, 4, 1)])),
        ("colour: red\n7: seven\n? [1, 2]\n: list", Ok_(vec![])),
        ("x-base: &base\n  tools: []\n<<: *base", Refused(vec![(MergeKey, 6, 1)])),
        ("background: yes\nmax_turns: no", Refused(vec![(WrongType, 5, 12), (WrongType, 4, 13)])),
    ];
    for (keys, expected) in table {
        assert_eq!(outcome(with(keys)), expected, "{keys:?}");
    }
}

#[test]
fn long_parts_are_measured() {
    assert_eq!(outcome(with(&format!("critical_reminder: {}", "é".repeat(600)))), Ok_(vec![]));
    assert_eq!(outcome(with(&format!("critical_reminder: {}", "é".repeat(601)))), Ok_(vec![(ReminderLong, 4, 20)]));
    let when = format!("when_to_use: {}", "word ".repeat(33));
    assert_eq!(outcome(with(&when)), Ok_(vec![(WhenToUseVague, 4, 14)]));
    let name = |length: usize| format!("---\nname: {}\ndescription: b\n{WHEN}---\n", "a".repeat(length));
    assert_eq!(outcome(name(64)), Ok_(vec![(NameDiffers, 2, 7)]));
    assert_eq!(outcome(name(65)), Refused(vec![(NameInvalid, 2, 7)]));
    let file = |length: usize| format!("{HEAD}{WHEN}---\n{}", "x".repeat(length - HEAD.len() - WHEN.len() - 4));
    assert_eq!(outcome(file(MAX_BYTES)), Ok_(vec![]));
    assert_eq!(outcome(file(MAX_BYTES + 1)), Refused(vec![(TooLarge, 1, 1)]));
}

#[test]
fn bytes_that_arent_utf_8_are_refused_with_their_place() {
    assert_eq!(outcome(b"---\nname: a\ndescription: \xff\n---\n"), Refused(vec![(NotUtf8, 3, 14)]));
    assert_eq!(outcome(b"\xff\xfe-\0-\0-\0"), Refused(vec![(NotUtf8, 1, 1)]));
}

#[test]
fn bombs_are_refused_whatever_their_shape() {
    let ladder: String = (1..10).map(|n| format!("a{n}: &a{n} [{}]\n", format!("*a{},", n - 1).repeat(9))).collect();
    let wide = format!("x: &x [{}]\ny: [{}]\n", "a,".repeat(30_000), "*x,".repeat(30_000));
    let long = format!("x: &x {}\ny: [{}]\n", "a".repeat(100_000), "*x,".repeat(30_000));
    for bomb in [format!("a0: &a0 [x]\n{ladder}"), wide, long] {
        let problems = read(with(&bomb)).unwrap_err();
        assert_eq!(problems.iter().map(|p| p.code).collect::<Vec<_>>(), [TooMuchYaml]);
    }
    for nested in ["[".repeat(200_000), "{a: ".repeat(50_000), "{a: ".repeat(2000), "- ".repeat(100_000)] {
        assert_eq!(read(with(&format!("metadata:\n  {nested}"))).unwrap_err()[0].code, TooMuchYaml);
    }
}

#[test]
fn every_key_is_read_and_the_body_stays_byte_for_byte() {
    let text = "---\nname: Disk_Two\ndescription: >\n  Looks at\n  disks.\nwhen_to_use: When a disk is full.\n\
                tools: query_promql, read_result , query_promql\ndisallowed_tools: ['*_skill']\n\
                permission_mode: dual-sign-required\nmax_turns: 7\nmodel: a/b\ncritical_reminder: Be careful.\n\
                initial_prompt: Hello {{.x}}\nbackground: true\nomit_claude_md: true\nmetadata: {os: [linux]}\n\
                owner: team-a\n---\n\r\n  body\r\n---\n\u{0}";
    let Loaded { persona, warnings } = read(text).unwrap();
    assert_eq!(warnings.iter().map(|warning| warning.code).collect::<Vec<_>>(), [NameDiffers]);
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        (persona.name.as_str(), persona.description.as_str(), &persona.when_to_use),
        ("Disk_Two", "Looks at disks.", &text("When a disk is full."))
    );
    assert_eq!(persona.tools, Tools::Only(vec!["query_promql".to_owned(), "read_result".to_owned()]));
    assert_eq!(persona.disallowed_tools, ["*_skill"]);
    assert_eq!((persona.permission_mode, persona.max_turns_or(15)), (PermissionMode::DualSignRequired, 7));
    assert_eq!((&persona.model, &persona.critical_reminder), (&text("a/b"), &text("Be careful.")));
    assert_eq!(
        (&persona.initial_prompt, persona.background, persona.omit_claude_md),
        (&text("Hello {{.x}}"), true, true)
    );
    assert_eq!(persona.metadata["os"][0], Value::from("linux"));
    assert_eq!(persona.unknown_fields.keys().collect::<Vec<_>>(), ["owner"]);
    assert_eq!(persona.body, "\r\n  body\r\n---\n\u{0}");
}

#[test]
fn what_isnt_said_is_the_harmless_default() {
    let persona = read(with("model: inherit\nmax_turns: 0")).unwrap().persona;
    assert_eq!((persona.permission_mode, persona.max_turns_or(15)), (PermissionMode::ReadOnly, 15));
    assert_eq!((persona.tools, persona.model, persona.background), (Tools::Inherit, None, false));
}

#[test]
fn a_tool_is_listed_if_it_is_named_and_not_forbidden() {
    let persona = |keys: &str| read(with(keys)).unwrap().persona;
    assert!(persona("").lists("anything"));
    assert!(!persona("tools: []").lists("anything"));
    assert!(!persona("disallowed_tools: ['*_skill']").lists("run_skill"));
    assert!(persona("tools: [bash]").lists("host_bash"));
    assert!(!persona("tools: ['query_*']\ndisallowed_tools: [search_logs]").lists("query_logql"));
    assert!(persona("tools: ['query_*']\ndisallowed_tools: [search_logs]").lists("query_promql"));
}

#[test]
fn b083_an_unquoted_colon_is_an_error_that_says_what_to_do_in_one_line() {
    let problems = read("---\nname: a\ndescription: one: two\n---\n").unwrap_err();
    assert_eq!(
        problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "chatruntime: parse a.md: line 3 column 17: mapping values are not allowed in this context [unquoted_colon]; \
          put quotes round a value that holds `: `"
        ]
    );
}

proptest! {
    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(bytes);
    }

    #[test]
    fn no_front_matter_makes_the_parser_panic(
        yaml in "([a-c]{1,2}|[-:?!&*<>|'\"{}\\[\\],#%@`~. \t\r\n]|name|tools|\n  |: ){0,60}",
        body in ".{0,20}",
    ) {
        let text = format!("---\n{yaml}\n---\n{body}");
        match read(&text) {
            Ok(loaded) => prop_assert!(text.ends_with(&loaded.persona.body)),
            Err(problems) => for problem in problems {
                prop_assert!(problem.line >= 1 && problem.line <= text.lines().count() + 1, "{problem}");
            },
        }
    }
}
