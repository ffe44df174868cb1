//! A drill's outcome: a few lines for people, or one JSON object.

use serde_json::{Value, json};

use super::{judge::final_text, play::Played, scenario::Scenario};

pub(super) fn json(scenario: &Scenario, played: &Played, failures: &[String]) -> Value {
    json!({
        "scenario": scenario.name,
        "passed": failures.is_empty(),
        "failures": failures,
        "channels": {
            "slack": {
                "placeholder_ms": placeholder_ms(played),
                "edits": edits(played),
                "messages": played.messages.len(),
                "final_text": final_text(played),
            },
        },
        "turns": played.tally.turns,
        "tool_calls": played.tally.calls.len(),
        "workers": played.tally.workers.len(),
    })
}

pub(super) fn lines(scenario: &Scenario, played: &Played, failures: &[String]) -> Vec<String> {
    let tally = &played.tally;
    let placeholder = placeholder_ms(played).map_or_else(|| "never".into(), |ms| format!("after {ms} ms"));
    let mut lines = vec![
        format!("placeholder  {placeholder}"),
        format!(
            "edits        {} in {} messages, {:.1} s in all",
            edits(played),
            played.messages.len(),
            played.took.as_secs_f64()
        ),
        format!("tool calls   {} ({})", tally.calls.len(), tally.calls.join(", ")),
        format!("workers      {} ({})", tally.workers.len(), tally.workers.join(", ")),
        format!(
            "tokens       {} in (of which {} cached), {} out",
            tally.input_tokens, tally.cached_tokens, tally.output_tokens
        ),
    ];
    lines.extend(failures.iter().map(|failure| format!("failed       {failure}")));
    lines.push(match failures.len() {
        0 => format!("{}: passed", scenario.name),
        count => format!("{}: {count} expectations did not hold", scenario.name),
    });
    lines
}

fn edits(played: &Played) -> usize {
    played.messages.iter().map(|message| message.edits.len().saturating_sub(1)).sum()
}

/// Milliseconds, to a tenth.
fn placeholder_ms(played: &Played) -> Option<f64> {
    played.placeholder.map(|took| (took.as_secs_f64() * 10_000.0).round() / 10.0)
}
