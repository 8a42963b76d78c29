//! The scheme in single precision with the order of its sums of choice, and with faults of choice.
//!
//! A kernel may add the taps of the Laplacian in any order and fuse any multiplication into an addition; all
//! of that is correct and rounds differently. What a bound on rounding must let pass is seen here, without a
//! kernel, and so is what it must not: an operator that is not its own transpose.

use ndarray::{Array2, Array3};
use temblor_physics::{PointWeights, WaveProblem, boundary};

/// The order in which a step is summed. All multiplications but those of [`Order::Separate`] are fused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Every axis apart, `w0 p` first, nothing fused; then the axes; then `2p - p- + v L`.
    Separate,
    /// One sum, the centre of all axes first, then taps outwards axis by axis.
    Outwards,
    /// One sum, the outermost taps of all axes first, the centre last.
    Inwards,
    /// A sum per axis from the centre on, low and high tap by themselves, axes added as a tree.
    Taps,
    /// Differences from the centre, `w (low - 2p + high)`, and `p + (v L + (p - p-))`.
    Differences,
}

impl Order {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Separate, Self::Outwards, Self::Inwards, Self::Taps, Self::Differences];
}

/// What makes the operator differ from its transpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The source's amplitude at its strongest node lacks the node's own `c^2 dt^2`: the mean is taken.
    Injection,
    /// Rigid walls lie on node 0 and not half a cell outside.
    WallOnNode,
    /// On the last plane of z the farthest lower tap reads one node too near.
    TapOffByOne,
}

/// A problem between walls, 3-D, ready to be stepped.
#[derive(Debug)]
pub struct Emulated {
    order: Order,
    fault: Option<Fault>,
    shape: [usize; 3],
    radius: usize,
    stride: [usize; 3],
    /// Centre first, over the squared spacing; the centre makes the sum zero.
    weights: [Vec<f32>; 3],
    c2dt2: Array3<f32>,
    free: Array3<bool>,
    /// Nodes outside, what they are images of, and the sign.
    images: Vec<(usize, usize, f32)>,
}

#[expect(clippy::cast_possible_truncation, reason = "single precision is what is emulated")]
const fn single(value: f64) -> f32 {
    value as f32
}

/// a b + c rounded once, but for one case in 2^29 that double precision rounds first. Plain loops call a
/// function for the instruction where the build does not assume that the processor has it.
fn fused(a: f32, b: f32, c: f32) -> f32 {
    single(f64::from(a) * f64::from(b) + f64::from(c))
}

impl Emulated {
    /// A problem without layers for wave speeds of the grid's shape, m/s.
    #[must_use]
    pub fn new(
        problem: &WaveProblem,
        wave_speed: &Array3<f64>,
        order: Order,
        fault: Option<Fault>,
    ) -> Self {
        let shape = problem.grid.shape;
        let second = problem.operator.second_derivative();
        let radius = second.len() - 1;
        let [_, my, mz] = shape.map(|n| n + 2 * radius);
        let stride = [my * mz, mz, 1];
        let weights = problem.grid.spacing.map(|h| {
            let mut all: Vec<f32> = second.iter().map(|w| single(w / (h * h))).collect();
            all[0] = -2.0 * all[1..].iter().rev().sum::<f32>();
            all
        });
        let free = Array3::from_shape_fn(shape, |(i, j, k)| {
            problem.grid.active_axes().any(|axis| {
                let (min, max) = problem.ends(axis);
                let at = [i, j, k][axis.index()].cast_signed();
                boundary::image(at, shape[axis.index()], &min, &max).is_none()
            })
        });
        let mut emulated = Self {
            order,
            fault,
            shape,
            radius,
            stride,
            weights,
            c2dt2: wave_speed.mapv(|c| single((c * problem.dt).powi(2))),
            free,
            images: Vec::new(),
        };
        emulated.images = emulated.images_of(problem);
        emulated
    }

    fn padded(&self, node: [isize; 3]) -> usize {
        let along = |a: usize| node[a].wrapping_add_unsigned(self.radius).cast_unsigned();
        (0..3).map(|a| along(a) * self.stride[a]).sum()
    }

    fn images_of(&self, problem: &WaveProblem) -> Vec<(usize, usize, f32)> {
        let mut images = Vec::new();
        for axis in problem.grid.active_axes() {
            let (a, (min, max)) = (axis.index(), problem.ends(axis));
            let (nodes, reach) = (self.shape[a].cast_signed(), self.radius.cast_signed());
            for away in (-reach..0).chain(nodes..nodes + reach) {
                let Some((mut from, sign)) = boundary::image(away, self.shape[a], &min, &max)
                else {
                    continue;
                };
                let rigid = |b| matches!(b, boundary::Boundary::Rigid);
                if self.fault == Some(Fault::WallOnNode) && away < 0 && rigid(min) {
                    from = (-away).cast_unsigned();
                }
                let (mut node, [b, c]) = ([0_isize; 3], [(a + 1) % 3, (a + 2) % 3]);
                for m in 0..self.shape[b].cast_signed() {
                    for n in 0..self.shape[c].cast_signed() {
                        (node[a], node[b], node[c]) = (away, m, n);
                        let to = self.padded(node);
                        node[a] = from.cast_signed();
                        images.push((to, self.padded(node), single(sign)));
                    }
                }
            }
        }
        images
    }

    /// Laplacian at a padded index; `last` on the last plane of z.
    fn laplacian(&self, p: &[f32], at: usize, last: bool) -> f32 {
        let taps = |a: usize, r: usize| {
            let reach = r * self.stride[a];
            let fault = self.fault == Some(Fault::TapOffByOne);
            let near = usize::from(fault && last && a == 2 && r == self.radius);
            (p[at - reach + near], p[at + reach])
        };
        let (centre, w) = (p[at], &self.weights);
        let outward = 1..=self.radius;
        match self.order {
            Order::Separate => {
                let axis = |a: usize| {
                    outward.clone().fold(w[a][0] * centre, |sum, r| {
                        let (low, high) = taps(a, r);
                        sum + w[a][r] * (low + high)
                    })
                };
                axis(0) + axis(1) + axis(2)
            }
            Order::Outwards => {
                let mut sum = (w[0][0] + w[1][0] + w[2][0]) * centre;
                for a in 0..3 {
                    for r in outward.clone() {
                        let (low, high) = taps(a, r);
                        sum = fused(w[a][r], low + high, sum);
                    }
                }
                sum
            }
            Order::Inwards => {
                let mut sum = 0.0_f32;
                for r in outward.rev() {
                    for a in 0..3 {
                        let (low, high) = taps(a, r);
                        sum = fused(w[a][r], low + high, sum);
                    }
                }
                fused(w[0][0] + w[1][0] + w[2][0], centre, sum)
            }
            Order::Taps => {
                let axis = |a: usize| {
                    outward.clone().fold(w[a][0] * centre, |sum, r| {
                        let (low, high) = taps(a, r);
                        fused(w[a][r], high, fused(w[a][r], low, sum))
                    })
                };
                axis(0) + (axis(1) + axis(2))
            }
            Order::Differences => {
                let mut sum = 0.0_f32;
                for a in 0..3 {
                    for r in outward.clone() {
                        let (low, high) = taps(a, r);
                        sum = fused(w[a][r], fused(-2.0, centre, low + high), sum);
                    }
                }
                sum
            }
        }
    }

    fn step(&self, p: &mut [f32], previous: &mut [f32]) {
        for &(to, from, sign) in &self.images {
            p[to] = sign * p[from];
        }
        let [nx, ny, nz] = self.shape;
        for i in 0..nx {
            for j in 0..ny {
                let row = self.padded([i, j, 0].map(usize::cast_signed));
                for k in 0..nz {
                    let (at, node) = (row + k, [i, j, k]);
                    if self.free[node] {
                        continue;
                    }
                    let (now, before, v) = (p[at], previous[at], self.c2dt2[node]);
                    let laplacian = self.laplacian(p, at, k + 1 == nz);
                    previous[at] = match self.order {
                        Order::Separate => now + now - before + v * laplacian,
                        Order::Differences => now + fused(v, laplacian, now - before),
                        _ => fused(v, laplacian, now + now - before),
                    };
                }
            }
        }
    }

    /// Traces at `receivers` of a source with a series, shape (receiver, step).
    #[must_use]
    pub fn traces(
        &self,
        source: &PointWeights,
        series: &[f64],
        receivers: &[PointWeights],
    ) -> Array2<f64> {
        let at = |node: [usize; 3]| self.padded(node.map(usize::cast_signed));
        let mean = self.c2dt2.mean().unwrap_or(0.0);
        let strongest = source.nodes().map(|(_, w)| w.abs()).fold(0.0, f64::max);
        let inject: Vec<(usize, f32)> = source
            .nodes()
            .filter(|(node, _)| !self.free[*node])
            .map(|(node, w)| {
                let lost = self.fault == Some(Fault::Injection) && w.abs() >= strongest;
                (at(node), single(w) * if lost { mean } else { self.c2dt2[node] })
            })
            .collect();
        let read: Vec<Vec<(usize, f32)>> = receivers
            .iter()
            .map(|r| r.nodes().map(|(n, w)| (at(n), single(w))).collect())
            .collect();
        let padded = (self.shape[0] + 2 * self.radius) * self.stride[0];
        let (mut p, mut previous) = (vec![0.0_f32; padded], vec![0.0_f32; padded]);
        let mut traces = Array2::zeros((receivers.len(), series.len()));
        for (n, &amplitude) in series.iter().enumerate() {
            for (r, nodes) in read.iter().enumerate() {
                let sample: f32 = nodes.iter().map(|&(at, w)| w * p[at]).sum();
                traces[[r, n]] = f64::from(sample);
            }
            self.step(&mut p, &mut previous);
            for &(at, weight) in &inject {
                previous[at] += single(amplitude) * weight;
            }
            std::mem::swap(&mut p, &mut previous);
        }
        traces
    }
}
