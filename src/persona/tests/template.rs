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
        let missing = TemplateError::Missing { name: name.to_owned(), there: vec!["device".to_owned()] };
        assert_eq!(fill(template, &context), Err(missing), "{template}");
    }
}

#[test]
fn a_missing_value_is_named_beside_what_is_there() {
    let error = fill("{{ .incident }}", &json!({ "asker": "U1", "question": "why?" })).unwrap_err();
    assert_eq!(error.to_string(), "the context has no `incident`, which initial_prompt needs; it has asker, question");
    assert_eq!(
        fill("{{ x }}", &json!({})).unwrap_err().to_string(),
        "the context has no `x`, which initial_prompt needs; it is empty"
    );
}

#[test]
fn go_templates_are_rendered_as_go_would() {
    let context = json!({
        "id": 7, "name": "db-1", "open": true, "closed": false, "empty": "", "none": null,
        "device": { "name": "db-1", "os": "linux", "tags": ["a", "b"] },
        "disks": [{ "mount": "/", "used": 91.5 }, { "mount": "/srv", "used": 12 }],
        "labels": { "z": 1, "a": 2 },
    });
    for (template, expected) in [
        ("{{if .open}}open{{end}}", "open"),
        ("{{ if .closed }}no{{ else }}yes{{ end }}", "yes"),
        ("{{if .closed}}a{{else if eq .name \"db-1\"}}b{{else}}c{{end}}", "b"),
        ("{{if .gone}}a{{else}}b{{end}}{{if not .gone}}c{{end}}{{if .none}}d{{end}}{{if .empty}}e{{end}}", "bc"),
        ("{{if and .open (eq .device.os \"linux\" \"darwin\")}}unix{{end}}", "unix"),
        ("{{if or .closed (ne .id 8)}}ok{{end}}{{if and .open .closed}}no{{end}}", "ok"),
        ("{{if (gt (len .disks) 1)}}many{{end}}{{if lt .id 7}}no{{end}}{{if ge .id 7}}!{{end}}", "many!"),
        ("{{range .device.tags}}<{{.}}>{{end}}", "<a><b>"),
        ("{{range $i, $tag := .device.tags}}{{$i}}={{$tag}} {{end}}", "0=a 1=b "),
        ("{{range $tag := .device.tags}}{{ $tag }}{{end}}", "ab"),
        ("{{range .disks}}{{.mount}}:{{.used}}/{{$.device.name}} {{end}}", "/:91.5/db-1 /srv:12/db-1 "),
        ("{{range .disks}}{{range $.device.tags}}{{.}}{{end}}{{.mount}} {{end}}", "ab/ ab/srv "),
        ("{{range $k, $v := .labels}}{{$k}}{{$v}} {{end}}", "a2 z1 "),
        ("{{range .gone}}x{{else}}nothing{{end}}{{range .none}}x{{end}}", "nothing"),
        ("{{range .disks}}{{if eq .mount \"/\"}}root {{.used}}{{else}}, {{.mount}}{{end}}{{end}}", "root 91.5, /srv"),
        ("{{with .device}}{{.name}} {{.os}}{{end}}", "db-1 linux"),
        ("{{with .gone}}x{{else}}none of {{.name}}{{end}}", "none of db-1"),
        ("{{with $d := .device}}{{$d.name}}{{.os}}{{end}}", "db-1linux"),
        ("{{$n := .name}}{{$n}}/{{ $n }}", "db-1/db-1"),
        ("{{.gone | default \"unknown\"}} {{default \"x\" .empty}} {{ .name | default \"y\" }}", "unknown x db-1"),
        (
            "{{ .name | upper }} {{ upper .name }} {{.device.tags | len}} {{ join \", \" .device.tags }}",
            "DB-1 DB-1 2 a, b",
        ),
        ("{{ .gone | default(\"unknown\") }}", "unknown"),
        ("{{index .device.tags 1}} {{index .device \"os\"}} {{ (index .disks 0).mount }}", "b linux /"),
        ("{{printf \"%s on %q, %d%%\" .name .device.os .id}} {{ print .name `-x` }}", "db-1 on \"linux\", 7% db-1-x"),
        ("a {{- .id -}} b {{- if .open }} c {{- end }}\n  {{- /* it's gone }} */ -}}  d", "a7b cd"),
        ("{{/* a comment */}}x{{ \"}}\" }}y{{ `\"` }}", "x}}y\""),
        ("{{ '{{' }} if .open {{ '}}' }}open{{ '{{' }}end{{ '}}' }}", "open"),
        ("{% if .open %}{{ if .closed }}a{{ else }}b{{ end }}{% endif %}{{ name if open else 'x' }}", "bdb-1"),
        ("{{ template }}", "gone"),
    ] {
        let expected = match expected {
            "gone" => Err(TemplateError::Missing {
                name: "template".to_owned(),
                there: context.as_object().unwrap().keys().cloned().collect(),
            }),
            expected => Ok(expected.to_owned()),
        };
        assert_eq!(fill(template, &context), expected, "{template}");
    }
}

#[test]
fn numbers_are_printed_as_json_writes_them() {
    let context: Value = serde_json::from_str(
        r#"{ "a": 1.0, "b": 0.1, "c": 18446744073709551615, "d": -3, "e": 1e21, "f": 1.5e-9, "g": 4217 }"#,
    )
    .unwrap();
    let template = "{{.a}} {{.b}} {{.c}} {{.d}} {{.e}} {{.f}} {{ g }} {{printf \"%v\" .e}}";
    assert_eq!(fill(template, &context).as_deref(), Ok("1.0 0.1 18446744073709551615 -3 1e+21 1.5e-9 4217 1e+21"));
}

#[test]
fn what_is_missing_within_go_is_named_as_it_was_written() {
    let context = json!({ "disks": [{ "mount": "/" }], "x": {} });
    for (template, name) in [
        ("{{range .disks}}{{.used}}{{end}}", "used"),
        ("{{range $d := .disks}}{{$d.used}}{{end}}", "$d.used"),
        ("{{with .disks}}{{$.incident_id}}{{end}}", "incident_id"),
        ("{{if .x.y.z}}a{{end}}", "x.y.z"),
    ] {
        let missing = TemplateError::Missing { name: name.to_owned(), there: vec!["disks".into(), "x".into()] };
        assert_eq!(fill(template, &context), Err(missing), "{template}");
    }
}

#[test]
fn what_go_has_and_we_do_not_is_refused_with_its_line() {
    for (template, line, part) in [
        ("a\n{{define \"x\"}}y{{end}}", 2, "`define`"),
        ("{{range .x}}{{break}}{{end}}", 1, "`break`"),
        ("a\nb {{if .x}}", 2, "`if` has no `end`"),
        ("{{else}}", 1, "belongs to no `if`"),
        ("{{with .x}}{{else if .y}}{{end}}", 1, "belongs to no `if`"),
        ("{{range $a, $b, $c := .x}}{{end}}", 1, "names no variables"),
    ] {
        match fill(template, &json!({ "x": 1 })) {
            Err(TemplateError::Broken { line: at, message }) => {
                assert!(at == line && message.contains(part), "{template}: {at} {message}");
            }
            other => panic!("{template}: {other:?}"),
        }
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
    fn no_template_of_go_makes_the_renderer_panic(template in "(\\{\\{-? ?|-?\\}\\}|if |else|end|range |with |\\$|:=|,|eq |\\.[a-c]|[\\\"`'\\\\| é()/*]|printf ){0,40}") {
        let _ = fill(&template, &json!({ "a": 1, "b": { "c": "x" } }));
    }

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
