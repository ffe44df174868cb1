//! What there is to see of a drill at one moment, whatever platform it is on: panes with messages, and the numbers below.

use std::time::Duration;

/// Everything on show.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in super::super) struct Scene {
    pub panes: Vec<Pane>,
}

/// One thread of one platform.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in super::super) struct Pane {
    pub title: String,
    /// Oldest first.
    pub messages: Vec<Shown>,
}

/// A message as it reads now.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Shown {
    /// Unique among all panes.
    pub id: String,
    pub author: String,
    pub who: Who,
    /// Since the platform was started, when it was posted and when it last changed.
    pub at: Duration,
    pub changed: Duration,
    pub edits: usize,
    pub text: Vec<Line>,
    pub buttons: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Who {
    Person,
    Us,
    OtherBot,
}

/// One line of text as its author broke it.
pub(in super::super) type Line = Vec<Piece>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Piece {
    pub text: String,
    pub look: Look,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Look {
    pub bold: bool,
    pub italic: bool,
    pub struck: bool,
    pub code: bool,
    pub link: bool,
    pub quote: bool,
}

/// The numbers of the line at the bottom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Numbers {
    pub elapsed: Duration,
    pub model_calls: usize,
    pub tool_calls: usize,
    pub workers: usize,
}

impl Scene {
    /// Changes of messages so far.
    pub(in super::super) fn edits(&self) -> usize {
        let ours = self.panes.iter().flat_map(|pane| &pane.messages).filter(|message| message.who == Who::Us);
        ours.map(|message| message.edits).sum()
    }

    /// When the first message was said: what times are told from.
    pub(in super::super) fn began(&self) -> Duration {
        self.panes.iter().flat_map(|pane| &pane.messages).map(|message| message.at).min().unwrap_or_default()
    }
}

impl Pane {
    pub(in super::super) fn changed(&self) -> Duration {
        self.messages.iter().map(|message| message.changed).max().unwrap_or_default()
    }
}
