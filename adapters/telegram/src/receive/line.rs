//! Updates in the order they came, and up to where all of them are done: only so far may Telegram forget them. Pure.

use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(crate) struct Line(VecDeque<(i64, bool)>);

impl Line {
    /// False: it is in the line already.
    pub(crate) fn came(&mut self, update: i64) -> bool {
        let new = self.0.iter().all(|(known, _)| *known != update);
        if new {
            self.0.push_back((update, false));
        }
        new
    }

    pub(crate) fn done(&mut self, update: i64) {
        for (known, done) in &mut self.0 {
            *done |= *known == update;
        }
    }

    /// Takes out what is done from the front; the offset that confirms it.
    pub(crate) fn confirm(&mut self) -> Option<i64> {
        let mut offset = None;
        while let Some((update, true)) = self.0.front() {
            offset = Some(update.saturating_add(1));
            self.0.pop_front();
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_confirmed_beyond_what_still_waits() {
        let mut line = Line::default();
        assert_eq!(line.confirm(), None);
        assert!([7, 8, 9].map(|update| line.came(update)).iter().all(|new| *new));
        assert!(!line.came(8));
        line.done(7);
        line.done(9);
        assert_eq!(line.confirm(), Some(8));
        assert_eq!(line.confirm(), None);
        assert!(!line.came(9));
        line.done(8);
        assert_eq!(line.confirm(), Some(10));
        assert!(line.came(3));
        line.done(3);
        assert_eq!(line.confirm(), Some(4), "Telegram numbers anew after a quiet week");
    }
}
