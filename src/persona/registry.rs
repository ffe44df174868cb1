//! All personas at one moment. A registry never changes: who holds one sees the same personas until it asks for a new one.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    COORDINATOR, Persona, Source,
    name::{self, fold},
    parse::{self, Loaded},
    place::{At, place_of},
    problem::{Code, ParseProblem, Place},
    scan, shipped,
};

/// Cheap to clone; a clone is the same snapshot.
#[derive(Clone, Debug)]
pub struct Registry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    coordinator: Arc<Persona>,
    /// By folded name, the coordinator among them.
    personas: BTreeMap<String, Arc<Persona>>,
    problems: Vec<ParseProblem>,
    files: usize,
}

impl Registry {
    /// The shipped personas alone.
    pub fn builtin() -> Self {
        Self::build(BTreeMap::new(), Vec::new(), 0)
    }

    /// The shipped ones, and over them those of `dir`, then of `external` in their order. A missing `dir` is no problem.
    /// Reads the disk: in a runtime, call it where blocking is allowed.
    pub fn load(dir: Option<&Path>, external: &[PathBuf]) -> Self {
        let mut problems = Vec::new();
        let mut files = Vec::new();
        if let Some(dir) = dir.filter(|dir| dir.exists()) {
            files.extend(scan::scan(dir, &mut problems));
        }
        for dir in external {
            if dir.exists() {
                files.extend(scan::scan(dir, &mut problems));
            } else {
                let path = dir.display().to_string();
                let hint = "create it or remove it from `agents.external_dirs`";
                problems.push(ParseProblem::new(&path, Place::TOP, Code::DirMissing, "there is no such folder", hint));
            }
        }
        let found = files.len();
        let mut disk: BTreeMap<String, Arc<Persona>> = BTreeMap::new();
        for file in files {
            match parse::parse(Source::Disk(file.path), &file.bytes) {
                Ok(loaded) => add(&mut disk, loaded, &mut problems),
                Err(errors) => problems.extend(errors),
            }
        }
        let registry = Self::build(disk, problems, found);
        for problem in registry.problems() {
            tracing::warn!(path = problem.path, line = problem.line, code = %problem.code, "{problem}");
        }
        tracing::info!(files = found, personas = registry.0.personas.len(), "personas loaded");
        registry
    }

    fn build(mut personas: BTreeMap<String, Arc<Persona>>, mut problems: Vec<ParseProblem>, files: usize) -> Self {
        for (file, text) in shipped::FILES {
            match parse::parse(Source::Builtin(file), text.as_bytes()) {
                Ok(Loaded { persona, .. }) => {
                    personas.entry(fold(&persona.name)).or_insert_with(|| Arc::new(persona));
                }
                Err(errors) => problems.extend(errors),
            }
        }
        #[expect(clippy::expect_used, reason = "the file is part of the binary and a test parses it")]
        let coordinator = personas.get(COORDINATOR).map(Arc::clone).expect("default.md is shipped");
        Self(Arc::new(Inner { coordinator, personas, problems, files }))
    }

    /// `default`, from disk if there is one.
    pub fn coordinator(&self) -> &Arc<Persona> {
        &self.0.coordinator
    }

    /// Any persona, the coordinator too, by a name in any spelling of it.
    pub fn get(&self, name: &str) -> Option<&Arc<Persona>> {
        self.0.personas.get(&fold(name))
    }

    /// A persona that can be sent as a worker: any but the coordinator.
    pub fn spawnable(&self, name: &str) -> Option<&Arc<Persona>> {
        self.get(name).filter(|persona| !persona.is_coordinator())
    }

    pub fn spawnables(&self) -> impl Iterator<Item = &Arc<Persona>> {
        self.personas().filter(|persona| !persona.is_coordinator())
    }

    /// In the order of their names.
    pub fn personas(&self) -> impl Iterator<Item = &Arc<Persona>> {
        self.0.personas.values()
    }

    /// Of all that can be sent.
    pub fn names(&self) -> Vec<&str> {
        self.spawnables().map(|persona| persona.name.as_str()).collect()
    }

    /// The one that somebody most likely meant.
    pub fn near(&self, name: &str) -> Option<&str> {
        name::nearest(name, self.names())
    }

    /// What loading found; see [`check`](super::check) for what needs the tools.
    pub fn problems(&self) -> &[ParseProblem] {
        &self.0.problems
    }

    /// How many files were found on disk, loaded or not.
    pub fn files_found(&self) -> usize {
        self.0.files
    }

    /// How many of them became personas.
    pub fn files_loaded(&self) -> usize {
        self.personas().filter(|persona| matches!(persona.source, Source::Disk(_))).count()
    }
}

fn add(disk: &mut BTreeMap<String, Arc<Persona>>, loaded: Loaded, problems: &mut Vec<ParseProblem>) {
    let Loaded { persona, warnings } = loaded;
    match disk.entry(fold(&persona.name)) {
        Entry::Vacant(free) => {
            problems.extend(warnings);
            free.insert(Arc::new(persona));
        }
        Entry::Occupied(taken) => {
            let place = place_of(&persona.front_matter, "name", At::Value);
            let message = format!("the name `{}` is taken by {}, which stays", persona.name, taken.get().source);
            let hint = "rename one of the two or remove it";
            problems.push(ParseProblem::new(&persona.source.to_string(), place, Code::DuplicateName, message, hint));
        }
    }
}
