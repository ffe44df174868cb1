//! Writes a scenario from a live run: what the model answered becomes its rules, what happened becomes what is expected.
//! People, rooms, changes, telemetry and what is said are copied from the scenario that was played.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Context;
use serde_json::{Value, json};

use super::{
    play::Played,
    scenario::{Scenario, Source},
};
use crate::{
    app,
    model::{Message, ToolCall},
    store::{MessageRow, SessionKind, SessionStatus, Store, TurnStatus},
};

/// A model's thinking isn't replayed in full, unless people speak in the middle of it.
const LONGEST_DELAY: Duration = Duration::from_secs(2);
/// How much of the asker's words tells one conversation from another.
const WORDS: usize = 60;
/// How much of the answer is expected again.
const PIECE: usize = 60;

/// What the models of a run said, in the order in which they said it.
pub(super) struct Recording {
    rules: Vec<Recorded>,
    /// Requests that a stop ended before there was an answer.
    unanswered: Vec<Value>,
    made_up: BTreeSet<String>,
}

struct Recorded {
    /// Milliseconds.
    at: i64,
    /// Its words are another conversation's too.
    vague: bool,
    rule: Value,
}

/// What one conversation was asked, as a rule knows it again.
#[derive(Clone, Default)]
struct Asked {
    words: Option<String>,
    vague: bool,
}

/// What every conversation was asked: its persona, its session, the text.
type Heard = Vec<(String, String, String)>;

impl Recording {
    /// Reads the transcripts; the store must still be open.
    pub(super) async fn read(scenario: &Scenario, store: &Store) -> anyhow::Result<Self> {
        let mut recording = Self { rules: Vec::new(), unanswered: Vec::new(), made_up: BTreeSet::new() };
        let interrupted = scenario.say.iter().any(|said| !said.after.is_zero());
        let longest = if interrupted { scenario.timeout } else { LONGEST_DELAY };
        let mut sessions = Vec::new();
        let mut heard = Heard::new();
        for session in store.sessions().all().await? {
            let rows = store.messages().transcript(&session.id).await?;
            let texts = rows.iter().filter_map(said);
            heard.extend(texts.map(|text| (session.agent_id.clone(), session.id.clone(), text)));
            sessions.push((session, rows));
        }
        for (session, rows) in sessions {
            let others = heard.iter().filter(|(persona, id, _)| *persona == session.agent_id && *id != session.id);
            let others: Vec<_> = others.map(|(.., text)| text.as_str()).collect();
            recording.session(&session.agent_id, &rows, &others, longest);
            let mut stopped = BTreeSet::new();
            for turn in rows.iter().map(|row| &row.turn_id).collect::<BTreeSet<_>>() {
                let status = store.turns().get(turn).await?.map(|turn| turn.status);
                let coordinator = session.kind == SessionKind::Coordinator && status == Some(TurnStatus::Stopped);
                if coordinator || session.kind == SessionKind::Worker && session.status == SessionStatus::Killed {
                    stopped.insert(turn.clone());
                }
            }
            let rows = rows.iter().filter(|row| stopped.contains(&row.turn_id));
            recording.stopped(&session.agent_id, rows, &others);
        }
        // A rule that fits two conversations waits until the one that has a rule of its own has taken that.
        recording.rules.sort_by_key(|recorded| (recorded.vague, recorded.at));
        Ok(recording)
    }

    fn session(&mut self, persona: &str, rows: &[MessageRow], others: &[&str], longest: Duration) {
        let mut step = 0;
        let mut asked = Asked::default();
        let mut before = None;
        for row in rows {
            match serde_json::from_str(&row.body) {
                Ok(Message::Assistant { text, calls, .. }) if !(text.is_empty() && calls.is_empty()) => {
                    let mut rule = json!({"when": when(persona, Some(step), asked.words.as_deref()), "times": 1});
                    let took = row.created_at.saturating_sub(before.unwrap_or(row.created_at));
                    let took = Duration::from_millis(u64::try_from(took).unwrap_or_default()).min(longest);
                    if took >= Duration::from_millis(100) {
                        rule["delay"] = format!("{}ms", took.as_millis() / 100 * 100).into();
                    }
                    rule["reply"] = self.reply(text, &calls);
                    self.rules.push(Recorded { at: row.created_at, vague: asked.vague, rule });
                    step += 1;
                }
                _ => {
                    if let Some(text) = said(row) {
                        asked = words(&text, others);
                    }
                }
            }
            before = Some(row.created_at);
        }
    }

    fn reply(&mut self, text: String, calls: &[ToolCall]) -> Value {
        let mut reply = json!({});
        if !text.is_empty() {
            reply["text"] = text.into();
        }
        let call = |call: &ToolCall| match serde_json::from_str::<Value>(&call.arguments) {
            Ok(arguments) => json!({"tool": call.name, "arguments": arguments}),
            Err(_) => json!({"tool": call.name, "raw_arguments": call.arguments}),
        };
        if !calls.is_empty() {
            reply["calls"] = calls.iter().map(call).collect();
        }
        let known = app::tool_names();
        let names = calls.iter().map(|call| call.name.clone());
        self.made_up.extend(names.filter(|name| !known.contains(&name.as_str())));
        reply
    }

    /// Whatever such a turn asked last may have been stopped before there was an answer.
    fn stopped<'a>(&mut self, persona: &str, rows: impl Iterator<Item = &'a MessageRow>, others: &[&str]) {
        for text in rows.filter_map(said) {
            let words = words(&text, others).words;
            let rule = json!({"when": when(persona, None, words.as_deref()), "fault": {"hang": true}});
            if !self.unanswered.contains(&rule) {
                self.unanswered.push(rule);
            }
        }
    }

    /// The file's text.
    pub(super) fn write(self, source: &Source, name: &str, played: &Played) -> anyhow::Result<String> {
        let copied: serde_yaml::Mapping = serde_yaml::from_str(&source.text)?;
        let mut written = serde_yaml::Mapping::new();
        let mut put = |key: &str, value: &Value| -> anyhow::Result<()> {
            written.insert(key.into(), serde_yaml::to_value(value)?);
            Ok(())
        };
        put("name", &json!(name))?;
        put("about", &json!(copied.get("about")))?;
        put("timeout", &json!(format!("{}s", played.took.as_secs() + 60)))?;
        put("expect", &expect(played))?;
        let rules: Vec<_> = self.rules.into_iter().map(|recorded| recorded.rule).chain(self.unanswered).collect();
        put("model", &json!({"unknown_tools": self.made_up, "rules": rules}))?;
        for key in ["people", "rooms", "changes", "say", "telemetry"] {
            if let Some(value) = copied.get(key) {
                written.insert(key.into(), value.clone());
            }
        }
        let yaml = serde_yaml::to_string(&written).context("the recording can't be written as YAML")?;
        Ok(format!(
            "# Recorded from a live run of {}. What is expected is what happened: keep of it what matters.\n{yaml}",
            source.name
        ))
    }
}

fn when(persona: &str, step: Option<usize>, asked: Option<&str>) -> Value {
    let mut when = json!({"persona": persona});
    if let Some(step) = step {
        when["step"] = step.into();
    }
    if let Some(asked) = asked {
        when["last_user_contains"] = asked.into();
    }
    when
}

/// What was said to the model. What stood in the thread is shown before the question, whenever it was read.
fn said(row: &MessageRow) -> Option<String> {
    match serde_json::from_str(&row.body) {
        Ok(Message::User { text, .. }) if row.kind == "user" => Some(text),
        _ => None,
    }
}

/// The first words of a message that aren't the runtime's tags and that no other conversation was told: workers of one
/// persona that are sent at the same time are told apart by nothing else.
fn words(text: &str, others: &[&str]) -> Asked {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('<'));
    let short = |line: &str| line.chars().take(WORDS).collect::<String>().trim_end().to_owned();
    let own = |words: &String| !others.iter().any(|other| other.contains(words.as_str()));
    match lines().map(short).find(own).or_else(|| lines().map(str::to_owned).find(own)) {
        Some(words) => Asked { words: Some(words), vague: false },
        None => Asked { words: lines().next().map(short), vague: true },
    }
}

fn expect(played: &Played) -> Value {
    let mut tools: Vec<&String> = Vec::new();
    for tool in &played.tally.calls {
        if !tools.contains(&tool) && app::tool_names().contains(&tool.as_str()) {
            tools.push(tool);
        }
    }
    json!({
        "placeholder": played.messages().next().is_some_and(|message| message.versions.len() > 1),
        "workers": played.tally.workers,
        "tools": tools,
        "final_contains": played.messages().filter_map(|message| piece(message.text())).collect::<Vec<_>>(),
        "messages": played.messages().count(),
    })
}

/// The longest stretch without markup in the first line that has words.
fn piece(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.chars().any(char::is_alphanumeric))?;
    let line = line.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let plain = line.split(|c: char| "*_`~<>[]&|\u{200b}".contains(c)).max_by_key(|part| part.trim().len())?;
    Some(plain.trim().chars().take(PIECE).collect::<String>().trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_again_is_plain_words() {
        let table = [
            ("*What is known:* order-api runs out [E4]; more", Some("order-api runs out")),
            ("\n• \n_so_ it is &lt; x", Some("it is")),
            ("***", None),
        ];
        for (text, expected) in table {
            assert_eq!(piece(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_message_is_known_again_by_its_words_and_not_by_its_time() {
        let text = "<message from=\"Maya\" id=\"U0MAYA\" at=\"2026-03-01T09:12:00Z\">\nwhy is it slow?\n</message>";
        assert_eq!(words(text, &[]).words.as_deref(), Some("why is it slow?"));
        assert_eq!(words("<a>", &[]).words, None);
    }

    #[test]
    fn conversations_that_begin_alike_are_told_apart_by_what_only_one_of_them_was_told() {
        let long = |end: &str| format!("Look at the latency of every pod of the service that is called {end}");
        let of = |text: &str, others: &[&str]| {
            let Asked { words, vague } = words(text, others);
            (words.unwrap_or_default(), vague)
        };
        let (a, b) = (long("checkout"), long("billing"));
        assert_eq!(of(&a, &[&b]), (a.clone(), false));
        let (a, b) = ("Look at errors.\nService: checkout", "Look at errors.\nService: billing");
        assert_eq!(of(a, &[b]), ("Service: checkout".to_owned(), false));
        // Part of the other's: it comes after that one's rule.
        assert_eq!(of("Errors?", &["Errors? Of billing."]), ("Errors?".to_owned(), true));
        assert_eq!(of("Errors? Of billing.", &["Errors?"]), ("Errors? Of billing.".to_owned(), false));
    }
}
