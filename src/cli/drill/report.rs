//! A drill's outcome: a few lines for people, or one JSON object.

use serde_json::{Value, json};

use super::{
    judge::{Verdict, failures, final_text},
    play::Played,
    scenario::Scenario,
};

pub(super) struct Report<'a> {
    pub scenario: &'a Scenario,
    pub played: &'a Played,
    pub verdicts: &'a [Verdict],
    /// A real model answered: expectations are a score.
    pub live: bool,
    pub passed: bool,
}

impl Report<'_> {
    fn held(&self) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.held()).count()
    }

    pub(super) fn json(&self) -> Value {
        let (scenario, played) = (self.scenario, self.played);
        let verdict = |verdict: &Verdict| json!({"expected": verdict.expected, "held": verdict.held()});
        json!({
            "scenario": scenario.name,
            "passed": self.passed,
            "failures": failures(self.verdicts, played),
            "channels": {
                "slack": {
                    "placeholder_ms": placeholder_ms(played),
                    "edits": edits(played),
                    "messages": played.messages.len(),
                    "final_text": final_text(played),
                },
            },
            "turns": played.tally.turns,
            "model_calls": played.tally.answers,
            "tool_calls": played.tally.calls.len(),
            "workers": played.tally.workers.len(),
            "live": self.live,
            "score": {"held": self.held(), "of": self.verdicts.len()},
            "verdicts": self.verdicts.iter().map(verdict).collect::<Vec<_>>(),
        })
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let (scenario, played) = (self.scenario, self.played);
        let tally = &played.tally;
        let placeholder = placeholder_ms(played).map_or_else(|| "never".into(), |ms| format!("after {ms} ms"));
        let mut lines = vec![
            format!("placeholder  {placeholder}"),
            format!(
                "messages     {}, edited {}×, {:.1} s in all",
                played.messages.len(),
                edits(played),
                played.took.as_secs_f64()
            ),
            format!("model calls  {}", tally.answers),
            format!("tool calls   {} ({})", tally.calls.len(), tally.calls.join(", ")),
            format!("workers      {} ({})", tally.workers.len(), tally.workers.join(", ")),
            format!(
                "tokens       {} in (of which {} cached), {} out",
                tally.input_tokens, tally.cached_tokens, tally.output_tokens
            ),
        ];
        if self.live {
            let word = |verdict: &Verdict| if verdict.held() { "held        " } else { "not held    " };
            lines.extend(self.verdicts.iter().map(|verdict| format!("{} {}", word(verdict), verdict.expected)));
            lines.extend(played.complaints.iter().map(|complaint| format!("complaint    {complaint}")));
            lines.push(format!("{}: {} of {} held", scenario.name, self.held(), self.verdicts.len()));
            return lines;
        }
        let failures = failures(self.verdicts, played);
        lines.extend(failures.iter().map(|failure| format!("failed       {failure}")));
        lines.push(match failures.len() {
            0 => format!("{}: passed", scenario.name),
            count => format!("{}: {count} expectations did not hold", scenario.name),
        });
        lines
    }
}

fn edits(played: &Played) -> usize {
    played.messages.iter().map(|message| message.edits.len().saturating_sub(1)).sum()
}

/// Milliseconds, to a tenth.
fn placeholder_ms(played: &Played) -> Option<f64> {
    played.placeholder.map(|took| (took.as_secs_f64() * 10_000.0).round() / 10.0)
}
