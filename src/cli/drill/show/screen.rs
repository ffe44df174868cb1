//! The live view's terminal: entered, drawn to, asked for keys, and given back whatever happens.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use ratatui::{
    DefaultTerminal,
    crossterm::{
        event::{self, Event, KeyCode, KeyEventKind, KeyModifiers},
        style::{PrintStyledContent, StyledContent},
    },
};

use super::{
    draw,
    scene::{Numbers, Scene},
};

/// Without a size of its own a terminal gets this.
const USUAL_WIDTH: usize = 80;

pub(in super::super) struct Screen {
    terminal: DefaultTerminal,
    title: String,
    last: Option<(Scene, Numbers)>,
}

/// Whether standard output is a terminal that can be drawn on and wants to be.
pub(super) fn wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    io::stdout().is_terminal() && !dumb && !set("NO_COLOR")
}

impl Screen {
    /// Its panic hook gives the terminal back before the panic is told.
    pub(super) fn open(title: String) -> io::Result<Self> {
        // What fails half-way leaves no raw terminal behind.
        let terminal = ratatui::try_init().inspect_err(|_| drop(ratatui::try_restore()))?;
        Ok(Self { terminal, title, last: None })
    }

    /// A terminal that can't be written to any more is no reason to end the drill.
    pub(super) fn draw(&mut self, scene: Scene, numbers: Numbers) {
        let title = &self.title;
        if let Err(error) = self.terminal.draw(|frame| draw::draw(frame, title, &scene, &numbers)) {
            tracing::debug!(%error, "the terminal can't be drawn on");
        }
        self.last = Some((scene, numbers));
    }

    /// Whether the person at the keyboard wants it to end. In raw mode ctrl-c is a key like others.
    pub(super) fn asked_to_end(&self) -> bool {
        while event::poll(Duration::ZERO).unwrap_or(false) {
            let Ok(event) = event::read() else { return false };
            if let Event::Key(key) = event
                && key.kind != KeyEventKind::Release
            {
                let control = key.modifiers.contains(KeyModifiers::CONTROL);
                if matches!(
                    (key.code, control),
                    (KeyCode::Char('c'), true) | (KeyCode::Char('q'), false) | (KeyCode::Esc, _)
                ) {
                    return true;
                }
            }
        }
        false
    }

    /// Gives the terminal back, and leaves the threads as they stand in its history.
    pub(super) fn close(mut self) {
        let width = self.terminal.size().map_or(USUAL_WIDTH, |size| usize::from(size.width));
        let (title, last) = (std::mem::take(&mut self.title), self.last.take());
        drop(self);
        if let Some((scene, _)) = last {
            // Nobody may be there any more.
            let _ = write(&mut io::stdout().lock(), &title, &scene, width);
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

fn write(out: &mut impl Write, title: &str, scene: &Scene, width: usize) -> io::Result<()> {
    use ratatui::{backend::IntoCrossterm, crossterm::QueueableCommand};
    writeln!(out, "{title}")?;
    for pane in &scene.panes {
        writeln!(out, "\n{}", pane.title)?;
        for line in draw::thread(pane, scene.began(), width) {
            for span in line.spans {
                let style = span.style.into_crossterm();
                out.queue(PrintStyledContent(StyledContent::new(style, span.content)))?;
            }
            writeln!(out)?;
        }
    }
    writeln!(out)?;
    out.flush()
}
