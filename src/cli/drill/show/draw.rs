//! Draws a scene: panes side by side where there is room for it, else one above the other; in each the newest part of
//! its thread; the numbers at the bottom.

use std::time::Duration;

use ratatui::{
    Frame,
    layout::{Constraint, Direction, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line as Row, Span, Text},
    widgets::{Block, Borders, Paragraph},
};
use unicode_width::UnicodeWidthStr;

use super::{
    scene::{Line, Look, Numbers, Pane, Piece, Scene, Shown, Who},
    wrap::wrap,
};

/// A pane that is narrower reads badly, one that is lower shows nothing.
const WIDE_ENOUGH: u16 = 46;
const HIGH_ENOUGH: u16 = 8;
const INDENT: &str = "  ";

pub(super) fn draw(frame: &mut Frame<'_>, title: &str, scene: &Scene, numbers: &Numbers) {
    let rows = [Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)];
    let [top, middle, bottom] = Layout::vertical(rows).areas(frame.area());
    frame.render_widget(Row::styled(title, Style::new().add_modifier(Modifier::BOLD)), top);
    let began = scene.began();
    let panes = fitting(&scene.panes, middle);
    for (pane, place) in panes.iter().zip(places(panes.len(), middle)) {
        let frame_of = Block::new().borders(Borders::ALL).border_style(dim()).title(format!(" {} ", pane.title));
        let inside = frame_of.inner(place);
        let lines = thread(pane, began, usize::from(inside.width));
        let newest = lines.len().saturating_sub(usize::from(inside.height));
        frame.render_widget(frame_of, place);
        frame.render_widget(Paragraph::new(Text::from(lines[newest..].to_vec())), inside);
    }
    frame.render_widget(Row::styled(status(scene, numbers), dim()), bottom);
}

/// Those that were changed last, if there is no room for all.
fn fitting(panes: &[Pane], area: Rect) -> Vec<&Pane> {
    let room = usize::from((area.width / WIDE_ENOUGH).max(1)) * usize::from((area.height / HIGH_ENOUGH).max(1));
    let mut newest: Vec<_> = panes.iter().enumerate().collect();
    newest.sort_by_key(|(_, pane)| std::cmp::Reverse(pane.changed()));
    newest.truncate(room);
    newest.sort_by_key(|(index, _)| *index);
    newest.into_iter().map(|(_, pane)| pane).collect()
}

/// A grid with as many columns as are wide enough.
fn places(count: usize, area: Rect) -> Vec<Rect> {
    if count == 0 {
        return Vec::new();
    }
    let columns = usize::from((area.width / WIDE_ENOUGH).max(1)).min(count);
    let rows = count.div_ceil(columns);
    let split = |direction, count: usize, area| {
        Layout::new(direction, vec![Constraint::Fill(1); count]).split(area).iter().copied().collect::<Vec<_>>()
    };
    let mut places = Vec::new();
    for (index, row) in split(Direction::Vertical, rows, area).into_iter().enumerate() {
        let here = columns.min(count - index * columns);
        places.extend(split(Direction::Horizontal, here, row));
    }
    places
}

fn status(scene: &Scene, numbers: &Numbers) -> String {
    let counted = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let parts = [
        format!("{:.1} s", numbers.elapsed.as_secs_f64()),
        counted(scene.edits(), "edit"),
        counted(numbers.model_calls, "model call"),
        counted(numbers.tool_calls, "tool call"),
        counted(numbers.workers, "worker"),
        "ctrl-c ends it".to_owned(),
    ];
    parts.join(" · ")
}

/// A whole thread in lines of this width.
pub(super) fn thread(pane: &Pane, began: Duration, width: usize) -> Vec<Row<'static>> {
    let mut lines = Vec::new();
    for (index, shown) in pane.messages.iter().enumerate() {
        if index > 0 {
            lines.push(Row::default());
        }
        message(shown, began, width, &mut lines);
    }
    lines
}

fn message(shown: &Shown, began: Duration, width: usize, lines: &mut Vec<Row<'static>>) {
    let colour = match shown.who {
        Who::Person => Color::Cyan,
        Who::Us => Color::Green,
        Who::OtherBot => Color::Yellow,
    };
    let since = |at: Duration| format!("{:.1} s", at.saturating_sub(began).as_secs_f64());
    let mut when = format!("  {}", since(shown.at));
    if shown.edits > 0 {
        when.push_str(&format!(", edited {}× until {}", shown.edits, since(shown.changed)));
    }
    let author = Style::new().fg(colour).add_modifier(Modifier::BOLD);
    lines.push(Row::from(vec![Span::styled(shown.author.clone(), author), Span::styled(when, dim())]));
    let room = width.saturating_sub(INDENT.width());
    for line in &shown.text {
        lines.extend(wrap(line, room).into_iter().map(row));
    }
    if !shown.buttons.is_empty() {
        let look = Look { bold: true, ..Look::default() };
        let named: Vec<_> = shown.buttons.iter().map(|name| format!("[ {name} ]")).collect();
        let line = vec![Piece { text: named.join("  "), look }];
        lines.extend(wrap(&line, room).into_iter().map(row));
    }
}

fn row(line: Line) -> Row<'static> {
    let spans = line.into_iter().map(|piece| Span::styled(piece.text, style(piece.look)));
    Row::from_iter([Span::raw(INDENT)].into_iter().chain(spans))
}

fn style(look: Look) -> Style {
    let mut style = Style::new();
    for (on, modifier) in
        [(look.bold, Modifier::BOLD), (look.italic, Modifier::ITALIC), (look.struck, Modifier::CROSSED_OUT)]
    {
        if on {
            style = style.add_modifier(modifier);
        }
    }
    match look {
        Look { code: true, .. } => style.fg(Color::Magenta),
        Look { link: true, .. } => style.fg(Color::Blue),
        Look { quote: true, .. } => style.add_modifier(Modifier::DIM),
        _ => style,
    }
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

#[cfg(test)]
mod tests {
    use ratatui::{Terminal, backend::TestBackend};

    use super::*;
    use crate::cli::drill::platform::mrkdwn;

    fn shown(id: &str, author: &str, who: Who, at: u64, text: &str) -> Shown {
        let at = Duration::from_millis(at);
        let text = mrkdwn::lines(text, &|_| None);
        Shown { id: id.into(), author: author.into(), who, at, changed: at, edits: 0, text, buttons: Vec::new() }
    }

    fn incident() -> Pane {
        let answer = "*What is known:* order-api runs out of database connections 🔥. The deploy of `v2.41.0` halved its \
                      pool.\n\n• 20 of 20 are in use [E5]\n• 接続プールがいっぱいです\n<https://deploys.example/1841|the deploy>";
        let mut ours = shown("3", "watchfloor", Who::Us, 1020, answer);
        ours.edits = 5;
        ours.changed = Duration::from_millis(7300);
        ours.buttons = vec!["Approve".into(), "Deny".into()];
        let messages = vec![
            shown("1", "alerts", Who::OtherBot, 1000, "[FIRING:1] OrderApi5xxRatio"),
            shown("2", "Maya", Who::Person, 1010, "@watchfloor why does the order service answer 502?"),
            ours,
        ];
        Pane { title: "Slack #ops".into(), messages }
    }

    fn second() -> Pane {
        let messages = vec![shown("1", "Jon", Who::Person, 2000, "@watchfloor is `db-2` slow?")];
        Pane { title: "Telegram infra".into(), messages }
    }

    const NUMBERS: Numbers =
        Numbers { elapsed: Duration::from_millis(7400), model_calls: 6, tool_calls: 9, workers: 1 };

    fn screen(width: u16, height: u16, panes: Vec<Pane>) -> TestBackend {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let scene = Scene { panes };
        terminal.draw(|frame| draw(frame, "checkout-502: 502s after a deploy", &scene, &NUMBERS)).unwrap();
        terminal.backend().clone()
    }

    #[test]
    fn one_thread_has_the_whole_screen() {
        insta::assert_snapshot!(screen(60, 18, vec![incident()]));
    }

    #[test]
    fn two_platforms_stand_side_by_side_where_there_is_room() {
        insta::assert_snapshot!(screen(100, 18, vec![incident(), second()]));
    }

    #[test]
    fn two_platforms_stand_above_each_other_where_it_is_narrow() {
        insta::assert_snapshot!(screen(50, 24, vec![incident(), second()]));
    }

    #[test]
    fn a_long_thread_shows_its_end_and_a_tiny_terminal_shows_what_it_can() {
        insta::assert_snapshot!(screen(40, 9, vec![incident(), second()]));
        for (width, height) in [(1, 1), (2, 3), (5, 4), (0, 0)] {
            screen(width, height, vec![incident(), second()]);
        }
    }
}
