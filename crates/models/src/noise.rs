//! Smooth random functions of position: a sum of plane waves with random directions.

use std::f64::consts::TAU;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A random function with mean 0 and about unit range.
#[derive(Debug, Clone)]
pub(super) struct Noise {
    waves: Vec<([f64; 3], f64)>,
}

impl Noise {
    /// As many waves, of wavelengths around `wavelength` (x, y, z), m; an infinite one leaves the
    /// axis out.
    pub(super) fn new(random: &mut ChaCha8Rng, waves: usize, wavelength: [f64; 3]) -> Self {
        let mut wave = || {
            let number = wavelength.map(|l| TAU / l * random.random_range(-1.5..1.5));
            (number, random.random_range(0.0..TAU))
        };
        Self { waves: (0..waves).map(|_| wave()).collect() }
    }

    /// Value at a position, about -1 to 1.
    pub(super) fn at(&self, position: [f64; 3]) -> f64 {
        let one = |(k, phase): &([f64; 3], f64)| {
            let angle: f64 = (0..3).map(|a| k[a] * position[a]).sum();
            (angle + phase).cos()
        };
        // The sum of n cosines has a standard deviation of sqrt(n/2); two of them are the range.
        self.waves.iter().map(one).sum::<f64>() / (2.0 * self.waves.len() as f64).sqrt()
    }
}

/// 0 below `from`, 1 above `to`, with a smooth step between.
pub(super) fn smooth_step(from: f64, to: f64, value: f64) -> f64 {
    let t = ((value - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
