//! A small reader of Telegram's HTML that forgives nothing. It knows what the platform's page says, not what `render` does.

#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) text: String,
    /// Without code; a blank in its place.
    pub(super) prose: String,
    /// Mentions of people by id.
    pub(super) people: usize,
}

pub(super) fn check(html: &str) -> Result<Shown, String> {
    let mut shown = Shown::default();
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some(c) = rest.chars().next() {
        if c == '<' {
            let (tag, after) = rest[1..].split_once('>').ok_or("a tag never ends")?;
            rest = after;
            if let Some(name) = tag.strip_prefix('/') {
                let last = open.pop().ok_or_else(|| format!("</{name}> closes nothing in {html:?}"))?;
                if last != name {
                    return Err(format!("</{name}> closes <{last}> in {html:?}"));
                }
                continue;
            }
            let (name, attribute) = tag.split_once(' ').unwrap_or((tag, ""));
            attributes(name, attribute)
                .and_then(|()| nesting(name, attribute, &open))
                .map_err(|e| format!("{e} in {html:?}"))?;
            shown.people += usize::from(attribute.starts_with("href=\"tg:"));
            if matches!(name, "code" | "pre") {
                shown.prose.push(' ');
            }
            open.push(name);
            continue;
        }
        let (meant, length) = match c {
            '>' => return Err(format!("a bare > in {html:?}")),
            '&' => [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>')]
                .into_iter()
                .find_map(|(entity, meant)| rest.starts_with(entity).then_some((meant, entity.len())))
                .ok_or_else(|| format!("a bare & in {html:?}"))?,
            c => (c, c.len_utf8()),
        };
        rest = &rest[length..];
        shown.text.push(meant);
        if !open.iter().any(|tag| matches!(*tag, "code" | "pre")) {
            shown.prose.push(meant);
        }
    }
    if open.is_empty() { Ok(shown) } else { Err(format!("{open:?} stay open in {html:?}")) }
}

fn attributes(name: &str, attribute: &str) -> Result<(), String> {
    let value = |key: &str| attribute.strip_prefix(key)?.strip_prefix("=\"")?.strip_suffix('"');
    let allowed = match name {
        "b" | "i" | "s" | "pre" | "blockquote" => attribute.is_empty(),
        "a" => value("href").is_some_and(|to| {
            let page = ["https://", "http://"].iter().any(|s| to.to_ascii_lowercase().starts_with(s));
            let person = to.strip_prefix("tg://user?id=").is_some_and(|id| id.bytes().all(|b| b.is_ascii_digit()));
            (page || person) && !to.contains(['"', '<', '>']) && !to.contains(char::is_whitespace)
        }),
        "code" => {
            let simple = |c: char| c.is_ascii_alphanumeric() || "+-_#".contains(c);
            attribute.is_empty()
                || value("class")
                    .and_then(|class| class.strip_prefix("language-"))
                    .is_some_and(|l| l.chars().all(simple))
        }
        _ => false,
    };
    if allowed { Ok(()) } else { Err(format!("<{name} {attribute}>")) }
}

fn nesting(name: &str, attribute: &str, open: &[&str]) -> Result<(), String> {
    let in_code = open.iter().any(|tag| matches!(*tag, "code" | "pre"));
    let sound = match name {
        "code" if !attribute.is_empty() => open.last() == Some(&"pre"),
        "code" | "pre" => open.iter().all(|tag| *tag == "blockquote"),
        "blockquote" => open.is_empty(),
        name => !in_code && !open.contains(&name),
    };
    if sound { Ok(()) } else { Err(format!("<{name}> in {open:?}")) }
}

/// Does a name stand behind an `@` that doesn't belong to an address of mail?
pub(super) fn mentions(prose: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    prose.match_indices('@').any(|(at, _)| prose[at + 1..].starts_with(word) && !prose[..at].ends_with(word))
}
