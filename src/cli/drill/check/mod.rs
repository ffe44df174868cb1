//! What is wrong with a scenario: all of it at once, each with file, line, column and, where one is near, the word that
//! was meant. What passes here can be read and played; whether it is won is not judged.

mod cast;
mod near;
mod node;
mod place;
mod rules;
mod shape;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_yaml::Value;

use self::node::{At, Node, Step};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    path: Vec<Step>,
    at: At,
    text: String,
    hint: Option<String>,
}

/// Everything that is wrong, in the file's order.
#[derive(Debug, thiserror::Error)]
pub(super) struct Problems(Vec<String>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

/// `file` is what places begin with.
pub(super) fn check(file: &str, text: &str) -> Result<(), Problems> {
    let root: Value = serde_yaml::from_str(text).map_err(|error| Problems(vec![unreadable(file, &error)]))?;
    let mut problems = Vec::new();
    let root = Node::root(&root);
    shape::check(&root, &mut problems);
    cast::check(&root, &mut problems);
    rules::check(&root, &mut problems);
    let mut told: Vec<_> =
        problems.iter().map(|problem| (place::of(text, &problem.path, problem.at), problem)).collect();
    told.sort_by_key(|(place, _)| *place);
    let lines: Vec<_> = told.into_iter().map(|((line, column), it)| format!("{file}:{line}:{column}: {it}")).collect();
    if lines.is_empty() { Ok(()) } else { Err(Problems(lines)) }
}

/// What the reader itself can't take, with its place.
pub(super) fn unreadable(file: &str, error: &serde_yaml::Error) -> String {
    let Some(at) = error.location() else { return format!("{file}: {error}") };
    let (line, column) = (at.line(), at.column());
    let message = error.to_string().replacen(&format!(" at line {line} column {column}"), "", 1);
    format!("{file}:{line}:{column}: {message}")
}

impl Problem {
    fn new(node: &Node<'_>, text: impl Into<String>) -> Self {
        Self { path: node.path.clone(), at: At::Value, text: text.into(), hint: None }
    }

    /// About a key that shouldn't be there.
    fn of_key(node: &Node<'_>, key: &str, text: impl Into<String>) -> Self {
        let mut path = node.path.clone();
        path.push(Step::Key(key.to_owned()));
        Self { path, at: At::Key, text: text.into(), hint: None }
    }

    fn hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }

    /// With the one of `known` that was likely meant.
    fn meant<'a>(self, got: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let near = near::nearest(got, known);
        self.hint(near.map(|word| format!("did you mean {word:?}?")))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = node::spell(&self.path);
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        f.write_str(&self.text)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, " ({hint})"))
    }
}
