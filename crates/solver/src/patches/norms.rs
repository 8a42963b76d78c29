//! Errors against an exact solution.

/// Distance of an unknown from the exact one, over all voxels.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Norms {
    /// Mean of the absolute error.
    pub l1: f64,
    /// Root of the mean square error.
    pub l2: f64,
    /// Largest absolute error; not a number where an error is none.
    pub linf: f64,
}

/// Sums over voxels.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    count: f64,
    absolute: f64,
    square: f64,
    largest: f64,
}

impl Sums {
    pub(super) fn add(&mut self, error: f64) {
        let error = error.abs();
        self.count += 1.0;
        self.absolute += error;
        self.square += error * error;
        // `f64::max` would drop a NaN.
        if error.is_nan() || error > self.largest {
            self.largest = error;
        }
    }

    pub(super) fn norms(&self) -> Norms {
        let count = self.count.max(1.0);
        Norms { l1: self.absolute / count, l2: (self.square / count).sqrt(), linf: self.largest }
    }
}
