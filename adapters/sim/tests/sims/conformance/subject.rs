//! The made-up platform and bot as the checks see them.

use std::{
    cell::{Cell, RefCell, RefMut},
    time::Duration,
};

use watchfloor_sim::conformance::{
    Bot, Call, Choice, Click, Heard, Lacks, Message, Place, Sent, Setup, Shown, Subject, Trouble, Words, until,
};

use super::world::{Event, World, Wrong};

pub(super) const CUT: &str = "a_cut_connection_is_replaced";
pub(super) const NO_CONNECTION: &str = "there is no connection";

thread_local! {
    /// What bots do wrong that start on this thread.
    pub(super) static WRONG: Cell<Wrong> = const { Cell::new(Wrong::Nothing) };
}

pub(super) struct FakeBot(RefCell<World>);

impl Bot for FakeBot {
    fn hold(&self, word: &'static str) {
        self.0.borrow_mut().held = Some(word);
    }

    fn release(&self) {
        let mut world = self.0.borrow_mut();
        world.held = None;
        world.open.clear();
    }

    fn refuse(&self, next: usize) {
        self.0.borrow_mut().refusals = next;
    }

    fn heard(&self) -> Vec<Heard> {
        self.0.borrow().heard.clone()
    }

    fn clicks(&self) -> Vec<Click> {
        self.0.borrow().clicks.clone()
    }

    async fn post(&self, question: &Message, words: &Words) -> Sent {
        self.0.borrow_mut().post(question, words).unwrap_or_else(|sent| sent)
    }

    async fn edit(&self, message: &Message, words: &Words) -> Sent {
        let (sent, wait) = self.0.borrow_mut().edit(message, words).unwrap_or_else(|sent| (sent, Duration::ZERO));
        tokio::time::sleep(wait).await;
        sent
    }

    async fn delete(&self, message: &Message) -> Sent {
        let mut world = self.0.borrow_mut();
        let wrong = world.wrong;
        let gone = std::mem::replace(&mut world.posted(message).gone, true);
        match wrong {
            Wrong::FailsToDeleteWhatIsGone if gone => Sent::Refused("MessageGone".to_owned()),
            _ => Sent::Done(message.clone()),
        }
    }

    async fn stop(&self) {
        let wrong = self.0.borrow().wrong;
        match wrong {
            Wrong::WaitsForTheStoreBeforeItStops => {
                until("the store", || self.0.borrow().open.is_empty().then_some(())).await;
            }
            Wrong::AcknowledgesWhenItStops => self.0.borrow_mut().open.clear(),
            _ => {}
        }
    }
}

/// Without a connection it lacks one check.
pub(super) struct Fake<const CONNECTED: bool>(FakeBot);

impl<const CONNECTED: bool> Fake<CONNECTED> {
    fn world(&self) -> RefMut<'_, World> {
        self.0.0.borrow_mut()
    }
}

impl<const CONNECTED: bool> Subject for Fake<CONNECTED> {
    type Bot = FakeBot;

    const LACKS: &'static [(&'static str, &'static str)] = if CONNECTED { &[] } else { &[(CUT, NO_CONNECTION)] };

    async fn start(_: Setup) -> Self {
        Self(FakeBot(RefCell::new(World::new(WRONG.get()))))
    }

    fn bot(&self) -> &FakeBot {
        &self.0
    }

    async fn say(&self, place: Place, text: &str) -> Message {
        let mut world = self.world();
        let message = world.named(place);
        let event = Event { place, message: message.clone(), text: text.to_owned(), own: false, known: true };
        world.said.push(event.clone());
        world.bring(event);
        message
    }

    async fn redeliver(&self, message: &Message) {
        let mut world = self.world();
        let event = world.said.iter().find(|event| event.message == *message).unwrap().clone();
        if world.wrong != Wrong::SwallowsRedeliveries {
            world.bring(event);
        }
    }

    async fn cut(&self) -> Result<(), Lacks> {
        let mut world = self.world();
        world.dead = world.wrong == Wrong::StaysCut;
        if CONNECTED { Ok(()) } else { Err(Lacks(NO_CONNECTION)) }
    }

    async fn go_silent(&self) -> Result<(), Lacks> {
        let mut world = self.world();
        world.dead = world.wrong == Wrong::StaysSilent;
        Ok(())
    }

    async fn tell_of(&self, kind: &str) {
        let mut world = self.world();
        let (place, message) = (Place::Group, world.named(Place::Group));
        world.bring(Event { place, message, text: kind.to_owned(), own: false, known: false });
    }

    async fn echo(&self, own: &Message) {
        let mut world = self.world();
        let posted = world.posted(own);
        let (place, text) = (posted.place, posted.versions.last().unwrap().clone());
        world.bring(Event { place, message: own.clone(), text, own: true, known: true });
    }

    fn unacknowledged(&self) -> usize {
        let world = self.world();
        world.open.len() + world.queue.len()
    }

    async fn acknowledged(&self) {
        until("the acknowledgements", || (self.unacknowledged() == 0).then_some(())).await;
    }

    fn trouble(&self, call: Call, trouble: Trouble) {
        self.world().troubles.push((call, trouble));
    }

    fn edits_asked(&self) -> usize {
        self.world().edits
    }

    fn shown(&self, message: &Message) -> Shown {
        let mut world = self.world();
        let posted = world.posted(message);
        let buttons = posted.choices.iter().map(|choice| choice.label.clone()).collect();
        Shown { text: posted.versions.last().unwrap().clone(), versions: posted.versions.len(), buttons }
    }

    fn standing(&self, place: Place) -> Vec<String> {
        let world = self.world();
        let standing = world.posted.iter().filter(|posted| posted.place == place && !posted.gone);
        standing.map(|posted| posted.versions.last().unwrap().clone()).collect()
    }

    async fn delete_thread(&self, of: &Message) {
        self.world().gone_threads.push(of.clone());
    }

    async fn delete(&self, message: &Message) {
        self.world().posted(message).gone = true;
    }

    async fn press(&self, message: &Message, button: usize) -> String {
        let mut world = self.world();
        let Choice { action, value, .. } = world.posted(message).choices[button].clone();
        if world.wrong != Wrong::LosesClicks {
            world.clicks.push(Click { message: message.clone(), action, value });
        }
        let told = if world.wrong == Wrong::LeavesClicksUnanswered { "" } else { "This is no longer valid." };
        told.to_owned()
    }
}
