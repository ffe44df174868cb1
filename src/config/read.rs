//! Takes typed values out of a table of the tree and notes every mistake on the way, so that one start shows all of them.
//! The keys that were asked for are the known ones; whatever is left when a table is closed is unknown.

use std::{
    cell::RefCell,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    duration,
    error::ConfigError,
    tree::{Node, Origin, Table, Value},
    unknown,
};

/// What all tables of one configuration share.
#[derive(Debug)]
pub(super) struct Reading {
    /// The configuration file as the operator named it.
    pub(super) place: String,
    /// Relative paths start here.
    pub(super) base: PathBuf,
    pub(super) errors: RefCell<Vec<ConfigError>>,
}

impl Reading {
    pub(super) fn report(&self, origin: &Origin, path: &str, problem: impl Into<String>, hint: Option<String>) {
        let (place, line) = match origin {
            Origin::Default => (self.place.clone(), None),
            Origin::Line(line) => (self.place.clone(), Some(*line)),
            Origin::Variable(name) => (name.clone(), None),
        };
        self.errors.borrow_mut().push(ConfigError {
            place,
            line,
            path: path.to_owned(),
            problem: problem.into(),
            hint,
        });
    }

    pub(super) fn resolve(&self, path: impl AsRef<Path>) -> PathBuf {
        self.base.join(path)
    }
}

/// Words of which a key takes one.
pub(super) trait Choice: Copy + PartialEq + 'static {
    const WORDS: &'static [(&'static str, Self)];

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

/// One table, while it is being read.
#[derive(Debug)]
pub(super) struct Section<'r> {
    pub(super) reading: &'r Reading,
    path: String,
    origin: Origin,
    table: Table,
    /// The known keys so far, with where they are written.
    asked: Vec<(String, Option<Origin>)>,
}

impl<'r> Section<'r> {
    pub(super) fn root(reading: &'r Reading, table: Table) -> Self {
        Self { reading, path: String::new(), origin: Origin::Default, table, asked: Vec::new() }
    }

    /// The end of reading this table: what nobody asked for is unknown.
    pub(super) fn close(self) {
        for (key, node) in &self.table {
            let hint = unknown::did_you_mean(key, self.asked.iter().map(|(key, _)| key.as_str()));
            self.reading.report(&node.origin, &self.at(key), "unknown key", hint);
        }
    }

    /// Gives up on the table: after a mistake that leaves open which keys are right.
    pub(super) fn abandon(mut self) {
        self.table.clear();
    }

    pub(super) fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// A mistake that was found after the key was read, or that is the lack of it.
    pub(super) fn wrong(&self, key: &str, problem: impl Into<String>) {
        self.wrong_with(key, problem, None);
    }

    pub(super) fn wrong_with(&self, key: &str, problem: impl Into<String>, hint: Option<String>) {
        let first = key.split('[').next().unwrap_or(key);
        let written = self.asked.iter().rfind(|(asked, _)| asked == first).and_then(|(_, origin)| origin.as_ref());
        self.reading.report(written.unwrap_or(&self.origin), &self.at(key), problem, hint);
    }

    /// The key's value, unless it isn't set.
    pub(super) fn take(&mut self, key: &str) -> Option<Node> {
        let node = self.table.remove(key);
        self.asked.push((key.to_owned(), node.as_ref().map(|node| node.origin.clone())));
        node.filter(|node| !node.is_unset() && node.value != Value::Spoilt)
    }

    pub(super) fn is_written(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|node| !node.is_unset())
    }

    pub(super) fn bad(&self, key: &str, node: &Node, expected: &str) {
        self.bad_with(key, node, expected, None);
    }

    pub(super) fn bad_with(&self, key: &str, node: &Node, expected: &str, hint: Option<String>) {
        let got = match &node.value {
            // A user name and password in an address are nobody's business.
            Value::Text { text, .. } if text.contains('@') && text.contains("://") => "another text".to_owned(),
            Value::Text { text, .. } => format!("{text:?}"),
            Value::Whole(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            _ => node.kind().to_owned(),
        };
        self.reading.report(&node.origin, &self.at(key), format!("expected {expected}, got {got}"), hint);
    }

    /// A text that `parse` understands; `expected` says what that would be.
    pub(super) fn parsed<T>(&mut self, key: &str, expected: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let node = self.take(key)?;
        let parsed = match &node.value {
            Value::Text { text, .. } => parse(text),
            _ => None,
        };
        if parsed.is_none() {
            self.bad(key, &node, expected);
        }
        parsed
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        self.parsed(key, "a text", |text| Some(text.to_owned()))
    }

    pub(super) fn flag(&mut self, key: &str, default: bool) -> bool {
        let Some(node) = self.take(key) else { return default };
        match &node.value {
            Value::Flag(flag) => return *flag,
            Value::Text { text, soft: true } if text == "true" => return true,
            Value::Text { text, soft: true } if text == "false" => return false,
            _ => self.bad(key, &node, "true or false"),
        }
        default
    }

    pub(super) fn count(&mut self, key: &str, default: usize, range: RangeInclusive<usize>) -> usize {
        let Some(node) = self.take(key) else { return default };
        let number = match &node.value {
            Value::Whole(number) => usize::try_from(*number).ok(),
            Value::Text { text, soft: true } => text.trim().parse().ok(),
            _ => None,
        };
        if let Some(number) = number.filter(|number| range.contains(number)) {
            return number;
        }
        self.bad(key, &node, &format!("a whole number from {} to {}", range.start(), range.end()));
        default
    }

    pub(super) fn duration(&mut self, key: &str, default: Duration, range: RangeInclusive<Duration>) -> Duration {
        let show = |duration: &Duration| humantime::format_duration(*duration).to_string();
        let expected = format!("a duration from \"{}\" to \"{}\"", show(range.start()), show(range.end()));
        self.parsed(key, &expected, |text| duration::parse(text).filter(|duration| range.contains(duration)))
            .unwrap_or(default)
    }

    pub(super) fn choice<T: Choice>(&mut self, key: &str, default: T) -> T {
        let Some(node) = self.take(key) else { return default };
        if let Value::Text { text, .. } = &node.value
            && let Some((_, value)) = T::WORDS.iter().find(|(word, _)| word == text)
        {
            return *value;
        }
        self.not_a_choice::<T>(key, &node);
        default
    }

    pub(super) fn not_a_choice<T: Choice>(&self, key: &str, node: &Node) {
        let words: Vec<String> = T::WORDS.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        let expected = match words.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => words.concat(),
        };
        let hint = match &node.value {
            Value::Text { text, .. } => unknown::did_you_mean(text, T::WORDS.iter().map(|(word, _)| *word)),
            _ => None,
        };
        self.bad_with(key, node, &expected, hint);
    }

    /// A list of texts, each with its own path for complaints. Entries that are empty are as if not written. From the
    /// environment it may be written with commas.
    pub(super) fn list(&mut self, key: &str) -> Option<Vec<(String, Node)>> {
        let node = self.take(key)?;
        let items = match node.value {
            Value::List(items) => items,
            Value::Text { text, soft: true } => {
                text.split(',').map(|item| Node::text(item.trim(), node.origin.clone())).collect()
            }
            _ => {
                self.bad(key, &node, "a list of texts");
                return None;
            }
        };
        let numbered = items.into_iter().enumerate().map(|(index, item)| (format!("{key}[{index}]"), item));
        Some(numbered.filter(|(_, item)| !item.is_unset() && item.value != Value::Spoilt).collect())
    }

    pub(super) fn texts(&mut self, key: &str) -> Option<Vec<String>> {
        let mut texts = Vec::new();
        for (at, node) in self.list(key)? {
            match &node.value {
                Value::Text { text, .. } => texts.push(text.clone()),
                _ => self.bad(&at, &node, "a text in quotes"),
            }
        }
        Some(texts)
    }

    pub(super) fn paths(&mut self, key: &str) -> Option<Vec<PathBuf>> {
        let texts = self.texts(key)?;
        Some(texts.into_iter().map(|text| self.reading.resolve(text)).collect())
    }

    pub(super) fn path(&mut self, key: &str) -> Option<PathBuf> {
        let text = self.text(key)?;
        Some(self.reading.resolve(text))
    }

    pub(super) fn url(&mut self, key: &str) -> Option<url::Url> {
        self.parsed(key, "an address that begins with http:// or https://", |text| {
            url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        })
    }

    /// A table below this one; one that isn't written is read as an empty one.
    pub(super) fn section<T>(&mut self, key: &str, read: impl FnOnce(&mut Section<'r>) -> T) -> T {
        let node = self.take(key).unwrap_or_else(|| Node::table(Table::new(), self.origin.clone()));
        let (table, origin) = match node.value {
            Value::Table(table) => (table, node.origin),
            _ => {
                self.bad(key, &node, "a table");
                (Table::new(), node.origin)
            }
        };
        let mut section = self.below(self.at(key), table, origin);
        let value = read(&mut section);
        section.close();
        value
    }

    /// A list of tables, or `None` if it isn't written. Each reader closes its own table.
    pub(super) fn sections<T>(&mut self, key: &str, read: impl Fn(Section<'r>) -> Option<T>) -> Option<Vec<T>> {
        let node = self.take(key)?;
        let Value::List(items) = node.value else {
            self.bad(key, &node, &format!("a list of tables, each under [[{}]]", self.at(key)));
            return None;
        };
        let mut values = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            let at = format!("{key}[{index}]");
            match item.value {
                Value::Table(table) => values.extend(read(self.below(self.at(&at), table, item.origin))),
                _ => self.bad(&at, &item, "a table"),
            }
        }
        Some(values)
    }

    /// The names of a table that the operator names the keys of.
    pub(super) fn names(&self) -> Vec<String> {
        self.table.keys().cloned().collect()
    }

    fn below(&self, path: String, table: Table, origin: Origin) -> Section<'r> {
        Section { reading: self.reading, path, origin, table, asked: Vec::new() }
    }
}
