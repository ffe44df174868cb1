//! A configuration before it has meaning: values that remember where they were written. Meaning is the sections' business.

use std::collections::{BTreeMap, BTreeSet};

use toml::de::{DeTable, DeValue};

use super::error::ConfigError;

pub(super) type Table = BTreeMap<String, Node>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// `soft` = it came from the environment, where everything is text: it may also be read as a number, a switch, a list.
    Text {
        text: String,
        soft: bool,
    },
    Whole(i64),
    Flag(bool),
    List(Vec<Node>),
    Table(Table),
    /// A value of a kind that no key takes, by the kind's name.
    Odd(&'static str),
    /// A mistake in it is reported already: treat it as not set, and say no more about it.
    Spoilt,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Not written anywhere.
    Default,
    Line(usize),
    Variable(String),
}

impl Node {
    pub(super) fn text(text: impl Into<String>, origin: Origin) -> Self {
        Self { value: Value::Text { text: text.into(), soft: matches!(origin, Origin::Variable(_)) }, origin }
    }

    pub(super) fn table(table: Table, origin: Origin) -> Self {
        Self { value: Value::Table(table), origin }
    }

    /// An empty value means *not set*.
    pub(super) fn is_unset(&self) -> bool {
        matches!(&self.value, Value::Text { text, .. } if text.is_empty())
    }

    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Text { .. } => "a text",
            Value::Whole(_) => "a number",
            Value::Flag(_) => "true or false",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Odd(kind) => kind,
            Value::Spoilt => "nothing",
        }
    }
}

/// The dotted paths of all that is set, of tables too.
pub(super) fn set_paths(table: &Table) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    add_paths(table, "", &mut paths);
    paths
}

fn add_paths(table: &Table, parent: &str, paths: &mut BTreeSet<String>) {
    for (key, node) in table {
        let path = if parent.is_empty() { key.clone() } else { format!("{parent}.{key}") };
        let before = paths.len();
        let set = match &node.value {
            Value::Table(table) => {
                add_paths(table, &path, paths);
                paths.len() > before
            }
            Value::List(items) => !items.is_empty(),
            Value::Spoilt => false,
            _ => !node.is_unset(),
        };
        if set {
            paths.insert(path);
        }
    }
}

/// Reads TOML. Where the file isn't TOML the errors say so, each with its line, and there is no tree.
pub(super) fn parse(place: &str, text: &str) -> Result<Table, Vec<ConfigError>> {
    let lines = Lines::of(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(from_table(table.get_ref(), &lines));
    }
    // The parser's own message, without the quoted source: that line may hold a secret.
    Err(errors
        .iter()
        .map(|error| ConfigError {
            place: place.to_owned(),
            line: error.span().map(|span| lines.line(span.start)),
            path: String::new(),
            problem: format!("not TOML: {}", error.message().lines().next().unwrap_or("syntax error")),
            hint: None,
        })
        .collect())
}

fn from_table(table: &DeTable<'_>, lines: &Lines) -> Table {
    table
        .iter()
        .map(|(key, value)| (key.get_ref().to_string(), from_value(value.get_ref(), lines, key.span().start)))
        .collect()
}

fn from_value(value: &DeValue<'_>, lines: &Lines, at: usize) -> Node {
    let value = match value {
        DeValue::String(text) => Value::Text { text: text.to_string(), soft: false },
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Whole(number),
            Err(_) => Value::Odd("a number that is too large"),
        },
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Array(items) => {
            Value::List(items.iter().map(|item| from_value(item.get_ref(), lines, item.span().start)).collect())
        }
        DeValue::Table(table) => Value::Table(from_table(table, lines)),
        DeValue::Float(_) => Value::Odd("a number with a fraction"),
        DeValue::Datetime(_) => Value::Odd("a date"),
    };
    Node { value, origin: Origin::Line(lines.line(at)) }
}

struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    fn line(&self, at: usize) -> usize {
        self.0.partition_point(|&end| end < at) + 1
    }
}
