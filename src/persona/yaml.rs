//! The one place that reads YAML: front matter in, a mapping or a fault with its place in the file out.
//! It adds what the parser leaves open: duplicate keys at any depth, and a bound on what aliases expand to.

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde_yaml::{
    Error, Mapping, Value,
    value::{Tag, TaggedValue},
};

use super::{
    front::Fault,
    problem::{Code, Place},
};

/// What all values together may weigh: the length of their texts plus `NODE` for each.
const MAX_WEIGHT: usize = 1024 * 1024;
const NODE: usize = 8;

/// The parser's time for a token grows with the brackets that are open around it: 200,000 of them took minutes.
/// All opening brackets are counted, since which of them are open is the parser's own knowledge.
const MAX_BRACKETS: usize = 2000;

/// Reads front matter whose first line is line 2 of its file.
pub(super) fn read(yaml: &str) -> Result<Mapping, Fault> {
    let text = in_file(yaml);
    if let Some((at, c)) = text.char_indices().find(|(_, c)| c.is_control() && !"\t\n\r\u{85}".contains(*c)) {
        let message = format!("control character {}", c.escape_unicode());
        return Err(Fault::new(super::front::place_of(&text[..at]), Code::YamlSyntax, message, "remove it"));
    }
    if text.matches(['[', '{']).count() > MAX_BRACKETS {
        let message = format!("more than {MAX_BRACKETS} brackets in the front matter");
        let hint = "write lists and mappings one entry a line";
        return Err(Fault::new(Place { line: 2, column: 1 }, Code::TooMuchYaml, message, hint));
    }
    let state = State::default();
    match Node(&state).deserialize(serde_yaml::Deserializer::from_str(&text)) {
        Ok(Value::Mapping(mapping)) => Ok(mapping),
        Ok(Value::Null) => Ok(Mapping::new()),
        Ok(_) => Err(Fault::new(
            Place { line: 2, column: 1 },
            Code::NotAMapping,
            "the front matter isn't a list of `key: value` lines",
            "write one `key: value` a line",
        )),
        Err(error) => Err(fault(&text, &error, state.found.get())),
    }
}

/// An empty line stands for the opening marker, so that the parser counts as an editor does.
pub(super) fn in_file(yaml: &str) -> String {
    format!("\n{yaml}")
}

pub(super) fn place(error: &Error) -> Option<Place> {
    error.location().map(|at| Place { line: at.line(), column: at.column() })
}

fn fault(text: &str, error: &Error, found: Option<Code>) -> Fault {
    let at = place(error);
    let mut message = error.to_string();
    if let Some(at) = at {
        message = message.replacen(&format!(" at line {} column {}", at.line, at.column), "", 1);
    }
    let at = at.unwrap_or(Place { line: 2, column: 1 });
    let line = text.split('\n').nth(at.line - 1).unwrap_or_default();
    let code = found.unwrap_or_else(|| {
        if message.contains("mapping values are not allowed") {
            Code::UnquotedColon
        } else if line.chars().take(at.column).all(char::is_whitespace) && line.contains('\t') {
            Code::TabIndent
        } else if message.contains("limit exceeded") {
            Code::TooMuchYaml
        } else {
            Code::YamlSyntax
        }
    });
    let hint = match code {
        Code::UnquotedColon => "put quotes round a value that holds `: `",
        Code::TabIndent => "indent with spaces, YAML takes no tabs",
        Code::DuplicateKey => "keep one of the two",
        Code::TooMuchYaml => "write the values out, with fewer aliases and less nesting",
        _ => "check the line and the one before it; quotes round the value often help",
    };
    Fault::new(at, code, message, hint)
}

#[derive(Default)]
struct State {
    weight: Cell<usize>,
    found: Cell<Option<Code>>,
}

impl State {
    fn weigh<E: serde::de::Error>(&self, text: usize) -> Result<(), E> {
        self.weight.set(self.weight.get().saturating_add(NODE + text));
        if self.weight.get() <= MAX_WEIGHT {
            return Ok(());
        }
        self.found.set(Some(Code::TooMuchYaml));
        Err(E::custom("the front matter is too large once its aliases are expanded"))
    }
}

/// Any value.
#[derive(Clone, Copy)]
struct Node<'a>(&'a State);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

macro_rules! scalars {
    ($($visit:ident: $type:ty),*) => {
        $(fn $visit<E: serde::de::Error>(self, value: $type) -> Result<Value, E> {
            self.0.weigh(0)?;
            Ok(Value::from(value))
        })*
    };
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64);

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.0.weigh(value.len())?;
        Ok(Value::from(value))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.0.weigh(0)?;
        Ok(Value::Null)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        self.deserialize(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.0.weigh(0)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Sequence(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.0.weigh(0)?;
        let mut mapping = Mapping::new();
        while let Some(key) = entries.next_key_seed(Key { state: self.0, taken: &mapping })? {
            let value = entries.next_value_seed(self)?;
            mapping.insert(key, value);
        }
        Ok(Value::Mapping(mapping))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        let (tag, value) = tagged.variant::<String>()?;
        self.0.weigh(tag.len())?;
        if tag.is_empty() {
            return Err(A::Error::custom("an empty tag"));
        }
        let value = value.newtype_variant_seed(self)?;
        Ok(Value::Tagged(Box::new(TaggedValue { tag: Tag::new(tag), value })))
    }
}

/// A key; it fails on its own place if the mapping has it already.
struct Key<'a> {
    state: &'a State,
    taken: &'a Mapping,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl Key<'_> {
    fn fresh<E: serde::de::Error>(&self, key: Value) -> Result<Value, E> {
        if !self.taken.contains_key(&key) {
            return Ok(key);
        }
        self.state.found.set(Some(Code::DuplicateKey));
        Err(E::custom(match key {
            Value::String(name) => format!("key `{name}` is there twice"),
            _ => "a key is there twice".to_owned(),
        }))
    }
}

macro_rules! keys {
    ($($visit:ident($($value:ident: $type:ty)?)),*) => {
        $(fn $visit<E: serde::de::Error>(self, $($value: $type)?) -> Result<Value, E> {
            self.fresh(Node(self.state).$visit($($value)?)?)
        })*
    };
}

impl<'de> Visitor<'de> for Key<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    keys!(visit_bool(v: bool), visit_i64(v: i64), visit_u64(v: u64), visit_f64(v: f64), visit_str(v: &str), visit_unit(), visit_none());

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Value, A::Error> {
        self.fresh(Node(self.state).visit_seq(items)?)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Value, A::Error> {
        self.fresh(Node(self.state).visit_map(entries)?)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        self.fresh(Node(self.state).visit_enum(tagged)?)
    }
}
