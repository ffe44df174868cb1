//! A platform and a bot in one, without a network between them: what is said and posted, and each way to do it wrong.

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

use watchfloor_sim::conformance::{Call, Choice, Click, Heard, Message, Place, Sent, Trouble, Words};

const LONGEST: usize = 4_000;

/// What the bot does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    Nothing,
    AcknowledgesFirst,
    ForgetsWhatWasRefused,
    HandsOnTwice,
    NamesEachDeliveryAnew,
    NamesAllTheSame,
    SwallowsRedeliveries,
    StaysCut,
    StaysSilent,
    HearsItself,
    HearsItselfInPrivate,
    WaitsAsItLikes,
    WaitsByItself,
    TakesALimitForUnavailable,
    PostsALostEditAnew,
    TakesALostEditForDone,
    RepeatsALostEditByItself,
    ReturnsBeforeTheEditIsOver,
    CutsLongTexts,
    LosesButtons,
    KeepsButtons,
    LosesClicks,
    LeavesClicksUnanswered,
    AnswersBesideADeletedThread,
    TakesADeletedThreadForUnavailable,
    TakesAGoneMessageForEdited,
    FailsToDeleteWhatIsGone,
    WaitsForTheStoreBeforeItStops,
    AcknowledgesWhenItStops,
    LeavesUnknownEventsOpen,
    LogsEachUnknownEvent,
    LogsNoUnknownEvent,
    HandsOnUnknownEvents,
}

#[derive(Clone)]
pub(super) struct Event {
    pub(super) place: Place,
    pub(super) message: Message,
    pub(super) text: String,
    pub(super) own: bool,
    pub(super) known: bool,
}

pub(super) struct Posted {
    pub(super) place: Place,
    pub(super) message: Message,
    pub(super) versions: Vec<String>,
    pub(super) choices: Vec<Choice>,
    pub(super) gone: bool,
}

pub(super) struct World {
    pub(super) wrong: Wrong,
    pub(super) dead: bool,
    pub(super) ids: usize,
    pub(super) said: Vec<Event>,
    /// Not handed on yet.
    pub(super) queue: VecDeque<Event>,
    /// Handed on, without a verdict.
    pub(super) open: Vec<Event>,
    pub(super) heard: Vec<Heard>,
    pub(super) clicks: Vec<Click>,
    pub(super) held: Option<&'static str>,
    pub(super) refusals: usize,
    pub(super) logged: HashSet<String>,
    pub(super) posted: Vec<Posted>,
    pub(super) gone_threads: Vec<Message>,
    pub(super) troubles: Vec<(Call, Trouble)>,
    pub(super) edits: usize,
}

impl World {
    pub(super) fn new(wrong: Wrong) -> Self {
        Self {
            wrong,
            dead: false,
            ids: 0,
            said: Vec::new(),
            queue: VecDeque::new(),
            open: Vec::new(),
            heard: Vec::new(),
            clicks: Vec::new(),
            held: None,
            refusals: 0,
            logged: HashSet::new(),
            posted: Vec::new(),
            gone_threads: Vec::new(),
            troubles: Vec::new(),
            edits: 0,
        }
    }

    pub(super) fn named(&mut self, place: Place) -> Message {
        self.ids += 1;
        Message { room: format!("{place:?}"), id: self.ids.to_string() }
    }

    pub(super) fn bring(&mut self, event: Event) {
        self.queue.push_back(event);
        while !self.dead
            && let Some(event) = self.queue.pop_front()
        {
            self.take(event);
        }
    }

    fn take(&mut self, event: Event) {
        if !event.known {
            self.shrug(event);
            return;
        }
        self.hand_on(&event);
        if self.wrong == Wrong::HandsOnTwice {
            self.hand_on(&event);
        }
        if self.wrong == Wrong::AcknowledgesFirst {
            return;
        }
        if self.held.is_some_and(|word| event.text.contains(word)) {
            self.open.push(event);
        } else if self.refusals > 0 {
            self.refusals -= 1;
            if self.wrong != Wrong::ForgetsWhatWasRefused {
                self.queue.push_back(event);
            }
        }
    }

    fn shrug(&mut self, event: Event) {
        let first = self.logged.insert(event.text.clone());
        let log = match self.wrong {
            Wrong::LogsEachUnknownEvent => true,
            Wrong::LogsNoUnknownEvent => false,
            _ => first,
        };
        if log {
            tracing::info!(kind = event.text, "an event of a kind that is not known");
        }
        match self.wrong {
            Wrong::LeavesUnknownEventsOpen => self.open.push(event),
            Wrong::HandsOnUnknownEvents => self.hand_on(&event),
            _ => {}
        }
    }

    fn hand_on(&mut self, event: &Event) {
        let key = match self.wrong {
            Wrong::NamesEachDeliveryAnew => self.heard.len().to_string(),
            Wrong::NamesAllTheSame => event.message.room.clone(),
            _ => event.message.id.clone(),
        };
        let deaf = self.wrong == Wrong::HearsItself
            || self.wrong == Wrong::HearsItselfInPrivate && event.place == Place::Private;
        self.heard.push(Heard { text: event.text.clone(), key, own: event.own && !deaf });
    }

    pub(super) fn posted(&mut self, message: &Message) -> &mut Posted {
        self.posted.iter_mut().find(|posted| posted.message == *message).unwrap()
    }

    fn show(&mut self, place: Place, text: String, choices: Vec<Choice>) -> Sent {
        let message = self.named(place);
        let posted = Posted { place, message: message.clone(), versions: vec![text], choices, gone: false };
        self.posted.push(posted);
        Sent::Done(message)
    }

    /// What the platform's next trouble makes of a call; a trouble that is left is for after it.
    fn trouble(&mut self, call: Call) -> Result<Option<Trouble>, Sent> {
        let at = self.troubles.iter().position(|(of, _)| *of == call);
        match at.map(|at| self.troubles.remove(at).1) {
            Some(Trouble::Limited(seconds)) => match self.wrong {
                Wrong::WaitsAsItLikes => Err(Sent::Wait(Duration::from_secs(1))),
                Wrong::WaitsByItself => Ok(None),
                Wrong::TakesALimitForUnavailable => Err(Sent::Unavailable),
                _ => Err(Sent::Wait(Duration::from_secs(seconds))),
            },
            trouble => Ok(trouble),
        }
    }

    pub(super) fn post(&mut self, question: &Message, words: &Words) -> Result<Sent, Sent> {
        let (text, choices) = self.fitting(words)?;
        self.trouble(Call::Post)?;
        let mut place = self.said.iter().find(|event| event.message == *question).unwrap().place;
        if self.gone_threads.contains(question) {
            match self.wrong {
                Wrong::AnswersBesideADeletedThread => place = Place::Group,
                Wrong::TakesADeletedThreadForUnavailable => return Err(Sent::Unavailable),
                _ => return Err(Sent::Refused("ThreadGone".to_owned())),
            }
        }
        Ok(self.show(place, text, choices))
    }

    fn fitting(&self, words: &Words) -> Result<(String, Vec<Choice>), Sent> {
        let (text, choices) = match words {
            Words::Text(text) => (text.clone(), Vec::new()),
            Words::Ask { text, choices } => (text.clone(), choices.clone()),
        };
        match (text.len() > LONGEST, self.wrong) {
            (false, _) => Ok((text, choices)),
            (true, Wrong::CutsLongTexts) => Ok((text[..LONGEST].to_owned(), choices)),
            (true, _) => Err(Sent::Refused("TooLong".to_owned())),
        }
    }

    /// What came of an edit, and how long it takes.
    pub(super) fn edit(&mut self, message: &Message, words: &Words) -> Result<(Sent, Duration), Sent> {
        self.edits += 1;
        let wrong = self.wrong;
        let (text, choices) = self.fitting(words)?;
        if self.posted(message).gone {
            return match wrong {
                Wrong::TakesAGoneMessageForEdited => Ok((Sent::Done(message.clone()), Duration::ZERO)),
                _ => Err(Sent::Refused("MessageGone".to_owned())),
            };
        }
        let trouble = self.trouble(Call::Edit)?;
        let posted = self.posted(message);
        if wrong == Wrong::PostsALostEditAnew && posted.versions.last() == Some(&text) {
            let place = posted.place;
            return Ok((self.show(place, text, choices), Duration::ZERO));
        }
        match trouble {
            // It takes effect, but when nobody looks any more.
            Some(Trouble::Slow(_)) if wrong == Wrong::ReturnsBeforeTheEditIsOver => {
                return Ok((Sent::Done(message.clone()), Duration::ZERO));
            }
            _ => posted.versions.push(text),
        }
        match wrong {
            Wrong::LosesButtons => posted.choices.clear(),
            Wrong::KeepsButtons if choices.is_empty() => {}
            _ => posted.choices = choices,
        }
        let done = Sent::Done(message.clone());
        Ok(match (trouble, wrong) {
            (Some(Trouble::AnswerLost), Wrong::TakesALostEditForDone) => (done, Duration::ZERO),
            (Some(Trouble::AnswerLost), Wrong::RepeatsALostEditByItself) => {
                self.edits += 1;
                (done, Duration::ZERO)
            }
            (Some(Trouble::AnswerLost), _) => (Sent::Uncertain, Duration::ZERO),
            (Some(Trouble::Slow(wait)), _) => (done, wait),
            _ => (done, Duration::ZERO),
        })
    }
}
