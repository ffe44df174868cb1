//! How long a rendered message is, and how long it may be. Adapters measure what they would really send; the splitter only
//! compares.

use crate::TextUnit;

/// A message as a platform would count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// What is seen, in the unit of the [`Limits`] it is held against. 0: there is nothing to see, and nothing is sent.
    pub text: usize,
    /// What goes over the wire, markup and escapes included.
    pub bytes: usize,
    /// Whatever else is counted: entities, elements.
    pub marks: usize,
}

/// What one message can hold; all of it at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub text: usize,
    pub unit: TextUnit,
    pub bytes: usize,
    pub marks: usize,
}

impl Limits {
    /// Where only the text counts.
    pub const fn of_text(text: usize, unit: TextUnit) -> Self {
        Self { text, unit, bytes: usize::MAX, marks: usize::MAX }
    }

    pub const fn hold(&self, size: &Size) -> bool {
        size.text <= self.text && size.bytes <= self.bytes && size.marks <= self.marks
    }

    /// For what may take up half a message at most.
    #[must_use]
    pub const fn halved(&self) -> Self {
        Self { text: self.text / 2, unit: self.unit, bytes: self.bytes / 2, marks: self.marks / 2 }
    }

    /// Room kept for something that is added later.
    #[must_use]
    pub const fn less(&self, size: &Size) -> Self {
        Self {
            text: self.text.saturating_sub(size.text),
            unit: self.unit,
            bytes: self.bytes.saturating_sub(size.bytes),
            marks: self.marks.saturating_sub(size.marks),
        }
    }
}

impl Size {
    /// Where only the text counts.
    pub const fn of_text(text: usize) -> Self {
        Self { text, bytes: 0, marks: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_held_only_if_every_limit_holds_it() {
        let limits = Limits { text: 10, unit: TextUnit::Utf16, bytes: 30, marks: 2 };
        let size = Size { text: 10, bytes: 30, marks: 2 };
        assert!(limits.hold(&size));
        for over in [Size { text: 11, ..size }, Size { bytes: 31, ..size }, Size { marks: 3, ..size }] {
            assert!(!limits.hold(&over), "{over:?}");
        }
        assert_eq!(limits.halved(), Limits { text: 5, unit: TextUnit::Utf16, bytes: 15, marks: 1 });
        assert_eq!(
            limits.less(&Size { text: 4, bytes: 40, marks: 1 }),
            Limits { text: 6, unit: TextUnit::Utf16, bytes: 0, marks: 1 }
        );
        assert!(Limits::of_text(3, TextUnit::Chars).hold(&Size::of_text(3)));
    }
}
