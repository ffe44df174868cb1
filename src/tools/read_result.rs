//! `read_result`: the rest of a result that was too long to be shown, page by page, in characters.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Class, Found, Tool, ToolContext, ToolError, ToolOutput, headline::headline};
use crate::store::{ArtifactRow, Store, StoreError};

/// Room for the line above a page.
const HEADING: usize = 300;

#[derive(Debug)]
pub struct ReadResult {
    store: Store,
    page: usize,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The number of a result, such as E3.
    id: String,
    /// The first character to show. Default: 0.
    offset: Option<u64>,
    /// How many characters. Default and maximum: as many as a result may have.
    limit: Option<u64>,
}

impl ReadResult {
    /// `cap` is the invoker's: a page always fits into it.
    pub fn new(store: Store, cap: usize) -> Self {
        Self { store, page: cap.saturating_sub(HEADING).max(100) }
    }

    async fn find(&self, session: &str, id: &str) -> Result<Option<ArtifactRow>, StoreError> {
        if let Some(found) = self.store.artifacts().by_evidence(session, &id.to_uppercase()).await? {
            return Ok(Some(found));
        }
        // Without a number it is found by its own id; that of another session is none of ours.
        Ok(self.store.artifacts().get(id).await?.filter(|artifact| artifact.session_id == session))
    }

    async fn known(&self, session: &str) -> Result<String, StoreError> {
        let rows = self.store.calls().evidence(session).await?;
        let known: Vec<String> = rows.into_iter().map(|(id, headline)| format!("{id} ({headline})")).collect();
        let newest = known.len().saturating_sub(30);
        Ok(if known.is_empty() { "there are none yet".to_owned() } else { known[newest..].join(", ") })
    }
}

impl Tool for ReadResult {
    const NAME: &'static str = "read_result";
    const LOWEST: Class = Class::Read;
    /// What it shows has its number already.
    const NUMBERED: bool = false;
    type Args = Args;

    fn description(&self) -> String {
        "Shows a stored result of this conversation from `offset` on, where it was cut or when you need it again. Offset and \
         limit count characters."
            .to_owned()
    }

    fn headline(&self, args: &Args) -> String {
        headline(Self::NAME, &format!("{} from {}", args.id, args.offset.unwrap_or(0)))
    }

    async fn call(&self, args: Args, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let broken = |error: StoreError| ToolError::Broken(format!("stored results can't be read now: {error}"));
        let id = args.id.trim().trim_matches(['[', ']']);
        let Some(artifact) = self.find(&context.evidence_of, id).await.map_err(broken)? else {
            let known = self.known(&context.evidence_of).await.map_err(broken)?;
            return Err(ToolError::TellModel(format!("there is no result {id:?}. Known results: {known}.")));
        };
        let name = artifact.evidence.as_deref().unwrap_or(&artifact.id);
        let total = artifact.content.chars().count();
        let offset = usize::try_from(args.offset.unwrap_or(0)).unwrap_or(usize::MAX);
        if offset >= total && offset > 0 {
            return Err(ToolError::TellModel(format!(
                "{name} has {total} characters, so offset must be below {total} (it was {offset})."
            )));
        }
        let limit = args.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(self.page).clamp(1, self.page);
        let page: String = artifact.content.chars().skip(offset).take(limit).collect();
        let end = (offset + limit).min(total);
        let next = if end < total {
            format!("read_result(id=\"{name}\", offset={end}) gives the next")
        } else {
            "this is the end".to_owned()
        };
        let found = if page.is_empty() { Found::Nothing } else { Found::Something };
        Ok(ToolOutput {
            text: format!("{name} ({}), characters {offset} to {end} of {total}; {next}\n{page}", artifact.tool),
            found,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        store::NewArtifact,
        tools::testing::{call, store},
    };

    async fn stored(evidence: Option<&str>, session: &str, content: &str) -> Store {
        let store = store().await;
        let artifact = NewArtifact {
            id: "a1".into(),
            session_id: session.into(),
            turn_id: "t1".into(),
            call_id: "c1".into(),
            tool: "query_promql".into(),
            evidence: evidence.map(str::to_owned),
            content: content.into(),
            created_at: 1,
        };
        store.artifacts().put(&artifact).await.unwrap();
        store
    }

    #[tokio::test]
    async fn pages_count_characters_and_name_the_next() {
        let store = stored(Some("E3"), "s1", "äöü€xyz").await;
        let read = async |arguments| call(ReadResult::new(store.clone(), 16_000), arguments).await;
        let text = "E3 (query_promql), characters 1 to 4 of 7; read_result(id=\"E3\", offset=4) gives the next\nöü€";
        assert_eq!(
            read(json!({"id": "[e3]", "offset": 1, "limit": 3})).await,
            Ok(ToolOutput { text: text.into(), found: Found::Something })
        );
        let end = read(json!({"id": "E3", "offset": 4})).await.unwrap().text;
        assert_eq!(end, "E3 (query_promql), characters 4 to 7 of 7; this is the end\nxyz");
        let Err(ToolError::TellModel(text)) = read(json!({"id": "E3", "offset": 7})).await else { panic!() };
        assert_eq!(text, "E3 has 7 characters, so offset must be below 7 (it was 7).");
    }

    #[tokio::test]
    async fn an_unknown_result_lists_what_is_known_and_other_sessions_stay_closed() {
        for (session, id) in [("s1", "E9"), ("other", "E3"), ("other", "a1")] {
            let store = stored(Some("E3"), session, "x").await;
            let Err(ToolError::TellModel(text)) = call(ReadResult::new(store, 16_000), json!({"id": id})).await else {
                panic!("{session} {id}")
            };
            assert_eq!(text, format!("there is no result {id:?}. Known results: there are none yet."));
        }
        let store = stored(None, "s1", "").await;
        let empty = call(ReadResult::new(store, 16_000), json!({"id": "a1"})).await.unwrap();
        assert_eq!(empty.found, Found::Nothing);
    }
}
