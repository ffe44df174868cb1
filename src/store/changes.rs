//! Deployments, flags, configuration: what others did to the systems, so that a turn can ask what changed.

use super::{
    Store, StoreError,
    sql::{clean, clean_option, read, row, transaction},
};

#[derive(Clone, Debug, PartialEq)]
pub struct NewChange {
    /// The sender's own id if it has one: the same change sent twice is one row.
    pub id: String,
    pub time: i64,
    pub kind: String,
    pub title: String,
    pub service: Option<String>,
    pub author: Option<String>,
    pub url: Option<String>,
    pub details: Option<String>,
    pub received_at: i64,
}

row! {
    pub struct ChangeRow, change_columns {
        pub id: String,
        pub time: i64,
        pub kind: String,
        pub title: String,
        pub service: Option<String>,
        pub author: Option<String>,
        pub url: Option<String>,
        pub details: Option<String>,
        pub received_at: i64,
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ChangeQuery {
    /// Both ends belong to it.
    pub since: i64,
    pub until: i64,
    pub service: Option<String>,
    pub limit: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct Changes<'a>(pub(super) &'a Store);

impl Changes<'_> {
    /// Returns how many were new.
    pub async fn insert(&self, changes: Vec<NewChange>) -> Result<u64, StoreError> {
        let new = transaction!(self.0, |tx| {
            let mut new = 0;
            for change in &changes {
                new += sqlx::query(INSERT)
                    .bind(&change.id)
                    .bind(change.time)
                    .bind(clean(&change.kind))
                    .bind(clean(&change.title))
                    .bind(clean_option(change.service.as_ref()))
                    .bind(clean_option(change.author.as_ref()))
                    .bind(clean_option(change.url.as_ref()))
                    .bind(clean_option(change.details.as_ref()))
                    .bind(change.received_at)
                    .execute(&mut *tx)
                    .await?
                    .rows_affected();
            }
            new
        });
        Ok(new)
    }

    /// Newest first.
    pub async fn query(&self, query: ChangeQuery) -> Result<Vec<ChangeRow>, StoreError> {
        Ok(read!(self.0, |pool| sqlx::query_as(QUERY)
            .bind(query.since)
            .bind(query.until)
            .bind(&query.service)
            .bind(i64::from(query.limit))
            .fetch_all(pool)))
    }
}

const INSERT: &str = concat!(
    "INSERT INTO change_events (",
    change_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO NOTHING"
);

const QUERY: &str = concat!(
    "SELECT ",
    change_columns!(),
    " FROM change_events
    WHERE time >= $1 AND time <= $2 AND (CAST($3 AS TEXT) IS NULL OR service = $3)
    ORDER BY time DESC, id DESC LIMIT $4"
);
