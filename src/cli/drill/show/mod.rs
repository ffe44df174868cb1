//! How a drill is watched: as a live view in a terminal, line by line where standard output is something else, or not at
//! all. All three look at the same scenes, whatever platform these come from.

mod draw;
mod lines;
mod scene;
mod screen;
mod wrap;

use self::{lines::Lines, screen::Screen};
pub(super) use scene::{Line, Look, Numbers, Pane, Piece, Scene, Shown, Who};

pub(super) enum Show {
    Screen(Box<Screen>),
    Lines(Lines),
    Nothing,
}

impl Show {
    pub(super) fn nothing() -> Self {
        Self::Nothing
    }

    /// In lines where no live view is possible.
    pub(super) fn open(title: String) -> Self {
        if screen::wanted() {
            match Screen::open(title.clone()) {
                Ok(screen) => return Self::Screen(Box::new(screen)),
                Err(error) => tracing::debug!(%error, "no live view"),
            }
        }
        Self::in_lines(title)
    }

    fn in_lines(title: String) -> Self {
        Self::Lines(Lines::new(title))
    }

    /// In lines, and only what is new after this.
    pub(super) fn in_lines_from(scene: Scene) -> Self {
        Self::Lines(Lines::from(&scene))
    }

    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Shows what is new. Answers whether somebody at the keyboard wants the drill to end.
    pub(super) fn look(&mut self, scene: Scene, numbers: Numbers) -> bool {
        match self {
            Self::Screen(screen) => {
                screen.draw(scene, numbers);
                screen.asked_to_end()
            }
            Self::Lines(lines) => {
                lines.print(&scene);
                false
            }
            Self::Nothing => false,
        }
    }

    /// Gives the terminal back. The threads stay readable in it.
    pub(super) fn close(self) {
        if let Self::Screen(screen) = self {
            screen.close();
        }
    }
}
