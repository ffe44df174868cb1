//! From the bytes of a file to a [`Persona`], or to everything that is wrong with it at once.
//! A file with an error is never loaded in part: half a persona could be one without its restrictions.

use std::{num::NonZeroU32, path::Path};

use serde_yaml::{Mapping, Value};

use super::{
    PermissionMode, Persona, Source, Tools, catalog, front,
    gate::Needs,
    name,
    place::{At, place_of},
    problem::{Code, ParseProblem},
    yaml,
};

const REMINDER_CHARS: usize = 600;
const MOST_TURNS: u32 = 1000;

pub(super) const KEYS: [&str; 13] = [
    "name",
    "description",
    "when_to_use",
    "tools",
    "disallowed_tools",
    "permission_mode",
    "max_turns",
    "model",
    "critical_reminder",
    "initial_prompt",
    "background",
    "omit_claude_md",
    "metadata",
];

#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub persona: Persona,
    pub warnings: Vec<ParseProblem>,
}

/// Reads one file. With an error, all its problems come back and no persona.
pub fn parse(source: Source, bytes: &[u8]) -> Result<Loaded, Vec<ParseProblem>> {
    let path = source.to_string();
    let parts = front::split(bytes);
    let read = parts.and_then(|parts| Ok((yaml::read(parts.yaml)?, parts)));
    let (mapping, parts) =
        read.map_err(|fault| vec![ParseProblem::new(&path, fault.place, fault.code, fault.message, fault.hint)])?;
    let mut fields = Fields { path: &path, yaml: parts.yaml, left: mapping, problems: Vec::new() };

    let name = fields.name();
    fields.compare_with_file(&source, &name);
    let description = fields.description();
    let when_to_use = fields.when_to_use();
    let tools = fields.tools();
    let disallowed_tools = fields.list("disallowed_tools").unwrap_or_default();
    let permission_mode = fields.permission_mode();
    let max_turns = fields.max_turns();
    let model = fields.text("model").filter(|model| model != "inherit");
    let critical_reminder = fields.critical_reminder();
    let initial_prompt = fields.text("initial_prompt");
    let background = fields.switch("background");
    let omit_claude_md = fields.switch("omit_claude_md");
    let (metadata, needs) = fields.metadata();
    fields.look_over_the_rest();

    let Fields { left: unknown_fields, problems, .. } = fields;
    if problems.iter().any(ParseProblem::is_error) {
        return Err(problems);
    }
    let persona = Persona {
        name,
        description,
        when_to_use,
        tools,
        disallowed_tools,
        permission_mode,
        max_turns,
        model,
        critical_reminder,
        initial_prompt,
        background,
        omit_claude_md,
        metadata,
        needs,
        unknown_fields,
        body: parts.body.to_owned(),
        source,
        front_matter: parts.yaml.to_owned(),
    };
    Ok(Loaded { persona, warnings: problems })
}

/// What is left of the front matter, and what was wrong so far. A reader that complains returns a stand-in.
struct Fields<'a> {
    path: &'a str,
    yaml: &'a str,
    left: Mapping,
    problems: Vec<ParseProblem>,
}

impl Fields<'_> {
    fn complain(&mut self, key: &str, code: Code, message: impl Into<String>, hint: &str) {
        self.complain_at(key, At::Value, code, message, hint);
    }

    fn complain_at(&mut self, key: &str, at: At, code: Code, message: impl Into<String>, hint: &str) {
        let place = place_of(self.yaml, key, at);
        self.problems.push(ParseProblem::new(self.path, place, code, message, hint).about(key));
    }

    /// A key without a value counts as absent.
    fn take(&mut self, key: &str) -> Option<Value> {
        self.left.shift_remove(key).filter(|value| !value.is_null())
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.take(key)? {
            Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            other => {
                let message = format!("`{key}` is {}, not text", kind(&other));
                self.complain(key, Code::WrongType, message, "write text, in quotes if it looks like something else");
                None
            }
        }
    }

    fn switch(&mut self, key: &str) -> bool {
        match self.take(key) {
            None => false,
            Some(Value::Bool(on)) => on,
            Some(other) => {
                let message = format!("`{key}` is {}, not true or false", kind(&other));
                self.complain(key, Code::WrongType, message, "write true or false, without quotes");
                false
            }
        }
    }

    /// A list of names, or names with commas between them. `None`: the key isn't there at all.
    fn list(&mut self, key: &str) -> Option<Vec<String>> {
        const HINT: &str = "write a list of names, or names with commas between them";
        let items: Vec<Value> = match self.left.shift_remove(key)? {
            Value::Null => Vec::new(),
            Value::String(text) => text.split(',').map(Value::from).collect(),
            Value::Sequence(items) => items,
            other => {
                let message = format!("`{key}` is {}, not a list", kind(&other));
                self.complain(key, Code::WrongType, message, HINT);
                return Some(Vec::new());
            }
        };
        let mut names: Vec<String> = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            let Value::String(name) = &item else {
                let message = format!("`{key}` holds {}, not a name", kind(&item));
                self.complain_at(key, At::Item(index), Code::WrongType, message, HINT);
                continue;
            };
            let name = name.trim();
            if !name.is_empty() && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        Some(names)
    }

    fn name(&mut self) -> String {
        let name = match self.take("name") {
            None => String::new(),
            Some(Value::String(name)) => name.trim().to_owned(),
            Some(other) => {
                let message = format!("`name` is {}, not text", kind(&other));
                self.complain("name", Code::NameNotText, message, "put it in quotes");
                return String::new();
            }
        };
        if name.is_empty() {
            self.complain("name", Code::NameMissing, "`name` is missing", "add a line `name: …`");
        } else if !name::is_valid(&name) {
            let message = format!("`{}` isn't a name", name.chars().take(80).collect::<String>());
            let hint = format!("use letters, digits, `-` and `_`, at most {} of them", name::MAX_CHARS);
            self.complain("name", Code::NameInvalid, message, &hint);
        } else if name::RESERVED.contains(&name::fold(&name).as_str()) {
            let message = format!("the name `{name}` is taken by the API");
            self.complain("name", Code::NameReserved, message, "choose another name");
        }
        name
    }

    /// Whoever looks for a persona looks for its file.
    fn compare_with_file(&mut self, source: &Source, name: &str) {
        let Source::Disk(path) = source else { return };
        let Some(stem) = Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned()) else { return };
        let free = name::is_valid(name) && !name::RESERVED.contains(&name::fold(name).as_str());
        if free && name::fold(&stem) != name::fold(name) {
            let message = format!("the file is called `{stem}`, its persona `{name}`; the persona's name counts");
            self.complain("name", Code::NameDiffers, message, "give both the same name");
        }
    }

    fn description(&mut self) -> String {
        let before = self.problems.len();
        let description = self.text("description");
        if description.is_none() && self.problems.len() == before {
            let hint = "add a line that says what this persona does";
            self.complain("description", Code::DescriptionMissing, "`description` is missing", hint);
        }
        description.unwrap_or_default()
    }

    fn when_to_use(&mut self) -> Option<String> {
        let before = self.problems.len();
        let Some(when) = self.text("when_to_use") else {
            if self.problems.len() == before {
                let hint = "add a line that says what kind of question belongs here";
                self.complain("when_to_use", Code::WhenToUseMissing, "`when_to_use` is missing", hint);
            }
            return None;
        };
        if let Some(why) = catalog::vague(&when) {
            let message = format!("the first line of `when_to_use` {why}");
            let hint =
                "say in the first line what kind of question belongs here; the catalog joins the next lines instead";
            self.complain("when_to_use", Code::WhenToUseVague, message, hint);
        }
        Some(when)
    }

    fn tools(&mut self) -> Tools {
        let before = self.problems.len();
        let Some(names) = self.list("tools") else { return Tools::Inherit };
        if names.is_empty() && self.problems.len() == before {
            let hint = "name the tools it needs, or remove the key to let it have what the bag holds";
            self.complain("tools", Code::ToolsEmpty, "`tools` is empty: this persona has no tools", hint);
        }
        Tools::Only(names)
    }

    fn permission_mode(&mut self) -> PermissionMode {
        match self.text("permission_mode").as_deref() {
            None | Some("read-only") => PermissionMode::ReadOnly,
            Some("mutating-with-confirm") => PermissionMode::MutatingWithConfirm,
            Some("dual-sign-required") => PermissionMode::DualSignRequired,
            Some(other) => {
                let message = format!("`{}` isn't a permission mode", other.chars().take(80).collect::<String>());
                let hint = "use read-only, mutating-with-confirm or dual-sign-required";
                self.complain("permission_mode", Code::PermissionModeUnknown, message, hint);
                PermissionMode::ReadOnly
            }
        }
    }

    /// 0 means the default, as if the key weren't there.
    fn max_turns(&mut self) -> Option<NonZeroU32> {
        let value = self.take("max_turns")?;
        let Value::Number(number) = &value else {
            let message = format!("`max_turns` is {}, not a number", kind(&value));
            self.complain("max_turns", Code::WrongType, message, "write a whole number, without quotes");
            return None;
        };
        match number.as_u64().and_then(|turns| u32::try_from(turns).ok()).filter(|turns| *turns <= MOST_TURNS) {
            Some(turns) => NonZeroU32::new(turns),
            None => {
                let message = format!("`max_turns` is {number}");
                let hint = format!("write a whole number from 0 (the default) to {MOST_TURNS}");
                self.complain("max_turns", Code::OutOfRange, message, &hint);
                None
            }
        }
    }

    fn critical_reminder(&mut self) -> Option<String> {
        let reminder = self.text("critical_reminder")?;
        let chars = reminder.chars().count();
        if chars > REMINDER_CHARS {
            let message = format!("`critical_reminder` has {chars} characters");
            let hint = format!(
                "keep it under {REMINDER_CHARS}: it is repeated in every request; the rest belongs in the body"
            );
            self.complain("critical_reminder", Code::ReminderLong, message, &hint);
        }
        Some(reminder)
    }

    /// What gates the persona must be readable; a gate that is misread would stand open.
    fn metadata(&mut self) -> (Value, Needs) {
        let metadata = self.left.shift_remove("metadata").unwrap_or_default();
        match Needs::read(&metadata) {
            Ok(needs) => (metadata, needs),
            Err(wrong) => {
                let message = format!("`{}` is {}, not {}", wrong.field, kind(&wrong.found), wrong.expected);
                let place = place_of(self.yaml, "metadata", At::Value);
                let problem = ParseProblem::new(self.path, place, Code::WrongType, message, "see the documented keys");
                self.problems.push(problem.about(&wrong.field));
                (metadata, Needs::default())
            }
        }
    }

    /// Unknown keys are kept, but one that was meant to restrict must not pass unseen.
    fn look_over_the_rest(&mut self) {
        let left: Vec<String> = self.left.keys().filter_map(|key| key.as_str().map(str::to_owned)).collect();
        for key in left {
            if key == "<<" {
                let message = "`<<` isn't supported: what it merges would be lost";
                self.complain_at(&key, At::Key, Code::MergeKey, message, "write the keys out");
            } else if let Some(meant) = meant_key(&key) {
                let message = format!("unknown key `{key}`");
                self.complain_at(&key, At::Key, Code::KeyMisspelt, message, &format!("did you mean `{meant}`?"));
            }
        }
    }
}

/// A known key that differs in one letter, in case, or in how its words are joined.
fn meant_key(key: &str) -> Option<&'static str> {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(40).collect()
    };
    let written = plain(key);
    KEYS.into_iter().find(|known| written == plain(known) || strsim::damerau_levenshtein(&written, &plain(known)) == 1)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Sequence(_) => "a list",
        Value::Mapping(_) => "a mapping",
        Value::Tagged(_) => "a tagged value",
    }
}
