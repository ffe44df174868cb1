//! The list of personas that the coordinator chooses from, kept small because every request carries it.

use super::{Persona, Registry};

/// All of the catalog, in bytes.
const MAX_BYTES: usize = 2048;
/// What `when_to_use` may take of a line, in characters.
const MAX_WHEN_CHARS: usize = 160;

const HEADING: &str = "Match the question against each line; the persona whose line fits it best is the one to send.";

/// One line per persona that can be sent, in the order of their names.
pub fn catalog(registry: &Registry) -> String {
    catalog_within(registry, MAX_BYTES)
}

/// The same in at most so many bytes, if they hold at least the first names.
pub fn catalog_within(registry: &Registry, bytes: usize) -> String {
    let bytes = bytes.min(MAX_BYTES);
    let lines: Vec<(usize, String)> =
        registry.spawnables().map(|persona| (persona.name.len(), line(persona))).collect();
    if lines.is_empty() {
        return "There is no persona to send; answer yourself.".to_owned();
    }
    // Lines get shorter together until all fit; only when names alone are too many, the last ones go.
    let fits = |chars: usize| written(&lines, chars).len() <= bytes;
    if fits(MAX_BYTES) {
        return written(&lines, MAX_BYTES);
    }
    let (mut fitting, mut too_long) = (0, MAX_BYTES);
    while fitting + 1 < too_long {
        let middle = usize::midpoint(fitting, too_long);
        if fits(middle) { fitting = middle } else { too_long = middle }
    }
    if fits(fitting) { written(&lines, fitting) } else { names(&lines, bytes) }
}

/// As many names as there is room for, without anything else.
fn names(lines: &[(usize, String)], bytes: usize) -> String {
    let mut text = HEADING.to_owned();
    let room = bytes.saturating_sub(100);
    let fitting = lines.iter().take_while(|(name, line)| {
        let fits = text.len() + 1 + name <= room;
        if fits {
            text.push('\n');
            text.push_str(&line[..*name]);
        }
        fits
    });
    let left = lines.len() - fitting.count();
    format!("{text}\n({left} more; a wrong name is answered with the right ones)")
}

/// A line is cut to `chars`, but never within its name.
fn written(lines: &[(usize, String)], chars: usize) -> String {
    let mut text = HEADING.to_owned();
    for (name, line) in lines {
        text.push('\n');
        text.push_str(&shorten(line, chars.max(*name)));
    }
    text
}

fn line(persona: &Persona) -> String {
    let mut line = format!("{}: {}", persona.name, one_line(&persona.description));
    if let Some(when) = &persona.when_to_use {
        line.push_str(" — ");
        line.push_str(&when_line(when));
    }
    line
}

/// The first line of `when_to_use`, or, where that says nothing by itself, as much as fits of it and the next ones.
fn when_line(when: &str) -> String {
    let mut lines = when.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    if vague(when).is_none() {
        return first.to_owned();
    }
    let mut joined = first.to_owned();
    for line in lines {
        let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
        joined.push_str(if item.is_some() && !joined.ends_with(':') { "; " } else { " " });
        joined.push_str(item.unwrap_or(line).trim());
    }
    shorten(&joined, MAX_WHEN_CHARS)
}

/// Why the first line of a `when_to_use` can't stand alone.
pub(super) fn vague(when: &str) -> Option<&'static str> {
    let first = when.lines().map(str::trim).find(|line| !line.is_empty())?;
    if first.ends_with([':', '：']) {
        Some("ends in a colon")
    } else if words(first) < 3 {
        Some("has fewer than three words")
    } else if first.chars().count() > MAX_WHEN_CHARS {
        Some("is longer than 160 characters")
    } else {
        None
    }
}

/// Chinese, Japanese and Korean write no spaces: there each character counts.
fn words(text: &str) -> usize {
    let spaceless =
        |c: &char| matches!(u32::from(*c), 0x2e80..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x20000..=0x3ffff);
    text.split_whitespace().map(|word| word.chars().filter(spaceless).count().max(1)).sum()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shorten(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end_matches([' ', ',', ';', ':', '-', '—']))
}
