//! Which voxels a statement has to visit: exact, from the uses of its block backwards.
//!
//! A range is a box around the patch, per axis a [`Margin`] at both ends, so that one inference holds
//! for every patch size. A block used along several axes needs several boxes; what is read of the
//! input is checked box by box, what is stored is their hull.

use crate::error::Result;
use crate::scheme::{Action, Expression, INPUT, OUTPUT, Scheme, Statement};

/// Voxels `low .. p + high` along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Margin {
    /// First voxel; -1 is the first of a halo of one.
    pub low: i16,
    /// What the end is beyond p.
    pub high: i16,
}

impl Margin {
    /// The patch without its halo.
    pub const INTERIOR: Self = Self { low: 0, high: 0 };

    const fn shifted(self, by: i8) -> Self {
        Self { low: self.low + by as i16, high: self.high + by as i16 }
    }

    const fn contains(self, other: Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Whether the range reaches beyond the patch.
    #[must_use]
    pub const fn outside(self) -> bool {
        self.low < 0 || self.high > 0
    }

    /// The range as schemes write it: `-1..p+1`.
    #[must_use]
    pub fn text(self) -> String {
        match self.high {
            0 => format!("{}..p", self.low),
            high => format!("{}..p{high:+}", self.low),
        }
    }
}

/// A margin per axis.
pub type Margins = [Margin; 3];

const INTERIOR: Margins = [Margin::INTERIOR; 3];

fn contains(outer: &Margins, inner: &Margins) -> bool {
    (0..3).all(|axis| outer[axis].contains(inner[axis]))
}

/// What becomes of blocks that nothing needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unused {
    /// They are checked as if the patch were needed.
    Interior,
    /// They are left out.
    Dropped,
}

/// Ranges of every block: boxes per instance (directional blocks have one per axis, others use the
/// first place).
#[derive(Debug, Clone)]
pub struct Ranges {
    boxes: Vec<[Vec<Margins>; 3]>,
}

impl Ranges {
    /// The smallest box around all voxels of an instance; none where nothing needs it.
    #[must_use]
    pub fn hull(&self, block: usize, axis: usize) -> Option<Margins> {
        let boxes = &self.boxes[block][axis];
        let mut hull = *boxes.first()?;
        for other in boxes {
            for axis in 0..3 {
                hull[axis] = hull[axis].hull(other[axis]);
            }
        }
        Some(hull)
    }
}

/// Infers the ranges of a scheme's blocks for so many axes, last statement first.
///
/// # Errors
/// [`crate::Error::Scheme`] where a shift leaves a stated range, the patch of the output or the halo, where a
/// corner of the halo is read, or where a matrix's rows do not cover what is needed.
pub fn infer(scheme: &Scheme, unused: Unused, axes: usize) -> Result<Ranges> {
    let mut stated = vec![None; scheme.blocks.len()];
    for statement in &scheme.statements {
        if let Action::Assign { block, over: Some(over), .. } = statement.action {
            stated[block] = Some(over);
        }
    }
    let boxes = vec![[const { Vec::new() }; 3]; scheme.blocks.len()];
    let mut inference = Inference { scheme, axes, stated, ranges: Ranges { boxes } };
    for statement in scheme.statements.iter().rev() {
        for axis in 0..if statement.directional { axes } else { 1 } {
            for range in inference.range_of(statement, axis, unused) {
                inference.visit(statement, axis, &range, statement.action.value())?;
            }
        }
    }
    Ok(inference.ranges)
}

struct Inference<'a> {
    scheme: &'a Scheme,
    axes: usize,
    stated: Vec<Option<Margin>>,
    ranges: Ranges,
}

impl Inference<'_> {
    fn range_of(&mut self, statement: &Statement, axis: usize, unused: Unused) -> Vec<Margins> {
        let Action::Assign { block, .. } = statement.action else { return vec![INTERIOR] };
        let used = block == OUTPUT || !self.ranges.boxes[block][axis].is_empty();
        let boxes = match self.stated[block] {
            _ if !used && unused == Unused::Dropped => Vec::new(),
            Some(over) => self.stated_boxes(block, axis, over),
            None if block == OUTPUT || !used => vec![INTERIOR],
            None => return self.ranges.boxes[block][axis].clone(),
        };
        self.ranges.boxes[block][axis].clone_from(&boxes);
        boxes
    }

    fn stated_boxes(&self, block: usize, axis: usize, over: Margin) -> Vec<Margins> {
        let along = |axis: usize| {
            let mut range = INTERIOR;
            range[axis] = over;
            range
        };
        if self.scheme.blocks[block].directional {
            vec![along(axis)]
        } else {
            (0..self.axes).map(along).collect()
        }
    }

    fn visit(
        &mut self,
        statement: &Statement,
        axis: usize,
        range: &Margins,
        value: &Expression,
    ) -> Result<()> {
        match value {
            Expression::Number(_)
            | Expression::Parameter(_)
            | Expression::TimeStep
            | Expression::Spacing => Ok(()),
            Expression::Block(block, shift) => {
                let mut read = *range;
                read[axis] = read[axis].shifted(*shift);
                self.read(statement, *block, axis, read)
            }
            Expression::Each(block) | Expression::Sum(block) | Expression::Largest(block) => {
                (0..self.axes).try_for_each(|axis| self.read(statement, *block, axis, *range))
            }
            Expression::Unary(_, a) | Expression::Evolved(a) => {
                self.visit(statement, axis, range, a)
            }
            Expression::Complete(a) => {
                let shift = if let Expression::Block(_, shift) = **a { shift } else { 0 };
                let fixed = Expression::Block(INPUT, shift);
                self.visit(statement, axis, range, &fixed)?;
                self.visit(statement, axis, range, a)
            }
            Expression::Binary(_, a, b) | Expression::Has(_, a, b) => {
                self.visit(statement, axis, range, a)?;
                self.visit(statement, axis, range, b)
            }
            Expression::Call(_, arguments) => {
                arguments.iter().try_for_each(|a| self.visit(statement, axis, range, a))
            }
            Expression::Apply(matrix, block) => {
                if !Margin::INTERIOR.contains(range[axis]) {
                    let what = format!(
                        "a matrix has rows for the voxels 0..p only, and this is needed on {}: do not \
                         shift its result along the direction of `apply`",
                        range[axis].text()
                    );
                    return Err(self.scheme.error(statement, what));
                }
                let mut read = *range;
                read[axis] = self.scheme.matrices[*matrix].generator.margin();
                self.read(statement, *block, axis, read)
            }
        }
    }

    fn read(
        &mut self,
        statement: &Statement,
        block: usize,
        axis: usize,
        range: Margins,
    ) -> Result<()> {
        let name = &self.scheme.blocks[block].name;
        let refuse = |what: String| Err(self.scheme.error(statement, what));
        let halo = i16::try_from(self.scheme.halo).unwrap_or(i16::MAX);
        let all = Margin { low: -halo, high: halo };
        if let Some(reach) = range.iter().find(|margin| !all.contains(**margin)) {
            return refuse(format!(
                "{name} is read on {}, beyond the halo of {halo}: use smaller shifts or declare a wider \
                 halo",
                reach.text()
            ));
        }
        if block == INPUT && range.iter().filter(|margin| margin.outside()).count() > 1 {
            return refuse(format!(
                "{name} is read in a corner of the halo, which holds no data: shifts along two axes \
                 add up here; shift {name} along one axis at a time"
            ));
        }
        let instance = if self.scheme.blocks[block].directional { axis } else { 0 };
        let held = match self.stated[block] {
            Some(over) => Some((self.stated_boxes(block, axis, over), over)),
            None if block == OUTPUT => Some((vec![INTERIOR], Margin::INTERIOR)),
            None => None,
        };
        if let Some((boxes, over)) = held
            && !boxes.iter().any(|held| contains(held, &range))
        {
            let reach = range.iter().find(|margin| !over.contains(**margin));
            return refuse(format!(
                "{name} is read on {}, but holds values on {} only: shift less{}",
                reach.map_or_else(|| "a corner".into(), |reach| reach.text()),
                over.text(),
                if block == OUTPUT { "" } else { ", or widen its range" }
            ));
        }
        let boxes = &mut self.ranges.boxes[block][instance];
        if !boxes.iter().any(|known| contains(known, &range)) {
            boxes.retain(|known| !contains(&range, known));
            boxes.push(range);
        }
        Ok(())
    }
}
