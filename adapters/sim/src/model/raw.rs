//! JSON text cut into its members without changing a byte, because a prompt cache compares bytes and not values.
//! Expects text that has already been parsed once.

/// The top-level members of an object: name (without quotes, escapes kept) and the text of its value.
pub(crate) fn members(object: &str) -> Vec<(&str, &str)> {
    let mut members = Vec::new();
    let mut rest = inner(object);
    while let Some(key_end) = value_end(rest) {
        let (key, after) = rest.split_at(key_end);
        let Some(after) = after.trim_start().strip_prefix(':') else { break };
        let after = after.trim_start();
        let Some(end) = value_end(after) else { break };
        members.push((key.trim_matches('"'), &after[..end]));
        rest = next(&after[end..]);
    }
    members
}

pub(crate) fn elements(array: &str) -> Vec<&str> {
    let mut elements = Vec::new();
    let mut rest = inner(array);
    while let Some(end) = value_end(rest) {
        elements.push(&rest[..end]);
        rest = next(&rest[end..]);
    }
    elements
}

/// What is between the brackets.
fn inner(text: &str) -> &str {
    let text = text.trim();
    text.get(1..text.len().saturating_sub(1)).unwrap_or_default().trim_start()
}

fn next(text: &str) -> &str {
    let text = text.trim_start();
    text.strip_prefix(',').unwrap_or(text).trim_start()
}

/// Where the value that begins here ends; nothing at the end of the text.
fn value_end(text: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        if quoted {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = false,
                _ => {}
            }
            if !quoted && depth == 0 {
                return Some(at + 1);
            }
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return (at > 0).then_some(at),
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b',' | b' ' | b'\n' | b'\r' | b'\t' if depth == 0 => return (at > 0).then_some(at),
            _ => {}
        }
    }
    (!text.is_empty()).then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_keep_their_bytes() {
        let text = r#" { "a" : [1, {"b":"},]\""} ,null] , "c":{"d":[]},"e":"x","f" : -1.5e3 } "#;
        let found = members(text);
        let wanted = [("a", r#"[1, {"b":"},]\""} ,null]"#), ("c", r#"{"d":[]}"#), ("e", r#""x""#), ("f", "-1.5e3")];
        assert_eq!(found, wanted);
        assert_eq!(elements(found[0].1), ["1", r#"{"b":"},]\""}"#, "null"]);
        assert_eq!(members("{}"), []);
        assert_eq!(elements(" [ ] "), Vec::<&str>::new());
    }
}
