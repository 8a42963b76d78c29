//! Arithmetic on f64 as a graph: every value once, in an order in which it can be computed.
//!
//! Physics written in C and numerics written as a scheme both become nodes of one graph, so that what
//! two terms share (a pressure, an inverse metric) is computed once. Equal nodes are one node
//! (hash-consing); nothing is reassociated, so that every target gives the same bits as long as it
//! does not contract `a * b + c`.
//!
//! The one liberty: a factor that is literally zero gives zero, and a literal zero added gives the
//! other operand. Results differ from plain C at most in the sign of a zero, and where the other
//! factor is not finite.

mod numbers;
mod walks;

use std::collections::HashMap;

pub(crate) use numbers::compare;
pub use numbers::{apply_binary, apply_unary};
pub use walks::Flops;

/// A node of a [`Graph`], by its place in computing order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);

impl Value {
    /// Place in [`Graph::nodes`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Block of data, by its place in the kernel's list: 0 is the input, 1 the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u16);

/// Where along an axis a value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coordinate {
    /// So many voxels from the voxel in work.
    Shift(i8),
    /// At this index of the patch, whatever the voxel in work (a column of a matrix).
    At(i16),
}

/// What a graph starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Leaf {
    /// Argument of a function, by its place; only in a [`Function`].
    Argument(u16),
    /// Parameter, by its place: of the physics in a [`Function`], of [`crate::Kernel::parameters`] in
    /// a kernel.
    Parameter(u16),
    /// An unknown of a block, axes (x, y, z).
    Load {
        /// Block that is read.
        block: BlockId,
        /// Unknown within the voxel.
        unknown: u16,
        /// Where, per axis.
        at: [Coordinate; 3],
    },
    /// Entry of a matrix: the row is the voxel's index along `axis`.
    Coefficient {
        /// Matrix, by its place in the kernel's list.
        matrix: u16,
        /// Axis of the row index.
        axis: u8,
        /// Column.
        column: u16,
    },
    /// Width of a voxel along an axis, m.
    Spacing(u8),
    /// Coordinate of the voxel's centre along an axis plus so many half widths, m.
    Position {
        /// Axis.
        axis: u8,
        /// Offset in half voxels.
        halves: i8,
    },
    /// Time at the start of the step, s.
    Time,
    /// Time step, s.
    TimeStep,
}

/// Functions of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unary {
    /// `-a`
    Negate,
    /// `fabs(a)`
    Absolute,
    /// `sqrt(a)`
    SquareRoot,
    /// `cbrt(a)`
    CubeRoot,
    /// `exp(a)`
    Exponential,
    /// `log(a)`
    Logarithm,
    /// `sin(a)`
    Sine,
    /// `cos(a)`
    Cosine,
    /// `tan(a)`
    Tangent,
    /// `atan(a)`
    ArcTangent,
    /// `sinh(a)`
    HyperbolicSine,
    /// `cosh(a)`
    HyperbolicCosine,
    /// `tanh(a)`
    HyperbolicTangent,
    /// `floor(a)`
    Floor,
}

/// Functions of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Binary {
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a * b`
    Multiply,
    /// `a / b`
    Divide,
    /// `a < b ? a : b`: on every target the same, also for zeros and NaN
    Minimum,
    /// `a > b ? a : b`
    Maximum,
    /// `pow(a, b)`
    Power,
    /// `atan2(a, b)`
    ArcTangent2,
}

/// Comparisons and logic; they give a truth value, which only [`Node::Select`] and logic take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Logic {
    /// `a < b`
    Less,
    /// `a <= b`
    LessEqual,
    /// `a == b`
    Equal,
    /// `a && b`
    And,
    /// `a || b`
    Or,
}

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Node {
    /// A number, by its bits.
    Constant(u64),
    /// A start.
    Leaf(Leaf),
    /// Function of one value.
    Unary(Unary, Value),
    /// Function of two values.
    Binary(Binary, Value, Value),
    /// A truth value.
    Logic(Logic, Value, Value),
    /// `!a` of a truth value.
    Not(Value),
    /// `c ? a : b`
    Select(Value, Value, Value),
}

impl Node {
    /// Values that this node needs, in order.
    #[must_use]
    pub fn operands(&self) -> [Option<Value>; 3] {
        match *self {
            Self::Constant(_) | Self::Leaf(_) => [None; 3],
            Self::Unary(_, a) | Self::Not(a) => [Some(a), None, None],
            Self::Binary(_, a, b) | Self::Logic(_, a, b) => [Some(a), Some(b), None],
            Self::Select(c, a, b) => [Some(c), Some(a), Some(b)],
        }
    }

    /// Whether the node gives a truth value and not a number.
    #[must_use]
    pub const fn is_truth(&self) -> bool {
        matches!(self, Self::Logic(..) | Self::Not(_))
    }
}

/// Values and how they follow from each other; operands always come before what needs them.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    places: HashMap<Node, Value>,
}

impl Graph {
    /// A graph of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All nodes, operands first.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The operation that gives a value.
    #[must_use]
    pub fn node(&self, value: Value) -> Node {
        self.nodes[value.index()]
    }

    /// Every value with its node, operands first.
    pub fn values(&self) -> impl Iterator<Item = (Value, Node)> + '_ {
        (0u32..).map(Value).zip(self.nodes.iter().copied())
    }

    /// The number, if the value is one.
    #[must_use]
    pub fn constant_of(&self, value: Value) -> Option<f64> {
        match self.node(value) {
            Node::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    fn insert(&mut self, node: Node) -> Value {
        let next = Value(u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes"));
        *self.places.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            next
        })
    }

    /// A number.
    pub fn constant(&mut self, number: f64) -> Value {
        self.insert(Node::Constant(number.to_bits()))
    }

    /// A start.
    pub fn leaf(&mut self, leaf: Leaf) -> Value {
        self.insert(Node::Leaf(leaf))
    }

    /// Function of one value.
    pub fn unary(&mut self, function: Unary, a: Value) -> Value {
        if let Some(number) = self.constant_of(a) {
            return self.constant(apply_unary(function, number));
        }
        match (function, self.node(a)) {
            (Unary::Negate, Node::Unary(Unary::Negate, inner)) => inner,
            (Unary::Absolute, Node::Unary(Unary::Negate | Unary::Absolute, inner)) => {
                self.insert(Node::Unary(Unary::Absolute, inner))
            }
            _ => self.insert(Node::Unary(function, a)),
        }
    }

    /// Function of two values.
    pub fn binary(&mut self, function: Binary, a: Value, b: Value) -> Value {
        let (left, right) = (self.constant_of(a), self.constant_of(b));
        if let (Some(left), Some(right)) = (left, right) {
            return self.constant(apply_binary(function, left, right));
        }
        let is = |side: Option<f64>, number: f64| side.is_some_and(|side| (side - number) == 0.0);
        match function {
            Binary::Add => {
                if is(left, 0.0) {
                    return b;
                }
                if is(right, 0.0) {
                    return a;
                }
                if let Some(inner) = self.negated(b) {
                    return self.binary(Binary::Subtract, a, inner);
                }
                if let Some(inner) = self.negated(a) {
                    return self.binary(Binary::Subtract, b, inner);
                }
                self.insert(Node::Binary(function, a.min(b), a.max(b)))
            }
            Binary::Subtract => {
                if is(right, 0.0) {
                    return a;
                }
                if is(left, 0.0) {
                    return self.unary(Unary::Negate, b);
                }
                if let Some(inner) = self.negated(b) {
                    return self.binary(Binary::Add, a, inner);
                }
                self.insert(Node::Binary(function, a, b))
            }
            Binary::Multiply => self.product(a, b),
            Binary::Divide => {
                if is(left, 0.0) {
                    return a;
                }
                if is(right, 1.0) {
                    return a;
                }
                if let Some(inner) = self.negated(a) {
                    let quotient = self.binary(function, inner, b);
                    return self.unary(Unary::Negate, quotient);
                }
                self.insert(Node::Binary(function, a, b))
            }
            Binary::Power => match right {
                Some(right) if is(Some(right), 1.0) => a,
                Some(right) if is(Some(right), 2.0) => self.product(a, a),
                Some(right) if is(Some(right), -1.0) => {
                    let one = self.constant(1.0);
                    self.binary(Binary::Divide, one, a)
                }
                Some(right) if is(Some(right), 0.5) => self.unary(Unary::SquareRoot, a),
                _ => self.insert(Node::Binary(function, a, b)),
            },
            Binary::Minimum | Binary::Maximum if a == b => a,
            _ => self.insert(Node::Binary(function, a, b)),
        }
    }

    fn negated(&self, value: Value) -> Option<Value> {
        match self.node(value) {
            Node::Unary(Unary::Negate, inner) => Some(inner),
            _ => None,
        }
    }

    fn product(&mut self, a: Value, b: Value) -> Value {
        for (number, other) in [(self.constant_of(a), b), (self.constant_of(b), a)] {
            match number {
                Some(0.0) => return self.constant(0.0),
                Some(1.0) => return other,
                Some(-1.0) => return self.unary(Unary::Negate, other),
                _ => {}
            }
        }
        match (self.negated(a), self.negated(b)) {
            (Some(a), Some(b)) => self.product(a, b),
            (Some(a), None) => {
                let product = self.product(a, b);
                self.unary(Unary::Negate, product)
            }
            (None, Some(b)) => {
                let product = self.product(a, b);
                self.unary(Unary::Negate, product)
            }
            (None, None) => self.insert(Node::Binary(Binary::Multiply, a.min(b), a.max(b))),
        }
    }

    /// A comparison or a connection of truth values; of constants it is decided now, as the constants
    /// 0 and 1 that [`Graph::select`] and [`Graph::not`] understand.
    pub fn logic(&mut self, logic: Logic, a: Value, b: Value) -> Value {
        let (left, right) = (self.constant_of(a), self.constant_of(b));
        match (logic, left, right) {
            (Logic::And, Some(known), _) => {
                return if known == 0.0 { self.constant(0.0) } else { b };
            }
            (Logic::And, _, Some(known)) => {
                return if known == 0.0 { self.constant(0.0) } else { a };
            }
            (Logic::Or, Some(known), _) => {
                return if known == 0.0 { b } else { self.constant(1.0) };
            }
            (Logic::Or, _, Some(known)) => {
                return if known == 0.0 { a } else { self.constant(1.0) };
            }
            (_, Some(left), Some(right)) => {
                let truth = compare(logic, left, right);
                return self.constant(f64::from(u8::from(truth)));
            }
            _ => {}
        }
        self.insert(Node::Logic(logic, a, b))
    }

    /// The opposite of a truth value.
    pub fn not(&mut self, a: Value) -> Value {
        match self.node(a) {
            Node::Constant(bits) => self.constant(f64::from(u8::from(f64::from_bits(bits) == 0.0))),
            Node::Not(inner) => inner,
            _ => self.insert(Node::Not(a)),
        }
    }

    /// `condition ? a : b`.
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        if a == b {
            return a;
        }
        match self.constant_of(condition) {
            Some(0.0) => b,
            Some(_) => a,
            None => self.insert(Node::Select(condition, a, b)),
        }
    }

    /// `a + b`.
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::Add, a, b)
    }

    /// `a - b`.
    pub fn subtract(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::Subtract, a, b)
    }

    /// `a * b`.
    pub fn multiply(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::Multiply, a, b)
    }

    /// `a / b`.
    pub fn divide(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::Divide, a, b)
    }
}

/// Values that follow from arguments: a term of the physics for one direction.
#[derive(Debug, Clone)]
pub struct Function {
    /// How they follow; leaves are arguments, parameters and (in terms that ask for them) time.
    pub graph: Graph,
    /// Results, in order.
    pub outputs: Vec<Value>,
}
