//! One pipeline of a Go template as a Jinja expression, or nothing where the text is no Go: then it is taken for Jinja.

use super::VARIABLE;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// Written as Jinja would.
    Value(String),
    /// A function, or a name in Jinja's notation.
    Word(String),
    Open,
    /// With the fields that follow it.
    Close(String),
    Pipe,
}

/// Deeper than anybody writes, and far from what a stack holds.
const DEEPEST: usize = 32;

pub(super) fn expression(text: &str, dot: Option<&str>) -> Option<String> {
    if text.matches('(').count() > DEEPEST {
        return None;
    }
    let mut tokens = tokens(text, dot)?;
    tokens.reverse();
    let value = pipeline(&mut tokens)?;
    tokens.is_empty().then_some(value)
}

fn tokens(text: &str, dot: Option<&str>) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let (token, used) = match c {
            '(' => (Token::Open, 1),
            ')' => {
                let path = fields(&rest[1..]);
                (Token::Close(path.to_owned()), 1 + path.len())
            }
            '|' => (Token::Pipe, 1),
            '"' | '\'' | '`' => quoted(rest, c)?,
            '.' => {
                let path = fields(rest);
                let value = match (dot, path) {
                    (Some(dot), "") => dot.to_owned(),
                    (Some(dot), path) => format!("{dot}{path}"),
                    (None, "") => return None,
                    (None, path) => path[1..].to_owned(),
                };
                (Token::Value(value), path.len().max(1))
            }
            '$' => {
                let name = leading_name(&rest[1..]);
                let path = fields(&rest[1 + name.len()..]);
                let value = match (name, path) {
                    ("", "") => return None,
                    ("", path) => path[1..].to_owned(),
                    (name, path) => format!("{VARIABLE}{name}{path}"),
                };
                (Token::Value(value), 1 + name.len() + path.len())
            }
            '-' | '0'..='9' => {
                let used = rest[1..].find(|c: char| !c.is_ascii_digit() && c != '.').map_or(rest.len(), |at| at + 1);
                rest[..used].parse::<f64>().ok()?;
                (Token::Value(rest[..used].to_owned()), used)
            }
            c if c.is_alphabetic() || c == '_' => {
                let name = leading_name(rest);
                let path = fields(&rest[name.len()..]);
                (Token::Word(format!("{name}{path}")), name.len() + path.len())
            }
            _ => return None,
        };
        rest = &rest[used..];
        // `join(` is a call of Jinja's; words of Go have a space between them.
        let ends = rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || matches!(c, ')' | '|'));
        if !ends && token != Token::Open && token != Token::Pipe {
            return None;
        }
        tokens.push(token);
        rest = rest.trim_start();
    }
    (!tokens.is_empty()).then_some(tokens)
}

fn leading_name(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())]
}

/// `.a.b` at the beginning of a text.
fn fields(text: &str) -> &str {
    let mut length = 0;
    while let Some(after) = text[length..].strip_prefix('.') {
        let name = leading_name(after);
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            break;
        }
        length += 1 + name.len();
    }
    &text[..length]
}

fn quoted(text: &str, mark: char) -> Option<(Token, usize)> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' && mark != '`' {
            escaped = true;
        } else if c == mark {
            let whole = &text[..=at];
            let literal = match mark {
                '`' => format!("\"{}\"", text[1..at].replace('\\', "\\\\").replace('"', "\\\"")),
                _ => whole.to_owned(),
            };
            return Some((Token::Value(literal), whole.len()));
        }
    }
    None
}

/// Takes tokens from the end of the reversed list.
fn pipeline(tokens: &mut Vec<Token>) -> Option<String> {
    let mut value = command(tokens, None)?;
    while tokens.last() == Some(&Token::Pipe) {
        tokens.pop();
        value = command(tokens, Some(value))?;
    }
    Some(value)
}

fn command(tokens: &mut Vec<Token>, piped: Option<String>) -> Option<String> {
    let function = match tokens.last()? {
        Token::Word(word) if is_function(word) || piped.is_some() => Some(word.clone()),
        _ => None,
    };
    if function.is_some() {
        tokens.pop();
    }
    let mut operands = Vec::new();
    while let Some(token) = tokens.pop() {
        operands.push(match token {
            Token::Value(value) => value,
            Token::Word(word) => match word.as_str() {
                "nil" => "none".to_owned(),
                // Jinja's words between values.
                "and" | "or" | "not" | "in" | "is" | "if" | "else" => return None,
                _ => word,
            },
            Token::Open => {
                let inner = pipeline(tokens)?;
                let Some(Token::Close(path)) = tokens.pop() else { return None };
                format!("({inner}){path}")
            }
            token @ (Token::Pipe | Token::Close(_)) => {
                tokens.push(token);
                break;
            }
        });
    }
    operands.extend(piped);
    match function {
        Some(name) => call(&name, &operands),
        None => match operands.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        },
    }
}

const FUNCTIONS: [&str; 20] = [
    "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "len", "index", "default", "print", "printf", "join",
    "coalesce", "upper", "lower", "trim", "title",
];

fn is_function(word: &str) -> bool {
    FUNCTIONS.contains(&word)
}

fn call(name: &str, operands: &[String]) -> Option<String> {
    let compare = |sign: &str| match operands {
        [one, other] => Some(format!("({one} {sign} {other})")),
        _ => None,
    };
    let joined = |word: &str| (operands.len() > 1).then(|| format!("({})", operands.join(word)));
    match (name, operands) {
        // Equal to any of the others.
        ("eq", [one, others @ ..]) if !others.is_empty() => {
            let each: Vec<_> = others.iter().map(|other| format!("{one} == {other}")).collect();
            Some(format!("({})", each.join(" or ")))
        }
        ("ne", _) => compare("!="),
        ("lt", _) => compare("<"),
        ("le", _) => compare("<="),
        ("gt", _) => compare(">"),
        ("ge", _) => compare(">="),
        ("and", _) => joined(" and "),
        ("or" | "coalesce", _) => joined(" or "),
        ("not", [one]) => Some(format!("(not {one})")),
        ("len", [one]) => Some(format!("({one}|length)")),
        ("index", [one, keys @ ..]) if !keys.is_empty() => {
            Some(format!("({one}){}", keys.iter().map(|key| format!("[{key}]")).collect::<String>()))
        }
        ("default", [other, value]) => Some(format!("({value}|default({other}, true))")),
        ("join", [separator, list]) => Some(format!("({list}|join({separator}))")),
        ("upper" | "lower" | "trim" | "title", [one]) => Some(format!("({one}|{name})")),
        ("print", [_, ..]) => Some(format!("({})", operands.join(" ~ "))),
        ("printf", [_, ..]) => Some(format!("_printf({})", operands.join(", "))),
        // A filter of Jinja's, or what Jinja will complain about.
        (name, [one]) if !is_function(name) => Some(format!("({one}|{name})")),
        _ => None,
    }
}
