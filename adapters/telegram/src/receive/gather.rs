//! Puts together what one person sent in pieces: a long paste, which the apps cut near 4,096 characters without any sign,
//! and albums. A pure state machine; whoever drives it tells the time and delivers what is whole.

use std::time::Duration;

use tokio::time::Instant;
use watchfloor_channel::{Addressed, Inbound, MessageId};

use super::frame::{self, Frame};
use crate::thread::Thread;

/// From here on a text may be a piece: the apps cut a little below the limit. UTF-16 units.
const LONG: usize = 3_400;
/// More are no paste but a flood.
const PIECES: usize = 32;
/// Waiting at the same time.
const HELD: usize = 256;
/// However the pieces trickle in, in units of the pause.
const LONGEST: u32 = 5;
/// The pieces of a paste are sent at once. What was said later only comes at the same time where there was an outage.
const APART_MS: u64 = 5_000;

/// A message, and what is waiting for its verdict.
#[derive(Debug)]
pub(crate) struct Piece<T> {
    /// Its own words and files.
    pub(crate) inbound: Inbound,
    pub(crate) frame: Frame,
    pub(crate) number: i32,
    pub(crate) album: Option<String>,
    /// Text length in UTF-16 units, as it was sent.
    pub(crate) units: usize,
    /// It names us, or is a command: the beginning of something.
    pub(crate) begins: bool,
    pub(crate) ticket: T,
}

/// One message, its pieces put together.
#[derive(Debug)]
pub(crate) struct Whole<T> {
    pub(crate) inbound: Inbound,
    /// The pieces after the first, as later calls name them.
    pub(crate) rest: Vec<MessageId>,
    pub(crate) tickets: Vec<T>,
}

impl Piece<()> {
    /// With what its verdict is for.
    pub(crate) fn with<T>(self, ticket: T) -> Piece<T> {
        let Self { inbound, frame, number, album, units, begins, ticket: () } = self;
        Piece { inbound, frame, number, album, units, begins, ticket }
    }

    /// As a message of its own.
    pub(crate) fn alone(self) -> Inbound {
        let mut inbound = self.inbound;
        let words = std::mem::take(&mut inbound.text);
        frame::put_together(&mut inbound, vec![(words, self.frame)]);
        inbound
    }
}

pub(crate) struct Gather<T> {
    pause: Duration,
    held: Vec<Held<T>>,
}

struct Held<T> {
    first: Piece<T>,
    more: Vec<Piece<T>>,
    /// Of pieces that came twice.
    spare: Vec<T>,
    since: Instant,
    due: Instant,
}

impl<T> Gather<T> {
    pub(crate) fn new(pause: Duration) -> Self {
        Self { pause, held: Vec::new() }
    }

    /// Whoever brought it brings it again.
    pub(crate) fn forget(&mut self) {
        self.held.clear();
    }

    /// What became whole by this piece, oldest first. Nothing: it is held.
    pub(crate) fn offer(&mut self, piece: Piece<T>, now: Instant) -> Vec<Whole<T>> {
        if let Some(at) = self.held.iter().position(|held| held.takes(&piece)) {
            let held = &mut self.held[at];
            held.take(piece);
            held.due = (now + self.pause).min(held.since + self.pause * LONGEST);
            return if held.more.len() + held.spare.len() + 1 < PIECES {
                Vec::new()
            } else {
                vec![self.held.remove(at).whole()]
            };
        }
        let mut whole = Vec::new();
        // Who says something else has ended what went before.
        while let Some(at) = self.held.iter().position(|held| held.is_beside(&piece)) {
            whole.push(self.held.remove(at).whole());
        }
        let waits = (piece.album.is_some() || piece.units >= LONG) && !self.pause.is_zero() && self.held.len() < HELD;
        let held = Held { first: piece, more: Vec::new(), spare: Vec::new(), since: now, due: now + self.pause };
        match waits {
            true => self.held.push(held),
            false => whole.push(held.whole()),
        }
        whole
    }

    /// A piece was changed before it was delivered, as link previews do at once. False: it isn't held here.
    pub(crate) fn edit(&mut self, edited: &Piece<()>) -> bool {
        let pieces = self.held.iter_mut().flat_map(|held| std::iter::once(&mut held.first).chain(&mut held.more));
        let Some(piece) = pieces.into_iter().find(|piece| piece.inbound.message == edited.inbound.message) else {
            return false;
        };
        // Perhaps it is only now that it is said to us.
        piece.inbound = Inbound { kind: piece.inbound.kind, ..edited.inbound.clone() };
        piece.frame.clone_from(&edited.frame);
        piece.begins = edited.begins;
        true
    }

    /// When something has to be taken out at the latest.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.held.iter().map(|held| held.due).min()
    }

    /// What waited long enough.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<Whole<T>> {
        let (due, held): (Vec<_>, _) = std::mem::take(&mut self.held).into_iter().partition(|held| held.due <= now);
        self.held = held;
        due.into_iter().map(Held::whole).collect()
    }
}

impl<T> Held<T> {
    fn pieces(&self) -> impl Iterator<Item = &Piece<T>> {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// The same person in the same place. A chain of replies is no place of its own: the pieces after the first answer
    /// nothing.
    fn is_beside(&self, piece: &Piece<T>) -> bool {
        let (held, new) = (&self.first.inbound, &piece.inbound);
        held.message.room == new.message.room && held.author.id == new.author.id && topic(held) == topic(new)
    }

    fn takes(&self, piece: &Piece<T>) -> bool {
        if !self.is_beside(piece) || self.first.album != piece.album {
            return false;
        }
        if self.pieces().any(|held| held.number == piece.number) {
            return true;
        }
        if piece.album.is_some() {
            return true;
        }
        // Requests overtake each other: the beginning may come after the rest.
        let begins = piece.begins || !piece.inbound.files.is_empty();
        let at = piece.inbound.sent_at;
        (!begins || piece.number < self.first.number)
            && self.pieces().any(|held| held.inbound.sent_at.abs_diff(at) <= APART_MS)
    }

    /// The lowest number stays the first.
    fn take(&mut self, mut piece: Piece<T>) {
        if self.pieces().any(|held| held.number == piece.number) {
            self.spare.push(piece.ticket);
            return;
        }
        if piece.number < self.first.number {
            std::mem::swap(&mut self.first, &mut piece);
        }
        let at = self.more.partition_point(|earlier| earlier.number < piece.number);
        self.more.insert(at, piece);
    }

    fn whole(self) -> Whole<T> {
        let addressed = self.pieces().map(|piece| piece.inbound.addressed).min_by_key(|addressed| rank(*addressed));
        let mut whole = Whole { inbound: self.first.inbound, rest: Vec::new(), tickets: vec![self.first.ticket] };
        let mut pieces = vec![(std::mem::take(&mut whole.inbound.text), self.first.frame)];
        for piece in self.more {
            whole.rest.push(piece.inbound.message);
            whole.tickets.push(piece.ticket);
            let Inbound { text, files, command, opens_with_other, .. } = piece.inbound;
            let inbound = &mut whole.inbound;
            inbound.files.extend(files);
            // The one caption of an album may be under any of its pictures.
            if pieces.iter().all(|(words, _)| words.is_empty()) {
                (inbound.command, inbound.opens_with_other) = (command, opens_with_other);
            }
            pieces.push((text, piece.frame));
        }
        frame::put_together(&mut whole.inbound, pieces);
        whole.tickets.extend(self.spare);
        whole.inbound.addressed = addressed.unwrap_or(whole.inbound.addressed);
        whole
    }
}

fn topic(inbound: &Inbound) -> Option<i32> {
    Thread::parse(&inbound.conversation.thread).and_then(Thread::topic)
}

fn rank(addressed: Addressed) -> u8 {
    match addressed {
        Addressed::Direct => 0,
        Addressed::Mention => 1,
        Addressed::Reply => 2,
        Addressed::Overheard => 3,
    }
}

#[cfg(test)]
mod tests;
