//! Runs the text as it stands, statement by statement in f64: the oracle of the trace.

use super::ast::{
    Act, Argument, Base, Expr, Formal, Function, Initial, Kind, Number, Outcome, Place, Scalar,
    Statement, Unit, fault,
};
use super::constant::{self, binary, convert};
use super::memory::{Window, element, part};
use crate::graph::{Binary, apply_binary, apply_unary};

/// Turns of all loops together before a run is given up.
const MOST_TURNS: usize = 10_000_000;

/// What a statement did to the order of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Break,
    Continue,
    Return,
}

/// What a caller passes to a function.
#[derive(Debug, Clone, Copy)]
pub(super) enum Given {
    Value(Number),
    Array(Window),
    Parameters,
}

/// A run.
pub(super) struct Run<'a> {
    unit: &'a Unit,
    /// Values of the parameters.
    parameters: &'a [Number],
    /// Constants of the file, then the variables of all functions at work; `None` is not set yet.
    memory: Vec<Option<Number>>,
    globals: Vec<Window>,
    turns: usize,
}

/// The variables of a function at work.
struct Frame<'a> {
    function: &'a Function,
    windows: Vec<Window>,
    result: Option<Number>,
}

impl<'a> Run<'a> {
    pub(super) fn new(unit: &'a Unit, parameters: &'a [Number]) -> Self {
        let (mut memory, mut globals) = (Vec::new(), Vec::new());
        for global in &unit.globals {
            globals.push(Window { start: memory.len(), len: global.values.len() });
            memory.extend(global.values.iter().copied().map(Some));
        }
        Self { unit, parameters, memory, globals, turns: 0 }
    }

    /// Room for an array with these values.
    pub(super) fn place(&mut self, values: impl IntoIterator<Item = Option<Number>>) -> Window {
        let start = self.memory.len();
        self.memory.extend(values);
        Window { start, len: self.memory.len() - start }
    }

    /// The numbers in a window.
    pub(super) fn read(&self, window: Window) -> &[Option<Number>] {
        &self.memory[window.start..window.start + window.len]
    }

    /// Calls a function.
    pub(super) fn call(
        &mut self,
        function: &'a Function,
        given: &[Given],
    ) -> Outcome<Option<Number>> {
        self.turns += 1;
        if self.turns > MOST_TURNS {
            return fault(function.line, "too many calls: call functions less often");
        }
        let before = self.memory.len();
        let windows = vec![Window::default(); function.variables.len()];
        let mut frame = Frame { function, windows, result: None };
        for (formal, given) in function.formals.iter().zip(given) {
            let Formal::Variable(variable) = formal else { continue };
            frame.windows[*variable] = match *given {
                Given::Value(number) => self.place([Some(number)]),
                Given::Array(window) => window,
                Given::Parameters => continue,
            };
        }
        self.block(&mut frame, &function.body)?;
        self.memory.truncate(before);
        if function.result.is_some() && frame.result.is_none() {
            return fault(
                function.line,
                format!("{} ends without a result: return one on every path", function.name),
            );
        }
        Ok(frame.result)
    }

    fn block(&mut self, frame: &mut Frame<'a>, statements: &'a [Statement]) -> Outcome<Flow> {
        let before = self.memory.len();
        for statement in statements {
            let flow = self.statement(frame, statement)?;
            if flow != Flow::On {
                self.memory.truncate(before);
                return Ok(flow);
            }
        }
        self.memory.truncate(before);
        Ok(Flow::On)
    }

    fn statement(&mut self, frame: &mut Frame<'a>, statement: &'a Statement) -> Outcome<Flow> {
        match &statement.act {
            Act::Declare(variable, initial) => {
                let about = &frame.function.variables[*variable];
                let zero = match about.ty {
                    Scalar::Int => Number::Int(0),
                    Scalar::Double => Number::Real(0.0),
                };
                let mut values = vec![None; about.len()];
                match initial {
                    Initial::Nothing => {}
                    Initial::Scalar(value) => values[0] = Some(self.value(frame, value)?),
                    Initial::List(list) => {
                        values.fill(Some(zero));
                        for (at, value) in list {
                            values[*at] = Some(self.value(frame, value)?);
                        }
                    }
                }
                frame.windows[*variable] = self.place(values);
            }
            Act::Assign(place, value) => {
                let value = self.value(frame, value)?;
                let at = self.locate(frame, place)?;
                self.memory[at] = Some(value);
            }
            Act::Call(function, arguments) => {
                self.invoke(frame, *function, arguments)?;
            }
            Act::If(condition, then, other) => {
                let taken = if self.truth(frame, condition)? { then } else { other };
                return self.block(frame, taken);
            }
            Act::Loop { initial, condition, step, body, first } => {
                return self.repeat(frame, initial, condition.as_ref(), step, body, *first);
            }
            Act::Block(statements) => return self.block(frame, statements),
            Act::Break => return Ok(Flow::Break),
            Act::Continue => return Ok(Flow::Continue),
            Act::Return(value) => {
                if let Some(value) = value {
                    frame.result = Some(self.value(frame, value)?);
                }
                return Ok(Flow::Return);
            }
        }
        Ok(Flow::On)
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
        let before = self.memory.len();
        for statement in initial {
            self.statement(frame, statement)?;
        }
        let mut ask = first;
        let mut flow = Flow::On;
        loop {
            if let Some(condition) = condition
                && ask
                && !self.truth(frame, condition)?
            {
                break;
            }
            ask = true;
            self.turns += 1;
            if self.turns > MOST_TURNS {
                return fault(
                    body.first().map_or(frame.function.line, |statement| statement.line),
                    "the loops do not end: bound their turns by a constant",
                );
            }
            match self.block(frame, body)? {
                Flow::Break => break,
                Flow::Return => {
                    flow = Flow::Return;
                    break;
                }
                Flow::On | Flow::Continue => {}
            }
            for statement in step {
                self.statement(frame, statement)?;
            }
        }
        self.memory.truncate(before);
        Ok(flow)
    }

    fn truth(&mut self, frame: &Frame<'a>, expr: &'a Expr) -> Outcome<bool> {
        Ok(self.value(frame, expr)?.real() != 0.0)
    }

    fn real(&mut self, frame: &Frame<'a>, expr: &'a Expr) -> Outcome<f64> {
        Ok(self.value(frame, expr)?.real())
    }

    fn value(&mut self, frame: &Frame<'a>, expr: &'a Expr) -> Outcome<Number> {
        let truth = |truth: bool| Number::Int(i64::from(truth));
        Ok(match &expr.kind {
            Kind::Int(number) => Number::Int(*number),
            Kind::Real(number) => Number::Real(*number),
            Kind::Load(place) => {
                let at = self.locate(frame, place)?;
                match self.memory[at] {
                    Some(number) => number,
                    None => {
                        let name = self.about(frame, place.base).0;
                        return fault(
                            place.line,
                            format!("{name} is read before it has a value: set it first"),
                        );
                    }
                }
            }
            Kind::Member(member) => self.parameters[*member],
            Kind::Negate(a) => match self.value(frame, a)? {
                Number::Int(a) => {
                    Number::Int(constant::integer(super::ast::Op::Subtract, 0, a, expr.line)?)
                }
                Number::Real(a) => Number::Real(-a),
            },
            Kind::Complement(a) => match self.value(frame, a)? {
                Number::Int(a) => Number::Int(!a),
                Number::Real(_) => return fault(expr.line, "`~` of a double: use an int"),
            },
            Kind::Not(a) => truth(!self.truth(frame, a)?),
            Kind::Binary(..) => {
                let (first, rest) = expr.chain();
                let mut a = self.value(frame, first)?;
                for (op, b, line) in rest {
                    let b = self.value(frame, b)?;
                    a = binary(op, a, b, line)?;
                }
                a
            }
            Kind::And(sides) => {
                truth(self.truth(frame, &sides[0])? && self.truth(frame, &sides[1])?)
            }
            Kind::Or(sides) => {
                truth(self.truth(frame, &sides[0])? || self.truth(frame, &sides[1])?)
            }
            Kind::Choose(parts) => {
                let taken = if self.truth(frame, &parts[0])? { &parts[1] } else { &parts[2] };
                self.value(frame, taken)?
            }
            Kind::Convert(a) => {
                let a = self.value(frame, a)?;
                convert(a, expr.ty, expr.line)?
            }
            Kind::Function(function, a) => {
                Number::Real(apply_unary(*function, self.real(frame, a)?))
            }
            Kind::Function2(function, sides) => {
                let a = self.real(frame, &sides[0])?;
                let b = self.real(frame, &sides[1])?;
                Number::Real(match function {
                    Binary::Power => power(a, b, known(&sides[1])),
                    _ => apply_binary(*function, a, b),
                })
            }
            Kind::Call(function, arguments) => match self.invoke(frame, *function, arguments)? {
                Some(number) => number,
                None => return fault(expr.line, "a void function gives no value"),
            },
        })
    }

    fn invoke(
        &mut self,
        frame: &Frame<'a>,
        function: usize,
        arguments: &'a [Argument],
    ) -> Outcome<Option<Number>> {
        let before = self.memory.len();
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
        let result = self.call(&self.unit.functions[function], &given);
        self.memory.truncate(before);
        result
    }

    fn integer(&mut self, frame: &Frame<'a>, expr: &'a Expr) -> Outcome<i64> {
        match self.value(frame, expr)? {
            Number::Int(number) => Ok(number),
            Number::Real(_) => fault(expr.line, "an index is a double: write an int"),
        }
    }

    fn integers(&mut self, frame: &Frame<'a>, all: &'a [Expr]) -> Outcome<Vec<i64>> {
        all.iter().map(|expr| self.integer(frame, expr)).collect()
    }

    fn window(&self, frame: &Frame<'a>, base: Base) -> Window {
        match base {
            Base::Local(variable) => frame.windows[variable],
            Base::Global(global) => self.globals[global],
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

/// Whether a number is known when a kernel is built, by its form.
fn known(expr: &Expr) -> bool {
    match &expr.kind {
        Kind::Int(_) | Kind::Real(_) => true,
        Kind::Negate(a) | Kind::Convert(a) => a.ty == Scalar::Int || known(a),
        Kind::Binary(_, sides) => known(&sides[0]) && known(&sides[1]),
        Kind::Load(Place { base: Base::Global(_), .. }) => true,
        _ => expr.ty == Scalar::Int,
    }
}

/// `pow(a, b)`; exponents that are constants give the products and roots that
/// [`Graph::binary`](crate::graph::Graph::binary) writes for them, which differ from `pow` in the
/// last bit at most.
#[allow(clippy::float_cmp, reason = "these very exponents")]
fn power(a: f64, b: f64, known: bool) -> f64 {
    match b {
        _ if !known => a.powf(b),
        _ if b == 1.0 => a,
        _ if b == 2.0 => a * a,
        _ if b == -1.0 => 1.0 / a,
        _ if b == 0.5 => a.sqrt(),
        _ => a.powf(b),
    }
}
