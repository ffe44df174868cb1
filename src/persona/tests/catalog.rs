//! The catalog keeps its size, and loses words before it loses names.

use std::fs;

use super::super::{Registry, catalog, catalog_within};

fn with_personas(count: usize, name: &str, description: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    for n in 0..count {
        let text = format!(
            "---\nname: {name}-{n:03}\ndescription: {description}\nwhen_to_use: For questions about {n}.\n---\n"
        );
        fs::write(dir.path().join(format!("{name}-{n:03}.md")), text).unwrap();
    }
    catalog(&Registry::load(Some(dir.path()), &[]))
}

#[test]
fn a_line_holds_name_description_and_when() {
    let text = with_personas(1, "clock", "Tells the time.");
    assert!(text.starts_with("Match the question against each line"));
    assert_eq!(text.lines().nth(1), Some("clock-000: Tells the time. — For questions about 0."));
}

#[test]
fn long_lines_are_shortened_together() {
    let text = with_personas(20, "long", &"very ".repeat(50));
    assert!(text.len() <= 2048);
    assert!((0..20).all(|n| text.contains(&format!("\nlong-{n:03}: very"))), "{text}");
    assert!(text.contains("\nspecialist-disk: "));
}

#[test]
fn too_many_names_are_counted() {
    let text = with_personas(200, "quite-a-long-name", "磁盘专家");
    assert!(text.len() <= 2048);
    assert!(text.lines().last().unwrap().ends_with("a wrong name is answered with the right ones)"), "{text}");
    let shown = text.lines().count() - 2;
    assert!(text.contains(&format!("({} more;", 206 - shown)), "{text}");
}

#[test]
fn less_room_shortens_lines_before_it_drops_names() {
    let registry = Registry::builtin();
    let whole = catalog(&registry);
    for bytes in (400..whole.len()).step_by(50) {
        let text = catalog_within(&registry, bytes);
        assert!(text.len() <= bytes, "{bytes}: {text}");
        assert!(registry.names().iter().all(|name| text.contains(&format!("\n{name}"))), "{bytes}: {text}");
    }
    assert_eq!(catalog_within(&registry, whole.len()), whole);
}
