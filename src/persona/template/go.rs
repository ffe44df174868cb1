//! Turns a Go template into the Jinja that is rendered. What isn't Go passes as it is, but for the dot before a name, so that
//! both notations can stand in one text.

mod expression;

use expression::expression;

/// What Go has and we don't.
const UNSUPPORTED: [&str; 5] = ["define", "template", "block", "break", "continue"];

/// Those that need a name behind them; alone, they are one.
const NAMED: [&str; 3] = ["define", "template", "block"];

/// Where in the template, and what is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Untranslatable {
    pub line: usize,
    pub message: String,
}

/// The name of the dot of a nested `range` or `with`.
pub(super) const DOT: &str = "_dot";
/// The beginning of the names of `$variables`.
pub(super) const VARIABLE: &str = "_var_";

pub(super) fn translate(template: &str) -> Result<String, Untranslatable> {
    let mut translation = Translation { out: String::with_capacity(template.len()), open: Vec::new(), opened: 0 };
    let mut rest = template;
    while let Some((at, kind)) = next_tag(rest) {
        translation.out.push_str(&rest[..at]);
        let tag = &rest[at..];
        let wrong = |message: String| {
            let before = template.len() - tag.len();
            Untranslatable { line: template[..before].matches('\n').count() + 1, message }
        };
        let Some(end) = end_of_tag(tag, kind) else {
            translation.out.push_str(tag);
            rest = "";
            break;
        };
        let (tag, after) = tag.split_at(end);
        match kind {
            Kind::Comment => translation.out.push_str(tag),
            Kind::Block => translation.out.push_str(&without_dots(tag, "")),
            Kind::Action => translation.action(tag).map_err(wrong)?,
        }
        rest = after;
    }
    translation.out.push_str(rest);
    match translation.open.last() {
        None => Ok(translation.out),
        Some(frame) => {
            let message = format!("`{}` has no `end`", frame.kind.word());
            Err(Untranslatable { line: template.lines().count().max(1), message })
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Action,
    Block,
    Comment,
}

fn next_tag(text: &str) -> Option<(usize, Kind)> {
    text.match_indices('{').find_map(|(at, _)| match text.as_bytes().get(at + 1) {
        Some(b'{') => Some((at, Kind::Action)),
        Some(b'%') => Some((at, Kind::Block)),
        Some(b'#') => Some((at, Kind::Comment)),
        _ => None,
    })
}

/// Behind the closing mark, which a quoted text may hold without closing anything.
fn end_of_tag(tag: &str, kind: Kind) -> Option<usize> {
    if kind == Kind::Comment {
        return tag.find("#}").map(|at| at + 2);
    }
    if let Some(comment) = comment_of(tag) {
        return Some(comment);
    }
    let close = if kind == Kind::Action { "}}" } else { "%}" };
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in tag.char_indices().skip(2) {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(mark) if c == '\\' && mark != '`' => escaped = true,
            Some(mark) if c == mark => quote = None,
            Some(_) => {}
            None if tag[at..].starts_with(close) => return Some(at + 2),
            None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
            None => {}
        }
    }
    None
}

/// Go's `{{/* … */}}`, in which an apostrophe opens nothing.
fn comment_of(tag: &str) -> Option<usize> {
    let inner = tag.strip_prefix("{{")?;
    let inner = inner.strip_prefix('-').unwrap_or(inner).trim_start();
    let rest = inner.strip_prefix("/*")?;
    let rest = &rest[rest.find("*/")? + 2..];
    let end = rest.find("}}")?;
    Some(tag.len() - rest.len() + end + 2)
}

struct Translation {
    out: String,
    open: Vec<Frame>,
    /// Names must differ, since they nest.
    opened: usize,
}

struct Frame {
    kind: FrameKind,
    number: usize,
    /// Behind `else` the dot is again what it was outside.
    is_else: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FrameKind {
    If,
    Range,
    With,
}

impl FrameKind {
    fn word(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::Range => "range",
            Self::With => "with",
        }
    }
}

impl Translation {
    /// What `.` is here; nothing at the root, whose values are names.
    fn dot(&self) -> Option<String> {
        let inner = self.open.iter().rfind(|frame| frame.kind != FrameKind::If && !frame.is_else)?;
        Some(format!("{DOT}{}", inner.number))
    }

    fn action(&mut self, tag: &str) -> Result<(), String> {
        let inner = &tag[2..tag.len() - 2];
        let (left, inner) = inner.strip_prefix('-').map_or(("", inner), |inner| ("-", inner));
        let (right, inner) = inner.strip_suffix('-').map_or(("", inner), |inner| ("-", inner));
        let body = inner.trim();
        let (word, rest) = body.split_once(char::is_whitespace).map_or((body, ""), |(word, rest)| (word, rest.trim()));
        match (word, rest) {
            _ if body.starts_with("/*") => self.out.push_str(&format!("{{#{left} {right}#}}")),
            ("if", condition) if !condition.is_empty() => {
                let condition = self.value(condition);
                self.out.push_str(&format!("{{%{left} if {condition} {right}%}}"));
                self.enter(FrameKind::If);
            }
            ("range", list) if !list.is_empty() => self.range(list, left, right)?,
            ("with", value) if !value.is_empty() => self.with(value, left, right)?,
            ("else", rest) => self.otherwise(rest, left, right)?,
            ("end", "") if !self.open.is_empty() => self.end(left, right),
            _ if UNSUPPORTED.contains(&word)
                && (rest.starts_with('"') || rest.is_empty() && !NAMED.contains(&word)) =>
            {
                return Err(format!("`{word}` of Go templates is not supported here"));
            }
            _ if word.starts_with('$') && (rest.starts_with(":=") || rest.starts_with("= ")) => {
                let name = variable(word).ok_or_else(|| format!("`{word}` is no name of a variable"))?;
                let value = self.value(rest.trim_start_matches([':', '=']).trim());
                self.out.push_str(&format!("{{%{left} set {name} = {value} {right}%}}"));
            }
            _ => {
                // Jinja's own marks and spaces stay where it is not Go.
                let value = expression(body, self.dot().as_deref());
                match value {
                    Some(value) => self.out.push_str(&format!("{{{{{left} {value} {right}}}}}")),
                    None => self.out.push_str(&without_dots(tag, &self.prefix())),
                }
            }
        }
        Ok(())
    }

    /// An expression inside of a tag.
    fn value(&self, text: &str) -> String {
        expression(text, self.dot().as_deref()).unwrap_or_else(|| without_dots(text, &self.prefix()))
    }

    fn prefix(&self) -> String {
        self.dot().map(|dot| format!("{dot}.")).unwrap_or_default()
    }

    fn enter(&mut self, kind: FrameKind) -> usize {
        self.opened += 1;
        self.open.push(Frame { kind, number: self.opened, is_else: false });
        self.opened
    }

    fn range(&mut self, list: &str, left: &str, right: &str) -> Result<(), String> {
        let (names, list) = match list.split_once(":=") {
            Some((names, list)) if names.trim_start().starts_with('$') => (names, list.trim()),
            _ => ("", list),
        };
        let wrong = || format!("`range {}` names no variables", names.trim());
        let names: Vec<_> = names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let names: Vec<_> = names.iter().map(|name| variable(name)).collect::<Option<_>>().ok_or_else(wrong)?;
        let list = self.value(list);
        let number = self.enter(FrameKind::Range);
        let (key, item) = match names.as_slice() {
            [] => (format!("_key{number}"), None),
            [item] => (format!("_key{number}"), Some(item)),
            [key, item] => (key.clone(), Some(item)),
            _ => return Err(wrong()),
        };
        let inner = if item.is_some() { "" } else { right };
        self.out.push_str(&format!("{{%{left} for {key}, {DOT}{number} in _pairs({list}) {inner}%}}"));
        if let Some(item) = item {
            self.out.push_str(&format!("{{% set {item} = {DOT}{number} {right}%}}"));
        }
        Ok(())
    }

    fn with(&mut self, value: &str, left: &str, right: &str) -> Result<(), String> {
        let (name, value) = match value.split_once(":=") {
            Some((name, value)) if name.trim_start().starts_with('$') => (Some(name.trim()), value.trim()),
            _ => (None, value),
        };
        let value = self.value(value);
        let number = self.enter(FrameKind::With);
        let named = match name {
            Some(name) => {
                let name = variable(name).ok_or_else(|| format!("`{name}` is no name of a variable"))?;
                format!(", {name} = {value}")
            }
            None => String::new(),
        };
        self.out.push_str(&format!("{{%{left} with {DOT}{number} = {value}{named} %}}{{% if {DOT}{number} {right}%}}"));
        Ok(())
    }

    fn otherwise(&mut self, rest: &str, left: &str, right: &str) -> Result<(), String> {
        let Some(frame) = self.open.last_mut() else { return Err("`else` belongs to no `if`".to_owned()) };
        match rest.strip_prefix("if").filter(|rest| rest.starts_with(char::is_whitespace)) {
            Some(condition) if frame.kind == FrameKind::If => {
                let condition = self.value(condition.trim());
                self.out.push_str(&format!("{{%{left} elif {condition} {right}%}}"));
            }
            None if rest.is_empty() => {
                frame.is_else = true;
                self.out.push_str(&format!("{{%{left} else {right}%}}"));
            }
            _ => return Err(format!("`else {rest}` belongs to no `if`")),
        }
        Ok(())
    }

    fn end(&mut self, left: &str, right: &str) {
        let tags = match self.open.pop().map(|frame| frame.kind) {
            Some(FrameKind::Range) => format!("{{%{left} endfor {right}%}}"),
            Some(FrameKind::With) => format!("{{%{left} endif %}}{{% endwith {right}%}}"),
            Some(FrameKind::If) | None => format!("{{%{left} endif {right}%}}"),
        };
        self.out.push_str(&tags);
    }
}

/// A name in what [`translate`] made, as its author wrote it.
pub(super) fn as_written(name: &str) -> String {
    let name = name.trim();
    if let Some(variable) = name.strip_prefix(VARIABLE) {
        return format!("${variable}");
    }
    match name.strip_prefix(DOT) {
        Some(numbered) => numbered.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches('.').to_owned(),
        None => name.to_owned(),
    }
}

/// `$x` as Jinja names it.
fn variable(name: &str) -> Option<String> {
    let plain = name.strip_prefix('$')?;
    let is_name = !plain.is_empty() && plain.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then(|| format!("{VARIABLE}{plain}"))
}

/// Replaces the dot with which Go begins a value, outside of texts.
fn without_dots(tag: &str, prefix: &str) -> String {
    let mut out = String::with_capacity(tag.len());
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in tag.char_indices() {
        match quote {
            Some(end) => {
                if c == end && before != '\\' {
                    quote = None;
                }
                before = if before == '\\' { ' ' } else { c };
                out.push(c);
            }
            None => {
                if matches!(c, '\'' | '"') {
                    quote = Some(c);
                }
                let begins_value = c == '.'
                    && !(before.is_alphanumeric() || matches!(before, '_' | ')' | ']' | '\'' | '"' | '.'))
                    && tag[at + 1..].starts_with(|next: char| next.is_alphabetic() || next == '_');
                if begins_value {
                    out.push_str(prefix);
                } else {
                    out.push(c);
                }
                before = if quote.is_some() { ' ' } else { c };
            }
        }
    }
    out
}
