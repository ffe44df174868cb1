//! A turn from its opening to its close, and what a restart finds.

use tokio::task::JoinSet;

use super::{Bench, message, on_every_engine, on_every_lasting_engine, opened, said, turn};
use crate::store::{
    Claim, DeliveryKind, DeliveryRow, DeliveryState, OpenTurn, OpenedTurn, Resumed, SessionKind, SessionRow,
    SessionStatus, Store, StoreError, Totals, TurnRow, TurnStatus,
};

on_every_engine! {
    the_first_turn_of_a_thread_creates_its_session,
    the_next_turn_continues_the_session,
    each_person_has_a_session_where_sessions_are_personal,
    first_turns_at_once_share_one_session,
    a_turn_takes_its_messages_from_the_queue,
    a_message_that_was_taken_opens_no_second_turn,
    steering_appends_and_takes,
    a_process_that_lost_the_lease_steers_nothing,
    an_answer_is_kept_before_it_is_shown,
    closing_counts_once,
    a_turn_that_was_left_open_is_resumed_with_a_new_epoch,
    an_attempt_that_an_orderly_end_cut_short_is_not_counted,
    the_open_turn_of_a_conversation_is_found,
}
on_every_lasting_engine! {
    a_turn_of_a_killed_process_is_found_by_the_next,
    an_open_that_was_given_up_leaves_nothing_behind,
}

const TOTALS: Totals =
    Totals { model_calls: 2, tool_calls: 3, input_tokens: 100, cached_tokens: 80, output_tokens: 20 };

async fn the_first_turn_of_a_thread_creates_its_session(bench: &Bench) {
    let store = &bench.store;
    let open = OpenTurn { messages: vec![message("1"), message("2")], ..turn("t1") };
    let opened = store.turns().open(&open).await.unwrap();
    let session = SessionRow {
        id: opened.session.id.clone(),
        channel: "slack".into(),
        room: "C1".into(),
        thread: "100.1".into(),
        scope_user: String::new(),
        generation: 1,
        user_id: "U1".into(),
        agent_id: "default".into(),
        parent_session_id: None,
        turn_id: None,
        kind: SessionKind::Coordinator,
        title: "why?".into(),
        locale: "en".into(),
        model: None,
        status: SessionStatus::Running,
        background: false,
        attempts: 0,
        next_seq: 3,
        evidence_seq: 0,
        lease_owner: Some("first".into()),
        lease_until: None,
        lease_epoch: 1,
        input_tokens: 0,
        cached_tokens: 0,
        output_tokens: 0,
        cost_micros: 0,
        created_at: 2_000,
        updated_at: 2_000,
    };
    let turn = TurnRow {
        id: "t1".into(),
        session_id: session.id.clone(),
        asker_id: "U1".into(),
        asker_name: Some("Ana".into()),
        status: TurnStatus::Running,
        attempts: 1,
        answer: None,
        answer_complete: None,
        reason: None,
        model_calls: 0,
        tool_calls: 0,
        input_tokens: 0,
        cached_tokens: 0,
        output_tokens: 0,
        follow_up: false,
        opened_at: 2_000,
        closed_at: None,
    };
    assert_eq!(store.turns().get("t1").await.unwrap(), Some(turn.clone()));
    assert_eq!(store.sessions().get(&session.id).await.unwrap(), Some(session.clone()));
    assert_eq!(store.sessions().find("slack", "C1", "100.1", "").await.unwrap(), Some(session.clone()));
    assert_eq!(bodies(store, &session.id).await, ["1", "2"]);
    let placeholder = DeliveryRow {
        id: "t1-placeholder".into(),
        turn_id: "t1".into(),
        session_id: session.id.clone(),
        channel: "slack".into(),
        room: "C1".into(),
        thread: "100.1".into(),
        kind: DeliveryKind::Placeholder,
        part: 0,
        state: DeliveryState::Intended,
        text: String::new(),
        message_room: None,
        message_id: None,
        reason: None,
        created_at: 2_000,
        updated_at: 2_000,
    };
    assert_eq!(store.deliveries().of_turn("t1").await.unwrap(), std::slice::from_ref(&placeholder));
    assert_eq!(opened, OpenedTurn { session, turn, placeholder });
}

async fn the_next_turn_continues_the_session(bench: &Bench) {
    let store = &bench.store;
    let first = store.turns().open(&OpenTurn { messages: vec![message("1")], ..turn("t1") }).await.unwrap();
    let second = OpenTurn { asker_id: "U2".into(), messages: vec![message("2")], now_ms: 9_000, ..turn("t2") };
    let second = store.turns().open(&second).await.unwrap();
    let continued = SessionRow { next_seq: 3, updated_at: 9_000, ..first.session };
    assert_eq!(second.session, continued, "who opened it and its epoch stay");
    let third = store.turns().open(&OpenTurn { owner: "second".into(), ..turn("t3") }).await.unwrap();
    assert_eq!((third.session.lease_owner.as_deref(), third.session.lease_epoch), (Some("second"), 2));
    assert_eq!(bodies(store, &continued.id).await, ["1", "2"]);
}

async fn each_person_has_a_session_where_sessions_are_personal(bench: &Bench) {
    let mut ids = Vec::new();
    for (id, person) in [("t1", "U1"), ("t2", "U2"), ("t3", "U1")] {
        let open = OpenTurn { scope_user: person.into(), ..turn(id) };
        ids.push(bench.store.turns().open(&open).await.unwrap().session.id);
    }
    assert_eq!(ids[0], ids[2]);
    assert_ne!(ids[0], ids[1]);
    assert_eq!(bench.store.sessions().find("slack", "C1", "100.1", "").await.unwrap(), None);
}

async fn first_turns_at_once_share_one_session(bench: &Bench) {
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let store = bench.store.clone();
        tasks.spawn(async move {
            let open = OpenTurn { messages: vec![message("x")], ..turn(&format!("t{number}")) };
            store.turns().open(&open).await.unwrap().session.id
        });
    }
    let mut ids = tasks.join_all().await;
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let seqs: Vec<_> =
        bench.store.messages().transcript(&ids[0]).await.unwrap().into_iter().map(|row| row.seq).collect();
    assert_eq!(seqs, (1..=8).collect::<Vec<_>>());
}

async fn a_turn_takes_its_messages_from_the_queue(bench: &Bench) {
    let store = &bench.store;
    let (first, second) = (claimed(store, "m1").await, claimed(store, "m2").await);
    store.turns().open(&OpenTurn { inbox_ids: vec![first], ..turn("t1") }).await.unwrap();
    let waiting: Vec<_> = waiting(store).await;
    assert_eq!(waiting, [second]);
}

async fn a_message_that_was_taken_opens_no_second_turn(bench: &Bench) {
    let store = &bench.store;
    let (first, second) = (claimed(store, "m1").await, claimed(store, "m2").await);
    let open = OpenTurn { inbox_ids: vec![first.clone()], ..turn("t1") };
    let session = store.turns().open(&open).await.unwrap().session;

    let again = OpenTurn {
        owner: "second".into(),
        messages: vec![message("again")],
        inbox_ids: vec![second.clone(), first],
        ..turn("t2")
    };
    assert_eq!(store.turns().open(&again).await, Err(StoreError::LostLease));
    // All of it was undone.
    assert_eq!(store.turns().get("t2").await.unwrap(), None);
    assert_eq!(store.sessions().get(&session.id).await.unwrap(), Some(session.clone()));
    assert_eq!(bodies(store, &session.id).await, Vec::<String>::new());
    assert_eq!(store.deliveries().of_turn("t2").await.unwrap(), []);
    assert_eq!(waiting(store).await, [second]);
}

async fn steering_appends_and_takes(bench: &Bench) {
    let store = &bench.store;
    let session = opened(store, "t1").await.session;
    let said = claimed(store, "m1").await;
    let first =
        store.turns().steer("t1", &session.id, 1, std::slice::from_ref(&said), vec![message("steer")], 2_500).await;
    assert_eq!(first, Ok(1));
    assert_eq!(bodies(store, &session.id).await, ["steer"]);
    assert_eq!(waiting(store).await, Vec::<String>::new());

    let twice = store.turns().steer("t1", &session.id, 1, &[said], vec![message("twice")], 2_600).await;
    assert_eq!(twice, Err(StoreError::LostLease));
    assert_eq!(bodies(store, &session.id).await, ["steer"]);
}

async fn a_process_that_lost_the_lease_steers_nothing(bench: &Bench) {
    let store = &bench.store;
    let session = opened(store, "t1").await.session;
    let said = claimed(store, "m1").await;
    let resumed = store.turns().resume("t1", "second", 5_000).await.unwrap();
    assert_eq!(resumed, Resumed { attempts: 2, epoch: 2 });
    let ids = [said.clone()];
    let steered = store.turns().steer("t1", &session.id, session.lease_epoch, &ids, vec![message("x")], 5_500).await;
    assert_eq!(steered, Err(StoreError::LostLease));
    assert_eq!(bodies(store, &session.id).await, Vec::<String>::new());
    assert_eq!(waiting(store).await, [said]);
    assert_eq!(store.turns().steer("t1", &session.id, 2, &ids, vec![message("x")], 5_600).await, Ok(1));
}

async fn an_answer_is_kept_before_it_is_shown(bench: &Bench) {
    let store = &bench.store;
    let turn = opened(store, "t1").await.turn;
    store.turns().answer("t1", "It was DNS.", false, Some("out of steps".into())).await.unwrap();
    let expected = TurnRow {
        answer: Some("It was DNS.".into()),
        answer_complete: Some(false),
        reason: Some("out of steps".into()),
        ..turn
    };
    assert_eq!(store.turns().get("t1").await.unwrap(), Some(expected));
    let unknown = store.turns().answer("t9", "x", true, None).await;
    assert_eq!(unknown, Err(StoreError::Broken("there is no turn t9".into())));
}

async fn closing_counts_once(bench: &Bench) {
    let store = &bench.store;
    let said = claimed(store, "m1").await;
    let OpenedTurn { session, turn, .. } =
        store.turns().open(&OpenTurn { inbox_ids: vec![said], ..turn("t1") }).await.unwrap();
    store.turns().answer("t1", "ok", true, Some("early".into())).await.unwrap();
    store.turns().close("t1", TurnStatus::Answered, None, TOTALS, 7_000).await.unwrap();
    store.turns().close("t1", TurnStatus::Failed, Some("again".into()), TOTALS, 8_000).await.unwrap();

    let closed = TurnRow {
        status: TurnStatus::Answered,
        answer: Some("ok".into()),
        answer_complete: Some(true),
        reason: Some("early".into()),
        model_calls: 2,
        tool_calls: 3,
        input_tokens: 100,
        cached_tokens: 80,
        output_tokens: 20,
        closed_at: Some(7_000),
        ..turn
    };
    assert_eq!(store.turns().get("t1").await.unwrap(), Some(closed));
    let idle = SessionRow {
        status: SessionStatus::Idle,
        input_tokens: 100,
        cached_tokens: 80,
        output_tokens: 20,
        updated_at: 7_000,
        ..session
    };
    assert_eq!(store.sessions().get(&idle.id).await.unwrap(), Some(idle));
    assert_eq!(store.inbox().purge(10_000).await.unwrap(), 1, "the message it took is done");
    assert_eq!(store.turns().running().await.unwrap(), []);
}

async fn a_turn_that_was_left_open_is_resumed_with_a_new_epoch(bench: &Bench) {
    let store = &bench.store;
    opened(store, "t1").await;
    let attempts = store.turns().resume("t1", "first", 5_000).await.unwrap();
    assert_eq!(attempts, Resumed { attempts: 2, epoch: 1 }, "the same owner keeps its epoch");
    let attempts = store.turns().resume("t1", "second", 6_000).await.unwrap();
    assert_eq!(attempts, Resumed { attempts: 3, epoch: 2 });
    store.turns().close("t1", TurnStatus::Stopped, None, TOTALS, 7_000).await.unwrap();
    assert_eq!(store.turns().resume("t1", "third", 8_000).await, Err(StoreError::LostLease));
    assert_eq!(store.turns().resume("t9", "third", 8_000).await, Err(StoreError::LostLease));
}

async fn a_turn_of_a_killed_process_is_found_by_the_next(bench: &Bench) {
    let first = opened(&bench.store, "t1").await;
    let second = OpenTurn { thread: "200.1".into(), now_ms: 2_500, ..turn("t2") };
    let second = bench.store.turns().open(&second).await.unwrap();
    // Nothing is closed: the first process is gone without a word.
    let next = bench.again().await;
    let expected = [(first.turn, first.session), (second.turn, second.session)];
    assert_eq!(next.turns().running().await.unwrap(), expected);
    next.turns().close("t1", TurnStatus::Failed, Some("restart".into()), TOTALS, 9_000).await.unwrap();
    assert_eq!(next.turns().running().await.unwrap(), expected[1..]);
    next.close().await;
}

async fn an_open_that_was_given_up_leaves_nothing_behind(bench: &Bench) {
    let said = claimed(&bench.store, "m1").await;
    let store = bench.store.clone();
    let open = OpenTurn { messages: vec![message("1")], inbox_ids: vec![said.clone()], ..turn("t1") };
    // Dropped after its first few steps, wherever those lead.
    for polls in 0..6 {
        let turns = store.turns();
        let mut opening = Box::pin(turns.open(&open));
        for _ in 0..polls {
            if futures::poll!(opening.as_mut()).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(opening);
        let next = bench.again().await;
        let all = next.turns().get("t1").await.unwrap().is_some();
        let expected = if all { vec![] } else { vec![said.clone()] };
        assert_eq!(waiting(&next).await, expected, "after {polls} polls");
        assert_eq!(next.sessions().find("slack", "C1", "100.1", "").await.unwrap().is_some(), all);
        next.close().await;
        if all {
            return;
        }
    }
    store.turns().open(&open).await.unwrap();
}

async fn claimed(store: &Store, key: &str) -> String {
    match store.inbox().claim(&said(key)).await.unwrap() {
        Claim::Taken { id } => id,
        Claim::Duplicate => panic!("{key} was claimed before"),
    }
}

async fn waiting(store: &Store) -> Vec<String> {
    let rows = store.inbox().pending("slack", "C1", "100.1").await.unwrap();
    rows.into_iter().map(|row| row.id).collect()
}

async fn bodies(store: &Store, session_id: &str) -> Vec<String> {
    store.messages().transcript(session_id).await.unwrap().into_iter().map(|row| row.body).collect()
}

async fn an_attempt_that_an_orderly_end_cut_short_is_not_counted(bench: &Bench) {
    let turns = bench.store.turns();
    opened(&bench.store, "t1").await;
    turns.forgive("t1").await.unwrap();
    assert_eq!(turns.resume("t1", "second", 5_000).await.unwrap().attempts, 1);
    turns.close("t1", TurnStatus::Stopped, None, TOTALS, 6_000).await.unwrap();
    turns.forgive("t1").await.unwrap();
    assert_eq!(turns.get("t1").await.unwrap().unwrap().attempts, 1, "a closed turn stays as it is");
}

async fn the_open_turn_of_a_conversation_is_found(bench: &Bench) {
    let turns = bench.store.turns();
    assert_eq!(turns.open_in("slack", "C1", "100.1").await.unwrap(), None);
    let OpenedTurn { session, turn, .. } = opened(&bench.store, "t1").await;
    assert_eq!(turns.open_in("slack", "C1", "100.1").await.unwrap(), Some((turn, session)));
    assert_eq!(turns.open_in("slack", "C1", "200.2").await.unwrap(), None);
    turns.close("t1", TurnStatus::Answered, None, TOTALS, 6_000).await.unwrap();
    assert_eq!(turns.open_in("slack", "C1", "100.1").await.unwrap(), None);
}
