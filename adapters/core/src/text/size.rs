//! How long a rendered message is, and how long it may be. Adapters measure what they would really send; the splitter only
//! compares.

/// The unit in which a platform counts text. Mixing them up is a classic cause of refused messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextUnit {
    Bytes,
    Utf16,
    Chars,
}

impl TextUnit {
    pub fn measure(self, text: &str) -> Length {
        self.length(match self {
            Self::Bytes => text.len(),
            Self::Utf16 => text.encode_utf16().count(),
            Self::Chars => text.chars().count(),
        })
    }

    /// A limit, as a platform names it, or a length that was counted elsewhere.
    pub const fn length(self, units: usize) -> Length {
        Length { units, unit: self }
    }
}

/// So much text in a unit that it carries along. Platforms are chosen while we run, so no compiler can tell their units
/// apart; instead lengths have no order, and one in another unit fits nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    units: usize,
    unit: TextUnit,
}

impl Length {
    pub const fn get(self) -> usize {
        self.units
    }

    pub const fn is_zero(self) -> bool {
        self.units == 0
    }

    /// Never what is counted in another unit.
    pub fn holds(self, text: Self) -> bool {
        self.unit == text.unit && text.units <= self.units
    }

    /// The shorter one; nothing if they can't be compared.
    #[must_use]
    pub fn or_less(self, other: Self) -> Self {
        Self { units: if self.unit == other.unit { self.units.min(other.units) } else { 0 }, ..self }
    }

    /// The longer one; more than any limit if they can't be compared.
    #[must_use]
    fn or_more(self, other: Self) -> Self {
        Self { units: if self.unit == other.unit { self.units.max(other.units) } else { usize::MAX }, ..self }
    }

    /// What is left; nothing if they can't be compared.
    #[must_use]
    fn less(self, other: Self) -> Self {
        Self { units: if self.unit == other.unit { self.units.saturating_sub(other.units) } else { 0 }, ..self }
    }
}

/// A message as a platform would count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// What is seen. Zero: there is nothing to see, and nothing is sent.
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
    pub bytes: usize,
    pub marks: usize,
}

impl Limits {
    /// Where only the text counts.
    pub const fn of_text(text: Length) -> Self {
        Self { text, bytes: usize::MAX, marks: usize::MAX }
    }

    /// In the unit in which the text is limited.
    pub fn measure(&self, text: &str) -> Length {
        self.text.unit.measure(text)
    }

    /// The same for what was counted already.
    pub const fn length(&self, units: usize) -> Length {
        self.text.unit.length(units)
    }

    pub fn hold(&self, size: &Size) -> bool {
        self.text.holds(size.text) && size.bytes <= self.bytes && size.marks <= self.marks
    }

    /// For what may take up half a message at most.
    #[must_use]
    pub const fn halved(&self) -> Self {
        Self { text: self.length(self.text.units / 2), bytes: self.bytes / 2, marks: self.marks / 2 }
    }

    /// Room kept for something that is added later.
    #[must_use]
    pub fn less(&self, size: &Size) -> Self {
        Self {
            text: self.text.less(size.text),
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
        Self {
            text: self.text.or_more(other.text),
            bytes: self.bytes.max(other.bytes),
            marks: self.marks.max(other.marks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UTF16: TextUnit = TextUnit::Utf16;

    #[test]
    fn a_message_is_held_only_if_every_limit_holds_it() {
        let limits = Limits { text: UTF16.length(10), bytes: 30, marks: 2 };
        let size = Size { text: UTF16.length(10), bytes: 30, marks: 2 };
        assert!(limits.hold(&size));
        for over in [Size { text: UTF16.length(11), ..size }, Size { bytes: 31, ..size }, Size { marks: 3, ..size }] {
            assert!(!limits.hold(&over), "{over:?}");
        }
        assert_eq!(limits.halved(), Limits { text: UTF16.length(5), bytes: 15, marks: 1 });
        assert_eq!(
            limits.less(&Size { text: UTF16.length(4), bytes: 40, marks: 1 }),
            Limits { text: UTF16.length(6), bytes: 0, marks: 1 }
        );
        let larger = Size { text: UTF16.length(1), bytes: 50, marks: 3 };
        assert_eq!(size.or(larger), Size { text: UTF16.length(10), bytes: 50, marks: 3 });
        let limits = Limits::of_text(TextUnit::Chars.length(3));
        assert!(limits.hold(&Size::of_text(limits.measure("错误!"))));
    }

    #[test]
    fn what_is_counted_in_another_unit_fits_nowhere() {
        let limits = Limits::of_text(UTF16.length(4_096));
        let size = |unit: TextUnit| Size::of_text(unit.measure("错误"));
        assert!(limits.hold(&size(UTF16)));
        for other in [TextUnit::Bytes, TextUnit::Chars] {
            assert!(!limits.hold(&size(other)), "{other:?}");
            assert!(!limits.hold(&size(UTF16).or(size(other))), "{other:?}");
            assert!(!limits.less(&size(other)).hold(&size(UTF16)), "{other:?}");
            assert_eq!(limits.text.or_less(other.length(9)), UTF16.length(0), "{other:?}");
        }
    }
}
