//! Values of a scheme's expressions as nodes of one graph, for a direction and a place.

use std::collections::HashMap;

use super::resolve::Resolved;
use crate::error::{Error, Result};
use crate::graph::{Binary, BlockId, Coordinate, Function, Graph, Leaf, Value};
use crate::kernel::{self, Matrix, Shape};
use crate::physics::{Argument, Physics, Term, arguments};
use crate::ranges::Margin;
use crate::scheme::{Action, Expression, INPUT, OUTPUT, Statement};

/// Where an expression is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// Direction of the statement; 0 where it has none.
    pub(super) axis: usize,
    /// Voxel.
    pub(super) at: [Coordinate; 3],
    /// Whether the value stands for the face beyond the voxel.
    pub(super) faces: bool,
}

impl Place {
    /// The voxel in work.
    pub(super) const fn here(axis: usize, faces: bool) -> Self {
        Self { axis, at: [Coordinate::Shift(0); 3], faces }
    }

    fn shifted(mut self, by: i8) -> Self {
        self.at[self.axis] = match self.at[self.axis] {
            Coordinate::Shift(shift) => Coordinate::Shift(shift + by),
            Coordinate::At(index) => Coordinate::At(index + i16::from(by)),
        };
        self
    }
}

/// A call of a term with its arguments' values.
pub(super) struct Called {
    pub(super) arguments: Vec<Value>,
    pub(super) results: Vec<Value>,
}

type Instance = (usize, usize);

/// Joins a scheme and a physics.
pub(super) struct Expander<'a> {
    resolved: &'a Resolved,
    physics: &'a Physics,
    integers: &'a [(String, i64)],
    shape: Shape,
    frozen: HashMap<u16, f64>,
    /// The matrices by their place in the scheme.
    pub(super) matrices: Vec<Matrix>,
    /// The graph of all values.
    pub(super) graph: Graph,
    /// Blocks that are stored.
    pub(super) stored: HashMap<Instance, BlockId>,
    functions: HashMap<(Term, u8), Function>,
    memory: HashMap<(Instance, [Coordinate; 3]), Vec<Value>>,
}

impl<'a> Expander<'a> {
    /// Joins nothing yet.
    ///
    /// # Errors
    /// [`Error::Mismatch`] where a matrix does not fit the patch.
    pub(super) fn new(
        resolved: &'a Resolved,
        physics: &'a Physics,
        integers: &'a [(String, i64)],
        shape: Shape,
        frozen: HashMap<u16, f64>,
    ) -> Result<Self> {
        let sources = &resolved.scheme.matrices;
        let matrices = sources
            .iter()
            .map(|source| source.generator.matrix(&source.name, shape.cells))
            .collect::<Result<_, String>>()
            .map_err(Error::Mismatch)?;
        Ok(Self {
            resolved,
            physics,
            integers,
            shape,
            frozen,
            matrices,
            graph: Graph::new(),
            stored: HashMap::new(),
            functions: HashMap::new(),
            memory: HashMap::new(),
        })
    }

    fn axes(&self) -> usize {
        usize::from(self.shape.dimensions)
    }

    fn parameter(&mut self, place: usize) -> Value {
        let place = u16::try_from(place).unwrap_or(u16::MAX);
        match self.frozen.get(&place) {
            Some(&number) => self.graph.constant(number),
            None => self.graph.leaf(Leaf::Parameter(place)),
        }
    }

    /// Loads of a stored block.
    pub(super) fn load(
        &mut self,
        block: BlockId,
        unknowns: std::ops::Range<usize>,
        at: [Coordinate; 3],
    ) -> Vec<Value> {
        unknowns
            .map(|unknown| {
                let unknown = u16::try_from(unknown).unwrap_or(u16::MAX);
                self.graph.leaf(Leaf::Load { block, unknown, at })
            })
            .collect()
    }

    /// Values of an expression: 1, N or N + M.
    ///
    /// # Errors
    /// [`Error::Physics`] where a term has no graph; [`Error::Mismatch`] where the plan cannot
    /// express what is asked.
    pub(super) fn value(&mut self, value: &Expression, place: Place) -> Result<Vec<Value>> {
        Ok(match value {
            Expression::Number(number) => vec![self.graph.constant(*number)],
            Expression::Parameter(own) => {
                vec![self.parameter(self.physics.parameters.len() + own)]
            }
            Expression::TimeStep => vec![self.graph.leaf(Leaf::TimeStep)],
            Expression::Spacing => vec![self.graph.leaf(Leaf::Spacing(short(place.axis)))],
            Expression::Block(block, shift) => self.block(*block, place.shifted(*shift))?,
            Expression::Each(block) => self.instances(*block, place)?.concat(),
            Expression::Sum(block) => self.fold(*block, place, Binary::Add)?,
            Expression::Largest(block) => self.fold(*block, place, Binary::Maximum)?,
            Expression::Unary(function, a) => {
                let a = self.value(a, place)?;
                a.into_iter().map(|a| self.graph.unary(*function, a)).collect()
            }
            Expression::Binary(function, a, b) => {
                let (a, b) = (self.value(a, place)?, self.value(b, place)?);
                self.each(*function, &a, &b)
            }
            Expression::Evolved(a) => {
                let mut values = self.value(a, place)?;
                values.truncate(self.physics.evolved());
                values
            }
            Expression::Complete(a) => {
                let shift = if let Expression::Block(_, shift) = **a { shift } else { 0 };
                let values = self.value(a, place)?;
                let mut all = self.widened(values, self.physics.evolved());
                let fixed = self.physics.evolved()..self.physics.width();
                all.extend(self.load(kernel::INPUT, fixed, place.shifted(shift).at));
                all
            }
            Expression::Call(term, list) => self.call(*term, list, place)?.results,
            Expression::Apply(matrix, block) => self.apply(*matrix, *block, place)?,
            Expression::Has(..) => {
                return Err(Error::Mismatch("a choice is left after its pass".into()));
            }
        })
    }

    /// One value repeated to so many.
    pub(super) fn widened(&self, values: Vec<Value>, width: usize) -> Vec<Value> {
        if values.len() == 1 { vec![values[0]; width] } else { values }
    }

    fn each(&mut self, function: Binary, a: &[Value], b: &[Value]) -> Vec<Value> {
        let width = a.len().max(b.len());
        let at = |side: &[Value], place: usize| if side.len() == 1 { side[0] } else { side[place] };
        (0..width).map(|place| self.graph.binary(function, at(a, place), at(b, place))).collect()
    }

    fn instances(&mut self, block: usize, place: Place) -> Result<Vec<Vec<Value>>> {
        (0..self.axes()).map(|axis| self.block(block, Place { axis, ..place })).collect()
    }

    fn fold(&mut self, block: usize, place: Place, function: Binary) -> Result<Vec<Value>> {
        let mut all = self.instances(block, place)?.into_iter();
        let first = all.next().unwrap_or_default();
        Ok(all.fold(first, |sum, next| self.each(function, &sum, &next)))
    }

    fn statement_of(&self, block: usize) -> Option<&'a Statement> {
        self.resolved.scheme.statements.iter().find(
            |statement| matches!(statement.action, Action::Assign { block: own, .. } if own == block),
        )
    }

    /// Values of a block at a place: loaded where it is stored, else computed.
    fn block(&mut self, block: usize, place: Place) -> Result<Vec<Value>> {
        let width = self.width(block);
        if block == INPUT {
            return Ok(self.load(kernel::INPUT, 0..width, place.at));
        }
        let axis = if self.resolved.scheme.blocks[block].directional { place.axis } else { 0 };
        if let Some(&stored) = self.stored.get(&(block, axis)) {
            return Ok(self.load(stored, 0..width, place.at));
        }
        let key = ((block, axis), place.at);
        if let Some(known) = self.memory.get(&key) {
            return Ok(known.clone());
        }
        let Some(statement) = self.statement_of(block) else {
            // What is zero for this physics has no statement left.
            return Ok(vec![self.graph.constant(0.0); width]);
        };
        let Action::Assign { faces, value, .. } = &statement.action else { return Ok(Vec::new()) };
        let values = self.value(value, Place { axis, at: place.at, faces: *faces })?;
        let values = if block == OUTPUT {
            self.output(values, place.at)
        } else {
            self.widened(values, width)
        };
        self.memory.insert(key, values.clone());
        Ok(values)
    }

    /// The output's values from the evolved ones: those of a step go with the fixed unknowns.
    pub(super) fn output(&mut self, evolved: Vec<Value>, at: [Coordinate; 3]) -> Vec<Value> {
        let mut values = self.widened(evolved, self.physics.evolved());
        let fixed = self.physics.evolved()..self.shape.output_width();
        values.extend(self.load(kernel::INPUT, fixed, at));
        values
    }

    /// Values per voxel of a block.
    pub(super) fn width(&self, block: usize) -> usize {
        use crate::scheme::Width;
        match self.resolved.widths[block] {
            Width::Scalar => 1,
            Width::Evolved => self.physics.evolved(),
            Width::All => self.physics.width(),
        }
    }

    fn apply(&mut self, matrix: usize, block: usize, place: Place) -> Result<Vec<Value>> {
        let Margin { low, .. } = self.resolved.scheme.matrices[matrix].generator.margin();
        let columns = self.matrices[matrix].columns;
        let rows = self.matrices[matrix].entries.len() / columns;
        let mut sum: Option<Vec<Value>> = None;
        for (index, column) in (low..).zip(0..columns) {
            let entry = |row: usize| self.matrices[matrix].entries[row * columns + column];
            if (0..rows).all(|row| entry(row) == 0.0) {
                continue;
            }
            let factor = match place.at[place.axis] {
                Coordinate::Shift(0) => self.graph.leaf(Leaf::Coefficient {
                    matrix: u16::try_from(matrix).unwrap_or(u16::MAX),
                    axis: short(place.axis),
                    column: u16::try_from(column).unwrap_or(u16::MAX),
                }),
                Coordinate::At(row) => {
                    let number = usize::try_from(row).ok().filter(|row| *row < rows).map(entry);
                    self.graph.constant(number.unwrap_or(0.0))
                }
                Coordinate::Shift(_) => {
                    return Err(Error::Mismatch(format!(
                        "the result of matrix {} is read at a shift along its axis: store its block \
                         (plan Staged or Unfused)",
                        self.matrices[matrix].name
                    )));
                }
            };
            let mut source = place;
            source.at[place.axis] = Coordinate::At(index);
            let values = self.block(block, source)?;
            let product = self.each(Binary::Multiply, &[factor], &values);
            sum = Some(match sum {
                Some(sum) => self.each(Binary::Add, &sum, &product),
                None => product,
            });
        }
        let zero = self.graph.constant(0.0);
        Ok(sum.unwrap_or_else(|| vec![zero; self.width(block)]))
    }

    /// A term at a place.
    ///
    /// # Errors
    /// As [`Expander::value`].
    pub(super) fn call(&mut self, term: Term, list: &[Expression], place: Place) -> Result<Called> {
        let width = self.physics.width();
        let direction = if term.directional() { short(place.axis) } else { 0 };
        let zero = self.graph.constant(0.0);
        let mut given = Vec::new();
        for argument in list {
            let values = self.value(argument, place)?;
            let mut values = self.widened(values, width);
            if matches!(argument, Expression::Each(_)) {
                // Axes beyond the dimension have no slopes.
                values.resize(3 * width, zero);
            }
            given.extend(values);
        }
        let order = arguments(term, u16::try_from(width).unwrap_or(u16::MAX));
        let mut inexpressible = false;
        let mut all = Vec::with_capacity(order.len());
        let mut unknowns = given.into_iter();
        let mut positions = vec![false; order.len()];
        for (argument, position) in order.iter().zip(&mut positions) {
            all.push(match *argument {
                Argument::Unknown(_) | Argument::Right(_) | Argument::Slope { .. } => {
                    unknowns.next().unwrap_or(zero)
                }
                Argument::Position(axis) => {
                    let halves = halves(list, place, usize::from(axis));
                    *position = halves.is_none();
                    match halves {
                        Some(halves) => self.graph.leaf(Leaf::Position { axis, halves }),
                        None => zero,
                    }
                }
                Argument::Spacing(axis) => self.graph.leaf(Leaf::Spacing(axis)),
                Argument::Time => self.graph.leaf(Leaf::Time),
                Argument::TimeStep => self.graph.leaf(Leaf::TimeStep),
            });
        }
        if !self.functions.contains_key(&(term, direction)) {
            let function = self.physics.trace(term, direction, self.integers)?;
            self.functions.insert((term, direction), function);
        }
        let function = &self.functions[&(term, direction)];
        let frozen = &self.frozen;
        let results =
            self.graph.graft(&function.graph, &function.outputs, |graph, leaf| match leaf {
                Leaf::Argument(argument) => {
                    inexpressible |= positions[usize::from(argument)];
                    all[usize::from(argument)]
                }
                Leaf::Parameter(parameter) => match frozen.get(&parameter) {
                    Some(&number) => graph.constant(number),
                    None => graph.leaf(leaf),
                },
                leaf => graph.leaf(leaf),
            });
        if inexpressible {
            return Err(Error::Mismatch(format!(
                "{} of physics {} depends on x and goes into a matrix: store its block (plan Staged or \
                 Unfused)",
                term.name(),
                self.physics.name
            )));
        }
        Ok(Called { arguments: all, results })
    }
}

/// Half voxels from the voxel in work to where a term is called: the voxel of its first argument where
/// that is a shifted block, the face where the statement is at faces. None for a fixed index.
fn halves(list: &[Expression], place: Place, axis: usize) -> Option<i8> {
    let Coordinate::Shift(shift) = place.at[axis] else { return None };
    if axis != place.axis {
        return Some(2 * shift);
    }
    if place.faces {
        return Some(2 * shift + 1);
    }
    let own = if let Some(Expression::Block(_, own)) = list.first() { *own } else { 0 };
    Some(2 * (shift + own))
}

fn short(axis: usize) -> u8 {
    u8::try_from(axis).unwrap_or(u8::MAX)
}

/// Largest of the directions' values, x, y, z.
pub(super) fn largest(graph: &mut Graph, values: &[Value]) -> Option<Value> {
    values.iter().copied().reduce(|a, b| graph.binary(Binary::Maximum, a, b))
}
