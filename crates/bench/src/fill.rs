//! What the fields hold at the start, made on the host and uploaded by slabs.
//!
//! Random values are a hash of the node's number (the finaliser of splitmix64; Steele, Lea and Flood
//! 2014, DOI 10.1145/2660193.2660195), so that they are the same for any slab and any number of
//! threads. Where the field is random, so is the wave speed: constant data flatters devices that
//! compress their memory.

use ndarray::ArrayView3;
use rayon::prelude::*;
use temblor_backend::{Field, Propagator, Region, Result};

use crate::results::Start;

/// Values of a slab on its way to the device: 64 MB.
const SLAB_VALUES: usize = 16 << 20;

/// Lowest random wave speed over the highest.
const SLOWEST: f32 = 0.5;

/// Values of the Gaussian bump below this are zero, not denormal.
const SMALLEST: f64 = 1e-30;

/// Random bits of the node number `index`.
#[must_use]
pub const fn bits(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A value in [0, 1) with 24 random bits: exact in single precision.
#[must_use]
pub fn unit(seed: u64, index: u64) -> f32 {
    (bits(seed, index) >> 40) as f32 / 16_777_216.0
}

/// Makes the fields of a start.
#[derive(Debug, Clone, Copy)]
pub struct Filler {
    /// What the fields hold.
    pub start: Start,
    /// Nodes along (x, y, z).
    pub shape: [usize; 3],
    /// Highest wave speed, m/s.
    pub vmax: f64,
    /// Seed; p, p- and c each have their own values.
    pub seed: u64,
    /// Whether p- has random values of its own; else it is p: the field is at rest.
    pub moving: bool,
}

impl Filler {
    /// Bytes that the host needs for slabs.
    #[must_use]
    pub fn host_bytes(&self) -> u64 {
        let [_, ny, nz] = self.shape;
        4 * (self.planes() * ny * nz) as u64
    }

    fn planes(&self) -> usize {
        let [nx, ny, nz] = self.shape;
        (SLAB_VALUES / (ny * nz).max(1)).clamp(1, nx)
    }

    /// Uploads the wave speed.
    ///
    /// # Errors
    /// Those of the plan.
    pub fn wave_speed(&self, plan: &mut dyn Propagator) -> Result<()> {
        self.slabs(plan, &[Field::WaveSpeed], |node, index| self.speed_at(node, index))
    }

    /// Uploads both wavefields.
    ///
    /// # Errors
    /// Those of the plan.
    pub fn pressure(&self, plan: &mut dyn Propagator) -> Result<()> {
        let value = |seed| move |node, index| self.pressure_at(seed, node, index);
        if self.moving {
            self.slabs(plan, &[Field::Pressure], value(self.seed))?;
            self.slabs(plan, &[Field::PressurePrevious], value(self.seed + 1))
        } else {
            self.slabs(plan, &[Field::Pressure, Field::PressurePrevious], value(self.seed))
        }
    }

    fn random_at(&self, node: [usize; 3]) -> bool {
        match self.start {
            Start::Random => true,
            Start::Fraction { part } => (node[0] as f64) < part * self.shape[0] as f64,
            Start::Zero | Start::Gauss => false,
        }
    }

    /// Least and largest wave speed, m/s.
    #[must_use]
    pub fn speeds(&self) -> [f64; 2] {
        [self.vmax * f64::from(SLOWEST), self.vmax]
    }

    #[expect(clippy::cast_possible_truncation, reason = "speeds are far from the limits of f32")]
    fn speed_at(&self, node: [usize; 3], index: u64) -> f32 {
        let share = if self.random_at(node) {
            SLOWEST + (1.0 - SLOWEST) * unit(self.seed + 2, index)
        } else {
            1.0
        };
        (self.vmax * f64::from(share)) as f32
    }

    #[expect(clippy::cast_possible_truncation, reason = "values are between 1e-30 and 1")]
    fn pressure_at(&self, seed: u64, node: [usize; 3], index: u64) -> f32 {
        if self.random_at(node) {
            return 2.0 * unit(seed, index) - 1.0;
        }
        if !matches!(self.start, Start::Gauss) {
            return 0.0;
        }
        let narrow = self.shape.iter().filter(|&&n| n > 1).min().copied().unwrap_or(1) as f64;
        let square: f64 = (0..3)
            .map(|a| 10.0 * (node[a] as f64 - 0.5 * (self.shape[a] - 1) as f64) / narrow)
            .map(|distance| distance * distance)
            .sum();
        let value = (-0.5 * square).exp();
        if value < SMALLEST { 0.0 } else { value as f32 }
    }

    fn slabs(
        &self,
        plan: &mut dyn Propagator,
        fields: &[Field],
        value: impl Fn([usize; 3], u64) -> f32 + Sync,
    ) -> Result<()> {
        let [nx, ny, nz] = self.shape;
        let planes = self.planes();
        let mut slab = vec![0.0_f32; planes * ny * nz];
        for first in (0..nx).step_by(planes) {
            let count = planes.min(nx - first);
            let part = &mut slab[..count * ny * nz];
            part.par_chunks_mut(nz).enumerate().for_each(|(row, values)| {
                let (i, j) = (first + row / ny, row % ny);
                for (k, target) in values.iter_mut().enumerate() {
                    *target = value([i, j, k], ((i * ny + j) * nz + k) as u64);
                }
            });
            let part = ArrayView3::from_shape((count, ny, nz), part).expect("as long as the shape");
            for &field in fields {
                plan.upload(field, Region::slab(self.shape, first, count), part.into())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_splitmix64() {
        // First three values of splitmix64 from seed 1234567, as published with the generator
        // (https://rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64).
        let values = [0, 1, 2].map(|n| bits(1_234_567, n));
        assert_eq!(
            values,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn random_values_fill_their_range_evenly() {
        let values: Vec<_> = (0..100_000).map(|n| f64::from(unit(7, n))).collect();
        let mean = values.iter().sum::<f64>() / 1e5;
        // The standard deviation of the mean of 1e5 uniform values is 9e-4.
        assert!((mean - 0.5).abs() < 4e-3, "{mean}");
        assert!(values.iter().all(|v| (0.0..1.0).contains(v)));
    }

    #[test]
    fn a_fraction_fills_the_first_planes_and_leaves_the_rest_constant() {
        let (shape, start) = ([8, 3, 5], Start::Fraction { part: 0.25 });
        let filler = Filler { start, shape, vmax: 3000.0, seed: 1, moving: false };
        let p = |i: usize| filler.pressure_at(1, [i, 1, 2], i as u64);
        assert!(p(0).abs() > 0.0 && p(1).abs() > 0.0);
        assert!((2..8).all(|i| p(i).to_bits() == 0));
        assert_eq!(filler.speed_at([2, 0, 0], 2).to_bits(), 3000_f32.to_bits());
        assert!(filler.speed_at([1, 0, 0], 1) < 3000.0);
    }

    #[test]
    fn the_bump_is_one_in_the_middle_and_never_denormal() {
        let (shape, start) = ([101, 101, 401], Start::Gauss);
        let filler = Filler { start, shape, vmax: 3000.0, seed: 1, moving: false };
        assert!((filler.pressure_at(1, [50, 50, 200], 0) - 1.0).abs() < 1e-6);
        // One standard deviation is a tenth of the narrowest axis: 10.1 nodes.
        let at = filler.pressure_at(1, [60, 50, 200], 0);
        assert!((f64::from(at) - (-0.5 * (10.0_f64 / 10.1).powi(2)).exp()).abs() < 1e-6, "{at}");
        assert_eq!(filler.pressure_at(1, [0; 3], 0).to_bits(), 0);
    }
}
