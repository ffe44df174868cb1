//! The client of Alertmanager: the alerts that people were or would be told about.

use reqwest::{Client, Url};
use serde::Deserialize;

use super::{
    labels::Labels,
    source::{Source, SourceError},
};

#[derive(Clone, Debug)]
pub struct Alertmanager {
    source: Source,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Alert {
    pub(super) labels: Labels,
    #[serde(default)]
    pub(super) annotations: Labels,
    #[serde(default)]
    pub(super) receivers: Vec<Receiver>,
    #[serde(default)]
    pub(super) starts_at: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Receiver {
    pub(super) name: String,
}

impl Alertmanager {
    pub const NAME: &'static str = "Alertmanager";

    pub fn new(client: Client, base: Url) -> Self {
        Self { source: Source::new(Self::NAME, client, base) }
    }

    /// Neither silenced nor inhibited.
    pub(super) async fn firing(&self, matchers: &[String]) -> Result<Vec<Alert>, SourceError> {
        let flags = [("active", "true"), ("silenced", "false"), ("inhibited", "false")];
        let mut parameters: Vec<(&str, String)> = flags.map(|(key, value)| (key, value.to_owned())).to_vec();
        parameters.extend(matchers.iter().map(|matcher| ("filter", matcher.clone())));
        let reply = self.source.ask("api/v2/alerts", &parameters, false).await?;
        if reply.status.is_success() {
            return serde_json::from_slice(&reply.body).map_err(|error| {
                if reply.is_json() {
                    SourceError::Down(format!("an answer that was not understood: {error}"))
                } else {
                    reply.stranger()
                }
            });
        }
        // Its errors are a bare JSON string.
        match serde_json::from_slice::<String>(&reply.body) {
            Ok(text) if reply.status.as_u16() == 400 => Err(SourceError::Ask(format!(
                "Alertmanager refused the matchers: {text}. Write them as name=\"value\", name!=\"value\", name=~\"regex\"."
            ))),
            _ => Err(reply.stranger()),
        }
    }
}
