//! One platform, a model that answers at once, and the service between them.

use std::sync::atomic::{AtomicU32, Ordering};

use watchfloor_sim::{ModelSim, model::Rule};

use crate::{
    platform::{Answer, Kind, Platform, Question},
    process::Service,
};

pub(crate) struct Stage {
    pub(crate) platform: Platform,
    pub(crate) model: ModelSim,
    pub(crate) service: Service,
    asked: AtomicU32,
    _place: tempfile::TempDir,
}

impl Stage {
    pub(crate) async fn new(kind: Kind) -> Self {
        let platform = Platform::start(kind).await;
        let model = ModelSim::start(vec![Rule::reply("The pool is full.")]).await.unwrap();
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("bench.toml");
        std::fs::write(&file, common(&model) + &platform.configuration(true)).unwrap();
        let service = Service::start(&file);
        platform.connected().await;
        Self { platform, model, service, asked: AtomicU32::new(0), _place: place }
    }

    pub(crate) async fn ask(&self) -> Question {
        self.platform.ask(self.asked.fetch_add(1, Ordering::Relaxed)).await
    }

    /// Waits for the final text.
    pub(crate) async fn answered(&self, question: &Question) -> Answer {
        self.platform.answered(question).await
    }

    /// The turn before closes its books after its answer is there.
    pub(crate) async fn pause(&self) {
        tokio::time::sleep(self.platform.pause()).await;
    }
}

/// All but the channels.
pub(crate) fn common(model: &ModelSim) -> String {
    format!(
        r#"
[server]
listen = "127.0.0.1:0"
[store]
url = "sqlite://bench.db"
[limits]
turns = 100
[models]
default = "recorded/bench"
default_provider = "recorded"
[models.providers.recorded]
base_url = "{}"
api_key = "{}"
"#,
        model.base_url(),
        watchfloor_sim::model::API_KEY,
    )
}
