//! A folder of files, good, odd and broken, and what becomes of each.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, path::Path};

use super::super::{Code, Registry, Roots, Severity, Surroundings, lint};

/// With all tools of the samples but one, and two providers.
fn here(bin: &Path) -> Surroundings {
    fs::write(bin.join("df"), "").unwrap();
    fs::set_permissions(bin.join("df"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut tools: Vec<_> = super::samples::BAG.iter().map(|tool| (*tool).to_owned()).collect();
    tools.extend(["read_result", "query_change_events", "query_devices", "run_skill"].map(str::to_owned));
    Surroundings {
        os: "linux".to_owned(),
        path: vec![bin.to_owned()],
        settings: BTreeSet::from(["sources.prometheus.url".to_owned()]),
        providers: BTreeSet::from(["anthropic".to_owned(), "openai".to_owned()]),
        aliases: [("fast".to_owned(), "openai/x".to_owned())].into(),
        tools,
    }
}

#[test]
fn each_file_of_the_folder_ends_as_the_table_says() {
    let bin = tempfile::tempdir().unwrap();
    let here = here(bin.path());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/personas");
    let roots = Roots { dir: Some(root.clone()), external: Vec::new() };
    let found = lint(&roots, &here);
    let registry = Registry::read(&roots, &[], Some(&here));
    let mut outcomes = Vec::new();
    for file in &found.personas {
        let problems: Vec<_> = found.problems.iter().filter(|problem| problem.path == file.path).collect();
        let codes: Vec<_> =
            problems.iter().map(|problem| format!("{} {}:{}", problem.code, problem.line, problem.column)).collect();
        let codes = codes.join(" ");
        let broken = problems.iter().any(|problem| problem.severity == Severity::Error);
        let barred = file.name.as_deref().and_then(|name| registry.barred(name));
        let outcome = match barred {
            Some(reason) if file.loaded => format!("barred: {reason}"),
            _ if broken => format!("refused: {codes}"),
            _ if !file.loaded => format!("covered: {codes}"),
            _ if codes.is_empty() => "loaded".to_owned(),
            _ => format!("warned: {codes}"),
        };
        let name = Path::new(&file.path).strip_prefix(&root).unwrap().display().to_string();
        outcomes.push((name, outcome));
        // A file that isn't loaded is there in no part.
        assert_eq!(file.loaded, registry.personas().any(|persona| persona.source.to_string() == file.path), "{file:?}");
        assert!(!(broken && file.loaded), "{file:?}");
    }
    outcomes.sort();
    let expected: Vec<_> = TABLE.iter().map(|(file, outcome)| ((*file).to_owned(), (*outcome).to_owned())).collect();
    assert_eq!(outcomes, expected);
    assert!(!found.is_sound() && outcomes.len() >= 60);
}

#[test]
fn of_the_samples_two_have_the_warnings_that_they_are_to_have() {
    let bin = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/personas/samples");
    let found = lint(&Roots { dir: Some(root), external: Vec::new() }, &here(bin.path()));
    assert!(found.is_sound() && found.personas.iter().all(|persona| persona.loaded));
    let codes: Vec<_> = found.problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, [Code::ProviderNotConfigured, Code::WhenToUseVague, Code::UnknownTool]);
}

const TABLE: &[(&str, &str)] = &[
    ("broken/a-list.md", "refused: not_a_mapping 2:1"),
    ("broken/a-text.md", "refused: not_a_mapping 2:1"),
    ("broken/blank-first.md", "refused: no_front_matter 1:1"),
    ("broken/blank-in-name.md", "refused: name_invalid 2:7"),
    ("broken/bomb.md", "refused: too_much_yaml 2:1"),
    ("broken/control.md", "refused: yaml_syntax 3:15"),
    ("broken/duplicate-deep.md", "refused: duplicate_key 7:3"),
    ("broken/duplicate-key.md", "refused: duplicate_key 6:1"),
    ("broken/empty.md", "refused: no_front_matter 1:1"),
    ("broken/four-dashes.md", "refused: no_front_matter 1:1"),
    ("broken/huge-turns.md", "refused: out_of_range 5:12"),
    ("broken/indented-closer.md", "refused: front_matter_open 1:1"),
    ("broken/latin1.md", "refused: not_utf8 3:17"),
    ("broken/list-model.md", "refused: wrong_type 5:8"),
    ("broken/list-requires.md", "refused: wrong_type 5:11"),
    ("broken/long-name.md", "refused: name_invalid 2:7"),
    ("broken/merge.md", "refused: merge_key 6:1"),
    ("broken/nameless.md", "refused: name_missing 1:1"),
    ("broken/negative-turns.md", "refused: out_of_range 5:12"),
    ("broken/never-closed.md", "refused: front_matter_open 1:1"),
    ("broken/no-description.md", "refused: description_missing 1:1"),
    ("broken/no-front-matter.md", "refused: no_front_matter 1:1"),
    ("broken/no-such-mode.md", "refused: permission_mode_unknown 5:18"),
    ("broken/no-when.md", "refused: when_to_use_missing 1:1"),
    ("broken/nothing.md", "refused: name_missing 1:1 description_missing 1:1 when_to_use_missing 1:1"),
    ("broken/number-name.md", "refused: name_not_text 2:7"),
    ("broken/open-list.md", "refused: yaml_syntax 6:1"),
    ("broken/open-quote.md", "refused: yaml_syntax 5:1"),
    ("broken/path-name.md", "refused: name_invalid 2:7"),
    ("broken/reload.md", "refused: name_reserved 2:7"),
    ("broken/scalar-gate.md", "refused: wrong_type 5:11"),
    ("broken/scalar-metadata.md", "refused: wrong_type 5:11"),
    ("broken/switch-name.md", "refused: name_not_text 2:7"),
    ("broken/tab.md", "refused: tab_indent 6:1"),
    ("broken/text-turns.md", "refused: wrong_type 5:12"),
    ("broken/tools-a-mapping.md", "refused: wrong_type 5:8"),
    ("broken/tools-a-number.md", "refused: wrong_type 7:5"),
    ("broken/two-errors.md", "refused: wrong_type 5:12 wrong_type 6:13"),
    ("broken/unquoted-colon.md", "refused: unquoted_colon 3:17"),
    ("broken/yes-background.md", "refused: wrong_type 5:13"),
    ("good/42.md", "loaded"),
    ("good/Under_Score.md", "loaded"),
    ("good/alias-model.md", "loaded"),
    ("good/aliases.md", "loaded"),
    ("good/all-keys.md", "loaded"),
    ("good/anchors.md", "loaded"),
    ("good/bare-model.md", "loaded"),
    ("good/blanks-after-markers.md", "loaded"),
    ("good/bom.md", "loaded"),
    ("good/chinese.md", "loaded"),
    ("good/comments.md", "loaded"),
    ("good/crlf.md", "loaded"),
    ("good/dashes-in-body.md", "loaded"),
    ("good/dashes-in-value.md", "loaded"),
    ("good/deep/deeper/nested.md", "loaded"),
    ("good/dual.md", "loaded"),
    ("good/empty-body.md", "loaded"),
    ("good/folded.md", "loaded"),
    ("good/go-template.md", "loaded"),
    ("good/inherit.md", "loaded"),
    ("good/needs-bin.md", "loaded"),
    ("good/needs-setting.md", "loaded"),
    ("good/no-last-newline.md", "loaded"),
    ("good/plain.md", "loaded"),
    ("good/quoted-colon.md", "loaded"),
    ("good/quoted-name.md", "loaded"),
    ("good/slashes-in-model.md", "loaded"),
    ("good/stars.md", "loaded"),
    ("good/tools-absent.md", "loaded"),
    ("good/tools-as-text.md", "loaded"),
    ("good/unknown-keys.md", "loaded"),
    ("good/worked-case.md", "loaded"),
    ("good/zero-turns.md", "loaded"),
    ("odd/broken-template.md", "warned: template_broken 5:17"),
    ("odd/called-otherwise.md", "warned: name_differs 2:7"),
    ("odd/empty-tools.md", "warned: tools_empty 5:7"),
    ("odd/first/twice.md", "loaded"),
    ("odd/forbids-nothing.md", "warned: unknown_tool 5:20"),
    ("odd/long-reminder.md", "warned: reminder_long 5:20"),
    ("odd/missing-bin.md", "barred: it needs no-such-program, not found in PATH"),
    ("odd/missing-setting.md", "barred: it needs the settings sources.loki.url, not set"),
    ("odd/misspelt.md", "warned: key_misspelt 5:1"),
    ("odd/newer-format.md", "warned: format_newer 5:11"),
    ("odd/no-tools.md", "warned: tools_empty 5:8"),
    ("odd/odd-format.md", "warned: format_newer 5:11"),
    ("odd/other-os.md", "barred: it is for windows, here is linux"),
    ("odd/other-provider.md", "warned: provider_not_configured 5:8"),
    ("odd/other-scope.md", "barred: its scope is `edge`, here is `manager`"),
    ("odd/second/TWICE.md", "covered: duplicate_name 2:7"),
    ("odd/unknown-tool.md", "warned: unknown_tool 5:23"),
    ("odd/vague-colon.md", "warned: when_to_use_vague 4:14"),
    ("odd/vague-long.md", "warned: when_to_use_vague 4:14"),
    ("odd/vague-short.md", "warned: when_to_use_vague 4:14"),
    ("samples/change_reviewer.md", "loaded"),
    ("samples/disk_specialist.md", "warned: provider_not_configured 7:8"),
    ("samples/incident_investigator.md", "loaded"),
    ("samples/specialist-clickhouse.md", "warned: when_to_use_vague 4:14 unknown_tool 12:5"),
];
