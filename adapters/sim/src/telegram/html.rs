//! Telegram's HTML: a few tags, four named entities, and an error with its byte offset for everything else.

use serde_json::Value;

use super::entities::{Entity, utf16};

const TAGS: [&str; 17] = [
    "b",
    "strong",
    "i",
    "em",
    "u",
    "ins",
    "s",
    "strike",
    "del",
    "a",
    "code",
    "pre",
    "blockquote",
    "span",
    "tg-spoiler",
    "tg-emoji",
    "tg-time",
];

/// A tag that is still open.
struct Open<'t> {
    name: String,
    attributes: Vec<(String, String)>,
    /// In the text that comes out.
    start: usize,
    end_name: &'t str,
}

/// Text and entities, or what Telegram would say after `can't parse entities: `.
pub(crate) fn parse(html: &str) -> Result<(String, Vec<Entity>), String> {
    let mut text = String::new();
    let mut units = 0;
    let mut open: Vec<Open<'_>> = Vec::new();
    // Outer entities begin first: each keeps the place of its start tag.
    let mut places: Vec<Option<Entity>> = Vec::new();
    let mut place_of: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < html.len() {
        let rest = &html[at..];
        if rest.starts_with('&') {
            let (decoded, length) = decode(rest);
            text.push(decoded);
            units += decoded.len_utf16();
            at += length;
            continue;
        }
        if !rest.starts_with('<') {
            let plain = &rest[..rest.find(['<', '&']).unwrap_or(rest.len())];
            text.push_str(plain);
            units += utf16(plain);
            at += plain.len();
            continue;
        }
        let unclosed = || format!("Unclosed start tag at byte offset {at}");
        let name = rest[1..].find(|c: char| c.is_whitespace() || c == '>').ok_or_else(unclosed)?;
        let name = rest[1..=name].to_ascii_lowercase();
        if !name.starts_with('/') && !TAGS.contains(&name.as_str()) {
            return Err(format!("Unsupported start tag \"{name}\" at byte offset {at}"));
        }
        let end = tag_end(rest).ok_or_else(unclosed)?;
        let inside = &rest[1..end];
        if let Some(name) = inside.strip_prefix('/') {
            let name = name.trim_end();
            let Some(tag) = open.pop() else {
                return Err(format!("Unexpected end tag at byte offset {at}"));
            };
            if !name.is_empty() && !name.eq_ignore_ascii_case(&tag.name) {
                let expected = tag.end_name;
                return Err(format!(
                    "Unmatched end tag at byte offset {at}, expected \"</{expected}>\", found \"</{name}>\""
                ));
            }
            if let Some(place) = place_of.pop() {
                places[place] = entity(&tag, units, &text, &open, &mut places);
            }
        } else {
            let tag = start_tag(inside, units).map_err(|problem| problem.at(at))?;
            open.push(tag);
            place_of.push(places.len());
            places.push(None);
        }
        at += end + 1;
    }
    match open.last() {
        Some(tag) => Err(format!("Can't find end tag corresponding to start tag \"{}\"", tag.name)),
        None => Ok((text, places.into_iter().flatten().filter(|entity| entity.length > 0).collect())),
    }
}

/// The first `>` outside quotes.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (None, '>') => return Some(at),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    None
}

struct Problem(String);

impl Problem {
    fn at(self, offset: usize) -> String {
        format!("{} at byte offset {offset}", self.0)
    }
}

fn start_tag<'t>(inside: &'t str, start: usize) -> Result<Open<'t>, Problem> {
    let (name, mut rest) = inside.split_at(inside.find(char::is_whitespace).unwrap_or(inside.len()));
    let lower = name.to_ascii_lowercase();
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            break;
        }
        let length = rest.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(rest.len());
        let (key, after) = rest.split_at(length);
        if key.is_empty() {
            return Err(Problem(format!("Empty attribute name in the tag \"{lower}\"")));
        }
        let Some(value) = after.trim_start().strip_prefix('=') else {
            // An attribute without a value, such as `expandable`.
            attributes.push((key.to_ascii_lowercase(), String::new()));
            rest = after;
            continue;
        };
        let value = value.trim_start();
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            _ => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
        };
        attributes.push((key.to_ascii_lowercase(), decoded(value)));
        rest = after;
    }
    let spoiler = attributes.contains(&("class".to_owned(), "tg-spoiler".to_owned()));
    if lower == "span" && !spoiler {
        return Err(Problem("Tag \"span\" must have class \"tg-spoiler\"".to_owned()));
    }
    Ok(Open { name: lower, attributes, start, end_name: name })
}

fn entity(tag: &Open<'_>, end: usize, text: &str, outer: &[Open<'_>], places: &mut [Option<Entity>]) -> Option<Entity> {
    let attribute = |name: &str| tag.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let of_kind = |kind: &str| Some(Entity::new(kind, tag.start, end - tag.start));
    match tag.name.as_str() {
        "b" | "strong" => of_kind("bold"),
        "i" | "em" => of_kind("italic"),
        "u" | "ins" => of_kind("underline"),
        "s" | "strike" | "del" => of_kind("strikethrough"),
        "span" | "tg-spoiler" => of_kind("spoiler"),
        "blockquote" if attribute("expandable").is_some() => of_kind("expandable_blockquote"),
        "blockquote" => of_kind("blockquote"),
        "tg-emoji" => {
            let mut entity = of_kind("custom_emoji")?;
            entity.more.insert("custom_emoji_id".into(), attribute("emoji-id")?.into());
            Some(entity)
        }
        "tg-time" => of_kind("date_time"),
        "a" => link(tag, end, text),
        "code" => {
            let language = attribute("class").and_then(|class| class.strip_prefix("language-"));
            let in_pre = outer.last().is_some_and(|tag| tag.name == "pre");
            let mut entity = of_kind("code")?;
            if in_pre {
                // Becomes the language of the block, if it fills it: that is seen when the block ends.
                entity.kind = "language".to_owned();
                entity.more.insert("language".into(), language.unwrap_or_default().into());
            }
            Some(entity)
        }
        "pre" => {
            let mut entity = of_kind("pre")?;
            for inner in places.iter_mut().filter(|place| place.as_ref().is_some_and(|e| e.kind == "language")) {
                let inner = inner.take()?;
                let language = inner.more.get("language").and_then(Value::as_str).unwrap_or_default();
                if (inner.offset, inner.length) == (entity.offset, entity.length) && !language.is_empty() {
                    entity.more.insert("language".into(), language.into());
                }
            }
            Some(entity)
        }
        _ => None,
    }
}

/// An address that can't be one loses the link, not the text.
fn link(tag: &Open<'_>, end: usize, text: &str) -> Option<Entity> {
    let shown: Vec<u16> = text.encode_utf16().skip(tag.start).take(end - tag.start).collect();
    let shown = String::from_utf16_lossy(&shown);
    let href = tag.attributes.iter().find(|(key, _)| key == "href").map(|(_, value)| value.trim().to_owned());
    let address = href.filter(|href| !href.is_empty()).unwrap_or(shown);
    if let Some(user) = address.strip_prefix("tg://user?id=").and_then(|id| id.parse::<i64>().ok()) {
        let mut entity = Entity::new("text_mention", tag.start, end - tag.start);
        entity.more.insert("user".into(), serde_json::json!({"id": user, "is_bot": false, "first_name": "?"}));
        return Some(entity);
    }
    let (scheme, host) = address.split_once("://").unwrap_or(("http", &address));
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let known = matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https" | "tg" | "ton" | "tonsite");
    let plausible = known && !host.is_empty() && !host.contains(char::is_whitespace);
    if !plausible || (!address.contains("://") && !host.contains('.')) {
        return None;
    }
    let mut url = if address.contains("://") { address.clone() } else { format!("http://{address}") };
    if url.ends_with(host) && host.contains('.') {
        // A bare host gets its slash.
        url.push('/');
    }
    let mut entity = Entity::new("text_link", tag.start, end - tag.start);
    entity.more.insert("url".into(), url.into());
    Some(entity)
}

fn decoded(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let (c, length) = decode(&rest[at..]);
        out.push(c);
        rest = &rest[at + length..];
    }
    out + rest
}

/// The character at the beginning of `text`, which is an ampersand, and the bytes it takes. What isn't known stays as it is.
fn decode(text: &str) -> (char, usize) {
    for (name, c) in [("&lt", '<'), ("&gt", '>'), ("&amp", '&'), ("&quot", '"')] {
        if let Some(after) = text.strip_prefix(name) {
            let whole_word = !after.starts_with(|c: char| c.is_ascii_alphanumeric());
            if whole_word {
                return (c, name.len() + usize::from(after.starts_with(';')));
            }
        }
    }
    let numeric = || {
        let digits = text.strip_prefix("&#")?;
        let (digits, radix, before) = match digits.strip_prefix(['x', 'X']) {
            Some(hex) => (hex, 16, 3),
            None => (digits, 10, 2),
        };
        let length = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        let c = char::from_u32(u32::from_str_radix(&digits[..length], radix).ok()?).filter(|&c| c != '\0')?;
        Some((c, before + length + usize::from(digits[length..].starts_with(';'))))
    };
    numeric().unwrap_or(('&', 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(html: &str) -> (String, Vec<(String, usize, usize)>) {
        let (text, entities) = parse(html).unwrap();
        (text, entities.into_iter().map(|e| (e.kind, e.offset, e.length)).collect())
    }

    fn of(text: &str, entities: &[(&str, usize, usize)]) -> (String, Vec<(String, usize, usize)>) {
        (text.to_owned(), entities.iter().map(|&(kind, offset, length)| (kind.to_owned(), offset, length)).collect())
    }

    #[test]
    fn tags_become_entities_and_escapes_characters() {
        assert_eq!(read("a &lt; b &amp;&amp; c &#33;&#x1F525;"), of("a < b && c !🔥", &[]));
        assert_eq!(read("&nbsp;&copy;> x"), of("&nbsp;&copy;> x", &[]));
        assert_eq!(read("🔥<b>bold <i>both</i></b>"), of("🔥bold both", &[("bold", 2, 9), ("italic", 7, 4)]));
        assert_eq!(read("<B>x</b ><b></b>"), of("x", &[("bold", 0, 1)]));
        let quote = "<blockquote expandable>q</blockquote><blockquote>r</blockquote>";
        assert_eq!(read(quote), of("qr", &[("expandable_blockquote", 0, 1), ("blockquote", 1, 1)]));
        assert_eq!(read("<span class=\"tg-spoiler\">s</span>"), of("s", &[("spoiler", 0, 1)]));
    }

    #[test]
    fn a_block_of_code_has_a_language() {
        let (text, entities) = parse("<pre><code class=\"language-rust\">let x;</code></pre>").unwrap();
        assert_eq!(text, "let x;");
        assert_eq!(
            entities[0].wire(),
            serde_json::json!({"type": "pre", "offset": 0, "length": 6, "language": "rust"})
        );
        assert_eq!(entities.len(), 1);
        assert_eq!(read("<pre>a</pre><code>b</code>"), of("ab", &[("pre", 0, 1), ("code", 1, 1)]));
    }

    #[test]
    fn a_link_keeps_its_address_if_it_is_one() {
        let address = |html: &str| parse(html).unwrap().1.first().map(|e| e.more["url"].clone());
        assert_eq!(
            address("<a href=\"https://e.org/?q=&quot;1&quot;&amp;r\">x</a>"),
            Some("https://e.org/?q=\"1\"&r".into())
        );
        assert_eq!(address("<a href='https://e.org'>x</a>"), Some("https://e.org/".into()));
        assert_eq!(address("<a href=\"javascript:alert(1)\">x</a>"), None);
        assert_eq!(address("<a href=\"\">e.org/a</a>"), Some("http://e.org/a".into()));
    }

    #[test]
    fn what_it_does_not_know_is_refused_with_its_place() {
        let errors = ["🔥<p>x</p>", "a < b", "x</b>", "<b>x</i>", "<b><i>x</i>", "<b", "<span>x</span>", "1 <3"];
        assert_eq!(
            errors.map(|html| parse(html).unwrap_err()),
            [
                "Unsupported start tag \"p\" at byte offset 4",
                "Unsupported start tag \"\" at byte offset 2",
                "Unexpected end tag at byte offset 1",
                "Unmatched end tag at byte offset 4, expected \"</b>\", found \"</i>\"",
                "Can't find end tag corresponding to start tag \"b\"",
                "Unclosed start tag at byte offset 0",
                "Tag \"span\" must have class \"tg-spoiler\" at byte offset 0",
                "Unclosed start tag at byte offset 2",
            ]
        );
    }
}
