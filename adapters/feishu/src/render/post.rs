//! The content of a `post`: paragraphs of nodes. A stretch of Markdown fills one node and its paragraph, and so does code.

use serde_json::{Value, json};
use watchfloor_channel::text::blocks::{self, Block};

use super::{
    escape::{self, Dialect},
    flow::{self, Piece},
};

pub(super) fn of(blocks: &[Block]) -> (Value, usize) {
    post(paragraphs(blocks))
}

/// Markdown stands alone in its paragraph, so the mention has one of its own.
pub(super) fn addressed(to: &str, blocks: &[Block]) -> (Value, usize) {
    post([line(to)].into_iter().chain(paragraphs(blocks)).collect())
}

fn paragraphs(blocks: &[Block]) -> Vec<Vec<Value>> {
    let pieces = flow::pieces(blocks, Dialect::Post);
    let nodes = pieces.iter().map(|piece| match piece {
        Piece::Markdown(text) => json!({"tag": "md", "text": text}),
        Piece::Code { info, text } => code(language(info), text),
        // Posts have shown tables as nothing at all.
        Piece::Table(table) => code(None, &blocks::aligned(table)),
    });
    nodes.map(|node| vec![node]).collect()
}

/// One paragraph for each line. Nothing in it is markup.
pub(super) fn plain(text: &str) -> (Value, usize) {
    let text = text.trim();
    post(if text.is_empty() { Vec::new() } else { text.lines().map(line).collect() })
}

fn line(line: &str) -> Vec<Value> {
    let nodes = escape::pieces(line).into_iter().map(|piece| match piece {
        escape::Piece::Words(words) => json!({"tag": "text", "text": escape::without_mentions(words)}),
        escape::Piece::Person(id) => json!({"tag": "at", "user_id": id}),
    });
    nodes.collect()
}

fn post(paragraphs: Vec<Vec<Value>>) -> (Value, usize) {
    let nodes = paragraphs.iter().map(Vec::len).sum();
    (json!({"zh_cn": {"title": "", "content": paragraphs}}), nodes)
}

fn code(language: Option<&str>, text: &str) -> Value {
    let mut node = json!({"tag": "code_block", "text": escape::without_mentions(text.trim_end_matches('\n'))});
    if let Some(language) = language {
        node["language"] = json!(language);
    }
    node
}

/// The name Feishu has for it, if it knows it.
fn language(info: &str) -> Option<&'static str> {
    let name = info.split_whitespace().next()?.to_ascii_lowercase();
    Some(match name.as_str() {
        "python" | "py" => "PYTHON",
        "c" => "C",
        "cpp" | "c++" => "CPP",
        "go" | "golang" => "GO",
        "java" => "JAVA",
        "kotlin" | "kt" => "KOTLIN",
        "swift" => "SWIFT",
        "php" => "PHP",
        "ruby" | "rb" => "RUBY",
        "rust" | "rs" => "RUST",
        "javascript" | "js" => "JAVASCRIPT",
        "typescript" | "ts" => "TYPESCRIPT",
        "bash" => "BASH",
        "shell" | "sh" | "zsh" | "console" => "SHELL",
        "sql" => "SQL",
        "json" => "JSON",
        "xml" => "XML",
        "yaml" | "yml" => "YAML",
        "html" => "HTML",
        "thrift" => "THRIFT",
        _ => return None,
    })
}
