//! Secrets: written as they are, or in a file of their own that `…_file` names. Neither ever shows in an error.

use std::{fs::File, io::Read as _, path::Path};

use secrecy::SecretString;

use super::{
    read::Section,
    tree::{Node, Value},
};

/// Far above any token or key; a wrong path to something huge ends here.
const LARGEST: u64 = 64 * 1024;

impl Section<'_> {
    pub(super) fn secret(&mut self, key: &str) -> Option<SecretString> {
        let file_key = format!("{key}_file");
        let (written, file) = (self.take(key), self.take(&file_key));
        match (written, file) {
            (None, None) => None,
            (Some(node), None) => match node.value {
                Value::Text { text, .. } => Some(text.into()),
                _ => {
                    self.reading.report(&node.origin, &self.at(key), "expected a text in quotes", None);
                    None
                }
            },
            (None, Some(node)) => self.secret_from(&file_key, &node),
            (Some(_), Some(node)) => {
                let problem = format!("{key} and {file_key} are both set, expected one of them");
                self.reading.report(&node.origin, &self.at(&file_key), problem, None);
                None
            }
        }
    }

    fn secret_from(&self, file_key: &str, node: &Node) -> Option<SecretString> {
        let Value::Text { text, .. } = &node.value else {
            self.bad(file_key, node, "the path of a file");
            return None;
        };
        let path = self.reading.resolve(text);
        match read(&path) {
            Ok(secret) => secret,
            Err(problem) => {
                let problem = format!("the file {} {problem}", path.display());
                self.reading.report(&node.origin, &self.at(file_key), problem, None);
                None
            }
        }
    }
}

/// Editors end files with a newline, and no secret ends with one. An empty file means *not set*.
fn read(path: &Path) -> Result<Option<SecretString>, String> {
    let file = File::open(path).map_err(|error| format!("can't be read: {error}"))?;
    let mut text = String::new();
    let length = file.take(LARGEST + 1).read_to_string(&mut text).map_err(|error| format!("can't be read: {error}"))?;
    if length as u64 > LARGEST {
        return Err("is too large to be a secret".to_owned());
    }
    let secret = text.strip_suffix('\n').map_or(text.as_str(), |text| text.strip_suffix('\r').unwrap_or(text));
    Ok((!secret.is_empty()).then(|| secret.into()))
}
