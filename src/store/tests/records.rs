//! What was done, found and changed: calls, artifacts, audit, change events.

use super::{Bench, on_every_engine};
use crate::store::{
    ArtifactRow, AuditRow, CallRow, ChangeQuery, ChangeRow, NewArtifact, NewCall, NewChange, StoreError,
};

on_every_engine! {
    a_call_is_unfinished_until_it_ends,
    the_calls_of_a_step_are_started_together_or_not_at_all,
    an_artifact_is_found_by_its_evidence_number,
    an_evidence_number_names_one_artifact,
    the_audit_comes_back_in_order,
    a_change_sent_twice_is_one_row,
    changes_are_found_by_time_and_service_newest_first,
}

async fn a_call_is_unfinished_until_it_ends(bench: &Bench) {
    let calls = bench.store.calls();
    calls.start(&[]).await.unwrap();
    calls.start(&[call("c1"), call("c2")]).await.unwrap();
    let row = CallRow {
        id: "c1".into(),
        session_id: "s1".into(),
        turn_id: "t1".into(),
        call_id: "call_c1".into(),
        tool: "query_metrics".into(),
        class: "read".into(),
        arguments: r#"{"b":1,"a":2}"#.into(),
        headline: "error rate of checkout".into(),
        state: "running".into(),
        found: None,
        evidence: None,
        started_at: 1_000,
        ended_at: None,
    };
    let other = CallRow { id: "c2".into(), call_id: "call_c2".into(), ..row.clone() };
    assert_eq!(calls.unfinished("s1").await.unwrap(), [row.clone(), other.clone()]);
    assert_eq!(calls.unfinished("s2").await.unwrap(), []);

    calls.finish("c1", "done", Some("something"), Some("E1"), 2_000).await.unwrap();
    assert_eq!(calls.unfinished("s1").await.unwrap(), [other]);
    let ended = CallRow {
        state: "done".into(),
        found: Some("something".into()),
        evidence: Some("E1".into()),
        ended_at: Some(2_000),
        ..row
    };
    assert_eq!(calls.get("c1").await.unwrap(), Some(ended));
    let unknown = calls.finish("c9", "done", None, None, 2_000).await;
    assert_eq!(unknown, Err(StoreError::Broken("there is no call c9".into())));
}

async fn the_calls_of_a_step_are_started_together_or_not_at_all(bench: &Bench) {
    let calls = bench.store.calls();
    let twice = calls.start(&[call("c1"), call("c2"), call("c1")]).await;
    assert!(matches!(twice, Err(StoreError::Broken(_))), "{twice:?}");
    assert_eq!(calls.unfinished("s1").await.unwrap(), []);
}

fn call(id: &str) -> NewCall {
    NewCall {
        id: id.into(),
        session_id: "s1".into(),
        turn_id: "t1".into(),
        call_id: format!("call_{id}"),
        tool: "query_metrics".into(),
        class: "read".into(),
        arguments: r#"{"b":1,"a":2}"#.into(),
        headline: "error rate of checkout".into(),
        started_at: 1_000,
    }
}

async fn an_artifact_is_found_by_its_evidence_number(bench: &Bench) {
    let artifacts = bench.store.artifacts();
    artifacts.put(&artifact("a1", Some("E1"))).await.unwrap();
    artifacts.put(&artifact("a2", None)).await.unwrap();
    artifacts.put(&artifact("a3", None)).await.unwrap();
    let row = ArtifactRow {
        id: "a1".into(),
        session_id: "s1".into(),
        turn_id: "t1".into(),
        call_id: "call_1".into(),
        tool: "query_logs".into(),
        evidence: Some("E1".into()),
        content: "line\n\u{fffd}binary\n".into(),
        created_at: 1_000,
    };
    assert_eq!(artifacts.by_evidence("s1", "E1").await.unwrap(), Some(row.clone()));
    assert_eq!(artifacts.by_evidence("s2", "E1").await.unwrap(), None);
    assert_eq!(artifacts.get("a1").await.unwrap(), Some(row));
    assert_eq!(artifacts.get("a9").await.unwrap(), None);
}

async fn an_evidence_number_names_one_artifact(bench: &Bench) {
    let artifacts = bench.store.artifacts();
    artifacts.put(&artifact("a1", Some("E1"))).await.unwrap();
    let second = artifacts.put(&artifact("a2", Some("E1"))).await;
    assert!(matches!(second, Err(StoreError::Broken(_))), "{second:?}");
    artifacts.put(&NewArtifact { session_id: "s2".into(), ..artifact("a3", Some("E1")) }).await.unwrap();
}

fn artifact(id: &str, evidence: Option<&str>) -> NewArtifact {
    NewArtifact {
        id: id.into(),
        session_id: "s1".into(),
        turn_id: "t1".into(),
        call_id: "call_1".into(),
        tool: "query_logs".into(),
        evidence: evidence.map(Into::into),
        content: "line\n\0binary\n".into(),
        created_at: 1_000,
    }
}

async fn the_audit_comes_back_in_order(bench: &Bench) {
    let audit = bench.store.audit();
    let first = AuditRow {
        id: "b".into(),
        at: 1_000,
        session_id: "s1".into(),
        turn_id: "t1".into(),
        call_id: "call_1".into(),
        asker: "U1".into(),
        persona: "metrics".into(),
        tool: "host_bash".into(),
        class: "write".into(),
        arguments: r#"{"command":"systemctl restart x"}"#.into(),
        headline: "restart x on web-1".into(),
        decision: "approved by U2".into(),
        outcome: "done".into(),
        result_summary: "exit 0".into(),
        artifact_id: Some("a1".into()),
        evidence: Some("E1".into()),
        duration_ms: 420,
    };
    let second = AuditRow { id: "a".into(), at: 2_000, artifact_id: None, evidence: None, ..first.clone() };
    let elsewhere = AuditRow { id: "c".into(), session_id: "s2".into(), ..first.clone() };
    for row in [&second, &elsewhere, &first] {
        audit.write(row).await.unwrap();
    }
    assert_eq!(audit.list("s1").await.unwrap(), [first, second]);
}

async fn a_change_sent_twice_is_one_row(bench: &Bench) {
    let changes = bench.store.changes();
    assert_eq!(changes.insert(vec![change("1", 10, None), change("2", 20, None)]).await.unwrap(), 2);
    let again = vec![NewChange { title: "other words".into(), ..change("2", 99, None) }, change("3", 30, None)];
    assert_eq!(changes.insert(again).await.unwrap(), 1);
    assert_eq!(found(bench, 0, 100, None, 10).await, ["3", "2", "1"]);
}

async fn changes_are_found_by_time_and_service_newest_first(bench: &Bench) {
    let rows = [("1", 10, Some("checkout")), ("2", 20, Some("search")), ("3", 20, None), ("4", 30, Some("checkout"))];
    let rows = rows.map(|(id, time, service)| change(id, time, service)).to_vec();
    bench.store.changes().insert(rows).await.unwrap();
    assert_eq!(found(bench, 10, 20, None, 10).await, ["3", "2", "1"]);
    assert_eq!(found(bench, 0, 100, Some("checkout"), 10).await, ["4", "1"]);
    assert_eq!(found(bench, 0, 100, None, 2).await, ["4", "3"]);
    assert_eq!(found(bench, 31, 100, None, 10).await, Vec::<String>::new());
    let query = ChangeQuery { since: 30, until: 30, service: None, limit: 1 };
    let expected = ChangeRow {
        id: "4".into(),
        time: 30,
        kind: "deploy".into(),
        title: "v2".into(),
        service: Some("checkout".into()),
        author: Some("bo".into()),
        url: None,
        details: Some(r#"{"sha":"f00"}"#.into()),
        received_at: 31,
    };
    assert_eq!(bench.store.changes().query(query).await.unwrap(), [expected]);
}

fn change(id: &str, time: i64, service: Option<&str>) -> NewChange {
    NewChange {
        id: id.into(),
        time,
        kind: "deploy".into(),
        title: "v2".into(),
        service: service.map(Into::into),
        author: Some("bo".into()),
        url: None,
        details: Some(r#"{"sha":"f00"}"#.into()),
        received_at: time + 1,
    }
}

async fn found(bench: &Bench, since: i64, until: i64, service: Option<&str>, limit: u32) -> Vec<String> {
    let query = ChangeQuery { since, until, service: service.map(Into::into), limit };
    bench.store.changes().query(query).await.unwrap().into_iter().map(|row| row.id).collect()
}
