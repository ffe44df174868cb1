//! Beneath an answer: what each cited result was, so that a reader can ask the source herself.

use std::collections::BTreeSet;

use super::super::Services;
use crate::{store::StoreError, wording};

const LINES: usize = 12;
const LINE_CHARS: usize = 160;

/// Appends one line for each result that the text cites, and one for citations of what does not exist.
pub(super) async fn cite(services: &Services, session_id: &str, text: &mut String) -> Result<(), StoreError> {
    let cited = citations(text);
    if cited.is_empty() {
        return Ok(());
    }
    let mut known = services.store.calls().evidence(session_id).await?;
    let numbers: BTreeSet<u32> = known.iter().filter_map(|(id, _)| number(id)).collect();
    let forged: Vec<_> =
        in_brackets(text).difference(&numbers).take(LINES).map(|number| format!("E{number}")).collect();
    known.retain(|(id, _)| number(id).is_some_and(|number| cited.contains(&number)));
    known.sort_by_key(|(id, _)| number(id));
    if known.is_empty() && forged.is_empty() {
        return Ok(());
    }
    text.push_str(&format!("\n\n**{}**\n", wording::sources_heading()));
    for (id, headline) in known.iter().take(LINES) {
        let headline = watchfloor_channel::text::one_line(headline, LINE_CHARS).replace('`', "'");
        text.push_str(&format!("\n- {id} `{headline}`"));
    }
    if !forged.is_empty() {
        text.push_str(&format!("\n- {}", wording::no_such_evidence(&forged.join(", "))));
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

/// As [`citations`], but only where nothing else stands between the brackets: an `E9` in a sentence may be anything.
fn in_brackets(text: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for part in text.split(['[', '(']).skip(1) {
        let Some((inside, _)) = part.split_once([']', ')']) else { continue };
        let words: Vec<_> = inside.split([',', ';', ' ']).filter(|word| !word.is_empty()).collect();
        let numbers: Vec<_> = words.iter().filter(|word| word.len() <= 7).filter_map(|word| number(word)).collect();
        if numbers.len() == words.len() {
            found.extend(numbers);
        }
    }
    found
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

    #[test]
    fn only_a_bracket_of_its_own_claims_to_be_evidence() {
        let found: Vec<_> =
            in_brackets("Full [E1], [E3, E12] (E2); an E5 host, [see E7], [E8](https://e.org), [], (E9")
                .into_iter()
                .collect();
        assert_eq!(found, [1, 2, 3, 8, 12]);
    }
}
