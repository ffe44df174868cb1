//! Who may see which classes of tools, and which classes of calls a run may execute. A refusal is an answer for the model,
//! with what to do instead.

use super::Class;

/// What a person may do here. Each may do what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Viewer,
    Operator,
    Admin,
}

impl Role {
    pub fn word(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    /// Whether tools of that class are for her.
    pub fn sees(self, class: Class) -> bool {
        match class {
            Class::Read => true,
            Class::Write => self >= Self::Operator,
            Class::Destructive => self >= Self::Admin,
        }
    }
}

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
        let unconfirmed = if class == Class::Read {
            "this run may not do that"
        } else {
            "there is no way yet for a person to confirm such a call"
        };
        Some(format!("not run: this call of {tool} {does}, and {unconfirmed}. Instead, {instead}."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_sees_what_the_one_before_it_sees_and_one_class_more() {
        let classes = [Class::Read, Class::Write, Class::Destructive];
        let seen = [Role::Viewer, Role::Operator, Role::Admin].map(|role| classes.map(|class| role.sees(class)));
        assert_eq!(seen, [[true, false, false], [true, true, false], [true, true, true]]);
    }

    #[test]
    fn a_read_only_run_reads_and_is_told_what_to_do_instead_of_writing() {
        let policy = Policy::read_only();
        assert_eq!(policy.refusal("host_bash", Class::Read), None);
        assert_eq!(
            policy.refusal("host_bash", Class::Write).as_deref(),
            Some(
                "not run: this call of host_bash changes something, and there is no way yet for a person to confirm such \
                 a call. Instead, say which change you propose and why, so that a person can make it."
            )
        );
        assert!(policy.refusal("host_bash", Class::Destructive).is_some());
        assert!(Policy::new([]).refusal("host_bash", Class::Read).is_some());
    }
}
