//! From a file's name and an environment to a [`Config`], or to everything that is wrong with it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{
    Agents, ChannelConfig, Config, Hooks, Limits, Models, Server, Sources, Store, Workspace, doubles,
    env::{self, Env},
    error::{ConfigError, ConfigErrors},
    expand,
    read::{Reading, Section},
    tree::{self, Node, Origin, Table, Value},
};

/// What exists without being written, apart from single keys: those have their defaults where they are read.
const GIVEN: &str = r#"
[[server.tokens]]
name = "ops"
token = "${WATCHFLOOR_TOKEN:-}"
role = "admin"
[models.aliases]
fast = "openai/gpt-5.4-mini"
[models.providers.anthropic]
api_key = "${ANTHROPIC_API_KEY:-}"
[models.providers.openai]
api_key = "${OPENAI_API_KEY:-}"
"#;

/// `file` is what `--config` says; without it `WATCHFLOOR_CONFIG` counts, and without that there is no file.
pub fn load(file: Option<&Path>, env: &Env) -> Result<Config, ConfigErrors> {
    let named = env.get("WATCHFLOOR_CONFIG").filter(|name| !name.is_empty()).map(PathBuf::from);
    let Some(file) = file.map(Path::to_owned).or(named) else { return load_text("", None, env) };
    let text = std::fs::read_to_string(&file).map_err(|error| {
        ConfigErrors(vec![ConfigError {
            place: file.display().to_string(),
            line: None,
            path: String::new(),
            problem: format!("can't be read: {error}"),
            hint: None,
        }])
    })?;
    load_text(&text, Some(&file), env)
}

/// The same for a text that was read already. `file` says where it lies: for messages and relative paths.
pub fn load_text(text: &str, file: Option<&Path>, env: &Env) -> Result<Config, ConfigErrors> {
    let place = file.map_or_else(|| "environment".to_owned(), |file| file.display().to_string());
    let mut table = tree::parse(&place, text).map_err(ConfigErrors)?;
    give(&mut table, from_given());

    let base = file.and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
    let reading = Reading { place, base, errors: Vec::new().into() };
    let overrides = env::apply(&mut table, env);
    for (key, node) in &mut table {
        fill_in(node, key, env, &reading);
    }
    let set = tree::set_paths(&table);
    let mut config = read(Section::root(&reading, table), &reading);
    config.set = set;
    config.file = file.map(Path::to_owned);
    config.log = env.get("WATCHFLOOR_LOG").filter(|filter| !filter.is_empty()).cloned();
    if let Some(dirs) = env.get("WATCHFLOOR_AGENTS_EXTERNAL_DIRS").filter(|dirs| !dirs.is_empty()) {
        let dirs = dirs.split(':').filter(|dir| !dir.is_empty());
        config.agents.external_dirs = dirs.map(|dir| reading.resolve(dir)).collect();
    }

    let mut errors = reading.errors.into_inner();
    errors.extend(overrides);
    errors.sort_by_key(|error| error.line.unwrap_or(usize::MAX));
    if errors.is_empty() { Ok(config) } else { Err(ConfigErrors(errors)) }
}

fn read(mut root: Section<'_>, reading: &Reading) -> Config {
    let config = Config {
        file: None,
        log: None,
        server: root.section("server", Server::read),
        store: root.section("store", Store::read),
        limits: root.section("limits", Limits::read),
        agents: root.section("agents", Agents::read),
        workspace: root.section("workspace", Workspace::read),
        models: root.section("models", Models::read),
        sources: root.section("sources", Sources::read),
        hooks: root.section("hooks", Hooks::read),
        channels: root.sections("channels", ChannelConfig::read).unwrap_or_default(),
        set: BTreeSet::new(),
    };
    root.close();
    for (index, channel) in config.channels.iter().enumerate() {
        if config.channels[..index].iter().any(|earlier| earlier.name == channel.name) {
            let problem = format!("a channel before it is named \"{}\" too, expected a name for each", channel.name);
            reading.report(&Origin::Default, &format!("channels[{index}].name"), problem, None);
        }
    }
    for (path, problem, hint) in doubles::find(&config.channels) {
        reading.report(&Origin::Default, &path, problem, hint);
    }
    config
}

#[expect(clippy::expect_used, reason = "a constant, and every test of this module parses it")]
fn from_given() -> Table {
    tree::parse("", GIVEN).expect("the given tables are TOML")
}

/// Puts what isn't written under what is. A written key wins, also an empty one; a secret in a file of its own is written.
fn give(table: &mut Table, given: Table) {
    for (key, mut node) in given {
        if table.contains_key(&format!("{key}_file")) {
            continue;
        }
        match table.get_mut(&key) {
            None => {
                forget_lines(&mut node);
                table.insert(key, node);
            }
            Some(written) => {
                if let (Value::Table(written), Value::Table(given)) = (&mut written.value, node.value) {
                    give(written, given);
                }
            }
        }
    }
}

/// A line of [`GIVEN`] would mean nothing to an operator.
fn forget_lines(node: &mut Node) {
    node.origin = Origin::Default;
    match &mut node.value {
        Value::Table(table) => table.values_mut().for_each(forget_lines),
        Value::List(items) => items.iter_mut().for_each(forget_lines),
        _ => {}
    }
}

/// Fills in `${VAR}` in every text of the file. What comes from a variable is taken as it is.
fn fill_in(node: &mut Node, path: &str, env: &Env, reading: &Reading) {
    match &mut node.value {
        Value::Text { text, soft } if !matches!(node.origin, Origin::Variable(_)) => match expand::expand(text, env) {
            Ok(expanded) => {
                *text = expanded.text;
                *soft = expanded.changed;
            }
            Err(problem) => {
                reading.report(&node.origin, path, problem, None);
                node.value = Value::Spoilt;
            }
        },
        Value::Table(table) => {
            for (key, node) in table {
                fill_in(node, &format!("{path}.{key}"), env, reading);
            }
        }
        Value::List(items) => {
            for (index, node) in items.iter_mut().enumerate() {
                fill_in(node, &format!("{path}[{index}]"), env, reading);
            }
        }
        _ => {}
    }
}
