//! Which classes of calls a run may execute. A refusal is an answer for the model, with what to do instead.

use super::Class;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    classes: Vec<Class>,
}

impl Policy {
    pub fn new(classes: impl IntoIterator<Item = Class>) -> Self {
        Self { classes: classes.into_iter().collect() }
    }

    pub fn read_only() -> Self {
        Self::new([Class::Read])
    }

    /// The text for the model, if a call of that class must not run.
    pub fn refusal(&self, tool: &str, class: Class) -> Option<String> {
        if self.classes.contains(&class) {
            return None;
        }
        let (does, instead) = match class {
            Class::Read => ("reads", "answer from what you already have, and say that it was not checked"),
            Class::Write => ("changes something", "say which change you propose and why, so that a person can make it"),
            Class::Destructive => (
                "can destroy something",
                "don't look for another way to do it; say what you would do and leave it to a person",
            ),
        };
        Some(format!("not run: this call of {tool} {does}, and this run may not do that. Instead, {instead}."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_only_run_reads_and_is_told_what_to_do_instead_of_writing() {
        let policy = Policy::read_only();
        assert_eq!(policy.refusal("host_bash", Class::Read), None);
        assert_eq!(
            policy.refusal("host_bash", Class::Write).as_deref(),
            Some(
                "not run: this call of host_bash changes something, and this run may not do that. Instead, say which \
                 change you propose and why, so that a person can make it."
            )
        );
        assert!(policy.refusal("host_bash", Class::Destructive).is_some());
        assert!(Policy::new([]).refusal("host_bash", Class::Read).is_some());
    }
}
