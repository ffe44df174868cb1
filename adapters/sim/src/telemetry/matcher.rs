//! Label matchers as Prometheus selectors and Alertmanager filters write them. Regular expressions are understood as
//! far as people write them for labels: alternatives, `.*` and `.+`; anything else is taken literally.

use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Matcher {
    name: String,
    op: Op,
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Equal,
    NotEqual,
    Like,
    Unlike,
}

impl Matcher {
    /// `name="value"`, with `=`, `!=`, `=~` or `!~`; the quotes may be missing.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let at = text.find(['=', '!'])?;
        let (name, rest) = text.split_at(at);
        let ops = [("=~", Op::Like), ("!~", Op::Unlike), ("!=", Op::NotEqual), ("=", Op::Equal)];
        let (op, value) = ops.into_iter().find_map(|(sign, op)| Some((op, rest.strip_prefix(sign)?.trim())))?;
        let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        let value = bare.unwrap_or(value);
        let name = name.trim();
        let fits = !name.is_empty() && !value.contains('"');
        fits.then(|| Self { name: name.to_owned(), op, value: value.replace("\\\\", "\\") })
    }

    pub(crate) fn accepts(&self, labels: &Map<String, Value>) -> bool {
        let label = labels.get(&self.name).and_then(Value::as_str).unwrap_or_default();
        match self.op {
            Op::Equal => label == self.value,
            Op::NotEqual => label != self.value,
            Op::Like => like(&self.value, label),
            Op::Unlike => !like(&self.value, label),
        }
    }
}

/// The matchers of a selector such as `up{job="x"}`; nothing if it is none.
pub(crate) fn selector(text: &str) -> Option<Vec<Matcher>> {
    let text = text.trim();
    let (name, inside) = match text.split_once('{') {
        Some((name, rest)) => (name.trim(), rest.strip_suffix('}')?),
        None => (text, ""),
    };
    let mut matchers = Vec::new();
    if !name.is_empty() {
        matchers.push(Matcher { name: "__name__".to_owned(), op: Op::Equal, value: name.to_owned() });
    }
    let mut quoted = false;
    let split = |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    for part in inside.split(split).filter(|part| !part.trim().is_empty()) {
        matchers.push(Matcher::parse(part)?);
    }
    (!matchers.is_empty()).then_some(matchers)
}

fn like(pattern: &str, text: &str) -> bool {
    let pattern = pattern.trim_start_matches('^').trim_end_matches('$');
    let inner = pattern.strip_prefix('(').and_then(|p| p.strip_suffix(')')).unwrap_or(pattern);
    inner.split('|').any(|alternative| wild(&alternative.replace("\\.", "\u{0}"), text))
}

/// One alternative; an escaped dot came as NUL, so that it isn't mistaken for a wildcard.
fn wild(pattern: &str, text: &str) -> bool {
    let Some(at) = pattern.find(".*").into_iter().chain(pattern.find(".+")).min() else {
        return pattern.replace('\u{0}', ".") == text;
    };
    let (head, rest) = (pattern[..at].replace('\u{0}', "."), &pattern[at + 2..]);
    let least = usize::from(pattern[at..].starts_with(".+"));
    let Some(after) = text.strip_prefix(head.as_str()) else { return false };
    let ends = after.char_indices().map(|(at, _)| at).chain([after.len()]).skip(least);
    ends.into_iter().any(|at| wild(rest, &after[at..]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn matchers_accept_what_their_sign_says() {
        let labels = json!({"severity": "critical", "team": "checkout-eu", "host": "db.1"});
        let labels = labels.as_object().unwrap();
        for (text, wanted) in [
            (r#"severity="critical""#, true),
            ("severity=critical", true),
            (r#"severity!="critical""#, false),
            (r#"team=~"checkout-.*|billing""#, true),
            (r#"team=~"checkout""#, false),
            (r#"team!~"bill.+""#, true),
            (r#"team=~"checkout-eu.+""#, false),
            (r#"host=~"db\.1""#, true),
            (r#"absent="""#, true),
            (r#"absent=~".+""#, false),
        ] {
            assert_eq!(Matcher::parse(text).unwrap().accepts(labels), wanted, "{text}");
        }
        assert_eq!(Matcher::parse("severity"), None);
    }

    #[test]
    fn a_selector_is_a_name_and_matchers() {
        let labels = json!({"__name__": "up", "job": "a,b"});
        let accepts = |text: &str| selector(text).map(|all| all.iter().all(|m| m.accepts(labels.as_object().unwrap())));
        assert_eq!(accepts(r#"up{job="a,b"}"#), Some(true));
        assert_eq!(accepts(r#"{job!="a,b"}"#), Some(false));
        assert_eq!(accepts("down"), Some(false));
        assert_eq!(accepts("up{"), None);
        assert_eq!(accepts("{}"), None);
    }
}
