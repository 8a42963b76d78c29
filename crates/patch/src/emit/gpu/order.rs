//! In which order a thread computes the values of a voxel.
//!
//! A graph of thousands of nodes keeps more values alive than a thread has registers; left alone, a
//! compiler spills to local memory. So the order is chosen here for few live values; [`super::fit`]
//! finds a place for what is still too many.

use std::collections::BinaryHeap;

use crate::emit::Scalars;
use crate::graph::{Graph, Leaf, Node, Unary, Value};

/// A line of the program of a voxel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Computes a value (again, if it is a load that made room before).
    Compute(Value),
    /// Puts a value into a slot of shared memory.
    Save(Value, u32),
    /// Takes a value from its slot.
    Restore(Value, u32),
    /// Output of this place in the list is ready.
    Output(usize),
}

/// The order of a voxel's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// As the graph was built: statement by statement of the scheme and the physics.
    Built,
    /// As built, but a value that frees more than it takes comes as soon as it can.
    Eager,
    /// Output by output, each depth first, the output next that needs the fewest new values.
    Depth,
    /// The ready value next that frees most.
    Greedy,
}

/// What the ordering needs to know of a graph.
pub(crate) struct Costs<'a> {
    scalars: &'a Scalars<'a>,
    graph: &'a Graph,
}

impl<'a> Costs<'a> {
    pub(crate) fn new(scalars: &'a Scalars<'a>) -> Self {
        Self { scalars, graph: scalars.graph() }
    }

    /// Whether a value needs no register of its own: constants, uniform values (in constant or
    /// shared memory) and negations (a modifier of the operand).
    pub(crate) fn is_free(&self, value: Value) -> bool {
        self.scalars.is_uniform(value)
            || matches!(self.graph.node(value), Node::Constant(_) | Node::Unary(Unary::Negate, _))
    }

    /// Whether a value is read from memory, so that it can be read again.
    pub(crate) fn is_load(&self, value: Value) -> bool {
        matches!(self.graph.node(value), Node::Leaf(Leaf::Load { .. }))
    }

    /// Whether a value is a truth value.
    pub(crate) fn is_truth(&self, value: Value) -> bool {
        self.graph.node(value).is_truth()
    }

    /// Nodes of the graph.
    pub(crate) fn nodes(&self) -> usize {
        self.graph.nodes().len()
    }

    /// The values in registers that a value is computed from, negations looked through.
    pub(crate) fn operands(&self, value: Value) -> Vec<Value> {
        let mut list = Vec::new();
        for operand in self.graph.node(value).operands().into_iter().flatten() {
            if let Some(held) = self.held(operand)
                && !list.contains(&held)
            {
                list.push(held);
            }
        }
        list
    }

    /// The value in a register behind a value, if any.
    pub(crate) fn held(&self, value: Value) -> Option<Value> {
        if self.scalars.is_uniform(value) {
            return None;
        }
        match self.graph.node(value) {
            Node::Constant(_) => None,
            Node::Unary(Unary::Negate, a) => self.held(a),
            _ => Some(value),
        }
    }

    /// Every value that `outputs` need and that takes a register, loads included.
    fn needed(&self, outputs: &[Value]) -> Vec<Value> {
        let reach = self.graph.reachable(outputs);
        let values = self.graph.values().map(|(value, _)| value);
        values.filter(|&v| reach[v.index()] && !self.is_free(v)).collect()
    }

    /// All values in an order, loads right before their first use, and outputs as soon as they are
    /// there.
    pub(crate) fn order(&self, outputs: &[Value], order: Order) -> Vec<Step> {
        let needed = self.needed(outputs);
        let list = match order {
            Order::Built => self.built(&needed),
            Order::Eager => self.eager(&self.built(&needed), outputs),
            Order::Depth => self.depth(outputs),
            Order::Greedy => self.greedy(&needed, outputs),
        };
        self.with_loads(&list, outputs)
    }

    /// The graph's own order, with what hangs on few loads alone moved to its first use.
    fn built(&self, needed: &[Value]) -> Vec<Value> {
        let mut light = vec![0u32; self.graph.nodes().len()];
        for &value in needed {
            light[value.index()] = if self.is_load(value) {
                1
            } else {
                let operands = self.operands(value);
                let heavy = operands.iter().any(|o| light[o.index()] == 0);
                let sum: u32 = operands.iter().map(|o| light[o.index()]).sum();
                if heavy || sum > 8 { 0 } else { sum.max(1) }
            };
        }
        let mut done = vec![false; self.graph.nodes().len()];
        let mut list = Vec::new();
        for &value in needed {
            if light[value.index()] == 0 {
                self.visit(value, &mut done, &mut list);
            }
        }
        for &value in needed {
            self.visit(value, &mut done, &mut list);
        }
        list
    }

    /// Depth first from a value; loads are left out.
    fn visit(&self, root: Value, done: &mut [bool], list: &mut Vec<Value>) {
        let mut stack = vec![(root, false)];
        while let Some((value, ready)) = stack.pop() {
            if done[value.index()] || self.is_load(value) {
                continue;
            }
            if ready {
                done[value.index()] = true;
                list.push(value);
                continue;
            }
            stack.push((value, true));
            let mut operands = self.operands(value);
            // The last pushed is computed first: the one that takes most registers.
            operands.sort_by_key(|o| (self.depth_of(*o, done), o.index()));
            stack.extend(operands.into_iter().map(|o| (o, false)));
        }
    }

    /// Nodes below a value that are not done, up to a bound: a measure of what it takes.
    fn depth_of(&self, value: Value, done: &[bool]) -> usize {
        const BOUND: usize = 40;
        let (mut stack, mut count) = (vec![value], 0);
        while let Some(v) = stack.pop() {
            if done[v.index()] || self.is_load(v) {
                continue;
            }
            count += 1;
            if count >= BOUND {
                break;
            }
            stack.extend(self.operands(v));
        }
        count
    }

    /// An order in which values that end the life of two or more others are moved forward to where
    /// their operands are there: sums over faces and directions then hold few terms.
    fn eager(&self, list: &[Value], outputs: &[Value]) -> Vec<Value> {
        let nodes = self.graph.nodes().len();
        let mut uses = vec![0u32; nodes];
        let mut missing = vec![0u32; nodes];
        let mut users: Vec<Vec<Value>> = vec![Vec::new(); nodes];
        for held in outputs.iter().filter_map(|&v| self.held(v)) {
            uses[held.index()] += 1;
        }
        let mut needed = vec![false; nodes];
        list.iter().for_each(|value| needed[value.index()] = true);
        for &value in list {
            for operand in self.operands(value) {
                uses[operand.index()] += 1;
                if !self.is_load(operand) {
                    users[operand.index()].push(value);
                    missing[value.index()] += 1;
                }
            }
        }
        let mut done = vec![false; nodes];
        let mut result = Vec::with_capacity(list.len());
        let mut ready = Vec::new();
        for &next in list {
            ready.push(next);
            while let Some(value) = ready.pop() {
                if done[value.index()] {
                    continue;
                }
                done[value.index()] = true;
                result.push(value);
                for operand in self.operands(value) {
                    uses[operand.index()] -= 1;
                }
                for &user in &users[value.index()] {
                    missing[user.index()] -= 1;
                }
                let frees = |user: &Value| {
                    let last = |o: &Value| !self.is_load(*o) && uses[o.index()] == 1;
                    self.operands(*user).iter().filter(|o| last(o)).count()
                };
                let near = self.operands(value).into_iter().chain([value]);
                for user in near.flat_map(|v| users[v.index()].clone()) {
                    let free = missing[user.index()] == 0 && !done[user.index()];
                    if free && frees(&user) >= 2 {
                        ready.push(user);
                    }
                }
            }
        }
        result
    }

    fn depth(&self, outputs: &[Value]) -> Vec<Value> {
        let mut done = vec![false; self.graph.nodes().len()];
        let mut list = Vec::new();
        let mut left: Vec<Value> = outputs.iter().filter_map(|&v| self.held(v)).collect();
        while !left.is_empty() {
            let missing = |root: &Value| {
                let mut seen = std::collections::HashSet::new();
                let mut stack = vec![*root];
                while let Some(v) = stack.pop() {
                    if !done[v.index()] && !self.is_load(v) && seen.insert(v) {
                        stack.extend(self.operands(v));
                    }
                }
                seen.len()
            };
            let next = (0..left.len()).min_by_key(|&n| (missing(&left[n]), n)).unwrap_or(0);
            let root = left.remove(next);
            self.visit(root, &mut done, &mut list);
        }
        list
    }

    fn greedy(&self, needed: &[Value], outputs: &[Value]) -> Vec<Value> {
        let nodes = self.graph.nodes().len();
        let mut uses = vec![0u32; nodes];
        let mut users: Vec<Vec<Value>> = vec![Vec::new(); nodes];
        let mut missing = vec![0u32; nodes];
        let mut is_output = vec![false; nodes];
        for held in outputs.iter().filter_map(|&v| self.held(v)) {
            is_output[held.index()] = true;
        }
        for &value in needed.iter().filter(|&&v| !self.is_load(v)) {
            for operand in self.operands(value) {
                uses[operand.index()] += 1;
                users[operand.index()].push(value);
                missing[value.index()] += u32::from(!self.is_load(operand));
            }
        }
        let mut loaded = vec![false; nodes];
        let score = |value: Value, uses: &[u32], loaded: &[bool]| -> i64 {
            let mut score = i64::from(!(is_output[value.index()] && uses[value.index()] == 0));
            for operand in self.operands(value) {
                let last = uses[operand.index()] == 1 && !is_output[operand.index()];
                let fresh = self.is_load(operand) && !loaded[operand.index()];
                score += i64::from(fresh) - i64::from(last);
            }
            score
        };
        // Best score first; of equal ones the latest to become ready, so that work stays together.
        let mut heap: BinaryHeap<(i64, usize, Value)> = BinaryHeap::new();
        let mut clock = 0;
        for &value in needed.iter().rev().filter(|&&v| !self.is_load(v)) {
            if missing[value.index()] == 0 {
                clock += 1;
                heap.push((-score(value, &uses, &loaded), clock, value));
            }
        }
        let mut done = vec![false; nodes];
        let mut list = Vec::new();
        while let Some((old, when, value)) = heap.pop() {
            if done[value.index()] {
                continue;
            }
            let now = -score(value, &uses, &loaded);
            if now < old {
                heap.push((now, when, value));
                continue;
            }
            done[value.index()] = true;
            list.push(value);
            for operand in self.operands(value) {
                uses[operand.index()] -= 1;
                let fresh = self.is_load(operand) && !loaded[operand.index()];
                loaded[operand.index()] = true;
                if uses[operand.index()] == 1 || fresh {
                    for &user in &users[operand.index()] {
                        if !done[user.index()] && missing[user.index()] == 0 {
                            clock += 1;
                            heap.push((-score(user, &uses, &loaded), clock, user));
                        }
                    }
                }
            }
            for &user in &users[value.index()] {
                missing[user.index()] -= 1;
                if missing[user.index()] == 0 {
                    clock += 1;
                    heap.push((-score(user, &uses, &loaded), clock, user));
                }
            }
        }
        list
    }

    fn with_loads(&self, list: &[Value], outputs: &[Value]) -> Vec<Step> {
        let nodes = self.graph.nodes().len();
        let mut there = vec![false; nodes];
        let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        let mut steps = Vec::new();
        let mut put = |value: Value, steps: &mut Vec<Step>, waiting: &[Vec<usize>]| {
            if !there[value.index()] {
                there[value.index()] = true;
                steps.push(Step::Compute(value));
                steps.extend(waiting[value.index()].iter().map(|&n| Step::Output(n)));
            }
        };
        let mut plain = Vec::new();
        for (n, &output) in outputs.iter().enumerate() {
            match self.held(output) {
                // A load that is written as it is: at the end, wherever it was loaded for.
                Some(held) if !self.is_load(held) => waiting[held.index()].push(n),
                held => plain.push((n, held)),
            }
        }
        for &value in list {
            for operand in self.operands(value) {
                put(operand, &mut steps, &waiting);
            }
            put(value, &mut steps, &waiting);
        }
        for (n, held) in plain {
            if let Some(held) = held {
                put(held, &mut steps, &waiting);
            }
            steps.push(Step::Output(n));
        }
        steps
    }
}
