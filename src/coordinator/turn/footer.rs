//! Beneath an answer: what each cited result was, so that a reader can ask the source herself.

use std::collections::BTreeSet;

use super::super::{Services, dispatch::StandIn};
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
        in_brackets(&prose(text)).difference(&numbers).take(LINES).map(|number| format!("E{number}")).collect();
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

/// Appends one line for each persona whose own model can't be asked.
pub(super) fn name_models(stand_ins: &[StandIn], text: &mut String) {
    for (at, StandIn { persona, wanted, ran }) in stand_ins.iter().enumerate() {
        let between = if at == 0 { "\n\n" } else { "\n" };
        text.push_str(&format!("{between}{}", wording::another_model(persona, wanted, ran)));
    }
}

fn number(id: &str) -> Option<u32> {
    let digits = id.strip_prefix('E')?;
    if digits.starts_with(['0', '+']) { None } else { digits.parse().ok() }
}

/// The numbers in `[E1]`, `[E1, E2]`, `(E3)`.
fn citations(text: &str) -> BTreeSet<u32> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() <= 7).filter_map(number).collect()
}

/// As [`citations`], but only where nothing else stands between the brackets and nothing leads to them: an `E9` in a
/// sentence, or `error[E502]`, may be anything.
fn in_brackets(text: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices(['[', '(']) {
        let (before, after) = (&text[..at], &text[at + 1..]);
        let inside = after.find(['[', '(', ']', ')']).map(|end| after.split_at(end));
        let Some((inside, end)) = inside.filter(|_| !before.ends_with(char::is_alphanumeric)) else { continue };
        if end.starts_with(['[', '(']) {
            continue;
        }
        let words: Vec<_> = inside.split([',', ';', ' ']).filter(|word| !word.is_empty()).collect();
        let numbers: Vec<_> = words.iter().filter(|word| word.len() <= 7).filter_map(|word| number(word)).collect();
        if numbers.len() == words.len() {
            found.extend(numbers);
        }
    }
    found
}

/// Without code: a quoted log has error numbers of its own.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut prose = String::with_capacity(text.len());
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        if !fenced && !is_fence {
            line.split('`').step_by(2).for_each(|part| prose.push_str(part));
        }
        prose.push('\n');
    }
    prose
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_are_found_in_any_bracket_and_nothing_else_is() {
        let found: Vec<_> = citations("Pool is full [E1], deploy [E3, E12] (E2); not HE4, E, Exx, E05, E99999999.")
            .into_iter()
            .collect();
        assert_eq!(found, [1, 2, 3, 12]);
    }

    #[test]
    fn only_a_bracket_of_its_own_claims_to_be_evidence() {
        let found: Vec<_> =
            in_brackets("Full [E1], [E3, E12] (E2); an E5 host, [see E7], [E8](https://e.org), [], (E9")
                .into_iter()
                .collect();
        assert_eq!(found, [1, 2, 3, 8, 12]);
        assert_eq!(in_brackets("error[E502], f(E503), [E0504], [E+7], ([E9])"), BTreeSet::from([9]));
    }

    #[test]
    fn what_is_quoted_as_code_claims_nothing() {
        let text = "It says `panic (E7)` [E1]:\n```\n[E8] lost\n```\nand (E2) fits.";
        assert_eq!(in_brackets(&prose(text)), BTreeSet::from([1, 2]));
    }
}
