//! What a file is, by what it says and what it holds: a text, a picture, or neither. The bytes have the last word: an archive
//! that is called a log is still an archive. Pure.

use watchfloor_channel::FileRef;

/// Longest text that is kept.
const TEXT_BYTES: usize = 1 << 20;
/// What the providers take, and what still fits once it is written in base64.
const PICTURE_BYTES: usize = 3 << 20;
/// Control characters among so many others mean that it is no text.
const CONTROLS_PER_THOUSAND: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text(String),
    /// With its media type.
    Picture(&'static str),
    /// Why it can't be shown to a model.
    Neither(String),
}

/// How much of it is worth fetching; or why nothing is.
pub(super) fn limit(file: &FileRef) -> Result<usize, String> {
    let media_type = file.media_type.to_ascii_lowercase();
    let (kind, rest) = media_type.split_once('/').unwrap_or((&media_type, ""));
    if matches!(kind, "audio" | "video" | "font") {
        return Err(format!("{kind} can't be read here"));
    }
    if matches!(rest, "zip" | "gzip" | "x-tar" | "x-7z-compressed" | "pdf") {
        return Err(format!(
            "a {} can't be read here; its text, pasted or attached, can",
            rest.trim_start_matches("x-")
        ));
    }
    let limit = if kind == "image" { PICTURE_BYTES } else { TEXT_BYTES };
    match usize::try_from(file.bytes) {
        Ok(bytes) if bytes <= limit => Ok(limit),
        _ => Err(too_long(limit)),
    }
}

pub(super) fn too_long(limit: usize) -> String {
    format!("it is longer than {}; the part that matters can be read", size(limit as u64))
}

pub(super) fn kind(file: &FileRef, content: &[u8]) -> Kind {
    if content.is_empty() {
        return Kind::Neither("it is empty".to_owned());
    }
    if let Some(picture) = picture(content) {
        return Kind::Picture(picture);
    }
    if let Some(what) = known(content) {
        return Kind::Neither(format!("its content is {what}, whatever its name says"));
    }
    if content.len() > TEXT_BYTES {
        return Kind::Neither(too_long(TEXT_BYTES));
    }
    match text(file, content) {
        Some(text) if text.trim().is_empty() => Kind::Neither("it is empty".to_owned()),
        Some(text) => Kind::Text(text),
        None => Kind::Neither("its content is no text".to_owned()),
    }
}

fn picture(content: &[u8]) -> Option<&'static str> {
    match content {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// What people attach by mistake or under another name.
fn known(content: &[u8]) -> Option<&'static str> {
    let starts = |magic: &[u8]| content.starts_with(magic);
    if starts(b"PK\x03\x04") || starts(b"PK\x05\x06") {
        Some("a zip archive")
    } else if starts(b"\x1f\x8b") {
        Some("a gzip archive")
    } else if starts(b"%PDF-") {
        Some("a PDF")
    } else if starts(b"\x7fELF") {
        Some("a program")
    } else {
        None
    }
}

/// UTF-8, or UTF-16 that says so. Old systems write Latin-1, which can't be told from noise: only what is declared as text is
/// read so.
fn text(file: &FileRef, content: &[u8]) -> Option<String> {
    let utf16 = |read: fn([u8; 2]) -> u16| {
        let (pairs, rest) = content[2..].as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| read(*pair)).collect();
        rest.is_empty().then(|| String::from_utf16(&units).ok()).flatten()
    };
    let text = match content {
        [0xff, 0xfe, ..] => utf16(u16::from_le_bytes)?,
        [0xfe, 0xff, ..] => utf16(u16::from_be_bytes)?,
        _ => match std::str::from_utf8(content) {
            Ok(text) => text.trim_start_matches('\u{feff}').to_owned(),
            Err(_) if says_text(file) => content.iter().map(|byte| char::from(*byte)).collect(),
            Err(_) => return None,
        },
    };
    let total = text.chars().count();
    // Colours of a terminal are at home in a log.
    let odd = text.chars().filter(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{1b}' | '\u{c}')).count();
    (!text.contains('\0') && odd * 1000 <= total * CONTROLS_PER_THOUSAND).then_some(text)
}

fn says_text(file: &FileRef) -> bool {
    const ENDINGS: [&str; 12] = ["log", "txt", "csv", "json", "yaml", "yml", "toml", "conf", "ini", "xml", "md", "sql"];
    let ending = file.name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    file.media_type.starts_with("text/") || ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

/// As a person says it.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KB", bytes.div_ceil(1024)),
        _ => {
            let tenths = bytes.saturating_mul(10) / 1_048_576;
            if tenths.is_multiple_of(10) {
                format!("{} MB", tenths / 10)
            } else {
                format!("{}.{} MB", tenths / 10, tenths % 10)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(name: &str, media_type: &str, bytes: u64) -> FileRef {
        FileRef { id: "F1".into(), name: name.into(), media_type: media_type.into(), bytes, url: None }
    }

    fn named(name: &str, content: &[u8]) -> Kind {
        kind(&file(name, "", 0), content)
    }

    #[test]
    fn the_content_decides_and_not_the_name() {
        let text = |text: &str| Kind::Text(text.to_owned());
        let neither = |what: &str| Kind::Neither(format!("its content is {what}, whatever its name says"));
        let no_text = Kind::Neither("its content is no text".to_owned());
        for (name, content, expected) in [
            ("a.log", b"pool exhausted\n".as_slice(), text("pool exhausted\n")),
            ("a.log", "\u{feff}Größe".as_bytes(), text("Größe")),
            ("a.log", b"\x1b[31mred\x1b[0m", text("\u{1b}[31mred\u{1b}[0m")),
            ("a.log", b"\xff\xfea\0b\0", text("ab")),
            ("a.log", b"\xfe\xff\0a\0b", text("ab")),
            ("a.log", b"Gr\xf6\xdfe", text("Größe")),
            ("picture.png", b"just words", text("just words")),
            ("unknown", b"Gr\xf6\xdfe", no_text.clone()),
            ("a.log", b"a\0b", no_text.clone()),
            ("a.log", b"\xff\xfea\0b", no_text.clone()),
            ("a.log", b"\x01\x02\x03\x04\x05", no_text),
            ("a.log", b"PK\x03\x04rest", neither("a zip archive")),
            ("a.log", b"%PDF-1.7", neither("a PDF")),
            ("a.log", b"\x7fELF\x02", neither("a program")),
            ("a.log.gz", b"\x1f\x8b\x08", neither("a gzip archive")),
            ("a.log", b"\x89PNG\r\n\x1a\nrest", Kind::Picture("image/png")),
            ("a", b"\xff\xd8\xff\xe0", Kind::Picture("image/jpeg")),
            ("a", b"GIF89a..", Kind::Picture("image/gif")),
            ("a", b"RIFF\x10\0\0\0WEBPVP8 ", Kind::Picture("image/webp")),
            ("a.log", b"", Kind::Neither("it is empty".into())),
            ("a.log", b" \n", Kind::Neither("it is empty".into())),
        ] {
            assert_eq!(named(name, content), expected, "{name} {content:?}");
        }
    }

    #[test]
    fn what_is_not_worth_fetching_is_known_before() {
        for (name, media_type, bytes, expected) in [
            ("a.log", "text/plain", 5_120, Ok(1 << 20)),
            ("a.png", "image/png", 2 << 20, Ok(3 << 20)),
            ("a.log", "text/plain", 2 << 20, Err("it is longer than 1 MB; the part that matters can be read")),
            ("a.mp4", "video/mp4", 10, Err("video can't be read here")),
            ("a.pdf", "application/pdf", 10, Err("a pdf can't be read here; its text, pasted or attached, can")),
        ] {
            assert_eq!(limit(&file(name, media_type, bytes)), expected.map_err(str::to_owned), "{name} {bytes}");
        }
    }

    #[test]
    fn sizes_are_said_as_people_say_them() {
        let sizes = [0, 15, 5_120, 5_121, 1 << 20, 3 << 19].map(size);
        assert_eq!(sizes, ["0 bytes", "15 bytes", "5 KB", "6 KB", "1 MB", "1.5 MB"]);
        assert!(size(u64::MAX).ends_with(" MB"));
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_kind_and_a_text_has_no_nul(content in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Kind::Text(text) = named("a.log", &content) {
                prop_assert!(!text.contains('\0'));
            }
        }
    }
}
