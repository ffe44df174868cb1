//! What a platform can do, as data. A caller picks a form that fits instead of calling and hoping.

use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features {
    /// Longest text of one message that can be edited again, in `unit`, measured on what is really sent.
    pub max_text: usize,
    pub unit: TextUnit,
    /// Messages of ours can be edited.
    pub edits: bool,
    /// Edits of one message in its whole life; `None` = no limit.
    pub edit_budget: Option<u32>,
    /// Shortest time between two edits of one message.
    pub min_edit_gap: Duration,
    /// New messages, counted per room.
    pub posts: Quota,
    /// Edits, counted over all rooms of the account.
    pub account_edits: Quota,
    pub threads: bool,
    pub buttons: bool,
    /// Files of ours can be posted ([`crate::Body::File`]).
    pub files: bool,
    pub reactions: bool,
    /// [`crate::ChannelAdapter::find`] can tell whether a post arrived.
    pub finds_posts: bool,
}

/// So many in so much time, with bursts up to `burst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    pub count: u32,
    pub per: Duration,
    pub burst: u32,
}

/// The unit in which a platform counts text. Mixing them up is a classic cause of refused messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextUnit {
    Bytes,
    Utf16,
    Chars,
}

impl TextUnit {
    pub fn measure(self, text: &str) -> usize {
        match self {
            Self::Bytes => text.len(),
            Self::Utf16 => text.encode_utf16().count(),
            Self::Chars => text.chars().count(),
        }
    }
}
