//! The object-safe face of a tool, so that tools with different arguments live in one list. The JSON schema a model sees
//! and the sentence it gets for arguments that don't fit it are made here.

use std::{
    any::TypeId,
    collections::HashMap,
    fmt,
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::{Class, Tool, ToolContext, ToolError, ToolOutput};
use crate::model::ToolSpec;

pub type SharedTool = Arc<dyn DynTool>;

/// Implemented for every [`Tool`]; nobody else needs to implement it.
pub trait DynTool: Send + Sync + 'static {
    fn name(&self) -> &'static str;
    fn lowest(&self) -> Class;
    fn numbered(&self) -> bool;
    fn spec(&self) -> ToolSpec;
    /// Reads the arguments as the model wrote them. Nothing has happened yet when this returns.
    fn prepare(self: Arc<Self>, arguments: &str) -> Result<Prepared, ToolError>;
}

impl fmt::Debug for dyn DynTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

type Run = Box<dyn FnOnce(ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send>;

/// A call whose arguments are understood, ready to be judged and then run.
pub struct Prepared {
    pub class: Class,
    pub headline: String,
    pub timeout: Duration,
    pub run: Run,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("class", &self.class)
            .field("headline", &self.headline)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl<T: Tool> DynTool for T {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn lowest(&self) -> Class {
        T::LOWEST
    }

    fn numbered(&self) -> bool {
        T::NUMBERED
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec { name: T::NAME.to_owned(), description: self.description(), parameters: schema::<T>() }
    }

    fn prepare(self: Arc<Self>, arguments: &str) -> Result<Prepared, ToolError> {
        // Some providers send nothing at all for "no arguments".
        let text = if arguments.trim().is_empty() { "{}" } else { arguments };
        let args: T::Args = serde_json::from_str(text).map_err(|error| {
            ToolError::TellModel(format!(
                "the arguments of {} were not understood: {error}. Expected a JSON object: {}",
                T::NAME,
                shape(&schema::<T>()),
            ))
        })?;
        Ok(Prepared {
            class: self.class(&args),
            headline: self.headline(&args),
            timeout: self.timeout(),
            run: Box::new(move |context| Box::pin(async move { self.call(args, &context).await })),
        })
    }
}

/// Made once for each kind of tool: every turn asks for it.
fn schema<T: Tool>() -> Value {
    static MADE: LazyLock<Mutex<HashMap<TypeId, Value>>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(TypeId::of::<T>()).or_insert_with(make_schema::<T>).clone()
}

fn make_schema<T: Tool>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T::Args>().to_value();
    tidy(&mut schema);
    if let Some(object) = schema.as_object_mut() {
        object.remove("description");
        // A tool without arguments: some providers refuse an object schema without `properties`.
        object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

/// Removes what costs tokens and tells a model nothing. "May be null" goes too: a field that isn't required may be left out,
/// and not every provider accepts a list of types.
fn tidy(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    for noise in ["$schema", "title", "format"] {
        object.remove(noise);
    }
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|t| t != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|v| !v.is_null());
    }
    if let Some(Value::Array(options)) = object.get_mut("anyOf") {
        options.retain(|o| o.get("type").is_none_or(|t| t != "null"));
        if let [only] = options.as_slice()
            && let Some(only) = only.as_object().cloned()
        {
            object.remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
    for (key, value) in object.iter_mut() {
        match (key.as_str(), value) {
            // The keys below are names of arguments, not words of the schema.
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(tidy),
            ("anyOf" | "oneOf" | "allOf", Value::Array(options)) => options.iter_mut().for_each(tidy),
            ("items" | "additionalProperties", value) => tidy(value),
            _ => {}
        }
    }
}

/// The schema in one short line: `{"query": string, required; "step": string}`.
fn shape(schema: &Value) -> String {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = schema["properties"].as_object().into_iter().flatten().map(|(name, field)| {
        let kind = match (&field["enum"], &field["type"]) {
            (Value::Array(values), _) => values.iter().map(Value::to_string).collect::<Vec<_>>().join("|"),
            (_, Value::String(kind)) => kind.clone(),
            _ => "value".to_owned(),
        };
        let must = if required.contains(&name.as_str()) { ", required" } else { "" };
        format!("\"{name}\": {kind}{must}")
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::tools::Found;

    #[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Unit {
        Seconds,
        Minutes,
    }

    /// Not for the model.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Args {
        /// What to weigh.
        title: String,
        /// How often.
        times: Option<u32>,
        unit: Option<Unit>,
        #[serde(default)]
        marks: Vec<String>,
    }

    struct Scale;

    impl Tool for Scale {
        const NAME: &'static str = "scale";
        const LOWEST: Class = Class::Read;
        type Args = Args;

        fn description(&self) -> String {
            "Weighs.".to_owned()
        }

        fn class(&self, args: &Args) -> Class {
            if args.times.is_some() { Class::Write } else { Class::Read }
        }

        fn headline(&self, args: &Args) -> String {
            format!("scale: {} {:?} {}", args.title, args.unit, args.marks.len())
        }

        async fn call(&self, args: Args, context: &ToolContext) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput { text: format!("{} in {}", args.title, context.call_id), found: Found::Something })
        }
    }

    fn scale() -> SharedTool {
        Arc::new(Scale)
    }

    #[test]
    fn the_schema_is_inlined_and_without_noise() {
        assert_eq!(
            scale().spec(),
            ToolSpec {
                name: "scale".to_owned(),
                description: "Weighs.".to_owned(),
                parameters: json!({
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["title"],
                    "properties": {
                        "title": {"type": "string", "description": "What to weigh."},
                        "times": {"type": "integer", "minimum": 0, "description": "How often."},
                        "unit": {"type": "string", "enum": ["seconds", "minutes"]},
                        "marks": {"type": "array", "items": {"type": "string"}, "default": []},
                    },
                }),
            }
        );
    }

    #[tokio::test]
    async fn understood_arguments_give_a_call_that_runs() {
        let prepared = scale().prepare(r#"{"title": "iron", "times": 2}"#).unwrap();
        assert_eq!((prepared.class, prepared.headline.as_str()), (Class::Write, "scale: iron None 0"));
        let context = ToolContext {
            session_id: "s".into(),
            evidence_of: "s".into(),
            turn_id: "t".into(),
            call_id: "c1".into(),
            now_ms: 0,
            cancel: CancellationToken::new(),
        };
        let output = (prepared.run)(context).await;
        assert_eq!(output, Ok(ToolOutput { text: "iron in c1".into(), found: Found::Something }));
    }

    #[test]
    fn arguments_that_dont_fit_are_explained_with_the_expected_shape() {
        let cases = [
            ("", "missing field `title`"),
            (r#"{"title": "a", "weight": 1}"#, "unknown field `weight`"),
            (r#"{"title": "#, "EOF while parsing"),
            (r#"{"title": "a", "unit": "hours"}"#, "unknown variant `hours`"),
            ("[]", "missing field `title`"),
            ("null", "invalid type: null"),
        ];
        for (arguments, part) in cases {
            let Err(ToolError::TellModel(text)) = scale().prepare(arguments) else {
                panic!("{arguments} was accepted")
            };
            if arguments != "[]" {
                assert!(text.contains(part), "{arguments}: {text}");
            }
            assert!(text.starts_with("the arguments of scale were not understood: "), "{text}");
            assert!(text.contains(r#""title": string, required"#), "{text}");
            assert!(text.contains(r#""unit": "seconds"|"minutes""#), "{text}");
        }
    }
}
