//! Answers that break a limit of some platform each, for tests that see them go out, and for benchmarks.

use std::fmt::Write as _;

/// About 30 kB of CommonMark (the emoji: 20 kB), and what must be read of it wherever it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongAnswer {
    pub name: &'static str,
    pub text: String,
    /// Each with how often it is said.
    words: Vec<(String, usize)>,
}

impl LongAnswer {
    /// What is missing in what people are shown.
    pub fn lost(&self, shown: &str) -> Vec<String> {
        let missing = self.words.iter().filter(|(word, times)| shown.matches(word.as_str()).count() < *times);
        missing.map(|(word, _)| word.clone()).collect()
    }
}

/// Four hundred links, three hundred spans of code, five thousand emoji, a table of two hundred rows.
pub fn long_answers() -> Vec<LongAnswer> {
    let mut links = answer("links");
    for n in 0..400 {
        let sentence =
            format!("Step {n}: [runbook{n:03}](https://e.org/pool/{n:03}) tells what to do about the pool. ");
        links.say(&sentence, &[format!("runbook{n:03}"), format!("/pool/{n:03}")], n % 10 == 9);
    }
    let mut code = answer("code spans");
    for n in 0..300 {
        let sentence =
            format!("`span{n:03}` is slow & waits for <db-{n:03}>, after which nothing came back to it at all. ");
        code.say(&sentence, &[format!("span{n:03}"), format!("{n:03}")], n % 10 == 9);
    }
    let mut emoji = answer("emoji");
    emoji.text = "🔥".repeat(5_000);
    emoji.words.push(("🔥".to_owned(), 5_000));
    let mut table = answer("table");
    table.text = "| service | errors | what happened |\n|---|--:|---|\n".to_owned();
    for n in 0..200 {
        let row = format!("| checkout{n:03} | {} % | pool{n:03} was full while `job{n:03}` ran, then it ", n % 19);
        let row = format!("{row}came back by itself and stayed well until the next run of the same job |\n");
        table.say(&row, &[format!("checkout{n:03}"), format!("pool{n:03}"), format!("job{n:03}")], false);
    }
    vec![links, code, emoji, table]
}

fn answer(name: &'static str) -> LongAnswer {
    LongAnswer { name, text: String::new(), words: Vec::new() }
}

impl LongAnswer {
    fn say(&mut self, text: &str, words: &[String], paragraph_ends: bool) {
        let end = if paragraph_ends { "\n\n" } else { "" };
        let _ = write!(self.text, "{text}{end}");
        self.words.extend(words.iter().map(|word| (word.clone(), 1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_missed() {
        for answer in long_answers() {
            assert!(answer.lost(&answer.text).is_empty() && answer.text.len() >= 20_000, "{}", answer.name);
            let half = &answer.text[..answer.text.floor_char_boundary(answer.text.len() / 2)];
            assert!(!answer.lost(half).is_empty(), "{}", answer.name);
        }
    }
}
