//! Folders on disk over the shipped personas.

use std::{fs, os::unix::fs::symlink, path::Path};

use super::super::{Code, Registry, check};

fn persona(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\nwhen_to_use: When a test asks.\n---\nbody\n")
}

fn write(dir: &Path, file: &str, text: &str) -> String {
    let path = dir.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn problems(registry: &Registry) -> Vec<(Code, &str)> {
    registry.problems().iter().map(|problem| (problem.code, problem.path.as_str())).collect()
}

#[test]
fn without_a_folder_the_shipped_personas_are_there() {
    for registry in
        [Registry::builtin(), Registry::load(None, &[]), Registry::load(Some(Path::new("/no/such/dir")), &[])]
    {
        assert_eq!(problems(&registry), []);
        assert_eq!(registry.coordinator().name, "default");
        assert_eq!(registry.spawnable("DEFAULT"), None);
        assert_eq!(
            registry.names(),
            [
                "incident-investigator",
                "reviewer",
                "specialist-compute",
                "specialist-disk",
                "specialist-network",
                "specialist-ops"
            ]
        );
        assert_eq!(registry.near("specialist_disks"), Some("specialist-disk"));
    }
}

#[test]
fn a_file_replaces_the_shipped_persona_of_its_name() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "specialist_disk.md", &persona("Specialist_Disk", "Ours."));
    write(dir.path(), "sub/default.md", &persona("default", "Our own."));
    let registry = Registry::load(Some(dir.path()), &[]);
    assert_eq!(problems(&registry), []);
    let disk = registry.spawnable("specialist-disk").unwrap();
    assert_eq!((disk.description.as_str(), disk.source.kind()), ("Ours.", "disk"));
    assert_eq!(registry.coordinator().description, "Our own.");
    assert_eq!(registry.names().len(), 6);
}

#[test]
fn a_broken_file_is_reported_and_leaves_the_shipped_persona_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "default.md", "---\nname: default\ndescription: one: two\n---\n");
    let registry = Registry::load(Some(dir.path()), &[]);
    assert_eq!(problems(&registry), [(Code::UnquotedColon, path.as_str())]);
    assert_eq!((registry.files_found(), registry.files_loaded()), (1, 0));
    assert_eq!(registry.coordinator().source.kind(), "builtin");
}

#[test]
fn of_two_files_with_one_name_the_first_stays() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(first.path(), "one.md", &persona("one", "first"));
    let inner = write(first.path(), "sub/ONE.md", &persona("ONE", "second"));
    let outer = write(second.path(), "One.md", &persona("One", "third"));
    let registry = Registry::load(Some(first.path()), &[second.path().to_owned()]);
    assert_eq!(problems(&registry), [(Code::DuplicateName, inner.as_str()), (Code::DuplicateName, outer.as_str())]);
    assert_eq!(registry.spawnable("one").unwrap().description, "first");
}

#[test]
fn links_may_stay_within_the_folder_and_not_leave_it() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(outside.path(), "outside.md", &persona("outside", "x"));
    write(dir.path(), "..data/inside.md", &persona("inside", "x"));
    symlink(dir.path().join("..data/inside.md"), dir.path().join("inside.md")).unwrap();
    symlink(outside.path().join("outside.md"), dir.path().join("b.md")).unwrap();
    symlink(outside.path(), dir.path().join("c")).unwrap();
    symlink("/no/such/file", dir.path().join("d.md")).unwrap();
    symlink(dir.path(), dir.path().join("circle")).unwrap();
    let registry = Registry::load(Some(dir.path()), &[]);
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (b, c, d) = (path("b.md"), path("c"), path("d.md"));
    let mut found = problems(&registry);
    found.sort_unstable();
    assert_eq!(
        found,
        [(Code::Unreadable, d.as_str()), (Code::LinkOutside, b.as_str()), (Code::LinkOutside, c.as_str())]
    );
    assert!(registry.spawnable("inside").is_some());
    assert!(registry.spawnable("outside").is_none());
}

#[test]
fn hidden_files_readmes_and_other_files_are_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    for file in ["README.md", "notes.txt", ".git/x.md", ".hidden.md"] {
        write(dir.path(), file, "no front matter");
    }
    let registry = Registry::load(Some(dir.path()), &[]);
    assert_eq!((problems(&registry), registry.files_found()), (vec![], 0));
}

#[test]
fn a_missing_external_folder_and_a_folder_named_like_a_file_are_handled() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "folder.md/x.md", &persona("x", "x"));
    let missing = dir.path().join("missing");
    let registry = Registry::load(Some(dir.path()), std::slice::from_ref(&missing));
    assert_eq!(problems(&registry), [(Code::DirMissing, missing.display().to_string().as_str())]);
    assert!(registry.spawnable("x").is_some());
}

#[test]
fn a_snapshot_stays_what_it_was() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "x.md", &persona("x", "old"));
    let before = Registry::load(Some(dir.path()), &[]);
    let held = before.clone();
    write(dir.path(), "x.md", &persona("x", "new"));
    let after = Registry::load(Some(dir.path()), &[]);
    let description = |registry: &Registry| registry.get("x").unwrap().description.clone();
    assert_eq!((description(&held), description(&after)), ("old".to_owned(), "new".to_owned()));
}

#[test]
fn the_check_names_tools_that_dont_exist_and_templates_that_cant_be_rendered() {
    let dir = tempfile::tempdir().unwrap();
    let keys = "tools: query_promq, query_*, nope_*\ndisallowed_tools: [query_promqll, run_rocket]\ninitial_prompt: '{{ if .x }}'";
    write(dir.path(), "x.md", &format!("---\nname: x\ndescription: x\n{keys}\nwhen_to_use: When a test asks.\n---\n"));
    let registry = Registry::load(Some(dir.path()), &[]);
    let found: Vec<_> = check(&registry, &["query_promql"])
        .into_iter()
        .filter(|problem| !problem.path.starts_with("builtin:"))
        .map(|problem| (problem.code, problem.line, problem.column, problem.hint))
        .collect();
    let meant = "did you mean `query_promql`?".to_owned();
    assert_eq!(
        found,
        [
            (Code::UnknownTool, 4, 8, meant.clone()),
            (Code::UnknownTool, 4, 8, String::new()),
            (Code::UnknownTool, 5, 20, meant),
            (Code::TemplateBroken, 6, 17, String::new()),
        ]
    );
}
