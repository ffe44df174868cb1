//! Templates: both notations, data that stays data, and limits.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{TemplateError, render};

fn fill(template: &str, context: &Value) -> Result<String, TemplateError> {
    render(template, context.as_object().unwrap())
}

#[test]
fn both_notations_are_rendered() {
    let context = json!({ "id": 7, "device": { "name": "db-1", "tags": ["a", "b"] }, "open": true });
    for (template, expected) in [
        ("plain . text", "plain . text"),
        ("{{.id}} {{ .id }} {{ id }} {{- .id -}} !", "7 7 77!"),
        ("{{ .device.name }}/{{device.name}}", "db-1/db-1"),
        ("{{ '{{' }}.id{{ '}}' }} {{\"{{\"}} .id {{\"}}\"}}", "7 7"),
        ("{% if .open %}open{% endif %}", "open"),
        ("{% for tag in .device.tags %}<{{ tag }}>{% endfor %}", "<a><b>"),
        ("{{ 'a .id' }} {{ .device.tags|join(', ') }}", "a .id a, b"),
        ("{# .id #}x{{ 1.5 }}", "x1.5"),
        ("a\n{{ .id }}\n\n", "a\n7\n"),
    ] {
        assert_eq!(fill(template, &context).as_deref(), Ok(expected), "{template}");
    }
}

#[test]
fn a_missing_value_is_named() {
    let context = json!({ "device": {} });
    for (template, name) in [
        ("a {{ .incident_id }}", "incident_id"),
        ("{{ '{{' }}.incident_id{{ '}}' }}", "incident_id"),
        ("{{ device.name }}", "device.name"),
        ("{% if gone.deep %}{% endif %}", "gone.deep"),
    ] {
        assert_eq!(fill(template, &context), Err(TemplateError::Missing(name.to_owned())), "{template}");
    }
}

#[test]
fn values_are_never_rendered_again() {
    let context = json!({ "x": "{{ y }} {{ '{{' }} {% raw %} <b>", "y": "secret" });
    assert_eq!(fill("{{ .x }}", &context).as_deref(), Ok("{{ y }} {{ '{{' }} {% raw %} <b>"));
}

#[test]
fn broken_and_endless_templates_are_refused() {
    let context = json!({});
    for template in [
        "{{ x",
        "{{ . }}",
        "{% include 'x' %}",
        "{{ 1 | nofilter }}",
        "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
        "{% for a in range(9999) %}0123456789{% endfor %}",
    ] {
        assert!(matches!(fill(template, &context), Err(TemplateError::Broken { .. })), "{template}");
    }
}

proptest! {
    #[test]
    fn no_template_makes_the_renderer_panic(template in "(\\{\\{|\\}\\}|\\{%|%\\}|\\{#|['\"\\\\. |é]|[a-c]|if |for |[0-9*]|\\(|\\)|\\[|\\]){0,30}") {
        let _ = fill(&template, &json!({ "a": 1, "b": { "c": "x" } }));
    }

    #[test]
    fn text_without_braces_stays_as_it_is(text in "[a-zé.'\" \n]{0,40}x") {
        let rendered = fill(&text, &json!({}));
        prop_assert_eq!(rendered, Ok(text));
    }
}
