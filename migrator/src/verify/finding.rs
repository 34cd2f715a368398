//! What does a check find, and what if it cannot look?

use shardid_cluster::NodeName;

use crate::failure::Failure;

/// Something that is not as it should be, and what mends it.
#[derive(Debug)]
pub(crate) struct Finding {
    /// The node it is on, unless it is between nodes.
    pub(crate) node: Option<NodeName>,
    /// What is wrong, in half a sentence.
    pub(crate) problem: String,
    /// What to do, with the very command.
    pub(crate) mend: String,
}

/// A statement, to be copied: as it is, where a name in it has a backtick.
pub(super) fn quoted(statement: &str) -> String {
    match statement.contains('`') {
        true => format!("`` {statement} ``"),
        false => format!("`{statement}`"),
    }
}

/// A statement about a table, for its owner to say: a superuser who did would run what the owner has written, such as a trigger or the
/// check of a column, with a superuser's rights.
pub(super) fn said_by_owner(owner: &str, statement: &str) -> String {
    format!(
        "its owner, role {owner}, says in a session of its own, as what a superuser says, also after SET ROLE, may run the owner's code with a superuser's rights: {}",
        quoted(statement)
    )
}

/// A string as a literal, whatever the session says that reads it (`standard_conforming_strings`).
pub(super) fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    match quoted.contains('\\') {
        true => format!("E'{}'", quoted.replace('\\', "\\\\")),
        false => format!("'{quoted}'"),
    }
}

impl Finding {
    pub(super) fn on(node: &NodeName, problem: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { node: Some(node.clone()), problem: problem.into(), mend: mend.into() }
    }

    pub(super) fn between(problem: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { node: None, problem: problem.into(), mend: mend.into() }
    }
}

/// What all checks found, each finding with the name of its check.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) checks: usize,
    pub(crate) findings: Vec<(&'static str, Finding)>,
}

impl Report {
    pub(super) fn add(&mut self, check: &'static str, found: Result<Vec<Finding>, Failure>) {
        self.checks += 1;
        let found = found.unwrap_or_else(|failure| could_not(&failure));
        self.findings.extend(found.into_iter().map(|finding| (check, finding)));
    }
}

/// A check that could not be made has not found that all is well.
pub(super) fn could_not(failure: &Failure) -> Vec<Finding> {
    let said = |(message, hint): (&str, Option<&str>)| {
        let mend = hint.unwrap_or("run `shardid verify` again as a role that may look");
        Finding::between(format!("could not look: {message}"), mend)
    };
    failure.messages().map(said).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_statement_with_a_backtick_in_it_can_be_told_from_what_is_around_it() {
        assert_eq!(super::quoted("DROP x;"), "`DROP x;`");
        assert_eq!(super::quoted("GRANT \"x`\";"), "`` GRANT \"x`\"; ``");
    }

    #[test]
    fn a_literal_is_read_alike_by_every_session() {
        assert_eq!(super::literal("it's"), "'it''s'");
        assert_eq!(super::literal("a\\'); --"), "E'a\\\\''); --'");
    }
}
