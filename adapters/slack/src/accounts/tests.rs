use serde_json::json;
use watchfloor_channel::ChannelId;

use super::*;
use crate::config::{Transport, Workspace};

/// The one of `bot_token`, then one for each other entry; `None` is not signed in yet.
fn accounts(identities: &[Option<Identity>]) -> Accounts {
    let url = "http://127.0.0.1:1/api/".parse().unwrap();
    let mut config =
        SlackConfig::new(ChannelId::new("slack"), Transport::Socket { app_token: "xapp".into() }, "xoxb".into(), url);
    let further = (1..identities.len()).map(|at| Workspace { label: format!("w{at}"), bot_token: "xoxb".into() });
    config.workspaces = further.collect();
    let api = Arc::new(Api::new(&config).unwrap());
    let accounts = Accounts::new(Arc::new(config), api);
    for (index, identity) in identities.iter().enumerate() {
        if let Some(identity) = identity {
            accounts.all[index].identity.set(identity.clone()).unwrap();
            accounts.stands(index, Standing::In);
        }
    }
    accounts
}

fn team(id: &str, bot: &str) -> Identity {
    Identity { user_id: bot.into(), team: id.into(), home: id.into(), ..Identity::default() }
}

fn organisation(id: &str, bot: &str) -> Identity {
    Identity { enterprise: Some(id.into()), is_org_wide: true, home: id.into(), ..team("T0ANY", bot) }
}

/// The home of the account, or what else is to be done.
fn owner(accounts: &Accounts, payload: &Value) -> String {
    match accounts.of_event(payload) {
        Owner::Ours(_, own) => own.home.clone(),
        Owner::Unknown => "later".to_owned(),
        Owner::Nobodys => "nobody".to_owned(),
    }
}

#[test]
fn an_event_belongs_to_the_installation_that_it_names() {
    let all = accounts(&[Some(team("T1", "U1")), Some(team("T2", "U2")), Some(organisation("E3", "W3"))]);
    let grant = |team: Value, org: Value, wide: bool| json!([{"team_id": team, "enterprise_id": org, "is_enterprise_install": wide}]);
    let table = [
        (json!({"authorizations": grant(json!("T2"), json!(null), false), "team_id": "T1"}), "T2"),
        (json!({"authorizations": grant(json!(null), json!("E3"), true), "team_id": null}), "E3"),
        (json!({"authorizations": grant(json!("T7"), json!("E3"), true), "team_id": "T7"}), "E3"),
        // A workspace of an organisation that has its own installation.
        (json!({"authorizations": grant(json!("T2"), json!("E3"), false), "team_id": "T2"}), "T2"),
        (json!({"authorizations": grant(json!("T9"), json!(null), false), "team_id": "T9"}), "nobody"),
        (
            json!({"authorizations": grant(json!("T9"), json!(null), false), "team_id": "T9", "context_team_id": "T1"}),
            "T1",
        ),
        (json!({"authorizations": [], "team_id": "T1"}), "T1"),
        (json!({"team_id": "T9", "context_team_id": "T2"}), "T2"),
        (json!({"team_id": "T9", "enterprise_id": "E3"}), "E3"),
        (json!({"authorizations": "odd", "team_id": 7}), "nobody"),
        (json!({}), "nobody"),
        (json!(null), "nobody"),
    ];
    for (payload, expected) in table {
        assert_eq!(owner(&all, &payload), expected, "{payload}");
    }
    let strangers = all.strangers.lock().unwrap().clone();
    assert_eq!(strangers, HashMap::from([("T9".to_owned(), 1), ("(unnamed)".to_owned(), 3)]));
}

#[test]
fn an_event_without_a_workspace_is_for_the_only_one_there_is() {
    let only = accounts(&[Some(team("T1", "U1"))]);
    assert_eq!(owner(&only, &json!({"event": {}})), "T1");
    assert_eq!(owner(&only, &json!({"team_id": "T9"})), "nobody");
    // Whoever isn't told its own workspace has no reason to refuse one.
    assert_eq!(owner(&accounts(&[Some(team("", "U1"))]), &json!({"team_id": "T9"})), "");
}

#[test]
fn an_event_of_a_workspace_that_may_yet_sign_in_is_left_for_later() {
    let some = accounts(&[Some(team("T1", "U1")), None]);
    assert_eq!(owner(&some, &json!({"team_id": "T2"})), "later");
    assert_eq!(owner(&some, &json!({"team_id": "T1"})), "T1");
    some.stands(1, Standing::Out(gone("T2")));
    assert_eq!(owner(&some, &json!({"team_id": "T2"})), "nobody");
}

#[test]
fn a_copy_in_a_shared_room_is_for_the_installation_that_it_mentions() {
    let all = accounts(&[Some(team("T1", "U1")), Some(team("T2", "U2"))]);
    let copy = |shared: bool, text: &str| json!({"authorizations": [{"team_id": "T2"}], "is_ext_shared_channel": shared, "event": {"text": text}});
    let table =
        [(true, "<@U1> why?", "T1"), (true, "<@U2> and <@U1>?", "T2"), (true, "why?", "T2"), (false, "<@U1>", "T2")];
    for (shared, text, expected) in table {
        assert_eq!(owner(&all, &copy(shared, text)), expected, "{text}");
    }
}

#[test]
fn a_channel_is_as_well_as_its_worst_workspace_but_one_that_works_is_enough() {
    use ChannelState::{Connected, Connecting, Degraded, Disconnected, Off};
    let all = accounts(&[None, None]);
    let trying = |why: &str| Standing::Trying(Some(why.to_owned()));
    let out = || Standing::Out(gone("T2"));
    let gone = gone("T2").remedy;
    let table = [
        ([Standing::Trying(None), Standing::Trying(None)], Connecting, Connecting),
        ([trying("no"), Standing::Trying(None)], Connecting, Disconnected("bot_token: no".into())),
        ([Standing::In, Standing::Trying(None)], Connected, Connected),
        ([Standing::In, trying("no")], Connected, Degraded("w1: no".into())),
        ([out(), Standing::In], Connected, Degraded(format!("bot_token: {gone}"))),
        ([Standing::In, trying("no")], Degraded("x".into()), Degraded("x; w1: no".into())),
        ([Standing::In, trying("no")], Disconnected("cut".into()), Disconnected("cut".into())),
        ([out(), out()], Connecting, Off(gone.clone())),
    ];
    for (standings, connection, expected) in table {
        assert_eq!(all.state(&standings, &connection), expected, "{standings:?} {connection:?}");
    }
}
