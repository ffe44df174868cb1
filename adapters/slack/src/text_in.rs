//! From Slack's markup to plain text: tokens in angle brackets resolved, entities unescaped once, and what alert bots put
//! into attachments and blocks written out. Pure.

use serde_json::Value;

use crate::wire::{Attachment, Message};

/// How deep blocks may nest before we stop looking.
const DEPTH: usize = 12;

/// Everything a message says. `own` is our user id: mentions of it are removed.
pub(crate) fn content(message: &Message, own: &str) -> String {
    let mut said = Said { own, text: resolve(&message.text, own) };
    // People's blocks repeat the text; bots often say it there alone.
    if said.text.is_empty() || message.bot_id.is_some() {
        said.blocks(&message.blocks);
    }
    for attachment in &message.attachments {
        said.attachment(attachment);
    }
    said.text
}

struct Said<'a> {
    own: &'a str,
    text: String,
}

impl Said<'_> {
    fn add(&mut self, markup: &str) {
        let text = resolve(markup, self.own);
        if text.is_empty() || self.text.contains(&text) {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&text);
    }

    fn blocks(&mut self, blocks: &[Value]) {
        for block in blocks {
            let mut lines = Vec::new();
            block_lines(block, &mut lines);
            for line in lines {
                self.add(&line);
            }
        }
    }

    fn attachment(&mut self, attachment: &Attachment) {
        let Attachment { pretext, title, title_link, text, fallback, fields, blocks } = attachment;
        if [pretext, title, text].iter().all(|part| part.is_empty()) && fields.is_empty() && blocks.is_empty() {
            self.add(fallback);
            return;
        }
        self.add(pretext);
        match (title.is_empty(), title_link.is_empty()) {
            (false, false) => self.add(&format!("{title} ({title_link})")),
            _ => self.add(&format!("{title}{title_link}")),
        }
        self.add(text);
        for field in fields {
            match field.title.is_empty() {
                true => self.add(&field.value),
                false => self.add(&format!("{}: {}", field.title, field.value)),
            }
        }
        self.blocks(blocks);
    }
}

/// The text of one block, as markup, one entry a line.
fn block_lines(block: &Value, lines: &mut Vec<String>) {
    let text_of = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        object => object.get("text").and_then(Value::as_str).map(str::to_owned),
    };
    let list = |name: &str| block.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match block.get("type").and_then(Value::as_str).unwrap_or_default() {
        "rich_text" => {
            for element in list("elements") {
                let mut line = String::new();
                rich_text(element, 0, &mut line);
                lines.push(line.trim_end().to_owned());
            }
        }
        "context" => lines.extend(list("elements").iter().filter_map(text_of)),
        "image" => lines.extend(block.get("title").or(block.get("alt_text")).and_then(text_of)),
        "divider" | "actions" | "input" => {}
        _ => {
            lines.extend(block.get("text").and_then(text_of));
            lines.extend(list("fields").iter().filter_map(text_of));
        }
    }
}

fn rich_text(element: &Value, depth: usize, line: &mut String) {
    if depth > DEPTH {
        return;
    }
    let field = |name: &str| element.get(name).and_then(Value::as_str).unwrap_or_default();
    match field("type") {
        // Leaves hold raw characters; escaped here, they are unescaped again with the rest.
        "text" => line.push_str(&field("text").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")),
        "link" => line.push_str(&format!("<{}|{}>", field("url"), field("text"))),
        "user" => line.push_str(&format!("<@{}>", field("user_id"))),
        "usergroup" => line.push_str(&format!("<!subteam^{}>", field("usergroup_id"))),
        "channel" => line.push_str(&format!("<#{}>", field("channel_id"))),
        "broadcast" => line.push_str(&format!("<!{}>", field("range"))),
        "emoji" => line.push_str(&format!(":{}:", field("name"))),
        kind => {
            let items = element.get("elements").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            for item in items {
                rich_text(item, depth + 1, line);
                if kind == "rich_text_list" {
                    line.push('\n');
                }
            }
        }
    }
}

/// Resolves the markup of one piece of text.
pub(crate) fn resolve(markup: &str, own: &str) -> String {
    let mut out = String::with_capacity(markup.len());
    for (piece, in_code) in code_and_prose(markup) {
        let mut rest = piece;
        while let Some((before, token, after)) = next_token(rest) {
            unescape_into(before, &mut out);
            rest = after;
            if !in_code && mentioned(token) == Some(own) {
                // "hey <@us> look" must not keep two spaces.
                if out.is_empty() || out.ends_with(char::is_whitespace) {
                    rest = rest.strip_prefix(' ').unwrap_or(rest);
                }
            } else {
                token_into(token, &mut out);
            }
        }
        unescape_into(rest, &mut out);
    }
    out.trim().to_owned()
}

/// Is that user mentioned, outside code?
pub(crate) fn mentions(markup: &str, user: &str) -> bool {
    code_and_prose(markup).into_iter().filter(|(_, in_code)| !in_code).any(|(mut rest, _)| {
        while let Some((_, token, after)) = next_token(rest) {
            if mentioned(token) == Some(user) {
                return true;
            }
            rest = after;
        }
        false
    })
}

/// The user whom the text mentions before it says anything.
pub(crate) fn opens_with(markup: &str) -> Option<&str> {
    let (before, token, _) = next_token(markup)?;
    if before.trim().is_empty() { mentioned(token) } else { None }
}

fn mentioned(token: &str) -> Option<&str> {
    let user = token.strip_prefix('@')?;
    Some(user.split_once('|').map_or(user, |(id, _)| id))
}

/// Cuts the text where code begins and ends; the backticks belong to the code.
fn code_and_prose(text: &str) -> Vec<(&str, bool)> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(found) = text[at..].find('`') {
        let open = at + found;
        let (mark, body) = if text[open..].starts_with("```") { ("```", open + 3) } else { ("`", open + 1) };
        let end = text[body..].find(mark).filter(|end| mark.len() == 3 || !text[body..body + end].contains('\n'));
        let Some(end) = end else {
            at = body;
            continue;
        };
        pieces.push((&text[start..open], false));
        start = body + end + mark.len();
        pieces.push((&text[open..start], true));
        at = start;
    }
    pieces.push((&text[start..], false));
    pieces
}

/// The first `<token>`: what stands before it, the token, what follows.
fn next_token(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let open = from + text[from..].find('<')?;
        let inner = &text[open + 1..];
        let close = inner.find(['<', '>'])?;
        if inner[close..].starts_with('>') && close > 0 {
            return Some((&text[..open], &inner[..close], &inner[close + 1..]));
        }
        from = open + 1;
    }
}

fn token_into(token: &str, out: &mut String) {
    let (target, label) = token.split_once('|').unwrap_or((token, ""));
    let mut text = String::new();
    if let Some(user) = target.strip_prefix('@') {
        match label {
            "" => text.push_str(&format!("@{user}")),
            name => text.push_str(&format!("@{} ({user})", name.trim_start_matches('@'))),
        }
    } else if let Some(channel) = target.strip_prefix('#') {
        text.push_str(&format!("#{}", if label.is_empty() { channel } else { label }));
    } else if let Some(special) = target.strip_prefix('!') {
        match special.split('^').collect::<Vec<_>>().as_slice() {
            ["date", ..] => text.push_str(label),
            ["subteam", id, ..] if label.is_empty() => text.push_str(&format!("@{id}")),
            ["subteam", ..] => text.push_str(&format!("@{}", label.trim_start_matches('@'))),
            [name, ..] => text.push_str(&format!("@{name}")),
            [] => {}
        }
    } else {
        let shown = target.strip_prefix("mailto:").or(target.strip_prefix("tel:")).unwrap_or(target);
        let bare = shown.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches('/');
        if label.is_empty() || label == shown || label.trim_end_matches('/') == bare {
            text.push_str(shown);
        } else {
            text.push_str(&format!("{label} ({shown})"));
        }
    }
    unescape_into(&text, out);
}

/// The three entities, `&amp;` last: `&amp;lt;` is the four characters `&lt;`.
fn unescape_into(text: &str, out: &mut String) {
    out.push_str(&text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"));
}

/// Milliseconds of a `ts`, from its digits: floats would lose some.
pub(crate) fn millis(ts: &str) -> Option<i64> {
    let (seconds, fraction) = ts.split_once('.').unwrap_or((ts, ""));
    let seconds: i64 = seconds.parse().ok()?;
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    seconds.checked_mul(1000)?.checked_add(digits.parse::<u16>().ok()?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const US: &str = "U0BOT";

    #[test]
    fn markup_becomes_what_a_reader_sees() {
        let table = [
            ("<@U0BOT> why is checkout slow?", "why is checkout slow?"),
            ("hey <@U0BOT|bot> look, <@U0BOT>", "hey look,"),
            ("<@U0BOB|bob> and <@W0EVE>", "@bob (U0BOB) and @W0EVE"),
            ("<#C0OPS|ops> <#C0OPS> <#C0PRIV|>", "#ops #C0OPS #C0PRIV"),
            ("<!subteam^S0ONCALL|@oncall> <!subteam^S0ONCALL>", "@oncall @S0ONCALL"),
            ("<!here> <!channel|channel> <!everyone>", "@here @channel @everyone"),
            ("<!date^1767225600^{date} at {time}|Jan 1>", "Jan 1"),
            (
                "<https://example.org/a|label> <https://example.org/a?x=1&amp;y=2>",
                "label (https://example.org/a) https://example.org/a?x=1&y=2",
            ),
            (
                "<http://example.org|example.org> <mailto:a@example.org|a@example.org>",
                "http://example.org a@example.org",
            ),
            ("curl `<https://example.org/x>` &lt;b&gt; &amp;lt;", "curl `https://example.org/x` <b> &lt;"),
            ("`<@U0BOT>` is me", "`@U0BOT` is me"),
            ("1 < 2 <> <unclosed", "1 < 2 <> <unclosed"),
            (":warning: ok", ":warning: ok"),
        ];
        for (markup, expected) in table {
            assert_eq!(resolve(markup, US), expected, "{markup}");
        }
    }

    #[test]
    fn a_mention_inside_code_addresses_nobody() {
        assert!(mentions("hi <@U0BOT|x>", US));
        assert!(mentions("`` ` <@U0BOT>", US));
        assert!(!mentions("`<@U0BOT>`", US));
        assert!(!mentions("```\nlog <@U0BOT>\n```", US));
        assert!(!mentions("<@U0BOB>", US));
        assert_eq!(opens_with(" <@U0BOB> can you"), Some("U0BOB"));
        assert_eq!(opens_with("can <@U0BOB>"), None);
    }

    #[test]
    fn an_alert_that_lives_in_attachments_is_read() {
        let message: Message = serde_json::from_value(json!({
            "bot_id": "B0ALERT", "text": "",
            "attachments": [{"id": 1, "color": "d00000", "title": "[FIRING:1] HighErrorRate",
                "title_link": "https://example.org/a", "text": "5xx at 12 % on checkout",
                "fallback": "[FIRING:1] HighErrorRate", "fields": [{"title": "env", "value": "prod", "short": true}]},
                {"fallback": "only a fallback"}],
        }))
        .unwrap();
        assert_eq!(
            content(&message, US),
            "[FIRING:1] HighErrorRate (https://example.org/a)\n5xx at 12 % on checkout\nenv: prod\nonly a fallback"
        );
    }

    #[test]
    fn an_alert_that_lives_in_blocks_is_read() {
        let message: Message = serde_json::from_value(json!({
            "bot_id": "B0ALERT", "text": "Alert",
            "blocks": [
                {"type": "header", "text": {"type": "plain_text", "text": "Disk full"}},
                {"type": "section", "text": {"type": "mrkdwn", "text": "host <https://example.org/h|db-1>"},
                 "fields": [{"type": "mrkdwn", "text": "*use* 97 %"}]},
                {"type": "context", "elements": [{"type": "mrkdwn", "text": "since 10:00"}, {"type": "image"}]},
                {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
                    {"type": "text", "text": "a < b "}, {"type": "user", "user_id": "U0BOB"}]}]},
                {"type": "shape_of_next_year", "text": "still text"}, {"type": "divider"}, 7],
        }))
        .unwrap();
        assert_eq!(
            content(&message, US),
            "Alert\nDisk full\nhost db-1 (https://example.org/h)\n*use* 97 %\nsince 10:00\na < b @U0BOB\nstill text"
        );
    }

    #[test]
    fn a_persons_blocks_do_not_repeat_her_text() {
        let message: Message = serde_json::from_value(json!({
            "user": "U0ALICE", "text": "<@U0BOT> why?",
            "blocks": [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [
                {"type": "user", "user_id": "U0BOT"}, {"type": "text", "text": " why?"}]}]}],
        }))
        .unwrap();
        assert_eq!(content(&message, US), "why?");
    }

    #[test]
    fn a_ts_becomes_milliseconds_without_rounding() {
        assert_eq!(millis("1767225600.000200"), Some(1_767_225_600_000));
        assert_eq!(millis("1767225600.999999"), Some(1_767_225_600_999));
        assert_eq!(millis("1767225600"), Some(1_767_225_600_000));
        for odd in ["", "x.1", "1.x", "99999999999999999999.0", "."] {
            assert_eq!(millis(odd), None, "{odd}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "[<>@#!|`& a-zU0é\n^]{0,60}|\\PC{0,60}") {
            resolve(&text, US);
            mentions(&text, US);
            opens_with(&text);
            millis(&text);
        }

        #[test]
        fn text_without_markup_is_kept(text in "[a-z0-9äß汉 ]{0,40}") {
            prop_assert_eq!(resolve(&text, US), text.trim());
        }
    }
}
