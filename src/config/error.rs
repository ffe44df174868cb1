//! What is wrong with a configuration, said so that an operator can mend it: where, which key, what would be right.

use std::fmt;

/// One mistake. `Display` is the whole sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The file, or the environment variable, that holds the mistake.
    pub place: String,
    pub line: Option<usize>,
    /// The key's path, such as `channels[0].mode`. Empty if the file as a whole is wrong.
    pub path: String,
    /// What was expected and what was found. Never the value of a secret.
    pub problem: String,
    pub hint: Option<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.problem)?;
        if let Some(hint) = &self.hint {
            write!(f, " ({hint})")?;
        }
        if let Some(line) = self.line {
            write!(f, " [line {line}]")?;
        }
        Ok(())
    }
}

/// Every mistake that was found, in the order of the file. `Display` has one line for each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}
