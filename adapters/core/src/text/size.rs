//! How long a rendered message is, and how long it may be. Adapters measure what they would really send; the splitter only
//! compares.

use std::ops::AddAssign;

use crate::TextUnit;

/// So much text in some [`TextUnit`]. A type of its own, so that it can't be mixed up with bytes or places in a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Length(usize);

impl Length {
    pub const ZERO: Self = Self(0);

    /// A limit, as a platform names it. A text's length comes from [`TextUnit::measure`].
    pub const fn new(units: usize) -> Self {
        Self(units)
    }

    pub const fn get(self) -> usize {
        self.0
    }

    #[must_use]
    pub const fn less(self, units: usize) -> Self {
        Self(self.0.saturating_sub(units))
    }
}

impl AddAssign for Length {
    fn add_assign(&mut self, more: Self) {
        self.0 = self.0.saturating_add(more.0);
    }
}

/// A message as a platform would count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// What is seen, in the unit of the [`Limits`] it is held against. Zero: there is nothing to see, and nothing is sent.
    pub text: Length,
    /// What goes over the wire, markup and escapes included.
    pub bytes: usize,
    /// Whatever else is counted: entities, elements.
    pub marks: usize,
}

/// What one message can hold; all of it at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub text: Length,
    pub unit: TextUnit,
    pub bytes: usize,
    pub marks: usize,
}

impl Limits {
    /// Where only the text counts.
    pub const fn of_text(units: usize, unit: TextUnit) -> Self {
        Self { text: Length(units), unit, bytes: usize::MAX, marks: usize::MAX }
    }

    pub const fn hold(&self, size: &Size) -> bool {
        size.text.0 <= self.text.0 && size.bytes <= self.bytes && size.marks <= self.marks
    }

    /// For what may take up half a message at most.
    #[must_use]
    pub const fn halved(&self) -> Self {
        Self { text: Length(self.text.0 / 2), unit: self.unit, bytes: self.bytes / 2, marks: self.marks / 2 }
    }

    /// Room kept for something that is added later.
    #[must_use]
    pub const fn less(&self, size: &Size) -> Self {
        Self {
            text: self.text.less(size.text.0),
            unit: self.unit,
            bytes: self.bytes.saturating_sub(size.bytes),
            marks: self.marks.saturating_sub(size.marks),
        }
    }
}

impl Size {
    /// Where only the text counts.
    pub const fn of_text(text: Length) -> Self {
        Self { text, bytes: 0, marks: 0 }
    }

    /// Where either may be sent.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { text: self.text.max(other.text), bytes: self.bytes.max(other.bytes), marks: self.marks.max(other.marks) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_held_only_if_every_limit_holds_it() {
        let limits = Limits { text: Length(10), unit: TextUnit::Utf16, bytes: 30, marks: 2 };
        let size = Size { text: Length(10), bytes: 30, marks: 2 };
        assert!(limits.hold(&size));
        for over in [Size { text: Length(11), ..size }, Size { bytes: 31, ..size }, Size { marks: 3, ..size }] {
            assert!(!limits.hold(&over), "{over:?}");
        }
        assert_eq!(limits.halved(), Limits { text: Length(5), unit: TextUnit::Utf16, bytes: 15, marks: 1 });
        assert_eq!(
            limits.less(&Size { text: Length(4), bytes: 40, marks: 1 }),
            Limits { text: Length(6), unit: TextUnit::Utf16, bytes: 0, marks: 1 }
        );
        let larger = Size { text: Length(1), bytes: 50, marks: 3 };
        assert_eq!(size.or(larger), Size { text: Length(10), bytes: 50, marks: 3 });
        assert!(Limits::of_text(3, TextUnit::Chars).hold(&Size::of_text(TextUnit::Chars.measure("错误!"))));
    }
}
