//! `${VAR}` and `${VAR:-default}` in a text. `$${` stays a literal `${`; a lone `$` is a `$`.

use super::env::Env;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expanded {
    pub(super) text: String,
    /// Something was filled in.
    pub(super) changed: bool,
}

/// `Err` is the problem, in words for an operator. An empty variable is one that isn't set.
pub(super) fn expand(text: &str, env: &Env) -> Result<Expanded, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut changed = false;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = &from[2..];
            continue;
        }
        out.push_str(before);
        let Some((inside, after)) = from[2..].split_once('}') else {
            return Err("expected a `}` after `${`".to_owned());
        };
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if !is_variable(name) {
            return Err(format!("expected the name of an environment variable in `${{…}}`, got \"{name}\""));
        }
        match (env.get(name).filter(|value| !value.is_empty()), default) {
            (Some(value), _) => out.push_str(value),
            (None, Some(default)) => out.push_str(default),
            (None, None) => return Err(format!("the environment variable {name} is not set")),
        }
        changed = true;
        rest = after;
    }
    out.push_str(rest);
    Ok(Expanded { text: out, changed })
}

fn is_variable(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn env() -> Env {
        [("SET", "value"), ("EMPTY", "")].map(|(k, v)| (k.to_owned(), v.to_owned())).into()
    }

    #[test]
    fn a_variable_is_filled_in_and_a_default_stands_for_an_unset_or_empty_one() {
        let table = [
            ("plain", Ok("plain")),
            ("${SET}", Ok("value")),
            ("a ${SET} b ${SET}", Ok("a value b value")),
            ("${SET:-other}", Ok("value")),
            ("${UNSET:-}", Ok("")),
            ("${UNSET:-https://host:9090/x}", Ok("https://host:9090/x")),
            ("${EMPTY:-default}", Ok("default")),
            ("$${SET}", Ok("${SET}")),
            ("p$$w0rd$", Ok("p$$w0rd$")),
            ("${UNSET}", Err("the environment variable UNSET is not set")),
            ("${EMPTY}", Err("the environment variable EMPTY is not set")),
            ("${SET", Err("expected a `}` after `${`")),
            ("${}", Err("expected the name of an environment variable in `${…}`, got \"\"")),
            ("${1A}", Err("expected the name of an environment variable in `${…}`, got \"1A\"")),
        ];
        for (text, expected) in table {
            let got = expand(text, &env()).map(|expanded| expanded.text);
            assert_eq!(got.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_text_without_an_opening_brace_stays_as_it_is(text in "[^{]*") {
            prop_assert_eq!(expand(&text, &env()), Ok(Expanded { text, changed: false }));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = expand(&text, &env());
        }
    }
}
