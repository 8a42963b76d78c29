//! The scheme in f64, node by node from the formulas in `temblor_physics`, nothing shared with the
//! kernels.

use ndarray::Array3;
use temblor_backend::{ReceiverTable, SourceTable};
use temblor_physics::boundary::image;
use temblor_physics::{Axis, Boundary, WaveProblem, cpml, minimod};

/// A wavefield with its memory variables.
pub(crate) struct Oracle {
    problem: WaveProblem,
    pub(crate) p: Array3<f64>,
    pub(crate) previous: Array3<f64>,
    pub(crate) speed: Array3<f64>,
    q: [Array3<f64>; 3],
    r: [Array3<f64>; 3],
    phi: Array3<f64>,
}

impl Oracle {
    pub(crate) fn new(problem: &WaveProblem) -> Self {
        let [x, y, z] = problem.grid.shape;
        let zeros = || Array3::zeros((x, y, z));
        Self {
            problem: problem.clone(),
            p: zeros(),
            previous: zeros(),
            speed: zeros(),
            q: std::array::from_fn(|_| zeros()),
            r: std::array::from_fn(|_| zeros()),
            phi: zeros(),
        }
    }

    fn read(&self, field: &Array3<f64>, node: [usize; 3], axis: Axis, shift: isize) -> f64 {
        let a = axis.index();
        let (min, max) = self.problem.ends(axis);
        let nodes = self.problem.grid.shape[a];
        let mut at = node;
        match image(node[a].cast_signed() + shift, nodes, &min, &max) {
            Some((inside, sign)) => {
                at[a] = inside;
                sign * field[at]
            }
            None => 0.0,
        }
    }

    /// One step with sources and samples of the receivers.
    pub(crate) fn step(
        &mut self,
        n: usize,
        sources: &SourceTable,
        receivers: &ReceiverTable,
    ) -> Vec<f64> {
        let samples = receivers
            .points
            .iter()
            .map(|point| point.nodes().map(|(node, w)| w * self.p[node]).sum())
            .collect();
        let problem = self.problem.clone();
        let second = problem.operator.second_derivative();
        let first = problem.operator.first_derivative();
        let profiles = Axis::ALL.map(|axis| cpml::profile(&problem, axis));
        let eta = Axis::ALL.map(|axis| minimod::profile(&problem, axis));
        let has_minimod = eta.iter().any(Option::is_some);
        let (old_q, old_phi) = (self.q.clone(), self.phi.clone());
        let mut next = self.p.clone();
        for (node, to) in next.indexed_iter_mut() {
            let node = [node.0, node.1, node.2];
            let centre = self.read(&self.p, node, Axis::Z, 0);
            let mut lap = 0.0;
            for axis in problem.grid.active_axes() {
                let (a, h) = (axis.index(), problem.grid.spacing[axis.index()]);
                let (mut xx, mut x, mut q_x) = (second[0] * centre, 0.0, 0.0);
                for r in 1..second.len() {
                    let shift = r.cast_signed();
                    let low = self.read(&self.p, node, axis, -shift);
                    let high = self.read(&self.p, node, axis, shift);
                    xx += second[r] * (low + high);
                    x += first[r] * (high - low);
                    if profiles[a].is_some() {
                        let inside = |s: isize| {
                            let at = node[a].cast_signed() + s;
                            if at < 0 || at >= problem.grid.shape[a].cast_signed() {
                                return 0.0;
                            }
                            let mut m = node;
                            m[a] = at.cast_unsigned();
                            old_q[a][m]
                        };
                        q_x += first[r] * (inside(shift) - inside(-shift));
                    }
                }
                let (xx, x, q_x) = (xx / (h * h), x / h, q_x / h);
                lap += match &profiles[a] {
                    None => xx,
                    Some(profile) => {
                        let at = node[a];
                        let (da, b) = (profile.a[at], profile.b[at]);
                        let t = (1.0 + b) * xx + profile.b_slope[at] * x + q_x;
                        let old_r = self.r[a][node];
                        self.r[a][node] = da * (b * t + old_r);
                        self.q[a][node] = da * (b * x + old_q[a][node]);
                        (1.0 + b) * t + old_r
                    }
                };
            }
            let v = (self.speed[node] * problem.dt).powi(2);
            let prev = self.previous[node];
            *to = if has_minimod {
                let damp = |axis: Axis, shift: isize| {
                    let (a, last) = (axis.index(), problem.grid.shape[axis.index()] - 1);
                    let at = (node[a].cast_signed() + shift).clamp(0, last.cast_signed());
                    eta[a].as_ref().map_or(0.0, |eta| eta[at.cast_unsigned()])
                };
                let sum: f64 = Axis::ALL.iter().map(|&axis| damp(axis, 0)).sum();
                if minimod::in_layer(&problem, node) {
                    let fall: f64 = problem
                        .grid
                        .active_axes()
                        .map(|axis| {
                            let h = problem.grid.spacing[axis.index()];
                            (damp(axis, 1) - damp(axis, -1))
                                * (self.read(&self.p, node, axis, 1)
                                    - self.read(&self.p, node, axis, -1))
                                / (4.0 * h * h)
                        })
                        .sum();
                    self.phi[node] = (old_phi[node] - fall) / (1.0 + sum);
                }
                ((2.0 + 2.0 * sum - sum * sum) * centre - prev + v * (lap + old_phi[node]))
                    / (1.0 + 2.0 * sum)
            } else {
                2.0 * centre - prev + v * lap
            };
        }
        for (s, point) in sources.points.iter().enumerate() {
            if n < sources.amplitudes.nrows() {
                for (node, w) in point.nodes() {
                    let v = (self.speed[node] * problem.dt).powi(2);
                    next[node] += v * w * sources.amplitudes[[n, s]];
                }
            }
        }
        for axis in Axis::ALL {
            let (min, max) = problem.ends(axis);
            let a = ndarray::Axis(axis.index());
            if matches!(min, Boundary::Free) {
                next.index_axis_mut(a, 0).fill(0.0);
            }
            if matches!(max, Boundary::Free) {
                next.index_axis_mut(a, problem.grid.shape[axis.index()] - 1).fill(0.0);
            }
        }
        self.previous = std::mem::replace(&mut self.p, next);
        samples
    }
}
