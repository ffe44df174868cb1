//! Which keys there are and what each holds: unknown and missing keys, and values of the wrong kind.

use std::time::Duration;

use serde_yaml::Value;

use super::{Node, Problem, near::nearest};

/// What a value must be.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    Count,
    Flag,
    /// `2s`, `1m 30s`.
    Span,
    /// `300ms`, `1.5s`: as the simulators write them.
    SimSpan,
    /// `-16m`.
    Before,
    List(&'static Shape),
    Map(&'static [Field]),
    /// A list of rules, or a mapping with them.
    Model,
    Any,
}

/// Nobody waits longer, and clocks have an end.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
const LONGEST_BEFORE: Duration = Duration::from_secs(3650 * 24 * 60 * 60);

struct Field {
    name: &'static str,
    shape: Shape,
    required: bool,
}

const fn must(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: true }
}

const fn may(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: false }
}

use Shape::{Any, Before, Count, Flag, List, Map, Model, SimSpan, Span, Text, Word};

const TEXTS: Shape = List(&Text);
const PLATFORM: Shape = Word(&["slack", "telegram", "feishu"]);
const NAMED: Shape = Map(&[must("id", Text), must("name", Text)]);

const SCENARIO: Shape = Map(&[
    must("name", Text),
    must("about", Text),
    may("platforms", List(&PLATFORM)),
    must("people", List(&NAMED)),
    must("rooms", List(&NAMED)),
    may("changes", List(&CHANGE)),
    must("say", List(&SAID)),
    must("model", Model),
    may("telemetry", TELEMETRY),
    must("expect", EXPECT),
    may("timeout", Span),
]);

const CHANGE: Shape = Map(&[
    must("time", Before),
    must("kind", Text),
    must("title", Text),
    may("service", Text),
    may("author", Text),
    may("url", Text),
    may("details", Any),
]);

const SAID: Shape = Map(&[
    must("room", Text),
    may("alert", Text),
    may("id", Text),
    may("title", Text),
    may("person", Text),
    may("thread", Text),
    must("text", Text),
    may("after", Span),
]);

const EXPECT: Shape = Map(&[
    may("placeholder", Flag),
    may("interim", TEXTS),
    may("workers", TEXTS),
    may("tools", TEXTS),
    may("final_contains", TEXTS),
    may("messages", Count),
]);

const RULE: Shape = Map(&[
    may("when", WHEN),
    may("times", Count),
    may("delay", SimSpan),
    may("pace", SimSpan),
    may("reply", REPLY),
    may("fault", FAULT),
]);

const WHEN: Shape = Map(&[
    may("persona", Text),
    may("last_user_contains", Text),
    may("system_contains", Text),
    may("last_tool", Text),
    may("tool_result_contains", Text),
    may("step", Count),
    may("model", Text),
    may("tool_choice", Text),
]);

const REPLY: Shape = Map(&[
    may("text", Text),
    may("calls", List(&CALL)),
    may("finish", Text),
    may("usage", Map(&[may("input", Count), may("output", Count), may("cached", Count)])),
]);

const CALL: Shape = Map(&[must("tool", Text), may("arguments", Any), may("raw_arguments", Text), may("id", Text)]);

const FAULT: Shape = Map(&[
    may("status", Count),
    may("retry_after", Count),
    may("cut_after_bytes", Count),
    may("hang", Flag),
    may("error_event", Text),
]);

const MODEL: Shape = Map(&[must("rules", List(&RULE)), may("unknown_tools", TEXTS)]);

const TELEMETRY: Shape = Map(&[
    may("prometheus", Map(&[may("queries", List(&QUERY)), may("rules", List(&Any)), may("down", Flag)])),
    may("alertmanager", Map(&[may("alerts", List(&Any)), may("silences", List(&Any)), may("down", Flag)])),
]);

const QUERY: Shape = Map(&[
    may("contains", Text),
    may("endpoint", Word(&["query", "query_range"])),
    may("result", Any),
    may("error", Map(&[must("type", Text), must("message", Text)])),
    may("warnings", TEXTS),
    may("delay", SimSpan),
]);

pub(super) fn check(root: &Node<'_>, problems: &mut Vec<Problem>) {
    fits(&SCENARIO, root, problems);
}

fn fits(shape: &Shape, node: &Node<'_>, problems: &mut Vec<Problem>) {
    let mut expected =
        |what: &str| problems.push(Problem::new(node, format!("expected {what}, got {}", kind(node.value))));
    match shape {
        Any => {}
        Text if node.text().is_some_and(|text| !text.contains(is_for_terminals)) => {}
        Text if node.text().is_some() => expected("a text without control characters"),
        // The most usual of these mistakes, and its cure.
        Text if !matches!(node.value, Value::Mapping(_) | Value::Sequence(_) | Value::Null) => {
            expected("a text: put quotes round it")
        }
        Text => expected("a text"),
        Word(words) if node.text().is_some_and(|text| words.contains(&text)) => {}
        Word(words) => {
            let problem = Problem::new(node, format!("expected one of {}, got {}", words.join(", "), kind(node.value)));
            problems.push(problem.meant(node.text().unwrap_or_default(), words.iter().copied()));
        }
        Count if node.value.as_u64().is_some() => {}
        Count => expected("a whole number"),
        Flag if node.value.is_bool() => {}
        Flag => expected("true or false"),
        Span if node.text().and_then(|text| humantime::parse_duration(text).ok()).is_some_and(|it| it <= LONGEST) => {}
        SimSpan if node.text().is_some_and(is_sim_span) => {}
        Span | SimSpan => expected("a length of time such as 300ms, 2s or 1m, a day at most"),
        Before if node.text().is_some_and(|text| before(text).is_some()) => {}
        Before => expected("a time before the start such as -16m"),
        List(of) if node.value.is_sequence() => node.items().iter().for_each(|item| fits(of, item, problems)),
        List(_) => expected("a list"),
        Map(fields) if node.value.is_mapping() => keys(fields, node, problems),
        Map(_) => expected("keys with values"),
        Model if node.value.is_sequence() => fits(&List(&RULE), node, problems),
        Model => fits(&MODEL, node, problems),
    }
}

fn keys(fields: &[Field], node: &Node<'_>, problems: &mut Vec<Problem>) {
    for (key, value) in node.entries() {
        match fields.iter().find(|field| field.name == key) {
            // An empty value is one that isn't there.
            Some(field) if value.value.is_null() && !field.required => {}
            Some(field) => fits(&field.shape, &value, problems),
            None => {
                let known = || fields.iter().map(|field| field.name);
                let meant = nearest(key, known());
                let hint = meant.map_or_else(
                    || format!("known are {}", known().collect::<Vec<_>>().join(", ")),
                    |word| format!("did you mean {word:?}?"),
                );
                problems.push(Problem::of_key(node, key, "unknown key").hint(Some(hint)));
            }
        }
    }
    for field in fields.iter().filter(|field| field.required && node.get(field.name).is_none()) {
        problems.push(Problem::new(node, format!("`{}` is missing", field.name)));
    }
}

fn kind(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::String(text) if text.chars().count() <= 40 => format!("{text:?}"),
        Value::String(_) => "a long text".to_owned(),
        Value::Sequence(_) => "a list".to_owned(),
        Value::Mapping(_) => "keys with values".to_owned(),
        Value::Tagged(tagged) => format!("a value tagged {}", tagged.tag),
    }
}

fn before(text: &str) -> Option<Duration> {
    humantime::parse_duration(text.strip_prefix('-')?).ok().filter(|before| *before <= LONGEST_BEFORE)
}

fn is_sim_span(text: &str) -> bool {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];
    let unit = units.iter().find(|(name, _)| *name == unit.trim());
    number.parse::<f64>().ok().zip(unit).is_some_and(|(number, (_, unit))| number * unit <= LONGEST.as_secs_f64())
}

/// What a terminal would obey instead of showing it.
fn is_for_terminals(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\r' | '\t')
}
