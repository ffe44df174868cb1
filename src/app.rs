//! The composition root: the only file that names vendors. It turns a configuration into running parts and owns them.

mod channels;
mod notes;
mod personas;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context, bail};
use secrecy::ExposeSecret;
use tokio::{net::TcpListener, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use watchfloor_channel::{ChannelAdapter, ChannelId, Inbox, Notes};
pub use watchfloor_slack::{Delivery as SlackDelivery, Manifest as SlackManifest};

pub use self::notes::StoreNotes;
pub(crate) use self::{
    channels::adapters,
    personas::{roots as persona_roots, surroundings},
};
use crate::{
    clock::SharedClock,
    config::{self, Api, Config, check_built},
    coordinator::{self, Channel, Events, Intake, Router, Services, Slots},
    http::{ChannelHealth, Door, Figures, Http, Key, Skill, Webhooks},
    model::{Anthropic, AnthropicConfig, ModelProvider, Models, OpenAi, OpenAiConfig, Retry, RetryPolicy, Timeouts},
    persona::Keeper,
    store::Store,
    tools::{self, Alertmanager, Prometheus, SharedTool, Tool},
};

/// Inbox rows that are done are kept this long: longer than any platform redelivers.
const KEEP_INBOX: Duration = Duration::from_secs(7 * 24 * 3600);
/// Of what adapters noted for a while: as long as [`watchfloor_channel::Keep::AWhile`] promises.
const KEEP_NOTES: Duration = Duration::from_secs(30 * 24 * 3600);
const PURGE_EVERY: Duration = Duration::from_secs(3600);
/// What each part gets for its last words after the drain. A client that holds on to its connection gets no more.
const GOODBYE: Duration = Duration::from_millis(1500);

/// A running watchfloor.
#[derive(Debug)]
pub struct App {
    pub store: Store,
    personas: Keeper,
    router: Router,
    address: SocketAddr,
    channels: Vec<ChannelHealth>,
    tasks: TaskTracker,
    /// Adapters and intakes take nothing new.
    taking: CancellationToken,
    serving: CancellationToken,
}

impl App {
    /// Listens, opens the store, picks up what an earlier process left and connects the channels.
    pub async fn start(config: Config, clock: SharedClock) -> anyhow::Result<Self> {
        let (notes, errors) = check_built(&config);
        if !errors.is_empty() {
            bail!("{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
        }
        for note in notes {
            tracing::info!("{note}");
        }
        let listener = TcpListener::bind(config.server.listen)
            .await
            .with_context(|| format!("server.listen: can't listen on {}", config.server.listen))?;
        let address = listener.local_addr()?;
        let store = Store::open(config.store.url.expose_secret()).await.context("the store can't be opened")?;
        store.migrate().await.context("the store can't be brought up to date")?;
        let tasks = TaskTracker::new();
        let taking = CancellationToken::new();
        let serving = CancellationToken::new();

        let notes = |channel| {
            let (store, clock) = (store.clone(), clock.clone());
            Arc::new(StoreNotes { store, channel, clock }) as Arc<dyn Notes>
        };
        let adapters = adapters(&config, &clock, &notes)?;
        let channels = adapters
            .iter()
            .map(|(channel, adapter)| {
                (
                    ChannelId::new(&channel.name),
                    Channel::new(adapter.clone(), channels::access(&channel.access, &channel.behaviour)),
                )
            })
            .collect();
        let roots = persona_roots(&config.agents);
        let watch = personas::Watch::begin(&roots, config.agents.watch);
        let shelf = personas::StoreShelf { store: store.clone(), clock: clock.clone() };
        let keeper = Keeper::open(roots, surroundings(&config), Arc::new(shelf)).await?;
        let limits = limits(&config);
        let services = Arc::new(Services {
            tools: tools(&config, &store)?,
            redirects: redirects(&config),
            store: store.clone(),
            clock: clock.clone(),
            models: models(&config, &clock)?,
            personas: keeper.personas(),
            slots: Slots::new(&limits),
            limits,
            channels,
            events: Events::off(),
            owner: uuid::Uuid::now_v7().to_string(),
        });
        let control =
            coordinator::CONTROL_TOOLS.map(|name| Skill { name, class: tools::Class::Read.word(), origin: "native" });
        let native = |tool: &SharedTool| Skill { name: tool.name(), class: tool.lowest().word(), origin: "native" };
        let skills: Vec<_> = services.tools.iter().map(native).chain(control).collect();
        for persona in services.personas.now().personas() {
            if let Some(warning) = persona.model.as_deref().and_then(|model| services.models.warning(model)) {
                tracing::warn!(persona = persona.name, path = %persona.source, "{warning}");
            }
        }
        services.log_prompt();
        let router = Router::new(services.clone());
        let inbox = Inbox::new(Arc::new(Intake::new(services, router.clone())));

        let recovered = router.recover().await.context("what an earlier run left can't be read")?;
        if recovered > 0 {
            tracing::info!(conversations = recovered, "going on where an earlier run stopped");
        }

        let on = adapters.iter().map(|(_, adapter)| adapter.clone());
        let webhooks = Webhooks::new(on, inbox.clone(), taking.clone());
        let mut health = channels::off(&config);
        for (channel, adapter) in adapters {
            health.push(ChannelHealth {
                name: channel.name.clone(),
                kind: channel.kind().as_str(),
                state: adapter.state(),
                figures: Figures::of(adapter.clone()),
            });
            tasks.spawn(receive(adapter, inbox.clone(), taking.clone()));
        }
        let routes = crate::http::routes(Http {
            store: store.clone(),
            clock: clock.clone(),
            channels: health.clone().into(),
            personas: keeper.clone(),
            skills: skills.into(),
            door: door(&config),
            changes_token: config.hooks.changes_token.clone(),
            webhooks,
        });
        let routes = routes.into_make_service_with_connect_info::<SocketAddr>();
        let served = axum::serve(listener, routes).with_graceful_shutdown(serving.clone().cancelled_owned());
        tasks.spawn(async move {
            if let Err(error) = served.await {
                tracing::error!(%error, "the HTTP server ended");
            }
        });
        tasks.spawn(watch.run(keeper.clone(), serving.clone()));
        tasks.spawn(purge(store.clone(), clock, serving.clone()));
        tasks.close();
        Ok(Self { store, personas: keeper, router, address, channels: health, tasks, taking, serving })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn channels(&self) -> &[ChannelHealth] {
        &self.channels
    }

    pub fn personas(&self) -> &Keeper {
        &self.personas
    }

    /// Conversations with work at this moment.
    pub fn open_conversations(&self) -> usize {
        self.router.open_conversations()
    }

    /// Takes nothing new, lets running turns finish for `drain`, then tells them to end; what is left goes on after the next
    /// start. Dropping the future after that loses nothing either.
    pub async fn stop(self, drain: Duration) {
        self.taking.cancel();
        if timeout(drain, self.router.drain()).await.is_err() {
            tracing::warn!("turns are still running; they go on after the next start");
            within("conversations", self.router.end()).await;
        }
        self.serving.cancel();
        within("connections", self.tasks.wait()).await;
        within("the store", self.store.close()).await;
    }
}

async fn within(part: &'static str, end: impl Future<Output = ()>) {
    if timeout(GOODBYE, end).await.is_err() {
        tracing::warn!(part, "did not end in time and is left behind");
    }
}

async fn receive(adapter: Arc<dyn ChannelAdapter>, inbox: Inbox, stop: CancellationToken) {
    if let Err(error) = adapter.receive(inbox, stop).await {
        tracing::error!(channel.id = %adapter.id(), "receiving ended: {error}");
    }
}

async fn purge(store: Store, clock: SharedClock, stop: CancellationToken) {
    let before = |keep: Duration| clock.now_ms().saturating_sub(i64::try_from(keep.as_millis()).unwrap_or(i64::MAX));
    loop {
        if let Err(error) = store.inbox().purge(before(KEEP_INBOX)).await {
            tracing::warn!(%error, "old inbox rows could not be removed");
        }
        if let Err(error) = store.notes().purge(before(KEEP_NOTES)).await {
            tracing::warn!(%error, "old notes of channels could not be removed");
        }
        tokio::select! {
            () = tokio::time::sleep(PURGE_EVERY) => {}
            () = stop.cancelled() => return,
        }
    }
}

fn limits(config: &Config) -> coordinator::Limits {
    let limits = &config.limits;
    coordinator::Limits {
        turns: limits.turns,
        turn_timeout: limits.turn_timeout,
        worker_timeout: limits.worker_timeout,
        workers_per_session: limits.workers_per_session,
        workers: limits.workers,
        history_limit: limits.history_limit,
        notify_after: limits.notify_after.unwrap_or_default(),
        default_max_turns: u32::try_from(config.agents.default_max_turns).unwrap_or(u32::MAX),
    }
}

fn models(config: &Config, clock: &SharedClock) -> anyhow::Result<Models> {
    let models = &config.models;
    let aliases = models.aliases.iter().map(|(name, target)| (name.clone(), target.clone())).collect();
    let mut known = Models::new(&models.default, &models.default_provider, aliases);
    for (name, provider) in &models.providers {
        if !provider.is_configured() {
            known.add_off(name, format!("set models.providers.{name}.api_key"));
            continue;
        }
        let (base_url, api_key) = (provider.base_url.clone(), provider.api_key.clone());
        let timeouts = Timeouts { idle: config.limits.model_idle, ..Timeouts::default() };
        let clock = clock.clone();
        let client: Result<Arc<dyn ModelProvider>, _> = match provider.api {
            Api::OpenAi => OpenAi::new(OpenAiConfig { base_url, api_key, timeouts, clock }).map(|it| Arc::new(it) as _),
            Api::Anthropic => {
                Anthropic::new(AnthropicConfig { base_url, api_key, timeouts, clock }).map(|it| Arc::new(it) as _)
            }
        };
        let client = client.with_context(|| format!("models.providers.{name}"))?;
        known.add(name, Arc::new(Retry::new(client, RetryPolicy::default())), provider.models.iter().cloned());
        known.give_vision(name, provider.vision.iter().cloned());
    }
    Ok(known)
}

/// Who may use the API.
fn door(config: &Config) -> Door {
    let key = |token: &config::ApiToken| Key {
        name: token.name.clone(),
        token: token.token.clone(),
        role: match token.role {
            config::Role::Viewer => coordinator::Role::Viewer,
            config::Role::Operator => coordinator::Role::Operator,
            config::Role::Admin => coordinator::Role::Admin,
        },
    };
    Door { keys: config.server.tokens.iter().map(key).collect(), open_on_loopback: config.server.open_on_loopback }
}

/// Every tool of this build, whether its source is configured or not.
pub(crate) fn tool_names() -> Vec<&'static str> {
    let own = [
        tools::QueryChangeEvents::NAME,
        tools::ReadResult::NAME,
        tools::QueryPromql::NAME,
        tools::QueryAlertRules::NAME,
        tools::GetActiveIncidents::NAME,
    ];
    own.into_iter().chain(coordinator::CONTROL_TOOLS).collect()
}

fn redirects(config: &Config) -> Vec<tools::Redirect> {
    let configured = config.agents.redirects.iter().cloned();
    tools::redirects(configured.map(|config::Redirect { name, target, reason, offered }| tools::Redirect {
        name,
        target,
        reason,
        offered,
    }))
}

/// The tools whose sources are configured.
fn tools(config: &Config, store: &Store) -> anyhow::Result<Vec<SharedTool>> {
    let client = tools::http_client().context("the HTTP client can't be built")?;
    let mut all: Vec<SharedTool> = vec![
        Arc::new(tools::QueryChangeEvents::new(store.clone())),
        Arc::new(tools::ReadResult::new(store.clone(), coordinator::RESULT_CHARS)),
    ];
    if let Some(url) = &config.sources.prometheus.url {
        let prometheus = Prometheus::new(client.clone(), url.clone());
        all.push(Arc::new(tools::QueryPromql::new(prometheus.clone())));
        all.push(Arc::new(tools::QueryAlertRules::new(prometheus)));
    }
    if let Some(url) = &config.sources.alertmanager.url {
        all.push(Arc::new(tools::GetActiveIncidents::new(Alertmanager::new(client, url.clone()))));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::SystemClock,
        config::Env,
        persona::{self, Registry},
    };

    const ALL_SOURCES: &str = "
        [sources.prometheus]
        url = 'http://127.0.0.1:9090'
        [sources.alertmanager]
        url = 'http://127.0.0.1:9093'";

    #[tokio::test]
    async fn shipped_personas_name_only_tools_that_there_are() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = config::load_text(ALL_SOURCES, None, &Env::new()).unwrap();
        let store = Store::open("sqlite::memory:").await.unwrap();
        let tools = tools(&config, &store).unwrap();
        let mut names: Vec<_> = tools.iter().map(|tool| tool.name()).chain(coordinator::CONTROL_TOOLS).collect();
        assert_eq!(persona::check(&Registry::builtin(), &names), []);
        let mut all = tool_names();
        names.sort_unstable();
        all.sort_unstable();
        assert_eq!(names, all, "with every source configured every tool is there");
    }

    #[tokio::test]
    async fn a_provider_without_its_key_is_off_with_the_key_to_set() {
        let config = config::load_text("models.default = 'openai/gpt'", None, &Env::new()).unwrap();
        let clock: SharedClock = Arc::new(SystemClock);
        let lookup = models(&config, &clock).unwrap().resolve("").unwrap_err().to_string();
        assert!(lookup.contains("models.providers.openai.api_key"), "{lookup}");
    }
}
