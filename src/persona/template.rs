//! Fills an `initial_prompt` in. Templates are the persona's; values are data from outside and are never rendered again.

use std::io::{self, Write};

use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value, value::Serde};
use serde_json::{Map, Value as Json};

/// Enough for a long prompt with a loop in it, far from enough to keep a core busy.
const FUEL: u64 = 50_000;
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// Sorted by who can mend it: whoever gave the context, or the persona's author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("the context has no `{0}`, which initial_prompt needs")]
    Missing(String),
    #[error("initial_prompt can't be rendered, line {line}: {message}")]
    Broken { line: usize, message: String },
}

/// Renders Jinja, and Go's `{{.name}}` and `{{ .a.b }}` for plain values. A missing value is an error.
pub fn render(template: &str, context: &Map<String, Json>) -> Result<String, TemplateError> {
    let source = translate(&unescape(template));
    let environment = environment();
    let template = environment.template_from_str(&source).map_err(|error| broken(&error))?;
    let mut out = Bounded(Vec::new());
    match template.render_captured_to(Value::from(Serde(context)), &mut out) {
        Ok(_) => Ok(String::from_utf8_lossy(&out.0).into_owned()),
        Err(error) if error.kind() == ErrorKind::UndefinedError => {
            let at = error.range().and_then(|range| source.get(range)).map(|text| text.trim().to_owned());
            Err(TemplateError::Missing(at.filter(|name| !name.is_empty()).unwrap_or_else(|| "value".to_owned())))
        }
        Err(error) => Err(broken(&error)),
    }
}

/// Whether it could be rendered, given all its values.
pub(super) fn check(template: &str) -> Result<(), TemplateError> {
    environment().template_from_str(&translate(&unescape(template))).map(drop).map_err(|error| broken(&error))
}

fn environment<'a>() -> Environment<'a> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    // Errors then know the expression they are about.
    environment.set_debug(true);
    environment
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

/// Drops the dot with which Go begins a value, inside of tags and outside of texts.
fn translate(template: &str) -> String {
    let mut out = String::with_capacity(template.len());
    let mut tag: Option<&str> = None;
    let mut quote: Option<char> = None;
    let mut before = ' ';
    let mut rest = template;
    while let Some(c) = rest.chars().next() {
        match (tag, quote) {
            (None, _) => {
                tag = [("{{", "}}"), ("{%", "%}"), ("{#", "#}")]
                    .into_iter()
                    .find(|(open, _)| rest.starts_with(open))
                    .map(|(open, close)| {
                        out.push_str(open);
                        rest = &rest[open.len()..];
                        before = ' ';
                        close
                    });
                if tag.is_some() {
                    continue;
                }
                out.push(c);
            }
            (Some(_), Some(end)) => {
                if c == end && before != '\\' {
                    quote = None;
                }
                before = if before == '\\' { ' ' } else { c };
                out.push(c);
            }
            (Some(close), None) => {
                if rest.starts_with(close) {
                    out.push_str(close);
                    rest = &rest[close.len()..];
                    tag = None;
                    continue;
                }
                if matches!(c, '\'' | '"') && close != "#}" {
                    quote = Some(c);
                }
                let begins_value = c == '.'
                    && !(before.is_alphanumeric() || matches!(before, '_' | ')' | ']' | '\'' | '"' | '.'))
                    && rest[1..].starts_with(|next: char| next.is_alphabetic() || next == '_');
                if !begins_value {
                    out.push(c);
                }
                before = if quote.is_some() { ' ' } else { c };
            }
        }
        rest = &rest[c.len_utf8()..];
    }
    out
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
