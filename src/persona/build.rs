//! Puts a registry together, layer over layer: shipped, disk, written. What can't be loaded leaves the layer below uncovered.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use super::{
    COORDINATOR, Persona, Source, Surroundings, check, definition,
    name::fold,
    parse::{self, Loaded},
    place::{At, place_of},
    problem::{Code, ParseProblem, Place},
    registry::{FileRead, Inner, Roots, Written},
    scan, shipped,
};

#[derive(Default)]
pub(super) struct Build {
    /// Of each name the lowest layer first.
    layers: BTreeMap<String, Vec<Arc<Persona>>>,
    problems: Vec<ParseProblem>,
    files: Vec<FileRead>,
    /// An override of the coordinator that isn't loaded.
    lost: Option<String>,
}

impl Build {
    pub(super) fn shipped(&mut self) {
        for (file, text) in shipped::FILES {
            match parse::parse(Source::Builtin(file), text.as_bytes()) {
                Ok(loaded) => self.lay(loaded),
                Err(errors) => self.problems.extend(errors),
            }
        }
    }

    pub(super) fn disk(&mut self, roots: &Roots) {
        let mut found = Vec::new();
        if let Some(dir) = roots.dir.as_deref().filter(|dir| dir.exists()) {
            found.extend(scan::scan(dir, &mut self.problems));
        }
        for dir in &roots.external {
            if dir.exists() {
                found.extend(scan::scan(dir, &mut self.problems));
            } else {
                let path = dir.display().to_string();
                let hint = "create it or remove it from `agents.external_dirs`";
                let message = "there is no such folder";
                self.problems.push(ParseProblem::new(&path, Place::TOP, Code::DirMissing, message, hint));
            }
        }
        let mut taken: BTreeMap<String, String> = BTreeMap::new();
        for scan::Found { path, bytes } in found {
            let is_shipped = shipped::FILES.iter().any(|(_, text)| text.as_bytes() == bytes);
            match parse::parse(Source::Disk(path.clone()), &bytes) {
                // The folder that is mounted often holds copies of what is shipped; they are the shipped ones.
                Ok(Loaded { persona, .. }) if is_shipped => {
                    self.files.push(FileRead::of(path, "builtin", &persona, true));
                }
                Ok(loaded) => {
                    let name = fold(&loaded.persona.name);
                    let first = taken.get(&name).cloned();
                    self.files.push(FileRead::of(path.clone(), "disk", &loaded.persona, first.is_none()));
                    if let Some(first) = first {
                        self.problems.push(doubled(&loaded.persona, &first));
                    } else {
                        taken.insert(name, path);
                        self.lay(loaded);
                    }
                }
                Err(errors) => {
                    let claimed = claimed_name(&bytes);
                    let stem = Path::new(&path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
                    if [&claimed, &stem].into_iter().flatten().any(|name| fold(name) == COORDINATOR) {
                        self.lose(&errors);
                    }
                    self.files.push(FileRead { path, name: claimed, source: "disk", loaded: false, tools: None });
                    self.problems.extend(errors);
                }
            }
        }
    }

    pub(super) fn written(&mut self, written: &[Written]) {
        for Written { name, definition } in written {
            match definition::read_stored(name, definition) {
                Ok(loaded) => self.lay(loaded),
                Err(errors) => {
                    if name == COORDINATOR {
                        self.lose(&errors);
                    }
                    self.problems.extend(errors);
                }
            }
        }
    }

    fn lay(&mut self, Loaded { persona, warnings }: Loaded) {
        self.problems.extend(warnings);
        self.layers.entry(fold(&persona.name)).or_default().push(Arc::new(persona));
    }

    fn lose(&mut self, errors: &[ParseProblem]) {
        if let Some(ParseProblem { path, line, column, message, .. }) = errors.first() {
            self.lost = Some(format!(
                "the coordinator's persona in {path} isn't loaded, line {line} column {column}: {message}"
            ));
        }
    }

    pub(super) fn finish(mut self, here: Option<&Surroundings>) -> Inner {
        for layers in self.layers.values_mut() {
            layers.reverse();
        }
        let mut barred = BTreeMap::new();
        let mut said = BTreeSet::new();
        if let Some(here) = here {
            for (name, layers) in &self.layers {
                let Some(persona) = layers.first() else { continue };
                if let Some(reason) = persona.needs.unmet(here) {
                    barred.insert(name.clone(), reason);
                }
                if said.insert(persona.source.to_string()) {
                    let found = check::check_in(persona, here);
                    let is_user = matches!(persona.source, Source::User(_));
                    self.problems.extend(if is_user { definition::unplaced(found) } else { found });
                }
            }
        }
        let defaults = self.layers.get(COORDINATOR).map(Vec::as_slice).unwrap_or_default();
        let suits = |persona: &&Arc<Persona>| here.is_none_or(|here| persona.needs.unmet(here).is_none());
        let coordinator = defaults.iter().find(suits).or(defaults.last()).map(Arc::clone);
        #[expect(clippy::expect_used, reason = "the file is part of the binary and a test parses it")]
        let coordinator = coordinator.expect("default.md is shipped");
        let unsuited = barred.get(COORDINATOR).zip(defaults.first()).map(|(reason, persona)| {
            format!("the coordinator's persona in {} can't be used here: {reason}", persona.source)
        });
        let degraded = self.lost.or(unsuited);
        Inner { coordinator, personas: self.layers, barred, problems: self.problems, files: self.files, degraded }
    }
}

fn doubled(persona: &Persona, first: &str) -> ParseProblem {
    let place = place_of(&persona.front_matter, "name", At::Value);
    let message = format!("the name `{}` is taken by {first}, which stays", persona.name);
    let hint = "rename one of the two or remove it";
    ParseProblem::new(&persona.source.to_string(), place, Code::DuplicateName, message, hint).about("name")
}

/// The name in a file that can't be read as a whole. Good for telling people which it is, for nothing else.
fn claimed_name(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().take(200).skip_while(|line| !line.trim_end().ends_with("---")).skip(1);
    let value = lines.find_map(|line| line.strip_prefix("name:"))?;
    let name = value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
    super::name::is_valid(name).then(|| name.to_owned())
}
