//! Plays a scenario on a stage: lets people speak, shows what happens, and waits until everything is answered.

use std::{collections::HashMap, time::Duration};

use serde_json::json;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use watchfloor_sim::{
    SlackSim,
    slack::{self, Message},
};

use super::{
    scenario::{BOT, Named, Said, Scenario},
    show::Show,
    stage::{self, Sims},
};
use crate::{app::App, store::Tally};

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What came of it.
pub(super) struct Played {
    /// From the first mention to the first message of the bot; `None`: there was none.
    pub placeholder: Option<Duration>,
    /// Messages of the bot, oldest first.
    pub messages: Vec<Message>,
    pub tally: Tally,
    /// Every question was taken and no turn is open.
    pub answered: bool,
    /// What the simulators found wrong, and that it took too long.
    pub complaints: Vec<String>,
    pub took: Duration,
}

/// A play that is over. What the bot does while it ends still counts: see [`Performed::collect`].
pub(super) struct Performed {
    /// When the bot was first asked, on the simulator's scale.
    asked: Option<Duration>,
    pub said: WasSaid,
    tally: Tally,
    answered: bool,
    took: Duration,
    within: Duration,
}

/// Where people spoke.
#[derive(Default)]
pub(super) struct WasSaid {
    /// The message that has each name.
    pub named: HashMap<String, String>,
    /// The thread in which a person spoke last.
    pub last: Option<String>,
}

pub(super) struct Play<'a> {
    pub scenario: &'a Scenario,
    pub app: &'a App,
    pub sims: &'a Sims,
    pub show: &'a mut Show,
    /// How long it may take.
    pub within: Duration,
    /// Cancelled when somebody at the keyboard wants it to end.
    pub enough: CancellationToken,
}

impl Play<'_> {
    pub(super) async fn run(mut self) -> anyhow::Result<Performed> {
        let started = Instant::now();
        let (asked, said) = self.speak(started).await?;
        let answered = self.wait(started).await?;
        let took = started.elapsed();
        self.look(started).await?;
        let tally = self.app.store.tally().await?;
        Ok(Performed { asked, said, tally, answered, took, within: self.within })
    }

    async fn look(&mut self, started: Instant) -> anyhow::Result<()> {
        if self.show.is_nothing() {
            return Ok(());
        }
        let numbers = stage::numbers(self.app, started.elapsed()).await?;
        if self.show.look(self.sims.scene(self.scenario), numbers) {
            self.enough.cancel();
        }
        Ok(())
    }

    /// Lets everybody speak. Returns when the bot was first asked, on the simulator's scale.
    async fn speak(&mut self, started: Instant) -> anyhow::Result<(Option<Duration>, WasSaid)> {
        let mut was_said = WasSaid::default();
        let mut asked = None;
        for said in &self.scenario.say {
            let until = (Instant::now() + said.after).min(started + self.within);
            while Instant::now() < until {
                self.look(started).await?;
                sleep(LOOK_EVERY.min(until.saturating_duration_since(Instant::now()))).await;
            }
            if said.text.contains(BOT) {
                asked.get_or_insert_with(|| self.sims.slack.elapsed());
            }
            let ts = say(self.scenario, &self.sims.slack, said, &was_said.named).await;
            if said.person.is_some() {
                let thread = said.thread.as_ref().and_then(|name| was_said.named.get(name));
                was_said.last = Some(thread.unwrap_or(&ts).clone());
            }
            if let Some(name) = &said.alert {
                was_said.named.insert(name.clone(), ts);
            }
            self.look(started).await?;
        }
        Ok((asked, was_said))
    }

    /// Until every question is taken and no turn is open, or it has taken too long.
    async fn wait(&mut self, started: Instant) -> anyhow::Result<bool> {
        let mentions = i64::try_from(self.scenario.mentions())?;
        loop {
            self.look(started).await?;
            let heard = self.sims.slack.unheard() == 0;
            let tally = self.app.store.tally().await?;
            // An event is acknowledged when it was written down: what is unheard may still become a question.
            let all_taken = heard && tally.messages >= mentions && tally.waiting == 0;
            if all_taken && tally.open_turns == 0 && self.app.open_conversations() == 0 {
                return Ok(true);
            }
            if started.elapsed() >= self.within {
                return Ok(false);
            }
            sleep(LOOK_EVERY).await;
        }
    }
}

async fn say(scenario: &Scenario, slack: &SlackSim, said: &Said, threads: &HashMap<String, String>) -> String {
    let id_of = |named: &[Named], name: &str| {
        named.iter().find(|named| named.name == name).map(|named| named.id.clone()).unwrap_or_default()
    };
    let room = id_of(&scenario.rooms, &said.room);
    let Said { text, title, person, thread, .. } = said;
    let text = text.replace(BOT, slack.bot_mention());
    let thread = thread.as_deref().and_then(|thread| threads.get(thread).cloned());
    match (person, thread) {
        (Some(person), Some(thread)) => slack.reply(&id_of(&scenario.people, person), &room, &thread, &text).await,
        (Some(person), None) => slack.say(&id_of(&scenario.people, person), &room, &text).await,
        (None, _) => {
            let attachment = json!([{"id": 1, "color": "d00000", "title": title, "text": text, "fallback": title}]);
            slack.alert(&room, attachment).await
        }
    }
}

impl Performed {
    pub(super) fn collect(&self, scenario: &Scenario, sims: &Sims) -> Played {
        let all = scenario.rooms.iter().flat_map(|room| sims.slack.messages(&room.id, None));
        let messages: Vec<_> = all.filter(|message| message.author == slack::Author::Bot).collect();
        let first = messages.iter().filter_map(|message| Some(message.edits.first()?.at)).min();
        let mut complaints = sims.complaints();
        if !self.answered {
            complaints.push(format!("not everything was answered within {} s", self.within.as_secs()));
        }
        Played {
            placeholder: self.asked.zip(first).map(|(asked, first)| first.saturating_sub(asked)),
            messages,
            tally: self.tally.clone(),
            answered: self.answered,
            complaints,
            took: self.took,
        }
    }
}
