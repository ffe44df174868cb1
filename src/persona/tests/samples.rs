//! Four personas in the style people bring along, with what they may expect of them.

use serde_json::json;

use super::{
    super::{Code, Registry, catalog, check, entry_means, render},
    read,
};

const INVESTIGATOR: &str = "---
name: incident_investigator
description: Traces an incident from the alert to its origin.
when_to_use: When somebody asks why an alert fires or shares an incident link.
tools:
  - expand_topology
  - find_topology_node
  - query_promql
  - search_logs
  - query_traceql
  - host_probe
  - bash
disallowed_tools: []
permission_mode: read-only
max_turns: 24
model: anthropic/claude-sonnet-4-6
critical_reminder: |
  Every statement needs a query, a log line or a file behind it.
initial_prompt: |
  You look into incident {{ '{{' }}.incident_id{{ '}}' }} on device {{ '{{' }}.device_id{{ '}}' }}.
  Begin with its summary.
background: false
omit_claude_md: false
metadata:
  os: [linux, darwin]
  requires:
    bins: []
    config: []
---

# Investigator
";

const DISK: &str = "---
name: disk_specialist
description: Explains full and slow disks — space, IO, mounts.
when_to_use: When somebody asks about a disk that is full or slow.
tools: [host_probe, bash, query_promql]
permission_mode: read-only
model: zhipu/glm-4.7
---

# Disks
";

const REVIEWER: &str = "---
name: change_reviewer
description: Searches a planned change for what it could break.
when_to_use: When a second opinion is wanted before something destructive.
tools: [expand_topology, read_repo, search_knowledge]
permission_mode: read-only
omit_claude_md: true
max_turns: 8
model: anthropic/claude-opus-4-7
critical_reminder: |
  Doubt it. \"Do not proceed\" until the evidence is overwhelming.
---

# Reviewer
";

const CLICKHOUSE: &str = "---
name: specialist-clickhouse
description: ClickHouse 查询与分区问题专家
when_to_use: |
  When the user asks about:
    - slow ClickHouse queries
    - merges and mutations

tools:
  - query_knowledge
  - query_clickhouse_system   # not in this build
  - query_promql              # clickhouse_* series
  - host_bash
  - get_edge_summary

disallowed_tools:
  - host_restart_service

permission_mode: read-only
max_turns: 12
model: anthropic/claude-sonnet-4-7
---

# ClickHouse

- 现状
";

pub(super) const BAG: [&str; 11] = [
    "expand_topology",
    "find_topology_node",
    "query_promql",
    "query_logql",
    "query_traceql",
    "query_knowledge",
    "host_probe",
    "host_bash",
    "read_repo",
    "get_edge_summary",
    "host_restart",
];

/// All four in a folder, read as a user would.
fn registry() -> (tempfile::TempDir, Registry) {
    let dir = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("incident_investigator.md", INVESTIGATOR),
        ("disk_specialist.md", DISK),
        ("change_reviewer.md", REVIEWER),
        ("specialist-clickhouse.md", CLICKHOUSE),
    ] {
        std::fs::write(dir.path().join(file), text).unwrap();
    }
    std::fs::write(dir.path().join("README.md"), "# Four samples\n").unwrap();
    let registry = Registry::load(Some(dir.path()), &[]);
    (dir, registry)
}

#[test]
fn all_four_load_and_only_the_last_has_warnings() {
    let (dir, registry) = registry();
    assert_eq!((registry.files_found(), registry.files_loaded()), (4, 4));
    let mut problems = registry.problems().to_vec();
    problems.extend(check(&registry, &BAG).into_iter().filter(|problem| !problem.path.starts_with("builtin:")));
    let path = dir.path().join("specialist-clickhouse.md").display().to_string();
    assert_eq!(
        problems.iter().map(|p| (p.path.as_str(), p.code, p.line, p.column)).collect::<Vec<_>>(),
        [(path.as_str(), Code::WhenToUseVague, 4, 14), (path.as_str(), Code::UnknownTool, 11, 5)]
    );
}

#[test]
fn aliases_count_as_their_tools() {
    for (alias, tool) in
        [("search_logs", "query_logql"), ("bash", "host_bash"), ("search_knowledge", "query_knowledge")]
    {
        assert!(entry_means(alias, tool) && entry_means(tool, alias), "{alias}");
    }
}

#[test]
fn the_first_message_is_filled_in_from_the_context() {
    let persona = read(INVESTIGATOR).unwrap().persona;
    let context = json!({ "incident_id": 4217, "device_id": 102 });
    let text = render(&persona.initial_prompt.unwrap(), context.as_object().unwrap()).unwrap();
    assert_eq!(text, "You look into incident 4217 on device 102.\nBegin with its summary.");
}

#[test]
fn limits_and_models_are_taken_over() {
    let (_dir, registry) = registry();
    let disk = registry.spawnable("Disk-Specialist").unwrap();
    assert_eq!((disk.max_turns_or(15), disk.model.as_deref()), (15, Some("zhipu/glm-4.7")));
    let reviewer = registry.spawnable("change-reviewer").unwrap();
    assert_eq!((reviewer.max_turns_or(15), reviewer.omit_claude_md), (8, true));
}

#[test]
fn the_catalog_joins_lines_where_the_first_says_nothing() {
    let (_dir, registry) = registry();
    let line = "specialist-clickhouse: ClickHouse 查询与分区问题专家 — When the user asks about: slow ClickHouse queries; merges and mutations";
    assert!(catalog(&registry).lines().any(|found| found == line), "{}", catalog(&registry));
}
