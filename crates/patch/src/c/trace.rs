//! Symbolic execution: integers are known, loops run, branches on data become selections.
//!
//! Where `break`, `continue` or `return` stands under a condition on data, the rest of the list of
//! statements (and of the loop) runs as a branch of its own, taken where the condition did not hold.

use std::collections::BTreeMap;

use super::ast::{Act, Expr, Formal, Function, Initial, Outcome, Scalar, Statement, Unit, fault};
use super::memory::Window;
use super::symbols::{Memory, Symbol};
use crate::graph::Value;

/// Turns of all loops together before a trace is given up.
const MOST_TURNS: usize = 1_000_000;

/// Turns of a loop whose condition depends on data.
const MOST_DATA_TURNS: usize = 1_000;

/// Nodes before a trace is given up.
const MOST_NODES: usize = 4_000_000;

/// Where a statement left the order of work, as truth values of the path it is on.
#[derive(Debug, Clone, Copy)]
struct Flow {
    broke: Value,
    continued: Value,
    returned: Value,
    /// Whether no path goes on to the next statement.
    ended: bool,
}

/// What a branch wrote.
type Writes = BTreeMap<usize, Symbol>;

/// A part of the statements that only some paths reach.
struct Guard {
    /// Whether a path reaches it.
    stays: Value,
    /// What the paths wrote that do not.
    gone: Writes,
}

/// Statements on their way: guards opened so far, innermost last.
struct Progress {
    total: Flow,
    live: Value,
    guards: Vec<Guard>,
}

/// What a caller passes to a function.
#[derive(Debug, Clone, Copy)]
pub(super) enum Given {
    Value(Symbol),
    Array(Window),
    Parameters,
}

/// A trace.
pub(super) struct Trace<'a> {
    pub(super) unit: &'a Unit,
    /// Values of the `int` parameters by the place of the member.
    pub(super) integers: &'a [i64],
    pub(super) memory: Memory,
    turns: usize,
}

/// The variables of a function at work; its result lies at `result`.
pub(super) struct Frame<'a> {
    pub(super) function: &'a Function,
    pub(super) windows: Vec<Window>,
    result: usize,
}

impl<'a> Trace<'a> {
    pub(super) fn new(unit: &'a Unit, integers: &'a [i64]) -> Self {
        Self { unit, integers, memory: Memory::new(unit), turns: 0 }
    }

    fn nowhere(&self) -> Flow {
        let no = self.memory.no;
        Flow { broke: no, continued: no, returned: no, ended: false }
    }

    /// Calls a function.
    pub(super) fn call(&mut self, function: &'a Function, given: &[Given]) -> Outcome<Symbol> {
        self.turns += 1;
        if self.turns > MOST_TURNS {
            return fault(function.line, "too many calls: call functions less often");
        }
        let before = self.memory.cells.len();
        let result = self.memory.place([Symbol::Unset]).start;
        let windows = vec![Window::default(); function.variables.len()];
        let mut frame = Frame { function, windows, result };
        for (formal, given) in function.formals.iter().zip(given) {
            let Formal::Variable(variable) = formal else { continue };
            frame.windows[*variable] = match *given {
                Given::Value(value) => self.memory.place([value]),
                Given::Array(window) => window,
                Given::Parameters => continue,
            };
        }
        self.memory.results.push(result);
        let flow = self.block(&mut frame, &function.body)?;
        self.memory.results.pop();
        let value = self.memory.cells[result];
        self.memory.cells.truncate(before);
        if function.result.is_some() && !flow.ended {
            return fault(
                function.line,
                format!("{} ends without a result: return one on every path", function.name),
            );
        }
        if value == Symbol::Mixed {
            return fault(
                function.line,
                format!(
                    "{} returns an integer that depends on data: return a double",
                    function.name
                ),
            );
        }
        Ok(value)
    }

    fn block(&mut self, frame: &mut Frame<'a>, statements: &'a [Statement]) -> Outcome<Flow> {
        let before = self.memory.cells.len();
        let mut progress = self.begin();
        for statement in statements {
            let flow = match &statement.act {
                Act::If(condition, then, other) => {
                    let condition = self.truth(frame, condition)?;
                    match self.memory.known(condition) {
                        Some(true) => self.block(frame, then)?,
                        Some(false) => self.block(frame, other)?,
                        None => self.branch(frame, &mut progress, condition, then, other)?,
                    }
                }
                _ => self.statement(frame, statement)?,
            };
            self.account(&mut progress, flow);
            let left = self.memory.or(flow.broke, flow.continued);
            let left = self.memory.or(left, flow.returned);
            if self.leave(&mut progress, left, flow.ended) {
                progress.total.ended = true;
                break;
            }
        }
        self.unwind(progress.guards);
        self.memory.cells.truncate(before);
        Ok(progress.total)
    }

    fn begin(&self) -> Progress {
        Progress { total: self.nowhere(), live: self.memory.yes, guards: Vec::new() }
    }

    /// Adds what paths did that are live.
    fn account(&mut self, progress: &mut Progress, flow: Flow) {
        let (live, memory) = (progress.live, &mut self.memory);
        for (all, one) in [
            (&mut progress.total.broke, flow.broke),
            (&mut progress.total.continued, flow.continued),
            (&mut progress.total.returned, flow.returned),
        ] {
            let here = memory.and(live, one);
            *all = memory.or(*all, here);
        }
    }

    /// Goes on where paths have not `left`; whether none goes on.
    fn leave(&mut self, progress: &mut Progress, left: Value, ended: bool) -> bool {
        match self.memory.known(left) {
            _ if ended => return true,
            Some(left) => return left,
            None => {}
        }
        let stays = self.memory.graph.not(left);
        self.guard(progress, stays, Writes::new(), &Writes::new());
        false
    }

    /// Goes on where `stays` holds, with what those paths wrote already.
    fn guard(&mut self, progress: &mut Progress, stays: Value, gone: Writes, written: &Writes) {
        progress.guards.push(Guard { stays, gone });
        progress.live = self.memory.and(progress.live, stays);
        self.memory.open();
        for (&at, &value) in written {
            self.memory.write(at, value);
        }
    }

    fn unwind(&mut self, guards: Vec<Guard>) {
        for Guard { stays, gone } in guards.into_iter().rev() {
            let written = self.memory.close();
            self.memory.merge(stays, &written, &gone);
        }
    }

    /// `if` on data. Where all paths of one side leave, the other side goes on as it is, and both
    /// meet at the end of the block only.
    fn branch(
        &mut self,
        frame: &mut Frame<'a>,
        progress: &mut Progress,
        condition: Value,
        then: &'a [Statement],
        other: &'a [Statement],
    ) -> Outcome<Flow> {
        self.memory.open();
        let a = self.block(frame, then)?;
        let then = self.memory.close();
        self.memory.open();
        let b = self.block(frame, other)?;
        let other = self.memory.close();
        let otherwise = self.memory.graph.not(condition);
        if a.ended != b.ended {
            let (leaves, stays) =
                if a.ended { (condition, otherwise) } else { (otherwise, condition) };
            let (gone, rest) = if a.ended { (a, b) } else { (b, a) };
            let (gone_writes, written) = if a.ended { (then, other) } else { (other, then) };
            let gone = Flow {
                broke: self.memory.and(leaves, gone.broke),
                continued: self.memory.and(leaves, gone.continued),
                returned: self.memory.and(leaves, gone.returned),
                ended: false,
            };
            self.account(progress, gone);
            self.guard(progress, stays, gone_writes, &written);
            return Ok(rest);
        }
        let memory = &mut self.memory;
        memory.merge(condition, &then, &other);
        Ok(Flow {
            broke: memory.mix(condition, a.broke, b.broke),
            continued: memory.mix(condition, a.continued, b.continued),
            returned: memory.mix(condition, a.returned, b.returned),
            ended: a.ended,
        })
    }

    fn statement(&mut self, frame: &mut Frame<'a>, statement: &'a Statement) -> Outcome<Flow> {
        let mut flow = self.nowhere();
        match &statement.act {
            Act::Declare(variable, initial) => {
                let about = &frame.function.variables[*variable];
                let mut values = vec![Symbol::Unset; about.len()];
                match initial {
                    Initial::Nothing => {}
                    Initial::Scalar(value) => values[0] = self.value(frame, value)?,
                    Initial::List(list) => {
                        values.fill(match about.ty {
                            Scalar::Int => Symbol::Int(0),
                            Scalar::Double => Symbol::Real(self.memory.no),
                        });
                        for (at, value) in list {
                            values[*at] = self.value(frame, value)?;
                        }
                    }
                }
                frame.windows[*variable] = self.memory.place(values);
            }
            Act::Assign(place, value) => {
                let value = self.value(frame, value)?;
                let at = self.locate(frame, place)?;
                self.memory.write(at, value);
            }
            Act::Call(function, arguments) => {
                self.invoke(frame, *function, arguments)?;
            }
            Act::If(..) => return self.block(frame, std::slice::from_ref(statement)),
            Act::Loop { initial, condition, step, body, first } => {
                return self.repeat(frame, initial, condition.as_ref(), step, body, *first);
            }
            Act::Block(statements) => return self.block(frame, statements),
            Act::Break => (flow.broke, flow.ended) = (self.memory.yes, true),
            Act::Continue => (flow.continued, flow.ended) = (self.memory.yes, true),
            Act::Return(value) => {
                if let Some(value) = value {
                    let value = self.value(frame, value)?;
                    self.memory.write(frame.result, value);
                }
                (flow.returned, flow.ended) = (self.memory.yes, true);
            }
        }
        Ok(flow)
    }

    fn repeat(
        &mut self,
        frame: &mut Frame<'a>,
        initial: &'a [Statement],
        condition: Option<&'a Expr>,
        step: &'a [Statement],
        body: &'a [Statement],
        first: bool,
    ) -> Outcome<Flow> {
        let before = self.memory.cells.len();
        for statement in initial {
            self.statement(frame, statement)?;
        }
        let line = condition.map_or(frame.function.line, |condition| condition.line);
        let mut progress = self.begin();
        let (mut ask, mut data_turns) = (first, 0);
        loop {
            if let Some(condition) = condition
                && ask
            {
                let holds = self.truth(frame, condition)?;
                match self.memory.known(holds) {
                    Some(false) => break,
                    Some(true) => {}
                    None => {
                        self.guard(&mut progress, holds, Writes::new(), &Writes::new());
                        data_turns += 1;
                    }
                }
            }
            ask = true;
            self.turns += 1;
            if data_turns > MOST_DATA_TURNS {
                return fault(
                    line,
                    "the bound of the loop depends on data: bound its turns by a constant, \
                     `for (int k = 0; k < 30; k++)`, and leave it by `if (...) break;`",
                );
            }
            if self.turns > MOST_TURNS || self.memory.graph.nodes().len() > MOST_NODES {
                return fault(line, "the loops are too long to unroll: bound their turns");
            }
            let flow = self.block(frame, body).map_err(|mut fault| {
                // What held for earlier turns fails in one that only the data can tell not to run.
                if data_turns > 1 {
                    fault.what.push_str(
                        ", or bound the turns of the loop by a constant: its condition depends on data",
                    );
                }
                fault
            })?;
            let no = self.memory.no;
            self.account(&mut progress, Flow { broke: no, continued: no, ..flow });
            let left = self.memory.or(flow.broke, flow.returned);
            // Where all paths left the body, those that left by `continue` go on.
            let ended = flow.ended && self.memory.known(flow.continued) == Some(false);
            if self.leave(&mut progress, left, ended) {
                let returned = self.memory.known(flow.returned) == Some(true);
                progress.total.ended = returned && progress.guards.is_empty();
                break;
            }
            for statement in step {
                self.statement(frame, statement)?;
            }
        }
        self.unwind(progress.guards);
        self.memory.cells.truncate(before);
        Ok(progress.total)
    }
}
