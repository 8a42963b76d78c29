//! Schemes written in Rust.
//!
//! ```
//! use temblor_patch::Output;
//! use temblor_patch::scheme::*;
//!
//! let mut k = Builder::new("lax_friedrichs", 1, Output::Step);
//! let q = k.input("Q");
//! let c = k.each_direction(|k| {
//!     let f = k.assign("F", flux(q));
//!     let damping = 0.5 * dx() / dt() * evolved(q.at(1) - q);
//!     let g = k.assign("G", 0.5 * (f + f.at(1)) - damping);
//!     k.assign("C", dt() / dx() * (g.at(-1) - g))
//! });
//! k.output("New", evolved(q) + sum(c));
//! let scheme = k.build()?;
//! # Ok::<(), temblor_patch::Error>(())
//! ```

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{Action, Declaration, Expression, INPUT, MatrixSource, OUTPUT, Scheme, Statement};
use crate::error::Result;
use crate::graph::{Binary, Unary};
use crate::kernel::Output;
use crate::matrix::Generator;
use crate::physics::{Parameter, Term};
use crate::ranges::Margin;

/// A block of a [`Builder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block(usize);

impl Block {
    /// The block, so many voxels along the direction.
    #[must_use]
    pub const fn at(self, shift: i8) -> Expression {
        Expression::Block(self.0, shift)
    }
}

/// A matrix of a [`Builder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixHandle(usize);

/// Collects the statements of a scheme.
#[derive(Debug)]
pub struct Builder {
    scheme: Scheme,
    inside: bool,
}

impl Builder {
    /// A scheme without statements; `halo` in voxels.
    #[must_use]
    pub fn new(name: &str, halo: u16, output: Output) -> Self {
        let block = |name: &str| Declaration { name: name.into(), directional: false };
        Self {
            scheme: Scheme {
                name: name.into(),
                file: name.into(),
                halo,
                output,
                parameters: Vec::new(),
                matrices: Vec::new(),
                blocks: vec![block("Q"), block("New")],
                statements: Vec::new(),
            },
            inside: false,
        }
    }

    /// Names the input.
    pub fn input(&mut self, name: &str) -> Block {
        self.scheme.blocks[INPUT].name = name.into();
        Block(INPUT)
    }

    /// A run-time parameter of the scheme.
    pub fn parameter(&mut self, name: &str, default: f64) -> Expression {
        self.scheme.parameters.push(Parameter { name: name.into(), integer: false, default });
        Expression::Parameter(self.scheme.parameters.len() - 1)
    }

    /// A matrix for [`apply`].
    pub fn matrix(&mut self, name: &str, generator: Generator) -> MatrixHandle {
        self.scheme.matrices.push(MatrixSource { name: name.into(), generator });
        MatrixHandle(self.scheme.matrices.len() - 1)
    }

    /// Assigns a block.
    pub fn assign(&mut self, name: &str, value: impl Into<Expression>) -> Block {
        self.push(name, false, None, value.into())
    }

    /// Assigns a block whose value at voxel i stands for the face between i and i + 1.
    pub fn assign_at_faces(&mut self, name: &str, value: impl Into<Expression>) -> Block {
        self.push(name, true, None, value.into())
    }

    /// Assigns a block on a stated range, voxels `low .. p + high`.
    pub fn assign_over(&mut self, name: &str, over: Margin, value: impl Into<Expression>) -> Block {
        self.push(name, false, Some(over), value.into())
    }

    /// Assigns the output.
    pub fn output(&mut self, name: &str, value: impl Into<Expression>) -> Block {
        self.scheme.blocks[OUTPUT].name = name.into();
        self.push(name, false, None, value.into())
    }

    /// Statements for each direction.
    pub fn each_direction<R>(&mut self, body: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.inside, true);
        let result = body(self);
        self.inside = outer;
        result
    }

    /// Makes the largest value over voxels (and directions) the patch's largest eigenvalue.
    pub fn reduce_max(&mut self, value: impl Into<Expression>) {
        self.statement(Action::Maximum(value.into()));
    }

    /// The scheme, checked.
    ///
    /// # Errors
    /// [`crate::Error::Scheme`] with the statement that breaks a rule; its line is its number.
    pub fn build(self) -> Result<Scheme> {
        self.scheme.check()?;
        Ok(self.scheme)
    }

    fn push(&mut self, name: &str, faces: bool, over: Option<Margin>, value: Expression) -> Block {
        let known = self.scheme.blocks.iter().position(|block| block.name == name);
        let block = known.unwrap_or_else(|| {
            let directional = self.inside;
            self.scheme.blocks.push(Declaration { name: name.into(), directional });
            self.scheme.blocks.len() - 1
        });
        let faces = faces || calls_face(&value);
        self.statement(Action::Assign { block, faces, over, value });
        Block(block)
    }

    fn statement(&mut self, action: Action) {
        let line = u32::try_from(self.scheme.statements.len() + 1).unwrap_or(u32::MAX);
        self.scheme.statements.push(Statement { line, directional: self.inside, action });
    }
}

/// Whether a face function is called, so that the statement is at faces.
pub(crate) fn calls_face(value: &Expression) -> bool {
    let mut found = false;
    value.walk(&mut |inner| found |= matches!(inner, Expression::Call(Term::Face, _)));
    found
}

/// Time step, s.
#[must_use]
pub const fn dt() -> Expression {
    Expression::TimeStep
}

/// Width of a voxel along the direction, m.
#[must_use]
pub const fn dx() -> Expression {
    Expression::Spacing
}

/// F(Q) along the direction.
pub fn flux(q: impl Into<Expression>) -> Expression {
    Expression::Call(Term::Flux, vec![q.into()])
}

/// B(Q) D along the direction.
pub fn ncp(q: impl Into<Expression>, d: impl Into<Expression>) -> Expression {
    Expression::Call(Term::Ncp, vec![q.into(), d.into()])
}

/// S(Q).
pub fn source(q: impl Into<Expression>) -> Expression {
    Expression::Call(Term::Source, vec![q.into()])
}

/// Fastest speed along the direction, m/s.
pub fn eigenvalue(q: impl Into<Expression>) -> Expression {
    Expression::Call(Term::Eigenvalue, vec![q.into()])
}

/// The whole right-hand side from the derivatives along all directions.
pub fn rhs(q: impl Into<Expression>, slopes: Block) -> Expression {
    Expression::Call(Term::Rhs, vec![q.into(), Expression::Each(slopes.0)])
}

/// Numerical flux through a face, from both sides.
pub fn face(left: impl Into<Expression>, right: impl Into<Expression>) -> Expression {
    Expression::Call(Term::Face, vec![left.into(), right.into()])
}

/// The evolved unknowns with constraints enforced; as they are where the physics has no `post`.
pub fn post(q: impl Into<Expression>) -> Expression {
    Expression::Call(Term::Post, vec![q.into()])
}

/// The N evolved unknowns.
pub fn evolved(q: impl Into<Expression>) -> Expression {
    Expression::Evolved(Box::new(q.into()))
}

/// N evolved unknowns with the fixed ones of the input.
pub fn complete(q: impl Into<Expression>) -> Expression {
    Expression::Complete(Box::new(q.into()))
}

/// Sum of a directional block's instances, x, y, z.
#[must_use]
pub const fn sum(block: Block) -> Expression {
    Expression::Sum(block.0)
}

/// Largest of a directional block's instances.
#[must_use]
pub const fn maximum(block: Block) -> Expression {
    Expression::Largest(block.0)
}

/// A matrix applied to a block along the direction.
#[must_use]
pub const fn apply(matrix: MatrixHandle, block: Block) -> Expression {
    Expression::Apply(matrix.0, block.0)
}

/// The first where the physics has the term, else the second.
pub fn has(term: Term, yes: impl Into<Expression>, no: impl Into<Expression>) -> Expression {
    Expression::Has(term, Box::new(yes.into()), Box::new(no.into()))
}

/// Larger of two values.
pub fn max(a: impl Into<Expression>, b: impl Into<Expression>) -> Expression {
    binary(Binary::Maximum, a.into(), b.into())
}

/// Smaller of two values.
pub fn min(a: impl Into<Expression>, b: impl Into<Expression>) -> Expression {
    binary(Binary::Minimum, a.into(), b.into())
}

/// Square root.
pub fn sqrt(a: impl Into<Expression>) -> Expression {
    Expression::Unary(Unary::SquareRoot, Box::new(a.into()))
}

/// Absolute value.
pub fn abs(a: impl Into<Expression>) -> Expression {
    Expression::Unary(Unary::Absolute, Box::new(a.into()))
}

fn binary(function: Binary, a: Expression, b: Expression) -> Expression {
    Expression::Binary(function, Box::new(a), Box::new(b))
}

impl From<Block> for Expression {
    fn from(block: Block) -> Self {
        block.at(0)
    }
}

impl From<f64> for Expression {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $function:expr) => {
        impl<T: Into<Expression>> $trait<T> for Expression {
            type Output = Expression;
            fn $method(self, other: T) -> Expression {
                binary($function, self, other.into())
            }
        }
        impl<T: Into<Expression>> $trait<T> for Block {
            type Output = Expression;
            fn $method(self, other: T) -> Expression {
                binary($function, self.into(), other.into())
            }
        }
        impl $trait<Expression> for f64 {
            type Output = Expression;
            fn $method(self, other: Expression) -> Expression {
                binary($function, self.into(), other)
            }
        }
        impl $trait<Block> for f64 {
            type Output = Expression;
            fn $method(self, other: Block) -> Expression {
                binary($function, self.into(), other.into())
            }
        }
    };
}

operator!(Add, add, Binary::Add);
operator!(Sub, sub, Binary::Subtract);
operator!(Mul, mul, Binary::Multiply);
operator!(Div, div, Binary::Divide);

impl Neg for Expression {
    type Output = Self;
    fn neg(self) -> Self {
        match self {
            Self::Number(number) => Self::Number(-number),
            other => Self::Unary(Unary::Negate, Box::new(other)),
        }
    }
}
