//! Entities: parts of a text with a meaning, in UTF-16 units. Finds those that apps and servers find by themselves, and fits
//! those that a caller asked for to Telegram's rules.

use serde_json::{Map, Value};

/// More of the counted kinds than this are dropped without a word.
const LIMIT: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entity {
    pub(crate) kind: String,
    pub(crate) offset: usize,
    pub(crate) length: usize,
    pub(crate) more: Map<String, Value>,
}

impl Entity {
    pub(crate) fn new(kind: &str, offset: usize, length: usize) -> Self {
        Self { kind: kind.to_owned(), offset, length, more: Map::new() }
    }

    fn end(&self) -> usize {
        self.offset + self.length
    }

    fn is_code(&self) -> bool {
        self.kind == "code" || self.kind == "pre"
    }

    fn is_quote(&self) -> bool {
        self.kind.ends_with("blockquote")
    }

    fn is_style(&self) -> bool {
        matches!(self.kind.as_str(), "bold" | "italic" | "underline" | "strikethrough" | "spoiler")
    }

    pub(crate) fn wire(&self) -> Value {
        let mut wire = Map::new();
        wire.insert("type".into(), self.kind.as_str().into());
        wire.insert("offset".into(), self.offset.into());
        wire.insert("length".into(), self.length.into());
        wire.extend(self.more.clone());
        Value::Object(wire)
    }

    /// As callers send them.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let mut more = value.as_object()?.clone();
        let kind = more.remove("type")?.as_str()?.to_owned();
        let mut number = |key| more.remove(key)?.as_u64().and_then(|n| usize::try_from(n).ok());
        let (offset, length) = (number("offset")?, number("length")?);
        Some(Self { kind, offset, length, more })
    }
}

pub(crate) fn utf16(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Text and entities as the server keeps them: white space trimmed, code alone, quotes not nested, links found. The number
/// tells how many entities were dropped because there are too many. Servers have been seen to leave the white space alone with
/// which code begins; nothing promises it, so here it goes as well.
pub(crate) fn settle(text: &str, asked: Vec<Entity>) -> (String, Vec<Entity>, usize) {
    let trimmed = text.trim();
    let start = utf16(&text[..text.len() - text.trim_start().len()]);
    let end = start + utf16(trimmed);
    let mut kept: Vec<Entity> = Vec::new();
    let code: Vec<_> = asked.iter().filter(|entity| entity.is_code()).map(|e| (e.offset, e.end())).collect();
    let mut quoted = 0;
    for entity in asked {
        let (from, to) = (entity.offset.clamp(start, end), entity.end().clamp(start, end));
        let pieces = if entity.is_style() { without(from, to, &code) } else { vec![(from, to)] };
        for (from, to) in pieces.into_iter().filter(|(from, to)| from < to) {
            let crosses = |e: &Entity| e.offset < to && from < e.end();
            let in_code = !entity.is_code() && !entity.is_quote() && code.iter().any(|&(a, b)| a < to && from < b);
            let in_quote = entity.is_quote() && from < quoted;
            let twice = entity.is_code() && kept.iter().any(|e| e.is_code() && crosses(&shifted(e, start)));
            if in_code || in_quote || twice {
                continue;
            }
            if entity.is_quote() {
                quoted = to;
            }
            kept.push(Entity { offset: from - start, length: to - from, ..entity.clone() });
        }
    }
    kept.extend(found(trimmed, &kept));
    // Outer ones first, as Telegram lists them.
    kept.sort_by(|a, b| a.offset.cmp(&b.offset).then(b.length.cmp(&a.length)));
    let (mut counted, before) = (0, kept.len());
    kept.retain(|entity| {
        counted += usize::from(!entity.is_style());
        entity.is_style() || counted <= LIMIT
    });
    let dropped = before - kept.len();
    (trimmed.to_owned(), kept, dropped)
}

fn shifted(entity: &Entity, by: usize) -> Entity {
    Entity { offset: entity.offset + by, ..entity.clone() }
}

/// The parts of a range outside all of `holes`, which are sorted.
fn without(from: usize, to: usize, holes: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut holes: Vec<_> = holes.iter().filter(|&&(a, b)| a < to && from < b).collect();
    holes.sort();
    let mut at = from;
    let mut pieces = Vec::new();
    for &&(a, b) in &holes {
        pieces.push((at, a.max(at)));
        at = at.max(b);
    }
    pieces.push((at, to.max(at)));
    pieces
}

/// Mentions, commands, addresses and hashtags outside code and links.
pub(crate) fn found(text: &str, taken: &[Entity]) -> Vec<Entity> {
    let chars: Vec<char> = text.chars().collect();
    let mut units = Vec::with_capacity(chars.len() + 1);
    let mut unit = 0;
    for c in &chars {
        units.push(unit);
        unit += c.len_utf16();
    }
    units.push(unit);
    let mut entities = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let Some((kind, end)) = at_this(&chars, at) else {
            at += 1;
            continue;
        };
        let entity = Entity::new(kind, units[at], units[end] - units[at]);
        let free = |e: &Entity| {
            let solid = e.is_code() || e.kind == "text_link" || e.kind == "text_mention" || e.kind == kind;
            !solid || e.end() <= entity.offset || entity.end() <= e.offset
        };
        if taken.iter().all(free) {
            entities.push(entity);
        }
        at = end;
    }
    entities
}

fn at_this(chars: &[char], at: usize) -> Option<(&'static str, usize)> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let ascii_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let run = |from: usize, holds: &dyn Fn(char) -> bool| {
        chars.get(from..).unwrap_or_default().iter().take_while(|&&c| holds(c)).count()
    };
    if at > 0 && word(chars[at - 1]) {
        return None;
    }
    let next_is = |end: usize, holds: &dyn Fn(char) -> bool| chars.get(end).is_some_and(|&c| holds(c));
    match chars[at] {
        '@' => {
            let length = run(at + 1, &ascii_word);
            let end = at + 1 + length;
            ((3..=32).contains(&length) && !next_is(end, &word)).then_some(("mention", end))
        }
        '/' if at == 0 || !matches!(chars[at - 1], '/' | '<' | '>' | '@') => {
            let length = run(at + 1, &ascii_word);
            let mut end = at + 1 + length;
            if !(1..=64).contains(&length) || next_is(end, &|c| c == '/' || word(c)) {
                return None;
            }
            if next_is(end, &|c| c == '@') {
                let name = run(end + 1, &ascii_word);
                if (3..=32).contains(&name) && !next_is(end + 1 + name, &word) {
                    end += 1 + name;
                }
            }
            Some(("bot_command", end))
        }
        '#' => {
            let length = run(at + 1, &word);
            let letters = chars[at + 1..at + 1 + length].iter().any(|c| !c.is_ascii_digit());
            letters.then_some(("hashtag", at + 1 + length))
        }
        'h' => {
            let rest: String = chars[at..].iter().take(8).collect();
            let scheme = if rest.starts_with("https://") { 8 } else { 7 };
            if !rest.starts_with("http://") && scheme == 7 {
                return None;
            }
            let mut end = at + scheme + run(at + scheme, &|c| !c.is_whitespace() && !matches!(c, '<' | '>' | '"'));
            while end > at + scheme && matches!(chars[end - 1], '.' | ',' | ';' | ':' | '!' | '?' | ')' | '\'') {
                end -= 1;
            }
            (end > at + scheme).then_some(("url", end))
        }
        _ => None,
    }
}

/// What an app makes of code between backticks while its user types: the marks go, the entity stays.
pub(crate) fn typed(text: &str) -> (String, Vec<Entity>) {
    let (mut out, mut entities, mut rest) = (String::new(), Vec::new(), text);
    while let Some(at) = rest.find('`') {
        let mark = if rest[at..].starts_with("```") { "```" } else { "`" };
        let inside = &rest[at + mark.len()..];
        let Some(length) = inside.find(mark).filter(|&length| length > 0) else {
            let end = at + mark.len();
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        };
        out.push_str(&rest[..at]);
        let kind = if mark.len() == 3 { "pre" } else { "code" };
        entities.push(Entity::new(kind, utf16(&out), utf16(&inside[..length])));
        out.push_str(&inside[..length]);
        rest = &inside[length + mark.len()..];
    }
    out.push_str(rest);
    (out, entities)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Vec<(String, usize, usize)> {
        found(text, &[]).into_iter().map(|e| (e.kind, e.offset, e.length)).collect()
    }

    #[test]
    fn offsets_are_utf16_units() {
        let one = |kind: &str, offset, length| vec![(kind.to_owned(), offset, length)];
        assert_eq!(seen("@ops_bot why is checkout slow?"), one("mention", 0, 8));
        assert_eq!(seen("🔥🔥 @ops_bot 支付失败"), one("mention", 5, 8));
        assert_eq!(seen("👩\u{200d}🚒 /status@ops_bot eu"), one("bot_command", 6, 15));
        assert_eq!(seen("⚠\u{fe0f} @ops_bot"), one("mention", 3, 8));
        assert_eq!(seen("e\u{301}clair @ops_bot"), one("mention", 8, 8));
        assert_eq!(seen("see https://e.org/a?b=1, ok"), one("url", 4, 19));
    }

    #[test]
    fn a_name_is_a_mention_only_as_a_whole_word() {
        assert_eq!(seen("mail me@ops_bot.org, a/b, 1/2, x_@ops_bot, #1"), []);
        assert_eq!(seen("@ops_bot2"), [("mention".to_owned(), 0, 9)]);
        let (text, code) = typed("run `@ops_bot` and ```/now``` @ops_bot");
        assert_eq!(text, "run @ops_bot and /now @ops_bot");
        assert_eq!(found(&text, &code), [Entity::new("mention", 22, 8)]);
    }

    #[test]
    fn text_is_trimmed_and_code_stands_alone() {
        let asked = vec![Entity::new("bold", 0, 9), Entity::new("code", 4, 2)];
        let (text, entities, dropped) = settle("  a b  c\n ", asked);
        assert_eq!((text.as_str(), dropped), ("a b  c", 0));
        let wanted = [("bold", 0, 2), ("code", 2, 2), ("bold", 4, 2)].map(|(k, o, l)| Entity::new(k, o, l));
        assert_eq!(entities, wanted);
    }

    #[test]
    fn more_than_a_hundred_counted_entities_are_dropped_from_the_end() {
        let asked = |kind: &str| (0..110).map(|n| Entity::new(kind, n * 2, 1)).collect::<Vec<_>>();
        let text = "x ".repeat(110);
        assert_eq!(settle(&text, asked("bold")).2, 0);
        let (_, entities, dropped) = settle(&text, asked("code"));
        assert_eq!((entities.len(), dropped), (100, 10));
    }
}
