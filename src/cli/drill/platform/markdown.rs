//! Markdown made readable, for platforms that take it as it is.

use watchfloor_channel::text::blocks::{Block, Item, Span, aligned, parse};

use super::super::show::{Line, Look, Piece};

pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    blocks(&parse(text), "", Look::default(), &mut lines);
    lines
}

fn blocks(blocks: &[Block], indent: &str, look: Look, into: &mut Vec<Line>) {
    for (n, block) in blocks.iter().enumerate() {
        if n > 0 && indent.is_empty() {
            into.push(Line::new());
        }
        match block {
            Block::Paragraph(spans) => paragraph(spans, indent, look, into),
            Block::Heading { spans, .. } => paragraph(spans, indent, Look { bold: true, ..look }, into),
            Block::Quote(inside) => self::blocks(inside, &format!("{indent}│ "), Look { quote: true, ..look }, into),
            Block::Code { text, .. } => verbatim(text, indent, into),
            Block::Table(table) => verbatim(&aligned(table), indent, into),
            Block::Rule => into.push(vec![Piece { text: format!("{indent}———"), look }]),
            Block::List(list) => {
                for (item, nth) in list.items.iter().zip(list.start.unwrap_or_default()..) {
                    self::item(
                        item,
                        &list.start.map_or_else(|| "• ".to_owned(), |_| format!("{nth}. ")),
                        indent,
                        look,
                        into,
                    );
                }
            }
        }
    }
}

fn item(item: &Item, mark: &str, indent: &str, look: Look, into: &mut Vec<Line>) {
    let done = item.done.map_or("", |done| if done { "☑ " } else { "☐ " });
    let first = into.len();
    blocks(&item.blocks, &format!("{indent}  "), look, into);
    if let Some(piece) = into.get_mut(first).and_then(|line| line.first_mut()) {
        let rest = piece.text.strip_prefix(indent).map_or(piece.text.as_str(), str::trim_start);
        piece.text = format!("{indent}{mark}{done}{rest}");
    }
}

fn verbatim(text: &str, indent: &str, into: &mut Vec<Line>) {
    let look = Look { code: true, ..Look::default() };
    into.extend(text.lines().map(|line| vec![Piece { text: format!("{indent}{line}"), look }]));
}

fn paragraph(all: &[Span], indent: &str, look: Look, into: &mut Vec<Line>) {
    let mut line = vec![Piece { text: indent.to_owned(), look }];
    spans(all, indent, look, &mut line, into);
    into.push(line);
}

fn spans(all: &[Span], indent: &str, look: Look, line: &mut Line, into: &mut Vec<Line>) {
    for span in all {
        match span {
            Span::Text(text) => line.push(Piece { text: text.clone(), look }),
            Span::Code(text) => line.push(Piece { text: text.clone(), look: Look { code: true, ..look } }),
            Span::Strong(inside) => spans(inside, indent, Look { bold: true, ..look }, line, into),
            Span::Emphasis(inside) => spans(inside, indent, Look { italic: true, ..look }, line, into),
            Span::Strike(inside) => spans(inside, indent, Look { struck: true, ..look }, line, into),
            Span::Link { spans: inside, .. } => spans(inside, indent, Look { link: true, ..look }, line, into),
            Span::Image { alt, .. } => line.push(Piece { text: alt.clone(), look: Look { link: true, ..look } }),
            Span::Break => into.push(std::mem::replace(line, vec![Piece { text: indent.to_owned(), look }])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_looks_and_marks() {
        let text = "**a** b\nc\n\n- one\n- [x] `two`\n  - in it\n\n> q";
        let shown: Vec<String> =
            lines(text).iter().map(|line| line.iter().map(|piece| piece.text.as_str()).collect()).collect();
        assert_eq!(shown, ["a b", "c", "", "• one", "• ☑ two", "  • in it", "", "│ q"]);
        let first = &lines(text)[0];
        assert!(first.iter().any(|piece| piece.text == "a" && piece.look.bold), "{first:?}");
    }
}
