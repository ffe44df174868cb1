//! The personas inside the binary. A file in `agents/` that isn't listed here fails a test.

pub(super) const DEFAULT: &str = include_str!("../../agents/default.md");

pub(super) const FILES: [(&str, &str); 7] = [
    ("default.md", DEFAULT),
    ("incident-investigator.md", include_str!("../../agents/incident-investigator.md")),
    ("reviewer.md", include_str!("../../agents/reviewer.md")),
    ("specialist-compute.md", include_str!("../../agents/specialist-compute.md")),
    ("specialist-disk.md", include_str!("../../agents/specialist-disk.md")),
    ("specialist-network.md", include_str!("../../agents/specialist-network.md")),
    ("specialist-ops.md", include_str!("../../agents/specialist-ops.md")),
];
