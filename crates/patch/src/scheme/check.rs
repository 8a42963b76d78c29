//! Rules of a scheme that do not depend on ranges: names, single assignment, widths, directions.

use super::print::{BINARY, UNARY};
use super::{Action, Expression, INPUT, LARGEST_HALO, OUTPUT, Scheme, Statement};
use crate::error::{Error, Result};
use crate::kernel::Output;
use crate::physics::Term;

/// Values per voxel of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// 1; it goes with every other width.
    Scalar,
    /// N.
    Evolved,
    /// N + M.
    All,
}

impl Width {
    const fn text(self) -> &'static str {
        match self {
            Self::Scalar => "one value",
            Self::Evolved => "the N evolved unknowns",
            Self::All => "all N + M unknowns",
        }
    }
}

/// Widths of all blocks.
///
/// # Errors
/// As [`check`].
pub(crate) fn widths(scheme: &Scheme) -> Result<Vec<Option<Width>>> {
    let mut checker = Checker { scheme, widths: vec![None; scheme.blocks.len()] };
    checker.widths[INPUT] = Some(Width::All);
    for statement in &scheme.statements {
        checker.statement(statement)?;
    }
    Ok(checker.widths)
}

/// Checks names, assignments, widths and directions.
///
/// # Errors
/// [`Error::Scheme`] with the statement.
pub(crate) fn check(scheme: &Scheme) -> Result<()> {
    if scheme.halo == 0 || scheme.halo > LARGEST_HALO {
        return Err(Error::Scheme {
            scheme: scheme.file.clone(),
            line: 1,
            statement: format!("halo {}", scheme.halo),
            what: format!("the halo is 1 to {LARGEST_HALO} voxels wide"),
        });
    }
    if let Some(statement) = scheme.statements.get(MOST_STATEMENTS) {
        let what = format!("a scheme has at most {MOST_STATEMENTS} statements");
        return Err(scheme.error(statement, what));
    }
    names(scheme)?;
    if widths(scheme)?[OUTPUT].is_none() {
        return Err(Error::Scheme {
            scheme: scheme.file.clone(),
            line: 1,
            statement: format!("output {}", scheme.blocks[OUTPUT].name),
            what: format!(
                "the output is never assigned: end with `{} = ...`",
                scheme.blocks[OUTPUT].name
            ),
        });
    }
    Ok(())
}

/// Bounds the depth of what is inlined into each other.
const MOST_STATEMENTS: usize = 500;

/// Words that mean something in a scheme.
const RESERVED: [&str; 28] = [
    "scheme",
    "halo",
    "input",
    "output",
    "step",
    "rate",
    "parameter",
    "matrix",
    "from",
    "for",
    "each",
    "direction",
    "n",
    "p",
    "at",
    "faces",
    "over",
    "reduce",
    "if",
    "has",
    "else",
    "dt",
    "dx",
    "apply",
    "sum",
    "maximum",
    "evolved",
    "complete",
];

/// Names are identifiers, mean one thing and none that the language has.
fn names(scheme: &Scheme) -> Result<()> {
    let blocks = scheme.blocks.iter().map(|block| &block.name);
    let parameters = scheme.parameters.iter().map(|parameter| &parameter.name);
    let all: Vec<&String> =
        blocks.chain(parameters).chain(scheme.matrices.iter().map(|matrix| &matrix.name)).collect();
    let functions = UNARY.iter().map(|(name, _)| *name).chain(BINARY.iter().map(|(name, _)| *name));
    let taken: Vec<&str> =
        RESERVED.into_iter().chain(functions).chain(Term::ALL.map(Term::name)).collect();
    for (place, name) in [&scheme.name].into_iter().chain(all.iter().copied()).enumerate() {
        let mut letters = name.chars();
        let identifier = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
        let what = if !identifier {
            format!("`{name}` is no name: use letters, digits and _, a letter first")
        } else if place == 0 {
            continue;
        } else if taken.contains(&name.as_str()) {
            format!("{name} means something in schemes: take another name")
        } else if all[..place - 1].contains(&name) {
            format!("{name} is the name of two things: rename one")
        } else {
            continue;
        };
        let first = scheme.statements.iter().find(|statement| {
            matches!(statement.action, Action::Assign { block, .. } if scheme.blocks[block].name == *name)
        });
        return Err(match first {
            Some(statement) => scheme.error(statement, what),
            None => Error::Scheme {
                scheme: scheme.file.clone(),
                line: 1,
                statement: format!("the header, {name}"),
                what,
            },
        });
    }
    Ok(())
}

struct Checker<'a> {
    scheme: &'a Scheme,
    widths: Vec<Option<Width>>,
}

impl Checker<'_> {
    fn statement(&mut self, statement: &Statement) -> Result<()> {
        let refuse = |what: String| Err(self.scheme.error(statement, what));
        let width = self.width(statement, statement.action.value())?;
        match &statement.action {
            Action::Maximum(_) => {
                if width != Width::Scalar {
                    return refuse(format!(
                        "`reduce max` takes one value per voxel, not {}",
                        width.text()
                    ));
                }
                let first = self.scheme.statements.iter().find(|other| {
                    matches!(other.action, Action::Maximum(_)) && other.line != statement.line
                });
                if let Some(first) = first.filter(|first| first.line < statement.line) {
                    return refuse(format!(
                        "a kernel has one `reduce max`, and line {} has it: reduce max(A, B)",
                        first.line
                    ));
                }
                Ok(())
            }
            Action::Assign { block, faces, over, .. } => {
                let name = &self.scheme.blocks[*block].name;
                if *block == INPUT {
                    return refuse(format!("{name} is the input: assign another block"));
                }
                if self.widths[*block].is_some() {
                    return refuse(format!(
                        "{name} is assigned a second time: every block is assigned once, so give this \
                         value a name of its own"
                    ));
                }
                if *faces && !statement.directional {
                    return refuse(
                        "faces have a direction: `at faces` belongs inside `for each direction`"
                            .into(),
                    );
                }
                if *block == OUTPUT {
                    if statement.directional {
                        return refuse(format!(
                            "the output {name} is assigned once for all directions: sum a directional \
                             block into it, `{name} = ... + sum(C)`"
                        ));
                    }
                    if over.is_some() || *faces {
                        return refuse(format!(
                            "the output {name} holds the voxels of the patch: leave out its range"
                        ));
                    }
                    if width != Width::Evolved {
                        return refuse(format!(
                            "the output takes the N evolved unknowns, and this has {}: {}",
                            width.text(),
                            if width == Width::All {
                                "write evolved(...)"
                            } else {
                                "give it unknowns"
                            }
                        ));
                    }
                }
                if self.scheme.blocks[*block].directional != statement.directional {
                    return refuse(format!("{name} belongs inside `for each direction`"));
                }
                let step = *block == OUTPUT && self.scheme.output == Output::Step;
                self.widths[*block] = Some(if step { Width::All } else { width });
                Ok(())
            }
        }
    }

    fn width(&self, statement: &Statement, value: &Expression) -> Result<Width> {
        let refuse = |what: String| Err(self.scheme.error(statement, what));
        let own = |value: &Expression| self.width(statement, value);
        match value {
            Expression::Number(number) if !number.is_finite() => {
                refuse(format!("{number} is no number"))
            }
            Expression::Number(_) | Expression::Parameter(_) | Expression::TimeStep => {
                Ok(Width::Scalar)
            }
            Expression::Spacing => {
                if statement.directional {
                    Ok(Width::Scalar)
                } else {
                    refuse("dx(n) needs a direction: use it inside `for each direction`".into())
                }
            }
            Expression::Block(block, shift) => {
                let width = self.known(statement, *block)?;
                let name = &self.scheme.blocks[*block].name;
                if self.scheme.blocks[*block].directional && !statement.directional {
                    return refuse(format!(
                        "{name} has an instance per direction: write sum({name}) or maximum({name}), or \
                         use it inside `for each direction`"
                    ));
                }
                if *shift != 0 && !statement.directional {
                    return refuse(format!(
                        "{name}[{shift:+}] has no direction to shift along: use it inside `for each \
                         direction`"
                    ));
                }
                Ok(width)
            }
            Expression::Each(block) | Expression::Sum(block) | Expression::Largest(block) => {
                let width = self.known(statement, *block)?;
                if self.scheme.blocks[*block].directional {
                    Ok(width)
                } else {
                    let name = &self.scheme.blocks[*block].name;
                    refuse(format!("{name} has one instance only: assign it in `for each direction`"))
                }
            }
            Expression::Unary(_, a) => own(a),
            Expression::Binary(_, a, b) | Expression::Has(_, a, b) => {
                match (own(a)?, own(b)?) {
                    (Width::Scalar, other) | (other, Width::Scalar) => Ok(other),
                    (a, b) if a == b => Ok(a),
                    _ => refuse(
                        "N evolved unknowns meet all N + M: write evolved(...) around what has all, or \
                         complete(...) around what has the evolved ones"
                            .into(),
                    ),
                }
            }
            Expression::Evolved(a) => match own(a)? {
                Width::Scalar => refuse("evolved(...) takes unknowns, not one value".into()),
                _ => Ok(Width::Evolved),
            },
            Expression::Complete(a) => {
                let mut shifted = false;
                a.walk(&mut |inner| shifted |= matches!(inner, Expression::Block(_, 1.. | ..=-1)));
                if shifted && !matches!(**a, Expression::Block(..)) {
                    return refuse(
                        "complete(...) of shifted blocks: complete each, as in complete(U[+1])".into(),
                    );
                }
                match own(a)? {
                    Width::Evolved => Ok(Width::All),
                    Width::Scalar => refuse("complete(...) takes unknowns, not one value".into()),
                    Width::All => refuse("this has all unknowns: leave out complete(...)".into()),
                }
            }
            Expression::Call(term, arguments) => self.call(statement, *term, arguments),
            Expression::Apply(_, block) => {
                if !statement.directional {
                    return refuse(
                        "apply(..., n) needs a direction: use it inside `for each direction`".into(),
                    );
                }
                self.known(statement, *block)
            }
        }
    }

    fn known(&self, statement: &Statement, block: usize) -> Result<Width> {
        self.widths[block].ok_or_else(|| {
            let name = &self.scheme.blocks[block].name;
            self.scheme.error(
                statement,
                format!("{name} is used before it is assigned: move its statement up"),
            )
        })
    }

    fn call(&self, statement: &Statement, term: Term, arguments: &[Expression]) -> Result<Width> {
        let refuse = |what: String| Err(self.scheme.error(statement, what));
        let Some(form) = form(term) else {
            return refuse(format!("{} is for drivers, not for schemes", term.name()));
        };
        let directional = term.directional();
        if directional && !statement.directional {
            return refuse(format!(
                "{} needs a direction: call it inside `for each direction`",
                term.name()
            ));
        }
        let count = form.matches(',').count() + 1 - usize::from(directional);
        if arguments.len() != count {
            return refuse(format!("{} is called as {form}", term.name()));
        }
        for (place, argument) in arguments.iter().enumerate() {
            let slopes = term == Term::Rhs && place == 1;
            if slopes != matches!(argument, Expression::Each(_)) {
                return refuse(format!(
                    "{} is called as {form}{}",
                    term.name(),
                    if slopes { ", D a block of `for each direction`" } else { "" }
                ));
            }
            let width = self.width(statement, argument)?;
            if width != Width::All {
                return refuse(format!(
                    "{} takes all N + M unknowns, and argument {} has {}{}",
                    term.name(),
                    place + 1,
                    width.text(),
                    if width == Width::Evolved { ": write complete(...)" } else { "" }
                ));
            }
        }
        Ok(if term == Term::Eigenvalue { Width::Scalar } else { Width::Evolved })
    }
}

/// How a scheme calls a term.
pub(crate) const fn form(term: Term) -> Option<&'static str> {
    Some(match term {
        Term::Flux => "flux(Q, n)",
        Term::Ncp => "ncp(Q, D, n)",
        Term::Source => "source(Q)",
        Term::Eigenvalue => "eigenvalue(Q, n)",
        Term::Rhs => "rhs(Q, D)",
        Term::Face => "face(QL, QR, n)",
        Term::Post => "post(Q)",
        Term::Initial | Term::Exact => return None,
    })
}
