//! Everything there is to say about files of personas, at once. Who prints it is not decided here.

use serde::Serialize;

use super::{FileRead, ParseProblem, Registry, Roots, Surroundings};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lint {
    pub personas: Vec<FileRead>,
    pub problems: Vec<ParseProblem>,
}

impl Lint {
    /// Whether every file loads.
    pub fn is_sound(&self) -> bool {
        !self.problems.iter().any(ParseProblem::is_error)
    }
}

/// The files of the folders, by path. Reads the disk.
pub fn lint(roots: &Roots, here: &Surroundings) -> Lint {
    let registry = Registry::read(roots, &[], Some(here));
    let mut personas = registry.files().to_vec();
    let mut problems = registry.problems().to_vec();
    // Of what is shipped nobody here can mend anything.
    problems.retain(|problem| !problem.path.starts_with("builtin:"));
    personas.sort_by(|a, b| a.path.cmp(&b.path));
    problems.sort_by(|a, b| (&a.path, a.line, a.column, a.code).cmp(&(&b.path, b.line, b.column, b.code)));
    Lint { personas, problems }
}
