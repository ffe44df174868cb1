//! Beneath an answer: what each cited result was, so that a reader can ask the source herself.

use std::collections::BTreeSet;

use super::super::Services;
use crate::{store::StoreError, wording};

const LINES: usize = 12;
const LINE_CHARS: usize = 160;

/// Appends one line for each result that the text cites and that exists.
pub(super) async fn cite(services: &Services, session_id: &str, text: &mut String) -> Result<(), StoreError> {
    let cited = citations(text);
    if cited.is_empty() {
        return Ok(());
    }
    let mut known = services.store.calls().evidence(session_id).await?;
    known.retain(|(id, _)| number(id).is_some_and(|number| cited.contains(&number)));
    known.sort_by_key(|(id, _)| number(id));
    if known.is_empty() {
        return Ok(());
    }
    text.push_str(&format!("\n\n**{}**\n", wording::sources_heading()));
    for (id, headline) in known.iter().take(LINES) {
        let headline = watchfloor_channel::text::one_line(headline, LINE_CHARS).replace('`', "'");
        text.push_str(&format!("\n- {id} `{headline}`"));
    }
    Ok(())
}

fn number(id: &str) -> Option<u32> {
    id.strip_prefix('E')?.parse().ok()
}

/// The numbers in `[E1]`, `[E1, E2]`, `(E3)`.
fn citations(text: &str) -> BTreeSet<u32> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() <= 7).filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_are_found_in_any_bracket_and_nothing_else_is() {
        let found: Vec<_> =
            citations("Pool is full [E1], deploy [E3, E12] (E2); not HE4, E, Exx, E99999999.").into_iter().collect();
        assert_eq!(found, [1, 2, 3, 12]);
    }
}
