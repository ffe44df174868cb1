//! Arguments of a Bot API call, whichever way they came: query, form, JSON or multipart with files.

use std::collections::HashMap;

use axum::{
    extract::Query,
    http::{Uri, header},
};
use bytes::Bytes;
use serde_json::{Map, Value};

#[derive(Clone, Debug, Default)]
pub(crate) struct Args {
    pub(crate) fields: Map<String, Value>,
    pub(crate) files: HashMap<String, Upload>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Upload {
    pub(crate) name: String,
    pub(crate) mimetype: String,
    pub(crate) content: Bytes,
}

impl Args {
    /// Nothing if the body can't be read in the form that it claims.
    pub(crate) fn read(uri: &Uri, content_type: &str, body: &Bytes) -> Option<Self> {
        let mut args = Self::default();
        args.add(pairs(uri)?);
        let (kind, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
        match kind.trim().to_ascii_lowercase().as_str() {
            _ if body.is_empty() => {}
            "application/json" => match serde_json::from_slice(body).ok()? {
                Value::Object(fields) => args.fields.extend(fields),
                _ => return None,
            },
            "application/x-www-form-urlencoded" => {
                // Queries and forms are written alike.
                let form = std::str::from_utf8(body).ok()?;
                args.add(pairs(&format!("/?{form}").parse().ok()?)?);
            }
            "multipart/form-data" => {
                let boundary = parameter(parameters, "boundary")?;
                for part in parts(body, &boundary)? {
                    args.add_part(part)?;
                }
            }
            _ => return None,
        }
        Some(args)
    }

    fn add(&mut self, pairs: Vec<(String, String)>) {
        self.fields.extend(pairs.into_iter().map(|(key, value)| (key, Value::String(value))));
    }

    fn add_part(&mut self, (head, content): (String, Bytes)) -> Option<()> {
        let line = |name: &str| {
            head.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            })
        };
        let disposition = line(header::CONTENT_DISPOSITION.as_str())?;
        let name = parameter(&disposition, "name")?;
        match parameter(&disposition, "filename") {
            Some(file) => {
                let mimetype = line("content-type").unwrap_or_else(|| "application/octet-stream".to_owned());
                self.files.insert(name, Upload { name: file, mimetype, content });
            }
            None => {
                let value = String::from_utf8(content.to_vec()).ok()?;
                self.fields.insert(name, Value::String(value));
            }
        }
        Some(())
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key)?.as_str()
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        match self.fields.get(key) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => text.eq_ignore_ascii_case("true") || text == "1",
            _ => false,
        }
    }

    pub(crate) fn integer(&self, key: &str) -> Option<i64> {
        integer(self.fields.get(key)?)
    }

    /// A structured argument. Forms carry it as JSON in a string, and JSON bodies may do so as well.
    pub(crate) fn json(&self, key: &str) -> Option<Value> {
        match self.fields.get(key)? {
            Value::Null => None,
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(serde_json::from_str(text).unwrap_or(Value::String(text.clone()))),
            value => Some(value.clone()),
        }
    }
}

/// A number, written as such or in a string.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn pairs(uri: &Uri) -> Option<Vec<(String, String)>> {
    Some(Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?.0)
}

/// `name="value"` or `name=value` among parameters separated by semicolons.
fn parameter(parameters: &str, name: &str) -> Option<String> {
    let mut rest = parameters;
    while let Some(at) = rest.find('=') {
        let key = rest[..at].rsplit(';').next().unwrap_or_default().trim();
        let value = &rest[at + 1..];
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => value.split_once(';').unwrap_or((value, "")),
        };
        if key.eq_ignore_ascii_case(name) {
            return Some(value.trim().to_owned());
        }
        rest = after;
    }
    None
}

/// Head and content of each part.
fn parts(body: &Bytes, boundary: &str) -> Option<Vec<(String, Bytes)>> {
    let mark = format!("--{boundary}");
    let inner = format!("\r\n{mark}");
    let mut at = find(body, mark.as_bytes(), 0)? + mark.len();
    let mut parts = Vec::new();
    loop {
        if body.get(at..at + 2)? == b"--" {
            return Some(parts);
        }
        at += 2;
        let end_of_head = find(body, b"\r\n\r\n", at)?;
        let end = find(body, inner.as_bytes(), end_of_head + 4)?;
        let head = std::str::from_utf8(&body[at..end_of_head]).ok()?.to_owned();
        parts.push((head, body.slice(end_of_head + 4..end)));
        at = end + inner.len();
    }
}

fn find(body: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let first = *wanted.first()?;
    let mut at = from;
    loop {
        at += body.get(at..)?.iter().position(|&b| b == first)?;
        if body[at..].starts_with(wanted) {
            return Some(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_a_query_and_json_say_the_same() {
        let wanted = json!({"chat_id": "5", "text": "a b&c"});
        let query = Args::read(&"/m?chat_id=5&text=a%20b%26c".parse().unwrap(), "", &Bytes::new()).unwrap();
        let form = Bytes::from_static(b"chat_id=5&text=a+b%26c");
        let form = Args::read(&Uri::from_static("/m"), "application/x-www-form-urlencoded", &form).unwrap();
        let body = Bytes::from(wanted.to_string());
        let json = Args::read(&Uri::from_static("/m"), "application/json; charset=utf-8", &body).unwrap();
        assert_eq!(
            [query.fields, form.fields, json.fields].map(Value::Object),
            [wanted.clone(), wanted.clone(), wanted]
        );
    }

    #[test]
    fn a_multipart_body_carries_fields_and_files() {
        let body = "--B\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n5\r\n\
             --B\r\ncontent-disposition: form-data; name=\"document\"; filename=\"a=b; c.txt\"\r\nContent-Type: text/plain\r\n\
             \r\none\r\n--not\r\n\r\n--B--\r\n";
        let args = Args::read(&Uri::from_static("/m"), "multipart/form-data; boundary=\"B\"", &body.into()).unwrap();
        assert_eq!(Value::Object(args.fields), json!({"chat_id": "5"}));
        let content = Bytes::from_static(b"one\r\n--not\r\n");
        let upload = Upload { name: "a=b; c.txt".to_owned(), mimetype: "text/plain".to_owned(), content };
        assert_eq!(args.files, HashMap::from([("document".to_owned(), upload)]));
    }

    #[test]
    fn what_is_broken_is_not_read() {
        for (kind, body) in [
            ("application/json", "{"),
            ("application/json", "[]"),
            ("multipart/form-data", "x"),
            ("multipart/form-data; boundary=B", "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n5"),
            ("text/html", "x"),
        ] {
            assert!(Args::read(&Uri::from_static("/m"), kind, &body.into()).is_none(), "{kind} {body}");
        }
    }
}
