//! From Slack's markup to plain text: tokens in angle brackets resolved, entities unescaped once. Pure. Which parts of a
//! message hold text is left to `content`.

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
