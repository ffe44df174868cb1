//! All personas at one moment. A registry never changes: who holds one sees the same personas until it asks for a new one.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Serialize;

use super::{
    Persona, Surroundings, Tools,
    build::Build,
    name::{self, fold},
    problem::ParseProblem,
};

/// Cheap to clone; a clone is the same snapshot.
#[derive(Clone, Debug)]
pub struct Registry(Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) coordinator: Arc<Persona>,
    /// By folded name, the coordinator among them; of each name the one that counts first, then what it covers.
    pub(super) personas: BTreeMap<String, Vec<Arc<Persona>>>,
    /// By folded name: why it can't be sent here.
    pub(super) barred: BTreeMap<String, String>,
    pub(super) problems: Vec<ParseProblem>,
    pub(super) files: Vec<FileRead>,
    pub(super) degraded: Option<String>,
}

/// The folders of files.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    /// Need not exist.
    pub dir: Option<PathBuf>,
    pub external: Vec<PathBuf>,
}

impl Roots {
    pub fn all(&self) -> impl Iterator<Item = &Path> {
        self.dir.iter().chain(&self.external).map(PathBuf::as_path)
    }
}

/// A persona that was written over the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Folded.
    pub name: String,
    /// JSON.
    pub definition: String,
}

/// What became of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileRead {
    /// As it says itself; `None` = it can't be told.
    pub name: Option<String>,
    pub path: String,
    /// `builtin` for one that is the shipped one, byte for byte.
    pub source: &'static str,
    pub loaded: bool,
    /// As written; `None` = it inherits, or isn't loaded.
    pub tools: Option<Vec<String>>,
}

impl FileRead {
    pub(super) fn of(path: String, source: &'static str, persona: &Persona, loaded: bool) -> Self {
        let tools = match &persona.tools {
            Tools::Only(names) => Some(names.clone()),
            Tools::Inherit => None,
        };
        Self { path, name: Some(persona.name.clone()), source, loaded, tools }
    }
}

impl Registry {
    /// The shipped personas alone.
    pub fn builtin() -> Self {
        Self::read(&Roots::default(), &[], None)
    }

    /// The shipped ones and those of the folders, wherever this runs; what is wrong with them is logged.
    pub fn load(dir: Option<&Path>, external: &[PathBuf]) -> Self {
        let roots = Roots { dir: dir.map(Path::to_owned), external: external.to_vec() };
        let registry = Self::read(&roots, &[], None);
        registry.tell(&[]);
        registry
    }

    /// The shipped ones, over them those of the folders in their order, over them the written ones. Without surroundings
    /// nothing is held against them. Reads the disk: in a runtime, call it where blocking is allowed.
    pub fn read(roots: &Roots, written: &[Written], here: Option<&Surroundings>) -> Self {
        let mut build = Build::default();
        build.shipped();
        build.disk(roots);
        build.written(written);
        Self(Arc::new(build.finish(here)))
    }

    /// Logs what is wrong and wasn't before: one line for each warning, and one for each file that isn't loaded.
    pub fn tell(&self, before: &[ParseProblem]) {
        let mut unreadable: BTreeMap<&str, usize> = BTreeMap::new();
        for problem in self.problems().iter().filter(|problem| problem.is_error()) {
            *unreadable.entry(&problem.path).or_default() += 1;
        }
        for problem in self.problems().iter().filter(|problem| !before.contains(problem)) {
            let more = match unreadable.get_mut(problem.path.as_str()) {
                Some(0) => continue,
                Some(count) => std::mem::take(count) - 1,
                None => 0,
            };
            let (path, line, code) = (&problem.path, problem.line, problem.code);
            tracing::warn!(path, line, %code, more, "{problem}");
        }
        tracing::info!(files = self.files_found(), personas = self.0.personas.len(), "personas loaded");
    }

    /// `default`: the uppermost that can be used.
    pub fn coordinator(&self) -> &Arc<Persona> {
        &self.0.coordinator
    }

    /// Why the coordinator isn't the one it was meant to be.
    pub fn degraded(&self) -> Option<&str> {
        self.0.degraded.as_deref()
    }

    /// Any persona, the coordinator too, by a name in any spelling of it.
    pub fn get(&self, name: &str) -> Option<&Arc<Persona>> {
        self.layers(name).first()
    }

    /// What the persona of this name covers, the next one first.
    pub fn shadowed(&self, name: &str) -> &[Arc<Persona>] {
        self.layers(name).get(1..).unwrap_or_default()
    }

    fn layers(&self, name: &str) -> &[Arc<Persona>] {
        self.0.personas.get(&fold(name)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Why a persona that is there can't be sent; `None` = it can.
    pub fn barred(&self, name: &str) -> Option<&str> {
        self.0.barred.get(&fold(name)).map(String::as_str)
    }

    fn may_be_sent(&self, persona: &Persona) -> bool {
        !persona.is_coordinator() && self.barred(&persona.name).is_none()
    }

    /// A persona that can be sent as a worker: never the coordinator, and none that this place doesn't suit.
    pub fn spawnable(&self, name: &str) -> Option<&Arc<Persona>> {
        self.get(name).filter(|persona| self.may_be_sent(persona))
    }

    pub fn spawnables(&self) -> impl Iterator<Item = &Arc<Persona>> {
        self.personas().filter(|persona| self.may_be_sent(persona))
    }

    /// In the order of their names.
    pub fn personas(&self) -> impl Iterator<Item = &Arc<Persona>> {
        self.0.personas.values().filter_map(|layers| layers.first())
    }

    /// Of all that can be sent.
    pub fn names(&self) -> Vec<&str> {
        self.spawnables().map(|persona| persona.name.as_str()).collect()
    }

    /// The one that somebody most likely meant.
    pub fn near(&self, name: &str) -> Option<&str> {
        name::nearest(name, self.names())
    }

    /// Everything that is wrong. For what needs tools and was loaded without knowing them see [`check`](super::check).
    pub fn problems(&self) -> &[ParseProblem] {
        &self.0.problems
    }

    pub fn files(&self) -> &[FileRead] {
        &self.0.files
    }

    /// How many files were found on disk, loaded or not.
    pub fn files_found(&self) -> usize {
        self.0.files.len()
    }

    /// How many of them became personas.
    pub fn files_loaded(&self) -> usize {
        self.0.files.iter().filter(|file| file.loaded).count()
    }
}
