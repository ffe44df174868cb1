//! What must not be lost: the queue, the conversations, their turns and messages, and the record of what was done.
//! SQLite by default, PostgreSQL by `store.url`; one struct over two typed pools, one small type per group of tables.
//!
//! Statements are shared (`$1`, upsert, `RETURNING` and partial indexes work on both engines); a pair of constants
//! stands where the dialects differ. Time comes in as `now_ms` or as a field. Nothing here looks at a clock.

mod agents;
mod artifacts;
mod audit;
mod calls;
mod changes;
mod deliveries;
mod error;
mod inbox;
mod messages;
mod migrate;
mod notes;
mod open;
mod overheard;
mod sessions;
mod sql;
mod tally;
#[cfg(test)]
mod tests;
mod turn_open;
mod turns;

use sqlx::{PgPool, SqlitePool};

pub use self::{
    agents::{AgentRow, Agents},
    artifacts::{ArtifactRow, Artifacts, NewArtifact},
    audit::{Audit, AuditRow},
    calls::{CallRow, Calls, NewCall},
    changes::{ChangeQuery, ChangeRow, Changes, NewChange},
    deliveries::{Deliveries, DeliveryKind, DeliveryRow, DeliveryState, NewDelivery},
    error::StoreError,
    inbox::{Claim, Inbox, InboxKind, InboxRow, InboxState, NewInbox},
    messages::{MessageRow, Messages, NewMessage},
    notes::{KeepNote, NewNote, Notes},
    sessions::{NewWorker, SessionKind, SessionRow, SessionStatus, Sessions, WorkerEnd},
    tally::Tally,
    turn_open::{OpenTurn, OpenedTurn},
    turns::{Resumed, Totals, TurnRow, TurnStatus, Turns},
};

/// Cheap to clone; all clones share the connections.
#[derive(Clone, Debug)]
pub struct Store {
    engine: Engine,
}

#[derive(Clone, Debug)]
enum Engine {
    /// In memory both are the same pool of one connection: never read while a transaction is open.
    Sqlite {
        write: SqlitePool,
        read: SqlitePool,
    },
    Postgres(PgPool),
}

impl Store {
    /// `sqlite://path` (parents are created), `sqlite::memory:` or `postgres://…`. The tables come with `migrate`.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Ok(Self { engine: open::open(url).await? })
    }

    pub async fn migrate(&self) -> Result<(), StoreError> {
        migrate::migrate(&self.engine).await
    }

    /// Writes a row and commits it: a full disk or a standby that only reads is found here, not by the first message.
    pub async fn check_writable(&self) -> Result<(), StoreError> {
        const PROBE: &str = "INSERT INTO store_probe (id, checks) VALUES (1, 1)
            ON CONFLICT (id) DO UPDATE SET checks = store_probe.checks + 1";
        sql::write!(self, |pool| sqlx::query(PROBE).execute(pool));
        Ok(())
    }

    /// Waits for running statements, then closes. Later calls answer `Unavailable`.
    pub async fn close(&self) {
        match &self.engine {
            Engine::Sqlite { write, read } => {
                read.close().await;
                write.close().await;
            }
            Engine::Postgres(pool) => pool.close().await,
        }
    }

    pub fn inbox(&self) -> Inbox<'_> {
        Inbox(self)
    }

    pub fn turns(&self) -> Turns<'_> {
        Turns(self)
    }

    pub fn sessions(&self) -> Sessions<'_> {
        Sessions(self)
    }

    pub fn messages(&self) -> Messages<'_> {
        Messages(self)
    }

    pub fn calls(&self) -> Calls<'_> {
        Calls(self)
    }

    pub fn deliveries(&self) -> Deliveries<'_> {
        Deliveries(self)
    }

    pub fn artifacts(&self) -> Artifacts<'_> {
        Artifacts(self)
    }

    pub fn audit(&self) -> Audit<'_> {
        Audit(self)
    }

    pub fn changes(&self) -> Changes<'_> {
        Changes(self)
    }

    pub fn agents(&self) -> Agents<'_> {
        Agents(self)
    }

    pub fn notes(&self) -> Notes<'_> {
        Notes(self)
    }

    /// The statement of this engine, where the dialects differ.
    fn dialect(&self, sqlite: &'static str, postgres: &'static str) -> &'static str {
        match self.engine {
            Engine::Sqlite { .. } => sqlite,
            Engine::Postgres(_) => postgres,
        }
    }
}
