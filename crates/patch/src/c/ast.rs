//! The C text as read: names resolved, every expression with its type, lines kept for messages.
//!
//! Assignments are statements here, never parts of expressions, so that an expression has one value
//! whatever the order of evaluation.

use crate::graph::{Binary, Unary};

/// What is wrong with the text, and where.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// Line, from 1.
    pub(crate) line: u32,
    /// What is wrong and what to write instead.
    pub(crate) what: String,
}

/// Result of reading or running the text.
pub(crate) type Outcome<T> = Result<T, Fault>;

/// A fault at a line.
pub(crate) fn fault<T>(line: u32, what: impl Into<String>) -> Outcome<T> {
    Err(Fault { line, what: what.into() })
}

/// Types of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    /// `int`
    Int,
    /// `double`
    Double,
}

impl Scalar {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Double => "double",
        }
    }
}

/// Operators on two numbers of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Left,
    Right,
    BitAnd,
    BitOr,
    BitXor,
    Less,
    LessEqual,
    Equal,
    NotEqual,
}

impl Op {
    /// Whether the operator compares: its result is a truth value of type `int`.
    pub(crate) const fn compares(self) -> bool {
        matches!(self, Self::Less | Self::LessEqual | Self::Equal | Self::NotEqual)
    }

    /// Whether the operator is for integers alone.
    pub(crate) const fn integral(self) -> bool {
        matches!(
            self,
            Self::Remainder | Self::Left | Self::Right | Self::BitAnd | Self::BitOr | Self::BitXor
        )
    }
}

/// An expression.
#[derive(Debug, Clone)]
pub(crate) struct Expr {
    pub(crate) kind: Kind,
    pub(crate) ty: Scalar,
    pub(crate) line: u32,
}

impl Expr {
    /// A chain of operators, `((a + b) - c) * d`: its first operand, then operators with the others.
    /// A sum of thousands of terms is no deep expression so.
    pub(crate) fn chain(&self) -> (&Self, Vec<(Op, &Self, u32)>) {
        let (mut first, mut rest) = (self, Vec::new());
        while let Kind::Binary(op, sides) = &first.kind {
            rest.push((*op, &sides[1], first.line));
            first = &sides[0];
        }
        rest.reverse();
        (first, rest)
    }
}

/// Kinds of expressions.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Int(i64),
    Real(f64),
    Load(Place),
    /// Member of the parameters, by its place.
    Member(usize),
    Negate(Box<Expr>),
    /// `!a`
    Not(Box<Expr>),
    /// `~a`
    Complement(Box<Expr>),
    /// Both operands have one type.
    Binary(Op, Box<[Expr; 2]>),
    And(Box<[Expr; 2]>),
    Or(Box<[Expr; 2]>),
    /// `c ? a : b`
    Choose(Box<[Expr; 3]>),
    /// To the expression's own type.
    Convert(Box<Expr>),
    Function(Unary, Box<Expr>),
    Function2(Binary, Box<[Expr; 2]>),
    Call(usize, Vec<Argument>),
}

/// Where a variable lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    /// Variable of the function, by its place in [`Function::variables`].
    Local(usize),
    /// Constant of the file, by its place in [`Unit::globals`].
    Global(usize),
}

/// A number in memory: a variable, or an element of an array (as many indices as dimensions).
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) base: Base,
    pub(crate) indices: Vec<Expr>,
    pub(crate) line: u32,
}

/// What a call passes.
#[derive(Debug, Clone)]
pub(crate) enum Argument {
    /// A number.
    Value(Expr),
    /// An array, a row of one, or the rest of one from an offset (in units of what is pointed to).
    Array { base: Base, indices: Vec<Expr>, offset: Option<Expr>, line: u32 },
    /// The parameters.
    Parameters,
}

/// A variable of a function.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) ty: Scalar,
    /// Sizes; the first of a pointer is what its declaration says, or 0.
    pub(crate) dims: Vec<usize>,
    /// Whether it is a pointer that the caller aims.
    pub(crate) pointer: bool,
    /// Whether it may not be written.
    pub(crate) constant: bool,
    pub(crate) line: u32,
}

impl Variable {
    /// Numbers that it holds.
    pub(crate) fn len(&self) -> usize {
        self.dims.iter().product()
    }
}

/// Parameter of a function.
#[derive(Debug, Clone)]
pub(crate) enum Formal {
    /// A number or a pointer to numbers: this variable.
    Variable(usize),
    /// Pointer to the parameters of the physics.
    Parameters { name: String, line: u32 },
}

/// A function.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// `None` is void.
    pub(crate) result: Option<Scalar>,
    pub(crate) formals: Vec<Formal>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) body: Vec<Statement>,
    pub(crate) line: u32,
}

/// A number known when the text is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    Real(f64),
}

impl Number {
    /// As a `double`.
    #[allow(clippy::cast_precision_loss, reason = "an int of C has 32 bits")]
    pub(crate) fn real(self) -> f64 {
        match self {
            Self::Int(number) => number as f64,
            Self::Real(number) => number,
        }
    }
}

/// A `static const`.
#[derive(Debug, Clone)]
pub(crate) struct Global {
    pub(crate) name: String,
    pub(crate) ty: Scalar,
    pub(crate) dims: Vec<usize>,
    pub(crate) values: Vec<Number>,
}

/// Value that a declaration gives.
#[derive(Debug, Clone)]
pub(crate) enum Initial {
    /// None.
    Nothing,
    /// Of a number.
    Scalar(Expr),
    /// Of an array: elements by their place, zero elsewhere.
    List(Vec<(usize, Expr)>),
}

/// A statement.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) act: Act,
    pub(crate) line: u32,
}

/// Kinds of statements.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Declare(usize, Initial),
    Assign(Place, Expr),
    /// A call for what it writes.
    Call(usize, Vec<Argument>),
    If(Expr, Vec<Statement>, Vec<Statement>),
    /// `for`, `while` and `do`; `first` says whether the condition is asked before the first turn.
    Loop {
        initial: Vec<Statement>,
        condition: Option<Expr>,
        step: Vec<Statement>,
        body: Vec<Statement>,
        first: bool,
    },
    Block(Vec<Statement>),
    Break,
    Continue,
    Return(Option<Expr>),
}

/// Member of the parameters.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) ty: Scalar,
}

/// An enumeration: its name and constants.
#[derive(Debug, Clone)]
pub(crate) struct Enumeration {
    pub(crate) name: String,
    pub(crate) constants: Vec<(String, i64, u32)>,
    pub(crate) line: u32,
}

/// A C text as read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unit {
    pub(crate) enumerations: Vec<Enumeration>,
    pub(crate) members: Vec<Member>,
    pub(crate) defaults: Vec<Number>,
    pub(crate) globals: Vec<Global>,
    pub(crate) functions: Vec<Function>,
}
