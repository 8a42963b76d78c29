//! In which order a thread computes the values of a voxel, and which of them wait in shared memory.
//!
//! A graph of thousands of nodes keeps more values alive than a thread has registers; left alone, a
//! compiler spills to local memory. So the order is chosen here for few live values, and what still
//! does not fit is kept in a column of shared memory per thread by Belady's rule (Belady 1966): of
//! the values at hand, the one whose next use is farthest makes room. Loads are not kept, they are
//! repeated.

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
    /// Output by output, each depth first, the output next that needs the fewest new values.
    Depth,
    /// The ready value next that frees most.
    Greedy,
}

/// A program and what it takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    pub(crate) steps: Vec<Step>,
    /// Slots of shared memory per thread.
    pub(crate) slots: u32,
    /// Saves and restores.
    pub(crate) moves: usize,
    /// Loads, repeated ones included.
    pub(crate) loads: usize,
    /// Most values alive at once without any limit.
    pub(crate) pressure: usize,
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

    /// The values in registers that a value is computed from, negations looked through.
    pub(crate) fn operands(&self, value: Value) -> Vec<Value> {
        let mut list = Vec::new();
        for operand in self.graph.node(value).operands().into_iter().flatten() {
            if let Some(held) = self.held(operand) {
                if !list.contains(&held) {
                    list.push(held);
                }
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

    /// What a step reads.
    fn reads(&self, step: Step, outputs: &[Value]) -> Vec<Value> {
        match step {
            Step::Compute(value) => self.operands(value),
            Step::Output(n) => self.held(outputs[n]).into_iter().collect(),
            Step::Save(..) | Step::Restore(..) => Vec::new(),
        }
    }

    /// Fits an order into so many values at hand.
    pub(crate) fn allocate(&self, steps: &[Step], outputs: &[Value], limit: usize) -> Line {
        let nodes = self.graph.nodes().len();
        let mut uses: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        for (at, &step) in steps.iter().enumerate() {
            for value in self.reads(step, outputs) {
                uses[value.index()].push(at);
            }
        }
        uses.iter_mut().for_each(|list| list.reverse());
        let mut line = Line::default();
        let mut at_hand: Vec<Value> = Vec::new();
        let mut slot: Vec<Option<u32>> = vec![None; nodes];
        let mut free: Vec<u32> = Vec::new();
        let mut alive = 0usize;
        for (at, &step) in steps.iter().enumerate() {
            let reads = self.reads(step, outputs);
            let computed = match step {
                Step::Compute(value) => Some(value),
                _ => None,
            };
            let mut fetch: Vec<Value> = reads.clone();
            fetch.retain(|value| !at_hand.contains(value));
            // A load may come back instead of a first use: then it is computed here.
            for value in fetch {
                self.make_room(&mut line, &mut at_hand, &mut slot, &mut free, &uses, &reads, limit);
                if let Some(place) = slot[value.index()] {
                    line.steps.push(Step::Restore(value, place));
                    line.moves += 1;
                } else {
                    line.steps.push(Step::Compute(value));
                    line.loads += 1;
                }
                at_hand.push(value);
            }
            for &value in &reads {
                while uses[value.index()].last().is_some_and(|&use_| use_ <= at) {
                    uses[value.index()].pop();
                }
                if uses[value.index()].is_empty() {
                    at_hand.retain(|&other| other != value);
                    free.extend(slot[value.index()].take());
                    alive = alive.saturating_sub(1);
                }
            }
            if let Some(value) = computed {
                line.loads += usize::from(self.is_load(value));
                let used = !uses[value.index()].is_empty();
                if used {
                    self.make_room(
                        &mut line,
                        &mut at_hand,
                        &mut slot,
                        &mut free,
                        &uses,
                        &reads,
                        limit,
                    );
                    at_hand.push(value);
                    alive += 1;
                }
            }
            line.steps.push(step);
            line.pressure = line.pressure.max(alive);
        }
        line
    }

    fn make_room(
        &self,
        line: &mut Line,
        at_hand: &mut Vec<Value>,
        slot: &mut [Option<u32>],
        free: &mut Vec<u32>,
        uses: &[Vec<usize>],
        keep: &[Value],
        limit: usize,
    ) {
        while at_hand.len() >= limit {
            let candidates = (0..at_hand.len()).filter(|&n| {
                !keep.contains(&at_hand[n]) && !self.graph.node(at_hand[n]).is_truth()
            });
            let next = |n: &usize| uses[at_hand[*n].index()].last().copied().unwrap_or(usize::MAX);
            let Some(chosen) = candidates.max_by_key(next) else { return };
            let value = at_hand.swap_remove(chosen);
            if slot[value.index()].is_none() && !self.is_load(value) {
                let place = free.pop().unwrap_or_else(|| {
                    line.slots += 1;
                    line.slots - 1
                });
                slot[value.index()] = Some(place);
                line.steps.push(Step::Save(value, place));
                line.moves += 1;
            }
        }
    }
}
