//! Folded layers cut by normal faults, under younger flat layers.
//!
//! The older layers are laid flat, folded, faulted and eroded; the younger ones cover them. The
//! speed at a point is found by undoing that from the youngest fault to the oldest, which keeps
//! layers continuous within each block and lets younger faults offset older ones.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::noise::Noise;

/// Folded and faulted layers.
#[derive(Debug, Clone)]
pub struct Faults {
    young: Sequence,
    old: Sequence,
    /// From the youngest to the oldest.
    faults: Vec<Fault>,
    fold: Noise,
    fold_height: f64,
    /// Mean depth of the surface between young and old, m.
    unconformity: f64,
    relief: Noise,
}

/// Layers as they were laid.
#[derive(Debug, Clone, Default)]
struct Sequence {
    /// Depth of each layer's top, m; the first goes on upwards.
    tops: Vec<f64>,
    /// Speed at each layer's top, m/s, and its growth with depth, 1/s.
    speeds: Vec<(f64, f64)>,
}

#[derive(Debug, Clone)]
struct Fault {
    /// Where the fault plane meets the surface, m.
    x: f64,
    /// Change of x with y.
    strike: f64,
    /// Horizontal over vertical distance along the plane, signed: where it dips to.
    slope: f64,
    /// Vertical offset, m.
    throw: f64,
    /// Undulation of the plane.
    bend: Noise,
    bend_width: f64,
}

/// What a faulted model is made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaultsRecipe {
    /// Width of the model along x, m.
    pub width: f64,
    /// Depth of the model, m.
    pub depth: f64,
    /// Number of layers.
    pub layers: usize,
    /// Number of faults.
    pub faults: usize,
    /// Speed of the first and the last layer, m/s.
    pub speeds: [f64; 2],
    /// Seed of everything random.
    pub seed: u64,
}

impl Faults {
    /// Lays, folds and faults the layers.
    pub fn new(recipe: &FaultsRecipe) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(recipe.seed);
        let (width, depth) = (recipe.width, recipe.depth);
        let faults: Vec<Fault> =
            (0..recipe.faults).map(|n| Fault::new(recipe, n, &mut random)).collect();
        // Blocks are moved down by up to the sum of throws: half of it is laid above, half below
        // the depths that are seen, so that the middle of the model shows the middle of the layers.
        let throws: f64 = faults.iter().map(|fault| fault.throw).sum();
        let unconformity = depth * random.random_range(0.12..0.2);
        let layers = recipe.layers.max(2);
        let young = (layers / 4).max(1);
        let speeds = speeds(recipe, layers, &mut random);
        let mut this = Self {
            young: Sequence::new(&speeds[..young], [0.0, 1.2 * unconformity], &mut random),
            old: Sequence::new(
                &speeds[young..],
                [unconformity - 0.5 * throws, depth + 0.5 * throws],
                &mut random,
            ),
            faults,
            fold: Noise::new(&mut random, 8, [0.6 * width, width, f64::INFINITY]),
            fold_height: 0.05 * depth,
            unconformity,
            relief: Noise::new(&mut random, 6, [0.4 * width, width, f64::INFINITY]),
        };
        // Neighbours are not of one age.
        for n in (1..this.faults.len()).rev() {
            this.faults.swap(n, random.random_range(0..=n));
        }
        this
    }

    pub(super) fn speed(&self, position: [f64; 3]) -> f64 {
        let [mut x, y, z] = position;
        let erosion = self.unconformity * (1.0 + 0.12 * self.relief.at([x, y, 0.0]));
        if z < erosion {
            return self.young.speed(z);
        }
        let mut depth = z;
        for fault in &self.faults {
            // Half the throw up on one side, half down on the other.
            let half = 0.5 * fault.throw * if fault.hanging(x, y, depth) { 1.0 } else { -1.0 };
            depth -= half;
            x -= fault.slope * half;
        }
        self.old.speed(depth + self.fold_height * self.fold.at([x, y, 0.0]))
    }
}

/// Speed and its growth for each layer from the top.
fn speeds(recipe: &FaultsRecipe, layers: usize, random: &mut ChaCha8Rng) -> Vec<(f64, f64)> {
    let [first, last] = recipe.speeds;
    let step = (last - first) / layers as f64;
    let one = |n: usize| {
        let trend = first + (last - first) * n as f64 / (layers - 1) as f64;
        // Some beds are slower than the one above, as shale under sand is.
        let inner = n > 0 && n + 1 < layers;
        let jitter = if inner { random.random_range(-1.4..1.4) * step } else { 0.0 };
        let speed = (trend + jitter).clamp(first.min(last), first.max(last));
        (speed, random.random_range(0.0..0.12))
    };
    (0..layers).map(one).collect()
}

impl Sequence {
    fn new(speeds: &[(f64, f64)], [from, to]: [f64; 2], random: &mut ChaCha8Rng) -> Self {
        let parts: Vec<f64> = speeds.iter().map(|_| random.random_range(0.4..1.6)).collect();
        let scale = (to - from) / parts.iter().sum::<f64>();
        let tops = parts
            .iter()
            .scan(from, |top, part| {
                let this = *top;
                *top += scale * part;
                Some(this)
            })
            .collect();
        Self { tops, speeds: speeds.to_vec() }
    }

    fn speed(&self, depth: f64) -> f64 {
        let layer = self.tops.iter().take_while(|&&top| top <= depth).count().max(1) - 1;
        let (speed, growth) = self.speeds[layer];
        speed + growth * (depth - self.tops[layer]).max(0.0)
    }
}

impl Fault {
    /// The `n`th fault from the left; faults share the width of the model.
    fn new(recipe: &FaultsRecipe, n: usize, random: &mut ChaCha8Rng) -> Self {
        let (width, depth) = (recipe.width, recipe.depth);
        let slot = (n as f64 + random.random_range(0.25..0.75)) / recipe.faults as f64;
        let dip: f64 = random.random_range(50.0_f64..70.0).to_radians();
        let side = if random.random_bool(0.7) { 1.0 } else { -1.0 };
        // Where it crosses the middle of the depth is what is spread over the width.
        let x = slot * width - 0.5 * side * depth / dip.tan();
        Self {
            x,
            strike: random.random_range(-0.4..0.4),
            slope: side / dip.tan(),
            throw: depth * random.random_range(0.03..0.1),
            bend: Noise::new(random, 4, [f64::INFINITY, width, depth]),
            bend_width: 0.015 * width,
        }
    }

    /// Whether a point lies in the hanging wall, the block above the plane, which moved down.
    fn hanging(&self, x: f64, y: f64, z: f64) -> bool {
        let bend = self.bend_width * self.bend.at([0.0, y, z]);
        let plane = self.x + self.strike * y + self.slope * z + bend;
        (x - plane) * self.slope.signum() > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(faults: usize, seed: u64) -> FaultsRecipe {
        let (width, depth) = (8000.0, 3000.0);
        FaultsRecipe { width, depth, layers: 12, faults, speeds: [1800.0, 4500.0], seed }
    }

    #[test]
    fn one_seed_is_one_model() {
        let [a, b, c] = [5, 5, 6].map(|seed| Faults::new(&recipe(4, seed)));
        let along = |model: &Faults| {
            let at = |n| model.speed([80.0 * f64::from(n), 0.0, 2000.0]).to_bits();
            (0..100).map(at).collect::<Vec<_>>()
        };
        assert_eq!(along(&a), along(&b));
        assert_ne!(along(&a), along(&c));
    }

    #[test]
    fn hanging_wall_is_displaced_by_the_throw() {
        let mut model = Faults::new(&recipe(1, 3));
        model.fold_height = 0.0;
        model.faults[0].bend_width = 0.0;
        let fault = model.faults[0].clone();
        // Far from the fault on either side; the hanging wall's beds lie deeper by the throw.
        let far = 50_000.0 * fault.slope.signum();
        for n in 0..200 {
            let z = 1000.0 + 8.0 * f64::from(n);
            let hanging = model.speed([fault.x + far, 0.0, z + fault.throw]);
            let foot = model.speed([fault.x - far, 0.0, z]);
            assert!((hanging - foot).abs() < 1e-9, "{z}: {hanging} {foot}");
        }
    }

    #[test]
    fn speeds_stay_between_the_ends_and_grow_within_layers() {
        let model = Faults::new(&recipe(5, 1));
        for n in 0..4000 {
            let n = f64::from(n);
            let v = model.speed([(n * 37.0) % 8000.0, (n * 11.0) % 3000.0, (n * 0.75) % 3000.0]);
            // 0.12 1/s over the depth and the throws (half the depth at most) is 540 m/s at most.
            assert!((1800.0..4500.0 + 540.0).contains(&v), "{v}");
        }
    }
}
