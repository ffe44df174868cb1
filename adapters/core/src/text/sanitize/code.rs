//! Where the code is: fenced blocks and inline code, as the renderers will see them.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::leaks;

/// Sorted and apart from each other.
pub(super) fn ranges(text: &str) -> Vec<Range<usize>> {
    if !text.contains('`') && !text.contains("~~~") {
        return Vec::new();
    }
    // A leaked tag alone on its line would open an HTML block and hide the fence after it.
    let plain = leaks::without_brackets(text);
    Parser::new(&plain)
        .into_offset_iter()
        .filter_map(|(event, range)| {
            matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_)))).then_some(range)
        })
        .collect()
}

pub(super) fn covers(ranges: &[Range<usize>], at: usize) -> bool {
    let after = ranges.partition_point(|range| range.end <= at);
    ranges.get(after).is_some_and(|range| range.start <= at)
}
