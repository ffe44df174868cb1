//! Who may do what with personas, and what she is told.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use tokio::sync::Mutex;

use super::*;
use crate::{
    coordinator::Role,
    persona::{Keeper, Roots, Shelf, ShelfError, Surroundings, Written},
};

/// Written personas, in memory.
#[derive(Debug, Default)]
pub(super) struct Drawer(Mutex<Vec<Written>>);

#[async_trait::async_trait]
impl Shelf for Drawer {
    async fn all(&self) -> Result<Vec<Written>, ShelfError> {
        Ok(self.0.lock().await.clone())
    }

    async fn put(&self, written: &Written) -> Result<(), ShelfError> {
        self.delete(&written.name).await?;
        self.0.lock().await.push(written.clone());
        Ok(())
    }

    async fn delete(&self, name: &str) -> Result<bool, ShelfError> {
        let mut all = self.0.lock().await;
        let before = all.len();
        all.retain(|known| known.name != name);
        Ok(all.len() < before)
    }
}

pub(super) async fn keeper() -> Keeper {
    let roots = Roots { dir: None, external: Vec::new() };
    Keeper::open(roots, Surroundings::default(), Arc::new(Drawer::default())).await.unwrap()
}

async fn house() -> House {
    let mut house = House::new().await;
    let key = |role: Role| Key { name: role.word().into(), token: format!("{}-canary", role.word()).into(), role };
    house.http.door = Door { keys: [Role::Viewer, Role::Admin].map(key).into(), open_on_loopback: true };
    house
}

async fn ask(house: &House, method: &str, path: &str, token: &str, body: Value) -> Answer {
    let request = Request::builder().method(method).uri(path).header(header::AUTHORIZATION, format!("Bearer {token}"));
    house.answer(request.body(Body::from(body.to_string())).unwrap()).await
}

fn poet() -> Value {
    json!({"name": "poet", "description": "Writes.", "when_to_use": "Somebody wants a verse.", "tools": ["read_result"], "body": "Write."})
}

#[tokio::test]
async fn a_persona_is_written_changed_and_removed_and_what_it_covered_is_there_again() {
    let house = house().await;
    for prefix in ["/v1", "/api/v1"] {
        let path = |rest: &str| format!("{prefix}/agents{rest}");
        let made = ask(&house, "POST", &path("/custom"), "admin-canary", poet()).await;
        assert_eq!((made.status, made.json()["source"].as_str()), (StatusCode::CREATED, Some("user")), "{made:?}");
        let twice = ask(&house, "POST", &path("/custom"), "admin-canary", poet()).await;
        assert_eq!(twice.problem(), (409, "exists".into(), None));
        let patch = json!({"max_turns": 3, "tools": []});
        let changed = ask(&house, "PATCH", &path("/custom/Poet"), "admin-canary", patch).await.json();
        assert_eq!(
            (&changed["max_turns"], &changed["tools"], &changed["body"]),
            (&json!(3), &json!([]), &json!("Write."))
        );
        let wrong = ask(&house, "PATCH", &path("/custom/poet"), "admin-canary", json!({"max_turns": "many"})).await;
        assert_eq!(wrong.problem(), (422, "invalid".into(), Some("max_turns".into())));
        let gone = ask(&house, "DELETE", &path("/custom/poet"), "admin-canary", Value::Null).await;
        assert_eq!(gone.status, StatusCode::NO_CONTENT);
        let missing = ask(&house, "GET", &path("/poet"), "viewer-canary", Value::Null).await;
        assert!(missing.text.contains("reviewer"), "{missing:?}");
        assert_eq!(missing.problem(), (404, "not_found".into(), None));
    }
    // One that is shipped can be covered, and neither changed nor removed.
    for method in ["PATCH", "DELETE"] {
        let refused = ask(&house, method, "/v1/agents/custom/reviewer", "admin-canary", json!({})).await;
        assert!(refused.text.contains("POST an override"), "{refused:?}");
        assert_eq!(refused.problem(), (409, "not_user".into(), None));
    }
    let cover = json!({"name": "Reviewer", "description": "Ours.", "when_to_use": "Somebody wants ours.", "body": "x"});
    let covered = ask(&house, "POST", "/v1/agents/custom", "admin-canary", cover).await.json();
    assert_eq!(covered["shadows"], json!(["builtin"]));
    ask(&house, "DELETE", "/v1/agents/custom/reviewer", "admin-canary", Value::Null).await;
    let one = ask(&house, "GET", "/v1/agents/reviewer", "viewer-canary", Value::Null).await.json();
    assert_eq!((&one["source"], &one["shadows"]), (&json!("builtin"), &json!([])));
}

#[tokio::test]
async fn lists_are_for_every_role_and_writing_is_for_admins() {
    let house = house().await;
    for path in ["/api/v1/agents", "/v1/agents/warnings", "/api/v1/skills", "/v1/agents/default"] {
        for token in ["viewer-canary", "admin-canary"] {
            let answer = ask(&house, "GET", path, token, Value::Null).await;
            assert_eq!(answer.status, StatusCode::OK, "{path} {answer:?}");
        }
    }
    let all = ask(&house, "GET", "/v1/agents", "viewer-canary", Value::Null).await.json();
    assert_eq!((all["items"].as_array().unwrap().len(), &all["next"]), (7, &Value::Null));
    for (method, path) in [
        ("POST", "/v1/agents/custom"),
        ("PATCH", "/v1/agents/custom/poet"),
        ("DELETE", "/v1/agents/custom/poet"),
        ("POST", "/v1/agents/reload"),
    ] {
        let refused = ask(&house, method, path, "viewer-canary", poet()).await;
        assert_eq!(refused.problem(), (403, "role".into(), None), "{path}");
    }
    assert_eq!(ask(&house, "POST", "/v1/agents/reload", "admin-canary", Value::Null).await.json()["personas"], 7);
}

#[tokio::test]
async fn a_wrong_token_is_told_where_tokens_come_from() {
    let house = house().await;
    for token in ["", "x", "admin-canary2", "admin-canar"] {
        let refused = ask(&house, "GET", "/v1/agents", token, Value::Null).await;
        assert!(refused.text.contains("[[server.tokens]]") && !refused.text.contains("canary"), "{refused:?}");
        assert_eq!(refused.problem(), (401, "unauthorized".into(), None));
    }
    let bad = Request::post("/v1/agents/custom").header(header::AUTHORIZATION, "bearer admin-canary");
    let bad = house.answer(bad.body(Body::from("{")).unwrap()).await;
    assert_eq!(bad.problem(), (400, "not_json".into(), None));
}

#[tokio::test]
async fn without_tokens_only_programs_on_this_machine_are_let_in() {
    let mut house = House::new().await;
    house.http.door = Door { keys: Arc::new([]), open_on_loopback: true };
    let from = |peer: &str, headers: &[(&str, &str)]| {
        let mut request = Request::get("/v1/agents");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::empty()).unwrap();
        request.extensions_mut().insert(ConnectInfo(peer.parse::<SocketAddr>().unwrap()));
        request
    };
    let (near, own) = ("127.0.0.1:4000", ("host", "localhost:8080"));
    for (peer, headers, expected) in [
        (near, vec![own], 200),
        ("[::1]:4000", vec![("host", "[::1]:8080")], 200),
        (near, vec![own, ("origin", "http://localhost:8080")], 200),
        ("192.0.2.1:4000", vec![own], 401),
        // A page of somebody else, and a name of hers that leads here.
        (near, vec![own, ("origin", "https://example.org")], 401),
        (near, vec![("host", "example.org:8080")], 401),
        // A proxy on this machine.
        (near, vec![own, ("x-forwarded-for", "192.0.2.1")], 401),
        (near, vec![], 401),
    ] {
        let answer = house.answer(from(peer, &headers)).await;
        assert_eq!(answer.status.as_u16(), expected, "{peer} {headers:?}");
    }
    house.http.door.open_on_loopback = false;
    assert_eq!(house.answer(from(near, &[own])).await.status, StatusCode::UNAUTHORIZED);
}
