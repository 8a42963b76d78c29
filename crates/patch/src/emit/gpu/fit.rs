//! Which values of a voxel's program wait in shared memory, and which are computed again.
//!
//! By Belady's rule (Belady 1966): of the values at hand, the one whose next use is farthest makes
//! room. It goes into a slot of a column of shared memory that belongs to the thread; loads, and what
//! hangs on few loads alone once the slots are full, are repeated instead.

use crate::emit::gpu::order::{Costs, Step};
use crate::graph::Value;

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

/// What a program may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Values in registers.
    pub(crate) values: usize,
    /// Slots of shared memory per thread.
    pub(crate) slots: usize,
}

/// A program being fitted.
struct Fit<'a> {
    costs: &'a Costs<'a>,
    outputs: &'a [Value],
    room: Room,
    line: Line,
    at_hand: Vec<Value>,
    slot: Vec<Option<u32>>,
    free: Vec<u32>,
    /// Places of the uses to come, the next one last.
    uses: Vec<Vec<usize>>,
    /// Loads that computing a value again takes; 0 where it hangs on more than loads.
    light: Vec<u32>,
}

impl Costs<'_> {
    /// What a step reads.
    fn reads(&self, step: Step, outputs: &[Value]) -> Vec<Value> {
        match step {
            Step::Compute(value) => self.operands(value),
            Step::Output(n) => self.held(outputs[n]).into_iter().collect(),
            Step::Save(..) | Step::Restore(..) => Vec::new(),
        }
    }

    /// Fits an order into the room that a thread has.
    pub(crate) fn allocate(&self, steps: &[Step], outputs: &[Value], room: Room) -> Line {
        let nodes = self.nodes();
        let mut uses: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        for (at, &step) in steps.iter().enumerate() {
            for value in self.reads(step, outputs) {
                uses[value.index()].push(at);
            }
        }
        uses.iter_mut().for_each(|list| list.reverse());
        let mut fit = Fit {
            costs: self,
            outputs,
            room,
            line: Line::default(),
            at_hand: Vec::new(),
            slot: vec![None; nodes],
            free: Vec::new(),
            uses,
            light: self.light(steps),
        };
        let mut alive = vec![false; nodes];
        let mut count = 0usize;
        for (at, &step) in steps.iter().enumerate() {
            if let Step::Compute(value) = step
                && !std::mem::replace(&mut alive[value.index()], true)
            {
                count += 1;
            }
            let ended = fit.step(at, step);
            fit.line.pressure = fit.line.pressure.max(count);
            count -= ended.min(count);
        }
        fit.line
    }

    /// Loads that a value hangs on, where that is all that it hangs on and they are few.
    fn light(&self, steps: &[Step]) -> Vec<u32> {
        let mut light = vec![0u32; self.nodes()];
        for step in steps {
            if let Step::Compute(value) = *step {
                light[value.index()] = if self.is_load(value) {
                    1
                } else {
                    let operands = self.operands(value);
                    let heavy = operands.iter().any(|o| light[o.index()] == 0);
                    let sum: u32 = operands.iter().map(|o| light[o.index()]).sum();
                    if heavy || sum > 6 { 0 } else { sum }
                };
            }
        }
        light
    }
}

impl Fit<'_> {
    /// Takes a step; values whose last use it was.
    fn step(&mut self, at: usize, step: Step) -> usize {
        let reads = self.costs.reads(step, self.outputs);
        for &value in &reads {
            self.fetch(value, &reads);
        }
        let mut ended = 0;
        for &value in &reads {
            let uses = &mut self.uses[value.index()];
            while uses.last().is_some_and(|&place| place <= at) {
                uses.pop();
            }
            if uses.is_empty() {
                ended += 1;
                self.at_hand.retain(|&other| other != value);
                self.free.extend(self.slot[value.index()].take());
            }
        }
        if let Step::Compute(value) = step {
            self.line.loads += usize::from(self.costs.is_load(value));
            if !self.uses[value.index()].is_empty() && !self.at_hand.contains(&value) {
                self.make_room(&reads);
                self.at_hand.push(value);
            }
        }
        self.line.steps.push(step);
        ended
    }

    /// Brings a value back to hand.
    fn fetch(&mut self, value: Value, keep: &[Value]) {
        if self.at_hand.contains(&value) {
            return;
        }
        if let Some(place) = self.slot[value.index()] {
            self.make_room(keep);
            self.line.steps.push(Step::Restore(value, place));
            self.line.moves += 1;
        } else {
            self.again(value);
            self.make_room(keep);
        }
        self.at_hand.push(value);
    }

    /// Computes a value again, from loads.
    fn again(&mut self, value: Value) {
        for operand in self.costs.operands(value) {
            if !self.at_hand.contains(&operand) {
                match self.slot[operand.index()] {
                    Some(place) => {
                        self.line.steps.push(Step::Restore(operand, place));
                        self.line.moves += 1;
                    }
                    None => self.again(operand),
                }
            }
        }
        self.line.loads += usize::from(self.costs.is_load(value));
        self.line.steps.push(Step::Compute(value));
    }

    fn make_room(&mut self, keep: &[Value]) {
        while self.at_hand.len() >= self.room.values {
            let full = self.free.is_empty() && self.line.slots as usize >= self.room.slots;
            let next =
                |value: Value| self.uses[value.index()].last().copied().unwrap_or(usize::MAX);
            let may_go = |value: Value, only_light: bool| {
                let light = self.light[value.index()] > 0 || self.slot[value.index()].is_some();
                !keep.contains(&value) && !self.costs.is_truth(value) && (light || !only_light)
            };
            let choose = |only_light: bool| {
                (0..self.at_hand.len())
                    .filter(|&n| may_go(self.at_hand[n], only_light))
                    .max_by_key(|&n| next(self.at_hand[n]))
            };
            let Some(chosen) = choose(full).or_else(|| choose(false)) else { return };
            let value = self.at_hand.swap_remove(chosen);
            let load = self.costs.is_load(value);
            let light = self.light[value.index()] > 0;
            if self.slot[value.index()].is_none() && !load && !(full && light) {
                let place = self.free.pop().unwrap_or_else(|| {
                    self.line.slots += 1;
                    self.line.slots - 1
                });
                self.slot[value.index()] = Some(place);
                self.line.steps.push(Step::Save(value, place));
                self.line.moves += 1;
            }
        }
    }
}
