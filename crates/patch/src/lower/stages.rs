//! Stages of a kernel: what is stored, on which voxels, in which order.

use std::collections::HashMap;
use std::sync::Arc;

use super::expand::{Expander, Place, largest};
use super::fuse;
use super::resolve::Resolved;
use super::{Plan, Request};
use crate::error::{Error, Result};
use crate::graph::{BlockId, Coordinate, Value};
use crate::kernel::{self, Block, Call, Kernel, Shape, Stage, Write};
use crate::physics::{Parameter, Physics, Term};
use crate::ranges::{self, Margins, Ranges, Unused};
use crate::scheme::{AXES, Action, Expression, OUTPUT, Statement, expanded_text, statement_text};

/// Lowers a resolved scheme.
pub(super) fn kernel(
    resolved: &Resolved,
    physics: &Arc<Physics>,
    request: &Request,
    shape: Shape,
    parameters: Vec<Parameter>,
) -> Result<Kernel> {
    let scheme = &resolved.scheme;
    let axes = usize::from(shape.dimensions);
    let ranges = ranges::infer(scheme, Unused::Dropped, axes)?;
    let frozen: Vec<(u16, f64)> = request
        .frozen
        .iter()
        .filter_map(|(name, value)| {
            let place = parameters.iter().position(|known| known.name == *name)?;
            Some((u16::try_from(place).ok()?, *value))
        })
        .collect();
    let known: HashMap<u16, f64> = frozen.iter().copied().collect();
    let expander = Expander::new(resolved, physics, &request.integers, shape, known)?;
    let mut staging =
        Staging { resolved, shape, ranges, expander, blocks: Vec::new(), stages: Vec::new() };
    staging.fixed_blocks();
    for statement in &scheme.statements {
        let Action::Assign { block, .. } = statement.action else { continue };
        if block == OUTPUT {
            continue;
        }
        let stored = match &request.plan {
            Plan::Unfused => true,
            Plan::Fused => false,
            Plan::Staged(names) => names.contains(&scheme.blocks[block].name),
        };
        for axis in 0..if statement.directional { axes } else { 1 } {
            if stored && let Some(hull) = staging.ranges.hull(block, axis) {
                staging.temporary(statement, block, axis, &hull)?;
            }
        }
    }
    let unfused = request.plan == Plan::Unfused;
    for statement in &scheme.statements {
        if let Action::Assign { block, .. } = statement.action {
            staging.assignment(statement, block, unfused)?;
        }
        if unfused && let Action::Maximum(_) = statement.action {
            staging.maxima(statement)?;
        }
    }
    if !unfused {
        staging.last(scheme.statements.as_slice())?;
        fuse::fuse(&mut staging.stages, &staging.expander.graph);
    }
    let suffix = match request.plan {
        Plan::Fused => "",
        Plan::Unfused => "_unfused",
        Plan::Staged(_) => "_staged",
    };
    let mut posts = false;
    for statement in &scheme.statements {
        statement.action.value().walk(&mut |value| {
            posts |= matches!(value, Expression::Call(Term::Post, _));
        });
    }
    let integers = parameters
        .iter()
        .filter(|known| known.integer)
        .map(|known| {
            #[allow(clippy::cast_possible_truncation, reason = "C ints, checked before")]
            let value = known.default as i64;
            (known.name.clone(), value)
        })
        .collect();
    Ok(Kernel {
        name: format!(
            "{}_{}_d{}_p{}{suffix}",
            identifier(&physics.name),
            scheme.name,
            shape.dimensions,
            shape.cells
        ),
        shape,
        physics: Arc::clone(physics),
        parameters,
        frozen,
        integers,
        matrices: staging.expander.matrices,
        blocks: staging.blocks,
        graph: staging.expander.graph,
        stages: staging.stages,
        speeds: scheme.speeds(),
        post: posts,
    })
}

/// A name as C takes it: files may have any.
fn identifier(name: &str) -> String {
    let letters = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let word: String = letters.collect();
    if word.starts_with(|c: char| c.is_ascii_alphabetic()) { word } else { format!("k{word}") }
}

struct Staging<'a> {
    resolved: &'a Resolved,
    shape: Shape,
    ranges: Ranges,
    expander: Expander<'a>,
    blocks: Vec<Block>,
    stages: Vec<Stage>,
}

impl Staging<'_> {
    fn corners(&self, margins: &Margins) -> ([i16; 3], [i16; 3]) {
        let cells = i16::try_from(self.shape.cells).unwrap_or(i16::MAX);
        let (mut low, mut high) = ([0; 3], [1; 3]);
        for axis in 0..usize::from(self.shape.dimensions) {
            low[axis] = margins[axis].low;
            high[axis] = cells + margins[axis].high;
        }
        (low, high)
    }

    fn interior(&self) -> ([i16; 3], [i16; 3]) {
        self.corners(&[ranges::Margin::INTERIOR; 3])
    }

    fn fixed_blocks(&mut self) {
        let halo = i16::try_from(self.shape.halo).unwrap_or(i16::MAX);
        let around = self.corners(&[ranges::Margin { low: -halo, high: halo }; 3]);
        let inside = self.interior();
        let widths = [self.shape.width(), self.shape.output_width()];
        for (place, (low, high)) in [around, inside].into_iter().enumerate() {
            let width = u16::try_from(widths[place]).unwrap_or(u16::MAX);
            let name = if place == 0 { "QIn" } else { "QOut" };
            self.blocks.push(Block { name: name.into(), width, low, high });
        }
    }

    fn temporary(
        &mut self,
        statement: &Statement,
        block: usize,
        axis: usize,
        hull: &Margins,
    ) -> Result<()> {
        let declaration = &self.resolved.scheme.blocks[block];
        let name = if declaration.directional {
            format!("{}_{}", declaration.name, AXES[axis])
        } else {
            declaration.name.clone()
        };
        let (low, high) = self.corners(hull);
        if (0..3).any(|axis| low[axis] >= high[axis]) {
            let what = format!("the range is empty for patches of {} voxels", self.shape.cells);
            return Err(self.resolved.scheme.error(statement, what));
        }
        let width = u16::try_from(self.expander.width(block)).unwrap_or(u16::MAX);
        let place = u16::try_from(self.blocks.len())
            .map_err(|_| Error::Mismatch("more than 65535 blocks".into()))?;
        self.blocks.push(Block { name, width, low, high });
        self.expander.stored.insert((block, axis), BlockId(place));
        Ok(())
    }

    /// The stages of a statement whose block is stored.
    fn assignment(&mut self, statement: &Statement, block: usize, unfused: bool) -> Result<()> {
        if block == OUTPUT {
            return if unfused { self.output(statement) } else { Ok(()) };
        }
        let axes = if statement.directional { usize::from(self.shape.dimensions) } else { 1 };
        for axis in 0..axes {
            let Some(&stored) = self.expander.stored.get(&(block, axis)) else { continue };
            let (values, call) = self.values(statement, axis)?;
            let values = self.expander.widened(values, self.expander.width(block));
            let Block { low, high, .. } = self.blocks[usize::from(stored.0)];
            let writes = writes(stored, 0, &values);
            let name = self.name(statement, axis);
            let call = call.filter(|_| unfused);
            self.stages.push(Stage { name, low, high, writes, maximum: None, call });
        }
        Ok(())
    }

    fn values(&mut self, statement: &Statement, axis: usize) -> Result<(Vec<Value>, Option<Call>)> {
        let faces = matches!(statement.action, Action::Assign { faces: true, .. });
        let place = Place::here(axis, faces);
        let value = statement.action.value();
        let Expression::Call(term, list) = value else {
            return Ok((self.expander.value(value, place)?, None));
        };
        let called = self.expander.call(*term, list, place)?;
        let direction = if term.directional() { u8::try_from(axis).unwrap_or(u8::MAX) } else { 0 };
        let call = Call { term: *term, direction, arguments: called.arguments };
        Ok((called.results, Some(call)))
    }

    /// The output of an unfused kernel, from then on read where it lies.
    fn output(&mut self, statement: &Statement) -> Result<()> {
        let (values, call) = self.values(statement, 0)?;
        let evolved = usize::from(self.shape.unknowns);
        let all = self.expander.output(values, [Coordinate::Shift(0); 3]);
        let (low, high) = self.interior();
        let name = self.name(statement, 0);
        let mut stage = |name: String, writes: Vec<Write>, call: Option<Call>| {
            if !writes.is_empty() {
                self.stages.push(Stage { name, low, high, writes, maximum: None, call });
            }
        };
        if call.is_some() {
            stage(name, writes(kernel::OUTPUT, 0, &all[..evolved]), call);
            let fixed = writes(kernel::OUTPUT, evolved, &all[evolved..]);
            stage("copy the fixed unknowns".into(), fixed, None);
        } else {
            stage(name, writes(kernel::OUTPUT, 0, &all), None);
        }
        self.expander.stored.insert((OUTPUT, 0), kernel::OUTPUT);
        Ok(())
    }

    /// A reduction of an unfused kernel: a stage per direction.
    fn maxima(&mut self, statement: &Statement) -> Result<()> {
        let axes = if statement.directional { usize::from(self.shape.dimensions) } else { 1 };
        let (low, high) = self.interior();
        for axis in 0..axes {
            let values = self.expander.value(statement.action.value(), Place::here(axis, false))?;
            let name = self.name(statement, axis);
            let maximum = values.first().copied();
            self.stages.push(Stage { name, low, high, writes: Vec::new(), maximum, call: None });
        }
        Ok(())
    }

    /// The one stage of output and reduction.
    fn last(&mut self, statements: &[Statement]) -> Result<()> {
        let here = [Coordinate::Shift(0); 3];
        let (mut all, mut maxima, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for statement in statements {
            match &statement.action {
                Action::Assign { block: OUTPUT, value, .. } => {
                    let values = self.expander.value(value, Place::here(0, false))?;
                    all = self.expander.output(values, here);
                    names.push(statement_text(&self.resolved.scheme, statement));
                }
                Action::Maximum(value) => {
                    let axes =
                        if statement.directional { usize::from(self.shape.dimensions) } else { 1 };
                    for axis in 0..axes {
                        maxima.extend(self.expander.value(value, Place::here(axis, false))?);
                    }
                    names.push(statement_text(&self.resolved.scheme, statement));
                }
                Action::Assign { .. } => {}
            }
        }
        let (low, high) = self.interior();
        self.stages.push(Stage {
            name: names.join("; "),
            low,
            high,
            writes: writes(kernel::OUTPUT, 0, &all),
            maximum: largest(&mut self.expander.graph, &maxima),
            call: None,
        });
        Ok(())
    }

    fn name(&self, statement: &Statement, axis: usize) -> String {
        let axes = usize::from(self.shape.dimensions);
        expanded_text(&self.resolved.scheme, statement, axis, axes)
    }
}

fn writes(block: BlockId, first: usize, values: &[Value]) -> Vec<Write> {
    let first = u16::try_from(first).unwrap_or(u16::MAX);
    (first..).zip(values).map(|(unknown, &value)| Write { block, unknown, value }).collect()
}
