//! Walks over a graph: what outputs need, its copy in another graph, its operations, its numbers.

use super::numbers::{apply_binary, apply_unary, compare};
use super::{Binary, Graph, Leaf, Node, Unary, Value};

/// Operations by kind; a negation, a comparison and a selection count nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flops {
    /// Additions and subtractions.
    pub add: u32,
    /// Multiplications.
    pub multiply: u32,
    /// Divisions.
    pub divide: u32,
    /// Square roots and other functions of the mathematics library.
    pub function: u32,
    /// Minima and maxima.
    pub extreme: u32,
}

impl Flops {
    /// All of them, each counted once.
    #[must_use]
    pub const fn total(&self) -> u32 {
        self.add + self.multiply + self.divide + self.function + self.extreme
    }
}

impl Graph {
    /// Adds the nodes of `from` that `outputs` need, with its leaves replaced by what `leaf` gives;
    /// the outputs' values here.
    ///
    /// # Panics
    /// Never: operands come before what needs them.
    pub fn graft(
        &mut self,
        from: &Graph,
        outputs: &[Value],
        mut leaf: impl FnMut(&mut Self, Leaf) -> Value,
    ) -> Vec<Value> {
        let needed = from.reachable(outputs);
        let mut here: Vec<Option<Value>> = vec![None; from.nodes.len()];
        for (value, node) in from.values().filter(|(value, _)| needed[value.index()]) {
            let at = |operand: Value| here[operand.index()].expect("operands come first");
            let grafted = match node {
                Node::Constant(bits) => self.constant(f64::from_bits(bits)),
                Node::Leaf(start) => leaf(self, start),
                Node::Unary(function, a) => self.unary(function, at(a)),
                Node::Binary(function, a, b) => self.binary(function, at(a), at(b)),
                Node::Logic(logic, a, b) => self.logic(logic, at(a), at(b)),
                Node::Not(a) => self.not(at(a)),
                Node::Select(c, a, b) => self.select(at(c), at(a), at(b)),
            };
            here[value.index()] = Some(grafted);
        }
        outputs.iter().map(|value| here[value.index()].expect("outputs are reachable")).collect()
    }

    /// For every node whether one of `outputs` needs it.
    #[must_use]
    pub fn reachable(&self, outputs: &[Value]) -> Vec<bool> {
        let mut needed = vec![false; self.nodes.len()];
        for output in outputs {
            needed[output.index()] = true;
        }
        for place in (0..self.nodes.len()).rev() {
            if needed[place] {
                for operand in self.nodes[place].operands().into_iter().flatten() {
                    needed[operand.index()] = true;
                }
            }
        }
        needed
    }

    /// Operations that `outputs` need, each node once.
    #[must_use]
    pub fn flops(&self, outputs: &[Value]) -> Flops {
        let needed = self.reachable(outputs);
        let mut flops = Flops::default();
        for (value, node) in self.values() {
            if !needed[value.index()] {
                continue;
            }
            match node {
                Node::Binary(Binary::Add | Binary::Subtract, ..) => flops.add += 1,
                Node::Binary(Binary::Multiply, ..) => flops.multiply += 1,
                Node::Binary(Binary::Divide, ..) => flops.divide += 1,
                Node::Binary(Binary::Minimum | Binary::Maximum, ..) => flops.extreme += 1,
                Node::Binary(..) => flops.function += 1,
                Node::Unary(Unary::Negate | Unary::Absolute, _) => {}
                Node::Unary(..) => flops.function += 1,
                _ => {}
            }
        }
        flops
    }

    /// Computes every node that `outputs` need, into `values` (resized to the number of nodes).
    pub fn evaluate(
        &self,
        needed: &[bool],
        values: &mut Vec<f64>,
        mut leaf: impl FnMut(Leaf) -> f64,
    ) {
        values.resize(self.nodes.len(), 0.0);
        for (place, node) in self.nodes.iter().enumerate() {
            if !needed[place] {
                continue;
            }
            let at = |value: Value| values[value.index()];
            values[place] = match *node {
                Node::Constant(bits) => f64::from_bits(bits),
                Node::Leaf(start) => leaf(start),
                Node::Unary(function, a) => apply_unary(function, at(a)),
                Node::Binary(function, a, b) => apply_binary(function, at(a), at(b)),
                Node::Logic(logic, a, b) => f64::from(u8::from(compare(logic, at(a), at(b)))),
                Node::Not(a) => f64::from(u8::from(at(a) == 0.0)),
                Node::Select(c, a, b) => {
                    if at(c) == 0.0 {
                        at(b)
                    } else {
                        at(a)
                    }
                }
            };
        }
    }
}
