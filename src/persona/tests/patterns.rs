//! Laws of the lists of tools, whatever stands on them.

use proptest::prelude::*;
use regex::Regex;

use super::{
    super::{Persona, Tools},
    read,
};
use crate::tool_names::entry_means;

const ALIASES: [&str; 8] = [
    "bash",
    "host_bash",
    "search_knowledge",
    "query_knowledge",
    "search_logs",
    "query_logql",
    "host_probe_disk",
    "host_probe",
];

fn tool() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c_]{1,6}", prop::sample::select(ALIASES.to_vec()).prop_map(str::to_owned)]
}

fn entry() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c_*]{1,6}", "(query|host|search)_\\*", tool()]
}

fn persona(tools: &Tools, disallowed: &[String]) -> Persona {
    let mut persona = read("---\nname: a\ndescription: b\nwhen_to_use: When a test asks.\n---\n").unwrap().persona;
    persona.tools = tools.clone();
    persona.disallowed_tools = disallowed.to_vec();
    persona
}

/// What a star means, said in another language.
fn as_regex(entry: &str, tool: &str) -> bool {
    let pattern = entry.split('*').map(regex::escape).collect::<Vec<_>>().join(".*");
    Regex::new(&format!("^{pattern}$")).unwrap().is_match(tool)
}

proptest! {
    #[test]
    fn a_star_stands_for_any_text_anywhere(entry in "[a-c_*]{1,6}", tool in "[a-c_]{1,6}") {
        prop_assert_eq!(entry_means(&entry, &tool), as_regex(&entry, &tool));
    }

    #[test]
    fn black_beats_white(white in prop::collection::vec(entry(), 0..4), black in prop::collection::vec(entry(), 0..4), tool in tool()) {
        let on = |list: &[String]| list.iter().any(|entry| entry_means(entry, &tool));
        let listed = persona(&Tools::Only(white.clone()), &black).lists(&tool);
        prop_assert_eq!(listed, on(&white) && !on(&black));
        prop_assert_eq!(persona(&Tools::Inherit, &black).lists(&tool), !on(&black));
    }
}
