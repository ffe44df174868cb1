//! A value together with the way to it, so that what is wrong with it can be told with its place.

use serde_yaml::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Item(usize),
}

/// Whether a mistake is in a key or in what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    Key,
    Value,
}

#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    pub value: &'a Value,
    pub path: Vec<Step>,
}

impl<'a> Node<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self { value, path: Vec::new() }
    }

    fn step(&self, value: &'a Value, step: Step) -> Self {
        let mut path = self.path.clone();
        path.push(step);
        Self { value, path }
    }

    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.as_mapping()?.get(key)?;
        Some(self.step(value, Step::Key(key.to_owned())))
    }

    /// The keys that are texts, each with what it holds.
    pub(super) fn entries(&self) -> Vec<(&'a str, Self)> {
        let entries = self.value.as_mapping().into_iter().flatten();
        let texts = entries.filter_map(|(key, value)| Some((key.as_str()?, value)));
        texts.map(|(key, value)| (key, self.step(value, Step::Key(key.to_owned())))).collect()
    }

    /// Nothing if it is no list.
    pub(super) fn items(&self) -> Vec<Self> {
        let items = self.value.as_sequence().into_iter().flatten().enumerate();
        items.map(|(index, value)| self.step(value, Step::Item(index))).collect()
    }

    pub(super) fn list(&self, key: &str) -> Vec<Self> {
        self.get(key).map(|node| node.items()).unwrap_or_default()
    }

    pub(super) fn text(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    pub(super) fn text_of(&self, key: &str) -> Option<(&'a str, Self)> {
        let node = self.get(key)?;
        Some((node.text()?, node))
    }
}

/// `say[1].person`
pub(super) fn spell(path: &[Step]) -> String {
    let mut told = String::new();
    for step in path {
        match step {
            Step::Key(key) if told.is_empty() => told.push_str(key),
            Step::Key(key) => told.push_str(&format!(".{key}")),
            Step::Item(index) => told.push_str(&format!("[{index}]")),
        }
    }
    told
}
