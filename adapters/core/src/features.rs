//! What a platform can do, as data. A caller picks a form that fits instead of calling and hoping.

use std::time::Duration;

use crate::text::Limits;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Features {
    /// What one message that can be edited again can hold, measured on what is really sent.
    pub limits: Limits,
    /// Messages of ours can be edited.
    pub edits: bool,
    /// Edits of one message in its whole life; `None` = no limit.
    pub edit_budget: Option<u32>,
    /// Time to leave between edits of one message.
    pub edit_gaps: Gaps,
    /// What the platform counts. A message needs room in every budget that counts it.
    pub budgets: Vec<Budget>,
    pub threads: bool,
    /// [`crate::Body::Ask`] has buttons; else it is only its text.
    pub buttons: bool,
    /// Files of ours can be posted ([`crate::Body::File`]).
    pub files: bool,
    pub reactions: bool,
    /// How often [`crate::ChannelAdapter::typing`] has to be repeated while a turn runs; `None` = there is no such sign.
    pub typing: Option<Duration>,
    pub repeats: Repeats,
}

/// How a post whose answer was lost is kept from standing there twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// [`crate::ChannelAdapter::find`] tells whether it arrived.
    LookedUp,
    /// Repeated with its key within this time it is the same message.
    Merged(Duration),
    /// The platform can't tell: it is repeated once, rather twice than not at all.
    Blind,
}

/// `first` after the post, each one longer than the one before, up to `longest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gaps {
    pub first: Duration,
    /// 100 = always the same.
    pub growth_percent: u32,
    pub longest: Duration,
}

impl Gaps {
    pub const fn constant(gap: Duration) -> Self {
        Self { first: gap, growth_percent: 100, longest: gap }
    }

    /// The gap before the next edit, after so many.
    pub fn after(&self, edits: u32) -> Duration {
        let mut gap = self.first;
        for _ in 0..edits {
            if gap >= self.longest || self.growth_percent <= 100 {
                break;
            }
            gap = gap.saturating_mul(self.growth_percent) / 100;
        }
        gap.min(self.longest)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub counts: Counted,
    pub scope: Scope,
    pub quota: Quota,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Posts,
    /// Deletions too.
    Edits,
    All,
}

/// Narrow before wide: a wait that the platform asks for holds the narrowest scope that counts the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Each room for itself.
    Room,
    /// Each room for itself, private ones not counted ([`crate::ChannelAdapter::is_private`]).
    Group,
    Account,
}

/// So many in so much time, with bursts up to `burst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    pub count: u32,
    pub per: Duration,
    pub burst: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_grow_to_the_longest() {
        let seconds = |gaps: Gaps| (0..6).map(|edits| gaps.after(edits).as_millis()).collect::<Vec<_>>();
        let growing =
            Gaps { first: Duration::from_secs(2), growth_percent: 150, longest: Duration::from_millis(9_500) };
        assert_eq!(seconds(growing), [2_000, 3_000, 4_500, 6_750, 9_500, 9_500]);
        assert_eq!(seconds(Gaps::constant(Duration::from_secs(3))), [3_000; 6]);
    }
}
