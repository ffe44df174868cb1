//! A drill's outcome: a few lines for people, or one JSON object.

use serde_json::{Value, json};

use super::{
    judge::{Verdict, failures},
    play::{Channel, Played},
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
            "channels": played.channels.iter().map(|channel| {
                (channel.kind.word().to_owned(), json!({
                    "placeholder_ms": placeholder_ms(channel),
                    "edits": edits(channel),
                    "messages": channel.messages.len(),
                    "final_text": channel.final_text(),
                }))
            }).collect::<serde_json::Map<_, _>>(),
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
        let mut lines: Vec<_> = played.channels.iter().map(channel_line).collect();
        lines.extend([
            format!("took         {:.1} s", played.took.as_secs_f64()),
            format!("model calls  {}", tally.answers),
            format!("tool calls   {} ({})", tally.calls.len(), tally.calls.join(", ")),
            format!("workers      {} ({})", tally.workers.len(), tally.workers.join(", ")),
            format!(
                "tokens       {} in (of which {} cached), {} out",
                tally.input_tokens, tally.cached_tokens, tally.output_tokens
            ),
        ]);
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

fn channel_line(channel: &Channel) -> String {
    let placeholder = placeholder_ms(channel).map_or_else(|| "never".into(), |ms| format!("after {ms} ms"));
    let (name, messages) = (channel.kind.to_string(), channel.messages.len());
    format!("{name:<12} placeholder {placeholder}, messages {messages}, edited {}×", edits(channel))
}

fn edits(channel: &Channel) -> usize {
    channel.messages.iter().map(|message| message.versions.len().saturating_sub(1)).sum()
}

/// Milliseconds, to a tenth.
fn placeholder_ms(channel: &Channel) -> Option<f64> {
    channel.placeholder.map(|took| (took.as_secs_f64() * 10_000.0).round() / 10.0)
}
