//! Breaks lines of pieces to a width in cells: at spaces where it can, inside a word where it must, never inside a
//! character that is two cells wide or made of several code points.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::scene::{Line, Look, Piece};

/// `width` is at least 2, or a wide character would fit nowhere; less counts as 2.
pub(super) fn wrap(line: &[Piece], width: usize) -> Vec<Line> {
    let width = width.max(2);
    let mut done: Vec<Line> = Vec::new();
    let mut row = Row::default();
    for word in words(line) {
        let cells = word.parts.iter().map(|(text, _)| text.width()).sum::<usize>();
        if row.cells + cells > width && word.space {
            // The break stands for it.
            done.push(row.take());
            continue;
        }
        if row.cells + cells > width && row.cells > 0 && (cells <= width || row.cells + 2 > width) {
            done.push(row.take());
        }
        for (text, look) in word.parts {
            for grapheme in text.graphemes(true) {
                let cells = grapheme.width();
                if row.cells + cells > width {
                    done.push(row.take());
                }
                row.push(grapheme, look, cells);
            }
        }
    }
    if !row.line.is_empty() || done.is_empty() {
        done.push(row.take());
    }
    done
}

/// What stays together: letters and signs up to the next space, in however many looks; or spaces.
struct Word<'a> {
    space: bool,
    parts: Vec<(&'a str, Look)>,
}

fn words(line: &[Piece]) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    for piece in line {
        let mut rest = piece.text.as_str();
        while let Some(first) = rest.chars().next() {
            let space = first.is_whitespace();
            let (part, after) = rest.split_at(rest.find(|c: char| c.is_whitespace() != space).unwrap_or(rest.len()));
            match words.last_mut() {
                Some(last) if last.space == space => last.parts.push((part, piece.look)),
                _ => words.push(Word { space, parts: vec![(part, piece.look)] }),
            }
            rest = after;
        }
    }
    words
}

#[derive(Default)]
struct Row {
    line: Line,
    cells: usize,
}

impl Row {
    fn push(&mut self, text: &str, look: Look, cells: usize) {
        self.cells += cells;
        match self.line.last_mut() {
            Some(last) if last.look == look => last.text.push_str(text),
            _ => self.line.push(Piece { text: text.to_owned(), look }),
        }
    }

    fn take(&mut self) -> Line {
        self.cells = 0;
        let mut line = std::mem::take(&mut self.line);
        if let Some(last) = line.last_mut() {
            last.text.truncate(last.text.trim_end().len());
        }
        line.retain(|piece| !piece.text.is_empty());
        line
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(text: &str) -> Line {
        vec![Piece { text: text.to_owned(), look: Look::default() }]
    }

    fn texts(rows: &[Line]) -> Vec<String> {
        rows.iter().map(|row| row.iter().map(|piece| piece.text.as_str()).collect()).collect()
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_inside() {
        assert_eq!(texts(&wrap(&plain("one two three"), 8)), ["one two", "three"]);
        assert_eq!(texts(&wrap(&plain("abcdefghij k"), 4)), ["abcd", "efgh", "ij k"]);
        assert_eq!(texts(&wrap(&plain(""), 4)), [""]);
        assert_eq!(texts(&wrap(&plain("データベース"), 5)), ["デー", "タベ", "ース"]);
        assert_eq!(texts(&wrap(&plain("👩‍🚒👩‍🚒 ok"), 4)), ["👩‍🚒👩‍🚒", "ok"]);
        let code = Piece { text: "max".to_owned(), look: Look { code: true, ..Look::default() } };
        let line = [plain("it is"), vec![code], plain(", [E1]")].concat();
        assert_eq!(texts(&wrap(&line, 8)), ["it", "ismax,", "[E1]"]);
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_the_width_and_no_word_is_lost(text in "[a-z 語é👩‍🚒]{0,60}", width in 2..20usize) {
            let rows = texts(&wrap(&plain(&text), width));
            prop_assert!(rows.iter().all(|row| row.width() <= width), "{rows:?}");
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(letters(&rows.concat()), letters(&text));
        }
    }
}
