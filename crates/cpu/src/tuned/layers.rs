//! Memory variables of absorbing layers, stored in the layers only, and their profiles.
//!
//! C-PML, per damped axis: q twice (neighbours along the axis read the old one) and r; along z q
//! once, since a row's new q waits in scratch. Along z the layers are rounded to whole vectors that
//! hold one radius more, with zeros between rows, so that kernels read q around a node in place.
//! Minimod: phi on whole rows of the x and y layers and on the ends of all other rows.

use temblor_physics::{Axis, Boundary, Operator, WaveProblem, cpml, minimod};

use super::fields::largest_bits;
use super::kernels::WIDEST;
use super::layout::Layout;
use crate::memory::AlignedVec;

/// Profiles as kernels take them; along z padded with zeros to a whole row.
#[derive(Debug, Clone)]
pub(super) struct Profiles {
    pub(super) a: Vec<f32>,
    pub(super) b: Vec<f32>,
    pub(super) one_plus_b: Vec<f32>,
    pub(super) slope: Vec<f32>,
}

/// Which nodes along an axis lie in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) low: usize,
    pub(super) high: usize,
    pub(super) nodes: usize,
}

impl Ends {
    /// Position of a node among the layers' nodes.
    pub(super) const fn index(&self, node: usize) -> Option<usize> {
        if node < self.low {
            Some(node)
        } else if node < self.nodes && node >= self.nodes - self.high {
            Some(node - (self.nodes - self.high) + self.low)
        } else {
            None
        }
    }

    /// Nodes in layers.
    pub(super) const fn cells(&self) -> usize {
        self.low + self.high
    }

    /// Whether a layer lies within `reach` of a node.
    pub(super) const fn near(&self, node: usize, reach: usize) -> bool {
        (self.low > 0 && node < self.low + reach)
            || (self.high > 0 && node + reach >= self.nodes - self.high)
    }
}

/// Zeros after a row of q along z: no less than the largest radius, and rows stay on cache lines.
pub(super) const MARGIN: usize = WIDEST;

/// Stretches of a row that layers along z reach, multiples of [`WIDEST`], in order.
pub(super) fn stretches(ends: &Ends, reach: usize, row: usize) -> Vec<(usize, usize)> {
    let low = (ends.low + reach).next_multiple_of(WIDEST).min(row);
    let high = ends.nodes.saturating_sub(ends.high + reach) / WIDEST * WIDEST;
    match (ends.low > 0, ends.high > 0) {
        (true, true) if high <= low => vec![(0, row)],
        (true, true) => vec![(0, low), (high, row)],
        (true, false) => vec![(0, low)],
        (false, true) => vec![(high, row)],
        (false, false) => Vec::new(),
    }
}

/// C-PML along one axis.
#[derive(Debug)]
pub(super) struct CpmlAxis {
    pub(super) axis: Axis,
    pub(super) ends: Ends,
    /// Values from row to row of q and r.
    pub(super) pitch: usize,
    pub(super) profiles: Profiles,
    /// Second derivative, centre first, 1/m^2.
    pub(super) second: [f32; 9],
    /// First derivative at +r, 1/m.
    pub(super) first: [f32; 9],
    /// q by parity of the step; along z only the first.
    pub(super) q: [AlignedVec; 2],
    pub(super) r: AlignedVec,
}

#[expect(clippy::cast_possible_truncation, reason = "kernels take f32")]
pub(super) fn to_f32(values: impl IntoIterator<Item = f64>) -> Vec<f32> {
    values.into_iter().map(|v| v as f32).collect()
}

/// Weights of an operator along an axis, in single precision.
pub(super) fn axis_weights(operator: &Operator, spacing: f64) -> ([f32; 9], [f32; 9]) {
    let fill = |weights: Vec<f64>, scale: f64| {
        let mut filled = [0.0; 9];
        for (to, from) in filled.iter_mut().zip(to_f32(weights.into_iter().map(|w| w * scale))) {
            *to = from;
        }
        filled
    };
    let mut second = fill(operator.second_derivative(), spacing.powi(-2));
    // The centre from the rounded others: a constant keeps being annihilated.
    let others: f64 = second[1..].iter().rev().map(|&w| f64::from(w)).sum();
    second[0] = to_f32([-2.0 * others])[0];
    (second, fill(operator.first_derivative(), spacing.recip()))
}

impl CpmlAxis {
    fn ends(problem: &WaveProblem, axis: Axis) -> Option<Ends> {
        let (min, max) = problem.ends(axis);
        let cells = |b: Boundary| if let Boundary::Cpml(layer) = b { layer.cells } else { 0 };
        let nodes = problem.grid.shape[axis.index()];
        let ends = Ends { low: cells(min), high: cells(max), nodes };
        (ends.cells() > 0).then_some(ends)
    }

    /// Values from row to row of q and r.
    fn pitch(layout: &Layout, axis: Axis, ends: &Ends) -> usize {
        if axis == Axis::Z {
            let stretches = stretches(ends, layout.radius, layout.row);
            stretches.iter().map(|(from, to)| to - from).sum::<usize>() + MARGIN
        } else {
            layout.row
        }
    }

    /// Values of q and of r.
    fn len(layout: &Layout, axis: Axis, ends: &Ends) -> usize {
        let [nx, ny, _] = layout.shape;
        let pitch = Self::pitch(layout, axis, ends);
        match axis {
            Axis::X => ends.cells() * ny * pitch,
            Axis::Y => nx * ends.cells() * pitch,
            Axis::Z => nx * ny * pitch + MARGIN,
        }
    }

    fn new(problem: &WaveProblem, layout: &Layout, axis: Axis) -> Option<Self> {
        let profile = cpml::profile(problem, axis)?;
        let ends = Self::ends(problem, axis)?;
        let len = Self::len(layout, axis, &ends);
        let padded = |values: Vec<f64>, rest: f32| {
            let mut values = to_f32(values);
            if axis == Axis::Z {
                values.resize(layout.row, rest);
            }
            values
        };
        let profiles = Profiles {
            one_plus_b: padded(profile.b.iter().map(|b| 1.0 + b).collect(), 1.0),
            a: padded(profile.a, 0.0),
            b: padded(profile.b, 0.0),
            slope: padded(profile.b_slope, 0.0),
        };
        let (second, first) = axis_weights(&problem.operator, problem.grid.spacing[axis.index()]);
        let q = [len, if axis == Axis::Z { 0 } else { len }].map(AlignedVec::zeroed);
        let (pitch, r) = (Self::pitch(layout, axis, &ends), AlignedVec::zeroed(len));
        Some(Self { axis, ends, pitch, profiles, second, first, q, r })
    }

    /// Offset of the row (i, j) in q and r; `layer` is the position along the axis among its
    /// layers' nodes (along z it does not matter).
    pub(super) const fn at(&self, layout: &Layout, i: usize, j: usize, layer: usize) -> usize {
        match self.axis {
            Axis::X => (layer * layout.shape[1] + j) * self.pitch,
            Axis::Y => (i * self.ends.cells() + layer) * self.pitch,
            Axis::Z => MARGIN + (i * layout.shape[1] + j) * self.pitch,
        }
    }
}

/// Minimod's layer.
#[derive(Debug)]
pub(super) struct MinimodLayer {
    /// Layers along (x, y, z).
    pub(super) ends: [Ends; 3],
    /// Damping along (x, y, z), zero outside the layers; along z padded to a whole row.
    pub(super) eta: [Vec<f32>; 3],
    /// `(eta(+1) - eta(-1)) / (4 h^2)` along (x, y, z), 1/m^2; along z padded to a whole row.
    pub(super) gradient: [Vec<f32>; 3],
    /// phi on whole rows, then on the ends of the others.
    pub(super) phi: AlignedVec,
}

impl MinimodLayer {
    fn ends(problem: &WaveProblem) -> Option<[Ends; 3]> {
        let ends = Axis::ALL.map(|axis| {
            let (min, max) = problem.ends(axis);
            let cells = |b| if let Boundary::Minimod(layer) = b { layer.cells } else { 0 };
            let nodes = problem.grid.shape[axis.index()];
            Ends { low: cells(min), high: cells(max), nodes }
        });
        ends.iter().any(|e| e.cells() > 0).then_some(ends)
    }

    /// Values of phi on whole rows.
    fn whole(layout: &Layout, [x, y, _]: &[Ends; 3]) -> usize {
        let [nx, ny, _] = layout.shape;
        (nx * ny - (nx - x.cells()) * (ny - y.cells())) * layout.row
    }

    fn len(layout: &Layout, ends: &[Ends; 3]) -> usize {
        let [x, y, z] = ends;
        let others = (x.nodes - x.cells()) * (y.nodes - y.cells());
        Self::whole(layout, ends) + others * z.cells()
    }

    fn new(problem: &WaveProblem, layout: &Layout) -> Option<Self> {
        let ends = Self::ends(problem)?;
        let profile = |axis: Axis| {
            minimod::profile(problem, axis)
                .unwrap_or_else(|| vec![0.0; problem.grid.shape[axis.index()]])
        };
        let padded = |axis: Axis, values: Vec<f64>| {
            let mut values = to_f32(values);
            if axis == Axis::Z {
                values.resize(layout.row, 0.0);
            }
            values
        };
        let eta = Axis::ALL.map(|axis| padded(axis, profile(axis)));
        let gradient = Axis::ALL.map(|axis| {
            let eta = profile(axis);
            let scale = 0.25 * problem.grid.spacing[axis.index()].powi(-2);
            let last = eta.len() - 1;
            let slope = |n: usize| (eta[(n + 1).min(last)] - eta[n.saturating_sub(1)]) * scale;
            padded(axis, (0..eta.len()).map(slope).collect())
        });
        let phi = AlignedVec::zeroed(Self::len(layout, &ends));
        Some(Self { ends, eta, gradient, phi })
    }

    /// Where phi of row (i, j) lies: offset, and whether it is a whole row. `None` where the row
    /// has no node in a layer.
    pub(super) fn at(&self, layout: &Layout, i: usize, j: usize) -> Option<(usize, bool)> {
        let [x, y, z] = &self.ends;
        let ny = layout.shape[1];
        let inner_rows = ny - y.cells();
        match (x.index(i), y.index(j)) {
            (Some(layer), _) => Some(((layer * ny + j) * layout.row, true)),
            (None, Some(layer)) => {
                let before = x.cells() * ny + (i - x.low) * y.cells();
                Some(((before + layer) * layout.row, true))
            }
            (None, None) if z.cells() > 0 => {
                let row = (i - x.low) * inner_rows + (j - y.low);
                Some((Self::whole(layout, &self.ends) + row * z.cells(), false))
            }
            (None, None) => None,
        }
    }
}

/// All memory variables of a plan.
#[derive(Debug)]
pub(super) struct Layers {
    pub(super) cpml: Vec<CpmlAxis>,
    pub(super) minimod: Option<MinimodLayer>,
}

impl Layers {
    pub(super) fn new(problem: &WaveProblem, layout: &Layout) -> Self {
        let axis = |axis| CpmlAxis::new(problem, layout, axis);
        let cpml = Axis::ALL.into_iter().filter_map(axis).collect();
        Self { cpml, minimod: MinimodLayer::new(problem, layout) }
    }

    /// Bytes that [`Layers::new`] allocates.
    pub(super) fn bytes(problem: &WaveProblem, layout: &Layout) -> u64 {
        let cpml = Axis::ALL.into_iter().filter_map(|axis| {
            let ends = CpmlAxis::ends(problem, axis)?;
            let arrays = if axis == Axis::Z { 2 } else { 3 };
            Some(arrays * AlignedVec::bytes(CpmlAxis::len(layout, axis, &ends)))
        });
        let phi = MinimodLayer::ends(problem)
            .map_or(0, |ends| AlignedVec::bytes(MinimodLayer::len(layout, &ends)));
        cpml.sum::<u64>() + phi
    }

    /// All arrays.
    pub(super) fn arrays_mut(&mut self) -> impl Iterator<Item = &mut AlignedVec> {
        let cpml = self.cpml.iter_mut().flat_map(|axis| axis.q.iter_mut().chain([&mut axis.r]));
        cpml.chain(self.minimod.iter_mut().map(|layer| &mut layer.phi))
    }

    /// Largest magnitude of the memory variables of a step.
    pub(super) fn largest(&mut self, layout: &Layout, parity: usize) -> f64 {
        let mut bits = 0;
        let each = &mut |row: &mut [f32]| {
            bits = bits.max(largest_bits(row));
            Ok::<_, std::convert::Infallible>(())
        };
        let Ok(()) = self.try_each(layout, parity, each);
        f64::from(f32::from_bits(bits))
    }

    /// Calls `each` with every stretch of memory variables that belong to nodes, of the current
    /// step, in an order that depends on the problem alone.
    ///
    /// # Errors
    /// The first error of `each`.
    pub(super) fn try_each<E>(
        &mut self,
        layout: &Layout,
        parity: usize,
        each: &mut dyn FnMut(&mut [f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let nz = layout.shape[2];
        for axis in &mut self.cpml {
            // Along z all of a row is taken: what is not in a layer is zero.
            let (parity, start, nodes) =
                if axis.axis == Axis::Z { (0, MARGIN, axis.pitch) } else { (parity, 0, nz) };
            for array in [&mut axis.q[parity], &mut axis.r] {
                let mut rows = array[start..].chunks_exact_mut(axis.pitch);
                rows.try_for_each(|row| each(&mut row[..nodes]))?;
            }
        }
        if let Some(layer) = &mut self.minimod {
            let whole = MinimodLayer::whole(layout, &layer.ends);
            let (rows, ends) = layer.phi.split_at_mut(whole);
            rows.chunks_exact_mut(layout.row).try_for_each(|row| each(&mut row[..nz]))?;
            if !ends.is_empty() {
                let cells = layer.ends[2].cells();
                ends.chunks_exact_mut(cells).try_for_each(&mut *each)?;
            }
        }
        Ok(())
    }
}
