//! Lines that are typed, if standard input is a terminal.

use std::io::{self, BufRead, IsTerminal};

use tokio::sync::mpsc;

/// Nobody types faster than they are said.
const WAITING: usize = 8;

pub(super) enum Typed {
    Line(String),
    /// ctrl-d
    End,
}

/// Nothing where nobody types.
pub(super) fn listen() -> Option<mpsc::Receiver<String>> {
    if !io::stdin().is_terminal() {
        return None;
    }
    let (lines, typed) = mpsc::channel(WAITING);
    // A thread of its own: reading can't be cancelled, and at the end nobody waits for it.
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if lines.blocking_send(line).is_err() {
                return;
            }
        }
    });
    Some(typed)
}

/// Waits for ever where nobody types.
pub(super) async fn next(typed: &mut Option<mpsc::Receiver<String>>) -> Typed {
    match typed {
        Some(lines) => lines.recv().await.map_or(Typed::End, Typed::Line),
        None => std::future::pending().await,
    }
}
