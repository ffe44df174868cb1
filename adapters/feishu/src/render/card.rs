//! A card of schema 2.0 that can be edited: Markdown with its code, cut only where a table is an element of its own.

use serde_json::{Map, Value, json};
use watchfloor_channel::text::{
    blocks::{self, Align, Block, Looks, Run, Span, Table, plain as words, runs},
    one_line,
};

use super::{
    escape::{self, Dialect},
    flow::{self, Piece},
};

/// Feishu refuses a card with more than about five, so the rest is shown as code.
const TABLES: usize = 3;
/// Of one table.
const COLUMNS: usize = 50;
/// Shown at once; the rest is behind a pager.
const ROWS: usize = 10;
/// The line in the list of chats.
const SUMMARY_CHARS: usize = 80;
const LONGEST_LANGUAGE: usize = 32;

pub(super) fn of(blocks: &[Block]) -> (Value, usize) {
    beginning_with(String::new(), blocks)
}

pub(super) fn addressed(to: &str, blocks: &[Block]) -> (Value, usize) {
    beginning_with(line(to), blocks)
}

fn beginning_with(mut markdown: String, blocks: &[Block]) -> (Value, usize) {
    let mut elements = Vec::new();
    let mut tables = 0;
    for piece in flow::pieces(blocks, Dialect::Card) {
        match piece {
            Piece::Markdown(text) => add(&mut markdown, &text),
            Piece::Code { info, text } => add(&mut markdown, &fence(info, text)),
            Piece::Table(native) if tables < TABLES && is_native(native) => {
                tables += 1;
                flush(&mut markdown, &mut elements);
                elements.push(table(native));
            }
            Piece::Table(surplus) => add(&mut markdown, &fence("", &blocks::aligned(surplus))),
        }
    }
    flush(&mut markdown, &mut elements);
    card(elements, &summary(blocks))
}

fn line(line: &str) -> String {
    let pieces = escape::pieces(line).into_iter().enumerate().map(|(n, piece)| match piece {
        escape::Piece::Words(words) => Dialect::Card.prose(words, n == 0),
        escape::Piece::Person(id) => format!("<at id={id}></at>"),
    });
    pieces.collect()
}

/// Nothing in it is markup but our own mentions.
pub(super) fn plain(text: &str) -> (Value, usize) {
    let text = text.trim();
    let mut elements = Vec::new();
    let mut markdown = text.lines().map(line).collect::<Vec<_>>().join("<br>");
    flush(&mut markdown, &mut elements);
    let summary: String = escape::pieces(text)
        .into_iter()
        .filter_map(|piece| match piece {
            escape::Piece::Words(words) => Some(words),
            escape::Piece::Person(_) => None,
        })
        .collect();
    card(elements, &summary)
}

fn card(elements: Vec<Value>, summary: &str) -> (Value, usize) {
    let parts = elements.len();
    let summary = escape::without_mentions(&one_line(summary, SUMMARY_CHARS));
    let card = json!({
        "schema": "2.0",
        "config": {"update_multi": true, "summary": {"content": summary}},
        "body": {"elements": elements},
    });
    (card, parts)
}

fn add(markdown: &mut String, text: &str) {
    if !markdown.is_empty() {
        markdown.push_str("\n\n");
    }
    markdown.push_str(text);
}

fn flush(markdown: &mut String, elements: &mut Vec<Value>) {
    let markdown = std::mem::take(markdown);
    if !markdown.trim().is_empty() {
        elements.push(json!({"tag": "markdown", "content": markdown}));
    }
}

/// Code can't hold its own end mark.
fn fence(info: &str, text: &str) -> String {
    let simple = |c: char| c.is_ascii_alphanumeric() || "+-_#".contains(c);
    let language = info.split_whitespace().next().unwrap_or_default();
    let language = if language.len() <= LONGEST_LANGUAGE && language.chars().all(simple) { language } else { "" };
    let code = escape::without_mentions(text.trim_end_matches('\n')).replace("```", "``\u{2060}`");
    format!("```{language}\n{code}\n```")
}

/// Rows without cells, or none at all, make Feishu refuse the card.
fn is_native(table: &Table) -> bool {
    (1..=COLUMNS).contains(&table.head.len()) && !table.rows.is_empty()
}

fn table(table: &Table) -> Value {
    let linked: Vec<bool> = (0..table.head.len())
        .map(|at| table.rows.iter().filter_map(|row| row.get(at)).any(|cell| has_link(cell)))
        .collect();
    let columns = table.head.iter().enumerate().map(|(at, head)| {
        let title = cell(head);
        json!({
            "name": format!("c{at}"),
            "display_name": if title.is_empty() { "–" } else { &title },
            "data_type": if linked[at] { "lark_md" } else { "text" },
            "horizontal_align": match table.align.get(at) {
                Some(Align::Right) => "right",
                Some(Align::Center) => "center",
                _ => "left",
            },
        })
    });
    let rows = table.rows.iter().map(|row| {
        let cells = row.iter().enumerate().take(linked.len());
        let cells = cells.map(|(at, spans)| {
            (format!("c{at}"), json!(if linked[at] { flow::line(spans, Dialect::Card) } else { cell(spans) }))
        });
        Value::Object(cells.collect::<Map<_, _>>())
    });
    json!({
        "tag": "table",
        "page_size": ROWS,
        "row_height": "low",
        "columns": columns.collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<_>>(),
    })
}

fn has_link(cell: &[Span]) -> bool {
    runs(cell, Looks::default()).iter().any(|run| matches!(run, Run::Link { .. }))
}

fn cell(spans: &[Span]) -> String {
    escape::without_mentions(&words(spans).split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The first words, whatever they are in.
fn summary(blocks: &[Block]) -> String {
    blocks
        .iter()
        .find_map(|block| match block {
            Block::Paragraph(spans) | Block::Heading { spans, .. } => Some(words(spans)),
            Block::List(list) => Some(summary(&list.items.first()?.blocks)),
            Block::Quote(blocks) => Some(summary(blocks)),
            Block::Code { text, .. } => text.lines().find(|line| !line.trim().is_empty()).map(str::to_owned),
            Block::Table(table) => table.head.first().map(|head| words(head)),
            Block::Rule => None,
        })
        .unwrap_or_default()
}
