//! Written personas over files over shipped ones, and readers that never wait for a reload.

use std::{fs, path::Path, sync::Arc};

use async_trait::async_trait;
use serde_json::{Value as Json, json};
use tokio::sync::Mutex;

use super::super::{Code, Entry, Keeper, KeeperError, Reloaded, Roots, Shelf, ShelfError, Surroundings, Written};

#[derive(Debug, Default)]
struct Chest {
    written: Mutex<Vec<Written>>,
    closed: Mutex<bool>,
}

#[async_trait]
impl Shelf for Chest {
    async fn all(&self) -> Result<Vec<Written>, ShelfError> {
        if *self.closed.lock().await {
            return Err(ShelfError("closed".to_owned()));
        }
        Ok(self.written.lock().await.clone())
    }

    async fn put(&self, written: &Written) -> Result<(), ShelfError> {
        let mut all = self.written.lock().await;
        all.retain(|known| known.name != written.name);
        all.push(written.clone());
        Ok(())
    }

    async fn delete(&self, name: &str) -> Result<bool, ShelfError> {
        let mut all = self.written.lock().await;
        let before = all.len();
        all.retain(|known| known.name != name);
        Ok(all.len() < before)
    }
}

struct House {
    dir: tempfile::TempDir,
    shelf: Arc<Chest>,
    keeper: Keeper,
}

impl House {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Arc::new(Chest::default());
        let roots = Roots { dir: Some(dir.path().to_owned()), external: Vec::new() };
        let here = Surroundings { os: "linux".to_owned(), ..Surroundings::default() };
        let keeper = Keeper::open(roots, here, shelf.clone()).await.unwrap();
        Self { dir, shelf, keeper }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn description(&self, name: &str) -> String {
        self.keeper.personas().now().get(name).unwrap().description.clone()
    }
}

fn file(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\nwhen_to_use: When a test asks.\n---\nbody\n")
}

fn json(name: &str, description: &str) -> Json {
    json!({"name": name, "description": description, "when_to_use": "When a test asks.", "tools": [], "body": "body\n"})
}

fn layers(entry: &Entry) -> (&str, &str, Vec<&str>) {
    (&entry.description, entry.source, entry.shadows.clone())
}

#[tokio::test]
async fn the_uppermost_layer_counts_and_deleting_it_uncovers_the_next() {
    let house = House::new().await;
    fs::write(house.path().join("specialist-disk.md"), file("specialist-disk", "On disk.")).unwrap();
    house.keeper.reload().await.unwrap();
    let entry = house.keeper.put(&json("Specialist_Disk", "Written.")).await.unwrap();
    assert_eq!(layers(&entry), ("Written.", "user", vec!["disk", "builtin"]));
    assert_eq!(entry.warnings.iter().map(|problem| problem.code).collect::<Vec<_>>(), [Code::ToolsEmpty]);
    house.keeper.delete("specialist_DISK").await.unwrap();
    let below = house.keeper.personas().now().entry("specialist-disk").unwrap();
    assert_eq!(layers(&below), ("On disk.", "disk", vec!["builtin"]));
    fs::remove_file(house.path().join("specialist-disk.md")).unwrap();
    let done = house.keeper.reload().await.unwrap();
    assert_eq!(done.changed, ["specialist-disk"]);
    assert_eq!(house.keeper.personas().now().get("specialist-disk").unwrap().source.kind(), "builtin");
}

#[tokio::test]
async fn a_file_that_is_the_shipped_one_counts_as_shipped() {
    let house = House::new().await;
    let (name, text) = super::super::shipped::FILES[4];
    fs::write(house.path().join(name), text).unwrap();
    house.keeper.reload().await.unwrap();
    let registry = house.keeper.personas().now();
    let entry = registry.entry("specialist-disk").unwrap();
    assert_eq!((entry.source, entry.shadows.len()), ("builtin", 0));
    assert_eq!((registry.files_found(), registry.files_loaded()), (1, 1));
}

#[tokio::test]
async fn only_what_was_written_can_be_changed() {
    let house = House::new().await;
    let refused = |error: KeeperError| error.to_string();
    for name in ["specialist-disk", "default"] {
        let expected =
            format!("`{name}` comes from builtin and can't be changed here; POST an override of the same name");
        assert_eq!(refused(house.keeper.patch(name, &json!({"model": null})).await.unwrap_err()), expected);
        assert_eq!(refused(house.keeper.delete(name).await.unwrap_err()), expected);
    }
    assert!(matches!(house.keeper.delete("nobody").await, Err(KeeperError::Unknown { .. })));
    house.keeper.put(&json("mine", "One.")).await.unwrap();
    assert!(matches!(house.keeper.put(&json("MINE", "Two.")).await, Err(KeeperError::Exists(_))));
    let wrong = house.keeper.patch("mine", &json!({"max_turns": "many"})).await.unwrap_err();
    assert_eq!(refused(wrong), "the definition isn't a persona: max_turns: `max_turns` is text, not a number");
    assert_eq!(house.description("mine"), "One.");
    let entry = house.keeper.patch("Mine", &json!({"description": "Three.", "tools": null})).await.unwrap();
    assert_eq!((entry.description.as_str(), entry.tools, entry.body.as_str()), ("Three.", None, "body\n"));
}

#[tokio::test]
async fn an_answer_can_be_written_back() {
    let house = House::new().await;
    let mut written = json("mine", "One.");
    written["unknown_fields"] = json!({"source": "disk", "effort": [1, {"a": null}]});
    written["metadata"] = json!({"os": ["linux"], "n": -1.5});
    let first = house.keeper.put(&written).await.unwrap();
    assert_eq!(first.unknown_fields["source"], "disk");
    house.keeper.delete("mine").await.unwrap();
    let again = house.keeper.put(&serde_json::to_value(&first).unwrap()).await.unwrap();
    assert_eq!(first, again);
}

#[tokio::test]
async fn there_is_always_a_coordinator_and_health_says_when_it_is_another() {
    let house = House::new().await;
    let degraded = || house.keeper.personas().now().degraded().map(str::to_owned);
    assert_eq!(degraded(), None);
    let path = house.path().join("default.md");
    fs::write(&path, "---\nname: default\ndescription: one: two\n---\n").unwrap();
    house.keeper.reload().await.unwrap();
    assert_eq!(
        degraded().unwrap(),
        format!(
            "the coordinator's persona in {} isn't loaded, line 3 column 17: mapping values are not allowed in this context",
            path.display()
        )
    );
    assert_eq!(house.keeper.personas().now().coordinator().source.kind(), "builtin");
    fs::write(&path, file("default", "Ours.").replace("---\nbody", "metadata: {os: [windows]}\n---\nbody")).unwrap();
    house.keeper.reload().await.unwrap();
    assert!(degraded().unwrap().ends_with("can't be used here: it is for windows, here is linux"), "{:?}", degraded());
    assert_eq!(house.keeper.personas().now().coordinator().source.kind(), "builtin");
    fs::write(&path, file("default", "Ours.")).unwrap();
    house.keeper.reload().await.unwrap();
    assert_eq!((degraded(), house.keeper.personas().now().coordinator().description.as_str()), (None, "Ours."));
    // One that was written and can't be read any more, as after a change of the format.
    house.shelf.put(&Written { name: "default".into(), definition: "{}".into() }).await.unwrap();
    house.keeper.reload().await.unwrap();
    assert!(
        degraded().unwrap().starts_with("the coordinator's persona in user:default isn't loaded"),
        "{:?}",
        degraded()
    );
    assert_eq!(house.keeper.personas().now().coordinator().description, "Ours.");
    house.keeper.delete("default").await.unwrap();
    assert_eq!(degraded(), None);
}

#[tokio::test]
async fn what_doesnt_suit_this_place_is_shown_with_the_reason_and_not_sent() {
    let house = House::new().await;
    let mut written = json("mine", "One.");
    written["metadata"] = json!({"ongrid": {"scope": "edge"}});
    let entry = house.keeper.put(&written).await.unwrap();
    assert_eq!((entry.spawnable, entry.reason.as_deref()), (false, Some("its scope is `edge`, here is `manager`")));
    let registry = house.keeper.personas().now();
    assert!(registry.spawnable("mine").is_none() && !registry.names().contains(&"mine"));
    assert!(registry.get("mine").is_some());
}

#[tokio::test]
async fn a_reload_says_what_is_new_and_stays_with_the_old_where_it_cant_read() {
    let house = House::new().await;
    fs::write(house.path().join("a.md"), file("a", "One.")).unwrap();
    fs::write(house.path().join("b.md"), file("b", "One.")).unwrap();
    house.keeper.reload().await.unwrap();
    fs::write(house.path().join("a.md"), file("a", "Two.")).unwrap();
    fs::remove_file(house.path().join("b.md")).unwrap();
    fs::write(house.path().join("c.md"), file("c", "One.")).unwrap();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let done = house.keeper.reload().await.unwrap();
    assert_eq!(
        done,
        Reloaded {
            personas: 9,
            added: names(&["c"]),
            changed: names(&["a"]),
            removed: names(&["b"]),
            problems: done.problems
        }
    );
    *house.shelf.closed.lock().await = true;
    fs::remove_file(house.path().join("c.md")).unwrap();
    assert!(matches!(house.keeper.reload().await, Err(KeeperError::Shelf(_))));
    assert_eq!(house.description("c"), "One.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_thousand_reads_during_reloads_see_whole_personas() {
    let house = House::new().await;
    let write = |n: usize| {
        let text = file("a", &format!("Number {n}.")).replace("body", &format!("body {n}"));
        let fresh = house.path().join(".fresh");
        fs::write(&fresh, text).unwrap();
        fs::rename(fresh, house.path().join("a.md")).unwrap();
    };
    write(0);
    house.keeper.reload().await.unwrap();
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let personas = house.keeper.personas();
        readers.spawn(async move {
            for _ in 0..2_500 {
                let registry = personas.now();
                let persona = registry.spawnable("a").unwrap();
                let number = persona.description.trim_start_matches("Number ").trim_end_matches('.');
                assert_eq!(persona.body, format!("body {number}\n"));
                // A snapshot stays what it is.
                assert_eq!(registry.get("a").unwrap(), persona);
                tokio::task::yield_now().await;
            }
        });
    }
    for n in 1..50 {
        write(n);
        house.keeper.reload().await.unwrap();
    }
    while let Some(done) = readers.join_next().await {
        done.unwrap();
    }
    assert_eq!(house.description("a"), "Number 49.");
}
