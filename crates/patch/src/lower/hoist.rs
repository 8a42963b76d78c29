//! Nested calls become statements, so that an unfused kernel calls every term on its own.

use super::resolve::Resolved;
use crate::physics::Term;
use crate::scheme::{Action, Expression, Statement, Width};

/// Gives every call that is not a statement's whole value a block.
pub(super) fn hoist(resolved: &mut Resolved) {
    let mut statements = Vec::new();
    for mut statement in std::mem::take(&mut resolved.scheme.statements) {
        let mut before = Vec::new();
        let (owner, faces, whole) = match &statement.action {
            Action::Maximum(_) => ("largest".to_owned(), false, false),
            Action::Assign { block, faces, .. } => {
                (resolved.scheme.blocks[*block].name.clone(), *faces, true)
            }
        };
        let mut hoister = Hoister { resolved, statement: statement.clone(), owner, faces };
        match &mut statement.action {
            Action::Assign { value: Expression::Call(_, arguments), .. } if whole => {
                arguments.iter_mut().for_each(|argument| hoister.hoist(argument, &mut before));
            }
            Action::Assign { value, .. } | Action::Maximum(value) => {
                hoister.hoist(value, &mut before);
            }
        }
        statements.append(&mut before);
        statements.push(statement);
    }
    resolved.with_statements(statements);
}

struct Hoister<'a> {
    resolved: &'a mut Resolved,
    statement: Statement,
    owner: String,
    faces: bool,
}

impl Hoister<'_> {
    fn hoist(&mut self, value: &mut Expression, before: &mut Vec<Statement>) {
        match value {
            Expression::Unary(_, a) | Expression::Evolved(a) | Expression::Complete(a) => {
                self.hoist(a, before);
            }
            Expression::Binary(_, a, b) | Expression::Has(_, a, b) => {
                self.hoist(a, before);
                self.hoist(b, before);
            }
            Expression::Call(term, arguments) => {
                arguments.iter_mut().for_each(|argument| self.hoist(argument, before));
                let width = if *term == Term::Eigenvalue { Width::Scalar } else { Width::Evolved };
                let stem = format!("{}_{}", self.owner, term.name());
                let taken =
                    |name: &str| self.resolved.scheme.blocks.iter().any(|block| block.name == name);
                let mut name = stem.clone();
                let mut number = 2;
                while taken(&name) {
                    name = format!("{stem}{number}");
                    number += 1;
                }
                let directional = self.statement.directional;
                let block = self.resolved.declare(name, directional, width);
                let call = std::mem::replace(value, Expression::Block(block, 0));
                before.push(Statement {
                    line: self.statement.line,
                    directional,
                    action: Action::Assign { block, faces: self.faces, over: None, value: call },
                });
            }
            _ => {}
        }
    }
}
