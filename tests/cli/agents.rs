//! `watchfloor agents lint`, for people and for scripts.

use std::fs;

use serde_json::{Value, json};

use crate::process::Watchfloor;

const GOOD: &str = "---\nname: good\ndescription: Looks.\nwhen_to_use: When a test asks.\ntools: [query_promql]\n---\n";
const BROKEN: &str = "---\nname: broken\ndescription: one: two\nwhen_to_use: When a test asks.\n---\n";

fn with(files: &[(&str, &str)]) -> Watchfloor {
    let watchfloor = Watchfloor::new();
    let folder = watchfloor.home().join("agents");
    fs::create_dir(&folder).unwrap();
    for (file, text) in files {
        fs::write(folder.join(file), text).unwrap();
    }
    watchfloor
}

#[tokio::test]
async fn a_file_that_doesnt_load_is_said_with_its_place_and_fails_the_command() {
    let ended = with(&[("good.md", GOOD), ("broken.md", BROKEN)]).run(&["agents", "lint", "agents", "--json"]).await;
    assert_eq!((ended.code, ended.err.as_str()), (Some(1), ""));
    let found: Value = serde_json::from_str(&ended.out).unwrap();
    let expected = json!({
        "personas": [
            {"name": "broken", "path": "agents/broken.md", "source": "disk", "loaded": false, "tools": null},
            {"name": "good", "path": "agents/good.md", "source": "disk", "loaded": true, "tools": ["query_promql"]},
        ],
        "problems": [{
            "path": "agents/broken.md", "line": 3, "column": 17, "code": "unquoted_colon", "severity": "error",
            "message": "mapping values are not allowed in this context",
            "hint": "put quotes round a value that holds `: `",
        }],
    });
    assert_eq!(found, expected);
}

#[tokio::test]
async fn the_configured_folder_is_looked_through_and_a_warning_is_no_failure() {
    let odd = GOOD.replace("query_promql", "query_promq");
    let ended = with(&[("good.md", &odd)]).run(&["agents", "lint"]).await;
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert!(ended.out.contains("good.md:5:9: warning: no tool is called `query_promq`"), "{}", ended.out);
    assert!(ended.out.ends_with("1 files, 1 loaded; errors: 0, warnings: 1\n"), "{}", ended.out);
}

#[tokio::test]
async fn a_folder_that_isnt_there_fails_the_command() {
    let ended = Watchfloor::new().run(&["agents", "lint", "nowhere"]).await;
    assert_eq!((ended.code, ended.err.as_str()), (Some(1), "watchfloor: nowhere isn't a folder\n"));
}
