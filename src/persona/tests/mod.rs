//! Personas from the outside: files as people write them, folders as they lie about.

mod catalog;
mod definitions;
mod directory;
mod files;
mod keeper;
mod patterns;
mod registry;
mod samples;
mod shipped;
mod template;

use super::{Loaded, ParseProblem, Source, parse};

fn read(text: impl AsRef<[u8]>) -> Result<Loaded, Vec<ParseProblem>> {
    parse(Source::Disk("a.md".to_owned()), text.as_ref())
}
