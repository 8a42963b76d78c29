//! A scheme: the numerics of a kernel, whatever the physics, the dimension and the size of a patch.
//!
//! A scheme assigns blocks of data, each once. A block may be directional, with an instance per axis;
//! within such a statement an index shift (`Q[+1]`) is along the statement's direction. Ranges of
//! blocks follow from their uses, or are stated. [`Builder`] makes a scheme in Rust, [`crate::text`]
//! reads one from a file; both give the same [`Scheme`].

mod build;
mod check;
mod print;

pub(crate) use build::calls_face;
pub use build::{
    Block, Builder, MatrixHandle, abs, apply, complete, dt, dx, eigenvalue, evolved, face, flux,
    has, max, maximum, min, ncp, post, rhs, source, sqrt, sum,
};
pub use check::Width;
pub(crate) use check::{form as call_form, widths};
pub(crate) use print::{
    AXES, BINARY, UNARY, expanded as expanded_text, statement as statement_text,
};

use crate::graph::{Binary, Unary};
use crate::kernel::Output;
use crate::matrix::Generator;
use crate::physics::{Parameter, Term};
use crate::ranges::Margin;

/// Place of the input among the blocks of a scheme.
pub const INPUT: usize = 0;

/// Place of the output among the blocks of a scheme.
pub const OUTPUT: usize = 1;

/// Largest halo, voxels.
pub const LARGEST_HALO: u16 = 16;

/// Numerics in single-assignment form.
#[derive(Debug, Clone)]
pub struct Scheme {
    /// Name: an identifier.
    pub name: String,
    /// Name in messages: the file's, or the scheme's where it was built in Rust.
    pub file: String,
    /// Halo voxels that the input has on each side.
    pub halo: u16,
    /// What the output is.
    pub output: Output,
    /// Run-time parameters of the scheme.
    pub parameters: Vec<Parameter>,
    /// Matrices that are applied along axes.
    pub matrices: Vec<MatrixSource>,
    /// Input, output, then temporaries in the order of their assignment.
    pub blocks: Vec<Declaration>,
    /// Statements in order.
    pub statements: Vec<Statement>,
}

impl PartialEq for Scheme {
    /// Equal numerics; where they were written does not count.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.halo == other.halo
            && self.output == other.output
            && self.parameters == other.parameters
            && self.matrices == other.matrices
            && self.blocks == other.blocks
            && self.statements == other.statements
    }
}

/// A named matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixSource {
    /// Name.
    pub name: String,
    /// How its entries follow.
    pub generator: Generator,
}

/// A block of a scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// Name.
    pub name: String,
    /// Whether there is one instance per axis.
    pub directional: bool,
}

/// A statement.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Line in the text, or the statement's number in a builder, from 1.
    pub line: u32,
    /// Whether it holds for each direction.
    pub directional: bool,
    /// What it does.
    pub action: Action,
}

impl PartialEq for Statement {
    /// Equal but for the line.
    fn eq(&self, other: &Self) -> bool {
        self.directional == other.directional && self.action == other.action
    }
}

/// What a statement does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Assigns a block.
    Assign {
        /// Which.
        block: usize,
        /// Whether the value at voxel i stands for the face between i and i + 1.
        faces: bool,
        /// Stated range along the direction (or, one at a time, along every axis).
        over: Option<Margin>,
        /// Value.
        value: Expression,
    },
    /// The largest value over voxels (and directions) is the patch's largest eigenvalue.
    Maximum(Expression),
}

impl Action {
    /// The expression.
    #[must_use]
    pub const fn value(&self) -> &Expression {
        match self {
            Self::Assign { value, .. } | Self::Maximum(value) => value,
        }
    }
}

/// An expression, element by element.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// Parameter of the scheme, by place.
    Parameter(usize),
    /// Time step, s.
    TimeStep,
    /// Width of a voxel along the direction, m.
    Spacing,
    /// A block, so many voxels along the direction.
    Block(usize, i8),
    /// All instances of a directional block: the slopes of [`Term::Rhs`].
    Each(usize),
    /// Sum of the instances of a directional block, x, y, z.
    Sum(usize),
    /// Largest of the instances of a directional block.
    Largest(usize),
    /// Function of one value.
    Unary(Unary, Box<Expression>),
    /// Function of two values.
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// The N evolved unknowns.
    Evolved(Box<Expression>),
    /// N evolved unknowns with the fixed ones of the input at the same voxel.
    Complete(Box<Expression>),
    /// A term of the physics.
    Call(Term, Vec<Expression>),
    /// A matrix applied to a block along the direction.
    Apply(usize, usize),
    /// The first where the physics has the term, else the second.
    Has(Term, Box<Expression>, Box<Expression>),
}

impl Expression {
    /// Calls `visit` for this expression and all within.
    pub fn walk(&self, visit: &mut impl FnMut(&Self)) {
        visit(self);
        match self {
            Self::Unary(_, a) | Self::Evolved(a) | Self::Complete(a) => a.walk(visit),
            Self::Binary(_, a, b) | Self::Has(_, a, b) => {
                a.walk(visit);
                b.walk(visit);
            }
            Self::Call(_, arguments) => arguments.iter().for_each(|a| a.walk(visit)),
            _ => {}
        }
    }
}

impl Scheme {
    /// Checks a scheme: names, single assignment, widths, shifts, ranges.
    ///
    /// # Errors
    /// [`crate::Error::Scheme`] with the statement that breaks a rule.
    pub fn check(&self) -> crate::Result<()> {
        check::check(self)?;
        crate::ranges::infer(self, crate::ranges::Unused::Interior, 3).map(|_| ())
    }

    /// Whether the largest eigenvalue is reduced.
    #[must_use]
    pub fn speeds(&self) -> bool {
        self.statements.iter().any(|statement| matches!(statement.action, Action::Maximum(_)))
    }

    /// The error of a statement.
    pub(crate) fn error(&self, statement: &Statement, what: impl Into<String>) -> crate::Error {
        crate::Error::Scheme {
            scheme: self.file.clone(),
            line: statement.line,
            statement: statement_text(self, statement),
            what: what.into(),
        }
    }
}
