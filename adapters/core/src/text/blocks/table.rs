//! A table as lines of text, for platforms without tables. Fencing it is the renderer's.

use unicode_width::UnicodeWidthStr;

use super::{Align, Span, Table, plain};

/// A longer cell sticks out. Padding every row to it would make a small table huge.
const WIDEST_COLUMN: usize = 80;

/// Columns padded to their display width: wide characters count twice. Breaks inside cells become spaces.
pub fn aligned(table: &Table) -> String {
    let head: Vec<String> = table.head.iter().map(|cell| words(cell)).collect();
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(|cell| words(cell)).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0).max(head.len());
    let widths: Vec<usize> = (0..columns)
        .map(|at| rows.iter().chain([&head]).filter_map(|row| row.get(at)).map(|cell| cell.width()).max().unwrap_or(0))
        .map(|width| width.min(WIDEST_COLUMN))
        .collect();
    let line = |cells: &[String]| {
        let padded = widths.iter().enumerate().map(|(at, &width)| {
            let align = table.align.get(at).copied().unwrap_or(Align::Left);
            pad(cells.get(at).map_or("", String::as_str), width, align)
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
    let body = rows.iter().map(|row| line(row));
    [line(&head), line(&rule)].into_iter().chain(body).collect::<Vec<_>>().join("\n")
}

/// Columns of the widest line on a screen.
pub fn width(text: &str) -> usize {
    text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0)
}

fn words(cell: &[Span]) -> String {
    plain(cell).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn pad(text: &str, width: usize, align: Align) -> String {
    let room = width.saturating_sub(text.width());
    let left = match align {
        Align::Left => 0,
        Align::Center => room / 2,
        Align::Right => room,
    };
    format!("{}{text}{}", " ".repeat(left), " ".repeat(room - left))
}

#[cfg(test)]
mod tests {
    use super::super::{Block, parse};
    use super::*;

    fn drawn(markdown: &str) -> String {
        let blocks = parse(markdown);
        let [Block::Table(table)] = blocks.as_slice() else { panic!("one table, not {blocks:?}") };
        aligned(table)
    }

    #[test]
    fn columns_line_up_by_what_is_seen() {
        assert_eq!(
            drawn(
                "| host | load | state |\n|---|---:|:-:|\n| web-1 | 0.5 | **up** |\n| db | 19.25 | [down](https://e.org) |"
            ),
            "host    load  state\n\
             -----  -----  -----\n\
             web-1    0.5   up\n\
             db     19.25  down"
        );
        assert_eq!(
            drawn("| 服务 | n |\n|---|--:|\n| 支付 | 1 |\n| a<br>b | 22 |\n| é | |"),
            "服务   n\n\
             ----  --\n\
             支付   1\n\
             a b   22\n\
             é"
        );
        let long = drawn(&format!("| a | b |\n|---|---|\n| {} | c |\n| d | e |", "x".repeat(200)));
        assert_eq!(long.lines().map(UnicodeWidthStr::width).collect::<Vec<_>>(), [83, 83, 203, 83]);
        assert_eq!(width("a\n错误率\n"), 6);
    }
}
