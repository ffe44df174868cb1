//! Looks for the best place to end one message.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::lines::{line_start, next_line};
use super::outline::Outline;
use super::seam::{Harm, Seam};
use super::{Limits, Part, Rest, Size};

/// How often the limit's place is guessed before the rest is halved.
const GUESSES: u32 = 6;

pub(super) struct Search<'a> {
    rest: &'a Rest,
    /// As much of the rest as was parsed.
    text: &'a str,
    outline: &'a Outline,
    limits: &'a Limits,
    measure: &'a dyn Fn(&str) -> Size,
    /// Somewhere behind the limit, if there is a limit in the text.
    near: usize,
    /// Grapheme boundaries up to about where the limit is.
    bounds: Vec<usize>,
}

pub(super) struct Cut {
    pub(super) end: usize,
    pub(super) seam: Seam,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        rest: &'a Rest,
        text: &'a str,
        outline: &'a Outline,
        limits: &'a Limits,
        measure: &'a dyn Fn(&str) -> Size,
    ) -> Self {
        let mut search = Self { rest, text, outline, limits, measure, near: 0, bounds: Vec::new() };
        let (near, size) = search.beyond_the_limit();
        let mut bounds: Vec<usize> = text[rest.lead..near]
            .grapheme_indices(true)
            .map(|(at, _)| rest.lead + at)
            .filter(|&at| at > rest.lead && !text[at..].starts_with('\n'))
            .collect();
        let reach = search.reach(&bounds, near, &size);
        bounds.truncate(reach);
        (search.near, search.bounds) = (near, bounds);
        search
    }

    /// Somewhere behind the limit, but not far: measuring the whole window again and again would be slow.
    fn beyond_the_limit(&self) -> (usize, Size) {
        let mut near = self.rest.lead + self.limits.text.get().min(self.limits.bytes).max(256);
        loop {
            let end = self.text.ceil_char_boundary(near);
            let size = (self.measure)(self.text[..end].trim_end());
            if end == self.text.len() || !self.limits.hold(&size) {
                return (end, size);
            }
            near = near.saturating_mul(2);
        }
    }

    /// How many of the bounds are within the limit. Each measurement tells where the limit should be; what goes on guessing
    /// too long is halved instead.
    fn reach(&self, bounds: &[usize], near: usize, size: &Size) -> usize {
        let (mut within, mut beyond) = (0, bounds.len());
        let expected = |at: usize, size: &Size| {
            let full = full_at(self.limits, at, size);
            bounds.partition_point(|&bound| bound < full)
        };
        let mut guess = expected(near, size);
        for tries in 0_u32.. {
            if within >= beyond {
                break;
            }
            let probe = if tries < GUESSES { guess.clamp(within, beyond - 1) } else { within.midpoint(beyond - 1) };
            let size = (self.measure)(self.text[..bounds[probe]].trim_end());
            match self.limits.hold(&size) {
                true => within = probe + 1,
                false => beyond = probe,
            }
            guess = expected(bounds[probe], &size);
        }
        within
    }

    /// All that is left, if it fits in one part. An open fence is closed.
    pub(super) fn whole(&self) -> Option<Part> {
        // Half of it is too long already.
        if self.text.len() > self.near.saturating_mul(2) {
            return None;
        }
        let close = self.outline.open_fence(self.text).map_or_else(String::new, |fence| fence.closing());
        let text = format!("{}{close}", self.text.trim_end());
        self.fits(&text).then_some(Part { text, lead: self.rest.lead, close: close.len() })
    }

    pub(super) fn part(&self, cut: &Cut) -> Part {
        let text = self.closed(cut.end, &cut.seam);
        Part { text, lead: self.rest.lead, close: cut.seam.close.len() }
    }

    /// Unharmed before harmed; then larger units before smaller ones, if the part is half full or the next unit fits
    /// whole in a part of its own.
    pub(super) fn best(&self) -> Option<Cut> {
        self.before_block()
            .or_else(|| self.before_item())
            .or_else(|| self.before_line(Harm::None))
            .or_else(|| self.after_sentence())
            .or_else(|| self.after_word(Harm::None))
            .or_else(|| self.before_line(Harm::Looks))
            .or_else(|| self.after_word(Harm::Looks))
            .or_else(|| self.anywhere(Harm::Looks))
            .or_else(|| self.anywhere(Harm::Meaning))
            .or_else(|| self.inside_first_grapheme())
    }

    fn before_block(&self) -> Option<Cut> {
        let blocks = &self.outline.blocks;
        let last = self.last_block()?;
        let end = blocks[last].range.end;
        // A heading stays with what it is about, unless nothing stands before it.
        let first = last - blocks[..last].iter().rev().take_while(|block| block.heading).count();
        [first, last].into_iter().find_map(|index| {
            let start = blocks[index].range.start;
            self.cut(start, Harm::None).filter(|cut| self.well_placed(cut, start..end))
        })
    }

    fn before_item(&self) -> Option<Cut> {
        let (blocks, items) = (&self.outline.blocks, &self.outline.items);
        let block = self.last_block().map_or(0, |last| blocks[last].range.start);
        let last = items.iter().rposition(|&item| item > block && self.cut(item, Harm::None).is_some())?;
        let item = items[last];
        let list_end = blocks.iter().find(|block| block.range.contains(&item)).map(|block| block.range.end);
        let end = items.get(last + 1).copied().into_iter().chain(list_end).min().unwrap_or(self.text.len());
        self.cut(item, Harm::None).filter(|cut| self.well_placed(cut, item..end))
    }

    /// The last block that something whole can end before.
    fn last_block(&self) -> Option<usize> {
        self.outline.blocks.iter().rposition(|block| self.cut(block.range.start, Harm::None).is_some())
    }

    fn before_line(&self, harm: Harm) -> Option<Cut> {
        let lines = self.bounds.iter().rev().filter(|&&at| self.text[..at].ends_with('\n'));
        let cut = lines.filter_map(|&at| self.cut(at, harm)).next()?;
        let line = cut.end..next_line(self.text, cut.end);
        Some(cut).filter(|cut| self.well_placed(cut, line))
    }

    fn after_sentence(&self) -> Option<Cut> {
        let reach = *self.bounds.last()?;
        let start = line_start(self.text, reach).max(self.rest.lead);
        let ends = self.text[start..reach].split_sentence_bound_indices().map(|(at, _)| start + at);
        let mut ends: Vec<usize> = ends.filter(|at| self.bounds.binary_search(at).is_ok()).collect();
        ends.reverse();
        let prose = |at: &usize| self.outline.fence_at(*at).is_none() && self.outline.table_at(*at).is_none();
        let cut = ends.into_iter().filter(prose).filter_map(|at| self.cut(at, Harm::None)).next()?;
        Some(cut).filter(|cut| self.is_half_full(cut.end))
    }

    fn after_word(&self, harm: Harm) -> Option<Cut> {
        let ends_word = |c: char| c.is_whitespace() || "，、；：。！？）】」』".contains(c);
        let words = self.bounds.iter().rev().filter(|&&at| self.text[..at].ends_with(ends_word));
        let cut = words.filter_map(|&at| self.cut(at, harm)).next()?;
        let next = self.text[cut.end..].find(ends_word).map_or(self.text.len(), |end| cut.end + end);
        let word = cut.end..next;
        Some(cut).filter(|cut| self.well_placed(cut, word))
    }

    fn anywhere(&self, harm: Harm) -> Option<Cut> {
        self.bounds.iter().rev().find_map(|&at| self.cut(at, harm))
    }

    fn inside_first_grapheme(&self) -> Option<Cut> {
        let body = self.text.get(self.rest.lead..)?;
        let first = body.graphemes(true).find(|grapheme| !grapheme.trim().is_empty())?;
        let start = self.rest.lead + body.find(first)?;
        let mut inside = first.char_indices().rev().map(|(at, _)| start + at);
        inside.find_map(|at| self.cut(at, Harm::Meaning))
    }

    fn well_placed(&self, cut: &Cut, next: Range<usize>) -> bool {
        self.is_half_full(cut.end) || self.fits(self.text[next].trim())
    }

    fn is_half_full(&self, end: usize) -> bool {
        let reach = self.bounds.last().map_or(0, |reach| reach - self.rest.lead);
        (end - self.rest.lead) * 2 >= reach
    }

    /// A cut at `end`, if both sides have something to say, the part fits and the harm is bearable.
    fn cut(&self, end: usize, bearable: Harm) -> Option<Cut> {
        if end <= self.rest.lead
            || self.bounds.last().is_some_and(|&reach| reach < end)
            || self.text[self.rest.lead..end].trim().is_empty()
            || self.rest.text[end..].trim().is_empty()
        {
            return None;
        }
        let half = self.limits.halved();
        let seam = Seam::at(self.text, self.outline, end, |again| half.hold(&(self.measure)(again)))?;
        if seam.harm > bearable {
            return None;
        }
        let part = self.closed(end, &seam);
        // Half a line can look like a fence that the whole line was not.
        let sound = || bearable == Harm::Meaning || Outline::of(&part).open_fence(&part).is_none();
        (self.fits(&part) && sound()).then_some(Cut { end, seam })
    }

    fn closed(&self, end: usize, seam: &Seam) -> String {
        format!("{}{}", self.text[..end].trim_end(), seam.close)
    }

    fn fits(&self, part: &str) -> bool {
        self.limits.hold(&(self.measure)(part))
    }
}

/// Where a message would be full if it went on as it did up to `at`.
fn full_at(limits: &Limits, at: usize, size: &Size) -> usize {
    let of = |limit: usize, used: usize| match used {
        0 => usize::MAX,
        used => at.saturating_mul(limit) / used,
    };
    of(limits.text.get(), size.text.get()).min(of(limits.bytes, size.bytes)).min(of(limits.marks, size.marks))
}
