//! Slack's markup made readable: `*bold*`, `_italic_`, `~struck~`, code, quotes, links by their label, ids as names.
//! What isn't markup stays as it is.

use super::super::show::{Line, Look, Piece};

/// Says what `<@U…>` and `<#C…>` are called; nothing for an id it doesn't know.
pub(in super::super) type Names<'a> = &'a dyn Fn(&str) -> Option<String>;

pub(in super::super) fn lines(text: &str, names: Names<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut fenced = false;
    for line in text.trim().lines() {
        // A fence may stand at either end of a line that holds text.
        let mut rest = line;
        let mut pieces = Line::new();
        let mut fence_seen = false;
        while let Some((before, after)) = rest.split_once("```") {
            fence_seen = true;
            read(before, fenced, names, &mut pieces);
            fenced = !fenced;
            rest = after;
        }
        read(rest, fenced, names, &mut pieces);
        if !(fence_seen && pieces.iter().all(|piece| piece.text.is_empty())) {
            lines.push(pieces);
        }
    }
    lines
}

fn read(text: &str, fenced: bool, names: Names<'_>, into: &mut Line) {
    if text.is_empty() {
        return;
    }
    if fenced {
        let look = Look { code: true, ..Look::default() };
        into.push(Piece { text: unescape(text), look });
        return;
    }
    let quoted = text.strip_prefix("&gt; ").or_else(|| text.strip_prefix("> ")).filter(|_| into.is_empty());
    let look = Look { quote: quoted.is_some(), ..Look::default() };
    if quoted.is_some() {
        push(into, "│ ", look);
    }
    inline(quoted.unwrap_or(text), look, names, into);
}

fn inline(text: &str, look: Look, names: Names<'_>, into: &mut Line) {
    let mut plain = 0;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let end = at + c.len_utf8();
        let found = match c {
            '`' => text[end..].find('`').filter(|length| *length > 0).map(|length| end + length),
            '<' => text[end..].find('>').map(|length| end + length),
            '*' | '_' | '~' => closing(text, at, c),
            _ => None,
        };
        let Some(close) = found else {
            at = end;
            continue;
        };
        push(into, &text[plain..at], look);
        let inside = &text[end..close];
        match c {
            '`' => push(into, inside, Look { code: true, ..look }),
            '<' => push_reference(into, inside, look, names),
            '*' => inline(inside, Look { bold: true, ..look }, names, into),
            '_' => inline(inside, Look { italic: true, ..look }, names, into),
            _ => inline(inside, Look { struck: true, ..look }, names, into),
        }
        at = close + 1;
        plain = at;
    }
    push(into, &text[plain..], look);
}

/// Where the sign at `at` is closed, if it opens anything: markup stands at the edges of words.
fn closing(text: &str, at: usize, sign: char) -> Option<usize> {
    let word = |c: char| c.is_alphanumeric() || c == sign;
    let start = at + sign.len_utf8();
    if text[..at].chars().next_back().is_some_and(word) || text[start..].starts_with(char::is_whitespace) {
        return None;
    }
    text[start..].match_indices(sign).map(|(offset, _)| start + offset).find(|close| {
        let inside = &text[start..*close];
        let after = text[close + sign.len_utf8()..].chars().next();
        !inside.is_empty() && !inside.ends_with(char::is_whitespace) && !after.is_some_and(word)
    })
}

/// What stands in angle brackets: a person, a room, a group, a link.
fn push_reference(into: &mut Line, inside: &str, look: Look, names: Names<'_>) {
    let (target, label) = inside.split_once('|').map_or((inside, None), |(target, label)| (target, Some(label)));
    let link = Look { link: true, ..look };
    let named = |sign: &str, id: &str| {
        let name = names(id).or_else(|| label.map(str::to_owned)).unwrap_or_else(|| id.to_owned());
        format!("{sign}{}", name.trim_start_matches(['@', '#']))
    };
    match target.split_at_checked(1) {
        Some(("@", id)) => push(into, &named("@", id), link),
        Some(("#", id)) => push(into, &named("#", id), link),
        Some(("!", word)) => {
            let word = word.split('^').next_back().unwrap_or(word);
            push(into, label.map_or_else(|| format!("@{word}"), str::to_owned).as_str(), look);
        }
        _ => push(into, label.unwrap_or(target), link),
    }
}

fn push(into: &mut Line, text: &str, look: Look) {
    let text = unescape(text);
    match into.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.look == look => last.text.push_str(&text),
        _ => into.push(Piece { text, look }),
    }
}

/// Also takes out what only separates markup from words, and what would move a terminal's cursor.
fn unescape(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").replace('\t', "    ");
    text.chars().filter(|c| !c.is_control() && !matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The looks as one letter each before the piece.
    fn told(text: &str) -> Vec<String> {
        let names = |id: &str| (id == "U0JON").then(|| "Jon".to_owned());
        let letters = |look: Look| {
            let all = [
                (look.bold, 'b'),
                (look.italic, 'i'),
                (look.struck, 's'),
                (look.code, 'c'),
                (look.link, 'l'),
                (look.quote, 'q'),
            ];
            all.iter().filter(|(on, _)| *on).map(|(_, letter)| *letter).collect::<String>()
        };
        let line = |line: Line| {
            let told: Vec<_> =
                line.into_iter().map(|piece| format!("{}[{}]", letters(piece.look), piece.text)).collect();
            told.concat()
        };
        lines(text, &names).into_iter().map(line).collect()
    }

    #[test]
    fn markup_is_shown_and_what_is_none_stays() {
        let table = [
            ("*a* b", "b[a][ b]"),
            ("*What is known:* 2*3*4 = 24", "b[What is known:][ 2*3*4 = 24]"),
            ("_a *b*_", "i[a ]bi[b]"),
            ("snake_case_name and * stars *", "[snake_case_name and * stars *]"),
            ("`a*b*`~c~", "c[a*b*]s[c]"),
            (
                "see <https://x.example/a|the *deploy*>, <https://y.example>",
                "[see ]l[the *deploy*][, ]l[https://y.example]",
            ),
            ("<@U0JON> <@U9> <#C1|ops> <!here>", "l[@Jon][ ]l[@U9][ ]l[#ops][ @here]"),
            ("&gt; so 1 &lt; 2 &amp;amp; 3", "q[│ so 1 < 2 &amp; 3]"),
            ("*open and `open and <open", "[*open and `open and <open]"),
            ("日本*語* *データベース*", "[日本*語* ]b[データベース]"),
            ("\u{200b}*x*\u{200b}\u{1b}[2J", "b[x][[2J]"),
        ];
        for (text, expected) in table {
            assert_eq!(told(text), [expected], "{text}");
        }
    }

    #[test]
    fn a_fence_is_code_until_it_closes() {
        assert_eq!(told("a\n```\nx *y*\n  z```\n*b*"), ["[a]", "c[x *y*]", "c[  z]", "b[b]"]);
        assert_eq!(told("```never closed"), ["c[never closed]"]);
        assert_eq!(told(""), Vec::<String>::new());
    }
}
