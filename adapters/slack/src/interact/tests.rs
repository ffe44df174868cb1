//! What is read from payloads of clicks and commands, and which addresses are called.

use super::*;

fn payload() -> Value {
    json!({"type": "block_actions", "api_app_id": "A0EXAMPLE1", "trigger_id": "1.2.abc",
        "user": {"id": "U0ALICE", "username": "alice", "name": "alice", "team_id": "T0EXAMPLE1"}, "team": null,
        "container": {"type": "message", "message_ts": "1767226400.001000", "channel_id": "C0OPS",
            "is_ephemeral": false, "thread_ts": "1767225500.000100"},
        "channel": {"id": "C0OPS", "name": "ops"},
        "response_url": "https://hooks.slack.com/actions/T0EXAMPLE1/1/x",
        "actions": [{"type": "button", "action_id": "approve", "block_id": "appr_r7", "value": "r7.Zk3v9QmN",
            "action_ts": "1767226410.001100"}]})
}

fn alice() -> Author {
    person("U0ALICE".into(), Some("alice"))
}

#[test]
fn a_click_tells_who_where_and_which_button_also_without_a_team() {
    let slack = ChannelId::new("slack");
    let wanted = Asked {
        aside: Aside {
            conversation: conversation(&slack, "C0OPS".into(), Some("1767225500.000100")),
            author: alice(),
            act: Act::Click {
                message: MessageId { room: "C0OPS".into(), id: "1767226400.001000".into() },
                action: "approve".into(),
                value: "r7.Zk3v9QmN".into(),
            },
        },
        response_url: Some("https://hooks.slack.com/actions/T0EXAMPLE1/1/x".into()),
    };
    assert_eq!(click(&slack, &payload(), &Identity::default()), Some(wanted));
}

#[test]
fn what_is_no_click_on_a_message_is_none() {
    let slack = ChannelId::new("slack");
    let odd = [
        ("/type", json!("view_submission")),
        ("/type", Value::Null),
        ("/user", Value::Null),
        ("/actions", json!([])),
        ("/actions", json!("approve")),
        ("/container", json!({"type": "view", "view_id": "V1"})),
    ];
    for (at, value) in odd {
        let mut payload = payload();
        *payload.pointer_mut(at).unwrap() = value;
        assert_eq!(click(&slack, &payload, &Identity::default()), None, "{at}");
    }
    for payload in [json!(null), json!([1]), json!("block_actions")] {
        assert_eq!(click(&slack, &payload, &Identity::default()), None);
    }
}

#[test]
fn a_command_tells_its_words_and_no_thread() {
    let slack = ChannelId::new("slack");
    let fields = json!({"command": "/incident", "text": "checkout latency", "user_id": "U0ALICE",
        "user_name": "alice", "team_id": "T0EXAMPLE1", "channel_id": "C0OPS", "is_enterprise_install": "false"});
    let aside = Aside {
        conversation: conversation(&slack, "C0OPS".into(), None),
        author: alice(),
        act: Act::Command { name: "/incident".into(), text: "checkout latency".into(), us: String::new() },
    };
    assert_eq!(command(&slack, &fields, &Identity::default()), Some(Asked { aside, response_url: None }));
    assert_eq!(command(&slack, &json!({"ssl_check": "1"}), &Identity::default()), None);
}

#[test]
fn who_clicks_or_commands_from_another_organisation_is_marked() {
    let slack = ChannelId::new("slack");
    let home = Identity { team: "T0EXAMPLE1".into(), ..Identity::default() };
    let grid = Identity { enterprise: Some("E0ORG".into()), ..home.clone() };
    for (team, at_home, on_grid) in [
        (json!("T0EXAMPLE1"), false, false),
        (json!("T0FAR"), true, true),
        (json!("E0ORG"), true, false),
        (Value::Null, false, false),
    ] {
        let mut pressed = payload();
        pressed["user"]["team_id"] = team.clone();
        for (own, expected) in [(&home, at_home), (&grid, on_grid)] {
            let asked = click(&slack, &pressed, own).unwrap();
            assert_eq!(asked.aside.author.is_outsider, expected, "{team} {own:?}");
        }
        let fields = json!({"command": "/x", "user_id": "U1", "team_id": team, "channel_id": "C0OPS"});
        assert_eq!(command(&slack, &fields, &home).unwrap().aside.author.is_outsider, at_home, "{team}");
    }
    let sibling = json!({"command": "/x", "user_id": "U1", "team_id": "T0SIBLING", "enterprise_id": "E0ORG",
        "channel_id": "C0OPS"});
    assert!(!command(&slack, &sibling, &grid).unwrap().aside.author.is_outsider);
}

#[tokio::test]
async fn clicking_like_mad_is_not_answered_each_time() {
    let at_once = Allowance::default();
    let held: Vec<_> = (0..AT_ONCE + 5).filter_map(|_| at_once.take()).collect();
    assert_eq!(held.len(), AT_ONCE);
    let a_minute = Allowance::default();
    assert_eq!((0..1000).filter(|_| a_minute.take().is_some()).count(), A_MINUTE as usize);
}
