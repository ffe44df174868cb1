//! The cap on what enters a model's context: the head and the tail of a long result, and where the rest is.

/// Room for the line in the middle.
const NOTICE: usize = 200;

/// Where the whole text can be read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whole<'a> {
    At(&'a str),
    /// It could not be kept.
    Lost,
}

/// At most `cap` characters (but never less than the notice needs). Offsets are characters of the whole text.
pub(super) fn cut(text: &str, cap: usize, whole: Whole<'_>) -> String {
    let total = text.chars().count();
    if total <= cap {
        return text.to_owned();
    }
    let kept = cap.saturating_sub(NOTICE);
    // What a tool says first sums up the rest; what comes last is the newest.
    let head = kept - kept / 4;
    let tail = kept - head;
    let first: String = text.chars().take(head).collect();
    let last: String = text.chars().skip(total - tail).collect();
    let rest = match whole {
        Whole::At(id) => format!("read_result(id=\"{id}\", offset={head}) gives the rest"),
        Whole::Lost => "the rest could not be stored".to_owned(),
    };
    format!("{first}\n… cut: {kept} of {total} characters shown; {rest} …\n{last}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_text_keeps_head_and_tail_and_points_to_the_rest() {
        let text: String = (0..500).map(|i| char::from(b'a' + (i % 26) as u8)).collect();
        let shown = cut(&text, 240, Whole::At("E3"));
        assert_eq!(
            shown,
            format!(
                "{}\n… cut: 40 of 500 characters shown; read_result(id=\"E3\", offset=30) gives the rest …\n{}",
                &text[..30],
                &text[490..]
            )
        );
        assert_eq!(cut("short", 240, Whole::Lost), "short");
    }

    proptest! {
        #[test]
        fn nothing_is_longer_than_the_cap(text in ".{0,900}", cap in 200_usize..800) {
            prop_assert!(cut(&text, cap, Whole::At("0192f0c1-2345-7890-abcd-ef0123456789")).chars().count() <= cap);
            prop_assert!(cut(&text, cap, Whole::Lost).chars().count() <= cap);
        }
    }
}
