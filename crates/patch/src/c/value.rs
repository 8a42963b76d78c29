//! Expressions in a trace.

use std::collections::BTreeMap;

use super::ast::{Argument, Base, Expr, Kind, Op, Outcome, Place, Scalar, fault};
use super::memory::{Window, element, part};
use super::symbols::Symbol;
use super::trace::{Frame, Given, Trace};
use crate::graph::{Leaf, Unary, Value};

impl<'a> Trace<'a> {
    pub(super) fn truth(&mut self, frame: &Frame<'a>, expr: &'a Expr) -> Outcome<Value> {
        let value = self.value(frame, expr)?;
        Ok(self.memory.truth(value))
    }

    fn real(&mut self, frame: &Frame<'a>, expr: &'a Expr) -> Outcome<Value> {
        let value = self.value(frame, expr)?;
        self.memory.real(value, expr.line)
    }

    pub(super) fn value(&mut self, frame: &Frame<'a>, expr: &'a Expr) -> Outcome<Symbol> {
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
            Kind::Binary(..) => {
                let (first, rest) = expr.chain();
                let mut a = self.value(frame, first)?;
                for (op, b, line) in rest {
                    let b = self.value(frame, b)?;
                    a = self.memory.binary(op, a, b, line)?;
                }
                a
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

    pub(super) fn invoke(
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

    pub(super) fn locate(&mut self, frame: &Frame<'a>, place: &'a Place) -> Outcome<usize> {
        let indices = self.integers(frame, &place.indices)?;
        let (name, dims, pointer) = self.about(frame, place.base);
        element(self.window(frame, place.base), name, dims, pointer, &indices, place.line)
    }
}
