//! Plays a scenario: starts the simulators, starts watchfloor as it is started for real (configuration and all), lets
//! people speak, and waits until everything is answered.

use std::{collections::HashMap, time::Duration};

use anyhow::{Context, bail};
use reqwest::header;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};
use watchfloor_channel::ChannelState;
use watchfloor_sim::{
    ModelSim, SlackSim, TelemetrySim,
    slack::{self, Message, SlackConfig},
};

use super::{
    scenario::{BOT, Said, Scenario},
    show::Show,
};
use crate::{
    app::App,
    clock::SharedClock,
    config::{self, Env},
    store::Tally,
};

const CHANGES_TOKEN: &str = "drill";
const LOOK_EVERY: Duration = Duration::from_millis(20);
const START_WITHIN: Duration = Duration::from_secs(20);
const DRAIN: Duration = Duration::from_secs(5);

/// What came of it.
pub(super) struct Played {
    /// From the first mention to the first message of the bot; `None`: there was none.
    pub placeholder: Option<Duration>,
    /// Messages of the bot, oldest first.
    pub messages: Vec<Message>,
    pub tally: Tally,
    /// What the simulators found wrong: broken rules of a platform, odd requests to the model, things nobody expected.
    pub complaints: Vec<String>,
    pub took: Duration,
}

pub(super) async fn play(scenario: &Scenario, clock: SharedClock, mut show: Show) -> anyhow::Result<Played> {
    let slack = SlackSim::start(SlackConfig::default()).await.context("the simulated Slack can't start")?;
    let model = ModelSim::start(scenario.model.clone()).await.context("the simulated model can't start")?;
    let telemetry =
        TelemetrySim::start(scenario.telemetry.clone()).await.context("the simulated telemetry can't start")?;
    for person in &scenario.people {
        slack.add_person(&person.id, &person.name).await;
    }
    for room in &scenario.rooms {
        slack.add_channel(&room.id, &room.name).await;
    }
    let place = tempfile::tempdir().context("no temporary directory")?;
    let text = configuration(&slack, &model, &telemetry);
    let file = place.path().join("drill.toml");
    let config = config::load_text(&text, Some(&file), &Env::new())?;
    let app = App::start(config, clock.clone()).await?;
    connected(&app).await?;
    seed_changes(&app, scenario, clock.now_ms()).await?;

    let started = Instant::now();
    let deadline = started + scenario.timeout;
    show.begin(scenario);
    let asked = speak(scenario, &slack, &mut show, deadline).await?;
    let answered = wait(scenario, &app, &slack, &mut show, deadline).await;
    let took = started.elapsed();
    show.look(&slack);
    let tally = app.store.tally().await?;
    app.stop(DRAIN).await;

    let messages = bot_messages(scenario, &slack);
    let first = messages.iter().filter_map(|message| Some(message.edits.first()?.at)).min();
    let mut complaints = model.complaints();
    complaints.extend(slack.unread());
    if let Err(error) = answered {
        complaints.push(error.to_string());
    }
    slack.stop().await;
    model.stop().await;
    telemetry.stop().await;
    let placeholder = asked.zip(first).map(|(asked, first)| first.saturating_sub(asked));
    Ok(Played { placeholder, messages, tally, complaints, took })
}

/// What an operator would write, with the simulators' addresses.
fn configuration(slack: &SlackSim, model: &ModelSim, telemetry: &TelemetrySim) -> String {
    format!(
        r#"
[server]
listen = "127.0.0.1:0"
[store]
url = "sqlite://drill.db"
[models]
default = "recorded/drill"
default_provider = "recorded"
[models.providers.recorded]
api = "openai"
base_url = "{model}"
api_key = "{key}"
[sources.prometheus]
url = "{prometheus}"
[sources.alertmanager]
url = "{alertmanager}"
[hooks]
changes_token = "{CHANGES_TOKEN}"
[[channels]]
kind = "slack"
name = "slack"
app_token = "{app}"
bot_token = "{bot}"
api_url = "{slack}"
allow_rooms = ["*"]
dm_policy = "open"
"#,
        model = model.base_url(),
        key = watchfloor_sim::model::API_KEY,
        prometheus = telemetry.prometheus_url(),
        alertmanager = telemetry.alertmanager_url(),
        app = slack::APP_TOKEN,
        bot = slack::BOT_TOKEN,
        slack = slack.api_url(),
    )
}

async fn connected(app: &App) -> anyhow::Result<()> {
    for channel in app.channels() {
        let mut state = channel.state.clone();
        let up = timeout(START_WITHIN, state.wait_for(|state| *state == ChannelState::Connected)).await;
        if !matches!(up, Ok(Ok(_))) {
            bail!("{} did not connect: {:?}", channel.name, *channel.state.borrow());
        }
    }
    Ok(())
}

/// Through the intake, as a deploy pipeline would.
async fn seed_changes(app: &App, scenario: &Scenario, now_ms: i64) -> anyhow::Result<()> {
    let mut changes = Vec::new();
    for change in &scenario.changes {
        let before = i64::try_from(change.before()?.as_millis())?;
        changes.push(json!({
            "time": jiff::Timestamp::from_millisecond(now_ms - before)?.to_string(),
            "kind": change.kind,
            "title": change.title,
            "service": change.service,
            "author": change.author,
            "url": change.url,
            "details": change.details,
        }));
    }
    let client = reqwest::Client::builder().timeout(START_WITHIN).build()?;
    let answer = client
        .post(format!("http://{}/api/v1/hooks/changes", app.address()))
        .header(header::AUTHORIZATION, format!("Bearer {CHANGES_TOKEN}"))
        .json(&changes)
        .send()
        .await?;
    if !answer.status().is_success() {
        bail!("the intake of changes answered {}: {}", answer.status(), answer.text().await.unwrap_or_default());
    }
    Ok(())
}

/// Lets everybody speak. Returns when the bot was first asked, on the simulator's scale.
async fn speak(
    scenario: &Scenario,
    slack: &SlackSim,
    show: &mut Show,
    deadline: Instant,
) -> anyhow::Result<Option<Duration>> {
    let id_of = |named: &[super::scenario::Named], name: &str| {
        named.iter().find(|named| named.name == name).map(|named| named.id.clone()).unwrap_or_default()
    };
    let mut threads: HashMap<&str, String> = HashMap::new();
    let mut asked = None;
    for said in &scenario.say {
        let until = (Instant::now() + said.after).min(deadline);
        while Instant::now() < until {
            show.look(slack);
            sleep(LOOK_EVERY.min(until - Instant::now())).await;
        }
        let room = id_of(&scenario.rooms, &said.room);
        let Said { text, title, person, thread, alert, .. } = said;
        if text.contains(BOT) {
            asked.get_or_insert_with(|| slack.elapsed());
        }
        let text = text.replace(BOT, slack.bot_mention());
        let thread = thread.as_deref().and_then(|thread| threads.get(thread).cloned());
        let ts = match (person, thread) {
            (Some(person), Some(thread)) => slack.reply(&id_of(&scenario.people, person), &room, &thread, &text).await,
            (Some(person), None) => slack.say(&id_of(&scenario.people, person), &room, &text).await,
            (None, _) => {
                let attachment = json!([{"id": 1, "color": "d00000", "title": title, "text": text, "fallback": title}]);
                slack.alert(&room, attachment).await
            }
        };
        if let Some(name) = alert {
            threads.insert(name, ts);
        }
        show.look(slack);
    }
    Ok(asked)
}

/// Until every question is taken and no turn is open.
async fn wait(
    scenario: &Scenario,
    app: &App,
    slack: &SlackSim,
    show: &mut Show,
    deadline: Instant,
) -> anyhow::Result<()> {
    let mentions = i64::try_from(scenario.mentions())?;
    loop {
        show.look(slack);
        let tally = app.store.tally().await?;
        if tally.messages >= mentions && tally.waiting == 0 && tally.open_turns == 0 && app.open_conversations() == 0 {
            return Ok(());
        }
        if Instant::now() >= deadline {
            bail!("not everything was answered within {} s", scenario.timeout.as_secs());
        }
        sleep(LOOK_EVERY).await;
    }
}

fn bot_messages(scenario: &Scenario, slack: &SlackSim) -> Vec<Message> {
    let all = scenario.rooms.iter().flat_map(|room| slack.messages(&room.id, None));
    all.filter(|message| message.author == slack::Author::Bot).collect()
}
