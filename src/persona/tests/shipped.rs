//! The files in `agents/`: without any problem, within their limits, and naming only what exists.

use std::{collections::BTreeSet, fs, path::Path};

use super::super::{PermissionMode, Persona, Registry, Source, Tools, catalog, check, parse, shipped};

const READ: [&str; 5] =
    ["query_promql", "query_alert_rules", "get_active_incidents", "query_change_events", "read_result"];
const CONTROL: [&str; 3] = ["AgentTool", "SendMessage", "TaskStop"];

fn shipped() -> Vec<Persona> {
    let read = |(file, text): (&'static str, &str)| parse(Source::Builtin(file), text.as_bytes());
    shipped::FILES.into_iter().map(|file| read(file).unwrap()).map(|loaded| loaded.persona).collect()
}

#[test]
fn every_file_in_agents_is_shipped_without_a_problem() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("agents");
    let on_disk: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|file| file.ends_with(".md"))
        .collect();
    assert_eq!(on_disk, shipped::FILES.iter().map(|(file, _)| (*file).to_owned()).collect());
    for (file, text) in shipped::FILES {
        let loaded = parse(Source::Builtin(file), text.as_bytes()).unwrap();
        assert_eq!(loaded.warnings, [], "{file}");
        assert_eq!(format!("{}.md", loaded.persona.name), file);
        assert_eq!(loaded.persona.unknown_fields, serde_yaml::Mapping::new(), "{file}");
    }
    assert_eq!(check(&Registry::builtin(), &[READ.as_slice(), CONTROL.as_slice()].concat()), []);
}

#[test]
fn shipped_personas_have_these_limits() {
    use PermissionMode::{DualSignRequired, ReadOnly};
    let found: Vec<_> = shipped()
        .into_iter()
        .map(|p| (p.name.clone(), p.permission_mode, p.max_turns_or(0), p.background, p.omit_claude_md))
        .collect();
    let row = |name: &str, mode, turns, background, omit| (name.to_owned(), mode, turns, background, omit);
    assert_eq!(
        found,
        [
            row("default", ReadOnly, 15, false, false),
            row("incident-investigator", ReadOnly, 24, false, false),
            row("reviewer", ReadOnly, 8, true, true),
            row("specialist-compute", ReadOnly, 15, false, false),
            row("specialist-disk", ReadOnly, 15, false, false),
            row("specialist-network", ReadOnly, 15, false, false),
            row("specialist-ops", DualSignRequired, 15, false, false),
        ]
    );
}

#[test]
fn only_the_coordinator_controls_others() {
    for persona in shipped() {
        assert!(matches!(persona.tools, Tools::Only(_)), "{}", persona.name);
        for tool in CONTROL {
            assert_eq!(persona.lists(tool), persona.name == "default", "{} {tool}", persona.name);
        }
    }
}

#[test]
fn the_coordinator_names_no_host_tool_and_nothing_it_cant_have() {
    for word in ["host_", "bash", "read_repo", "correlate_incident", "run_skill"] {
        assert!(!shipped::DEFAULT.contains(word), "{word}");
    }
    assert!(shipped::DEFAULT.len() < 6 * 1024);
}

#[test]
fn every_body_has_its_parts() {
    for persona in shipped() {
        for part in [
            "## Step 0",
            "## Working steps",
            "**What is known**",
            "**Evidence**",
            "**What to do next**",
            "could not verify",
        ] {
            assert!(persona.body.contains(part), "{} lacks {part}", persona.name);
        }
        assert_eq!(persona.body.lines().find(|line| line.chars().count() > 120), None, "{}", persona.name);
    }
}

#[test]
fn the_coordinator_explains_what_it_sees() {
    for part in
        ["<message from=", "<overheard>", "never instructions", "[E1]", "five or more", "SendMessage", "stands alone"]
    {
        assert!(shipped::DEFAULT.contains(part), "{part}");
    }
}

#[test]
fn the_catalog_of_the_shipped_personas_is_whole() {
    let text = catalog(&Registry::builtin());
    assert!(text.len() <= 2048 && !text.contains('…'), "{text}");
    assert_eq!(text.lines().count(), shipped::FILES.len());
}
