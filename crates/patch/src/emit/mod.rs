//! What all emitters share: values of a graph as scalars of C, one statement each.
//!
//! Every target prints the same operations in the same grouping, so that results differ only where a
//! compiler contracts `a * b + c` or a library function rounds otherwise. A value is named by its
//! place in the graph: `u17` where it is *uniform* (the same for every voxel of a patch, computed once
//! per patch), `v17` where it varies; constants stand where they are used.

pub mod c;
pub mod gpu;

use std::fmt::Write as _;

use crate::graph::{Binary, Coordinate, Graph, Leaf, Logic, Node, Unary, Value};
use crate::kernel::{Block, Kernel};

/// How a target writes a start of the graph, as an expression; uniform ones too.
pub trait Leaves {
    /// Expression of a leaf.
    fn leaf(&self, leaf: Leaf) -> String;
}

impl<F: Fn(Leaf) -> String> Leaves for F {
    fn leaf(&self, leaf: Leaf) -> String {
        self(leaf)
    }
}

/// Prints values of a graph.
#[derive(Debug)]
pub struct Scalars<'a> {
    graph: &'a Graph,
    uniform: Vec<bool>,
}

impl<'a> Scalars<'a> {
    /// A printer for a graph.
    #[must_use]
    pub fn new(graph: &'a Graph) -> Self {
        Self { graph, uniform: uniform(graph) }
    }

    /// The graph.
    #[must_use]
    pub const fn graph(&self) -> &'a Graph {
        self.graph
    }

    /// Whether a value is the same for every voxel of a patch.
    #[must_use]
    pub fn is_uniform(&self, value: Value) -> bool {
        self.uniform[value.index()]
    }

    /// How a value is written where it is used: a constant, or its name.
    #[must_use]
    pub fn operand(&self, value: Value) -> String {
        match self.graph.node(value) {
            Node::Constant(bits) => literal(f64::from_bits(bits)),
            _ if self.is_uniform(value) => format!("u{}", value.index()),
            _ => format!("v{}", value.index()),
        }
    }

    /// The operation that gives a value, from its operands' names.
    #[must_use]
    pub fn expression(&self, value: Value, leaves: &dyn Leaves) -> String {
        self.expression_of(value, leaves, &|operand| self.operand(operand))
    }

    /// The operation that gives a value, from its operands as `at` names them.
    #[must_use]
    pub fn expression_of(
        &self,
        value: Value,
        leaves: &dyn Leaves,
        at: &dyn Fn(Value) -> String,
    ) -> String {
        expression(self.graph, value, leaves, at)
    }

    /// `const double v17 = ...;`
    #[must_use]
    pub fn statement(&self, value: Value, leaves: &dyn Leaves) -> String {
        let kind = if self.graph.node(value).is_truth() { "int" } else { "double" };
        format!("const {kind} {} = {};", self.operand(value), self.expression(value, leaves))
    }

    /// Statements for values in the order given, a line each; constants need none.
    #[must_use]
    pub fn statements(&self, values: &[Value], indent: usize, leaves: &dyn Leaves) -> String {
        let mut text = String::new();
        for &value in values {
            if !matches!(self.graph.node(value), Node::Constant(_)) {
                let statement = self.statement(value, leaves);
                writeln!(text, "{:indent$}{statement}", "").expect("a string takes all");
            }
        }
        text
    }
}

/// For every node whether it depends on no load, no matrix row and no position: such a value is the
/// same for every voxel of a patch.
#[must_use]
pub fn uniform(graph: &Graph) -> Vec<bool> {
    let mut uniform = vec![true; graph.nodes().len()];
    for (value, node) in graph.values() {
        uniform[value.index()] = match node {
            Node::Leaf(
                Leaf::Load { .. }
                | Leaf::Coefficient { .. }
                | Leaf::Position { .. }
                | Leaf::Argument(_),
            ) => false,
            _ => node.operands().into_iter().flatten().all(|operand| uniform[operand.index()]),
        };
    }
    uniform
}

/// The values that `outputs` need in an order that keeps few of them alive: depth first from each
/// output, the operand that needs more nodes first. The graph's own order, in contrast, follows how
/// it was built.
#[must_use]
pub fn depth_first(graph: &Graph, outputs: &[Value]) -> Vec<Value> {
    depth_first_until(graph, outputs, &|_| false)
}

/// As [`depth_first`], taking values for which `known` holds as given: they come without what they
/// need.
#[must_use]
pub fn depth_first_until(
    graph: &Graph,
    outputs: &[Value],
    known: &dyn Fn(Value) -> bool,
) -> Vec<Value> {
    let mut weight = vec![1u32; graph.nodes().len()];
    for (value, node) in graph.values() {
        let sum = node.operands().into_iter().flatten().map(|o| weight[o.index()]);
        weight[value.index()] = sum.fold(1u32, u32::saturating_add);
    }
    let mut done = vec![false; graph.nodes().len()];
    let mut order = Vec::new();
    // An explicit stack: a graph may be deeper than the machine's.
    let mut stack: Vec<(Value, bool)> = Vec::new();
    for &output in outputs {
        stack.push((output, false));
        while let Some((value, ready)) = stack.pop() {
            if done[value.index()] {
                continue;
            }
            if ready {
                done[value.index()] = true;
                order.push(value);
                continue;
            }
            stack.push((value, true));
            if known(value) {
                continue;
            }
            let mut operands: Vec<Value> =
                graph.node(value).operands().into_iter().flatten().collect();
            operands.sort_by_key(|operand| weight[operand.index()]);
            stack.extend(operands.into_iter().map(|operand| (operand, false)));
        }
    }
    order
}

/// The values that `outputs` need in the graph's own order.
#[must_use]
pub fn graph_order(graph: &Graph, outputs: &[Value]) -> Vec<Value> {
    let needed = graph.reachable(outputs);
    graph.values().map(|(value, _)| value).filter(|value| needed[value.index()]).collect()
}

/// Steps from a voxel to the next along each axis of a block in its own layout, values.
#[must_use]
pub fn strides(block: &Block) -> [i64; 3] {
    let extent = |axis: usize| i64::from(block.high[axis] - block.low[axis]);
    let width = i64::from(block.width);
    [width, width * extent(0), width * extent(0) * extent(1)]
}

/// Where a load finds its value in a block: `constant`, plus for every axis of `along` the voxel's
/// index (0 is the first of the interior) times the block's stride.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// Values from the block's first, with the voxel's index 0 on all axes.
    pub constant: i64,
    /// Whether the voxel's index along an axis counts; not where the load names an index of its own.
    pub along: [bool; 3],
}

/// Place of an unknown in a block.
#[must_use]
pub fn place(block: &Block, unknown: u16, at: [Coordinate; 3]) -> Place {
    let strides = strides(block);
    let mut place = Place { constant: i64::from(unknown), along: [true; 3] };
    for axis in 0..3 {
        let index = match at[axis] {
            Coordinate::Shift(shift) => i64::from(shift),
            Coordinate::At(index) => {
                place.along[axis] = false;
                i64::from(index)
            }
        };
        place.constant += (index - i64::from(block.low[axis])) * strides[axis];
    }
    place
}

/// Whether nothing but loads at `Shift` coordinates read a kernel's blocks, so that one base per
/// voxel and block serves.
#[must_use]
pub fn shifts_only(kernel: &Kernel) -> bool {
    kernel.graph.nodes().iter().all(|node| match node {
        Node::Leaf(Leaf::Load { at, .. }) => {
            at.iter().all(|coordinate| matches!(coordinate, Coordinate::Shift(_)))
        }
        _ => true,
    })
}

/// A number in C, exact: small multiples of 1/16 in decimals, all else in hexadecimal.
#[must_use]
pub fn literal(number: f64) -> String {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if number.is_nan() {
        return "(0.0 / 0.0)".into();
    }
    if number.is_infinite() {
        return format!("({sign}1.0 / 0.0)");
    }
    let text = if (number * 16.0).fract() == 0.0 && number.abs() < 65536.0 {
        format!("{:?}", number.abs())
    } else {
        let bits = number.to_bits();
        let mantissa = bits & ((1 << 52) - 1);
        let exponent = (bits >> 52 & 0x7ff).cast_signed();
        let (lead, exponent) = if exponent == 0 { (0, -1022) } else { (1, exponent - 1023) };
        let digits = format!("{mantissa:013x}");
        let digits = digits.trim_end_matches('0');
        let point = if digits.is_empty() { "" } else { "." };
        format!("0x{lead}{point}{digits}p{exponent}")
    };
    if sign.is_empty() { text } else { format!("(-{text})") }
}

/// The operation that gives a value, from its operands as `at` names them.
pub(crate) fn expression(
    graph: &Graph,
    value: Value,
    leaves: &dyn Leaves,
    at: &dyn Fn(Value) -> String,
) -> String {
    match graph.node(value) {
        Node::Constant(bits) => literal(f64::from_bits(bits)),
        Node::Leaf(leaf) => leaves.leaf(leaf),
        Node::Unary(Unary::Negate, a) => format!("-{}", at(a)),
        Node::Unary(function, a) => format!("{}({})", unary_name(function), at(a)),
        Node::Binary(function, a, b) => binary(function, &at(a), &at(b)),
        Node::Logic(logic, a, b) => format!("{} {} {}", at(a), logic_sign(logic), at(b)),
        Node::Not(a) => format!("!{}", at(a)),
        Node::Select(c, a, b) => format!("{} ? {} : {}", at(c), at(a), at(b)),
    }
}

/// Name of a function of one value in C.
#[must_use]
pub const fn unary_name(function: Unary) -> &'static str {
    match function {
        Unary::Negate => "-",
        Unary::Absolute => "fabs",
        Unary::SquareRoot => "sqrt",
        Unary::CubeRoot => "cbrt",
        Unary::Exponential => "exp",
        Unary::Logarithm => "log",
        Unary::Sine => "sin",
        Unary::Cosine => "cos",
        Unary::Tangent => "tan",
        Unary::ArcTangent => "atan",
        Unary::HyperbolicSine => "sinh",
        Unary::HyperbolicCosine => "cosh",
        Unary::HyperbolicTangent => "tanh",
        Unary::Floor => "floor",
    }
}

/// Whether a node calls the mathematics library and is no instruction of its own; such a call keeps a
/// compiler from vectorising the loop around it.
#[must_use]
pub const fn is_library_call(node: &Node) -> bool {
    match node {
        Node::Unary(function, _) => {
            !matches!(function, Unary::Negate | Unary::Absolute | Unary::SquareRoot | Unary::Floor)
        }
        Node::Binary(function, ..) => matches!(function, Binary::Power | Binary::ArcTangent2),
        _ => false,
    }
}

fn binary(function: Binary, a: &str, b: &str) -> String {
    match function {
        Binary::Add => format!("{a} + {b}"),
        Binary::Subtract => format!("{a} - {b}"),
        Binary::Multiply => format!("{a} * {b}"),
        Binary::Divide => format!("{a} / {b}"),
        // Not fmin and fmax: those differ between targets on NaN and on zeros of both signs.
        Binary::Minimum => format!("{a} < {b} ? {a} : {b}"),
        Binary::Maximum => format!("{a} > {b} ? {a} : {b}"),
        Binary::Power => format!("pow({a}, {b})"),
        Binary::ArcTangent2 => format!("atan2({a}, {b})"),
    }
}

/// Sign of a comparison or a connection; connections look at both sides, without a branch.
const fn logic_sign(logic: Logic) -> &'static str {
    match logic {
        Logic::Less => "<",
        Logic::LessEqual => "<=",
        Logic::Equal => "==",
        Logic::And => "&",
        Logic::Or => "|",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_exact_and_short_where_they_can_be() {
        assert_eq!(literal(0.5), "0.5");
        assert_eq!(literal(-3.0), "(-3.0)");
        assert_eq!(literal(-0.0), "(-0.0)");
        assert_eq!(literal(0.1), "0x1.999999999999ap-4");
        assert_eq!(literal(-1.4), "(-0x1.6666666666666p0)");
        assert_eq!(literal(f64::from_bits(1)), "0x0.0000000000001p-1022");
        assert_eq!(literal(131_072.0), "0x1p17");
        assert_eq!(literal(f64::INFINITY), "(1.0 / 0.0)");
    }

    #[test]
    fn operands_come_before_what_needs_them_in_depth_first_order() {
        let kernel = crate::sample::euler_rusanov(3, 3, true);
        let outputs = kernel.stages[0].outputs();
        let order = depth_first(&kernel.graph, &outputs);
        let mut seen = vec![false; kernel.graph.nodes().len()];
        for value in &order {
            for operand in kernel.graph.node(*value).operands().into_iter().flatten() {
                assert!(seen[operand.index()]);
            }
            seen[value.index()] = true;
        }
        assert_eq!(order.len(), graph_order(&kernel.graph, &outputs).len());
    }

    #[test]
    fn ratios_of_steps_are_uniform_and_loads_are_not() {
        let kernel = crate::sample::euler_rusanov(2, 3, true);
        let scalars = Scalars::new(&kernel.graph);
        for (value, node) in kernel.graph.values() {
            match node {
                Node::Leaf(Leaf::TimeStep | Leaf::Spacing(_) | Leaf::Parameter(_)) => {
                    assert!(scalars.operand(value).starts_with('u'));
                }
                Node::Leaf(Leaf::Load { .. }) => assert!(!scalars.is_uniform(value)),
                _ => {}
            }
        }
    }

    #[test]
    fn a_load_lies_where_the_block_says() {
        let kernel = crate::sample::euler_rusanov(3, 4, true);
        let block = &kernel.blocks[0];
        let here = place(block, 2, [Coordinate::Shift(0); 3]);
        assert_eq!(usize::try_from(here.constant).unwrap(), block.offset([0, 0, 0]) + 2);
        let at = [Coordinate::Shift(-1), Coordinate::At(3), Coordinate::Shift(1)];
        let there = place(block, 0, at);
        assert_eq!(usize::try_from(there.constant).unwrap(), block.offset([-1, 3, 1]));
        assert_eq!(there.along, [true, false, true]);
    }
}
