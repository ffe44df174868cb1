//! What Telegram counts of a message, and the message without its markup. Reads only what `render` wrote.

use watchfloor_channel::{
    TextUnit,
    text::{Limits, Size, is_web_address},
};

use super::Html;

/// One message. Telegram takes 32,768 bytes, and silently drops every entity after the hundredth.
pub(crate) const LIMITS: Limits = Limits { text: TextUnit::Utf16.length(4_096), bytes: 32_000, marks: 100 };

/// The text as Telegram counts it once the tags are gone; the bytes sent; the entities that count. Addresses that Telegram
/// finds by itself count as entities too.
pub(crate) fn size(html: &Html) -> Size {
    let (mut units, mut marks) = (0usize, 0);
    let mut before = "";
    let mut linked = false;
    for piece in pieces(&html.0) {
        match piece {
            Piece::Tag(tag) => {
                marks += usize::from(counts(tag) && before != "pre");
                linked = match tag {
                    "/a" | "/code" | "/pre" => false,
                    _ => linked || tag.starts_with("a ") || tag == "code" || tag == "pre",
                };
                before = tag;
            }
            Piece::Text(text) => {
                units += length(text);
                marks += if linked { 0 } else { text.split_whitespace().map(found_in).sum() };
                before = "";
            }
        }
    }
    Size { text: LIMITS.length(units), bytes: html.0.len(), marks }
}

/// Bold, italic and the like are outside the count.
fn counts(tag: &str) -> bool {
    matches!(tag, "pre" | "code" | "blockquote") || tag.starts_with("a ") || tag.starts_with("code ")
}

/// Addresses of pages and mail in a word, rather one too many.
fn found_in(word: &str) -> usize {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let joins = |(at, sign): (usize, &str)| {
        letter(word[..at].chars().next_back()) && word[at + sign.len()..].starts_with(|c: char| c.is_alphabetic())
    };
    let addresses = word.matches("://").count();
    addresses.max(usize::from(word.match_indices(['.', '@']).any(joins)))
}

/// The same text for a send without `parse_mode`. Addresses follow their labels, as long as the text fits with them.
pub(crate) fn stripped(html: &Html) -> String {
    let with_addresses = without_tags(&html.0, true);
    if LIMITS.text.holds(LIMITS.measure(&with_addresses)) { with_addresses } else { without_tags(&html.0, false) }
}

fn without_tags(html: &str, addresses: bool) -> String {
    let mut text = String::with_capacity(html.len());
    let mut link = None;
    for piece in pieces(html) {
        match piece {
            Piece::Text(words) => text.push_str(&unescaped(words)),
            Piece::Tag("/a") => {
                let Some((start, address)) = link.take() else { continue };
                let address = unescaped(address);
                if addresses && is_web_address(&address) && text[start..].replace('\u{2060}', "") != address {
                    text.push_str(&format!(" ({address})"));
                }
            }
            Piece::Tag(tag) => {
                let address = tag.strip_prefix("a href=\"").and_then(|rest| rest.strip_suffix('"'));
                link = address.map(|address| (text.len(), address)).or(link);
            }
        }
    }
    text
}

enum Piece<'a> {
    /// Without its brackets.
    Tag(&'a str),
    Text(&'a str),
}

fn pieces(html: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = html;
    std::iter::from_fn(move || {
        let piece = match rest.strip_prefix('<').and_then(|inside| inside.split_once('>')) {
            Some((tag, after)) => {
                rest = after;
                Piece::Tag(tag)
            }
            None if rest.is_empty() => return None,
            None => {
                let (text, after) = rest.split_at(rest.find('<').filter(|&at| at > 0).unwrap_or(rest.len()));
                rest = after;
                Piece::Text(text)
            }
        };
        Some(piece)
    })
}

const ENTITIES: [(&str, &str); 4] = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];

fn length(text: &str) -> usize {
    let saved: usize = ENTITIES.iter().map(|(entity, _)| text.matches(entity).count() * (entity.len() - 1)).sum();
    LIMITS.measure(text).get().saturating_sub(saved)
}

/// The ampersand comes last, or an escaped entity would be unescaped twice.
fn unescaped(text: &str) -> String {
    ENTITIES.iter().fold(text.to_owned(), |text, (entity, meant)| text.replace(entity, meant))
}
