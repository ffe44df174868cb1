//! Personas: Markdown files with front matter that say what an agent is for, what it may use and how long it may run.
//! This module reads and lists them; running one is the coordinator's business.

mod build;
mod catalog;
mod check;
mod definition;
mod entry;
mod front;
mod gate;
mod keeper;
mod lint;
mod live;
mod name;
mod parse;
mod place;
mod problem;
mod registry;
mod scan;
mod shipped;
mod template;
mod yaml;

#[cfg(test)]
mod tests;

use std::{fmt, num::NonZeroU32};

use serde::Serialize;
use serde_yaml::{Mapping, Value};

pub use catalog::{catalog, catalog_within};
pub use check::check;
pub use definition::{patched, read_definition};
pub use entry::Entry;
pub use front::MAX_BYTES;
pub use gate::{FORMAT_VERSION, Needs, Surroundings};
pub use keeper::{Keeper, KeeperError, Reloaded, Shelf, ShelfError};
pub use lint::{Lint, lint};
pub use live::Personas;
pub use name::{entry_means, fold};
pub use parse::{Loaded, parse};
pub use problem::{Code, ParseProblem, Place, Severity};
pub use registry::{FileRead, Registry, Roots, Written};
pub use template::{TemplateError, render};

/// The name of the coordinator's persona.
pub const COORDINATOR: &str = "default";

/// Where neither the persona nor the configuration says otherwise.
pub const DEFAULT_MAX_TURNS: u32 = 15;

/// One persona as its file says it. A definition only: what a run remembers belongs to the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Persona {
    /// As written; compare with [`fold`].
    pub name: String,
    pub description: String,
    pub when_to_use: Option<String>,
    pub tools: Tools,
    pub disallowed_tools: Vec<String>,
    pub permission_mode: PermissionMode,
    pub max_turns: Option<NonZeroU32>,
    /// `None`: the model of whoever starts it.
    pub model: Option<String>,
    pub critical_reminder: Option<String>,
    /// A template, see [`render`].
    pub initial_prompt: Option<String>,
    pub background: bool,
    pub omit_claude_md: bool,
    pub metadata: Value,
    /// What `metadata` asks of the place it runs in.
    pub needs: Needs,
    /// Keys that mean nothing here, kept for whoever wrote them. Never believed.
    pub unknown_fields: Mapping,
    /// The instructions, byte for byte.
    pub body: String,
    pub source: Source,
    /// For the place of what is found wrong later.
    pub(in crate::persona) front_matter: String,
}

impl Persona {
    pub fn max_turns_or(&self, default: u32) -> u32 {
        self.max_turns.map_or(default, NonZeroU32::get)
    }

    pub fn is_coordinator(&self) -> bool {
        fold(&self.name) == COORDINATOR
    }

    /// Whether this persona may be offered a tool, as far as its own lists go. Modes and classes are the toolbox's.
    pub fn lists(&self, tool: &str) -> bool {
        let listed = match &self.tools {
            Tools::Inherit => true,
            Tools::Only(entries) => entries.iter().any(|entry| entry_means(entry, tool)),
        };
        listed && !self.disallowed_tools.iter().any(|entry| entry_means(entry, tool))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tools {
    /// `tools` isn't there: whatever the bag holds.
    Inherit,
    /// Only these; empty = none.
    Only(Vec<String>),
}

/// What a persona may do to the world, mildest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    #[default]
    ReadOnly,
    /// Writes, each confirmed by a person.
    MutatingWithConfirm,
    /// Writes, each signed by two people.
    DualSignRequired,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Shipped in the binary, by its file name.
    Builtin(&'static str),
    /// A file, by its path as configured.
    Disk(String),
    /// Written over the API, by the name it goes by.
    User(String),
}

impl Source {
    /// `builtin`, `disk` or `user`, as the API says it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Builtin(_) => "builtin",
            Self::Disk(_) => "disk",
            Self::User(_) => "user",
        }
    }
}

/// The path as problems name it.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(file) => write!(f, "builtin:{file}"),
            Self::Disk(path) => f.write_str(path),
            Self::User(name) => write!(f, "user:{name}"),
        }
    }
}
