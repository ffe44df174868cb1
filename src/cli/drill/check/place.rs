//! Where something stands in a scenario's text, by the way to it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::node::{At, Step};

/// Line and column, counted from 1; the top if there is no such thing. The text must have been read before.
pub(super) fn of(text: &str, path: &[Step], at: At) -> (usize, usize) {
    // The reader tells places only with errors, so this reading is made to fail on what is looked for.
    let outcome = Search { path, at }.deserialize(serde_yaml::Deserializer::from_str(text));
    let found = outcome.err().and_then(|error| error.location());
    found.map_or((1, 1), |at| (at.line(), at.column()))
}

/// Walks a path and fails at its end.
#[derive(Clone, Copy)]
struct Search<'a> {
    path: &'a [Step],
    at: At,
}

const HERE: &str = "here";

impl<'de> DeserializeSeed<'de> for Search<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

/// A visit that isn't written out is an error at this place, which is right at the end of the path and as near as one
/// comes otherwise.
impl<'de> Visitor<'de> for Search<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HERE)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Some((Step::Key(wanted), rest)) = self.path.split_first() else { return Err(A::Error::custom(HERE)) };
        let fail = rest.is_empty() && self.at == At::Key;
        while let Some(found) = entries.next_key_seed(SearchKey { wanted, fail })? {
            if found {
                return entries.next_value_seed(Search { path: rest, at: self.at });
            }
            entries.next_value::<IgnoredAny>()?;
        }
        Err(A::Error::custom(HERE))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((Step::Item(wanted), rest)) = self.path.split_first() else { return Err(A::Error::custom(HERE)) };
        for _ in 0..*wanted {
            items.next_element::<IgnoredAny>()?;
        }
        items.next_element_seed(Search { path: rest, at: self.at })?;
        Err(A::Error::custom(HERE))
    }
}

/// Whether this is the key; it fails here if the key itself is looked for.
struct SearchKey<'a> {
    wanted: &'a str,
    fail: bool,
}

impl<'de> DeserializeSeed<'de> for SearchKey<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_any(self)
    }
}

macro_rules! other_keys {
    ($($visit:ident($type:ty)),*) => {
        $(fn $visit<E: serde::de::Error>(self, _: $type) -> Result<bool, E> {
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
        if key == self.wanted && self.fail { Err(E::custom(HERE)) } else { Ok(key == self.wanted) }
    }

    other_keys!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64));
}
