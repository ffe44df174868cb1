//! The checks, each as a sentence that holds on every platform.

use std::time::Duration;

use super::{
    Bot as _, Call, Choice, Click, Heard, Log, Message, Place, Proved, Sent, Setup, Shown, Subject, Trouble, Words,
    until,
};

const EVERYWHERE: [Place; 3] = [Place::Group, Place::Private, Place::Thread];
/// Longer than anything that a platform takes in one message.
const FAR_TOO_LONG: usize = 200_000;

pub async fn no_acknowledgement_comes_before_the_verdict<S: Subject>() -> Proved {
    let subject = S::start(Setup::Usual).await;
    subject.bot().hold("slow");
    subject.say(Place::Group, "slow?").await;
    heard(&subject, 1).await;
    assert_eq!(subject.unacknowledged(), 1);
    subject.bot().release();
    subject.acknowledged().await;
    assert_eq!(texts(&subject), ["slow?"]);
    Ok(())
}

pub async fn what_the_store_refused_is_brought_again<S: Subject>() -> Proved {
    let subject = S::start(Setup::Impatient).await;
    subject.bot().refuse(1);
    subject.say(Place::Group, "why?").await;
    let came = heard(&subject, 2).await;
    assert_eq!(came[0], came[1]);
    subject.acknowledged().await;
    assert_eq!(texts(&subject), ["why?", "why?"]);
    Ok(())
}

/// What is handed on twice under one key is taken once: that is the intake's part.
pub async fn a_redelivered_message_is_handed_on_under_the_same_key<S: Subject>() -> Proved {
    for place in EVERYWHERE {
        let subject = S::start(Setup::Usual).await;
        let question = subject.say(place, "why?").await;
        heard(&subject, 1).await;
        subject.acknowledged().await;
        subject.redeliver(&question).await;
        let came = heard(&subject, 2).await;
        subject.acknowledged().await;
        assert_eq!(came[0], came[1], "{place:?}");
        subject.say(place, "and now?").await;
        let came = heard(&subject, 3).await;
        assert_ne!(came[2].key, came[0].key, "{place:?}");
    }
    Ok(())
}

pub async fn a_cut_connection_is_replaced<S: Subject>() -> Proved {
    let subject = S::start(Setup::Usual).await;
    for (nth, text) in ["still there?", "and again?"].into_iter().enumerate() {
        subject.cut().await?;
        subject.say(Place::Group, text).await;
        assert_eq!(heard(&subject, nth + 1).await[nth].text, text);
        subject.acknowledged().await;
    }
    Ok(())
}

pub async fn a_half_open_connection_is_noticed<S: Subject>() -> Proved {
    let subject = S::start(Setup::ShortDeadline).await;
    subject.go_silent().await?;
    subject.say(Place::Group, "still there?").await;
    heard(&subject, 1).await;
    subject.acknowledged().await;
    Ok(())
}

pub async fn our_own_messages_are_known_as_our_own_in_every_kind_of_chat<S: Subject>() -> Proved {
    for place in EVERYWHERE {
        let subject = S::start(Setup::Usual).await;
        let question = subject.say(place, "why?").await;
        heard(&subject, 1).await;
        let posted = done(subject.bot().post(&question, &text("looking")).await);
        done(subject.bot().edit(&posted, &text("found it")).await);
        subject.echo(&posted).await;
        subject.acknowledged().await;
        subject.say(place, "and now?").await;
        let others = || {
            let heard = subject.bot().heard();
            heard.into_iter().filter(|heard| !heard.own).map(|heard| heard.text).collect::<Vec<_>>()
        };
        until("the second question", || others().contains(&"and now?".to_owned()).then_some(())).await;
        assert_eq!(others(), ["why?", "and now?"], "{place:?}");
    }
    Ok(())
}

pub async fn a_rate_limit_carries_the_platforms_number<S: Subject>() -> Proved {
    let (subject, question) = asked::<S>(Place::Group).await;
    subject.trouble(Call::Post, Trouble::Limited(7));
    assert_eq!(subject.bot().post(&question, &text("looking")).await, Sent::Wait(Duration::from_secs(7)));
    assert_eq!(subject.standing(Place::Group), [""; 0]);
    let posted = done(subject.bot().post(&question, &text("looking")).await);
    subject.trouble(Call::Edit, Trouble::Limited(41));
    assert_eq!(subject.bot().edit(&posted, &text("found it")).await, Sent::Wait(Duration::from_secs(41)));
    assert_eq!(subject.standing(Place::Group), ["looking"]);
    done(subject.bot().edit(&posted, &text("found it")).await);
    assert_eq!(subject.standing(Place::Group), ["found it"]);
    Ok(())
}

pub async fn a_final_edit_whose_answer_was_lost_is_repeated_and_leaves_one_message<S: Subject>() -> Proved {
    for place in EVERYWHERE {
        let (subject, question) = asked::<S>(place).await;
        let posted = done(subject.bot().post(&question, &text("looking")).await);
        subject.trouble(Call::Edit, Trouble::AnswerLost);
        assert_eq!(subject.bot().edit(&posted, &text("found it")).await, Sent::Uncertain, "{place:?}");
        assert_eq!(subject.bot().edit(&posted, &text("found it")).await, Sent::Done(posted.clone()), "{place:?}");
        assert_eq!(subject.standing(place), ["found it"], "{place:?}");
    }
    Ok(())
}

/// Of one message one edit is under way at a time: that is the outlet's part. The adapter's is that an edit is over when
/// `edit` returns, and that none is made that nobody asked for.
pub async fn a_late_interim_edit_never_overwrites_a_newer_one<S: Subject>() -> Proved {
    for (trouble, outcome) in
        [(Trouble::Slow(Duration::from_millis(300)), None), (Trouble::AnswerLost, Some(Sent::Uncertain))]
    {
        let (subject, question) = asked::<S>(Place::Group).await;
        let posted = done(subject.bot().post(&question, &text("looking")).await);
        subject.trouble(Call::Edit, trouble);
        let interim = subject.bot().edit(&posted, &text("half way")).await;
        assert_eq!(interim, outcome.unwrap_or(Sent::Done(posted.clone())), "{trouble:?}");
        assert_eq!(subject.shown(&posted), plain("half way", 2), "{trouble:?}");
        done(subject.bot().edit(&posted, &text("found it")).await);
        assert_eq!(subject.shown(&posted), plain("found it", 3), "{trouble:?}");
        assert_eq!(subject.edits_asked(), 2, "{trouble:?}");
    }
    Ok(())
}

pub async fn an_over_long_text_is_refused_and_not_cut<S: Subject>() -> Proved {
    let (subject, question) = asked::<S>(Place::Group).await;
    let long = text(&"many words ".repeat(FAR_TOO_LONG / 11));
    let refused = Sent::Refused("TooLong".to_owned());
    assert_eq!(subject.bot().post(&question, &long).await, refused);
    assert_eq!(subject.standing(Place::Group), [""; 0]);
    let posted = done(subject.bot().post(&question, &text("looking")).await);
    assert_eq!(subject.bot().edit(&posted, &long).await, refused);
    assert_eq!(subject.standing(Place::Group), ["looking"]);
    Ok(())
}

pub async fn buttons_stay_on_an_edit_and_a_click_comes_back_and_is_answered<S: Subject>() -> Proved {
    for place in EVERYWHERE {
        let (subject, question) = asked::<S>(place).await;
        let posted = done(subject.bot().post(&question, &ask("Restart it?")).await);
        for (versions, words) in [(1, "Restart it?"), (2, "Restart it now?")] {
            if versions > 1 {
                done(subject.bot().edit(&posted, &ask(words)).await);
            }
            let Shown { text, versions: so_far, buttons } = subject.shown(&posted);
            assert!(text.contains(words), "{place:?}: {text}");
            assert_eq!((so_far, buttons), (versions, vec!["Yes".to_owned(), "No".to_owned()]), "{place:?}");
            let told = subject.press(&posted, versions - 1).await;
            assert!(!told.trim().is_empty(), "{place:?}");
        }
        let click = |action: &str| Click { message: posted.clone(), action: action.into(), value: "r7.nonce".into() };
        let clicks = until("two clicks", || Some(subject.bot().clicks()).filter(|clicks| clicks.len() >= 2)).await;
        assert_eq!(clicks, [click("yes"), click("no")], "{place:?}");
        done(subject.bot().edit(&posted, &text("restarted")).await);
        assert_eq!(subject.shown(&posted), plain("restarted", 3), "{place:?}");
    }
    Ok(())
}

pub async fn a_thread_deleted_under_way_takes_no_more_words<S: Subject>() -> Proved {
    let (subject, question) = asked::<S>(Place::Thread).await;
    subject.delete_thread(&question).await;
    let refused = subject.bot().post(&question, &text("looking")).await;
    assert_eq!(refused, Sent::Refused(S::INTO_A_DELETED_THREAD.to_owned()));
    assert_eq!(subject.standing(Place::Thread), [""; 0], "neither there nor beside it");
    Ok(())
}

pub async fn a_message_deleted_under_way_is_known_to_be_gone<S: Subject>() -> Proved {
    for place in EVERYWHERE {
        let (subject, question) = asked::<S>(place).await;
        let posted = done(subject.bot().post(&question, &text("looking")).await);
        subject.delete(&posted).await;
        let refused = subject.bot().edit(&posted, &text("found it")).await;
        assert_eq!(refused, Sent::Refused("MessageGone".to_owned()), "{place:?}");
        assert_eq!(subject.bot().delete(&posted).await, Sent::Done(posted), "{place:?}");
        done(subject.bot().post(&question, &text("found it")).await);
        assert_eq!(subject.standing(place), ["found it"], "{place:?}");
    }
    Ok(())
}

pub async fn a_stop_waits_neither_for_the_platform_nor_for_a_stuck_store<S: Subject>() -> Proved {
    let idle = S::start(Setup::Usual).await;
    idle.bot().stop().await;
    let busy = S::start(Setup::Usual).await;
    busy.bot().hold("slow");
    busy.say(Place::Group, "slow?").await;
    heard(&busy, 1).await;
    busy.bot().stop().await;
    assert_eq!(busy.unacknowledged(), 1);
    Ok(())
}

pub async fn an_unknown_kind_of_event_is_acknowledged_and_logged_once<S: Subject>() -> Proved {
    let log = Log::listen();
    let subject = S::start(Setup::Usual).await;
    for _ in 0..3 {
        subject.tell_of("invented_next_year").await;
    }
    subject.say(Place::Group, "why?").await;
    heard(&subject, 1).await;
    subject.acknowledged().await;
    assert_eq!(texts(&subject), ["why?"]);
    let lines = log.about("invented_next_year");
    assert_eq!(lines.len(), 1, "{lines:?}");
    Ok(())
}

/// A question that was heard.
async fn asked<S: Subject>(place: Place) -> (S, Message) {
    let subject = S::start(Setup::Usual).await;
    let question = subject.say(place, "why?").await;
    heard(&subject, 1).await;
    (subject, question)
}

async fn heard(subject: &impl Subject, count: usize) -> Vec<Heard> {
    until(&format!("{count} messages"), || Some(subject.bot().heard()).filter(|heard| heard.len() >= count)).await
}

fn texts(subject: &impl Subject) -> Vec<String> {
    subject.bot().heard().into_iter().map(|heard| heard.text).collect()
}

#[track_caller]
fn done(sent: Sent) -> Message {
    match sent {
        Sent::Done(message) => message,
        other => panic!("not done: {other:?}"),
    }
}

fn text(words: &str) -> Words {
    Words::Text(words.to_owned())
}

fn ask(words: &str) -> Words {
    let choice = |label: &str, action: &str| Choice {
        label: label.to_owned(),
        action: action.to_owned(),
        value: "r7.nonce".to_owned(),
    };
    Words::Ask { text: words.to_owned(), choices: vec![choice("Yes", "yes"), choice("No", "no")] }
}

fn plain(text: &str, versions: usize) -> Shown {
    Shown { text: text.to_owned(), versions, buttons: Vec::new() }
}
