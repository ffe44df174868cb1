//! One persona as it is shown: its definition, where it comes from, what it covers, and what is wrong with it.

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::{PermissionMode, Persona, Registry, Tools, definition, problem::ParseProblem};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    pub name: String,
    pub description: String,
    pub when_to_use: Option<String>,
    /// `null` = it inherits, `[]` = none.
    pub tools: Option<Vec<String>>,
    pub disallowed_tools: Vec<String>,
    pub permission_mode: PermissionMode,
    /// `null` = the configured default.
    pub max_turns: Option<u32>,
    pub model: Option<String>,
    pub critical_reminder: Option<String>,
    pub initial_prompt: Option<String>,
    pub background: bool,
    pub omit_claude_md: bool,
    pub metadata: Json,
    pub unknown_fields: Map<String, Json>,
    pub body: String,
    /// `builtin`, `disk` or `user`.
    pub source: &'static str,
    pub path: String,
    /// The sources of what it covers, the next one first.
    pub shadows: Vec<&'static str>,
    pub spawnable: bool,
    /// Why it can't be sent.
    pub reason: Option<String>,
    pub warnings: Vec<ParseProblem>,
}

impl Entry {
    pub(super) fn of(registry: &Registry, persona: &Persona) -> Self {
        let path = persona.source.to_string();
        let warnings = registry.problems().iter().filter(|problem| problem.path == path).cloned().collect();
        let own = || "it is the coordinator, which is never sent".to_owned();
        let barred = registry.barred(&persona.name).map(str::to_owned);
        let reason = barred.or_else(|| persona.is_coordinator().then(own));
        Self {
            name: persona.name.clone(),
            description: persona.description.clone(),
            when_to_use: persona.when_to_use.clone(),
            tools: match &persona.tools {
                Tools::Inherit => None,
                Tools::Only(names) => Some(names.clone()),
            },
            disallowed_tools: persona.disallowed_tools.clone(),
            permission_mode: persona.permission_mode,
            max_turns: persona.max_turns.map(Into::into),
            model: persona.model.clone(),
            critical_reminder: persona.critical_reminder.clone(),
            initial_prompt: persona.initial_prompt.clone(),
            background: persona.background,
            omit_claude_md: persona.omit_claude_md,
            metadata: definition::json_of(&persona.metadata),
            unknown_fields: definition::object_of(&persona.unknown_fields),
            body: persona.body.clone(),
            source: persona.source.kind(),
            path,
            shadows: registry.shadowed(&persona.name).iter().map(|persona| persona.source.kind()).collect(),
            spawnable: reason.is_none(),
            reason,
            warnings,
        }
    }
}

impl Registry {
    /// All of them, in the order of their names.
    pub fn entries(&self) -> Vec<Entry> {
        self.personas().map(|persona| Entry::of(self, persona)).collect()
    }

    pub fn entry(&self, name: &str) -> Option<Entry> {
        self.get(name).map(|persona| Entry::of(self, persona))
    }
}
