//! Server-sent events, parsed from bytes as they arrive and bounded in size. What an event means is the wire format's
//! business.

const BOM: &[u8] = b"\xEF\xBB\xBF";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// Empty where the stream gave no name.
    pub name: String,
    pub data: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("an event of the stream is larger than {limit} bytes")]
    TooLarge { limit: usize },
}

/// However the bytes are cut into pieces, the same events come out, and the same error after them.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    line: Vec<u8>,
    name: String,
    data: String,
    has_data: bool,
    at_start: bool,
    after_cr: bool,
    failed: bool,
}

impl SseParser {
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            limit: max_event_bytes,
            line: Vec::new(),
            name: String::new(),
            data: String::new(),
            has_data: false,
            at_start: true,
            after_cr: false,
            failed: false,
        }
    }

    /// The events that are complete with these bytes. Events in front of an oversized one are handed out first, the error
    /// comes with the next call.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, SseError> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while !self.failed && !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|b| matches!(b, b'\r' | b'\n'));
            let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
            if self.line.len() + piece.len() + self.data.len() > self.limit {
                self.failed = true;
                break;
            }
            self.line.extend_from_slice(piece);
            if let Some((ending, after)) = after.split_first() {
                self.after_cr = *ending == b'\r';
                events.extend(self.end_line());
                rest = after;
            } else {
                rest = after;
            }
        }
        if self.failed && events.is_empty() { Err(SseError::TooLarge { limit: self.limit }) } else { Ok(events) }
    }

    /// At the end of the stream: the last event, if its blank line is missing. It may be cut, so its reader must be able
    /// to tell.
    pub fn finish(&mut self) -> Result<Option<SseEvent>, SseError> {
        if self.failed {
            return Err(SseError::TooLarge { limit: self.limit });
        }
        if !self.line.is_empty() {
            self.end_line();
        }
        Ok(self.dispatch())
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let first = std::mem::take(&mut self.at_start);
        let line = if first { line.strip_prefix(BOM).unwrap_or(&line) } else { &line };
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = match line.iter().position(|b| *b == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(&value);
            }
            b"event" => self.name = value.into_owned(),
            // Comments (an empty field), `id`, `retry` and fields of the future.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data).then_some(SseEvent { name, data })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent { name: name.into(), data: data.into() }
    }

    /// Everything the stream held, then the error if there was one.
    fn all<'a>(limit: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<SseEvent>, Option<SseError>) {
        let mut parser = SseParser::new(limit);
        let mut events = Vec::new();
        for piece in pieces {
            match parser.push(piece) {
                Ok(more) => events.extend(more),
                Err(error) => return (events, Some(error)),
            }
        }
        match parser.finish() {
            Ok(last) => events.extend(last),
            Err(error) => return (events, Some(error)),
        }
        (events, None)
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        for (stream, expected) in [
            ("data: a\n\n", vec![event("", "a")]),
            ("data:a\n\n", vec![event("", "a")]),
            ("data:  a\n\n", vec![event("", " a")]),
            ("\u{feff}data: a\n\n", vec![event("", "a")]),
            ("data: \u{feff}\n\n", vec![event("", "\u{feff}")]),
            ("data: a\r\rdata: b\r\r", vec![event("", "a"), event("", "b")]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", vec![event("", "a"), event("", "b")]),
            ("data: a\ndata: b\n\n", vec![event("", "a\nb")]),
            ("data\n\n", vec![event("", "")]),
            ("data\ndata\n\n", vec![event("", "\n")]),
            (": still here\n\n: and here\n\ndata: a\n\n", vec![event("", "a")]),
            ("event: error\ndata: a\n\ndata: b\n\n", vec![event("error", "a"), event("", "b")]),
            ("event: lost\n\ndata: a\n\n", vec![event("", "a")]),
            ("id: 7\nretry: 10\nfuture: x\ndata: a\n\n", vec![event("", "a")]),
            ("data: a: b\n\n", vec![event("", "a: b")]),
            (
                "data: a\n\ndata: the blank line is missing",
                vec![event("", "a"), event("", "the blank line is missing")],
            ),
            ("\n\n\n", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(all(100, [stream.as_bytes()]), (expected, None), "{stream:?}");
        }
    }

    #[test]
    fn bad_utf8_is_replaced() {
        assert_eq!(all(100, [&b"data: a\xFFb\n\n"[..]]), (vec![event("", "a\u{fffd}b")], None));
    }

    #[test]
    fn an_oversized_event_is_an_error_after_the_events_before_it() {
        let too_large = Some(SseError::TooLarge { limit: 12 });
        let stream = b"data: a\n\ndata: much too long\n\ndata: never\n\n";
        assert_eq!(all(12, [&stream[..]]), (vec![event("", "a")], too_large));
        let lines = b"data: 12345\ndata: 12345\n\n";
        assert_eq!(all(12, [&lines[..]]), (vec![], too_large));
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            lines in prop::collection::vec(
                prop_oneof![
                    Just(&b""[..]), Just(&b"data: x"[..]), Just(&b"data"[..]), Just(&b": c"[..]), Just(&b"event: e"[..]),
                    Just(&b"\xEF\xBB\xBFdata: y"[..]), Just(&b"data: \xFF\xE2\x82\xAC"[..]), Just(&b"data: quite a long line"[..]),
                ],
                0..20,
            ),
            endings in prop::collection::vec(prop_oneof![Just("\n"), Just("\r"), Just("\r\n")], 20),
            sizes in prop::collection::vec(1usize..6, 1..40),
            limit in 5usize..60,
        ) {
            let stream: Vec<u8> = lines.iter().zip(&endings).flat_map(|(l, e)| [l, e.as_bytes()].concat()).collect();
            let mut pieces = Vec::new();
            let mut rest = &stream[..];
            for size in sizes.iter().cycle() {
                if rest.is_empty() { break; }
                let (piece, after) = rest.split_at((*size).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert_eq!(all(limit, pieces), all(limit, [&stream[..]]));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..200, limit in 0usize..50) {
            let (a, b) = bytes.split_at(cut.min(bytes.len()));
            all(limit, [a, b]);
        }
    }
}
