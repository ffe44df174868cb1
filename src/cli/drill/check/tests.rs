//! Mistakes made in a small scenario, and what is said of each.

use super::check;

/// Without a mistake.
const GOOD: &str = r#"name: small
about: nothing much
people:
  - {id: U0MAYA, name: Maya}
  - {id: U0JON, name: Jon}
rooms:
  - {id: C0OPS, name: ops}
  - {id: C0DEV, name: dev}
changes:
  - time: -16m
    kind: deploy
    title: order-api v2
say:
  - alert: page
    room: ops
    text: it burns
  - person: Jon
    room: ops
    thread: page
    after: 2s
    text: "@watchfloor why?"
model:
  rules:
    - when: {persona: default, step: 0}
      times: 1
      delay: 300ms
      reply:
        calls:
          - {tool: query_promql, arguments: {query: up}}
    - when: {persona: default, last_tool: query_promql}
      reply: {text: It is up.}
telemetry:
  prometheus:
    queries:
      - contains: up
        result: {resultType: vector, result: []}
expect:
  placeholder: true
  tools: [query_promql]
  final_contains: [up]
"#;

fn told(text: &str) -> String {
    check("f", text).map_or_else(|problems| problems.to_string(), |()| String::new())
}

#[test]
fn a_good_scenario_has_nothing_against_it() {
    assert_eq!(told(GOOD), "");
}

#[test]
fn each_mistake_is_told_with_its_place_and_what_was_meant() {
    let table = [
        ("person: Jon", "person: Jonn", r#"f:17:13: say[1].person: nobody is named "Jonn" (did you mean "Jon"?)"#),
        ("person: Jon", "person: Peter", r#"f:17:13: say[1].person: nobody is named "Peter""#),
        ("- person: Jon", "- person: 12", "f:17:13: say[1].person: expected a text: put quotes round it, got 12"),
        (
            "thread: page",
            "thread: pager",
            r#"f:19:13: say[1].thread: no earlier message has the id "pager" (did you mean "page"?)"#,
        ),
        (
            "    room: ops\n    thread",
            "    room: dev\n    thread",
            r#"f:19:13: say[1].thread: that message was said in another room, "ops""#,
        ),
        (
            "room: ops\n    text",
            "room: op\n    text",
            "f:15:11: say[0].room: no room is named \"op\" (did you mean \"ops\"?)\n\
             f:19:13: say[1].thread: that message was said in another room, \"op\"",
        ),
        (
            "Maya}\n  - {id: U0JON, name: Jon}",
            "Jon}\n  - {id: U0JON, name: Jon}",
            r#"f:5:23: people[1].name: another one has the name "Jon""#,
        ),
        (
            "after: 2s",
            "after: soon",
            r#"f:20:12: say[1].after: expected a length of time such as 300ms, 2s or 1m, a day at most, got "soon""#,
        ),
        (
            "delay: 300ms",
            "delay: 300",
            "f:26:14: model.rules[0].delay: expected a length of time such as 300ms, 2s or 1m, a day at most, got 300",
        ),
        ("-16m", "16m", r#"f:10:11: changes[0].time: expected a time before the start such as -16m, got "16m""#),
        ("placeholder:", "place_holder:", r#"f:38:3: expect.place_holder: unknown key (did you mean "placeholder"?)"#),
        (
            "  tools: [",
            "  wizards: [",
            "f:39:3: expect.wizards: unknown key (known are placeholder, interim, workers, tools, final_contains, messages)",
        ),
        (
            "placeholder: true",
            "placeholder: maybe",
            r#"f:38:16: expect.placeholder: expected true or false, got "maybe""#,
        ),
        ("about: nothing much\n", "", "f:1:1: `about` is missing"),
        ("@watchfloor why?", "why?", "f:14:3: say: nobody mentions @watchfloor, so nothing would happen"),
        (
            "tools: [query_promql]",
            "tools: [query_prompql]",
            r#"f:39:11: expect.tools[0]: there is no tool "query_prompql"; model.unknown_tools lists made-up ones (did you mean "query_promql"?)"#,
        ),
        (
            "{persona: default, step: 0}",
            "{persona: defaults, step: 0}",
            r#"f:24:23: model.rules[0].when.persona: there is no persona "defaults" (did you mean "default"?)"#,
        ),
        ("      times: 1\n", "      times: 0\n", "f:24:7: model.rules[0]: this rule can never fit: `times` is 0"),
        ("name: small", "name: small: talk", "f:1:12: mapping values are not allowed in this context"),
    ];
    let got: Vec<_> = table.iter().map(|(right, wrong, _)| told(&GOOD.replacen(right, wrong, 1))).collect();
    let expected: Vec<_> = table.iter().map(|(.., expected)| *expected).collect();
    assert_eq!(got, expected);
}

#[test]
fn a_rule_behind_one_that_takes_all_its_requests_is_told() {
    let hidden =
        "    - when: {persona: default, last_tool: query_promql, step: 3}\n      reply: {text: no}\ntelemetry:";
    let text = GOOD.replace("telemetry:", hidden);
    let expected =
        "f:32:7: model.rules[2]: this rule can never fit: rule 1 takes all of its requests and has no `times`";
    assert_eq!(told(&text), expected);
    // Used up once, the earlier one leaves the rest.
    let text = text.replace("query_promql}\n      reply", "query_promql}\n      times: 1\n      reply");
    assert_eq!(told(&text), "");
    let text = GOOD.replace("expect:", "      - {contains: rate(up, result: {}}\nexpect:");
    let expected = "f:37:9: telemetry.prometheus.queries[1]: this query is never answered: query 0 takes all that contain this text";
    assert_eq!(told(&text), expected);
}

#[test]
fn a_made_up_tool_may_be_called_if_it_is_listed() {
    let text = GOOD.replace("tool: query_promql,", "tool: prometheus_query,");
    assert!(told(&text).contains("there is no tool \"prometheus_query\""), "{}", told(&text));
    assert_eq!(told(&text.replace("model:\n", "model:\n  unknown_tools: [prometheus_query]\n")), "");
}

#[test]
fn all_mistakes_are_told_at_once_in_the_order_of_the_file() {
    let text = GOOD.replace("person: Jon", "persona: Jon").replace("kind: deploy", "kind: 7").replace("[up]", "up");
    let places: Vec<String> =
        told(&text).lines().map(|line| line.split(": ").take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        places,
        ["f:11:11 changes[0].kind", "f:17:5 say[1].persona", "f:17:5 say[1]", "f:40:19 expect.final_contains"]
    );
}

#[test]
fn a_file_from_elsewhere_can_neither_stop_the_clock_nor_write_on_the_terminal() {
    for (good, bad, expected) in [
        ("after: 2s", "after: 584942417355y", "a day at most"),
        ("delay: 300ms", "delay: 99999999999999999999999d", "a day at most"),
        ("time: -16m", "time: -584942417355y", "a time before the start such as -16m"),
        ("about: nothing much", "about: \"\\e]0;gone\\a\"", "a text without control characters"),
        ("name: Maya", "name: \"Maya\\e[2J\"", "a text without control characters"),
    ] {
        let told = told(&GOOD.replacen(good, bad, 1));
        assert!(told.contains(expected) && !told.contains('\u{1b}'), "{bad}: {told}");
    }
}
