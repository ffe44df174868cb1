//! Cuts a persona file into front matter and body. What the front matter means is `yaml`'s and `parse`'s business.

use super::problem::{Code, Place};

/// Larger files are refused unread.
pub const MAX_BYTES: usize = 256 * 1024;

/// The parts of a file; `yaml` begins on line 2 of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    pub(super) yaml: &'a str,
    /// Byte for byte what follows the closing marker's line.
    pub(super) body: &'a str,
}

/// Why a file could not be cut or its YAML not be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) place: Place,
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) hint: &'static str,
}

impl Fault {
    pub(super) fn new(place: Place, code: Code, message: impl Into<String>, hint: &'static str) -> Self {
        Self { place, code, message: message.into(), hint }
    }
}

pub(super) fn split(bytes: &[u8]) -> Result<Parts<'_>, Fault> {
    if bytes.len() > MAX_BYTES {
        let message = format!("the file has more than {} KB", MAX_BYTES / 1024);
        return Err(Fault::new(Place::TOP, Code::TooLarge, message, "move long material to a document or a skill"));
    }
    let text = str::from_utf8(bytes).map_err(|error| {
        let place = place_of(&String::from_utf8_lossy(&bytes[..error.valid_up_to()]));
        Fault::new(place, Code::NotUtf8, "the file isn't UTF-8 text", "save it as UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (first, rest) = cut_line(text);
    if !is_marker(first) {
        return Err(Fault::new(
            Place::TOP,
            Code::NoFrontMatter,
            "the first line isn't `---`",
            "begin the file with a line `---`, then `name:` and `description:`, then another line `---`",
        ));
    }
    let mut after = rest;
    while !after.is_empty() {
        let (line, next) = cut_line(after);
        if is_marker(line) {
            return Ok(Parts { yaml: &rest[..rest.len() - after.len()], body: next });
        }
        after = next;
    }
    Err(Fault::new(
        Place::TOP,
        Code::FrontMatterOpen,
        "no line `---` ends the front matter",
        "put a line with only `---` between the front matter and the instructions",
    ))
}

/// The line without its end, and what follows it.
fn cut_line(text: &str) -> (&str, &str) {
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    (line.strip_suffix('\r').unwrap_or(line), rest)
}

fn is_marker(line: &str) -> bool {
    line.trim_end_matches([' ', '\t']) == "---"
}

/// The place right after `before`.
pub(super) fn place_of(before: &str) -> Place {
    let last = before.rsplit('\n').next().unwrap_or_default();
    Place { line: before.matches('\n').count() + 1, column: last.trim_start_matches('\u{feff}').chars().count() + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts<'a>(yaml: &'a str, body: &'a str) -> Result<Parts<'a>, Fault> {
        Ok(Parts { yaml, body })
    }

    #[test]
    fn markers_may_have_trailing_blanks_and_any_line_end() {
        for (file, yaml, body) in [
            ("---\na: 1\n---\nbody\n", "a: 1\n", "body\n"),
            ("--- \t\na: 1\n---  \nbody", "a: 1\n", "body"),
            ("---\r\na: 1\r\n---\r\n\r\nbody\r\n", "a: 1\r\n", "\r\nbody\r\n"),
            ("---\na: 1\r\n---\nx\r\ny\n", "a: 1\r\n", "x\r\ny\n"),
            ("\u{feff}---\na: 1\n---", "a: 1\n", ""),
            ("---\n---", "", ""),
        ] {
            assert_eq!(split(file.as_bytes()), parts(yaml, body), "{file:?}");
        }
    }

    #[test]
    fn dashes_elsewhere_are_text() {
        let file = "---\na: |\n  ---\nb: --- x\n----\n---\none\n---\ntwo";
        assert_eq!(split(file.as_bytes()), parts("a: |\n  ---\nb: --- x\n----\n", "one\n---\ntwo"));
    }

    #[test]
    fn the_first_bad_byte_is_named() {
        let fault = split(b"---\nname: a\n---\n\xc3\xa4b\xff").unwrap_err();
        assert_eq!((fault.code, fault.place), (Code::NotUtf8, Place { line: 4, column: 3 }));
    }
}
