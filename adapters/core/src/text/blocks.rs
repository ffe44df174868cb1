//! An answer as blocks and spans, parsed once. Renderers walk it; they never look at Markdown again.

mod build;
mod runs;
mod table;

pub use build::parse;
pub use runs::{Looks, Run, runs};
pub use table::{aligned, width};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    Paragraph(Vec<Span>),
    Heading {
        level: u8,
        spans: Vec<Span>,
    },
    List(List),
    Quote(Vec<Block>),
    /// Fenced or indented. The text ends without a line end.
    Code {
        info: String,
        text: String,
    },
    Table(Table),
    Rule,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The first number of an ordered list.
    pub start: Option<u64>,
    pub items: Vec<Item>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Of a task list: is it ticked?
    pub done: Option<bool>,
    pub blocks: Vec<Block>,
}

/// Every row has as many cells as the head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub align: Vec<Align>,
    pub head: Vec<Vec<Span>>,
    pub rows: Vec<Vec<Vec<Span>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Center,
    Right,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    /// Escapes and entities are resolved. Raw HTML is text too.
    Text(String),
    Strong(Vec<Span>),
    Emphasis(Vec<Span>),
    Strike(Vec<Span>),
    Code(String),
    Link {
        url: String,
        spans: Vec<Span>,
    },
    Image {
        url: String,
        alt: String,
    },
    /// A line ends here. In chat people see the line ends of the source, so soft and hard breaks are the same.
    Break,
}

/// The words without their looks; a break is a line end.
pub fn plain(spans: &[Span]) -> String {
    let mut text = String::new();
    for span in spans {
        match span {
            Span::Text(words) | Span::Code(words) | Span::Image { alt: words, .. } => text.push_str(words),
            Span::Strong(spans) | Span::Emphasis(spans) | Span::Strike(spans) | Span::Link { spans, .. } => {
                text.push_str(&plain(spans));
            }
            Span::Break => text.push('\n'),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Span {
        Span::Text(text.to_owned())
    }

    fn paragraph(words: &str) -> Block {
        Block::Paragraph(vec![text(words)])
    }

    #[test]
    fn spans_keep_their_looks_apart_from_their_words() {
        assert_eq!(
            parse(
                "**a _b_** ~~c~~ `d<e` [f *g*](https://e.org/?a=1&b=2)\nh ![alt *x*](https://e.org/i.png)&lt;<b>&amp;"
            ),
            [Block::Paragraph(vec![
                Span::Strong(vec![text("a "), Span::Emphasis(vec![text("b")])]),
                text(" "),
                Span::Strike(vec![text("c")]),
                text(" "),
                Span::Code("d<e".to_owned()),
                text(" "),
                Span::Link {
                    url: "https://e.org/?a=1&b=2".to_owned(),
                    spans: vec![text("f "), Span::Emphasis(vec![text("g")])]
                },
                Span::Break,
                text("h "),
                Span::Image { url: "https://e.org/i.png".to_owned(), alt: "alt x".to_owned() },
                text("<<b>&"),
            ])]
        );
        assert_eq!(
            parse("<a@e.org>"),
            [Block::Paragraph(vec![Span::Link { url: "mailto:a@e.org".to_owned(), spans: vec![text("a@e.org")] }])]
        );
        assert_eq!(
            parse("a<br>b  \nc"),
            [Block::Paragraph(vec![text("a"), Span::Break, text("b"), Span::Break, text("c")])]
        );
        assert_eq!(parse("<!channel> <@U1> 错误率"), [paragraph("<!channel> <@U1> 错误率")]);
        assert_eq!(
            plain(&[text("a "), Span::Strong(vec![text("b"), Span::Break]), Span::Code("c".to_owned())]),
            "a b\nc"
        );
    }

    #[test]
    fn blocks_nest_as_in_the_source() {
        assert_eq!(
            parse("# Head\n\n3. one\n   - [x] two\n   - [ ] three\n4. four\n\n   more\n\n> quote\n> - in it\n\n---\n"),
            [
                Block::Heading { level: 1, spans: vec![text("Head")] },
                Block::List(List {
                    start: Some(3),
                    items: vec![
                        Item {
                            done: None,
                            blocks: vec![
                                paragraph("one"),
                                Block::List(List {
                                    start: None,
                                    items: vec![
                                        Item { done: Some(true), blocks: vec![paragraph("two")] },
                                        Item { done: Some(false), blocks: vec![paragraph("three")] },
                                    ]
                                }),
                            ]
                        },
                        Item { done: None, blocks: vec![paragraph("four"), paragraph("more")] },
                    ]
                }),
                Block::Quote(vec![
                    paragraph("quote"),
                    Block::List(List {
                        start: None,
                        items: vec![Item { done: None, blocks: vec![paragraph("in it")] }]
                    }),
                ]),
                Block::Rule,
            ]
        );
    }

    #[test]
    fn code_is_verbatim_and_html_is_text() {
        let code = |info: &str, text: &str| Block::Code { info: info.to_owned(), text: text.to_owned() };
        assert_eq!(
            parse("```rust ignore\nfn a() {\n\n    b(\"<|\");\n}\n```\n\n    indented\n\n~~~\n| a |\n|---|\n**b**"),
            [
                code("rust ignore", "fn a() {\n\n    b(\"<|\");\n}"),
                code("", "indented"),
                code("", "| a |\n|---|\n**b**")
            ]
        );
        assert_eq!(
            parse("<details>\n<summary>x</summary>\n\ny"),
            [Block::Paragraph(vec![text("<details>"), Span::Break, text("<summary>x</summary>")]), paragraph("y")]
        );
    }

    #[test]
    fn a_table_has_aligned_cells_of_spans() {
        assert_eq!(
            parse("| host | **load** | x |\n|:--|--:|:-:|\n| a \\| b | `1` |\n| c | 2 | 3 | 4 |"),
            [Block::Table(Table {
                align: vec![Align::Left, Align::Right, Align::Center],
                head: vec![vec![text("host")], vec![Span::Strong(vec![text("load")])], vec![text("x")]],
                rows: vec![
                    vec![vec![text("a | b")], vec![Span::Code("1".to_owned())], vec![]],
                    vec![vec![text("c")], vec![text("2")], vec![text("3")]],
                ],
            })]
        );
    }
}
