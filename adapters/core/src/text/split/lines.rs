//! Lines, indentation and the marks that containers put before a line.

use unicode_segmentation::UnicodeSegmentation;

pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

pub(super) fn next_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// From the first line that has something on it.
pub(super) fn without_blank_lines(text: &str) -> &str {
    let mut from = 0;
    while from < text.len() && text[from..next_line(text, from)].trim().is_empty() {
        from = next_line(text, from);
    }
    &text[from..]
}

/// Without leading white space; a space that carries a combining mark is not white.
pub(super) fn without_space(text: &str) -> &str {
    let white = |(_, grapheme): &(usize, &str)| !grapheme.trim().is_empty();
    text.grapheme_indices(true).find(white).map_or("", |(at, _)| &text[at..])
}

/// Columns of white space before the first other character.
pub(super) fn columns(line: &str) -> usize {
    indentation(line, usize::MAX).1
}

/// Bytes and columns of leading white space, at most `most` columns.
fn indentation(line: &str, most: usize) -> (usize, usize) {
    let (mut bytes, mut columns) = (0, 0);
    for byte in line.bytes() {
        columns += match byte {
            _ if columns >= most => break,
            b' ' => 1,
            b'\t' => 4 - columns % 4,
            _ => break,
        };
        bytes += 1;
    }
    (bytes, columns)
}

/// Takes the lines out of the containers that stayed behind: what `prefix` has goes, its quote marks come back without
/// the indentation between them. A line with less of it is in an outer container, and so is all that follows.
pub(super) fn taken_out(text: &str, mut prefix: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    while !prefix.is_empty() && from < text.len() {
        let end = next_line(text, from);
        if let Some((line, outer)) = inside(&text[from..end], prefix) {
            out.push_str(&quote_marks(outer));
            out.push_str(line);
            prefix = outer;
            from = end;
        } else {
            prefix = prefix.rfind('>').map_or("", |last| &prefix[..last]);
        }
    }
    out.push_str(&text[from..]);
    out
}

/// The quote marks of a prefix as a text of its own has them.
pub(super) fn quote_marks(prefix: &str) -> String {
    "> ".repeat(prefix.matches('>').count())
}

/// The line without the prefix, and as much of the prefix as it had. `None` without the quote marks.
fn inside<'a, 'p>(line: &'a str, prefix: &'p str) -> Option<(&'a str, &'p str)> {
    let (marks, indent) = prefix.rfind('>').map_or(("", prefix), |last| prefix.split_at(last + 1));
    let mut rest = line;
    for _ in marks.matches('>') {
        rest = rest.trim_start_matches([' ', '\t']).strip_prefix('>')?;
    }
    let (bytes, found) = indentation(rest, columns(indent));
    // The space after a quote mark may be missing.
    let whole = found + usize::from(!marks.is_empty()) >= columns(indent) || rest.trim().is_empty();
    let kept = if whole { indent.len() } else { indentation(indent, found).0 };
    Some((&rest[bytes..], &prefix[..marks.len() + kept]))
}

/// White space and quote marks at the start of a line.
pub(super) fn quote_prefix(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t', '>']).len()]
}

/// The length of quote marks, list markers and white space at the start of a line.
pub(super) fn container_len(line: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &line[at..];
        let space = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let marker = &rest[space..];
        let mark = if marker.starts_with('>') { 1 } else { list_marker_len(marker) };
        if mark == 0 {
            return at + space;
        }
        at += space + mark;
    }
}

fn list_marker_len(text: &str) -> usize {
    let digits = text.bytes().take(9).take_while(u8::is_ascii_digit).count();
    let mark = if digits > 0 { &[b'.', b')'][..] } else { &[b'-', b'+', b'*'][..] };
    let bytes = text.as_bytes();
    let marked = bytes.get(digits).is_some_and(|byte| mark.contains(byte));
    let ended = bytes.get(digits + 1).is_none_or(|byte| byte.is_ascii_whitespace());
    if marked && ended { digits + 1 } else { 0 }
}

/// The same prefix as a continued line has it: list markers become white space.
pub(super) fn continued(prefix: &str) -> String {
    prefix.chars().map(|c| if c == '>' || c.is_whitespace() { c } else { ' ' }).collect()
}

pub(super) fn looks_like_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// Prose that would turn into something else at the start of a message: a list, a heading, a rule, a quote.
pub(super) fn looks_like_block(line: &str) -> bool {
    let line = line.trim();
    let hashes = line.bytes().take_while(|&byte| byte == b'#').count();
    let heading = (1..=6).contains(&hashes) && !line[hashes..].starts_with(|c: char| !c.is_whitespace());
    let rule = |mark: char| !line.is_empty() && line.chars().all(|c| c == mark || c == ' ');
    heading || container_len(line) > 0 || ['-', '_', '*', '='].into_iter().any(rule) || looks_like_fence(line)
}
