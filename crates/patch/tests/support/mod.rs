//! Random patches and kernels applied to them, for the tests of schemes.
#![allow(dead_code, reason = "every test file uses a part")]
#![allow(clippy::unwrap_used, reason = "what cannot be built fails the test")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "small domains"
)]

use std::sync::Arc;

use temblor_patch::graph::Leaf;
use temblor_patch::kernel::INPUT;
use temblor_patch::{Cell, Kernel, Physics, Plan, Request, Scheme, Shape, interpret, lower};

/// All terms, one fixed unknown, dependence on position and time.
pub(crate) const TOY: &str = r"
enum unknowns { HEAT, FLOW };
enum auxiliary { SPEED = 2 };
typedef struct { double k; int twice; } parameters;
static const parameters defaults = { .k = 0.3, .twice = 1 };
void flux(const double *Q, int n, const double *x, const parameters *P, double *F) {
  F[0] = Q[SPEED] * Q[1] + 0.01 * x[n] * Q[0];
  F[1] = Q[SPEED] * Q[0] * (1.0 + 0.1 * n) + P->k * Q[1] * Q[1];
}
void ncp(const double *Q, const double *dQ, int n, const double *x, const parameters *P, double *B) {
  B[0] = P->k * Q[1] * dQ[0] + x[n] * dQ[2];
  B[1] = Q[0] * dQ[1];
  if (P->twice) B[1] *= 2.0;
}
void source(const double *Q, const double *x, double t, double *S) {
  S[0] = x[0] - Q[0] * t;
  S[1] = 0.5 * Q[0] + x[1];
}
double eigenvalue(const double *Q, int n, const double *x) {
  return fabs(Q[SPEED]) + 0.1 * n + fabs(Q[1]) + 0.01 * fabs(x[n]);
}
void face(const double *QL, const double *QR, int n, const double *x, double *F) {
  F[0] = 0.5 * (QL[1] + QR[1]) + x[n];
  F[1] = QL[0] > QR[0] ? QL[0] : QR[0] * QL[2];
}
void post(const double *Q, double *R) {
  R[0] = fmax(Q[0], 1e-3);
  R[1] = Q[1];
}
";

/// A physics by the name that ships, or the toy.
pub(crate) fn physics(name: &str) -> Arc<Physics> {
    Arc::new(match name {
        "toy" => Physics::from_c("toy.c", TOY).unwrap(),
        name => Physics::shipped(name).unwrap(),
    })
}

/// A seeded stream of numbers in [0, 1).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> f64 {
        // splitmix64 (Steele, Lea and Flood 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A plausible state of a physics: every unknown near a base with some noise.
pub(crate) fn state(physics: &Physics, random: &mut Random) -> Vec<f64> {
    let base: Vec<f64> = match physics.name.as_str() {
        "euler" => vec![1.0, 0.2, -0.1, 0.3, 3.0],
        "shallow_water" => vec![2.0, 0.3, -0.2, 0.1],
        "ccz4" => {
            let mut base = vec![0.0; physics.width()];
            for place in [0, 3, 5, 16, 54] {
                base[place] = 1.0;
            }
            base
        }
        _ => vec![1.0; physics.width()],
    };
    (0..physics.width())
        .map(|u| base.get(u).copied().unwrap_or(1.0) + 0.1 * (random.next() - 0.5))
        .collect()
}

/// Voxels with the place of their first value in a chunk with halo.
pub(crate) fn chunk_voxels(shape: &Shape) -> Vec<([i32; 3], usize)> {
    let (p, h) = (i32::from(shape.cells), i32::from(shape.halo));
    let axes = usize::from(shape.dimensions);
    let range = |axis: usize| if axis < axes { -h..p + h } else { 0..1 };
    let mut all = Vec::new();
    for z in range(2) {
        for y in range(1) {
            for x in range(0) {
                all.push(([x, y, z], all.len() * shape.width()));
            }
        }
    }
    all
}

/// Axes along which a voxel is outside the patch.
pub(crate) fn outside(shape: &Shape, voxel: [i32; 3]) -> usize {
    let p = i32::from(shape.cells);
    (0..usize::from(shape.dimensions)).filter(|&axis| !(0..p).contains(&voxel[axis])).count()
}

/// A random chunk; the corners and edges of the halo are NaN.
pub(crate) fn chunk(kernel: &Kernel, random: &mut Random) -> Vec<f64> {
    let shape = &kernel.shape;
    let mut values = Vec::with_capacity(shape.input_len());
    for (voxel, _) in chunk_voxels(shape) {
        if outside(shape, voxel) > 1 {
            values.extend(vec![f64::NAN; shape.width()]);
        } else {
            values.extend(state(&kernel.physics, random));
        }
    }
    values
}

/// A cell somewhere.
pub(crate) fn cell() -> Cell {
    Cell { centre: [0.3, -0.7, 1.1], size: [0.9, 1.2, 0.6], time: 0.25, time_step: 0.01 }
}

/// Defaults of all parameters.
pub(crate) fn defaults(kernel: &Kernel) -> Vec<f64> {
    kernel.parameters.iter().map(|known| known.default).collect()
}

/// Applies a kernel to chunks.
pub(crate) fn apply(
    kernel: &Kernel,
    cells: &[Cell],
    inputs: &[Vec<f64>],
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut outputs = vec![vec![f64::NAN; kernel.shape.output_len()]; cells.len()];
    let mut speeds = vec![f64::NAN; cells.len()];
    let inputs: Vec<&[f64]> = inputs.iter().map(Vec::as_slice).collect();
    let mut out: Vec<&mut [f64]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
    interpret(kernel, &defaults(kernel), cells, &inputs, &mut out, &mut speeds).unwrap();
    (outputs, speeds)
}

/// A kernel.
pub(crate) fn kernel(scheme: &Scheme, physics: &Arc<Physics>, d: u8, p: u16, plan: Plan) -> Kernel {
    lower(scheme, physics, &Request::new(d, p).with_plan(plan)).unwrap()
}

/// Asserts equal bits, zeros of either sign equal.
pub(crate) fn assert_same(a: &[f64], b: &[f64], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (place, (a, b)) in a.iter().zip(b).enumerate() {
        let same = (a + 0.0).to_bits() == (b + 0.0).to_bits();
        assert!(same, "{what}: value {place} is {a:e} here and {b:e} there");
    }
}

/// Whether a kernel reads the input at an unknown.
pub(crate) fn loads_input(kernel: &Kernel) -> usize {
    let nodes = kernel.graph.nodes();
    nodes
        .iter()
        .filter(|node| {
            matches!(node, temblor_patch::graph::Node::Leaf(Leaf::Load { block, .. }) if *block == INPUT)
        })
        .count()
}

/// A periodic domain of `n` voxels per axis, `width` values each, cut into patches.
pub(crate) struct Domain {
    pub(crate) d: usize,
    pub(crate) n: usize,
    pub(crate) width: usize,
    pub(crate) values: Vec<f64>,
}

impl Domain {
    /// Place of a voxel's first value.
    pub(crate) fn at(&self, voxel: [i32; 3]) -> usize {
        let n = self.n as i32;
        let wrapped = |axis: usize| {
            if axis < self.d { voxel[axis].rem_euclid(n) as usize } else { 0 }
        };
        ((wrapped(2) * self.n + wrapped(1)) * self.n + wrapped(0)) * self.width
    }

    /// Patches, x fastest, with their cells (voxels of width `dx`, m, domain from 0) and chunks; the
    /// corners of halos are NaN.
    pub(crate) fn patches(
        &self,
        shape: &Shape,
        dx: f64,
        step: f64,
    ) -> Vec<(Cell, [i32; 3], Vec<f64>)> {
        let p = usize::from(shape.cells);
        let tiles = self.n / p;
        let count = tiles.pow(self.d as u32);
        (0..count)
            .map(|patch| {
                let tile = [patch % tiles, patch / tiles % tiles, patch / tiles / tiles];
                let first = tile.map(|tile| (tile * p) as i32);
                let mut chunk = Vec::with_capacity(shape.input_len());
                for (voxel, _) in chunk_voxels(shape) {
                    if outside(shape, voxel) > 1 {
                        chunk.extend(vec![f64::NAN; self.width]);
                    } else {
                        let place = self.at([0, 1, 2].map(|axis| first[axis] + voxel[axis]));
                        chunk.extend(&self.values[place..place + self.width]);
                    }
                }
                let size = p as f64 * dx;
                let centre = tile.map(|tile| (tile as f64 + 0.5) * size);
                let cell = Cell { centre, size: [size; 3], time: 0.25, time_step: step };
                (cell, first, chunk)
            })
            .collect()
    }

    /// Values of a kernel's output for all patches, as a domain.
    pub(crate) fn applied(&self, kernel: &Kernel, dx: f64, step: f64) -> Self {
        self.stepped(kernel, dx, step).0
    }

    /// Values of a kernel's output for all patches, and the largest speed of all.
    pub(crate) fn stepped(&self, kernel: &Kernel, dx: f64, step: f64) -> (Self, f64) {
        let shape = &kernel.shape;
        let patches = self.patches(shape, dx, step);
        let cells: Vec<Cell> = patches.iter().map(|patch| patch.0).collect();
        let chunks: Vec<Vec<f64>> = patches.iter().map(|patch| patch.2.clone()).collect();
        let (outputs, speeds) = apply(kernel, &cells, &chunks);
        let width = shape.output_width();
        let voxels = self.n.pow(self.d as u32);
        let mut all = Self { d: self.d, n: self.n, width, values: vec![f64::NAN; voxels * width] };
        for ((_, first, _), output) in patches.iter().zip(&outputs) {
            let inside =
                chunk_voxels(shape).into_iter().filter(|(voxel, _)| outside(shape, *voxel) == 0);
            for ((voxel, _), values) in inside.zip(output.chunks(width)) {
                let place = all.at([0, 1, 2].map(|axis| first[axis] + voxel[axis]));
                all.values[place..place + width].copy_from_slice(values);
            }
        }
        (all, speeds.into_iter().fold(f64::NEG_INFINITY, f64::max))
    }
}
