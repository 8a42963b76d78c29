//! Synthetic velocity models, each a function of position.
//!
//! A model that can be asked for its speed anywhere needs no array: it is sampled plane by plane,
//! and smoothing asks for a margin around each slab. Nothing depends on the grid's shape, so a
//! model sampled more finely is the same model. Random parts come from a seed.

mod faults;
mod noise;
mod salt;
mod smoothing;

pub use faults::{Faults, FaultsRecipe};
pub use salt::{Salt, SaltRecipe};
pub use smoothing::Sampler;

/// A model of the subsurface.
#[derive(Debug, Clone)]
pub enum Earth {
    /// One wave speed, m/s.
    Constant(f64),
    /// Flat layers.
    Layers(Layers),
    /// Speed that grows linearly with depth.
    Gradient(Gradient),
    /// Folded layers cut by dipping normal faults.
    Faults(Faults),
    /// A salt diapir in compacting sediments under water.
    Salt(Salt),
}

impl Earth {
    /// Wave speed at a position (x, y, depth), m/s.
    pub fn speed(&self, position: [f64; 3]) -> f64 {
        match self {
            Self::Constant(speed) => *speed,
            Self::Layers(layers) => layers.speed(position[2]),
            Self::Gradient(gradient) => gradient.speed(position[2]),
            Self::Faults(faults) => faults.speed(position),
            Self::Salt(salt) => salt.speed(position),
        }
    }
}

/// Flat layers: the speed is `speeds[n]` from `depths[n - 1]` on.
#[derive(Debug, Clone, PartialEq)]
pub struct Layers {
    /// Wave speeds from the top, m/s.
    pub speeds: Vec<f64>,
    /// Depths of the interfaces, m, growing; one fewer than speeds.
    pub depths: Vec<f64>,
}

impl Layers {
    fn speed(&self, depth: f64) -> f64 {
        let above = self.depths.iter().take_while(|&&interface| interface <= depth).count();
        self.speeds[above.min(self.speeds.len() - 1)]
    }
}

/// `v = top + gradient z`, at most `most`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gradient {
    /// Speed at the surface, m/s.
    pub top: f64,
    /// Growth with depth, 1/s.
    pub gradient: f64,
    /// Largest speed, m/s.
    pub most: f64,
}

impl Gradient {
    fn speed(&self, depth: f64) -> f64 {
        (self.top + self.gradient * depth.max(0.0)).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layer_begins_at_its_interface() {
        let layers = Layers { speeds: vec![1500.0, 2000.0, 3000.0], depths: vec![100.0, 300.0] };
        let speeds = [0.0, 99.9, 100.0, 299.0, 300.0, 1e6].map(|z| layers.speed(z));
        assert_eq!(
            speeds.map(f64::to_bits),
            [1500.0, 1500.0, 2000.0, 2000.0, 3000.0, 3000.0].map(f64::to_bits)
        );
    }

    #[test]
    fn gradient_stops_at_its_limit() {
        let gradient = Gradient { top: 1500.0, gradient: 0.5, most: 2000.0 };
        let speeds = [-5.0, 100.0, 4000.0].map(|z| gradient.speed(z).to_bits());
        assert_eq!(speeds, [1500_f64, 1550.0, 2000.0].map(f64::to_bits));
    }
}
