//! Symbolic execution: integers are known, loops run, branches on data become selections.
//!
//! Where `break`, `continue` or `return` stands under a condition on data, the rest of the list of
//! statements (and of the loop) runs as a branch of its own, taken where the condition did not hold.

use std::collections::BTreeMap;

use super::ast::{
    Act, Argument, Base, Expr, Formal, Function, Initial, Kind, Op, Outcome, Place, Scalar,
    Statement, Unit, fault,
};
use super::memory::{Window, element, part};
use super::symbols::{Memory, Symbol};
use crate::graph::{Leaf, Unary, Value};

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
    unit: &'a Unit,
    /// Values of the `int` parameters by the place of the member.
    integers: &'a [i64],
    pub(super) memory: Memory,
    turns: usize,
}

/// The variables of a function at work; its result lies at `result`.
struct Frame<'a> {
    function: &'a Function,
    windows: Vec<Window>,
    result: usize,
}

impl<'a> Trace<'a> {
    pub(super) fn new(unit: &'a Unit, integers: &'a [i64]) -> Self {
        Self { unit, integers, memory: Memory::new(unit), turns: 0 }
    }

    fn nowhere(&self) -> Flow {
        let no = self.memory.no;
        Flow { broke: no, continued: no, returned: no }
    }

    /// Calls a function.
    pub(super) fn call(&mut self, function: &'a Function, given: &[Given]) -> Outcome<Symbol> {
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
        self.block(&mut frame, &function.body)?;
        let value = self.memory.cells[result];
        self.memory.cells.truncate(before);
        match value {
            Symbol::Unset | Symbol::Partial if function.result.is_some() => fault(
                function.line,
                format!("{} ends without a result: return one on every path", function.name),
            ),
            Symbol::Mixed => fault(
                function.line,
                format!(
                    "{} returns an integer that depends on data: return a double",
                    function.name
                ),
            ),
            _ => Ok(value),
        }
    }

    fn block(&mut self, frame: &mut Frame<'a>, statements: &'a [Statement]) -> Outcome<Flow> {
        let before = self.memory.cells.len();
        let mut total = self.nowhere();
        let mut live = self.memory.yes;
        let mut guards = Vec::new();
        for statement in statements {
            let flow = self.statement(frame, statement)?;
            let memory = &mut self.memory;
            for (all, one) in [
                (&mut total.broke, flow.broke),
                (&mut total.continued, flow.continued),
                (&mut total.returned, flow.returned),
            ] {
                let here = memory.and(live, one);
                *all = memory.or(*all, here);
            }
            let left = memory.or(flow.broke, flow.continued);
            let left = memory.or(left, flow.returned);
            match memory.known(left) {
                Some(true) => break,
                Some(false) => {}
                None => live = self.guard(&mut guards, left, live),
            }
        }
        self.unwind(&guards);
        self.memory.cells.truncate(before);
        Ok(total)
    }

    /// Begins the branch of what has not `left`; what is live in it.
    fn guard(&mut self, guards: &mut Vec<Value>, left: Value, live: Value) -> Value {
        let stays = self.memory.graph.not(left);
        guards.push(stays);
        self.memory.open();
        self.memory.and(live, stays)
    }

    fn unwind(&mut self, guards: &[Value]) {
        for &stays in guards.iter().rev() {
            let written = self.memory.close();
            self.memory.merge(stays, &written, &BTreeMap::new());
        }
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
            Act::If(condition, then, other) => {
                let condition = self.truth(frame, condition)?;
                return match self.memory.known(condition) {
                    Some(known) => self.block(frame, if known { then } else { other }),
                    None => self.branch(frame, condition, then, other),
                };
            }
            Act::Loop { initial, condition, step, body, first } => {
                return self.repeat(frame, initial, condition.as_ref(), step, body, *first);
            }
            Act::Block(statements) => return self.block(frame, statements),
            Act::Break => flow.broke = self.memory.yes,
            Act::Continue => flow.continued = self.memory.yes,
            Act::Return(value) => {
                if let Some(value) = value {
                    let value = self.value(frame, value)?;
                    self.memory.write(frame.result, value);
                }
                flow.returned = self.memory.yes;
            }
        }
        Ok(flow)
    }

    /// `if` on data.
    fn branch(
        &mut self,
        frame: &mut Frame<'a>,
        condition: Value,
        then: &'a [Statement],
        other: &'a [Statement],
    ) -> Outcome<Flow> {
        self.memory.open();
        let a = self.block(frame, then);
        let then = self.memory.close();
        self.memory.open();
        let b = self.block(frame, other);
        let other = self.memory.close();
        let (a, b) = (a?, b?);
        let memory = &mut self.memory;
        memory.merge(condition, &then, &other);
        Ok(Flow {
            broke: memory.mix(condition, a.broke, b.broke),
            continued: memory.mix(condition, a.continued, b.continued),
            returned: memory.mix(condition, a.returned, b.returned),
        })
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
        let mut total = self.nowhere();
        let mut live = self.memory.yes;
        let mut guards = Vec::new();
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
                        let left = self.memory.graph.not(holds);
                        live = self.guard(&mut guards, left, live);
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
            let flow = self.block(frame, body)?;
            let returned = self.memory.and(live, flow.returned);
            total.returned = self.memory.or(total.returned, returned);
            let left = self.memory.or(flow.broke, flow.returned);
            match self.memory.known(left) {
                Some(true) => break,
                Some(false) => {}
                None => live = self.guard(&mut guards, left, live),
            }
            for statement in step {
                self.statement(frame, statement)?;
            }
        }
        self.unwind(&guards);
        self.memory.cells.truncate(before);
        Ok(total)
    }

    fn truth(&mut self, frame: &Frame<'a>, expr: &'a Expr) -> Outcome<Value> {
        let value = self.value(frame, expr)?;
        Ok(self.memory.truth(value))
    }

    fn real(&mut self, frame: &Frame<'a>, expr: &'a Expr) -> Outcome<Value> {
        let value = self.value(frame, expr)?;
        self.memory.real(value, expr.line)
    }

    fn value(&mut self, frame: &Frame<'a>, expr: &'a Expr) -> Outcome<Symbol> {
        let line = expr.line;
        Ok(match &expr.kind {
            Kind::Int(number) => Symbol::Int(*number),
            Kind::Real(number) => Symbol::Real(self.memory.graph.constant(*number)),
            Kind::Load(place) => return self.load(frame, place),
            Kind::Member(member) => match self.unit.members[*member].ty {
                Scalar::Int => Symbol::Int(self.integers[*member]),
                Scalar::Double => {
                    let place = u16::try_from(*member).unwrap_or(u16::MAX);
                    Symbol::Real(self.memory.graph.leaf(Leaf::Parameter(place)))
                }
            },
            Kind::Negate(a) => match self.value(frame, a)? {
                Symbol::Real(a) => Symbol::Real(self.memory.graph.unary(Unary::Negate, a)),
                a => self.memory.binary(Op::Subtract, Symbol::Int(0), a, line)?,
            },
            Kind::Complement(a) => match self.value(frame, a)? {
                Symbol::Int(a) => Symbol::Int(!a),
                _ => return fault(line, "`~` of data: use an int known at build"),
            },
            Kind::Not(a) => {
                let truth = self.truth(frame, a)?;
                let opposite = self.memory.graph.not(truth);
                self.memory.outcome(opposite)
            }
            Kind::Binary(op, sides) => {
                let a = self.value(frame, &sides[0])?;
                let b = self.value(frame, &sides[1])?;
                self.memory.binary(*op, a, b, line)?
            }
            Kind::And(sides) => {
                let a = self.truth(frame, &sides[0])?;
                let both = match self.memory.known(a) {
                    Some(false) => a,
                    Some(true) => self.truth(frame, &sides[1])?,
                    None => {
                        let b = self.apart(frame, a, &sides[1])?;
                        let b = self.memory.truth(b);
                        self.memory.and(a, b)
                    }
                };
                self.memory.outcome(both)
            }
            Kind::Or(sides) => {
                let a = self.truth(frame, &sides[0])?;
                let either = match self.memory.known(a) {
                    Some(true) => a,
                    Some(false) => self.truth(frame, &sides[1])?,
                    None => {
                        let otherwise = self.memory.graph.not(a);
                        let b = self.apart(frame, otherwise, &sides[1])?;
                        let b = self.memory.truth(b);
                        self.memory.or(a, b)
                    }
                };
                self.memory.outcome(either)
            }
            Kind::Choose(parts) => {
                let condition = self.truth(frame, &parts[0])?;
                match self.memory.known(condition) {
                    Some(known) => return self.value(frame, &parts[if known { 1 } else { 2 }]),
                    None => {
                        let a = self.apart(frame, condition, &parts[1])?;
                        let otherwise = self.memory.graph.not(condition);
                        let b = self.apart(frame, otherwise, &parts[2])?;
                        match self.memory.choose(condition, a, b) {
                            Symbol::Mixed => {
                                let a = self.memory.real(a, line)?;
                                let b = self.memory.real(b, line)?;
                                Symbol::Data(self.memory.graph.select(condition, a, b))
                            }
                            chosen => chosen,
                        }
                    }
                }
            }
            Kind::Convert(a) => {
                let value = self.value(frame, a)?;
                match (expr.ty, value) {
                    (Scalar::Double, value) => Symbol::Real(self.memory.real(value, line)?),
                    (Scalar::Int, Symbol::Real(value)) => self.memory.whole(value, line)?,
                    (Scalar::Int, value) => value,
                }
            }
            Kind::Function(function, a) => {
                let a = self.real(frame, a)?;
                Symbol::Real(self.memory.graph.unary(*function, a))
            }
            Kind::Function2(function, sides) => {
                let a = self.real(frame, &sides[0])?;
                let b = self.real(frame, &sides[1])?;
                Symbol::Real(self.memory.graph.binary(*function, a, b))
            }
            Kind::Call(function, arguments) => self.invoke(frame, *function, arguments)?,
        })
    }

    /// An expression that C computes only where `condition` holds: what it writes is written there.
    fn apart(&mut self, frame: &Frame<'a>, condition: Value, expr: &'a Expr) -> Outcome<Symbol> {
        self.memory.open();
        let value = self.value(frame, expr);
        let written = self.memory.close();
        let value = value?;
        self.memory.merge(condition, &written, &BTreeMap::new());
        Ok(value)
    }

    fn load(&mut self, frame: &Frame<'a>, place: &'a Place) -> Outcome<Symbol> {
        let at = self.locate(frame, place)?;
        let value = self.memory.cells[at];
        let what = match value {
            Symbol::Unset => "is read before it has a value: set it first",
            Symbol::Partial => "has a value on some paths only: set it before the condition",
            Symbol::Mixed => "is an integer that depends on data: make it a double",
            _ => return Ok(value),
        };
        fault(place.line, format!("{} {what}", self.about(frame, place.base).0))
    }

    fn invoke(
        &mut self,
        frame: &Frame<'a>,
        function: usize,
        arguments: &'a [Argument],
    ) -> Outcome<Symbol> {
        let mut given = Vec::with_capacity(arguments.len());
        for argument in arguments {
            given.push(match argument {
                Argument::Value(value) => Given::Value(self.value(frame, value)?),
                Argument::Parameters => Given::Parameters,
                Argument::Array { base, indices, offset, line } => {
                    let indices = self.integers(frame, indices)?;
                    let offset = match offset {
                        Some(offset) => Some(self.integer(frame, offset)?),
                        None => None,
                    };
                    let window = self.window(frame, *base);
                    let (name, dims, pointer) = self.about(frame, *base);
                    Given::Array(part(window, name, dims, pointer, &indices, offset, *line)?)
                }
            });
        }
        self.call(&self.unit.functions[function], &given)
    }

    fn integer(&mut self, frame: &Frame<'a>, expr: &'a Expr) -> Outcome<i64> {
        match self.value(frame, expr)? {
            Symbol::Int(number) => Ok(number),
            _ => fault(
                expr.line,
                "an index that depends on data: choose among the elements with `?:` or if",
            ),
        }
    }

    fn integers(&mut self, frame: &Frame<'a>, all: &'a [Expr]) -> Outcome<Vec<i64>> {
        all.iter().map(|expr| self.integer(frame, expr)).collect()
    }

    fn window(&self, frame: &Frame<'a>, base: Base) -> Window {
        match base {
            Base::Local(variable) => frame.windows[variable],
            Base::Global(global) => self.memory.globals[global],
        }
    }

    /// Name, sizes and whether it is a pointer.
    fn about(&self, frame: &Frame<'a>, base: Base) -> (&'a str, &'a [usize], bool) {
        match base {
            Base::Local(variable) => {
                let variable = &frame.function.variables[variable];
                (&variable.name, &variable.dims, variable.pointer)
            }
            Base::Global(global) => {
                let global = &self.unit.globals[global];
                (&global.name, &global.dims, false)
            }
        }
    }

    fn locate(&mut self, frame: &Frame<'a>, place: &'a Place) -> Outcome<usize> {
        let indices = self.integers(frame, &place.indices)?;
        let (name, dims, pointer) = self.about(frame, place.base);
        element(self.window(frame, place.base), name, dims, pointer, &indices, place.line)
    }
}
