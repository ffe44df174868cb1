//! What templates of Go can call that Jinja doesn't have.

use minijinja::{
    Environment, Error, ErrorKind, Value,
    value::{Rest, ValueKind},
};

pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_function("_pairs", pairs);
    environment.add_function("_printf", printf);
}

/// What `range` goes over: index and item of a list, key and value of an object in the order of the keys, nothing where
/// there is nothing.
fn pairs(list: &Value) -> Result<Value, Error> {
    let pair = |key: Value, item: Value| Value::from(vec![key, item]);
    match list.kind() {
        ValueKind::Undefined | ValueKind::None => Ok(Value::from(Vec::<Value>::new())),
        ValueKind::Map => {
            let mut keys: Vec<Value> = list.try_iter()?.collect();
            keys.sort();
            keys.into_iter().map(|key| list.get_item(&key).map(|item| pair(key, item))).collect()
        }
        ValueKind::Seq | ValueKind::Iterable => {
            Ok(list.try_iter()?.enumerate().map(|(index, item)| pair(Value::from(index), item)).collect())
        }
        kind => Err(Error::new(ErrorKind::InvalidOperation, format!("range needs a list or an object, not a {kind}"))),
    }
}

/// `%s`, `%v`, `%d` as they are, `%q` in quotes, `%%`; widths and precisions mean nothing.
fn printf(format: &str, values: Rest<Value>) -> Result<String, Error> {
    let mut values = values.0.into_iter();
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let verb = chars.by_ref().find(|c| !c.is_ascii_digit() && !matches!(c, '.' | '+' | '-' | '#' | ' '));
        if verb == Some('%') {
            out.push('%');
            continue;
        }
        let Some(value) = values.next() else {
            return Err(Error::new(ErrorKind::MissingArgument, "printf has fewer values than verbs"));
        };
        if value.is_undefined() {
            return Err(Error::from(ErrorKind::UndefinedError));
        }
        let text = super::as_json_writes(&value).unwrap_or_else(|| value.to_string());
        match verb {
            Some('q') => out.push_str(&format!("{text:?}")),
            Some(_) => out.push_str(&text),
            None => return Err(Error::new(ErrorKind::InvalidOperation, "printf ends within a verb")),
        }
    }
    Ok(out)
}
