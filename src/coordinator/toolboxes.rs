//! What a run may call: of all tools those that the asker's role sees, that the persona lists, that it does not forbid itself,
//! and that its mode allows, in this order. Only a coordinator sends, tells and stops.

use std::collections::BTreeMap;

use watchfloor_channel::ChannelId;

use super::{
    Services,
    dispatch::{CONTROL_TOOLS, SENDS},
};
use crate::{
    persona::{PermissionMode, Persona, Registry, Tools},
    tools::{Class, Cut, Elsewhere, Redirect, Role, SharedTool, Toolbox},
};

impl Services {
    /// What somebody may do who asks in this channel. Nobody knows her where there is no such channel.
    pub(super) fn role(&self, channel: &ChannelId, person: &str) -> Role {
        self.channels.get(channel).map_or(Role::Viewer, |channel| channel.access.role(person))
    }

    /// `control` are the tools that reach the coordinator's own turn.
    pub(super) fn coordinators_toolbox(&self, personas: &Registry, role: Role, control: Vec<SharedTool>) -> Toolbox {
        let all: Vec<_> = self.tools.iter().cloned().chain(control).collect();
        let toolbox = cut(personas.coordinator(), role, &all);
        let can_send = toolbox.get(SENDS).is_some();
        let acting = self.redirects.iter().filter(|_| can_send).filter_map(|redirect| {
            let target = personas.spawnable(&redirect.target)?.name.clone();
            Some(Redirect { target, ..redirect.clone() })
        });
        let elsewhere = Elsewhere { redirects: acting.collect(), can_send, ..self.elsewhere(personas, role, &toolbox) };
        toolbox.knowing(elsewhere)
    }

    pub(super) fn workers_toolbox(&self, persona: &Persona, role: Role) -> Toolbox {
        let all: Vec<_> = self.tools.iter().filter(|tool| !CONTROL_TOOLS.contains(&tool.name())).cloned().collect();
        let toolbox = cut(persona, role, &all);
        toolbox.knowing(self.elsewhere(&self.personas.now(), role, &toolbox))
    }

    /// Who has the tools that are not in this box.
    fn elsewhere(&self, personas: &Registry, role: Role, toolbox: &Toolbox) -> Elsewhere {
        let missing: Vec<_> = self.tools.iter().filter(|tool| toolbox.get(tool.name()).is_none()).cloned().collect();
        let mut owners: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
        if !missing.is_empty() {
            for persona in personas.spawnables() {
                for name in cut(persona, role, &missing).names() {
                    owners.entry(name).or_default().push(persona.name.clone());
                }
            }
        }
        Elsewhere { owners, ..Elsewhere::default() }
    }
}

fn cut(persona: &Persona, role: Role, all: &[SharedTool]) -> Toolbox {
    let tools = match &persona.tools {
        Tools::Inherit => None,
        Tools::Only(names) => Some(names.as_slice()),
    };
    let mode: &[Class] = match persona.permission_mode {
        PermissionMode::ReadOnly => &[Class::Read],
        PermissionMode::MutatingWithConfirm => &[Class::Read, Class::Write],
        PermissionMode::DualSignRequired => &[Class::Read, Class::Write, Class::Destructive],
    };
    Toolbox::select(all, &Cut { role, tools, disallowed_tools: &persona.disallowed_tools, mode })
}
