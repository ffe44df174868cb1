//! Looks after the personas of a running bot: loads them anew, and changes those that were written over the API.
//! It knows no HTTP and no database; who may write is asked before it is called.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use serde_json::{Map, Value as Json};
use tokio::{sync::Mutex, task::spawn_blocking};

use super::{Entry, ParseProblem, Personas, Registry, Roots, Surroundings, Written, definition, fold};

/// Where written personas are kept.
#[async_trait]
pub trait Shelf: fmt::Debug + Send + Sync {
    async fn all(&self) -> Result<Vec<Written>, ShelfError>;
    async fn put(&self, written: &Written) -> Result<(), ShelfError>;
    /// Whether it was there.
    async fn delete(&self, name: &str) -> Result<bool, ShelfError>;
}

#[derive(Debug, thiserror::Error)]
#[error("written personas can't be reached: {0}")]
pub struct ShelfError(pub String);

/// Sorted by what the caller does next.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// Mend the definition; each problem names its field.
    #[error("the definition isn't a persona: {}", .0.iter().filter(|problem| problem.is_error()).map(said).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<ParseProblem>),
    /// Change the one that is there.
    #[error("`{0}` was written before; change it with PATCH")]
    Exists(String),
    /// Write an override.
    #[error("`{name}` comes from {source_kind} and can't be changed here; POST an override of the same name")]
    NotUser { name: String, source_kind: &'static str },
    #[error("there is no persona `{name}`; there are {}", .names.join(", "))]
    Unknown { name: String, names: Vec<String> },
    /// Try later.
    #[error(transparent)]
    Shelf(#[from] ShelfError),
    #[error("the personas can't be read: {0}")]
    Broken(String),
}

fn said(problem: &ParseProblem) -> String {
    if problem.field.is_empty() { problem.message.clone() } else { format!("{}: {}", problem.field, problem.message) }
}

/// What a reload did, by the names as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Reloaded {
    pub personas: usize,
    pub added: Vec<String>,
    pub changed: Vec<String>,
    pub removed: Vec<String>,
    pub problems: usize,
}

/// Cheap to clone; all clones look after the same personas.
#[derive(Clone, Debug)]
pub struct Keeper(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    personas: Personas,
    roots: Roots,
    here: Surroundings,
    shelf: Arc<dyn Shelf>,
    /// One at a time loads or writes, so that an older state never replaces a newer one.
    turn: Mutex<()>,
}

impl Keeper {
    /// Loads for the first time.
    pub async fn open(roots: Roots, here: Surroundings, shelf: Arc<dyn Shelf>) -> Result<Self, KeeperError> {
        let registry = read(roots.clone(), here.clone(), &*shelf).await?;
        registry.tell(&[]);
        let personas = Personas::new(registry);
        Ok(Self(Arc::new(Inner { personas, roots, here, shelf, turn: Mutex::new(()) })))
    }

    pub fn personas(&self) -> Personas {
        self.0.personas.clone()
    }

    pub fn roots(&self) -> &Roots {
        &self.0.roots
    }

    /// Everything that is wrong with the personas of this moment.
    pub fn warnings(&self) -> Vec<ParseProblem> {
        self.0.personas.now().problems().to_vec()
    }

    /// Reads everything anew. Turns that run keep what they began with. If the written ones can't be reached, all stays.
    pub async fn reload(&self) -> Result<Reloaded, KeeperError> {
        let _turn = self.0.turn.lock().await;
        self.load().await
    }

    /// Writes a new persona, perhaps over one of the same name that is shipped or on disk.
    pub async fn put(&self, json: &Json) -> Result<Entry, KeeperError> {
        let (loaded, kept) = definition::read_definition(json).map_err(KeeperError::Invalid)?;
        let name = fold(&loaded.persona.name);
        let _turn = self.0.turn.lock().await;
        if self.find(&name).await?.is_some() {
            return Err(KeeperError::Exists(loaded.persona.name));
        }
        self.write(name, &kept).await
    }

    /// Changes a written persona by a merge patch.
    pub async fn patch(&self, name: &str, patch: &Json) -> Result<Entry, KeeperError> {
        let _turn = self.0.turn.lock().await;
        let Some(written) = self.find(name).await? else { return Err(self.not_written(name)) };
        // What can't be read any more is mended by a patch that says everything anew.
        let mut kept: Map<String, Json> = serde_json::from_str(&written.definition).unwrap_or_default();
        kept.entry("name").or_insert_with(|| Json::from(written.name.as_str()));
        let kept = definition::patched(&kept, patch).map_err(|problem| KeeperError::Invalid(vec![problem]))?;
        definition::read_kept(&kept).map_err(KeeperError::Invalid)?;
        self.write(written.name, &kept).await
    }

    /// Removes a written persona; what it covered is there again.
    pub async fn delete(&self, name: &str) -> Result<(), KeeperError> {
        let _turn = self.0.turn.lock().await;
        if !self.0.shelf.delete(&fold(name)).await? {
            return Err(self.not_written(name));
        }
        self.load().await.map(drop)
    }

    async fn find(&self, name: &str) -> Result<Option<Written>, KeeperError> {
        let name = fold(name);
        Ok(self.0.shelf.all().await?.into_iter().find(|written| written.name == name))
    }

    fn not_written(&self, name: &str) -> KeeperError {
        let registry = self.0.personas.now();
        match registry.get(name) {
            Some(persona) => KeeperError::NotUser { name: persona.name.clone(), source_kind: persona.source.kind() },
            None => KeeperError::Unknown {
                name: name.chars().take(80).collect(),
                names: registry.personas().map(|persona| persona.name.clone()).collect(),
            },
        }
    }

    async fn write(&self, name: String, kept: &Map<String, Json>) -> Result<Entry, KeeperError> {
        let definition = Json::Object(kept.clone()).to_string();
        let written = Written { name, definition };
        self.0.shelf.put(&written).await?;
        self.load().await?;
        let entry = self.0.personas.now().entry(&written.name);
        entry.ok_or_else(|| KeeperError::Broken(format!("`{}` was written and is gone", written.name)))
    }

    async fn load(&self) -> Result<Reloaded, KeeperError> {
        let Inner { personas, roots, here, shelf, .. } = &*self.0;
        let registry = read(roots.clone(), here.clone(), &**shelf).await?;
        let before = personas.now();
        registry.tell(before.problems());
        let done = difference(&before, &registry);
        personas.replace(registry);
        Ok(done)
    }
}

async fn read(roots: Roots, here: Surroundings, shelf: &dyn Shelf) -> Result<Registry, KeeperError> {
    let written = shelf.all().await?;
    let read = spawn_blocking(move || Registry::read(&roots, &written, Some(&here)));
    read.await.map_err(|error| KeeperError::Broken(error.to_string()))
}

fn difference(before: &Registry, after: &Registry) -> Reloaded {
    let mut done =
        Reloaded { personas: after.personas().count(), problems: after.problems().len(), ..Reloaded::default() };
    for persona in after.personas() {
        match before.get(&persona.name) {
            None => done.added.push(persona.name.clone()),
            Some(old) if old != persona => done.changed.push(persona.name.clone()),
            Some(_) => {}
        }
    }
    let gone = before.personas().filter(|persona| after.get(&persona.name).is_none());
    done.removed = gone.map(|persona| persona.name.clone()).collect();
    done
}
