//! Results in full. A model sees the capped text, an answer cites the number, a person reads it here.

use super::{
    Store, StoreError,
    sql::{clean, read, row, write},
};

#[derive(Clone, Debug, PartialEq)]
pub struct NewArtifact {
    pub id: String,
    pub session_id: String,
    pub turn_id: String,
    pub call_id: String,
    pub tool: String,
    /// `E1`, …; unique within the session.
    pub evidence: Option<String>,
    pub content: String,
    pub created_at: i64,
}

row! {
    pub struct ArtifactRow, artifact_columns {
        pub id: String,
        pub session_id: String,
        pub turn_id: String,
        pub call_id: String,
        pub tool: String,
        pub evidence: Option<String>,
        pub content: String,
        pub created_at: i64,
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Artifacts<'a>(pub(super) &'a Store);

impl Artifacts<'_> {
    pub async fn put(&self, new: &NewArtifact) -> Result<(), StoreError> {
        write!(self.0, |pool| sqlx::query(PUT)
            .bind(&new.id)
            .bind(&new.session_id)
            .bind(&new.turn_id)
            .bind(&new.call_id)
            .bind(&new.tool)
            .bind(&new.evidence)
            .bind(clean(&new.content))
            .bind(new.created_at)
            .execute(pool));
        Ok(())
    }

    pub async fn by_evidence(&self, session_id: &str, evidence: &str) -> Result<Option<ArtifactRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(BY_EVIDENCE).bind(session_id).bind(evidence).fetch_optional(pool)))
    }

    pub async fn get(&self, id: &str) -> Result<Option<ArtifactRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(GET).bind(id).fetch_optional(pool)))
    }
}

const PUT: &str = concat!("INSERT INTO artifacts (", artifact_columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)");

const BY_EVIDENCE: &str =
    concat!("SELECT ", artifact_columns!(), " FROM artifacts WHERE session_id = $1 AND evidence = $2");

const GET: &str = concat!("SELECT ", artifact_columns!(), " FROM artifacts WHERE id = $1");
