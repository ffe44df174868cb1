//! What can be wrong with a persona file, said so that its author can mend it. Who prints or logs it is not decided here.

use std::fmt;

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The file isn't loaded.
    Error,
    /// The file is loaded; something in it will not do what its author thinks.
    Warning,
}

/// A fixed list: names are part of the interface, scripts filter by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The file or folder can't be read, or isn't an ordinary file.
    Unreadable,
    /// A configured folder of personas doesn't exist.
    DirMissing,
    /// A folder holds more files, or is nested deeper, than is looked at.
    TooManyFiles,
    /// A link leads out of the folder it lies in.
    LinkOutside,
    /// Larger than 256 KB.
    TooLarge,
    NotUtf8,
    /// The first line isn't `---`.
    NoFrontMatter,
    /// No line `---` ends the front matter.
    FrontMatterOpen,
    /// YAML that can't be read, for a reason without a code of its own.
    YamlSyntax,
    /// An unquoted value holds `: `.
    UnquotedColon,
    /// A tab where YAML wants spaces.
    TabIndent,
    DuplicateKey,
    /// The front matter is a list or a single value.
    NotAMapping,
    /// Aliases or nesting blow the front matter up.
    TooMuchYaml,
    /// `<<` merges nothing here; the keys behind it would be lost.
    MergeKey,
    NameMissing,
    /// `name: 42` or `name: true`: a number or a switch, not text.
    NameNotText,
    /// Something else than letters, digits, `-` and `_`, or too long.
    NameInvalid,
    /// A word that the API uses itself.
    NameReserved,
    DescriptionMissing,
    WhenToUseMissing,
    /// A key holds another kind of value than it can.
    WrongType,
    /// A number outside its range.
    OutOfRange,
    PermissionModeUnknown,
    /// `tools` is there and empty: the persona has no tool at all.
    ToolsEmpty,
    /// The file is called otherwise than its persona.
    NameDiffers,
    /// `critical_reminder` is so long that it stops being a reminder.
    ReminderLong,
    /// The first line of `when_to_use` says nothing by itself.
    WhenToUseVague,
    /// An unknown key that looks like a known one.
    KeyMisspelt,
    /// Two files have the same name; the first stays.
    DuplicateName,
    /// A tool that isn't in the bag.
    UnknownTool,
    /// `model` names a provider that isn't configured.
    ProviderNotConfigured,
    /// `metadata.ongrid.min_ongrid_version` is higher than the version of the format that is read here.
    FormatNewer,
    /// `initial_prompt` isn't a template that can be rendered.
    TemplateBroken,
}

impl Code {
    /// In the order in which they are documented.
    pub const ALL: [Self; 34] = [
        Self::Unreadable,
        Self::DirMissing,
        Self::TooManyFiles,
        Self::LinkOutside,
        Self::TooLarge,
        Self::NotUtf8,
        Self::NoFrontMatter,
        Self::FrontMatterOpen,
        Self::YamlSyntax,
        Self::UnquotedColon,
        Self::TabIndent,
        Self::DuplicateKey,
        Self::NotAMapping,
        Self::TooMuchYaml,
        Self::MergeKey,
        Self::NameMissing,
        Self::NameNotText,
        Self::NameInvalid,
        Self::NameReserved,
        Self::DescriptionMissing,
        Self::WhenToUseMissing,
        Self::WrongType,
        Self::OutOfRange,
        Self::PermissionModeUnknown,
        Self::ToolsEmpty,
        Self::NameDiffers,
        Self::ReminderLong,
        Self::WhenToUseVague,
        Self::KeyMisspelt,
        Self::DuplicateName,
        Self::UnknownTool,
        Self::ProviderNotConfigured,
        Self::FormatNewer,
        Self::TemplateBroken,
    ];

    pub fn severity(self) -> Severity {
        match self {
            Self::DirMissing
            | Self::TooManyFiles
            | Self::ToolsEmpty
            | Self::NameDiffers
            | Self::ReminderLong
            | Self::WhenToUseVague
            | Self::KeyMisspelt
            | Self::DuplicateName
            | Self::UnknownTool
            | Self::ProviderNotConfigured
            | Self::FormatNewer
            | Self::TemplateBroken => Severity::Warning,
            _ => Severity::Error,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One spelling for logs and JSON; a unit variant always serialises to its name.
        self.serialize(f)
    }
}

/// Where in the file, counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl Place {
    /// For what concerns the file as a whole.
    pub const TOP: Self = Self { line: 1, column: 1 };
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParseProblem {
    /// As it was configured; `builtin:NAME.md` for a shipped file.
    pub path: String,
    pub line: usize,
    pub column: usize,
    pub code: Code,
    pub severity: Severity,
    pub message: String,
    /// What to do about it; empty if the message says it all.
    pub hint: String,
    /// The key it is about, for those who wrote JSON and have no lines; empty if it is about the whole.
    #[serde(skip)]
    pub field: String,
}

impl ParseProblem {
    pub fn new(path: &str, place: Place, code: Code, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: place.line,
            column: place.column,
            code,
            severity: code.severity(),
            message: message.into(),
            hint: hint.into(),
            field: String::new(),
        }
    }

    #[must_use]
    pub(super) fn about(mut self, field: &str) -> Self {
        field.clone_into(&mut self.field);
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The one-line form for logs, readable alone and searchable.
impl fmt::Display for ParseProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, column, code, message, hint, .. } = self;
        let text = format!("chatruntime: parse {path}: line {line} column {column}: {message} [{code}]");
        let text = if hint.is_empty() { text } else { format!("{text}; {hint}") };
        // A file name or a YAML message may hold line ends.
        f.write_str(&text.replace(['\n', '\r'], " "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_one_searchable_line() {
        let problem =
            ParseProblem::new("agents/a\nb.md", Place { line: 3, column: 7 }, Code::DuplicateKey, "twice", "keep one");
        assert_eq!(
            problem.to_string(),
            "chatruntime: parse agents/a b.md: line 3 column 7: twice [duplicate_key]; keep one"
        );
    }

    #[test]
    fn every_code_is_documented_with_its_severity() {
        let page = include_str!("../../docs/personas-lint.md");
        for code in Code::ALL {
            let severity = if code.severity() == Severity::Error { "error" } else { "warning" };
            assert!(page.contains(&format!("| `{code}` | {severity} |")), "{code}");
        }
        let rows = page.lines().filter(|line| line.starts_with("| `") && line.contains("` | ")).count();
        assert_eq!(rows, Code::ALL.len());
    }

    #[test]
    fn codes_are_spelt_alike_in_logs_and_json() {
        assert_eq!(
            serde_json::to_value(Code::WhenToUseVague).unwrap(),
            serde_json::json!(Code::WhenToUseVague.to_string())
        );
    }
}
