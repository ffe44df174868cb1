//! Plays a scenario on a stage: lets people speak, shows what happens, and waits until everything is answered.

use std::{collections::HashMap, time::Duration};

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{
    platform::{Kind, Message, Words},
    scenario::{BOT, Scenario},
    show::Show,
    stage::{self, Sims},
};
use crate::{app::App, store::Tally};

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What came of it.
pub(super) struct Played {
    pub channels: Vec<Channel>,
    pub tally: Tally,
    /// Every question was taken and no turn is open.
    pub answered: bool,
    /// What the simulators found wrong, and that it took too long.
    pub complaints: Vec<String>,
    pub took: Duration,
}

/// What came of it on one platform.
pub(super) struct Channel {
    pub kind: Kind,
    /// From the first mention to the first message of the bot; `None`: there was none.
    pub placeholder: Option<Duration>,
    /// Messages of the bot, oldest first.
    pub messages: Vec<Message>,
}

/// A play that is over. What the bot does while it ends still counts: see [`Performed::collect`].
pub(super) struct Performed {
    pub said: Vec<WasSaid>,
    tally: Tally,
    answered: bool,
    took: Duration,
    within: Duration,
}

/// Where people spoke on one platform.
#[derive(Clone, Default)]
pub(super) struct WasSaid {
    /// The thread of the message that has each name.
    pub named: HashMap<String, String>,
    /// The thread in which a person spoke last.
    pub last: Option<String>,
    /// When the bot was first asked, on the platform's scale.
    pub asked: Option<Duration>,
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
        let said = self.speak(started).await?;
        let answered = self.wait(started).await?;
        let took = started.elapsed();
        self.look(started).await?;
        let tally = self.app.store.tally().await?;
        Ok(Performed { said, tally, answered, took, within: self.within })
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

    /// Lets everybody speak, on every platform.
    async fn speak(&mut self, started: Instant) -> anyhow::Result<Vec<WasSaid>> {
        let mut was_said = vec![WasSaid::default(); self.sims.platforms.len()];
        for said in &self.scenario.say {
            let until = (Instant::now() + said.after).min(started + self.within);
            while Instant::now() < until {
                self.look(started).await?;
                sleep(LOOK_EVERY.min(until.saturating_duration_since(Instant::now()))).await;
            }
            let Some(words) = Words::of(self.scenario, said) else { continue };
            for (platform, was) in self.sims.platforms.iter().zip(&mut was_said) {
                if said.text.contains(BOT) {
                    was.asked.get_or_insert_with(|| platform.elapsed());
                }
                let thread = said.thread.as_ref().and_then(|name| was.named.get(name));
                let spoken = platform.say(words, thread.map(String::as_str)).await;
                if let Some(name) = &said.alert {
                    was.named.insert(name.clone(), spoken.thread.clone());
                }
                if said.person.is_some() {
                    was.last = Some(spoken.thread);
                }
            }
            self.look(started).await?;
        }
        Ok(was_said)
    }

    /// Until every question is taken and no turn is open, or it has taken too long.
    async fn wait(&mut self, started: Instant) -> anyhow::Result<bool> {
        let mentions = i64::try_from(self.scenario.mentions() * self.sims.platforms.len())?;
        loop {
            self.look(started).await?;
            let heard = self.sims.platforms.iter().all(|platform| platform.unheard() == 0);
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

impl Performed {
    pub(super) fn collect(&self, scenario: &Scenario, sims: &Sims) -> Played {
        let channels = sims.platforms.iter().zip(&self.said).map(|(platform, said)| {
            let messages = platform.ours(scenario);
            let first = messages.iter().filter_map(|message| Some(message.versions.first()?.at)).min();
            let placeholder = said.asked.zip(first).map(|(asked, first)| first.saturating_sub(asked));
            Channel { kind: platform.kind(), placeholder, messages }
        });
        let channels = channels.collect();
        let mut complaints = sims.complaints();
        if !self.answered {
            complaints.push(format!("not everything was answered within {} s", self.within.as_secs()));
        }
        Played { channels, tally: self.tally.clone(), answered: self.answered, complaints, took: self.took }
    }
}

impl Played {
    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.channels.iter().flat_map(|channel| &channel.messages)
    }
}
