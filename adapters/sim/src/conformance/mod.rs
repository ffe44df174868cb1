//! What every platform's adapter must do, proved by one list of checks. Here are the words that every platform has; what is
//! proved stands in `checks`, how a platform does it is told by its [`Subject`].
//!
//! A check that a platform can't have is not skipped: its subject answers [`Lacks`] with the reason, and names check and
//! reason in [`Subject::LACKS`]. The two have to agree.

mod checks;
mod log;

use std::time::Duration;

use futures::future::LocalBoxFuture;
use tokio::time::{sleep, timeout};

pub use self::{checks::*, log::Log};

/// Longer than anything here takes, shorter than any wait that would be a fault.
const PATIENCE: Duration = Duration::from_secs(20);

/// A platform's simulator, and a bot that receives from it.
#[expect(async_fn_in_trait, reason = "checks run on one thread")]
pub trait Subject: Sized {
    type Bot: Bot;

    /// Checks that there can't be here, and why.
    const LACKS: &'static [(&'static str, &'static str)];

    /// How a post into a thread that was deleted is refused. `ThreadGone` says that the asker wants nothing any more; where
    /// others delete threads, the refusal is one of which she is told.
    const INTO_A_DELETED_THREAD: &str = "ThreadGone";

    /// Returns when the bot receives.
    async fn start(setup: Setup) -> Self;

    fn bot(&self) -> &Self::Bot;

    /// Somebody asks the bot. `Thread` is a new one each time.
    async fn say(&self, place: Place, text: &str) -> Message;

    /// The platform tells once more of a message that was acknowledged.
    async fn redeliver(&self, message: &Message);

    /// Breaks what connects the two, and returns when the bot is back.
    async fn cut(&self) -> Result<(), Lacks>;

    /// What connects the two stays open and nothing passes any more. Returns when the bot has connected anew.
    async fn go_silent(&self) -> Result<(), Lacks>;

    /// An event of a kind that nobody knows.
    async fn tell_of(&self, kind: &str);

    /// The platform tells of the bot's own message, if it has not done so by itself.
    async fn echo(&self, own: &Message);

    /// Events that the bot has not acknowledged.
    fn unacknowledged(&self) -> usize;

    /// Returns when there are none.
    async fn acknowledged(&self);

    /// The next call of this kind goes wrong.
    fn trouble(&self, call: Call, trouble: Trouble);

    /// How often the bot has asked for an edit.
    fn edits_asked(&self) -> usize;

    fn shown(&self, message: &Message) -> Shown;

    /// The texts of the bot's messages that people see there.
    fn standing(&self, place: Place) -> Vec<String>;

    /// The thread of a message said in [`Place::Thread`] is deleted, or what it hangs on.
    async fn delete_thread(&self, of: &Message);

    /// Somebody removes a message of the bot.
    async fn delete(&self, message: &Message);

    /// Presses a button, by its place; what the person is told.
    async fn press(&self, message: &Message, button: usize) -> String;
}

/// The adapter, and the desk at which it hands on what it receives.
#[expect(async_fn_in_trait, reason = "checks run on one thread")]
pub trait Bot {
    /// The verdict on texts that contain this word is held back.
    fn hold(&self, word: &'static str);

    fn release(&self);

    /// The next so many verdicts are refusals.
    fn refuse(&self, next: usize);

    /// What was handed on so far: messages that were meant for the bot, and its own.
    fn heard(&self) -> Vec<Heard>;

    /// Clicks that were handed on so far.
    fn clicks(&self) -> Vec<Click>;

    /// Answers a message that was heard.
    async fn post(&self, question: &Message, words: &Words) -> Sent;

    async fn edit(&self, message: &Message, words: &Words) -> Sent;

    async fn delete(&self, message: &Message) -> Sent;

    /// Returns when receiving has ended well.
    async fn stop(&self);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    Usual,
    /// What is not acknowledged is brought again within a moment.
    Impatient,
    /// A silent connection is noticed within some seconds.
    ShortDeadline,
}

/// Kinds of chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Group,
    Private,
    Thread,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub room: String,
    pub id: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    pub text: String,
    pub key: String,
    /// The bot knows that it wrote this itself.
    pub own: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Click {
    pub message: Message,
    pub action: String,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Words {
    Text(String),
    Ask { text: String, choices: Vec<Choice> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub label: String,
    pub action: String,
    pub value: String,
}

/// What came of one call, by what to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    Done(Message),
    Wait(Duration),
    Unavailable,
    Uncertain,
    /// With the kind of refusal.
    Refused(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Post,
    Edit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Refused for so many seconds; nothing happens.
    Limited(u64),
    /// Takes effect, and the answer never arrives.
    AnswerLost,
    /// Takes effect after a while.
    Slow(Duration),
}

/// A message of the bot as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub text: String,
    /// How many texts it has had, the first included.
    pub versions: usize,
    pub buttons: Vec<String>,
}

/// There is no such thing on this platform, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lacks(pub &'static str);

/// What a check returns: it holds, or can't be made here.
pub type Proved = Result<(), Lacks>;

/// Makes one test of each check. Needs tokio's macros where it is used.
#[macro_export]
macro_rules! conformance {
    ($subject:ty) => {
        $crate::conformance! { @list tests $subject }
    };
    (@list $what:ident $subject:ty) => {
        $crate::conformance! { @$what $subject:
            no_acknowledgement_comes_before_the_verdict
            what_the_store_refused_is_brought_again
            a_redelivered_message_is_handed_on_under_the_same_key
            a_cut_connection_is_replaced
            a_half_open_connection_is_noticed
            our_own_messages_are_known_as_our_own_in_every_kind_of_chat
            a_rate_limit_carries_the_platforms_number
            a_final_edit_whose_answer_was_lost_is_repeated_and_leaves_one_message
            a_late_interim_edit_never_overwrites_a_newer_one
            an_over_long_text_is_refused_and_not_cut
            buttons_stay_on_an_edit_and_a_click_comes_back_and_is_answered
            a_thread_deleted_under_way_takes_no_more_words
            a_message_deleted_under_way_is_known_to_be_gone
            a_stop_waits_neither_for_the_platform_nor_for_a_stuck_store
            an_unknown_kind_of_event_is_acknowledged_and_logged_once
        }
    };
    (@names $subject:ty: $($check:ident)*) => {
        vec![$((stringify!($check), (|| Box::pin($crate::conformance::$check::<$subject>()) as _) as Check)),*]
    };
    (@tests $subject:ty: $($check:ident)*) => {
        $(
            #[tokio::test]
            async fn $check() {
                let proved = $crate::conformance::$check::<$subject>().await;
                $crate::conformance::judge::<$subject>(stringify!($check), proved);
            }
        )*

        #[test]
        fn only_checks_there_are_can_be_lacking() {
            let checks = [$(stringify!($check)),*];
            for (check, why) in <$subject as $crate::conformance::Subject>::LACKS {
                assert!(checks.contains(check), "there is no check {check}: {why}");
            }
        }
    };
}

/// A check that is not run as a test of its own.
pub type Check = fn() -> LocalBoxFuture<'static, Proved>;

/// Every check by its name.
pub fn every<S: Subject + 'static>() -> Vec<(&'static str, Check)> {
    conformance!(@list names S)
}

/// A check holds, or is listed as lacking for the same reason.
///
/// # Panics
/// If one is passed over without being listed, or listed without need.
pub fn judge<S: Subject>(check: &str, proved: Proved) {
    let listed = S::LACKS.iter().find(|(lacking, _)| *lacking == check).map(|(_, why)| *why);
    assert_eq!(proved.err().map(|lacks| lacks.0), listed, "{check}");
}

/// Looks again and again until there is something to see.
///
/// # Panics
/// If there is nothing in the end.
pub async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let watch = async {
        loop {
            if let Some(seen) = look() {
                return seen;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, watch).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}
