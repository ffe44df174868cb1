//! Finds where a key or value stands in front matter that was read before, for problems that show only later.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IgnoredAny, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::{
    problem::Place,
    yaml::{in_file, place},
};

/// What of a top-level entry is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    Key,
    Value,
    /// One item, counted from 0, if the value is a list.
    Item(usize),
}

/// Where something stands in the file; its top if it isn't there. The mapping must have been read before.
pub(super) fn place_of(yaml: &str, key: &str, at: At) -> Place {
    let text = in_file(yaml);
    // The parser tells places only with errors, so this reading is made to fail on what is looked for.
    let outcome = Search { key, at }.deserialize(serde_yaml::Deserializer::from_str(&text));
    outcome.err().and_then(|error| place(&error)).unwrap_or(Place::TOP)
}

/// Walks to one place and fails there.
#[derive(Clone, Copy)]
struct Search<'a> {
    key: &'a str,
    at: At,
}

impl<'de> DeserializeSeed<'de> for Search<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Search<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(found) = entries.next_key_seed(SearchKey(self))? {
            if found {
                return entries.next_value_seed(Here(self.at));
            }
            entries.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// Whether this is the key; it fails here if the key itself was looked for.
struct SearchKey<'a>(Search<'a>);

impl<'de> DeserializeSeed<'de> for SearchKey<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        // Keys of other kinds are never looked for; what they hold is passed over by `IgnoredAny`.
        from.deserialize_any(self)
    }
}

macro_rules! other_keys {
    ($($visit:ident($($value:ident: $type:ty)?)),*) => {
        $(fn $visit<E: serde::de::Error>(self, $($value: $type)?) -> Result<bool, E> {
            $(let _ = $value;)?
            Ok(false)
        })*
    };
}

impl<'de> Visitor<'de> for SearchKey<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<bool, E> {
        match self.0.at {
            _ if key != self.0.key => Ok(false),
            At::Key => Err(E::custom("here")),
            At::Value | At::Item(_) => Ok(true),
        }
    }

    other_keys!(visit_bool(v: bool), visit_i64(v: i64), visit_u64(v: u64), visit_f64(v: f64), visit_unit(), visit_none());

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<bool, A::Error> {
        IgnoredAny.visit_seq(items).map(|_| false)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<bool, A::Error> {
        IgnoredAny.visit_map(entries).map(|_| false)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<bool, A::Error> {
        let (_, value) = tagged.variant::<IgnoredAny>()?;
        value.newtype_variant::<IgnoredAny>().map(|_| false)
    }
}

struct Here(At);

impl<'de> DeserializeSeed<'de> for Here {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

/// Every visit that isn't written out is an error, which is the point.
impl<'de> Visitor<'de> for Here {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        if let At::Item(item) = self.0 {
            for _ in 0..item {
                items.next_element::<IgnoredAny>()?;
            }
            items.next_element_seed(Here(At::Value))?;
        }
        Err(A::Error::custom("here"))
    }
}
