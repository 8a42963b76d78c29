//! The C subset: reading, checking, tracing into a graph, and running as it stands.

mod ast;
mod call;
mod check;
mod constant;
mod declare;
mod evaluate;
mod expression;
mod lex;
mod memory;
mod parse;
mod statement;
mod symbols;
mod trace;
mod value;

use std::path::Path;

use crate::error::{Error, Result};
use crate::graph::{self, Leaf};
use crate::physics::{Physics, Term, arguments};
use ast::{Fault, Number, Scalar, fault};
use check::Role;
use symbols::Symbol;

pub(crate) use ast::Unit;

/// Places of the first argument of each kind, in the order of [`arguments`].
struct Starts {
    width: usize,
    /// First of `x`; `dx`, `t` and `dt` follow.
    position: usize,
}

impl Starts {
    fn new(term: Term, width: usize) -> Self {
        let position = arguments(term, u16::try_from(width).unwrap_or(u16::MAX)).len() - 8;
        Self { width, position }
    }

    /// First argument of a role and how many there are.
    fn of(&self, role: Role) -> (usize, usize) {
        let position = self.position;
        match role {
            Role::State => (0, self.width),
            Role::Right => (self.width, self.width),
            Role::Slopes => (self.width, position - self.width),
            Role::Position => (position, 3),
            Role::Spacing => (position + 3, 3),
            Role::Time => (position + 6, 1),
            Role::TimeStep => (position + 7, 1),
            Role::Direction | Role::Parameters | Role::Result => (0, 0),
        }
    }
}

/// Reads and checks a text.
pub(crate) fn read(file: &str, text: &str) -> Result<Physics> {
    let at = |fault: Fault| located(file, fault);
    let unit = parse::parse(text).map_err(at)?;
    let (unknowns, auxiliary) = check::unknowns(&unit).map_err(at)?;
    let parameters = check::parameters(&unit);
    let width = unknowns.len() + auxiliary.len();
    let terms = check::terms(&unit, unknowns.len(), width).map_err(at)?;
    let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str()).unwrap_or(file);
    let physics = Physics {
        name: stem.into(),
        file: file.into(),
        text: text.into(),
        unknowns,
        auxiliary,
        parameters,
        terms,
        unit,
    };
    // What a trace refuses (a data-dependent index, a value that is not set) is refused now.
    // The third direction may be out of reach of a physics for two.
    for &term in &physics.terms {
        for direction in 0..if term.directional() { 2 } else { 1 } {
            trace(&physics, term, direction, &[])?;
        }
    }
    Ok(physics)
}

fn located(file: &str, fault: Fault) -> Error {
    Error::Physics { file: file.into(), line: fault.line, what: fault.what }
}

/// The function of a term and what its arguments are.
fn function(physics: &Physics, term: Term) -> Result<(&ast::Function, Vec<Role>)> {
    let functions = &physics.unit.functions;
    let Some(function) = functions.iter().find(|function| function.name == term.name()) else {
        let has: Vec<&str> = physics.terms.iter().map(|term| term.name()).collect();
        return Err(Error::Mismatch(format!(
            "{} defines no {}: it has {}",
            physics.file,
            term.name(),
            has.join(", ")
        )));
    };
    let roles = check::roles(term, function, physics.evolved(), physics.width());
    Ok((function, roles.map_err(|fault| located(&physics.file, fault))?))
}

/// What a caller writes for the arguments of a term's function, in its order, where `a` is an array of
/// the term's [`arguments`], `r` of its results and `P` the parameters.
pub(crate) fn call(physics: &Physics, term: Term, direction: u8) -> Result<Vec<String>> {
    let (_, roles) = function(physics, term)?;
    let starts = Starts::new(term, physics.width());
    let text = |role: Role| {
        let (first, _) = starts.of(role);
        match role {
            Role::Parameters => "&P".into(),
            Role::Direction => direction.to_string(),
            Role::Result => "r".into(),
            Role::Time | Role::TimeStep => format!("a[{first}]"),
            Role::Slopes if term == Term::Rhs => {
                format!("(const double(*)[{}])(a + {first})", physics.width())
            }
            _ => format!("a + {first}"),
        }
    };
    Ok(roles.into_iter().map(text).collect())
}

/// Places of the arguments that a term's function takes, among its [`arguments`].
pub(crate) fn taken(physics: &Physics, term: Term) -> Result<Vec<usize>> {
    let (_, roles) = function(physics, term)?;
    let starts = Starts::new(term, physics.width());
    let mut places: Vec<usize> = roles
        .into_iter()
        .flat_map(|role| {
            let (first, len) = starts.of(role);
            first..first + len
        })
        .collect();
    places.sort_unstable();
    Ok(places)
}

/// The `int` parameters, by the place of the member.
fn integers(physics: &Physics, chosen: &[(String, i64)]) -> Result<Vec<i64>> {
    #[allow(clippy::cast_possible_truncation, reason = "defaults of int members are ints")]
    let mut all: Vec<i64> = physics.parameters.iter().map(|each| each.default as i64).collect();
    for (name, value) in chosen {
        let place = physics.parameters.iter().position(|each| each.integer && each.name == *name);
        match place {
            Some(place) => all[place] = *value,
            None => {
                let known: Vec<&str> = physics
                    .parameters
                    .iter()
                    .filter(|each| each.integer)
                    .map(|each| &*each.name)
                    .collect();
                return Err(Error::Mismatch(format!(
                    "{} has no int parameter {name}: it has [{}]",
                    physics.file,
                    known.join(", ")
                )));
            }
        }
    }
    Ok(all)
}

pub(crate) fn trace(
    physics: &Physics,
    term: Term,
    direction: u8,
    chosen: &[(String, i64)],
) -> Result<graph::Function> {
    let (function, roles) = function(physics, term)?;
    let integers = integers(physics, chosen)?;
    let starts = Starts::new(term, physics.width());
    let count = check::results(term, physics.evolved(), physics.width());
    let mut run = trace::Trace::new(&physics.unit, &integers);
    let mut result = None;
    let mut given = Vec::new();
    for role in roles {
        let (first, len) = starts.of(role);
        let mut leaf = |place: usize| {
            let place = u16::try_from(place).unwrap_or(u16::MAX);
            Symbol::Real(run.memory.graph.leaf(Leaf::Argument(place)))
        };
        given.push(match role {
            Role::Parameters => trace::Given::Parameters,
            Role::Direction => trace::Given::Value(Symbol::Int(direction.into())),
            Role::Time | Role::TimeStep => trace::Given::Value(leaf(first)),
            Role::Result => {
                let window = run.memory.place(vec![Symbol::Unset; count]);
                result = Some((window, function));
                trace::Given::Array(window)
            }
            _ => {
                let leaves: Vec<Symbol> = (first..first + len).map(leaf).collect();
                trace::Given::Array(run.memory.place(leaves))
            }
        });
    }
    let outputs = run.call(function, &given).and_then(|value| {
        let symbols = match result {
            None => vec![value],
            Some((window, _)) => run.memory.cells[window.start..window.start + window.len].to_vec(),
        };
        symbols
            .iter()
            .enumerate()
            .map(|(place, symbol)| settled(term, function, place, symbol))
            .collect()
    });
    let outputs = outputs.map_err(|fault| located(&physics.file, fault))?;
    Ok(graph::Function { graph: run.memory.graph, outputs })
}

/// A result of a term, if it has one.
fn settled(
    term: Term,
    function: &ast::Function,
    place: usize,
    symbol: &Symbol,
) -> ast::Outcome<graph::Value> {
    match symbol {
        Symbol::Real(value) => Ok(*value),
        _ => unset(term, function, place),
    }
}

fn unset<T>(term: Term, function: &ast::Function, place: usize) -> ast::Outcome<T> {
    fault(
        function.line,
        format!(
            "{} does not set result {place} on every path: set it, to 0.0 if nothing",
            term.name()
        ),
    )
}

pub(crate) fn evaluate(
    physics: &Physics,
    term: Term,
    direction: u8,
    given_arguments: &[f64],
    parameters: &[f64],
) -> Result<Vec<f64>> {
    let (function, roles) = function(physics, term)?;
    let starts = Starts::new(term, physics.width());
    let count = check::results(term, physics.evolved(), physics.width());
    let (want, got) = (starts.position + 8, given_arguments.len());
    if got != want {
        let name = term.name();
        return Err(Error::Mismatch(format!("{name} takes {want} arguments, {got} were given")));
    }
    let (want, got) = (physics.parameters.len(), parameters.len());
    if got != want {
        let name = &physics.file;
        return Err(Error::Mismatch(format!("{name} has {want} parameters, {got} were given")));
    }
    #[allow(clippy::cast_possible_truncation, reason = "int parameters are ints")]
    let numbers: Vec<Number> = physics
        .unit
        .members
        .iter()
        .zip(parameters)
        .map(|(member, &value)| match member.ty {
            Scalar::Int => Number::Int(value as i64),
            Scalar::Double => Number::Real(value),
        })
        .collect();
    let mut run = evaluate::Run::new(&physics.unit, &numbers);
    let mut result = None;
    let mut given = Vec::new();
    for role in roles {
        let (first, len) = starts.of(role);
        given.push(match role {
            Role::Parameters => evaluate::Given::Parameters,
            Role::Direction => evaluate::Given::Value(Number::Int(direction.into())),
            Role::Time | Role::TimeStep => {
                evaluate::Given::Value(Number::Real(given_arguments[first]))
            }
            Role::Result => {
                let window = run.place(vec![None; count]);
                result = Some(window);
                evaluate::Given::Array(window)
            }
            _ => {
                let values = &given_arguments[first..first + len];
                evaluate::Given::Array(run.place(values.iter().map(|&v| Some(Number::Real(v)))))
            }
        });
    }
    let outputs = run.call(function, &given).and_then(|value| {
        let numbers = match result {
            None => vec![value],
            Some(window) => run.read(window).to_vec(),
        };
        let settled = |(place, number): (usize, &Option<Number>)| match number {
            Some(number) => Ok(number.real()),
            None => unset(term, function, place),
        };
        numbers.iter().enumerate().map(settled).collect()
    });
    outputs.map_err(|fault| located(&physics.file, fault))
}
