//! What the asker should be looking at now: interim text and what is being done. Latest wins.

use tokio::sync::watch;

/// Lines shown at most; older finished ones leave first.
const LINES: usize = 8;
const LINE_CHARS: usize = 120;
/// Interim text stays well under every platform's limit.
const NOTE_CHARS: usize = 2000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View {
    /// Stays above everything else.
    heading: Option<String>,
    /// The newest thing the coordinator told the asker.
    note: String,
    lines: Vec<Line>,
    /// Grows with every change.
    pub(super) version: u64,
    /// The newest version that should be shown without waiting for the usual gap.
    pub(super) urgent: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    key: String,
    text: String,
    state: LineState,
    /// A worker's, which ends it: the call that sent it may return before.
    handed_over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineState {
    Running,
    Done,
    Failed,
}

impl View {
    /// CommonMark. Headlines are shown as code: they hold queries, which must not turn into markup.
    pub(super) fn render(&self) -> String {
        let mut text = match &self.heading {
            Some(heading) => format!("{heading}\n\n{}", self.note),
            None => self.note.clone(),
        };
        if !self.lines.is_empty() {
            text.push('\n');
        }
        for line in &self.lines {
            let sign = match line.state {
                LineState::Running => "⏳",
                LineState::Done => "✓",
                LineState::Failed => "✗",
            };
            text.push_str(&format!("\n- {sign} `{}`", line.text));
        }
        text
    }
}

/// The writing end, shared by a turn and its workers.
#[derive(Clone, Debug)]
pub(super) struct Progress(watch::Sender<View>);

impl Progress {
    pub(super) fn new(note: String) -> Self {
        Self(watch::Sender::new(View { heading: None, note, lines: Vec::new(), version: 0, urgent: 0 }))
    }

    /// What everything stands under, for good.
    pub(super) fn under(self, heading: Option<String>) -> Self {
        self.0.send_modify(|view| view.heading = heading);
        self
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<View> {
        self.0.subscribe()
    }

    /// Replaces the interim text, to be shown at once. Returns the version that holds it.
    pub(super) fn say(&self, text: &str) -> u64 {
        let mut version = 0;
        self.0.send_modify(|view| {
            view.note = watchfloor_channel::text::shorten(text.trim(), NOTE_CHARS).into_owned();
            view.version += 1;
            view.urgent = view.version;
            version = view.version;
        });
        version
    }

    pub(super) fn start(&self, key: &str, text: &str) {
        let text = watchfloor_channel::text::one_line(text, LINE_CHARS).replace('`', "'");
        self.0.send_modify(|view| {
            match view.lines.iter_mut().find(|line| line.key == key) {
                Some(line) => line.text = text,
                None => {
                    view.lines.push(Line { key: key.to_owned(), text, state: LineState::Running, handed_over: false })
                }
            }
            while view.lines.len() > LINES {
                let oldest = view.lines.iter().position(|line| line.state != LineState::Running).unwrap_or(0);
                view.lines.remove(oldest);
            }
            view.version += 1;
        });
    }

    pub(super) fn end(&self, key: &str, state: LineState) {
        self.finish(key, false, "", state);
    }

    /// From now on the line is a worker's.
    pub(super) fn hand_over(&self, key: &str) {
        self.0.send_if_modified(|view| {
            view.lines.iter_mut().filter(|line| line.key == key).for_each(|line| line.handed_over = true);
            false
        });
    }

    /// Of a line that was handed over, with how long it took.
    pub(super) fn end_after(&self, key: &str, seconds: i64, state: LineState) {
        self.finish(key, true, &format!(" ({seconds} s)"), state);
    }

    fn finish(&self, key: &str, handed_over: bool, remark: &str, state: LineState) {
        self.0.send_if_modified(|view| {
            let running = |line: &&mut Line| {
                line.key == key && line.state == LineState::Running && line.handed_over == handed_over
            };
            let Some(line) = view.lines.iter_mut().find(running) else { return false };
            line.state = state;
            line.text.push_str(remark);
            view.version += 1;
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_shows_the_newest_note_and_each_line_once() {
        let progress = Progress::new("Looking…".into());
        progress.start("a", "query_promql: up");
        progress.start("b", "worker: starts");
        progress.end("a", LineState::Done);
        progress.start("b", "worker: `rate(x[5m])`");
        progress.start("c", "disk: query_promql");
        progress.hand_over("c");
        progress.end("c", LineState::Done);
        progress.end_after("c", 12, LineState::Failed);
        let urgent = progress.say("Asking the investigator.");
        let view = progress.subscribe().borrow().clone();
        assert_eq!(
            view.render(),
            "Asking the investigator.\n\n- ✓ `query_promql: up`\n- ⏳ `worker: 'rate(x[5m])'`\n\
             - ✗ `disk: query_promql (12 s)`"
        );
        assert_eq!((view.version, view.urgent), (7, urgent));
    }

    #[test]
    fn old_finished_lines_make_room_for_running_ones() {
        let progress = Progress::new(String::new());
        progress.start("first", "still running");
        for n in 0..20 {
            progress.start(&n.to_string(), &format!("call {n}"));
            progress.end(&n.to_string(), LineState::Done);
        }
        let text = progress.subscribe().borrow().render();
        assert!(text.contains("⏳ `still running`") && text.contains("call 19") && !text.contains("call 3`"), "{text}");
    }
}
