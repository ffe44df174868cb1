//! Who had what done, and what came of it. Rows are added, never changed; redaction happens before they come here.

use super::{
    Store, StoreError,
    sql::{clean, read, row, write},
};

row! {
    pub struct AuditRow, audit_columns {
        pub id: String,
        pub at: i64,
        pub session_id: String,
        pub turn_id: String,
        pub call_id: String,
        pub asker: String,
        pub persona: String,
        pub tool: String,
        pub class: String,
        pub arguments: String,
        pub headline: String,
        /// What policy or a person said.
        pub decision: String,
        pub outcome: String,
        pub result_summary: String,
        pub artifact_id: Option<String>,
        pub evidence: Option<String>,
        pub duration_ms: i64,
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Audit<'a>(pub(super) &'a Store);

impl Audit<'_> {
    pub async fn write(&self, row: &AuditRow) -> Result<(), StoreError> {
        write!(self.0, |pool| sqlx::query(WRITE)
            .bind(&row.id)
            .bind(row.at)
            .bind(&row.session_id)
            .bind(&row.turn_id)
            .bind(&row.call_id)
            .bind(clean(&row.asker))
            .bind(&row.persona)
            .bind(&row.tool)
            .bind(&row.class)
            .bind(clean(&row.arguments))
            .bind(clean(&row.headline))
            .bind(clean(&row.decision))
            .bind(clean(&row.outcome))
            .bind(clean(&row.result_summary))
            .bind(&row.artifact_id)
            .bind(&row.evidence)
            .bind(row.duration_ms)
            .execute(pool));
        Ok(())
    }

    /// Oldest first.
    pub async fn list(&self, session_id: &str) -> Result<Vec<AuditRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(LIST).bind(session_id).fetch_all(pool)))
    }
}

const WRITE: &str = concat!(
    "INSERT INTO audit_logs (",
    audit_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
);

const LIST: &str = concat!("SELECT ", audit_columns!(), " FROM audit_logs WHERE session_id = $1 ORDER BY at, id");
