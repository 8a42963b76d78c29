//! Values of the symbolic execution and what branches on data do to memory.
//!
//! A branch writes into memory as if it were taken, while a journal keeps what it overwrites; where
//! branches meet, each cell that one of them wrote becomes a selection. What no branch writes costs
//! nothing.

use std::collections::BTreeMap;

use super::ast::{Op, Outcome, Unit, fault};
use super::constant::{integer, truncate};
use super::memory::Window;
use crate::graph::{Binary, Graph, Logic, Value};

/// What a cell of memory holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Symbol {
    /// Nothing yet.
    Unset,
    /// A value on some paths only.
    Partial,
    /// Integers that differ from path to path: no build knows which.
    Mixed,
    /// An `int` known at build.
    Int(i64),
    /// An `int` that is the outcome of a comparison of data.
    Truth(Value),
    /// An `int` computed from such outcomes, as a number.
    Data(Value),
    /// A `double`.
    Real(Value),
}

/// What a branch overwrites: only cells below `base` outlive it.
struct Journal {
    base: usize,
    old: BTreeMap<usize, Symbol>,
}

/// Memory and graph of a trace.
pub(super) struct Memory {
    pub(super) graph: Graph,
    pub(super) cells: Vec<Symbol>,
    pub(super) globals: Vec<Window>,
    journals: Vec<Journal>,
    /// Cells of results of the functions at work: what a path that did not return left there does not
    /// count.
    pub(super) results: Vec<usize>,
    /// The truth values.
    pub(super) no: Value,
    pub(super) yes: Value,
}

impl Memory {
    pub(super) fn new(unit: &Unit) -> Self {
        let mut graph = Graph::new();
        let (no, yes) = (graph.constant(0.0), graph.constant(1.0));
        let (mut cells, mut globals) = (Vec::new(), Vec::new());
        for global in &unit.globals {
            globals.push(Window { start: cells.len(), len: global.values.len() });
            for value in &global.values {
                cells.push(match *value {
                    super::ast::Number::Int(number) => Symbol::Int(number),
                    super::ast::Number::Real(number) => Symbol::Real(graph.constant(number)),
                });
            }
        }
        Self { graph, cells, globals, journals: Vec::new(), results: Vec::new(), no, yes }
    }

    /// Room for an array with these values.
    pub(super) fn place(&mut self, values: impl IntoIterator<Item = Symbol>) -> Window {
        let start = self.cells.len();
        self.cells.extend(values);
        Window { start, len: self.cells.len() - start }
    }

    pub(super) fn write(&mut self, at: usize, value: Symbol) {
        if let Some(journal) = self.journals.last_mut()
            && at < journal.base
        {
            journal.old.entry(at).or_insert(self.cells[at]);
        }
        self.cells[at] = value;
    }

    /// Begins a branch.
    pub(super) fn open(&mut self) {
        self.journals.push(Journal { base: self.cells.len(), old: BTreeMap::new() });
    }

    /// Ends a branch: memory is as before it; what it wrote, by place.
    pub(super) fn close(&mut self) -> BTreeMap<usize, Symbol> {
        let mut written = self.journals.pop().map(|journal| journal.old).unwrap_or_default();
        for (&at, value) in &mut written {
            std::mem::swap(&mut self.cells[at], value);
        }
        written
    }

    /// Joins two branches that wrote `then` where `condition` holds and `other` where it does not.
    pub(super) fn merge(
        &mut self,
        condition: Value,
        then: &BTreeMap<usize, Symbol>,
        other: &BTreeMap<usize, Symbol>,
    ) {
        let alone = other.keys().filter(|at| !then.contains_key(at));
        let mut all: Vec<usize> = then.keys().chain(alone).copied().collect();
        all.sort_unstable();
        for at in all {
            let a = then.get(&at).copied().unwrap_or(self.cells[at]);
            let b = other.get(&at).copied().unwrap_or(self.cells[at]);
            let value = match (a, b) {
                (Symbol::Unset, given) | (given, Symbol::Unset) if self.results.contains(&at) => {
                    given
                }
                _ => self.choose(condition, a, b),
            };
            self.write(at, value);
        }
    }

    /// `condition ? a : b`.
    pub(super) fn choose(&mut self, condition: Value, a: Symbol, b: Symbol) -> Symbol {
        match (a, b) {
            _ if a == b => a,
            (Symbol::Unset | Symbol::Partial, _) | (_, Symbol::Unset | Symbol::Partial) => {
                Symbol::Partial
            }
            (Symbol::Real(a), Symbol::Real(b)) => Symbol::Real(self.graph.select(condition, a, b)),
            (Symbol::Truth(_), Symbol::Truth(_) | Symbol::Int(0 | 1))
            | (Symbol::Int(0 | 1), Symbol::Truth(_)) => {
                let (a, b) = (self.truth(a), self.truth(b));
                let mixed = self.mix(condition, a, b);
                self.outcome(mixed)
            }
            _ => Symbol::Mixed,
        }
    }

    pub(super) fn known(&self, truth: Value) -> Option<bool> {
        self.graph.constant_of(truth).map(|truth| truth != 0.0)
    }

    pub(super) fn and(&mut self, a: Value, b: Value) -> Value {
        self.graph.logic(Logic::And, a, b)
    }

    pub(super) fn or(&mut self, a: Value, b: Value) -> Value {
        self.graph.logic(Logic::Or, a, b)
    }

    /// `condition ? a : b` of truth values.
    pub(super) fn mix(&mut self, condition: Value, a: Value, b: Value) -> Value {
        if a == b {
            return a;
        }
        let otherwise = self.graph.not(condition);
        let (a, b) = (self.and(condition, a), self.and(otherwise, b));
        self.or(a, b)
    }

    /// A truth value as the `int` that C makes of it.
    pub(super) fn outcome(&self, truth: Value) -> Symbol {
        match self.known(truth) {
            Some(known) => Symbol::Int(i64::from(known)),
            None => Symbol::Truth(truth),
        }
    }

    /// Whether a value differs from zero.
    pub(super) fn truth(&mut self, symbol: Symbol) -> Value {
        match symbol {
            Symbol::Int(0) => self.no,
            Symbol::Truth(truth) => truth,
            Symbol::Real(value) | Symbol::Data(value) => {
                let zero = self.no;
                let equal = self.graph.logic(Logic::Equal, value, zero);
                self.graph.not(equal)
            }
            _ => self.yes,
        }
    }

    /// A value as a real.
    #[allow(clippy::cast_precision_loss, reason = "an int of C has 32 bits")]
    pub(super) fn real(&mut self, symbol: Symbol, line: u32) -> Outcome<Value> {
        match symbol {
            Symbol::Int(number) => Ok(self.graph.constant(number as f64)),
            Symbol::Truth(truth) => {
                let (yes, no) = (self.yes, self.no);
                Ok(self.graph.select(truth, yes, no))
            }
            Symbol::Real(value) | Symbol::Data(value) => Ok(value),
            Symbol::Unset | Symbol::Partial | Symbol::Mixed => {
                fault(line, "a value that is not set: set it first")
            }
        }
    }

    /// A real as an `int`, if it is known.
    pub(super) fn whole(&self, value: Value, line: u32) -> Outcome<Symbol> {
        match self.graph.constant_of(value) {
            Some(number) => truncate(number, line).map(Symbol::Int),
            None => fault(
                line,
                "a double that depends on data becomes an int: keep it a double, with floor",
            ),
        }
    }

    /// An operator on two values of one type.
    pub(super) fn binary(&mut self, op: Op, a: Symbol, b: Symbol, line: u32) -> Outcome<Symbol> {
        if let (Symbol::Int(a), Symbol::Int(b)) = (a, b) {
            return integer(op, a, b, line).map(Symbol::Int);
        }
        let real = matches!(a, Symbol::Real(_));
        let (a, b) = (self.real(a, line)?, self.real(b, line)?);
        let function = match op {
            Op::Add => Binary::Add,
            Op::Subtract => Binary::Subtract,
            Op::Multiply => Binary::Multiply,
            Op::Divide if real => Binary::Divide,
            Op::Less => return Ok(self.compare(Logic::Less, a, b)),
            Op::LessEqual => return Ok(self.compare(Logic::LessEqual, a, b)),
            Op::Equal => return Ok(self.compare(Logic::Equal, a, b)),
            Op::NotEqual => {
                let equal = self.graph.logic(Logic::Equal, a, b);
                let differ = self.graph.not(equal);
                return Ok(self.outcome(differ));
            }
            _ => {
                return fault(
                    line,
                    "an integer that depends on data: compute with double and floor, or choose \
                     with `?:`",
                );
            }
        };
        let value = self.graph.binary(function, a, b);
        Ok(if real { Symbol::Real(value) } else { self.integral(value) })
    }

    fn compare(&mut self, logic: Logic, a: Value, b: Value) -> Symbol {
        let truth = self.graph.logic(logic, a, b);
        self.outcome(truth)
    }

    /// A number computed from integers.
    pub(super) fn integral(&self, value: Value) -> Symbol {
        match self.graph.constant_of(value) {
            #[allow(clippy::cast_possible_truncation, reason = "sums of few ints of 32 bits")]
            Some(number) => Symbol::Int(number as i64),
            None => Symbol::Data(value),
        }
    }
}
