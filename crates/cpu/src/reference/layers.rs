//! Memory of the absorbing layers; equations in `temblor_physics::cpml` and `::minimod`.

use temblor_physics::{Axis, WaveProblem, cpml, minimod};

use super::layout::Layout;
use super::real::Real;

/// Profiles of a C-PML along one axis and where its memory variables lie.
#[derive(Debug)]
pub(super) struct CpmlProfiles<T> {
    pub(super) a: Vec<T>,
    pub(super) b: Vec<T>,
    pub(super) b_slope: Vec<T>,
    low: usize,
    high: usize,
    radius: usize,
    /// Shape of q and r: the grid's, with the layers' nodes alone along the damped axis.
    pub(super) shape: [usize; 3],
}

impl<T> CpmlProfiles<T> {
    fn nodes(&self) -> usize {
        self.a.len()
    }

    /// Position of a node among the layers' nodes along the damped axis.
    pub(super) fn slot(&self, node: usize) -> Option<usize> {
        if node < self.low {
            Some(node)
        } else if node < self.nodes() && node >= self.nodes() - self.high {
            Some(node - (self.nodes() - self.high) + self.low)
        } else {
            None
        }
    }

    /// The node of a slot.
    pub(super) fn node(&self, slot: usize) -> usize {
        if slot < self.low { slot } else { slot - self.low + self.nodes() - self.high }
    }

    /// Whether the stencil at a node meets a layer.
    pub(super) fn near(&self, node: usize) -> bool {
        node < self.low + self.radius || node + self.radius >= self.nodes() - self.high
    }
}

/// C-PML along one axis: `q = a psi` and `r = a zeta`, in the layers only.
#[derive(Debug)]
pub(super) struct CpmlAxis<T> {
    pub(super) profiles: CpmlProfiles<T>,
    pub(super) q: Vec<T>,
    pub(super) r: Vec<T>,
}

impl<T: Real> CpmlAxis<T> {
    pub(super) fn new(problem: &WaveProblem, axis: Axis) -> Option<Self> {
        let profile = cpml::profile(problem, axis)?;
        let round = |values: &[f64]| values.iter().map(|&v| T::from_f64(v)).collect::<Vec<_>>();
        let mut shape = problem.grid.shape;
        shape[axis.index()] = profile.low + profile.high;
        let len = shape.iter().product();
        let profiles = CpmlProfiles {
            a: round(&profile.a),
            b: round(&profile.b),
            b_slope: round(&profile.b_slope),
            low: profile.low,
            high: profile.high,
            radius: problem.operator.radius(),
            shape,
        };
        Some(Self { profiles, q: vec![T::default(); len], r: vec![T::default(); len] })
    }
}

/// Minimod's layer: eta per axis and phi. phi is kept on all nodes, for plainness; it is zero
/// outside the layers.
#[derive(Debug)]
pub(super) struct MinimodLayer<T> {
    /// Damping per axis and node; zeros on an axis without a layer.
    pub(super) eta: [Vec<T>; 3],
    /// Whether a node lies in a layer of this axis.
    inside: [Vec<bool>; 3],
    pub(super) phi: Vec<T>,
}

impl<T: Real> MinimodLayer<T> {
    pub(super) fn new(problem: &WaveProblem, layout: &Layout) -> Option<Self> {
        let profiles = Axis::ALL.map(|axis| minimod::profile(problem, axis));
        if profiles.iter().all(Option::is_none) {
            return None;
        }
        let eta = std::array::from_fn(|a| match &profiles[a] {
            Some(eta) => eta.iter().map(|&e| T::from_f64(e)).collect(),
            None => vec![T::default(); layout.shape[a]],
        });
        let inside = Axis::ALL.map(|axis| {
            let (min, max) = problem.ends(axis);
            let nodes = layout.shape[axis.index()];
            (0..nodes).map(|n| n < min.cells() || n >= nodes - max.cells()).collect()
        });
        Some(Self { eta, inside, phi: vec![T::default(); layout.points()] })
    }

    pub(super) fn contains(&self, node: [usize; 3]) -> bool {
        (0..3).any(|a| self.inside[a][node[a]])
    }

    /// `eta(+e) - eta(-e)` along an axis; eta beyond the grid equals the outermost node's.
    pub(super) fn eta_difference(&self, axis: usize, node: usize) -> T {
        let eta = &self.eta[axis];
        eta[(node + 1).min(eta.len() - 1)] - eta[node.saturating_sub(1)]
    }
}
