//! What stands around a person's words: whose they were, and what they answer. Telegram tells it anew with each piece of a
//! message; people said it once. Pure.

use watchfloor_channel::{FileRef, Inbound};

use super::messages::is_stop;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Who wrote what is passed on.
    pub(crate) origin: Option<String>,
    /// What the message answers, as lines.
    pub(crate) quoted: Option<String>,
    /// The files of that.
    pub(crate) files: Vec<FileRef>,
}

/// The text and the files of one message, from the words of its pieces and what stands around them.
pub(crate) fn put_together(inbound: &mut Inbound, pieces: Vec<(String, Frame)>) {
    let bare = lines(pieces.iter().map(|(words, _)| words.as_str()));
    // Commands must stay what they are: nothing is added to them.
    if inbound.command.is_some() || is_stop(&bare) {
        inbound.text = bare;
        return;
    }
    let mut written = Vec::new();
    let mut quotes = Vec::new();
    let mut latest = None;
    for (words, Frame { origin, quoted, files }) in pieces {
        if latest != origin {
            written.extend(origin.as_ref().map(|origin| format!("[forwarded from {origin}]")));
        }
        latest = origin;
        written.push(words);
        quotes.extend(quoted.filter(|quoted| !quotes.contains(quoted)));
        for file in files {
            if inbound.files.iter().all(|known| known.id != file.id) {
                inbound.files.push(file);
            }
        }
    }
    let said = lines(written.iter().map(String::as_str));
    let parts: Vec<_> = std::iter::once(said).chain(quotes).filter(|part| !part.is_empty()).collect();
    inbound.text = parts.join("\n\n");
}

fn lines<'a>(pieces: impl Iterator<Item = &'a str>) -> String {
    pieces.filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("\n")
}
