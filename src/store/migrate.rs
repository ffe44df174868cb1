//! The steps that bring a database's tables up to date, in the same numbers for both engines and built into the binary.

use std::borrow::Cow;

use sqlx::{
    SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
};

use super::{Engine, StoreError};

struct Step {
    number: i64,
    name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

/// A new step is a file in both folders and a line here. A step that was released never changes again.
macro_rules! steps {
    ($($number:literal, $name:literal;)+) => {
        &[$(Step {
            number: $number,
            name: $name,
            sqlite: include_str!(concat!("../../migrations/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../../migrations/postgres/", $name, ".sql")),
        },)+]
    };
}

const STEPS: &[Step] = steps! {
    1, "0001_start";
    2, "0002_channel_notes";
    3, "0003_personas";
};

/// Run twice it does nothing. Replicas may start together: PostgreSQL's migrator holds an advisory lock.
pub(super) async fn migrate(engine: &Engine) -> Result<(), StoreError> {
    match engine {
        Engine::Sqlite { write, .. } => migrator(|step| step.sqlite).run(write).await?,
        Engine::Postgres(pool) => migrator(|step| step.postgres).run(pool).await?,
    }
    Ok(())
}

fn migrator(sql: impl Fn(&Step) -> &'static str) -> Migrator {
    let step = |step: &Step| {
        let (kind, sql) = (MigrationType::Simple, sql(step).into_sql_str());
        Migration::new(step.number, Cow::Borrowed(step.name), kind, sql, false)
    };
    Migrator::with_migrations(STEPS.iter().map(step).collect())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use super::STEPS;

    #[test]
    fn both_engines_have_the_same_steps_and_every_file_is_listed() {
        let listed: BTreeSet<_> = STEPS.iter().map(|step| format!("{}.sql", step.name)).collect();
        for engine in ["sqlite", "postgres"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(engine);
            let files: BTreeSet<_> = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            assert_eq!(files, listed, "migrations/{engine}");
        }
    }

    #[test]
    fn a_step_is_numbered_as_its_file_says_and_in_order() {
        let numbers: Vec<_> = STEPS.iter().map(|step| step.number).collect();
        let named: Vec<i64> = STEPS.iter().map(|step| step.name[..4].parse().unwrap()).collect();
        assert_eq!(numbers, named);
        assert_eq!(numbers, (1..=i64::try_from(STEPS.len()).unwrap()).collect::<Vec<_>>());
    }
}
