//! The size rules of blocks. A block that breaks one fails the whole message.

use serde_json::Value;

use super::methods::Refused;

/// Slack does not say whether it counts code points or UTF-16 units; the stricter reading finds more mistakes.
pub(crate) fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

pub(crate) fn check(blocks: &Value) -> Result<(), Refused> {
    let Some(blocks) = blocks.as_array() else { return Err(Refused::because("invalid_blocks_format")) };
    if blocks.len() > 50 {
        return Err(Refused::hint("invalid_blocks", "no more than 50 items allowed [json-pointer:/blocks]"));
    }
    let mut markdown = 0;
    for (index, block) in blocks.iter().enumerate() {
        let bad = |what: &str| Refused::hint("invalid_blocks", &format!("{what} [json-pointer:/blocks/{index}]"));
        let text = |pointer: &str| length(block.pointer(pointer).and_then(Value::as_str).unwrap_or_default());
        match block["type"].as_str() {
            None => return Err(bad("missing required field: type")),
            Some("section") => {
                if text("/text/text") > 3000 {
                    return Err(bad("must be less than 3001 characters"));
                }
                let fields = block["fields"].as_array().map_or(&[][..], Vec::as_slice);
                let long = |field: &Value| length(field["text"].as_str().unwrap_or_default()) > 2000;
                if fields.len() > 10 || fields.iter().any(long) {
                    return Err(bad("fields: at most 10 of at most 2000 characters"));
                }
                if text("/text/text") == 0 && fields.is_empty() {
                    return Err(bad("a section needs text or fields"));
                }
            }
            Some("header") if text("/text/text") > 150 => return Err(bad("must be less than 151 characters")),
            Some("context") if block["elements"].as_array().is_none_or(|e| e.is_empty() || e.len() > 10) => {
                return Err(bad("between 1 and 10 elements"));
            }
            Some("actions") => {
                let elements = block["elements"].as_array().map_or(&[][..], Vec::as_slice);
                if elements.is_empty() || elements.len() > 25 || !elements.iter().all(fits) {
                    return Err(bad("elements: 1 to 25, text 75, value 2000, action_id 255"));
                }
            }
            Some("markdown") => markdown += text("/text"),
            Some(_) => {}
        }
    }
    if markdown > 12_000 {
        return Err(Refused::because("msg_blocks_too_long"));
    }
    Ok(())
}

fn fits(element: &Value) -> bool {
    let size = |pointer: &str| length(element.pointer(pointer).and_then(Value::as_str).unwrap_or_default());
    size("/text/text") <= 75 && size("/value") <= 2000 && size("/action_id") <= 255
}
