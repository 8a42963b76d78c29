//! A scheme for one physics: choices made, terms that the physics lacks gone with all that is zero
//! because of them.

use crate::error::{Error, Result};
use crate::graph::{Binary, Unary};
use crate::physics::{Physics, Term};
use crate::scheme::{Action, Expression, OUTPUT, Scheme, Statement, Width, widths};

/// A scheme whose terms the physics has, with the widths of its blocks.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) scheme: Scheme,
    pub(crate) widths: Vec<Width>,
}

/// Resolves terms.
///
/// # Errors
/// [`Error::Mismatch`] where the scheme needs a term that the physics lacks.
pub(super) fn resolve(scheme: &Scheme, physics: &Physics) -> Result<Resolved> {
    let widths = widths(scheme)?.into_iter().map(|width| width.unwrap_or(Width::Scalar)).collect();
    unheard(scheme, physics)?;
    let mut resolver = Resolver { scheme, physics, zero: vec![false; scheme.blocks.len()] };
    let mut statements = Vec::new();
    for statement in &scheme.statements {
        let value = resolver.value(statement.action.value())?;
        let mut kept = statement.clone();
        match &mut kept.action {
            Action::Maximum(own) => *own = or_zero(value),
            Action::Assign { block, value: own, .. } => {
                if value.is_none() && *block != OUTPUT {
                    resolver.zero[*block] = true;
                    continue;
                }
                *own = or_zero(value);
            }
        }
        statements.push(kept);
    }
    Ok(Resolved { scheme: Scheme { statements, ..scheme.clone() }, widths })
}

/// Refuses a scheme that would leave out a part of the equations.
fn unheard(scheme: &Scheme, physics: &Physics) -> Result<()> {
    let mut called = Vec::new();
    for statement in &scheme.statements {
        statement.action.value().walk(&mut |value| {
            if let Expression::Call(term, _) = value {
                called.push(*term);
            }
        });
    }
    if called.contains(&Term::Rhs) && physics.has(Term::Rhs) {
        return Ok(());
    }
    for term in [Term::Flux, Term::Ncp, Term::Source] {
        let stands_in = term == Term::Flux && called.contains(&Term::Face);
        if physics.has(term) && !called.contains(&term) && !stands_in {
            return Err(Error::Mismatch(format!(
                "physics {} ({}) defines {}, which scheme {} never calls: take another scheme, or call \
                 it",
                physics.name,
                physics.file,
                term.name(),
                scheme.name
            )));
        }
    }
    Ok(())
}

fn or_zero(value: Option<Expression>) -> Expression {
    value.unwrap_or(Expression::Number(0.0))
}

/// The evolved unknowns, without completing them first.
fn evolved(value: Expression) -> Expression {
    match value {
        Expression::Complete(inner) => *inner,
        other => Expression::Evolved(Box::new(other)),
    }
}

struct Resolver<'a> {
    scheme: &'a Scheme,
    physics: &'a Physics,
    zero: Vec<bool>,
}

impl Resolver<'_> {
    /// The expression; none where it is zero.
    fn value(&self, value: &Expression) -> Result<Option<Expression>> {
        Ok(match value {
            Expression::Block(block, _)
            | Expression::Each(block)
            | Expression::Sum(block)
            | Expression::Largest(block)
            | Expression::Apply(_, block)
                if self.zero[*block] =>
            {
                None
            }
            Expression::Unary(function, a) => match (function, self.value(a)?) {
                (Unary::Negate | Unary::Absolute | Unary::SquareRoot, None) => None,
                (function, a) => Some(Expression::Unary(*function, Box::new(or_zero(a)))),
            },
            Expression::Binary(function, a, b) => {
                match (function, self.value(a)?, self.value(b)?) {
                    (Binary::Add | Binary::Subtract, a, None) => a,
                    (Binary::Add, None, b) => b,
                    (Binary::Subtract, None, Some(b)) => {
                        Some(Expression::Unary(Unary::Negate, Box::new(b)))
                    }
                    (Binary::Multiply | Binary::Divide, None, _) => None,
                    (Binary::Multiply, _, None) => None,
                    (_, a, b) => Some(Expression::Binary(
                        *function,
                        Box::new(or_zero(a)),
                        Box::new(or_zero(b)),
                    )),
                }
            }
            Expression::Evolved(a) => self.value(a)?.map(evolved),
            Expression::Complete(a) => {
                Some(Expression::Complete(Box::new(or_zero(self.value(a)?))))
            }
            Expression::Call(term, arguments) => return self.call(*term, arguments),
            Expression::Has(term, a, b) => {
                return self.value(if self.physics.has(*term) { a } else { b });
            }
            other => Some(other.clone()),
        })
    }

    fn call(&self, term: Term, arguments: &[Expression]) -> Result<Option<Expression>> {
        if !self.physics.has(term) {
            return match term {
                Term::Flux | Term::Ncp | Term::Source => Ok(None),
                Term::Post => {
                    let value = self.value(&arguments[0])?;
                    Ok(value.map(evolved))
                }
                _ => Err(Error::Mismatch(format!(
                    "scheme {} calls {}, which physics {} ({}) does not define: add the function, or \
                     take another scheme",
                    self.scheme.name,
                    term.name(),
                    self.physics.name,
                    self.physics.file
                ))),
            };
        }
        let arguments: Vec<Option<Expression>> =
            arguments.iter().map(|argument| self.value(argument)).collect::<Result<_>>()?;
        // B_n(Q) 0 is zero, as the term is linear in its slopes.
        if term == Term::Ncp && arguments[1].is_none() {
            return Ok(None);
        }
        Ok(Some(Expression::Call(term, arguments.into_iter().map(or_zero).collect())))
    }
}

impl Resolved {
    /// Adds a block.
    pub(super) fn declare(&mut self, name: String, directional: bool, width: Width) -> usize {
        self.scheme.blocks.push(crate::scheme::Declaration { name, directional });
        self.widths.push(width);
        self.scheme.blocks.len() - 1
    }

    /// Replaces the statements.
    pub(super) fn with_statements(&mut self, statements: Vec<Statement>) {
        self.scheme.statements = statements;
    }
}
