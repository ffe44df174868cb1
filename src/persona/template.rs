//! Fills an `initial_prompt` in. Templates are the persona's; values are data from outside and are never rendered again.

mod functions;
mod go;

use std::{
    io::{self, Write},
    ops::Range,
};

use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value, value::Serde};
use serde_json::{Map, Number, Value as Json};

/// Enough for a long prompt with a loop in it, far from enough to keep a core busy.
const FUEL: u64 = 50_000;
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// Sorted by who can mend it: whoever gave the context, or the persona's author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("the context has no `{name}`, which initial_prompt needs; {}", listed(.there))]
    Missing {
        name: String,
        /// What the context has.
        there: Vec<String>,
    },
    #[error("initial_prompt can't be rendered, line {line}: {message}")]
    Broken { line: usize, message: String },
}

fn listed(there: &[String]) -> String {
    if there.is_empty() { "it is empty".to_owned() } else { format!("it has {}", there.join(", ")) }
}

/// Renders a Go template or Jinja, or both in one. A missing value is an error, but a condition may ask for it.
pub fn render(template: &str, context: &Map<String, Json>) -> Result<String, TemplateError> {
    let source = translated(template)?;
    let environment = environment();
    let template = environment.template_from_str(&source).map_err(|error| broken(&error))?;
    let mut out = Bounded(Vec::new());
    match template.render_captured_to(Value::from(Serde(context)), &mut out) {
        Ok(_) => Ok(String::from_utf8_lossy(&out.0).into_owned()),
        Err(error) if error.kind() == ErrorKind::UndefinedError => {
            let at = error.range().and_then(|range| whole_name(&source, range)).map(go::as_written);
            let name = at.filter(|name| !name.is_empty()).unwrap_or_else(|| "value".to_owned());
            Err(TemplateError::Missing { name, there: context.keys().cloned().collect() })
        }
        Err(error) => Err(broken(&error)),
    }
}

/// Of a long path only the end may be marked.
fn whole_name(source: &str, range: Range<usize>) -> Option<&str> {
    let before = source.get(..range.start)?;
    let name = before.trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'));
    source.get(name.len()..range.end)
}

/// Whether it could be rendered, given all its values.
pub(super) fn check(template: &str) -> Result<(), TemplateError> {
    environment().template_from_str(&translated(template)?).map(drop).map_err(|error| broken(&error))
}

fn translated(template: &str) -> Result<String, TemplateError> {
    go::translate(&unescape(template))
        .map_err(|go::Untranslatable { line, message }| TemplateError::Broken { line, message })
}

fn environment<'a>() -> Environment<'a> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    functions::add(&mut environment);
    environment.set_formatter(|out, state, value| match as_json_writes(value) {
        Some(number) => out.write_str(&number).map_err(minijinja::Error::from),
        None => minijinja::escape_formatter(out, state, value),
    });
    environment.set_fuel(Some(FUEL));
    // Errors then know the expression they are about.
    environment.set_debug(true);
    environment
}

/// A number with a fraction or an exponent.
fn as_json_writes(value: &Value) -> Option<String> {
    let is_number = value.kind() == minijinja::value::ValueKind::Number && !value.is_integer();
    let number = is_number.then(|| f64::try_from(value.clone()).ok()).flatten()?;
    Number::from_f64(number).map(|number| number.to_string())
}

fn broken(error: &minijinja::Error) -> TemplateError {
    let message = match error.kind() {
        ErrorKind::WriteFailure => "the text becomes too long".to_owned(),
        ErrorKind::OutOfFuel => "it takes too many steps".to_owned(),
        kind => error.detail().map_or_else(|| kind.to_string(), str::to_owned),
    };
    TemplateError::Broken { line: error.line().unwrap_or(1), message }
}

/// Pages that are templates themselves print braces as `{{ '{{' }}` and `{{ '}}' }}`; copied from there, they are braces.
fn unescape(template: &str) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find("{{") {
        out.push_str(&rest[..at]);
        let (braces, used) = printed_braces(&rest[at..]).unwrap_or(("{{", 2));
        out.push_str(braces);
        rest = &rest[at + used..];
    }
    out + rest
}

fn printed_braces(text: &str) -> Option<(&'static str, usize)> {
    let inner = text.strip_prefix("{{")?.trim_start();
    [("{{", "'{{'"), ("{{", "\"{{\""), ("}}", "'}}'"), ("}}", "\"}}\"")].into_iter().find_map(|(braces, quoted)| {
        let rest = inner.strip_prefix(quoted)?.trim_start().strip_prefix("}}")?;
        Some((braces, text.len() - rest.len()))
    })
}

/// Stops a template whose text grows without end.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT_BYTES {
            return Err(io::Error::other("too long"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
