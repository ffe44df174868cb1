//! Spans without their nesting: each stretch of text with all of its looks. For markup in which styles can't hold code or
//! each other.

use super::{Span, plain};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    pub strong: bool,
    pub emphasis: bool,
    pub strike: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run<'a> {
    Text(&'a str, Looks),
    /// Code looks like code and nothing else.
    Code(&'a str),
    /// Also an image. The label is one line and may be empty.
    Link {
        url: &'a str,
        label: String,
        looks: Looks,
    },
    Break,
}

pub fn runs(spans: &[Span], looks: Looks) -> Vec<Run<'_>> {
    let mut runs = Vec::new();
    collect(spans, looks, &mut runs);
    runs
}

fn collect<'a>(spans: &'a [Span], looks: Looks, runs: &mut Vec<Run<'a>>) {
    for span in spans {
        match span {
            Span::Text(text) => runs.push(Run::Text(text, looks)),
            Span::Strong(spans) => collect(spans, Looks { strong: true, ..looks }, runs),
            Span::Emphasis(spans) => collect(spans, Looks { emphasis: true, ..looks }, runs),
            Span::Strike(spans) => collect(spans, Looks { strike: true, ..looks }, runs),
            Span::Code(code) => runs.push(Run::Code(code)),
            Span::Link { url, spans } => runs.push(Run::Link { url, label: one_line(&plain(spans)), looks }),
            Span::Image { url, alt } => runs.push(Run::Link { url, label: one_line(alt), looks }),
            Span::Break => runs.push(Run::Break),
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::{Block, parse};
    use super::*;

    #[test]
    fn every_stretch_knows_all_of_its_looks() {
        let blocks = parse("a **b *c* `d` [e *f*\ng](https://e.org)**\n~~h~~ ![i](https://e.org/i.png)");
        let [Block::Paragraph(spans)] = blocks.as_slice() else { panic!("one paragraph, not {blocks:?}") };
        let none = Looks::default();
        let strong = Looks { strong: true, ..none };
        assert_eq!(
            runs(spans, none),
            [
                Run::Text("a ", none),
                Run::Text("b ", strong),
                Run::Text("c", Looks { emphasis: true, ..strong }),
                Run::Text(" ", strong),
                Run::Code("d"),
                Run::Text(" ", strong),
                Run::Link { url: "https://e.org", label: "e f g".to_owned(), looks: strong },
                Run::Break,
                Run::Text("h", Looks { strike: true, ..none }),
                Run::Text(" ", none),
                Run::Link { url: "https://e.org/i.png", label: "i".to_owned(), looks: none },
            ]
        );
    }
}
