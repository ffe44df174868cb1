//! The conformance checks themselves: a sound bot passes all of them, and each fails a bot that breaks its law. Both are made
//! up, platform and bot in one, and live under a paused clock.

mod subject;
mod world;

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
};

use watchfloor_sim::conformance::{Check, Lacks, every, judge};

use self::{
    subject::{CUT, Fake, NO_CONNECTION, WRONG},
    world::Wrong,
};

fn fails(check: Check) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    catch_unwind(AssertUnwindSafe(|| runtime.block_on(check()).unwrap())).is_err()
}

/// The checks that a bot fails which does this wrong.
fn failed(wrong: Wrong) -> Vec<&'static str> {
    WRONG.set(wrong);
    every::<Fake<true>>().into_iter().filter(|(_, check)| fails(*check)).map(|(name, _)| name).collect()
}

const FIRST: &str = "no_acknowledgement_comes_before_the_verdict";
const REFUSED: &str = "what_the_store_refused_is_brought_again";
const AGAIN: &str = "a_redelivered_message_is_handed_on_under_the_same_key";
const SILENT: &str = "a_half_open_connection_is_noticed";
const OWN: &str = "our_own_messages_are_known_as_our_own_in_every_kind_of_chat";
const LIMIT: &str = "a_rate_limit_carries_the_platforms_number";
const LOST: &str = "a_final_edit_whose_answer_was_lost_is_repeated_and_leaves_one_message";
const LATE: &str = "a_late_interim_edit_never_overwrites_a_newer_one";
const LONG: &str = "an_over_long_text_is_refused_and_not_cut";
const BUTTONS: &str = "buttons_stay_on_an_edit_and_a_click_comes_back_and_is_answered";
const THREAD: &str = "a_thread_deleted_under_way_takes_no_more_words";
const GONE: &str = "a_message_deleted_under_way_is_known_to_be_gone";
const STOP: &str = "a_stop_waits_neither_for_the_platform_nor_for_a_stuck_store";
const UNKNOWN: &str = "an_unknown_kind_of_event_is_acknowledged_and_logged_once";

/// What each fault is found out by. More than one check where a fault breaks more than one law.
const FOUND_OUT: [(Wrong, &[&str]); 33] = [
    (Wrong::Nothing, &[]),
    (Wrong::AcknowledgesFirst, &[FIRST, REFUSED, STOP]),
    (Wrong::ForgetsWhatWasRefused, &[REFUSED]),
    (Wrong::HandsOnTwice, &[FIRST, REFUSED, AGAIN, CUT, OWN, UNKNOWN]),
    (Wrong::NamesEachDeliveryAnew, &[REFUSED, AGAIN]),
    (Wrong::NamesAllTheSame, &[AGAIN]),
    (Wrong::SwallowsRedeliveries, &[AGAIN]),
    (Wrong::StaysCut, &[CUT]),
    (Wrong::StaysSilent, &[SILENT]),
    (Wrong::HearsItself, &[OWN]),
    (Wrong::HearsItselfInPrivate, &[OWN]),
    (Wrong::WaitsAsItLikes, &[LIMIT]),
    (Wrong::WaitsByItself, &[LIMIT]),
    (Wrong::TakesALimitForUnavailable, &[LIMIT]),
    (Wrong::PostsALostEditAnew, &[LOST]),
    (Wrong::TakesALostEditForDone, &[LOST, LATE]),
    (Wrong::RepeatsALostEditByItself, &[LOST, LATE]),
    (Wrong::ReturnsBeforeTheEditIsOver, &[LATE]),
    (Wrong::CutsLongTexts, &[LONG]),
    (Wrong::LosesButtons, &[BUTTONS]),
    (Wrong::KeepsButtons, &[BUTTONS]),
    (Wrong::LosesClicks, &[BUTTONS]),
    (Wrong::LeavesClicksUnanswered, &[BUTTONS]),
    (Wrong::AnswersBesideADeletedThread, &[THREAD]),
    (Wrong::TakesADeletedThreadForUnavailable, &[THREAD]),
    (Wrong::TakesAGoneMessageForEdited, &[GONE]),
    (Wrong::FailsToDeleteWhatIsGone, &[GONE]),
    (Wrong::WaitsForTheStoreBeforeItStops, &[STOP]),
    (Wrong::AcknowledgesWhenItStops, &[STOP]),
    (Wrong::LeavesUnknownEventsOpen, &[UNKNOWN]),
    (Wrong::LogsEachUnknownEvent, &[UNKNOWN]),
    (Wrong::LogsNoUnknownEvent, &[UNKNOWN]),
    (Wrong::HandsOnUnknownEvents, &[UNKNOWN]),
];

#[test]
fn a_sound_bot_passes_and_what_a_bot_does_wrong_is_found_out_by_the_check_for_it() {
    let found: Vec<_> = FOUND_OUT.iter().map(|(wrong, _)| (*wrong, failed(*wrong))).collect();
    assert_eq!(found, FOUND_OUT.map(|(wrong, checks)| (wrong, checks.to_vec())));
}

#[test]
fn there_is_no_check_that_nothing_fails() {
    let alone: HashSet<_> =
        FOUND_OUT.iter().filter(|(_, checks)| checks.len() == 1).map(|(_, checks)| checks[0]).collect();
    let sole: Vec<_> =
        every::<Fake<true>>().into_iter().map(|(name, _)| name).filter(|name| !alone.contains(name)).collect();
    // Who acknowledges first forgets what is refused, too.
    assert_eq!(sole, [FIRST]);
}

#[test]
fn what_a_platform_lacks_is_listed_and_nothing_else_is() {
    let judged = |check: &str, proved| catch_unwind(|| judge::<Fake<false>>(check, proved)).is_ok();
    assert!(judged(CUT, Err(Lacks(NO_CONNECTION))) && judged(SILENT, Ok(())));
    assert!(!judged(SILENT, Err(Lacks(NO_CONNECTION))), "passed over without being listed");
    assert!(!judged(CUT, Ok(())), "listed without need");
    assert!(!judged(CUT, Err(Lacks("I would rather not"))), "listed for another reason");
}
